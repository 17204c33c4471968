/* Functions of NumPy's on small arrays, for which NumPy takes longer to get to the work than to do it.

   Most of them are written in Python there, and come to a few copies or one inner loop. What is not as
   plain as can be (other dtypes, another layout, arguments by name) is left to NumPy, errors included. */

#include "loops.h"
#include "numbers.h"

#include <numpy/arrayscalars.h>

#define MOST_PAIRED 8 /* axes */
#define MOST_BYTES (1 << 18) /* of a result: NumPy is as fast with larger ones */
#define MOST_JOINED 64       /* arrays */

/* Say whether an array is one of NumPy's of numbers or booleans, as C lays them out. */
static int
is_plain_array(PyObject *x)
{
    PyArrayObject *a = (PyArrayObject *)x;
    if (!IS_NUMPYS(x) || !PyArray_IS_C_CONTIGUOUS(a) || PyArray_NDIM(a) == 0 ||
        PyArray_NBYTES(a) > MOST_BYTES || PyArray_TYPE(a) >= NPY_OBJECT) {
        return 0;
    }
    PyArray_Descr *built_in = PyArray_DescrFromType(PyArray_TYPE(a));
    Py_DECREF(built_in); /* which lives on */
    return PyArray_DESCR(a) == built_in;
}

static npy_intp
product(const npy_intp *extents, int first, int end)
{
    npy_intp size = 1;
    for (int k = first; k < end; k++) {
        size *= extents[k];
    }
    return size;
}

/* ---------------------------------------------------------------- joining */

/* Arrays that are joined: as many lines of each, of so many bytes. */
typedef struct {
    char *data[MOST_JOINED];
    npy_intp bytes[MOST_JOINED];
    Py_ssize_t count;
    npy_intp lines;
} Joined;

static void
join(const Joined *joined, char *to)
{
    for (npy_intp line = 0; line < joined->lines; line++) {
        for (Py_ssize_t k = 0; k < joined->count; k++) {
            memcpy(to, joined->data[k] + line * joined->bytes[k], joined->bytes[k]);
            to += joined->bytes[k];
        }
    }
}

/* The plain arrays of a list or tuple, which are of one dtype and have as many axes; NULL of others. */
static PyArrayObject *
alike_arrays(PyObject *sequence, Py_ssize_t *count)
{
    if (!PyList_CheckExact(sequence) && !PyTuple_CheckExact(sequence)) {
        return NULL;
    }
    *count = PySequence_Fast_GET_SIZE(sequence);
    PyObject **items = PySequence_Fast_ITEMS(sequence);
    if (*count < 1 || *count > MOST_JOINED || !is_plain_array(items[0])) {
        return NULL;
    }
    PyArrayObject *first = (PyArrayObject *)items[0];
    for (Py_ssize_t k = 1; k < *count; k++) {
        PyArrayObject *a = (PyArrayObject *)items[k];
        if (!is_plain_array(items[k]) || PyArray_DESCR(a) != PyArray_DESCR(first) ||
            PyArray_NDIM(a) != PyArray_NDIM(first)) {
            return NULL;
        }
    }
    return first;
}

/* Arrays joined along an axis that they have, new; NULL without an error where NumPy has to look. */
static PyObject *
concatenated(PyObject *sequence, Py_ssize_t axis)
{
    Py_ssize_t count;
    PyArrayObject *first = alike_arrays(sequence, &count);
    int ndim = first == NULL ? 0 : PyArray_NDIM(first);
    axis += axis < 0 ? ndim : 0;
    if (ndim == 0 || axis < 0 || axis >= ndim || ndim > NPY_MAXDIMS) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], itemsize = PyArray_ITEMSIZE(first);
    memcpy(shape, PyArray_DIMS(first), ndim * sizeof *shape);
    shape[axis] = 0;
    Joined joined = {.count = count, .lines = product(shape, 0, (int)axis)};
    for (Py_ssize_t k = 0; k < count; k++) {
        PyArrayObject *a = (PyArrayObject *)PySequence_Fast_GET_ITEM(sequence, k);
        for (int j = 0; j < ndim; j++) {
            if (j != axis && PyArray_DIM(a, j) != shape[j]) {
                return NULL;
            }
        }
        shape[axis] += PyArray_DIM(a, axis);
        joined.data[k] = PyArray_BYTES(a);
        joined.bytes[k] = product(PyArray_DIMS(a), (int)axis, ndim) * itemsize;
    }
    PyObject *made = new_array(PyArray_DESCR(first), ndim, shape);
    if (made != NULL) {
        join(&joined, PyArray_BYTES((PyArrayObject *)made));
    }
    return made;
}

/* Arrays of one shape as the rows of a new one; NULL without an error where NumPy has to look. */
static PyObject *
stacked(PyObject *sequence)
{
    Py_ssize_t count;
    PyArrayObject *first = alike_arrays(sequence, &count);
    int ndim = first == NULL ? NPY_MAXDIMS : PyArray_NDIM(first);
    if (ndim >= NPY_MAXDIMS) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    shape[0] = count;
    memcpy(shape + 1, PyArray_DIMS(first), ndim * sizeof *shape);
    Joined joined = {.count = count, .lines = 1};
    for (Py_ssize_t k = 0; k < count; k++) {
        PyArrayObject *a = (PyArrayObject *)PySequence_Fast_GET_ITEM(sequence, k);
        if (!PyArray_SAMESHAPE(a, first)) {
            return NULL;
        }
        joined.data[k] = PyArray_BYTES(a);
        joined.bytes[k] = PyArray_NBYTES(a);
    }
    PyObject *made = new_array(PyArray_DESCR(first), ndim + 1, shape);
    if (made != NULL) {
        join(&joined, PyArray_BYTES((PyArrayObject *)made));
    }
    return made;
}

/* An axis given by position or as `axis`, where nothing else is; 0 if it is no integer of Python's. */
static int
take_axis(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, Py_ssize_t *axis)
{
    static PyObject *name;
    if (kwnames != NULL && (count != 1 || PyTuple_GET_SIZE(kwnames) != 1 ||
                            PyTuple_GET_ITEM(kwnames, 0) != intern(&name, "axis"))) {
        return 0;
    }
    if (kwnames == NULL && count == 1) {
        return 1;
    }
    if ((kwnames == NULL && count != 2) || !PyLong_CheckExact(args[1])) {
        return 0;
    }
    *axis = PyLong_AsSsize_t(args[1]);
    if (*axis == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

PyObject *
concatenate(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t axis = 0;
    int fits = count > 0 && take_axis(args, count, kwnames, &axis);
    OR_NUMPYS(fits ? concatenated(args[0], axis) : NULL, "concatenate");
}

PyObject *
stack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t axis = 0;
    int fits = count > 0 && take_axis(args, count, kwnames, &axis) && axis == 0;
    OR_NUMPYS(fits ? stacked(args[0]) : NULL, "stack");
}

static int
axes_of_first(PyObject *sequence)
{
    Py_ssize_t count;
    PyArrayObject *first = alike_arrays(sequence, &count);
    return first == NULL ? 0 : PyArray_NDIM(first);
}

PyObject *
vstack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int ndim = count == 1 && kwnames == NULL ? axes_of_first(args[0]) : 0;
    OR_NUMPYS(ndim == 0 ? NULL : ndim == 1 ? stacked(args[0]) : concatenated(args[0], 0), "vstack");
}

PyObject *
hstack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int ndim = count == 1 && kwnames == NULL ? axes_of_first(args[0]) : 0;
    OR_NUMPYS(ndim == 0 ? NULL : concatenated(args[0], ndim > 1), "hstack");
}

/* ---------------------------------------------------------------- rolling */

/* Elements moved along an axis, those at its end to its beginning, new. */
static PyObject *
rolled(PyArrayObject *a, npy_intp shift, int axis)
{
    int ndim = PyArray_NDIM(a), whole = axis < 0;
    npy_intp lines = whole ? 1 : product(PyArray_DIMS(a), 0, axis);
    npy_intp extent = whole ? PyArray_SIZE(a) : PyArray_DIM(a, axis);
    npy_intp bytes = PyArray_ITEMSIZE(a) * (whole ? 1 : product(PyArray_DIMS(a), axis + 1, ndim));
    shift %= extent;
    shift += shift < 0 ? extent : 0;
    PyObject *made = new_array(PyArray_DESCR(a), ndim, PyArray_DIMS(a));
    if (made == NULL) {
        return NULL;
    }
    char *from = PyArray_BYTES(a), *to = PyArray_BYTES((PyArrayObject *)made);
    npy_intp head = (extent - shift) * bytes, tail = shift * bytes;
    for (npy_intp line = 0; line < lines; line++, from += head + tail, to += head + tail) {
        memcpy(to + tail, from, head);
        memcpy(to, from + head, tail);
    }
    return made;
}

PyObject *
roll(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *name;
    int by_name = kwnames != NULL && count == 2 && PyTuple_GET_SIZE(kwnames) == 1 &&
                  PyTuple_GET_ITEM(kwnames, 0) == intern(&name, "axis");
    Py_ssize_t total = count + by_name, axis = -1, shift = 0;
    PyObject *made = NULL;
    if ((kwnames == NULL || by_name) && (total == 2 || total == 3) && is_plain_array(args[0]) &&
        PyArray_SIZE((PyArrayObject *)args[0]) > 0 && PyLong_CheckExact(args[1])) {
        int ndim = PyArray_NDIM((PyArrayObject *)args[0]), has_axis = total == 3 && args[2] != Py_None;
        int fits = !has_axis || PyLong_CheckExact(args[2]);
        shift = PyLong_AsSsize_t(args[1]);
        axis = has_axis && fits ? PyLong_AsSsize_t(args[2]) : -1;
        axis += has_axis && axis < 0 ? ndim : 0;
        fits = fits && !PyErr_Occurred() && (!has_axis || (axis >= 0 && axis < ndim));
        PyErr_Clear();
        made = fits ? rolled((PyArrayObject *)args[0], shift, (int)axis) : NULL;
    }
    OR_NUMPYS(made, "roll");
}

/* ---------------------------------------------------------------- limits */

/* An array between two numbers, new; NULL without an error where NumPy has to look. */
static PyObject *
clipped(PyArrayObject *a, PyObject *least, PyObject *most)
{
    static Loop loops[NPY_HALF + 1];
    static PyObject *ufunc;
    if (ufunc == NULL) {
        PyObject *own = PyImport_ImportModule("numpy._core.umath");
        ufunc = own == NULL ? NULL : PyObject_GetAttrString(own, "clip"); /* kept */
        Py_XDECREF(own);
        PyErr_Clear();
    }
    int type = PyArray_TYPE(a);
    if (ufunc == NULL || !is_ufunc(ufunc) ||
        (type != NPY_DOUBLE && type != NPY_FLOAT && !PyTypeNum_ISINTEGER(type)) ||
        !PyArray_ISALIGNED(a) || PyArray_SIZE(a) == 0) {
        return NULL;
    }
    Loop *loop = &loops[type];
    if (loop->state == UNKNOWN) {
        find_loop(loop, (PyUFuncObject *)ufunc, type);
    }
    Number low, high;
    if (loop->state == NONE || PyArray_DESCR(a) != loop->read || !put_number(&low, least, type) ||
        !put_number(&high, most, type)) {
        return NULL;
    }
    PyObject *made = new_array(loop->made, PyArray_NDIM(a), PyArray_DIMS(a));
    if (made == NULL) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(a), itemsize = PyArray_ITEMSIZE(a);
    npy_intp steps[] = {itemsize, 0, 0, itemsize};
    char *args[] = {PyArray_BYTES(a), (char *)&low, (char *)&high, PyArray_BYTES((PyArrayObject *)made)};
    forget_faults();
    loop->run(args, &size, steps, loop->data);
    if (loop->state != TRUSTED) {
        PyObject *given[] = {(PyObject *)a, least, most};
        return tried(loop, ufunc, given, 3, made);
    }
    if (told_faults((PyUFuncObject *)ufunc, 0) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
clip(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int fits = count == 3 && kwnames == NULL && is_plain_array(args[0]);
    OR_NUMPYS(fits ? clipped((PyArrayObject *)args[0], args[1], args[2]) : NULL, "clip");
}

PyObject *
clip_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    int fits = count == 3 && kwnames == NULL && is_plain_array(args[0]);
    PyObject *made = fits ? clipped((PyArrayObject *)args[0], args[1], args[2]) : NULL;
    return made != NULL || PyErr_Occurred()
               ? made
               : left_to_numpy(&numpys, "ndarray", "clip", args, count, kwnames);
}

/* ---------------------------------------------------------------- pairs */

/* The differences of neighbours along the last axis, new; NULL without an error of others. */
static PyObject *
differences(PyArrayObject *a)
{
    static PyObject *subtract;
    int last = PyArray_NDIM(a) - 1, type = PyArray_TYPE(a);
    if (type == NPY_BOOL || PyArray_DIM(a, last) < 2 || !PyTypeNum_ISNUMBER(type)) {
        return NULL;
    }
    if (subtract == NULL) {
        subtract = numpys_own(NULL, "subtract"); /* kept */
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(a), (last + 1) * sizeof *shape);
    shape[last]--;
    PyObject *made = NULL, *parts[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        npy_intp offset = k == 0 ? PyArray_STRIDE(a, last) : 0;
        parts[k] = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(a)),
                                        last + 1, shape, PyArray_STRIDES(a), PyArray_BYTES(a) + offset,
                                        0, NULL);
    }
    if (parts[0] != NULL && parts[1] != NULL) {
        made = looped(subtract, parts, 2, NULL);
    }
    Py_XDECREF(parts[0]);
    Py_XDECREF(parts[1]);
    return made;
}

PyObject *
diff(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int fits = count == 1 && kwnames == NULL && is_plain_array(args[0]);
    OR_NUMPYS(fits ? differences((PyArrayObject *)args[0]) : NULL, "diff");
}

/* What a ufunc gives for each element of an array beside each of another, new; NULL without an error of
   others. */
static PyObject *
of_each_pair(PyObject *ufunc, PyArrayObject *a, PyArrayObject *b)
{
    npy_intp shape[MOST_PAIRED], strides[MOST_PAIRED];
    int axes = PyArray_NDIM(a), all = axes + PyArray_NDIM(b);
    if (axes == 0 || all > MOST_PAIRED || PyTypeNum_ISCOMPLEX(PyArray_TYPE(a))) {
        return NULL;
    }
    for (int k = 0; k < all; k++) {
        shape[k] = k < axes ? PyArray_DIM(a, k) : 1;
        strides[k] = k < axes ? PyArray_STRIDE(a, k) : 0;
    }
    PyObject *left = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(a)),
                                          all, shape, strides, PyArray_BYTES(a), 0, NULL);
    PyObject *pair[] = {left, (PyObject *)b};
    PyObject *made = left == NULL ? NULL : looped(ufunc, pair, 2, NULL);
    if (made == NULL && left != NULL && !PyErr_Occurred()) {
        made = looped_mixed(ufunc, pair, 2, NULL);
    }
    Py_XDECREF(left);
    return made;
}

PyObject *
outer(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *multiply;
    if (multiply == NULL) {
        multiply = numpys_own(NULL, "multiply"); /* kept */
    }
    int fits = count == 2 && kwnames == NULL && IS_NUMPYS(args[0]) && IS_NUMPYS(args[1]) &&
               PyArray_NDIM((PyArrayObject *)args[0]) == 1 && PyArray_NDIM((PyArrayObject *)args[1]) == 1;
    OR_NUMPYS(fits ? of_each_pair(multiply, (PyArrayObject *)args[0], (PyArrayObject *)args[1]) : NULL,
              "outer");
}

/* outer_of(ufunc, a, b) */
PyObject *
outer_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    PyObject *made = NULL;
    if (numpys == NULL && (numpys = numpys_own("ufunc", "outer")) == NULL) {
        return NULL;
    }
    if (count == 3 && kwnames == NULL && is_ufunc(args[0]) && IS_NUMPYS(args[1]) &&
        IS_NUMPYS(args[2])) {
        made = of_each_pair(args[0], (PyArrayObject *)args[1], (PyArrayObject *)args[2]);
    }
    return made != NULL || PyErr_Occurred() ? made : PyObject_Vectorcall(numpys, args, count, kwnames);
}

/* ---------------------------------------------------------------- copies and other shapes */

static PyObject *
copied(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (count != 1 || kwnames != NULL || !is_plain_array(args[0])) {
        return NULL;
    }
    PyArrayObject *a = (PyArrayObject *)args[0];
    PyObject *made = new_array(PyArray_DESCR(a), PyArray_NDIM(a), PyArray_DIMS(a));
    if (made != NULL) {
        memcpy(PyArray_BYTES((PyArrayObject *)made), PyArray_BYTES(a), PyArray_NBYTES(a));
    }
    return made;
}

PyObject *
copy_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    PyObject *made = copied(args, count, kwnames);
    return made != NULL || PyErr_Occurred()
               ? made
               : left_to_numpy(&numpys, "ndarray", "copy", args, count, kwnames);
}

/* How many extents there are, given one by one or as a tuple, of which one may be left open; 0 of
   others, and where there are no elements. */
int
take_shape(PyObject *const *args, Py_ssize_t count, npy_intp *shape, npy_intp size)
{
    int open = -1;
    npy_intp known = 1;
    if (count == 1 && PyTuple_CheckExact(args[0])) {
        count = PyTuple_GET_SIZE(args[0]);
        args = &PyTuple_GET_ITEM(args[0], 0);
    }
    if (count < 1 || count > NPY_MAXDIMS) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        shape[k] = PyLong_CheckExact(args[k]) ? PyLong_AsSsize_t(args[k]) : -2;
        if (shape[k] == -1 && open < 0 && !PyErr_Occurred()) {
            open = (int)k;
        }
        else if (shape[k] < 1 || shape[k] > size) {
            PyErr_Clear();
            return 0;
        }
        else {
            known *= shape[k];
            if (known > size) {
                return 0;
            }
        }
    }
    if (open >= 0) {
        shape[open] = size / known;
        known *= shape[open];
    }
    return known == size ? (int)count : 0;
}

/* An array's memory in another shape, new; NULL without an error where NumPy has to look. */
static PyObject *
reshaped(PyArrayObject *a, PyObject *const *args, Py_ssize_t count)
{
    npy_intp shape[NPY_MAXDIMS];
    npy_intp size = PyArray_SIZE(a);
    int axes = PyArray_IS_C_CONTIGUOUS(a) && PyArray_FLAGS(a) >= 0
                   ? take_shape(args, count, shape, size)
                   : 0;
    if (axes == 0) {
        return NULL;
    }
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(a)),
                                          axes, shape, NULL, PyArray_BYTES(a),
                                          PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(a)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
reshape_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    int fits = count > 1 && kwnames == NULL && IS_NUMPYS(args[0]);
    PyObject *made = fits ? reshaped((PyArrayObject *)args[0], args + 1, count - 1) : NULL;
    return made != NULL || PyErr_Occurred()
               ? made
               : left_to_numpy(&numpys, "ndarray", "reshape", args, count, kwnames);
}

/* An array of another dtype, new; NULL without an error where NumPy has to look. */
static PyObject *
converted(PyArrayObject *a, PyObject *to)
{
    if (!PyType_CheckExact(to) && !PyArray_DescrCheck(to) && !PyUnicode_CheckExact(to)) {
        return NULL; /* whatever else may stand for a dtype */
    }
    PyArray_Descr *dtype = NULL;
    int known = PyArray_DescrConverter(to, &dtype) == NPY_SUCCEED && dtype != NULL;
    if (!known || !PyTypeNum_ISNUMBER(dtype->type_num) || !PyTypeNum_ISNUMBER(PyArray_TYPE(a)) ||
        PyTypeNum_ISCOMPLEX(PyArray_TYPE(a))) { /* which warns of what it loses */
        PyErr_Clear();
        Py_XDECREF(dtype);
        return NULL;
    }
    PyObject *made = PyArray_NewLikeArray(a, NPY_KEEPORDER, dtype, 1);
    if (made != NULL && PyArray_CopyInto((PyArrayObject *)made, a) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
astype_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    int fits = count == 2 && kwnames == NULL && IS_NUMPYS(args[0]);
    PyObject *made = fits ? converted((PyArrayObject *)args[0], args[1]) : NULL;
    return made != NULL || PyErr_Occurred()
               ? made
               : left_to_numpy(&numpys, "ndarray", "astype", args, count, kwnames);
}
