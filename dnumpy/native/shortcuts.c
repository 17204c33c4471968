/* Which ufunc an operator of NumPy's arrays comes to. */

#include "handle.h"

/* NumPy's ufunc of a comparison, borrowed. */
PyObject *
comparing_ufunc(int op)
{
    static const char *const ufuncs[] = {"less", "less_equal", "equal", "not_equal", "greater",
                                         "greater_equal"};
    static PyObject *found[6];
    if (found[op] == NULL) {
        found[op] = numpys_own(NULL, ufuncs[op]);
    }
    return found[op];
}

/* What NumPy's operator makes of a small array and a power: the loops that it takes a short cut to. */
PyObject *
power_by_loop(PyObject *ufunc, PyObject *a, PyObject *power)
{
    static PyObject *by_itself[3];
    static const char *const names[] = {"square", "reciprocal", "sqrt"};
    int at = -1, overflows = 0;
    if (!IS_NUMPYS(a)) {
        return NULL;
    }
    if (PyLong_CheckExact(power)) {
        long value = PyLong_AsLongAndOverflow(power, &overflows);
        at = value == 2 ? 0 : value == -1 && !overflows ? 1 : -1;
    }
    else if (PyFloat_CheckExact(power)) {
        at = PyFloat_AS_DOUBLE(power) == 0.5 ? 2 : -1;
    }
    PyObject *pair[] = {a, power};
    if (at < 0) {
        return looped(ufunc, pair, 2, NULL);
    }
    int type = PyArray_TYPE((PyArrayObject *)a);
    if (at > 0 && !PyTypeNum_ISFLOAT(type) && !PyTypeNum_ISCOMPLEX(type)) {
        return NULL;
    }
    if (by_itself[at] == NULL) {
        by_itself[at] = numpys_own(NULL, names[at]);
    }
    return looped(by_itself[at], pair, 1, NULL);
}
