/* One element of an array of NumPy's, read or written by a whole number for each axis.

   NumPy parses an index for everything that it may be, and only then finds it to be whole numbers
   alone; programs with loops over elements spend most of their time there. What is not as plain as
   can be (another kind of index, one beyond the array, another type, memory out of order or that may
   not be written to) is left to NumPy, errors included. */

#include "handle.h"

#include <numpy/arrayscalars.h>

/* Where an element lies; NULL where NumPy has to look. */
static inline char *
place_of_element(PyArrayObject *a, PyObject *key)
{
    int ndim = PyArray_NDIM(a), is_tuple = PyTuple_CheckExact(key);
    if (is_tuple ? PyTuple_GET_SIZE(key) != ndim : ndim != 1) {
        return NULL;
    }
    char *at = PyArray_BYTES(a);
    for (int k = 0; k < ndim; k++) {
        PyObject *index = is_tuple ? PyTuple_GET_ITEM(key, k) : key;
        if (!PyLong_CheckExact(index)) {
            return NULL;
        }
        Py_ssize_t i = PyLong_AsSsize_t(index), extent = PyArray_DIM(a, k);
        i += i < 0 ? extent : 0; /* -1 with an error is the last one, unless the error is seen */
        if (i < 0 || i >= extent || (i == extent - 1 && PyErr_Occurred())) {
            PyErr_Clear();
            return NULL;
        }
        at += i * PyArray_STRIDE(a, k);
    }
    return ndim > 0 ? at : NULL;
}

/* What NumPy has by a basic index, new: the scalar of an element, or a view. */
PyObject *
item_of(PyObject *array, PyObject *key)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int is_plain = IS_NUMPYS(array) && PyArray_TYPE(a) < NPY_OBJECT;
    char *at = is_plain ? place_of_element(a, key) : NULL;
    if (at != NULL) {
        return PyArray_Scalar(at, PyArray_DESCR(a), array);
    }
    PyObject *found = IS_NUMPYS(array) ? region_of(array, key) : NULL;
    if (found == NULL && !PyErr_Occurred()) {
        Py_INCREF(array);
        found = PyObject_GetItem(array, key);
        Py_DECREF(array);
    }
    return found;
}

/* Write a number to an element; 0 where NumPy has to. */
int
set_element(PyArrayObject *a, PyObject *key, PyObject *value)
{
    int type = PyArray_TYPE(a), warns = PyArray_FLAGS(a) < 0; /* that its rows are one, in NumPy */
    if ((type != NPY_DOUBLE && type != NPY_LONG) || !IS_NUMPYS((PyObject *)a) || warns ||
        !PyArray_ISBEHAVED(a)) {
        return 0;
    }
    double real = 0;
    long whole = 0;
    if (type == NPY_LONG) {
        if (Py_TYPE(value) == &PyLongArrType_Type) {
            whole = PyArrayScalar_VAL(value, Long);
        }
        else if (PyLong_CheckExact(value)) {
            whole = PyLong_AsLong(value);
        }
        else {
            return 0;
        }
    }
    else if (PyFloat_CheckExact(value)) {
        real = PyFloat_AS_DOUBLE(value);
    }
    else if (Py_TYPE(value) == &PyDoubleArrType_Type) {
        real = PyArrayScalar_VAL(value, Double);
    }
    else if (PyLong_CheckExact(value)) {
        real = PyLong_AsDouble(value);
    }
    else {
        return 0;
    }
    if ((whole == -1 || real == -1.0) && PyErr_Occurred()) {
        PyErr_Clear(); /* of a number that is beyond the type, which NumPy tells of */
        return 0;
    }
    char *at = place_of_element(a, key);
    if (at != NULL && type == NPY_LONG) {
        *(long *)at = whole;
    }
    else if (at != NULL) {
        *(double *)at = real;
    }
    return at != NULL;
}

/* ---------------------------------------------------------------- scalars as indices */

/* Say whether something is a whole number of NumPy's, as reading an array of such gives. */
int
is_whole_scalar(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type == &PyLongArrType_Type || type == &PyIntArrType_Type || type == &PyLongLongArrType_Type ||
           type == &PyUByteArrType_Type || type == &PyByteArrType_Type || type == &PyShortArrType_Type ||
           type == &PyUShortArrType_Type || type == &PyUIntArrType_Type || type == &PyULongArrType_Type ||
           type == &PyULongLongArrType_Type;
}

/* A tuple with what a function makes of those parts that another tells, new. */
PyObject *
key_with(PyObject *key, int (*tells)(PyObject *), PyObject *(*makes)(PyObject *))
{
    Py_ssize_t count = PyTuple_GET_SIZE(key);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) {
        PyObject *part = PyTuple_GET_ITEM(key, k);
        part = tells(part) ? makes(part) : Py_NewRef(part);
        if (part == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, k, part);
    }
    return made;
}

/* A key with Python's integers in place of scalars of NumPy's, new; NULL without an error where it has
   none. */
static PyObject *
without_scalars(PyObject *key)
{
    if (Py_TYPE(key) == &PyLongArrType_Type) {
        return PyLong_FromLong(PyArrayScalar_VAL(key, Long));
    }
    if (is_whole_scalar(key)) {
        return PyNumber_Index(key);
    }
    Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 0, k = 0;
    for (; k < count; k++) { /* most keys have none */
        PyObject *part = PyTuple_GET_ITEM(key, k);
        if (!LIKELY(PyLong_CheckExact(part) || PySlice_Check(part)) && is_whole_scalar(part)) {
            break;
        }
    }
    return k < count ? key_with(key, is_whole_scalar, without_scalars) : NULL;
}

static PyObject *
mp_subscript(PyObject *x, PyObject *key)
{
    PyObject *made = LIKELY(PyLong_CheckExact(key) || PySlice_Check(key)) ? NULL : without_scalars(key);
    if (LIKELY(made == NULL)) {
        return PyErr_Occurred() ? NULL : item_by_key(x, key);
    }
    PyObject *found = item_by_key(x, made);
    Py_DECREF(made);
    return found;
}

static int
mp_ass_subscript(PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *made = LIKELY(PyLong_CheckExact(key) || PySlice_Check(key)) ? NULL : without_scalars(key);
    if (LIKELY(made == NULL)) {
        return PyErr_Occurred() ? -1 : set_by_key(x, key, value);
    }
    int done = set_by_key(x, made, value);
    Py_DECREF(made);
    return done;
}

PyMappingMethods handle_as_mapping = {
    .mp_length = mp_length,
    .mp_subscript = mp_subscript,
    .mp_ass_subscript = mp_ass_subscript,
};

/* ---------------------------------------------------------------- conversions */

static PyObject *
converted(PyObject *x, unaryfunc convert, int how)
{
    PyObject *a = small_of(x);
    if (a == NULL) {
        return call_slow(item_slow[how], x, NULL);
    }
    Py_INCREF(a);
    PyObject *r = convert(a);
    Py_DECREF(a);
    return r;
}

PyObject *
nb_int(PyObject *x)
{
    return converted(x, PyNumber_Long, INT);
}

PyObject *
nb_float(PyObject *x)
{
    return converted(x, PyNumber_Float, FLOAT);
}

PyObject *
nb_index(PyObject *x)
{
    return converted(x, PyNumber_Index, INDEX);
}

int
nb_bool(PyObject *x)
{
    PyObject *a = small_of(x);
    if (LIKELY(a != NULL)) {
        Py_INCREF(a);
        int found = PyObject_IsTrue(a);
        Py_DECREF(a);
        return found;
    }
    PyObject *r = call_slow(item_slow[BOOL], x, NULL);
    int found = r == NULL ? -1 : PyObject_IsTrue(r);
    Py_XDECREF(r);
    return found;
}

/* Say whether a key may name a field of a small array, which holds no objects. */
int
is_name_in(PyObject *a, PyObject *key)
{
    return PyUnicode_CheckExact(key) && IS_NUMPYS(a) && !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)a));
}

/* A field of a small array, as ours, new; NULL without an error where Python has to look. */
PyObject *
named_field(PyObject *x, PyObject *a, PyObject *key)
{
    PyObject *r = is_name_in(a, key) ? PyObject_GetItem(a, key) : NULL;
    return r == NULL || !IS_NUMPYS(r) ? r : new_handle(r, x);
}
