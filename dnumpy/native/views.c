/* What functions that only show an array in another way make of large memory that lies here. */

#include "handle.h"

/* One of several views, or the array itself, as ours; NULL without an error of anything else. */
static PyObject *
view_in(PyObject *x, PyObject *memory, PyObject *whole, PyObject *shown)
{
    if (shown == whole) {
        return Py_NewRef(x);
    }
    return IS_NUMPYS(shown) ? new_seen((Handle *)x, memory, Py_NewRef(shown)) : NULL;
}

static PyObject *
views_in(PyObject *x, PyObject *memory, PyObject *whole, PyObject *shown)
{
    Py_ssize_t count = PyList_GET_SIZE(shown);
    PyObject *made = PyList_New(count);
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) {
        PyObject *one = view_in(x, memory, whole, PyList_GET_ITEM(shown, k));
        if (one == NULL) {
            Py_CLEAR(made);
        }
        else {
            PyList_SET_ITEM(made, k, one);
        }
    }
    return made;
}

/* Call NumPy's function with the memory of its first argument, where nobody is to be told that it is
   read, and plain values; NULL without an error where Python has to look. */
PyObject *
viewed(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *x = args[0], *given[MOST_ARGUMENTS], *r = NULL;
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    Handle *handle = (Handle *)x;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf);
    PyObject *whole = memory == NULL ? NULL : lying_here(x);
    if (whole != NULL) {
        memcpy(given, args, total * sizeof(PyObject *));
        given[0] = whole;
        PyObject *found = PyObject_Vectorcall(function, given, count, kwnames);
        if (found != NULL && holds_type(world.plain, found) && !IS_NUMPYS(found)) {
            r = Py_NewRef(found); /* the sum of a diagonal */
        }
        else if (found != NULL) {
            r = PyList_CheckExact(found) ? views_in(x, memory, whole, found)
                                         : view_in(x, memory, whole, found);
        }
        Py_XDECREF(found);
    }
    Py_XDECREF(whole);
    Py_XDECREF(memory);
    return r;
}

/* The same of a method, if it is one that shows an array in another way. */
PyObject *
viewed_by_method(PyObject *method, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int shows = kwnames == NULL && is_of_kind(method, SHOWS);
    for (Py_ssize_t k = 1; shows && k < count; k++) {
        shows = PyLong_CheckExact(args[k]) || is_plain(world.plain, args[k]);
    }
    return shows ? viewed(method, args, count, NULL) : NULL;
}

/* An attribute that is a view of the array. */
PyObject *
viewed_by_attribute(PyObject *name, PyObject *array)
{
    Handle *handle = (Handle *)array;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf), *r = NULL;
    PyObject *whole = memory == NULL ? NULL : lying_here(array);
    PyObject *found = whole == NULL ? NULL : PyObject_GetAttr(whole, name);
    if (found != NULL && found != whole) {
        r = view_in(array, memory, whole, found);
    }
    Py_XDECREF(found);
    Py_XDECREF(whole);
    Py_XDECREF(memory);
    return r;
}
