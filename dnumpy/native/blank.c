/* Large arrays that NumPy makes of a shape or of numbers, as ours. What is all zeros or all ones is given
   memory when somebody wants it (api/creation.py says why). Each is made by a call or two here, where
   Python takes longer to come to it than NumPy to fill some hundred thousand elements. */

#include "functions.h"

#define MOST_BYTES (16 << 20) /* more may be made where it is read: see api/creation.py */
#define WIDEST 16             /* bytes of an element, where the dtype was not looked at */

int
blank_of(PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    const char *text = name == NULL || !PyUnicode_Check(name) ? NULL : PyUnicode_AsUTF8(name);
    int found = text == NULL ? -1 : strcmp(text, "zeros") == 0 ? 0 : strcmp(text, "ones") == 0 ? 1 : -1;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

/* The parameters of an array that is all one number, new, as `dnumpy.expr.expr.exact`. */
static PyObject *
exact(PyArray_Descr *dtype, int number)
{
    PyObject *whole = PyLong_FromLong(number), *cell = NULL, *value = NULL, *made = NULL;
    if (whole != NULL) {
        cell = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), 0, NULL, NULL, NULL, 0,
                                    NULL);
    }
    if (cell != NULL && PyArray_FillWithScalar((PyArrayObject *)cell, whole) == 0) {
        value = PyArray_ToScalar(PyArray_DATA((PyArrayObject *)cell), (PyArrayObject *)cell);
    }
    if (value != NULL && number != 0 && !PyTypeNum_ISCOMPLEX(dtype->type_num)) {
        made = PyTuple_Pack(1, value);
    }
    else if (value != NULL) {
        PyObject *text = PyObject_Repr(value);
        made = text == NULL ? NULL : PyTuple_Pack(2, value, text);
        Py_XDECREF(text);
    }
    Py_XDECREF(value);
    Py_XDECREF(cell);
    Py_XDECREF(whole);
    return made;
}

/* The same, borrowed: made once for each dtype of NumPy's own. */
static PyObject *
params_of(PyArray_Descr *dtype, int number)
{
    static PyObject *known[NPY_CLONGDOUBLE + 1][2];
    PyObject **place = &known[dtype->type_num][number];
    if (*place == NULL) {
        *place = exact(dtype, number);
    }
    return *place;
}

/* A shape as a tuple of integers of Python's, new; NULL without an error of another. */
static PyObject *
extents_of(PyObject *shape)
{
    if (PyLong_CheckExact(shape)) {
        return PyTuple_Pack(1, shape);
    }
    Py_ssize_t count = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(shape, k))) {
            return NULL;
        }
    }
    return count == 0 ? NULL : Py_NewRef(shape);
}

/* The dtype that a call asks for, new; NULL without an error where Python has to look. */
static PyArray_Descr *
asked_dtype(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *name;
    int by_name = kwnames != NULL && PyTuple_GET_SIZE(kwnames) == 1 && count == 1 &&
                  PyTuple_GET_ITEM(kwnames, 0) == intern(&name, "dtype");
    PyObject *given = count == 2 && kwnames == NULL ? args[1] : by_name ? args[1] : Py_None;
    PyArray_Descr *dtype = NULL;
    if (!(by_name || (kwnames == NULL && count <= 2))) {
        return NULL;
    }
    if (given == Py_None) {
        return PyArray_DescrFromType(NPY_DOUBLE);
    }
    if (PyArray_DescrCheck(given)) {
        dtype = (PyArray_Descr *)Py_NewRef(given);
    }
    else if (PyType_Check(given) && !PyArray_DescrConverter(given, &dtype)) {
        PyErr_Clear();
        return NULL;
    }
    if (dtype != NULL && (dtype->type_num > NPY_CLONGDOUBLE || !is_managed_dtype((PyObject *)dtype) ||
                          !PyArray_ISNBO(dtype->byteorder))) {
        Py_CLEAR(dtype);
    }
    return dtype;
}

/* An array all of whose elements are zero or one, which has no memory yet. */
static PyObject *
unmade(int number, PyObject *shape, Py_ssize_t size, PyArray_Descr *dtype)
{
    static PyObject *nothing;
    if (size > MOST_BYTES / PyDataType_ELSIZE(dtype) ||
        !may_move(size * PyDataType_ELSIZE(dtype))) {
        return NULL;
    }
    if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL) {
        return NULL;
    }
    PyObject *extents = extents_of(shape), *params = extents == NULL ? NULL : params_of(dtype, number);
    PyObject *expr = params == NULL
                         ? NULL
                         : new_expr(world.full, nothing, params, extents, (PyObject *)dtype);
    PyObject *made = expr == NULL ? NULL : holder(expr);
    Py_XDECREF(expr);
    Py_XDECREF(extents);
    return made;
}

PyObject *
made_large(Function *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, Py_ssize_t size)
{
    PyObject *made = NULL;
    if (self->blank >= 0) {
        PyArray_Descr *dtype = asked_dtype(args, count, kwnames);
        made = dtype == NULL ? NULL : unmade(self->blank, args[0], size, dtype);
        Py_XDECREF(dtype);
    }
    else if (size <= MOST_BYTES / WIDEST && may_move(size * WIDEST)) {
        made = PyObject_Vectorcall(self->numpys, args, count, kwnames);
        made = made == NULL ? NULL : result(made, NULL, NULL);
    }
    return made;
}

int
is_made_now(PyObject *buffer, int to_write)
{
    PyObject *expr = expr_of(buffer);
    Node *node = (Node *)expr;
    if (expr == NULL || node->op != world.full || node->value != Py_None || node->owner != Py_None ||
        is_anything_pending()) {
        return 0;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = take_numbers(node->shape, shape, NPY_MAXDIMS);
    PyArray_Descr *dtype = (PyArray_Descr *)node->dtype;
    int is_zero = PyTuple_GET_SIZE(node->params) > 0
                      ? PyObject_Not(PyTuple_GET_ITEM(node->params, 0))
                      : -1;
    if (ndim < 0 || is_zero < 0) {
        return 0;
    }
    Py_INCREF(dtype);
    PyObject *memory = is_zero ? PyArray_Zeros(ndim, shape, dtype, 0) : PyArray_Empty(ndim, shape, dtype, 0);
    PyObject *one = NULL;
    if (memory != NULL && !is_zero) {
        one = PyLong_FromLong(1);
        if (one == NULL || PyArray_FillWithScalar((PyArrayObject *)memory, one) < 0) {
            Py_CLEAR(memory);
        }
        Py_XDECREF(one);
    }
    if (memory == NULL) {
        PyErr_Clear(); /* of memory there is not: Python says so */
        return 0;
    }
    if (to_write && Py_REFCNT(expr) == 1) { /* nobody else knows what it was */
        PyObject *leaf = stored(memory);
        PyErr_Clear();
        if (leaf != NULL) {
            change_content(buffer, leaf);
        }
    }
    else if (node->value == Py_None) { /* still */
        Py_SETREF(node->value, Py_NewRef(memory));
    }
    Py_DECREF(memory);
    return 1;
}
