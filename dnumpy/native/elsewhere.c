/* Methods of our class that are called with arrays of NumPy's, and of classes derived from that. */

#include "handle.h"

/* Say whether what a method of NumPy's gives stays NumPy's: `__array__` does for those who ask. */
static int
gives_numpys(PyObject *numpys)
{
    PyObject *name = PyObject_GetAttrString(numpys, "__name__");
    int found = name == NULL || PyUnicode_CompareWithASCIIString(name, "__array__") == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

/* What NumPy's method makes of one of its arrays, or of a subclass, and plain values. It counts who
   else holds the array when that is resized. */
static PyObject *
plainly(PyObject *numpys, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *r = PyObject_Vectorcall(numpys, args, count, kwnames);
    int holds = r != NULL && (IS_NUMPYS(r) || PyTuple_CheckExact(r) || PyList_CheckExact(r));
    if (!holds || r == args[0] || gives_numpys(numpys)) {
        return r;
    }
    return wrapped(r, args, count);
}

/* Say whether an argument holds no array of ours, and nothing that holds one. */
static int
holds_none(PyObject *x)
{
    Py_ssize_t k = 0;
    while (PyList_CheckExact(x) && k < PyList_GET_SIZE(x) && PyLong_CheckExact(PyList_GET_ITEM(x, k))) {
        k++;
    }
    return PyList_CheckExact(x) ? k == PyList_GET_SIZE(x) : IS_NUMPYS(x) || is_plain(world.plain, x);
}

/* What Python makes of NumPy's method where the first argument, if there is one, is no array of ours:
   one of NumPy's, of a subclass of that, or what NumPy refuses. */
PyObject *
elsewhere(PyObject *numpys, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), plain = 1;
    while (plain < total && holds_none(args[plain])) {
        plain++;
    }
    if (count > 0 && plain >= total && PyArray_Check(args[0])) {
        return plainly(numpys, args, count, kwnames);
    }
    PyObject *given = PyTuple_New(count), *named = PyDict_New(), *r = NULL;
    for (Py_ssize_t k = 0; given != NULL && k < count; k++) {
        PyTuple_SET_ITEM(given, k, Py_NewRef(args[k]));
    }
    int done = given == NULL || named == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; done == 0 && kwnames != NULL && k < PyTuple_GET_SIZE(kwnames); k++) {
        done = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k), args[count + k]);
    }
    if (done == 0) {
        r = PyObject_CallFunctionObjArgs(world.elsewhere, numpys, given, named, NULL);
    }
    Py_XDECREF(given);
    Py_XDECREF(named);
    return r;
}

/* Say whether a call is for NumPy's class; before Python has named ours, none is. */
int
is_elsewhere(PyObject *const *args, Py_ssize_t count)
{
    return world.elsewhere != NULL && (count == 0 || !IS_ARRAY(args[0]));
}
