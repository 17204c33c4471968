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
