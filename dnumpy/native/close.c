/* What numpy.isclose and allclose give of floats that lie side by side. NumPy makes ten arrays of two. */

#include "pairwise.h"

#include <float.h>

/* The second operand may be one number. */
FOR_EACH_CPU static int
compare(const double *a, const double *b, Py_ssize_t step, Py_ssize_t n, double rtol, double atol,
        npy_bool *each)
{
    int all = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        double x = a[i], y = b[i * step];
        int is_near = fabs(x - y) <= atol + rtol * fabs(y), is_finite = fabs(y) <= DBL_MAX;
        int is_close = (is_near & is_finite) | (x == y);
        if (each != NULL) {
            each[i] = (npy_bool)is_close;
        }
        all &= is_close;
    }
    return all;
}

static PyArrayObject *
floats_of(PyObject *x)
{
    PyArrayObject *array = (PyArrayObject *)x;
    int fits = IS_NUMPYS(x) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) &&
               PyArray_SIZE(array) > 0;
    return fits ? array : NULL;
}

/* Take `(a, b, rtol=1e-05, atol=1e-08)`; 0 where NumPy has to look. */
static int
take_tolerances(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, double tolerances[2])
{
    static const char *const names[] = {"rtol", "atol"};
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames), given = count - 2;
    if (count < 2 || count > 4) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < given + named; k++) {
        PyObject *value = args[2 + k];
        int at = (int)k;
        if (k >= given) {
            PyObject *name = PyTuple_GET_ITEM(kwnames, k - given);
            for (at = 0; at < 2 && PyUnicode_CompareWithASCIIString(name, names[at]) != 0; at++) {
            }
        }
        if (at == 2 || (k >= given && at < given) || !PyFloat_CheckExact(value)) {
            return 0;
        }
        tolerances[at] = PyFloat_AS_DOUBLE(value);
    }
    return isfinite(tolerances[0]) && isfinite(tolerances[1]); /* NumPy warns of others */
}

static PyObject *
closeness(int all, const char *name, PyObject **numpys, PyObject *const *args, Py_ssize_t count,
          PyObject *kwnames)
{
    double tolerances[] = {1e-5, 1e-8}, number;
    PyArrayObject *a = count > 1 ? floats_of(args[0]) : NULL, *b = a == NULL ? NULL : floats_of(args[1]);
    int is_number = a != NULL && b == NULL && PyFloat_CheckExact(args[1]);
    if ((is_number || (b != NULL && PyArray_SAMESHAPE(a, b))) && (all || PyArray_NDIM(a) > 0) &&
        take_tolerances(args, count, kwnames, tolerances)) {
        number = is_number ? PyFloat_AS_DOUBLE(args[1]) : 0;
        const double *second = is_number ? &number : PyArray_DATA(b);
        PyObject *made = all ? NULL : PyArray_SimpleNew(PyArray_NDIM(a), PyArray_DIMS(a), NPY_BOOL);
        if (!all && made == NULL) {
            return NULL;
        }
        clear_faults();
        int found = compare(PyArray_DATA(a), second, is_number ? 0 : 1, PyArray_SIZE(a), tolerances[0],
                            tolerances[1], all ? NULL : PyArray_DATA((PyArrayObject *)made));
        int faults = faults_among(FE_OVERFLOW | FE_UNDERFLOW | FE_DIVBYZERO);
        clear_faults();
        if (!faults) {
            return all ? PyBool_FromLong(found) : made;
        }
        Py_XDECREF(made);
    }
    return left_to_numpy(numpys, NULL, name, args, count, kwnames);
}

PyObject *
allclose(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    return closeness(1, "allclose", &numpys, args, count, kwnames);
}

PyObject *
isclose(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    return closeness(0, "isclose", &numpys, args, count, kwnames);
}
