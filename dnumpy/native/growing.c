/* Arrays that NumPy would be done with at once, which make one that it is not: small ones a large one,
   bytes as many elements of more. api/record.py says the same. */

#include "handle.h"

static Py_ssize_t
bytes_if_large(double size, PyArrayObject *like)
{
    if (size < (double)setting(world.eager_below_at)) {
        return 0;
    }
    size *= (double)PyArray_ITEMSIZE(like);
    return size < (double)PY_SSIZE_T_MAX ? (Py_ssize_t)size : PY_SSIZE_T_MAX;
}

/* Bytes of the result of arrays broadcast together, if NumPy is not done with that at once though it
   would be with each; else 0, as where their shapes do not fit. What is no array counts for none. */
Py_ssize_t
grown_bytes(PyObject *const *given, Py_ssize_t count)
{
    npy_intp shape[NPY_MAXDIMS]; /* from the last axis */
    PyArrayObject *first = NULL;
    int axes = 0, differ = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!IS_NUMPYS(given[k])) {
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)given[k];
        int n = PyArray_NDIM(array);
        if (first == NULL) {
            first = array;
        }
        else if (n == PyArray_NDIM(first) &&
                 PyArray_CompareLists(PyArray_DIMS(first), PyArray_DIMS(array), n)) {
            continue;
        }
        differ += array != first;
        for (int j = 0; j < n; j++) {
            npy_intp p = j < axes ? shape[j] : 1, q = PyArray_DIM(array, n - 1 - j);
            if (p != q && p != 1 && q != 1) {
                return 0;
            }
            shape[j] = p == 1 ? q : p;
        }
        axes = n > axes ? n : axes;
    }
    if (!differ) {
        return 0;
    }
    double size = 1; /* an integer overflows */
    for (int j = 0; j < axes; j++) {
        size *= (double)shape[j];
    }
    return bytes_if_large(size, first);
}

/* The same of a result that has an element for each pair of theirs. */
Py_ssize_t
paired_bytes(PyObject *a, PyObject *b)
{
    if (!IS_NUMPYS(a) || !IS_NUMPYS(b)) {
        return 0;
    }
    PyArrayObject *first = (PyArrayObject *)a;
    return bytes_if_large((double)PyArray_SIZE(first) * (double)PyArray_SIZE((PyArrayObject *)b),
                          first);
}

/* Whether an operand takes a ufunc to a loop of more bytes an element. */
static int
is_wide(PyObject *x)
{
    if (IS_NUMPYS(x)) {
        return PyArray_ITEMSIZE((PyArrayObject *)x) > 1;
    }
    return !PyLong_Check(x) && !PyArray_IsScalar(x, Bool) && !PyArray_IsScalar(x, Byte) &&
           !PyArray_IsScalar(x, UByte);
}

/* Bytes of what a ufunc makes of many elements of one byte, if these are read as larger ones; else 0.
   A comparison, for which there is no ufunc here, may do so for what it compares with. */
static Py_ssize_t
widened_bytes(PyObject *loop, PyObject *const *given, Py_ssize_t count)
{
    PyObject *large = NULL;
    int wide = 0, counts = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (IS_NUMPYS(given[k]) && !is_small(given[k])) {
            large = given[k];
        }
        wide = wide || is_wide(given[k]);
        counts = counts || PyLong_CheckExact(given[k]); /* which is no boolean */
    }
    wide = wide || (counts && large != NULL && PyArray_ISBOOL((PyArrayObject *)large));
    if (large == NULL || !(wide || (loop != Py_None && !PySet_Contains(world.bytewise, loop)))) {
        return 0;
    }
    return PyArray_SIZE((PyArrayObject *)large) * BYTES_OF_OTHERS;
}

/* Say whether arrays are so small that what is made of them element by element is NumPy's at once,
   whatever their shapes are; 0 where that is not seen so soon. */
static int
are_small(PyObject *const *given, Py_ssize_t count)
{
    double limit = (double)setting(world.eager_below_at), most = 1;
    PyArrayObject *first = NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!IS_NUMPYS(given[k])) {
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)given[k];
        double size = 1;
        for (int j = 0; j < PyArray_NDIM(array); j++) {
            size *= (double)PyArray_DIM(array, j);
        }
        int alike = first != NULL && PyArray_NDIM(first) == 1 && PyArray_NDIM(array) == 1 &&
                    PyArray_DIM(first, 0) == PyArray_DIM(array, 0);
        most = alike ? most : most * size;
        first = array;
        if (size >= limit || most >= limit) {
            return 0;
        }
    }
    return 1;
}

/* Either of the two, of the operands of a ufunc. */
Py_ssize_t
bytes_made(PyObject *loop, PyObject *const *given, Py_ssize_t count)
{
    if (are_small(given, count)) {
        return 0;
    }
    Py_ssize_t grown = count > 1 ? grown_bytes(given, count) : 0;
    return grown > 0 ? grown : widened_bytes(loop, given, count);
}
