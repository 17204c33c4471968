/* Products of small matrices and vectors by the inner loop of `matmul`, past the search for it.

   The loop is given the extents and steps that the ufunc would give it: no step along an axis of one
   element, or along one that a vector does not have. Which way it takes, BLAS or its own, depends on
   those, and so do the bits. */

#include "loops.h"

#define FEW_PRODUCTS 500 /* up to which NumPy holds on to the interpreter's lock */

enum { SINGLE, DOUBLE_, SINGLES, DOUBLES, WHOLE, TYPES };

static Loop *
product_loop(PyObject *matmul, int type)
{
    static Loop loops[TYPES];
    static PyObject *known;
    if (known == NULL) {
        known = numpys_own(NULL, "matmul"); /* for the life of the process */
    }
    int at = type == NPY_DOUBLE    ? DOUBLE_
             : type == NPY_FLOAT   ? SINGLE
             : type == NPY_CDOUBLE ? DOUBLES
             : type == NPY_CFLOAT  ? SINGLES
             : type == NPY_LONG    ? WHOLE
                                   : TYPES;
    if (at == TYPES || known == NULL || matmul != known) {
        return NULL;
    }
    if (loops[at].state == UNKNOWN) {
        find_loop(&loops[at], (PyUFuncObject *)matmul, type);
    }
    return loops[at].state == NONE ? NULL : &loops[at];
}

static npy_intp
step_along(PyArrayObject *array, int axis)
{
    return PyArray_DIM(array, axis) == 1 ? 0 : PyArray_STRIDE(array, axis);
}

/* What `matmul` makes of two arrays of NumPy's of one or two axes, new; NULL without an error where that
   is left to NumPy. */
PyObject *
multiplied(PyObject *matmul, PyObject *x, PyObject *y)
{
    if (!IS_NUMPYS(x) || !IS_NUMPYS(y)) {
        return NULL;
    }
    PyObject *given[] = {x, y};
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    int left = PyArray_NDIM(a), right = PyArray_NDIM(b), axes = left + right - 2;
    PyArray_Descr *dtype = shared_dtype(given, 2);
    Loop *loop = dtype == NULL ? NULL : product_loop(matmul, dtype->type_num);
    if (loop == NULL || dtype != loop->read || left < 1 || right < 1 || left > 2 || right > 2) {
        return NULL;
    }
    npy_intp rows = left == 2 ? PyArray_DIM(a, 0) : 1, columns = right == 2 ? PyArray_DIM(b, 1) : 1;
    npy_intp inner = PyArray_DIM(a, left - 1);
    if (inner != PyArray_DIM(b, 0) || inner == 0 || rows == 0 || columns == 0) {
        return NULL;
    }
    npy_intp shape[] = {left == 2 ? rows : columns, columns};
    PyObject *made = new_array(loop->made, axes, shape);
    if (made == NULL) {
        return NULL;
    }
    PyArrayObject *c = (PyArrayObject *)made;
    char *args[] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(c)};
    npy_intp extents[] = {1, rows, inner, columns};
    npy_intp steps[] = {
        0, 0, 0,
        left == 2 ? step_along(a, 0) : 0, step_along(a, left - 1),
        step_along(b, 0), right == 2 ? step_along(b, 1) : 0,
        left == 2 ? step_along(c, 0) : 0, right == 2 ? step_along(c, axes - 1) : 0,
    };
    forget_faults();
    if ((double)rows * (double)inner * (double)columns > FEW_PRODUCTS) {
        Py_BEGIN_ALLOW_THREADS
        loop->run(args, extents, steps, loop->data);
        Py_END_ALLOW_THREADS
    }
    else {
        loop->run(args, extents, steps, loop->data);
    }
    if (loop->state != TRUSTED) {
        return tried(loop, matmul, given, 2, made);
    }
    if (told_faults((PyUFuncObject *)matmul, 0) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return PyArray_Return(c); /* of two vectors a scalar */
}
