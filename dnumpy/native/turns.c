/* Whose turn it is to compute with large arrays that lie here, and what that took: dnumpy/expr/race.py
   says why. */

#include "record.h"

#include <math.h>
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

/* Say whether a method or function of booleans that lie here ends where it knows, which is NumPy's to
   find. */
int
ends_early(PyObject *method, PyObject *own)
{
    return IS_NUMPYS(own) && PyArray_TYPE((PyArrayObject *)own) == NPY_BOOL &&
           is_of_kind(method, ENDS_EARLY) &&
           may_move(PyArray_NBYTES((PyArrayObject *)own));
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

static int
put_in(PyObject *object, Py_ssize_t at, PyObject *made)
{
    if (made == NULL) {
        return 0;
    }
    Py_XSETREF(*place_of(object, at), made);
    return 1;
}

#define AT_FIRST 3.0 /* times as long as ours, which is too long: expr/race.py, too */
#define LEAST_SENT (16 << 20) /* bytes that may be for others than this process: runtime/find.py, too */

/* What Python said yes to since the settings were last changed, where it would of any fewer bytes. */
static struct {
    long long as_of;       /* how often they had been changed */
    PyObject *functions;   /* of NumPy's that it may run, None for a comparison: a set */
    PyObject *unasked;     /* those that it may run where nothing was measured: likewise */
    int moves;             /* whether it may move elements */
} allowed = {.as_of = -1};

static int
is_as_it_was(Py_ssize_t bytes)
{
    if (bytes >= LEAST_SENT || told.buffer_type == NULL) {
        return 0;
    }
    long long now = PyLong_AsLongLong(*place_of(world.config, told.changes));
    if (now != allowed.as_of || allowed.functions == NULL) {
        Py_XSETREF(allowed.functions, PySet_New(NULL));
        Py_XSETREF(allowed.unasked, PySet_New(NULL));
        allowed.moves = 0;
        allowed.as_of = now;
    }
    return allowed.functions != NULL && allowed.unasked != NULL;
}

int
may_be_numpys(PyObject *function, Py_ssize_t size)
{
    int keeps = is_as_it_was(size);
    if (keeps && PySet_Contains(allowed.functions, function) == 1) {
        return 1;
    }
    PyErr_Clear();
    PyObject *found = PyObject_CallFunction(world.may_be_numpys, "On", function, size);
    int may = found == Py_True;
    Py_XDECREF(found);
    if (may && keeps) {
        PySet_Add(allowed.functions, function);
    }
    PyErr_Clear();
    return may;
}

#define SURE 3    /* as expr/origin.py has them, of a Site */
#define PROBED 16
#define STEADY 6  /* as expr/race.py has them */
#define TOLD_ROUNDS 16

static long
count_in(PyObject *object, Py_ssize_t at)
{
    PyObject *number = slot_of(object, at);
    return number != NULL && PyLong_CheckExact(number) ? PyLong_AsLong(number) : -1;
}

/* Say whether ours were found to be faster at a place, as `Race.is_won`; the race is not NumPy's. */
static int
is_won(PyObject *site)
{
    PyObject *race = slot_of(site, told.of_race);
    return race != NULL && Py_TYPE(race) == told.race_type &&
           count_in(race, told.race.due) - count_in(race, told.race.runs) > STEADY;
}

/* Say whether a place computes the next result without waiting, as `Site.computes_at_once`. */
static int
computes_at_once(PyObject *site)
{
    long alone = count_in(site, told.alone);
    if (alone < SURE) {
        return 0;
    }
    int at_once = alone + 1 < SURE + PROBED;
    return put_in(site, told.alone, PyLong_FromLong(at_once ? alone + 1 : SURE - 1)) && at_once;
}

/* The same place, new, where nothing was measured: if it looks at each of its results by itself, and
   NumPy's loop is as fast as any. */
static PyObject *
unasked(PyObject *site, PyObject *function, Py_ssize_t size)
{
    int keeps = is_as_it_was(size);
    if (keeps && PySet_Contains(allowed.unasked, function) == 1) {
        int may = !is_won(site) && computes_at_once(site);
        return may ? Py_NewRef(site) : NULL;
    }
    PyErr_Clear();
    PyObject *answer = PyObject_CallFunction(world.turn_of, "On", function, size);
    if (keeps && answer == site) {
        PySet_Add(allowed.unasked, function);
    }
    return answer;
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
    Py_INCREF(site);
    if (race != NULL || at_once) {
        answer = may_be_numpys(function, size) ? Py_NewRef(site) : NULL;
    }
    else {
        answer = unasked(site, function, size);
    }
    Py_DECREF(site);
    if (answer == Py_None) {
        Py_CLEAR(answer);
    }
    PyErr_Clear();
    return answer;
}

PyObject *
turn_to_sum(Py_ssize_t bytes)
{
    PyObject *site = site_now(), *race = site == NULL ? NULL : numpys_race(site);
    if (site == NULL || (race != NULL && slot_of(race, told.race.apart) != Py_True)) {
        PyErr_Clear();
        return NULL;
    }
    Py_INCREF(site);
    int may = may_be_numpys(Py_None, bytes) &&
              (race != NULL || goes_at_once(bytes) || computes_at_once(site));
    if (!may) {
        Py_CLEAR(site);
    }
    PyErr_Clear();
    return site;
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

static double
number_in(PyObject *object, Py_ssize_t at)
{
    PyObject *number = slot_of(object, at);
    return number != NULL && PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : -1;
}

/* Note in a race what an operation took, as its `passed` does, where a round goes on as those before;
   0 where that is for Python. */
static int
is_noted(PyObject *race, double seconds, int ends)
{
    double spent = number_in(race, told.race.spent), best = number_in(race, told.race.numpys);
    PyObject *rounds = slot_of(race, told.race.rounds), *skipped = slot_of(race, told.race.skipped);
    if (spent < 0 || best < 0 || slot_of(race, told.race.trying) != Py_False ||
        slot_of(race, told.race.has_end) != Py_True ||
        slot_of(race, told.race.opening) != Py_None) {
        return 0;
    }
    if (!ends) {
        return put_in(race, told.race.spent, PyFloat_FromDouble(spent + seconds));
    }
    PyObject *laps = slot_of(race, told.race.laps);
    if (laps == NULL || !PyTuple_CheckExact(laps) || PyTuple_GET_SIZE(laps) != 2 ||
        !isinf(PyFloat_AsDouble(PyTuple_GET_ITEM(laps, 0))) ||
        !isinf(PyFloat_AsDouble(PyTuple_GET_ITEM(laps, 1))) || rounds == NULL ||
        !PyLong_CheckExact(rounds) || PyLong_AsLong(rounds) <= 1 || skipped == NULL ||
        !(PyTuple_CheckExact(skipped) || PyList_CheckExact(skipped))) {
        return 0;
    }
    if (PySequence_Fast_GET_SIZE(skipped) != 0 && (PyLong_AsLong(rounds) - 1) % TOLD_ROUNDS == 0) {
        return 0; /* what was not run is told of some rounds together */
    }
    spent += seconds;
    return put_in(race, told.race.numpys, PyFloat_FromDouble(spent < best ? spent : best)) &&
           put_in(race, told.race.spent, PyFloat_FromDouble(0)) &&
           put_in(race, told.race.rounds, PyLong_FromLong(PyLong_AsLong(rounds) - 1));
}

/* Likewise, as its `took` does, of what was given to NumPy unasked. */
static int
is_taken(PyObject *race, double seconds)
{
    PyObject *behind = slot_of(race, told.race.behind);
    return seconds <= AT_FIRST * number_in(race, told.race.best) && behind != NULL &&
           PyLong_CheckExact(behind) && PyLong_AsLong(behind) == 0;
}

/* Tell the place what NumPy took since then; nothing after an error, which is on its way. */
void
took(PyObject *site, double started)
{
    static PyObject *passed, *took_it, *by_name;
    PyObject *race = site == NULL || PyErr_Occurred() ? NULL : slot_of(site, told.of_race);
    if (race != NULL && Py_TYPE(race) == told.race_type) {
        int is_numpys = numpys_race(site) != NULL;
        PyObject *sites = slot_of(race, told.race.sites), *made = NULL;
        int ends = PyTuple_GET_ITEM(sites, PyTuple_GET_SIZE(sites) - 1) == site;
        double seconds = seconds_now() - started;
        PyObject *args[] = {race, NULL, site, ends ? Py_True : Py_False};
        if (by_name == NULL) {
            by_name = Py_BuildValue("(s)", "ends");
        }
        if (is_numpys ? !is_noted(race, seconds, ends) : !is_taken(race, seconds)) {
            Py_INCREF(race);
            args[1] = PyFloat_FromDouble(seconds);
            if (args[1] != NULL && by_name != NULL) {
                made = is_numpys ? PyObject_VectorcallMethod(intern(&passed, "passed"), args, 3, by_name)
                                 : PyObject_VectorcallMethod(intern(&took_it, "took"), args, 2, NULL);
            }
            Py_XDECREF(made);
            Py_XDECREF(args[1]);
            Py_DECREF(race);
        }
        PyErr_Clear();
    }
    Py_XDECREF(site);
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
    int keeps = is_as_it_was(bytes);
    if (keeps && allowed.moves) {
        return 1;
    }
    PyErr_Clear();
    PyObject *found = PyObject_CallFunction(world.may_move, "n", bytes);
    int may = found == Py_True;
    Py_XDECREF(found);
    PyErr_Clear();
    allowed.moves |= may && keeps;
    return may;
}
