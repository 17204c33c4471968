/* Handles over large arrays that NumPy has just made. */

#include "record.h"

/* What shows all of some C-ordered memory the other way round: its own, with nobody as its base. */
static PyObject *
held_turned(PyObject *np)
{
    PyObject *memory = PyArray_Transpose((PyArrayObject *)np, NULL), *shown = NULL;
    PyObject *leaf = memory == NULL ? NULL : stored(memory);
    Handle *made = leaf == NULL ? NULL : (Handle *)holder(leaf);
    if (made != NULL) { /* a view: what has no base is taken for new where NumPy gives it back */
        shown = PyArray_Transpose((PyArrayObject *)memory, NULL);
    }
    PyObject *seen = shown == NULL ? NULL : PyTuple_Pack(2, memory, shown);
    Py_XDECREF(shown);
    Py_XDECREF(leaf);
    Py_XDECREF(memory);
    if (seen == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Py_SETREF(made->place, Py_NewRef(world.as_seen));
    Py_SETREF(made->seen, seen);
    return (PyObject *)made;
}

/* A handle, new, over a large array that NumPy has just made and nobody else has; NULL without an
   error where Python has to look, as it has while anything waits: that may be too much beside it. */
PyObject *
held_anew(PyObject *np)
{
    PyArrayObject *array = (PyArrayObject *)np;
    if (told.buffer_type == NULL || !IS_NUMPYS(np) || PyArray_BASE(array) != NULL ||
        !PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_BEHAVED) ||
        !is_managed_dtype((PyObject *)PyArray_DESCR(array)) || is_anything_pending()) {
        return NULL;
    }
    if (!PyArray_IS_C_CONTIGUOUS(array)) {
        return PyArray_IS_F_CONTIGUOUS(array) ? held_turned(np) : NULL;
    }
    PyObject *leaf = stored(np), *made = leaf == NULL ? NULL : holder(leaf);
    Py_XDECREF(leaf);
    return made;
}
