/* NumPy's inner loops over arrays of one dtype: see loops.c. */

#ifndef DNUMPY_LOOPS_H
#define DNUMPY_LOOPS_H

#include "handle.h"
#include <numpy/ufuncobject.h>

#include <fenv.h>

#define FAULTS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID) /* that NumPy tells of */
#define HELD_BELOW 500 /* elements up to which NumPy holds on to the interpreter's lock */

enum { UNKNOWN, NONE, UNTRIED, TRUSTED };

typedef struct {
    PyUFuncGenericFunction run;
    void *data;
    PyArray_Descr *read, *made; /* the dtypes of operands and result, kept */
    int is_steady; /* whether an element's bits are the same wherever the loop meets it */
    int is_met_beside; /* or depend on which elements it meets together */
    int state;
    double cost;    /* seconds for an element, as one thread runs it; 0 until that was measured */
    int slow, rest; /* see costly.c */
} Loop;

#define WALKED_AXES 6 /* of an operation that is walked over here */

/* What is read or written, seen as an array of the result's shape. */
typedef struct {
    char *data;
    npy_intp steps[WALKED_AXES];
} Walked;

/* Whether rows are so short that many are best run together, which then is done: see rows.c. Of operands
   and the result, which is the last. */
int are_short_rows(const Loop *loop, const npy_intp *shape, int axes, const Walked *walked, int count);
void run_rows(const Loop *loop, const npy_intp *shape, const Walked *walked, int count);
void run_short_rows(const Loop *loop, const npy_intp *shape, const Walked *walked, int count);

int is_met_beside(const char *name, int type);
int is_spread(const Walked *walked, int axes, int count);

int is_ufunc(PyObject *x);
int is_steady(const char *name, int type);
void find_loop(Loop *loop, PyUFuncObject *ufunc, int type);
PyObject *tried(Loop *loop, PyObject *ufunc, PyObject *const *given, int count, PyObject *made);
int takes(PyArrayObject *out, PyArray_Descr *made, PyObject *const *given, int count, const npy_intp *shape,
          int axes); /* see regions.c */
int told_faults(PyUFuncObject *ufunc, int integers);
PyArray_Descr *shared_dtype(PyObject *const *given, int count); /* borrowed */

int helpers_with(Loop *loop, npy_intp size);
void run_shared(const Loop *loop, npy_intp size, char *const *data, const npy_intp *steps, int count,
                int helpers);
void note_cost(Loop *loop, npy_intp size, double seconds, int helpers);

static inline void
forget_faults(void)
{
    if (fetestexcept(FAULTS)) { /* to test is much faster than to clear */
        feclearexcept(FE_ALL_EXCEPT);
    }
}

static inline PyObject *
new_array(PyArray_Descr *dtype, int axes, npy_intp *shape)
{
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), axes, shape, NULL,
                                NULL, 0, NULL);
}

/* The end of what stands for a function of NumPy's: what was made, or what NumPy makes. */
#define OR_NUMPYS(MADE, NAME)                                                                      \
    static PyObject *numpys;                                                                       \
    PyObject *made_ = (MADE);                                                                      \
    return made_ != NULL || PyErr_Occurred()                                                       \
               ? made_                                                                             \
               : left_to_numpy(&numpys, NULL, NAME, args, count, kwnames)

#endif
