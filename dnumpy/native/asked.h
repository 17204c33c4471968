/* What a call of numpy's mean, var, std, sum, max or min asks for: see moments.c. */

#ifndef DNUMPY_ASKED_H
#define DNUMPY_ASKED_H

#include "handle.h"

enum { MEAN, VARIANCE, DEVIATION, SUM, LARGEST, SMALLEST };

/* Beside its array. */
typedef struct {
    int has_axis, keeps; /* whether it is over one axis, and keeps that */
    Py_ssize_t axis, ddof;
    Py_ssize_t more; /* axes after that one, which it is over, too */
    int has_type, type; /* whether a type is named that the result has, and which */
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
    npy_intp axis = asked->axis + (asked->axis < 0 ? dimensions : 0), last = axis + asked->more;
    if (axis < 0 || last >= dimensions) {
        return 0;
    }
    lines->outer = lines->n = lines->inner = 1;
    lines->axes = 0;
    for (int k = 0; k < dimensions; k++) {
        int is_along = k >= axis && k <= last;
        *(is_along ? &lines->n : k < axis ? &lines->outer : &lines->inner) *= PyArray_DIM(a, k);
        if (!is_along || asked->keeps) {
            lines->shape[lines->axes++] = is_along ? 1 : PyArray_DIM(a, k);
        }
    }
    return 1;
}

/* Say whether a fold is over all that there is, and gives a scalar. */
static inline int
is_over_all(PyArrayObject *a, const Asked *asked)
{
    int dimensions = PyArray_NDIM(a);
    int is_first = asked->axis == 0 || asked->axis == -dimensions;
    return !asked->keeps && (!asked->has_axis || (is_first && asked->more + 1 == dimensions));
}

/* Say whether no type is named, or that which sums and means of an array have anyway. */
static inline int
is_usual_type(PyArrayObject *a, int what, const Asked *asked)
{
    int type = PyArray_TYPE(a), kind = PyArray_DESCR(a)->kind;
    if (!asked->has_type || kind == 'f') {
        return !asked->has_type || type == asked->type;
    }
    int is_wide = PyArray_ITEMSIZE(a) == 8;
    int sums = is_wide ? type : kind == 'u' ? NPY_UINTP : NPY_INTP;
    return (what == SUM && asked->type == sums) || (what == MEAN && asked->type == NPY_DOUBLE);
}

/* How an array that lies in blocks of lines is folded along them, by threads where it is large: see
   along.c. */
typedef struct {
    const char *data;
    char *found;
    npy_intp outer, n, inner, itemsize, given; /* given: the bytes of what each line comes to */
    void (*lines)(const void *data, npy_intp lines, npy_intp n, void *to);
    void (*rows)(const void *data, npy_intp n, npy_intp stride, npy_intp width, void *to);
    void (*join)(void *to, const void *more, npy_intp width);
    npy_intp unit;        /* lines, or rows of one block, that a thread takes at a time */
    char *by;             /* of such rows: what each thread found so far, one row for each */
    int64_t next, members;
} Along;

/* 0 where memory is short. */
int fold_along(Along *self);

/* The largest or smallest of aligned elements that lie side by side, new; NULL without an error where
   NumPy is to look, as of few: see extrema.c. */
PyObject *extremum_shared(PyArrayObject *x, int is_largest);
/* Whether any of an array of booleans is set, or all are; -1 of other arrays: see truth.c. */
int truth_of(PyObject *x, int of_all);
/* The same by this thread, and along one axis, an array: see along.c. Of booleans the largest is whether any is
   true. */
PyObject *extremum_here(PyArrayObject *x, int is_largest);
PyObject *extremum_along(PyArrayObject *a, int is_largest, const Asked *asked);
/* The sum or mean of whole numbers or booleans, likewise, of aligned ones that lie side by side; see
   wholes.c. And along an axis, an array. */
PyObject *whole_folded(PyArrayObject *a, int what);
PyObject *wholes_along(PyArrayObject *a, int what, const Asked *asked);
/* The 2-norms of floats along one axis, an array, new; NULL as above. See moments.c. */
PyObject *lengths_along(PyArrayObject *a, const Asked *asked);
/* The same of what are numbers, by any number of threads: see nans.c. */
PyObject *nan_folded(PyArrayObject *a, int what, const Asked *asked);
int fold_by(PyObject *ufunc); /* which fold a ufunc's is; -1 of others */
/* Whether a call of `reduce`, from its array on, names no axis, so that it is the first one. */
int names_no_axis(Py_ssize_t count, PyObject *kwnames);
PyObject *as_measured(PyObject *x); /* see vectors.c */
int take_asked(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int what, Asked *asked);

#endif
