/* How many numbers lie in bins of equal width, by NumPy's own steps, one number at a time. */

#include "handle.h"

/* `count_bins(values, edges, counters)`: add one to the counter of each float's bin. `counters` has
   two rows, which take turns, so that equal neighbours do not wait for each other. False, and the
   counters of no use, where a number belongs to no bin that there is. */
PyObject *
count_bins(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values, *edges, *counters;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, &values, &PyArray_Type, &edges,
                          &PyArray_Type, &counters)) {
        return NULL;
    }
    npy_intp bins = PyArray_SIZE(edges) - 1, size = PyArray_SIZE(values);
    if (PyArray_TYPE(values) != NPY_DOUBLE || PyArray_TYPE(edges) != NPY_DOUBLE ||
        PyArray_TYPE(counters) != NPY_INTP || !PyArray_ISCARRAY_RO(values) ||
        !PyArray_ISCARRAY_RO(edges) || !PyArray_ISCARRAY(counters) || bins < 1 ||
        PyArray_SIZE(counters) != 2 * bins) {
        PyErr_SetString(PyExc_TypeError, "expected doubles, edges and two rows of counters");
        return NULL;
    }
    const double *x = PyArray_DATA(values), *edge = PyArray_DATA(edges);
    const double first = edge[0], last = edge[bins], width = last - first, scale = (double)bins;
    npy_intp *counter = PyArray_DATA(counters);
    int fits = 1;
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp at = 0; at < size; at++) {
        double value = x[at];
        if (!(first <= value && value <= last)) {
            continue;
        }
        double place = (value - first) / width * scale;
        if (!(place >= 0 && place < scale + 1)) {
            fits = 0;
            break;
        }
        npy_intp k = (npy_intp)place;
        k = k == bins ? bins - 1 : k;
        k -= value < edge[k];
        if (k < 0) {
            fits = 0;
            break;
        }
        k += k != bins - 1 && value >= edge[k + 1];
        counter[k + (at & 1 ? bins : 0)]++;
    }
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(fits);
}
