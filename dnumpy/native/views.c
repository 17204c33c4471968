/* What functions that only show an array in another way make of large memory that lies here. */

#include "record.h"

/* One of several views, or the array itself, as ours; NULL without an error of anything else. */
static PyObject *
view_in(PyObject *x, PyObject *memory, PyObject *whole, PyObject *shown)
{
    if (shown == whole) {
        return Py_NewRef(x);
    }
    return IS_NUMPYS(shown) ? new_seen((Handle *)x, memory, Py_NewRef(shown)) : NULL;
}

static PyObject *
views_in(PyObject *x, PyObject *memory, PyObject *whole, PyObject *shown)
{
    Py_ssize_t count = PyList_GET_SIZE(shown);
    PyObject *made = PyList_New(count);
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) {
        PyObject *one = view_in(x, memory, whole, PyList_GET_ITEM(shown, k));
        if (one == NULL) {
            Py_CLEAR(made);
        }
        else {
            PyList_SET_ITEM(made, k, one);
        }
    }
    return made;
}

/* Call NumPy's function with the memory of its first argument, where nobody is to be told that it is
   read, and plain values; NULL without an error where Python has to look. */
PyObject *
viewed(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *x = args[0], *given[MOST_ARGUMENTS], *r = NULL;
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    Handle *handle = (Handle *)x;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf);
    PyObject *whole = memory == NULL ? NULL : lying_here(x);
    if (whole != NULL) {
        memcpy(given, args, total * sizeof(PyObject *));
        given[0] = whole;
        PyObject *found = PyObject_Vectorcall(function, given, count, kwnames);
        if (found != NULL && holds_type(world.plain, found) && !IS_NUMPYS(found)) {
            r = Py_NewRef(found); /* the sum of a diagonal */
        }
        else if (found != NULL) {
            r = PyList_CheckExact(found) ? views_in(x, memory, whole, found)
                                         : view_in(x, memory, whole, found);
        }
        Py_XDECREF(found);
    }
    Py_XDECREF(whole);
    Py_XDECREF(memory);
    return r;
}

/* What NumPy made of what a managed array shows, as a view of it or the array itself; NULL without an
   error where it is neither. */
PyObject *
shown_again(PyObject *x, PyObject *given, PyObject *r)
{
    Handle *handle = (Handle *)x;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf);
    PyObject *shown = memory == NULL || !IS_NUMPYS(given) ? NULL : shown_of(handle, memory);
    PyObject *ours = shown == NULL || shown != given ? NULL : view_in(x, memory, given, r);
    Py_XDECREF(shown);
    Py_XDECREF(memory);
    return ours;
}

/* The same of a method, if it is one that shows an array in another way. */
PyObject *
viewed_by_method(PyObject *method, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    int shows = kwnames == NULL && is_of_kind(method, SHOWS);
    for (Py_ssize_t k = 1; shows && k < count; k++) {
        shows = PyLong_CheckExact(args[k]) || is_plain(world.plain, args[k]);
    }
    return shows ? viewed(method, args, count, NULL) : NULL;
}

/* An attribute that is a view of the array. */
PyObject *
viewed_by_attribute(PyObject *name, PyObject *array)
{
    Handle *handle = (Handle *)array;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf), *r = NULL;
    PyObject *whole = memory == NULL ? NULL : lying_here(array);
    PyObject *found = whole == NULL ? NULL : PyObject_GetAttr(whole, name);
    if (found != NULL && found != whole) {
        r = view_in(array, memory, whole, found);
    }
    Py_XDECREF(found);
    Py_XDECREF(whole);
    Py_XDECREF(memory);
    return r;
}

/* ---------------------------------------------------------------- other shapes */

/* Say whether memory of some extents and strides has no gaps and is in C's order, as NumPy's flag. */
static int
is_in_order(const npy_intp *shape, const npy_intp *strides, int ndim, npy_intp itemsize)
{
    for (int k = ndim; k-- > 0; itemsize *= shape[k]) {
        if (shape[k] != 1 && strides[k] != itemsize) {
            return 0;
        }
    }
    return 1;
}

int
take_numbers(PyObject *tuple, npy_intp *numbers, Py_ssize_t most)
{
    Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_GET_SIZE(tuple) : -1;
    for (Py_ssize_t k = 0; k < count && k < most; k++) {
        numbers[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
    }
    return PyErr_Occurred() || count > most ? -1 : (int)count;
}

static PyObject *
as_tuple(const npy_intp *numbers, int count)
{
    PyObject *made = PyTuple_New(count);
    for (int k = 0; made != NULL && k < count; k++) {
        PyObject *number = PyLong_FromSsize_t(numbers[k]);
        if (number == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, k, number);
    }
    return made;
}

/* What lies at a Geometry of some memory, as `expr.geometry.over`. */
PyObject *
placed_over(PyObject *place, PyArrayObject *memory)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (place == NULL || (PyObject *)Py_TYPE(place) != world.geometry || PyTuple_GET_SIZE(place) != 4 ||
        !PyArray_IS_C_CONTIGUOUS(memory)) {
        return NULL;
    }
    int ndim = take_numbers(PyTuple_GET_ITEM(place, 1), shape, NPY_MAXDIMS);
    PyObject *dtype = PyTuple_GET_ITEM(place, 3);
    npy_intp first = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0)), low = first, high = first;
    if (ndim < 0 || take_numbers(PyTuple_GET_ITEM(place, 2), strides, NPY_MAXDIMS) != ndim || PyErr_Occurred() ||
        !PyArray_DescrCheck(dtype) || PyDataType_REFCHK((PyArray_Descr *)dtype)) {
        PyErr_Clear();
        return NULL;
    }
    for (int k = 0; k < ndim; k++) {
        if (shape[k] < 1) {
            return NULL;
        }
        *(strides[k] < 0 ? &low : &high) += (shape[k] - 1) * strides[k];
    }
    if (low < 0 || high + PyDataType_ELSIZE((PyArray_Descr *)dtype) > PyArray_NBYTES(memory)) {
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)dtype, ndim, shape, strides,
                                          PyArray_BYTES(memory) + first,
                                          PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(memory)) < 0) {
        Py_CLEAR(made);
    }
    PyErr_Clear();
    return made;
}

/* Where an array lies in its Buffer, if that is in one piece and C's order. */
typedef struct {
    npy_intp offset, size;
    PyObject *dtype; /* borrowed */
} Piece;

static int
take_piece(Handle *x, Piece *piece)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyObject *place = x->place, *extents, *apart = NULL;
    int ndim;
    if (place == world.as_seen) {
        PyObject *seen = x->seen;
        if (seen == NULL || !PyTuple_CheckExact(seen) || !IS_NUMPYS(PyTuple_GET_ITEM(seen, 0)) ||
            !IS_NUMPYS(PyTuple_GET_ITEM(seen, 1))) {
            return 0;
        }
        PyArrayObject *memory = (PyArrayObject *)PyTuple_GET_ITEM(seen, 0);
        PyArrayObject *shown = (PyArrayObject *)PyTuple_GET_ITEM(seen, 1);
        piece->offset = PyArray_BYTES(shown) - PyArray_BYTES(memory);
        piece->dtype = (PyObject *)PyArray_DESCR(shown);
        piece->size = PyArray_SIZE(shown);
        return PyArray_IS_C_CONTIGUOUS(memory) && PyArray_IS_C_CONTIGUOUS(shown);
    }
    if (place == Py_None) {
        extents = *place_of(x->buf, told.buffer.shape);
        piece->dtype = *place_of(x->buf, told.buffer.dtype);
        piece->offset = 0;
    }
    else if (place != NULL && (PyObject *)Py_TYPE(place) == world.geometry && PyTuple_GET_SIZE(place) == 4) {
        piece->offset = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0));
        extents = PyTuple_GET_ITEM(place, 1);
        apart = PyTuple_GET_ITEM(place, 2);
        piece->dtype = PyTuple_GET_ITEM(place, 3);
    }
    else {
        return 0;
    }
    ndim = extents == NULL ? -1 : take_numbers(extents, shape, NPY_MAXDIMS);
    if (ndim < 0 || piece->dtype == NULL || !PyArray_DescrCheck(piece->dtype) ||
        (apart != NULL && take_numbers(apart, strides, NPY_MAXDIMS) != ndim)) {
        return 0;
    }
    piece->size = 1;
    for (int k = 0; k < ndim; k++) {
        piece->size *= shape[k];
    }
    return apart == NULL ||
           is_in_order(shape, strides, ndim, PyDataType_ELSIZE((PyArray_Descr *)piece->dtype));
}

/* The Geometry of a piece in another shape, None if that is all of the Buffer; new. */
static PyObject *
place_in(PyObject *buffer, const Piece *piece, const npy_intp *shape, int ndim)
{
    npy_intp strides[NPY_MAXDIMS], apart = PyDataType_ELSIZE((PyArray_Descr *)piece->dtype);
    for (int k = ndim; k-- > 0; apart *= shape[k]) {
        strides[k] = apart;
    }
    PyObject *extents = as_tuple(shape, ndim), *steps = as_tuple(strides, ndim), *made = NULL;
    if (extents != NULL && steps != NULL) {
        PyObject *whole = *place_of(buffer, told.buffer.shape);
        int same = piece->offset == 0 && *place_of(buffer, told.buffer.dtype) == piece->dtype
                       ? PyObject_RichCompareBool(extents, whole, Py_EQ)
                       : 0;
        PyObject *fields = same ? NULL : Py_BuildValue("((nOOO))", piece->offset, extents, steps, piece->dtype);
        made = same > 0         ? Py_NewRef(Py_None)
               : fields == NULL ? NULL
                                : PyTuple_Type.tp_new((PyTypeObject *)world.geometry, fields, NULL);
        Py_XDECREF(fields);
    }
    Py_XDECREF(extents);
    Py_XDECREF(steps);
    return made;
}

/* A managed array in one piece and C's order, in another shape; NULL without an error where Python has
   to look. It holds no memory, which is to be written over while this lives. */
PyObject *
reshaped_view(PyObject *x, PyObject *const *shape, Py_ssize_t count)
{
    Handle *of = (Handle *)x;
    npy_intp extents[NPY_MAXDIMS];
    Piece piece;
    if (told.buffer_type == NULL || of->buf == NULL || Py_TYPE(of->buf) != told.buffer_type ||
        !take_piece(of, &piece)) {
        PyErr_Clear();
        return NULL;
    }
    int ndim = take_shape(shape, count, extents, piece.size);
    PyObject *place = ndim == 0 ? NULL : place_in(of->buf, &piece, extents, ndim);
    Handle *made = place == NULL ? NULL : (Handle *)world.array_type->tp_alloc(world.array_type, 0);
    if (made == NULL) {
        Py_XDECREF(place);
        PyErr_Clear(); /* which Python meets again */
        return NULL;
    }
    made->np = Py_NewRef(Py_None);
    made->buf = Py_NewRef(of->buf);
    made->place = place;
    made->seen = Py_NewRef(Py_None);
    made->base = Py_NewRef(of->base == NULL || of->base == Py_None ? x : of->base);
    made->readonly = Py_NewRef(of->readonly);
    return (PyObject *)made;
}
