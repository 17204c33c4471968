/* What a call of numpy's mean, var, std, sum, max or min asks for: see moments.c. */

#ifndef DNUMPY_ASKED_H
#define DNUMPY_ASKED_H

#include "handle.h"

enum { MEAN, VARIANCE, DEVIATION, SUM, LARGEST, SMALLEST };

/* Beside its array. */
typedef struct {
    int has_axis, keeps; /* whether it is over one axis, and keeps that */
    Py_ssize_t axis, ddof;
} Asked;

/* The one that is further up or down, or no number if there is one. */
#define FURTHER(x, m, OP) (((x) OP (m)) | ((x) != (x)) ? (x) : (m))

/* An array seen as blocks of lines that lie side by side, along one axis of it, and the result's shape. */
typedef struct {
    npy_intp outer, n, inner;
    npy_intp shape[NPY_MAXDIMS];
    int axes;
} Lines;

/* 0 where there is no such axis. */
static inline int
take_lines_of(Lines *lines, PyArrayObject *a, const Asked *asked)
{
    int dimensions = PyArray_NDIM(a);
    npy_intp axis = asked->axis + (asked->axis < 0 ? dimensions : 0);
    if (axis < 0 || axis >= dimensions) {
        return 0;
    }
    lines->outer = lines->inner = 1;
    lines->n = PyArray_DIM(a, (int)axis);
    lines->axes = 0;
    for (int k = 0; k < dimensions; k++) {
        lines->outer *= k < axis ? PyArray_DIM(a, k) : 1;
        lines->inner *= k > axis ? PyArray_DIM(a, k) : 1;
        if (k != axis || asked->keeps) {
            lines->shape[lines->axes++] = k == axis ? 1 : PyArray_DIM(a, k);
        }
    }
    return 1;
}

/* The largest or smallest of aligned elements that lie side by side, new; NULL without an error where
   NumPy is to look, as of few: see extrema.c. */
PyObject *extremum_shared(PyArrayObject *x, int is_largest);
/* The same by this thread, and along one axis, an array: see along.c. Of booleans the largest is whether any is
   true. */
PyObject *extremum_here(PyArrayObject *x, int is_largest);
PyObject *extremum_along(PyArrayObject *a, int is_largest, const Asked *asked);
/* The sum or mean of whole numbers or booleans, likewise, of aligned ones that lie side by side; see
   wholes.c. */
PyObject *whole_folded(PyArrayObject *a, int what);
/* The 2-norms of floats along one axis, an array, new; NULL as above. See moments.c. */
PyObject *lengths_along(PyArrayObject *a, const Asked *asked);
int take_asked(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int what, Asked *asked);

#endif
