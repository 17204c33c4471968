/* What is known of a managed array without looking at its content. */

#include "handle.h"

/* Shape or dtype of a managed array, for which nothing has to be counted or computed. */
static PyObject *
told_of(Handle *handle, PyObject *name)
{
    PyObject *source = handle->seen;
    if (source != NULL && PyTuple_CheckExact(source)) {
        source = PyTuple_GET_ITEM(source, 1);
    }
    else if (handle->place != NULL && handle->place != Py_None) {
        source = handle->place;
    }
    else {
        source = handle->buf;
        if (source == NULL || (PyObject *)Py_TYPE(source) != world.buffer_type) {
            return NULL;
        }
    }
    return PyObject_GetAttr(source, name);
}

/* The same, and what follows from them; NULL without an error where Python has to look. */
PyObject *
managed_fact(Handle *handle, PyObject *name)
{
    static PyObject *shape_name, *dtype_name;
    static const char *const following[] = {"ndim", "size", "itemsize", "nbytes"};
    int which = 0;
    while (which < 4 && PyUnicode_CompareWithASCIIString(name, following[which]) != 0) {
        which++;
    }
    if (which == 4) {
        return told_of(handle, name);
    }
    PyObject *shape = told_of(handle, intern(&shape_name, "shape"));
    PyObject *dtype = shape == NULL ? NULL : told_of(handle, intern(&dtype_name, "dtype"));
    Py_ssize_t found = -1;
    if (dtype != NULL && PyTuple_CheckExact(shape) && PyArray_DescrCheck(dtype)) {
        Py_ssize_t itemsize = PyDataType_ELSIZE((PyArray_Descr *)dtype);
        npy_intp extents[NPY_MAXDIMS];
        int count = PyArray_IntpFromSequence(shape, extents, NPY_MAXDIMS);
        found = which == 0   ? count
                : which == 2 ? itemsize
                             : PyArray_MultiplyList(extents, count) * (which == 3 ? itemsize : 1);
    }
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return found < 0 || PyErr_Occurred() ? NULL : PyLong_FromSsize_t(found);
}
