/* Whose turn it is to compute with large arrays that lie here, and what that took: dnumpy/expr/race.py
   says why. */

#include "handle.h"

#include <time.h>

static Py_ssize_t
bytes_of(PyObject *x)
{
    return x != NULL && IS_NUMPYS(x) ? PyArray_NBYTES((PyArrayObject *)x) : 0;
}

int
is_little_product(PyObject *a, PyObject *b)
{
    Py_ssize_t bytes = bytes_of(a) + bytes_of(b);
    return bytes <= LITTLE_BYTES && slot_of(world.config, world.reproducible_at) == Py_False &&
           may_move(bytes);
}

/* The place of the line of the program that is running, if NumPy is to do now what this does with
   what lies here; NULL without an error too after one, which Python will meet. */
PyObject *
turn_of(PyObject *function, Py_ssize_t size)
{
    PyObject *bytes = PyLong_FromSsize_t(size);
    PyObject *args[] = {function, bytes};
    PyObject *site = bytes == NULL ? NULL : PyObject_Vectorcall(world.turn_of, args, 2, NULL);
    Py_XDECREF(bytes);
    if (site == Py_None) {
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

/* Tell the place what NumPy took since then; nothing after an error, which is on its way. */
void
took(PyObject *site, double started)
{
    static PyObject *name;
    if (site == NULL) {
        return;
    }
    if (!PyErr_Occurred()) {
        PyObject *seconds = PyFloat_FromDouble(seconds_now() - started);
        PyObject *told = seconds == NULL ? NULL
                                         : PyObject_CallMethodOneArg(site, intern(&name, "took"),
                                                                     seconds);
        Py_XDECREF(seconds);
        Py_XDECREF(told);
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
