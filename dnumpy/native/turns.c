/* Whose turn it is to compute with large arrays that lie here, and what that took: dnumpy/expr/race.py
   says why. */

#include "record.h"

#include <time.h>

static Py_ssize_t
bytes_of(PyObject *x)
{
    return x != NULL && IS_NUMPYS(x) ? PyArray_NBYTES((PyArrayObject *)x) : 0;
}

static int
is_vector(PyObject *x)
{
    return x != NULL && IS_NUMPYS(x) && PyArray_NDIM((PyArrayObject *)x) == 1;
}

/* Say whether the product of two arrays of at most two axes has few elements: what is computed from
   them is computed at once too (runtime/direct.py, is_numpys). */
static int
gives_few(PyObject *a, PyObject *b)
{
    if (!IS_NUMPYS(a) || !IS_NUMPYS(b)) {
        return 0;
    }
    PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
    int m = PyArray_NDIM(x), n = PyArray_NDIM(y);
    if (m < 1 || n < 1 || m > 2 || n > 2) {
        return 0;
    }
    npy_intp inner = PyArray_DIM(x, m - 1);
    return inner > 0 && (double)(PyArray_SIZE(x) / inner) * (double)(PyArray_SIZE(y) / inner) <=
               FEW_MADE;
}

int
is_little_product(PyObject *a, PyObject *b)
{
    Py_ssize_t bytes = bytes_of(a) + bytes_of(b);
    Py_ssize_t most = is_vector(a) && is_vector(b) ? VECTORS_BYTES : LITTLE_BYTES;
    return (bytes <= most || gives_few(a, b)) &&
           slot_of(world.config, world.reproducible_at) == Py_False &&
           may_move(bytes);
}

/* Say whether a method of NumPy's arrays is one of those of which something is known. */
int
is_of_kind(PyObject *method, int kind)
{
    PyObject *found = PyDict_GetItemWithError(world.kinds, method);
    return found != NULL && PyLong_AsLong(found) == kind;
}

/* Say whether a function that runs over an array, one element after the other, does so now: each
   element's turn is the same whoever has it. */
int
is_run_over(PyObject *x, Py_ssize_t bytes)
{
    return IS_NUMPYS(x) && PyArray_SIZE((PyArrayObject *)x) < MOST_RUN && may_move(bytes);
}

/* The race that a line of the program is in, borrowed, if that is NumPy's for the time being. */
PyObject *
numpys_race(PyObject *site)
{
    PyObject *race = slot_of(site, told.of_race);
    int is_numpys = race != NULL && Py_TYPE(race) == told.race_type &&
                    slot_of(race, told.race.by_numpy) == Py_True;
    return is_numpys ? race : NULL;
}

/* The place of the line of the program that is running, new, if NumPy is to do now what this does
   with what lies here; NULL without an error too after one, which Python will meet. `lone.turn_of`
   is the same, and knows what is not so short to say. */
PyObject *
turn_of(PyObject *function, Py_ssize_t size)
{
    PyObject *site = site_now(), *race = site == NULL ? NULL : numpys_race(site), *answer = NULL;
    if (site == NULL || (race != NULL && size > PyLong_AsSsize_t(slot_of(race, told.race.most)))) {
        PyErr_Clear();
        return NULL;
    }
    int at_once = goes_at_once(size);
    if (!at_once && race == NULL && slot_of(site, told.alone) != NULL &&
        !PyObject_IsTrue(slot_of(site, told.alone))) {
        return NULL;
    }
    PyObject *bytes = PyLong_FromSsize_t(size), *args[] = {function, bytes};
    if (bytes != NULL) {
        Py_INCREF(site);
        int asks = race == NULL && !at_once; /* whether this is to be asked, too */
        answer = PyObject_Vectorcall(asks ? world.turn_of : world.may_be_numpys, args, 2, NULL);
        if (answer != NULL && !asks) {
            Py_SETREF(answer, Py_NewRef(answer == Py_True ? site : Py_None));
        }
        Py_DECREF(site);
        Py_DECREF(bytes);
    }
    if (answer == Py_None) {
        Py_CLEAR(answer);
    }
    PyErr_Clear();
    return answer;
}

PyObject *
turn_on(PyObject *function, PyObject *a, PyObject *b)
{
    Py_ssize_t first = bytes_of(a), second = bytes_of(b);
    return turn_of(function, first + second + (first > second ? first : second));
}

double
seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Tell the place what NumPy took since then; nothing after an error, which is on its way. */
void
took(PyObject *site, double started)
{
    static PyObject *passed, *took_it, *by_name;
    if (site == NULL) {
        return;
    }
    PyObject *race = PyErr_Occurred() ? NULL : numpys_race(site);
    if (race != NULL) {
        PyObject *sites = slot_of(race, told.race.sites);
        Py_ssize_t last = PyTuple_GET_SIZE(sites) - 1;
        PyObject *seconds = PyFloat_FromDouble(seconds_now() - started), *told_it = NULL;
        PyObject *args[] = {race, seconds, site,
                            PyTuple_GET_ITEM(sites, last) == site ? Py_True : Py_False};
        if (by_name == NULL) {
            by_name = Py_BuildValue("(s)", "ends");
        }
        if (seconds != NULL && by_name != NULL) {
            Py_INCREF(race);
            told_it = PyObject_VectorcallMethod(intern(&passed, "passed"), args, 3, by_name);
            Py_DECREF(race);
        }
        Py_XDECREF(seconds);
        Py_XDECREF(told_it);
        PyErr_Clear();
    }
    else if (!PyErr_Occurred() && (race = slot_of(site, told.of_race)) != NULL &&
             Py_TYPE(race) == told.race_type) { /* given to NumPy unasked */
        PyObject *seconds = PyFloat_FromDouble(seconds_now() - started);
        PyObject *args[] = {race, seconds}, *told_it = NULL;
        if (seconds != NULL) {
            Py_INCREF(race);
            told_it = PyObject_VectorcallMethod(intern(&took_it, "took"), args, 2, NULL);
            Py_DECREF(race);
        }
        Py_XDECREF(seconds);
        Py_XDECREF(told_it);
        PyErr_Clear();
    }
    Py_DECREF(site);
}

/* What Python makes of large arrays that lie here; it notes how long that takes. */
PyObject *
ours(PyObject *slow, Py_ssize_t bytes, PyObject *const *args, Py_ssize_t count,
     PyObject *kwnames)
{
    PyObject *size = PyLong_FromSsize_t(bytes), *given = PyTuple_New(count);
    PyObject *named = kwnames == NULL ? Py_NewRef(Py_None) : PyDict_New(), *r = NULL;
    int complete = size != NULL && given != NULL && named != NULL;
    for (Py_ssize_t k = 0; complete && k < count; k++) {
        PyTuple_SET_ITEM(given, k, Py_NewRef(args[k]));
    }
    for (Py_ssize_t k = 0; complete && kwnames != NULL && k < PyTuple_GET_SIZE(kwnames); k++) {
        complete = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k), args[count + k]) == 0;
    }
    if (complete) {
        PyObject *all[] = {slow, size, given, named};
        r = PyObject_Vectorcall(world.run_ours, all, 4, NULL);
    }
    Py_XDECREF(size);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return r;
}

int
may_move(Py_ssize_t bytes)
{
    PyObject *found = PyObject_CallFunction(world.may_move, "n", bytes);
    int may = found == Py_True;
    Py_XDECREF(found);
    PyErr_Clear();
    return may;
}
