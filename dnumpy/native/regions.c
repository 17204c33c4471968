/* Views of arrays of NumPy's by integers and slices.

   NumPy parses an index for everything that it may be, and has the view by way of general code; most
   indices are slices with whole numbers. What is not as plain as that, or does not fit the array, is
   left to NumPy, errors included. */

#include "handle.h"

#define MOST_AXES 8

typedef struct {
    npy_intp shape[MOST_AXES], strides[MOST_AXES], offset;
    int axes;
} Region;

static inline int
is_bound(PyObject *x)
{
    return x == Py_None || PyLong_CheckExact(x);
}

/* Add an axis of which a slice is taken; 0 where NumPy has to look. */
static int
add_slice(Region *region, PyObject *key, npy_intp extent, npy_intp stride)
{
    PySliceObject *slice = (PySliceObject *)key;
    Py_ssize_t start, stop, step;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step) ||
        PySlice_Unpack(key, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t size = PySlice_AdjustIndices(extent, &start, &stop, step);
    if (size <= 0) {
        size = start = 0;
        step = 1;
    }
    region->offset += start * stride;
    region->strides[region->axes] = step * stride;
    region->shape[region->axes++] = size;
    return 1;
}

static int
add_whole(Region *region, PyArrayObject *a, int first, int end)
{
    if (region->axes + end - first > MOST_AXES) {
        return 0;
    }
    for (int k = first; k < end; k++) {
        region->strides[region->axes] = PyArray_STRIDE(a, k);
        region->shape[region->axes++] = PyArray_DIM(a, k);
    }
    return 1;
}

/* Find what an index shows; 0 where NumPy has to look, as for one element. */
static int
find_region(Region *region, PyArrayObject *a, PyObject *const *parts, Py_ssize_t count)
{
    int ndim = PyArray_NDIM(a), axis = 0, taken = 0, ellipses = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        taken += PyLong_CheckExact(parts[k]) || PySlice_Check(parts[k]);
        ellipses += parts[k] == Py_Ellipsis;
    }
    if (taken > ndim || ellipses > 1) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *part = parts[k];
        if (part == Py_Ellipsis) {
            int end = axis + ndim - taken;
            if (!add_whole(region, a, axis, end)) {
                return 0;
            }
            axis = end;
        }
        else if (region->axes == MOST_AXES) {
            return 0;
        }
        else if (part == Py_None) {
            region->strides[region->axes] = 0;
            region->shape[region->axes++] = 1;
        }
        else if (PySlice_Check(part)) {
            if (!add_slice(region, part, PyArray_DIM(a, axis), PyArray_STRIDE(a, axis))) {
                return 0;
            }
            axis++;
        }
        else if (PyLong_CheckExact(part)) {
            Py_ssize_t at = PyLong_AsSsize_t(part), extent = PyArray_DIM(a, axis);
            at += at < 0 ? extent : 0; /* -1 with an error is the last one, unless that is seen */
            if (at < 0 || at >= extent || (at == extent - 1 && PyErr_Occurred())) {
                PyErr_Clear();
                return 0;
            }
            region->offset += at * PyArray_STRIDE(a, axis);
            axis++;
        }
        else {
            return 0;
        }
    }
    return add_whole(region, a, axis, ndim) && region->axes > 0;
}

/* A view by a basic index, new; NULL without an error where NumPy has to look. */
PyObject *
region_of(PyObject *array, PyObject *key)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int is_tuple = PyTuple_CheckExact(key);
    Region region = {.axes = 0, .offset = 0};
    if (!find_region(&region, a, is_tuple ? &PyTuple_GET_ITEM(key, 0) : &key,
                     is_tuple ? PyTuple_GET_SIZE(key) : 1) ||
        PyArray_FLAGS(a) < 0) { /* which warns of writes */
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(a);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), region.axes, region.shape, region.strides,
        PyArray_BYTES(a) + region.offset, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(array)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}
