/* Whether any of an array of booleans is true, or all are: NumPy looks at one after the other. */

#include "asked.h"

#include <numpy/arrayscalars.h>

#define MOST_IN_LINE 64 /* elements */

int
truth_of(PyObject *x, int of_all)
{
    PyArrayObject *a = (PyArrayObject *)x;
    if (!IS_NUMPYS(x) || PyArray_TYPE(a) != NPY_BOOL ||
        !(PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))) {
        return -1;
    }
    const char *data = PyArray_BYTES(a);
    size_t size = PyArray_SIZE(a);
    int found;
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size);
    if (of_all) {
        found = memchr(data, 0, size) == NULL;
    }
    else {
        found = size > 0 && (data[0] != 0 || memcmp(data, data + 1, size - 1) != 0);
    }
    NPY_END_THREADS;
    return found;
}

/* Whether lines along an axis are so long that NumPy may be done with them before their ends. */
static int
ends_on_the_way(PyArrayObject *a, Py_ssize_t axis)
{
    int ndim = PyArray_NDIM(a), last = PyArray_IS_C_CONTIGUOUS(a) ? ndim - 1 : 0;
    axis += axis < 0 ? ndim : 0;
    return axis == last && PyArray_DIM(a, last) > MOST_IN_LINE;
}

static PyObject *
truth(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int of_all, const char *owner,
      PyObject **numpys)
{
    int found = count == 1 && kwnames == NULL ? truth_of(args[0], of_all) : -1;
    Asked asked = {0};
    if (found >= 0) {
        PyArrayScalar_RETURN_BOOL_FROM_LONG(found);
    }
    PyArrayObject *a = count > 0 && IS_NUMPYS(args[0]) ? (PyArrayObject *)args[0] : NULL;
    if (a != NULL && PyArray_TYPE(a) == NPY_BOOL && take_asked(args, count, kwnames, LARGEST, &asked) &&
        asked.has_axis && !ends_on_the_way(a, asked.axis + asked.more)) {
        PyObject *made = extremum_along(a, !of_all, &asked);
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return left_to_numpy(numpys, owner, of_all ? "all" : "any", args, count, kwnames);
}

#define DEFINE_TRUTH(NAME, OF_ALL, OWNER)                                                          \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        return truth(args, count, kwnames, OF_ALL, OWNER, &numpys);                                \
    }

DEFINE_TRUTH(any, 0, NULL)
DEFINE_TRUTH(all, 1, NULL)
DEFINE_TRUTH(any_of, 0, "ndarray")
DEFINE_TRUTH(all_of, 1, "ndarray")
