/* Small arrays made of a shape, of numbers, or of a range, as NumPy makes them.

   What is not as plain as can be (another dtype than the usual one, an order, a length that is no integer
   of Python's) is left to NumPy, errors included. */

#include "functions.h"
#include "loops.h"

#include <numpy/arrayscalars.h>

#define MOST_LISTED 256
#define MOST_AXES 8
#define MOST_NAMED 256

/* A shape given as an integer or as a tuple of them; -1 of others, or where that is not small. */
static int
take_extents(PyObject *x, npy_intp *shape)
{
    int is_tuple = PyTuple_CheckExact(x);
    Py_ssize_t axes = is_tuple ? PyTuple_GET_SIZE(x) : 1;
    npy_intp size = 1;
    if (axes > NPY_MAXDIMS) {
        return -1;
    }
    for (Py_ssize_t k = 0; k < axes; k++) {
        PyObject *extent = is_tuple ? PyTuple_GET_ITEM(x, k) : x;
        shape[k] = PyLong_CheckExact(extent)  ? PyLong_AsSsize_t(extent)
                   : is_whole_scalar(extent) ? PyNumber_AsSsize_t(extent, PyExc_OverflowError)
                                             : -1;
        if (shape[k] < 0 || shape[k] > MOST_MADE || (size *= shape[k]) > MOST_MADE) {
            PyErr_Clear(); /* of an integer that is too large, which NumPy tells of */
            return -1;
        }
    }
    return (int)axes;
}

/* Say whether a dtype is the one that all arrays of its type have, with nothing said beside. */
static int
is_plain_dtype(PyArray_Descr *dtype)
{
    PyArray_Descr *plain = PyArray_DescrFromType(dtype->type_num);
    Py_XDECREF(plain); /* which lives as long as NumPy */
    return plain == dtype;
}

int
type_named(PyObject *x)
{
    static PyObject *known; /* classes and names: what they stand for does not change */
    if (PyArray_DescrCheck(x)) {
        PyArray_Descr *dtype = (PyArray_Descr *)x;
        return strchr("biufc", dtype->kind) != NULL && is_plain_dtype(dtype) ? dtype->type_num : -1;
    }
    if ((!PyType_Check(x) && !PyUnicode_CheckExact(x)) || (known == NULL && (known = PyDict_New()) == NULL)) {
        PyErr_Clear();
        return -1;
    }
    PyObject *found = PyDict_GetItemWithError(known, x);
    if (found != NULL || PyErr_Occurred()) {
        PyErr_Clear(); /* of a class whose hash raises, which NumPy meets again */
        return found == NULL ? -1 : (int)PyLong_AsLong(found);
    }
    int is_numbers = PyUnicode_CheckExact(x) || x == (PyObject *)&PyFloat_Type || x == (PyObject *)&PyLong_Type ||
                     x == (PyObject *)&PyBool_Type || x == (PyObject *)&PyComplex_Type ||
                     PyType_IsSubtype((PyTypeObject *)x, &PyNumberArrType_Type) ||
                     x == (PyObject *)&PyBoolArrType_Type;
    PyArray_Descr *dtype = NULL;
    if (!is_numbers || PyDict_GET_SIZE(known) >= MOST_NAMED || PyArray_DescrConverter(x, &dtype) != NPY_SUCCEED) {
        PyErr_Clear(); /* NumPy says so itself, or warns, each time */
        return -1;
    }
    int type = strchr("biufc", dtype->kind) != NULL && is_plain_dtype(dtype) ? dtype->type_num : -1;
    Py_DECREF(dtype);
    PyObject *number = type < 0 ? NULL : PyLong_FromLong(type);
    if (number != NULL && PyDict_SetItem(known, x, number) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(number);
    return type;
}

/* The type that is asked for, after the shape or as `dtype`: -1 where NumPy has to look. */
static int
type_asked_for(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, Py_ssize_t before)
{
    static PyObject *name;
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (count == before && named == 0) {
        return NPY_DOUBLE;
    }
    if (count + named != before + 1 || count < before ||
        (named == 1 && PyTuple_GET_ITEM(kwnames, 0) != intern(&name, "dtype"))) {
        return -1;
    }
    PyObject *x = args[before];
    if (x == (PyObject *)&PyFloat_Type || x == (PyObject *)&PyDoubleArrType_Type) {
        return NPY_DOUBLE;
    }
    if (x == (PyObject *)&PyLong_Type) {
        return NPY_INTP; /* NumPy's usual integer since 2.0 */
    }
    return x == Py_None ? NPY_DOUBLE : type_named(x);
}

static PyObject *
of_type(int type, int axes, npy_intp *shape)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    return dtype == NULL ? NULL
                         : PyArray_NewFromDescr(&PyArray_Type, dtype, axes, shape, NULL, NULL, 0, NULL);
}

/* An array of a shape, new, with zeros throughout or with what lay there. */
static PyObject *
of_shape(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int clears)
{
    npy_intp shape[NPY_MAXDIMS];
    int type = count == 0 ? -1 : type_asked_for(args, count, kwnames, 1);
    int axes = type < 0 ? -1 : take_extents(args[0], shape);
    PyObject *made = axes < 0 ? NULL : of_type(type, axes, shape);
    if (made != NULL && clears) {
        memset(PyArray_BYTES((PyArrayObject *)made), 0, PyArray_NBYTES((PyArrayObject *)made));
    }
    return made;
}

static PyObject *
zeros_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    return of_shape(args, count, kwnames, 1);
}

static PyObject *
empty_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    return of_shape(args, count, kwnames, 0);
}

PyObject *
zeros(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(zeros_of(args, count, kwnames), "zeros");
}

PyObject *
empty(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(empty_of(args, count, kwnames), "empty");
}

static PyObject *
filled(int type, PyObject *extents, double real, npy_intp whole)
{
    npy_intp shape[NPY_MAXDIMS];
    int axes = take_extents(extents, shape);
    PyObject *made = axes < 0 ? NULL : of_type(type, axes, shape);
    npy_intp size = made == NULL ? 0 : PyArray_SIZE((PyArrayObject *)made);
    void *data = made == NULL ? NULL : PyArray_DATA((PyArrayObject *)made);
    for (npy_intp k = 0; k < size; k++) {
        if (type == NPY_DOUBLE) {
            ((double *)data)[k] = real;
        }
        else {
            ((npy_intp *)data)[k] = whole;
        }
    }
    return made;
}

static PyObject *
ones_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *one;
    npy_intp shape[NPY_MAXDIMS];
    int type = count == 0 ? -1 : type_asked_for(args, count, kwnames, 1);
    if (type == NPY_DOUBLE || type == NPY_INTP) {
        return filled(type, args[0], 1, 1);
    }
    int axes = type < 0 || (one == NULL && (one = PyLong_FromLong(1)) == NULL) ? -1 : take_extents(args[0], shape);
    PyObject *made = axes < 0 ? NULL : of_type(type, axes, shape);
    if (made != NULL && PyArray_FillWithScalar((PyArrayObject *)made, one) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
ones(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(ones_of(args, count, kwnames), "ones");
}

static PyObject *
full_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *made = NULL;
    if (count == 2 && kwnames == NULL && PyFloat_CheckExact(args[1])) {
        made = filled(NPY_DOUBLE, args[0], PyFloat_AS_DOUBLE(args[1]), 0);
    }
    else if (count == 2 && kwnames == NULL && PyLong_CheckExact(args[1])) {
        Py_ssize_t whole = PyLong_AsSsize_t(args[1]);
        int fits = whole != -1 || !PyErr_Occurred();
        PyErr_Clear();
        made = fits ? filled(NPY_INTP, args[0], 0, whole) : NULL;
    }
    return made;
}

PyObject *
full(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(full_of(args, count, kwnames), "full");
}

/* A range of whole numbers, new; NULL without an error where NumPy has to look. */
static PyObject *
whole_range(PyObject *const *args, Py_ssize_t count)
{
    const npy_intp most = (npy_intp)1 << 40; /* so that no bound overflows */
    npy_intp bounds[3] = {0, 0, 1};
    for (Py_ssize_t k = 0; k < count; k++) {
        npy_intp bound = PyLong_CheckExact(args[k]) ? PyLong_AsSsize_t(args[k]) : most;
        if (bound >= most || bound <= -most || (bound == -1 && PyErr_Occurred())) {
            PyErr_Clear();
            return NULL;
        }
        bounds[count == 1 ? 1 : k] = bound;
    }
    npy_intp start = bounds[0], step = bounds[2], reach = bounds[1] - start;
    if (step == 0) {
        return NULL;
    }
    npy_intp size = step > 0 ? (reach + step - 1) / step : (reach + step + 1) / step;
    size = (reach > 0) == (step > 0) && reach != 0 ? size : 0;
    if (size > MOST_MADE) {
        return NULL;
    }
    PyObject *made = of_type(NPY_INTP, 1, &size);
    npy_intp *data = made == NULL ? NULL : PyArray_DATA((PyArrayObject *)made);
    for (npy_intp k = 0; made != NULL && k < size; k++) {
        data[k] = start + k * step;
    }
    return made;
}

static PyObject *
arange_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    return count >= 1 && count <= 3 && kwnames == NULL ? whole_range(args, count) : NULL;
}

PyObject *
arange(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(arange_of(args, count, kwnames), "arange");
}

static inline int
is_real(PyObject *x)
{
    return PyFloat_CheckExact(x) || Py_TYPE(x) == &PyDoubleArrType_Type;
}

/* Say which type the numbers of a list are all of, floats or integers, Python's or NumPy's; -1 of others. */
static int
type_of_numbers(PyObject *const *items, Py_ssize_t count)
{
    int type = count == 0 ? -1 : is_real(items[0]) ? NPY_DOUBLE : NPY_INTP;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (type == NPY_DOUBLE ? !is_real(items[k])
                               : !PyLong_CheckExact(items[k]) && Py_TYPE(items[k]) != &PyLongArrType_Type) {
            return -1;
        }
    }
    return type;
}

/* Write the numbers of a list; 0 where one does not fit. */
static int
write_numbers(void *to, PyObject *const *items, Py_ssize_t count, int type)
{
    for (Py_ssize_t k = 0; k < count; k++) {
        if (type == NPY_DOUBLE) {
            double value = PyFloat_AsDouble(items[k]);
            if (value == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
            ((double *)to)[k] = value;
            continue;
        }
        npy_intp whole = PyLong_CheckExact(items[k]) ? PyLong_AsSsize_t(items[k])
                                                     : PyArrayScalar_VAL(items[k], Long);
        if (whole == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        ((npy_intp *)to)[k] = whole;
    }
    return 1;
}

/* What a list of numbers, or of such lists, is as an array, new, of a type that holds them all, or of
   their own, -1; NULL without an error of others. */
static PyObject *
of_numbers(PyObject *x, int asked)
{
    int is_sequence = PyList_CheckExact(x) || PyTuple_CheckExact(x);
    Py_ssize_t rows = is_sequence ? PySequence_Fast_GET_SIZE(x) : 0;
    if (rows == 0 || rows > MOST_LISTED) {
        return NULL;
    }
    PyObject **items = PySequence_Fast_ITEMS(x);
    int nested = PyList_CheckExact(items[0]) || PyTuple_CheckExact(items[0]);
    npy_intp shape[] = {rows, nested ? PySequence_Fast_GET_SIZE(items[0]) : 1};
    int type = nested ? -1 : type_of_numbers(items, rows);
    for (Py_ssize_t k = 0; nested && k < rows; k++) {
        int is_row = (PyList_CheckExact(items[k]) || PyTuple_CheckExact(items[k])) &&
                     PySequence_Fast_GET_SIZE(items[k]) == shape[1];
        int found = is_row ? type_of_numbers(PySequence_Fast_ITEMS(items[k]), shape[1]) : -1;
        type = k == 0 || found == type ? found : -1;
        if (type < 0) {
            return NULL;
        }
    }
    if (type < 0 || rows * shape[1] > MOST_MADE || (asked >= 0 && asked != type && asked != NPY_DOUBLE)) {
        return NULL;
    }
    type = asked < 0 ? type : asked;
    PyObject *made = of_type(type, nested ? 2 : 1, shape);
    char *to = made == NULL ? NULL : PyArray_BYTES((PyArrayObject *)made);
    for (Py_ssize_t k = 0; made != NULL && k < (nested ? rows : 1); k++) {
        PyObject *row = nested ? items[k] : x;
        Py_ssize_t count = PySequence_Fast_GET_SIZE(row);
        if (!write_numbers(to + k * count * sizeof(npy_intp), PySequence_Fast_ITEMS(row), count, type)) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* The array that an element of a list is, borrowed; NULL where NumPy has to look. */
static PyArrayObject *
listed_array(PyObject *x)
{
    PyObject *np = IS_ARRAY(x) ? ((Handle *)x)->np : is_at_once(x) ? x : NULL;
    return np != NULL && IS_NUMPYS(np) ? (PyArrayObject *)np : NULL;
}

/* What a list of arrays of one shape and dtype is as an array, new; NULL without an error of others. */
static PyObject *
of_arrays_alike(PyObject *x)
{
    int is_sequence = PyList_CheckExact(x) || PyTuple_CheckExact(x);
    Py_ssize_t rows = is_sequence ? PySequence_Fast_GET_SIZE(x) : 0;
    PyArrayObject *first = rows == 0 || rows > MOST_LISTED ? NULL
                                                           : listed_array(PySequence_Fast_GET_ITEM(x, 0));
    int ndim = first == NULL ? 0 : PyArray_NDIM(first), type = first == NULL ? 0 : PyArray_TYPE(first);
    if (ndim == 0 || ndim >= MOST_AXES || type >= NPY_OBJECT || PyArray_SIZE(first) == 0 ||
        !is_plain_dtype(PyArray_DESCR(first)) || rows * PyArray_SIZE(first) > MOST_MADE) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < rows; k++) {
        PyArrayObject *one = listed_array(PySequence_Fast_GET_ITEM(x, k));
        if (one == NULL || PyArray_DESCR(one) != PyArray_DESCR(first) || PyArray_NDIM(one) != ndim ||
            !PyArray_CompareLists(PyArray_DIMS(one), PyArray_DIMS(first), ndim) ||
            !PyArray_IS_C_CONTIGUOUS(one)) {
            return NULL;
        }
    }
    npy_intp shape[MOST_AXES] = {rows};
    memcpy(shape + 1, PyArray_DIMS(first), ndim * sizeof *shape);
    PyObject *made = of_type(type, ndim + 1, shape);
    size_t bytes = (size_t)PyArray_NBYTES(first);
    for (Py_ssize_t k = 0; made != NULL && k < rows; k++) {
        PyArrayObject *one = listed_array(PySequence_Fast_GET_ITEM(x, k));
        memcpy(PyArray_BYTES((PyArrayObject *)made) + (size_t)k * bytes, PyArray_BYTES(one), bytes);
    }
    return made;
}

/* The array without axes that a number is, new; NULL without an error where NumPy has to look. */
static PyObject *
of_number(PyObject *x, int asked)
{
    int type = PyFloat_CheckExact(x) ? NPY_DOUBLE : NPY_INTP;
    if (asked >= 0 && asked != type && asked != NPY_DOUBLE) {
        return NULL;
    }
    type = asked < 0 ? type : asked;
    PyObject *made = of_type(type, 0, NULL);
    if (made != NULL && !write_numbers(PyArray_DATA((PyArrayObject *)made), &x, 1, type)) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *
array_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int asked = count == 1 && kwnames == NULL ? -1 : type_asked_for(args, count, kwnames, 1);
    PyObject *x = count > 0 ? args[0] : NULL, *np;
    if (asked >= 0 && args[1] == Py_None) { /* that of the numbers, then */
        return NULL;
    }
    if (x == NULL || (asked < 0 && (count != 1 || kwnames != NULL))) {
        return NULL;
    }
    if (PyFloat_CheckExact(x) || PyLong_CheckExact(x)) {
        return of_number(x, asked);
    }
    if (IS_ARRAY(x)) {
        np = ((Handle *)x)->np;
        int is_copied = asked < 0 && np != NULL && IS_NUMPYS(np) && PyArray_SIZE((PyArrayObject *)np) <= MOST_MADE &&
                        !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)np));
        return is_copied ? PyArray_NewCopy((PyArrayObject *)np, NPY_KEEPORDER) : NULL;
    }
    PyObject *made = of_numbers(x, asked);
    if (asked >= 0) {
        return made;
    }
    return made != NULL || PyErr_Occurred() ? made : of_arrays_alike(args[0]);
}

/* The same where an array would be given back as it is. */
static PyObject *
as_array_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    return count > 0 && !IS_ARRAY(args[0]) ? array_of(args, count, kwnames) : NULL;
}

PyObject *
array(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    OR_NUMPYS(array_of(args, count, kwnames), "array");
}

/* What makes small arrays for one of the functions above, without a call by way of Python; NULL of
   others. */
Maker
maker_of(PyObject *function)
{
    static const struct {
        PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
        Maker maker;
    } known[] = {
        {zeros, zeros_of}, {empty, empty_of}, {ones, ones_of}, {full, full_of}, {arange, arange_of},
        {array, array_of},
    };
    static PyObject *as_arrays[2];
    static const char *const names[] = {"asarray", "asanyarray"};
    for (int k = 0; k < 2; k++) {
        if (as_arrays[k] == NULL) {
            as_arrays[k] = numpys_own(NULL, names[k]); /* kept */
            PyErr_Clear();
        }
        if (function == as_arrays[k]) {
            return as_array_of;
        }
    }
    for (size_t k = 0; PyCFunction_CheckExact(function) && k < sizeof known / sizeof *known; k++) {
        if ((void (*)(void))PyCFunction_GET_FUNCTION(function) == (void (*)(void))known[k].function) {
            return known[k].maker;
        }
    }
    return NULL;
}
