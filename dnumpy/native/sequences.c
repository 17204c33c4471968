/* Lists and tuples of a few numbers beside a small array, which NumPy reads by itself. */

#include "handle.h"

#define MOST_NUMBERS 32   /* in a sequence: what is longer takes NumPy longer than a look at it */
#define MOST_KEYS 1024     /* that are looked up in what is large, by one thread */
#define MOST_BESIDE 4096  /* elements of the other operand, so that no result is large */

static int
is_number(PyObject *x)
{
    return PyLong_CheckExact(x) || PyFloat_CheckExact(x) || PyBool_Check(x) ||
           PyComplex_CheckExact(x);
}

/* Say whether x is a list or tuple of a few of Python's numbers, or of such lists and tuples. */
static int
is_numbers_to(PyObject *x, int depth)
{
    if (!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) {
        return 0;
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(x);
    if (size > MOST_NUMBERS) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < size; k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(x, k);
        if (!is_number(item) && (depth == 0 || !is_numbers_to(item, depth - 1))) {
            return 0;
        }
    }
    return 1;
}

int
is_numbers(PyObject *x)
{
    return is_numbers_to(x, 1);
}

/* x, new, if it is such and the other operand a small array of NumPy's; NULL without an error. */
PyObject *
numbers_beside(PyObject *x, PyObject *other)
{
    int small = other != NULL && IS_NUMPYS(other) &&
                PyArray_SIZE((PyArrayObject *)other) <= MOST_BESIDE;
    return small && is_numbers(x) ? Py_NewRef(x) : NULL;
}

/* Say whether what is looked up in a large array, as NumPy is given it, is so little that it does not
   matter how large that is. */
int
is_few(PyObject *keys)
{
    if (IS_NUMPYS(keys)) {
        return PyArray_SIZE((PyArrayObject *)keys) <= MOST_KEYS;
    }
    return is_immediate(keys) || is_numbers(keys);
}

int
draws_few(PyObject *x)
{
    Py_ssize_t limit = setting(world.eager_below_at);
    if (PyLong_CheckExact(x)) {
        int overflow;
        return PyLong_AsLongAndOverflow(x, &overflow) < limit && overflow <= 0;
    }
    if (PyArray_IsScalar(x, Integer)) {
        return PyNumber_AsSsize_t(x, NULL) < limit; /* what does not fit is cut to the largest */
    }
    if (!PyTuple_CheckExact(x)) {
        return 1;
    }
    double size = 1; /* an integer overflows */
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(x); k++) {
        size *= PyLong_AsDouble(PyTuple_GET_ITEM(x, k));
    }
    PyErr_Clear();
    return size < limit;
}
