/* What NumPy gave, as ours: a new array, a view of an operand, or several. */

#include "record.h"

/* The array that owns the memory of another, borrowed. */
PyObject *
root_of(PyObject *array)
{
    PyObject *base;
    while ((base = PyArray_BASE((PyArrayObject *)array)) != NULL && IS_NUMPYS(base)) {
        array = base;
    }
    return array;
}

/* Say whether an array that NumPy returned lies in no memory that it was given. */
static int
is_apart(PyObject *array, PyObject *const *given, Py_ssize_t count)
{
    PyObject *root = root_of(array);
    if (Py_REFCNT(array) > 1 || PyArray_BASE((PyArrayObject *)root) != NULL) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (IS_NUMPYS(given[k]) ? root_of(given[k]) == root
                                : PyList_Check(given[k]) || PyTuple_Check(given[k])) {
            return 0;
        }
    }
    return 1;
}

/* Say whether this is a tuple, or one whose class names its fields and is called with them. */
int
is_tuple(PyObject *x)
{
    static PyObject *fields;
    return PyTuple_CheckExact(x) ||
           (PyTuple_Check(x) && PyObject_HasAttr((PyObject *)Py_TYPE(x), intern(&fields, "_fields")));
}

/* A tuple of plain values, and of small arrays that lie in no memory that NumPy was given, as one
   of ours; NULL without an error for others. */
PyObject *
all_fresh(PyObject *r, PyObject *const *given, Py_ssize_t given_count)
{
    if (!is_tuple(r)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(r);
    int arrays = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *one = PyTuple_GET_ITEM(r, k);
        arrays |= IS_NUMPYS(one);
        if (IS_NUMPYS(one) ? !is_apart(one, given, given_count) || !is_small(one)
                           : !holds_type(world.plain, one)) {
            return NULL;
        }
    }
    if (!arrays) {
        return Py_NewRef(r);
    }
    PyObject *ours = PyTuple_New(count);
    for (Py_ssize_t k = 0; ours != NULL && k < count; k++) {
        PyObject *one = Py_NewRef(PyTuple_GET_ITEM(r, k));
        one = IS_NUMPYS(one) ? new_handle(one, NULL) : one;
        if (one == NULL) {
            Py_CLEAR(ours);
            break;
        }
        PyTuple_SET_ITEM(ours, k, one);
    }
    if (ours != NULL && !PyTuple_CheckExact(r)) {
        Py_SETREF(ours, PyObject_Call((PyObject *)Py_TYPE(r), ours, NULL));
    }
    return ours;
}

/* One of several arrays that NumPy made of arguments, as ours, new: a view of one, or new memory; NULL
   without an error of others. */
static PyObject *
one_of_several(PyObject *one, PyObject *const *args, PyObject *const *given, Py_ssize_t count)
{
    if (!IS_NUMPYS(one) || Py_REFCNT(one) != 1 || !is_small(one)) {
        return NULL;
    }
    PyObject *base = PyArray_BASE((PyArrayObject *)one);
    for (Py_ssize_t k = 0; base != NULL && k < count; k++) {
        if (IS_ARRAY(args[k]) && IS_NUMPYS(given[k]) && small_of(args[k]) == given[k] &&
            (base == given[k] || base == PyArray_BASE((PyArrayObject *)given[k]))) {
            return new_handle(Py_NewRef(one), args[k]);
        }
    }
    return NULL;
}

/* A list of views of small arguments, as one of ours, new; NULL without an error of others. */
PyObject *
several_views(PyObject *r, PyObject *const *args, PyObject *const *given, Py_ssize_t count)
{
    Py_ssize_t size = PyList_GET_SIZE(r);
    PyObject *ours = PyList_New(size);
    for (Py_ssize_t k = 0; ours != NULL && k < size; k++) {
        PyObject *one = one_of_several(PyList_GET_ITEM(r, k), args, given, count);
        if (one == NULL) {
            Py_CLEAR(ours);
        }
        else {
            PyList_SET_ITEM(ours, k, one);
        }
    }
    return ours;
}

/* What Python makes of NumPy's result for these operands; steals it. */
PyObject *
wrapped(PyObject *r, PyObject *const *args, Py_ssize_t count)
{
    PyObject *operands = PyTuple_New(count), *ours = NULL;
    for (Py_ssize_t k = 0; operands != NULL && k < count; k++) {
        PyTuple_SET_ITEM(operands, k, Py_NewRef(args[k]));
    }
    if (operands != NULL) {
        ours = PyObject_CallFunctionObjArgs(world.wrap_result, r, operands, NULL);
        Py_DECREF(operands);
    }
    Py_DECREF(r);
    return ours;
}

/* What a method or an attribute of an array gave as ours: itself, a view of it, or a new one. */
PyObject *
view_of(PyObject *r, PyObject *handle, PyObject *own)
{
    if (r == NULL || !IS_NUMPYS(r)) {
        if (r == NULL || !PyTuple_Check(r)) {
            return r;
        }
        PyObject *fresh = all_fresh(r, &own, 1);
        if (fresh == NULL && !PyErr_Occurred()) {
            return wrapped(r, &handle, 1);
        }
        Py_DECREF(r);
        return fresh;
    }
    int small = own == small_of(handle);
    if (r == own && small) {
        Py_DECREF(r);
        return Py_NewRef(handle);
    }
    PyObject *base = PyArray_BASE((PyArrayObject *)r);
    if (r != own && base == NULL) {
        return result(r, handle, NULL);
    }
    if (small && (base == own || base == PyArray_BASE((PyArrayObject *)own))) {
        return new_handle(r, handle);
    }
    PyObject *ours = PyObject_CallFunctionObjArgs(world.result_of, r, handle, NULL);
    Py_DECREF(r);
    return ours;
}

PyObject *
result(PyObject *r, PyObject *x, PyObject *y)
{
    if (r == NULL) {
        return NULL;
    }
    if (IS_NUMPYS(r)) {
        if (LIKELY(is_small(r))) {
            return new_handle(r, NULL);
        }
        PyObject *ours = held_anew(r);
        if (ours == NULL && !PyErr_Occurred()) {
            ours = PyObject_CallOneArg(world.wrap, r);
        }
        Py_DECREF(r);
        return ours;
    }
    if (PyTuple_Check(r)) {
        PyObject *fresh = all_fresh(r, NULL, 0);
        if (fresh != NULL || PyErr_Occurred()) {
            Py_DECREF(r);
            return fresh;
        }
        PyObject *operands[] = {x, y};
        return wrapped(r, operands, y == NULL ? 1 : 2);
    }
    return r;
}
