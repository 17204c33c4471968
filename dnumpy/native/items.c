/* Items, lengths and iterators of arrays; `item_slow` has what Python does for each. */

#include "record.h"

#define MOST_LISTED 64 /* integers in a list that is part of an index */

static int
is_basic(PyObject *key)
{
    if (PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_Ellipsis || key == Py_None) {
        return 1;
    }
    if (!PyTuple_CheckExact(key)) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++) {
        PyObject *part = PyTuple_GET_ITEM(key, k);
        if (!PyLong_CheckExact(part) && !PySlice_Check(part) && part != Py_Ellipsis &&
            part != Py_None) {
            return 0;
        }
    }
    return 1;
}

/* Say whether a basic index gives more than an element, or a row. */
static int
is_region(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) {
        return !PyLong_CheckExact(key);
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(key, k))) {
            return 1;
        }
    }
    return 0;
}

/* Whether a part of an index is of a class of the program's, of which NumPy may ask for an array, or an
   array that has to be computed first. */
static int
has_others(PyObject *key)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++) {
        PyObject *part = PyTuple_GET_ITEM(key, k);
        if (IS_ARRAY(part) ? small_of(part) == NULL
                           : PyType_HasFeature(Py_TYPE(part), Py_TPFLAGS_HEAPTYPE)) {
            return 1;
        }
    }
    return 0;
}

/* What NumPy is given as the index of a small array, borrowed; NULL where Python has to look. */
static PyObject *
plain_key(PyObject *key)
{
    if (LIKELY(PyLong_CheckExact(key) || PySlice_Check(key)) || key == Py_None ||
        key == Py_Ellipsis) {
        return key;
    }
    if (PyTuple_CheckExact(key)) {
        return has_others(key) ? NULL : key;
    }
    if (PyList_CheckExact(key)) {
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(key); k++) {
            if (!is_immediate(PyList_GET_ITEM(key, k))) {
                return NULL;
            }
        }
        return key;
    }
    if (IS_NUMPYS(key)) {
        return key;
    }
    return IS_ARRAY(key) ? small_of(key) : NULL;
}

/* Whether a part of an index picks elements by arrays, or by a short list of integers. */
static int
picks_part(PyObject *part)
{
    if (!PyList_CheckExact(part)) {
        return IS_ARRAY(part) || IS_NUMPYS(part);
    }
    Py_ssize_t count = PyList_GET_SIZE(part);
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!PyLong_CheckExact(PyList_GET_ITEM(part, k))) {
            return 0;
        }
    }
    return count > 0 && count <= MOST_LISTED;
}

/* A tuple in which NumPy's own arrays stand for ours, new: an index by arrays of several axes; NULL
   without an error where it has none, or Python has to look. */
static PyObject *
plain_tuple(PyObject *key)
{
    PyObject *made = NULL;
    Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (picks_part(PyTuple_GET_ITEM(key, k))) {
            made = PyTuple_New(count);
            break;
        }
    }
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) {
        PyObject *part = PyTuple_GET_ITEM(key, k);
        PyObject *plain = IS_ARRAY(part) || IS_NUMPYS(part) ? at_hand(part)
                          : picks_part(part) ? PyArray_FROMANY(part, NPY_INTP, 1, 1, 0)
                          : is_basic(part) && !PyTuple_CheckExact(part) ? Py_NewRef(part)
                                                                        : NULL;
        if (plain == NULL) {
            Py_CLEAR(made);
        }
        else {
            PyTuple_SET_ITEM(made, k, plain);
        }
    }
    PyErr_Clear(); /* of an integer that is too large, which NumPy will meet */
    return made;
}

/* At most how many elements arrays of integers pick, one or a tuple with some; -1 where that needs another look. */
static Py_ssize_t
most_picked(PyObject *index, PyArrayObject *whole)
{
    Py_ssize_t size = 1, picks = 1, count = PyTuple_CheckExact(index) ? PyTuple_GET_SIZE(index) : 1;
    int axis = 0, ndim = PyArray_NDIM(whole), crossed = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *part = PyTuple_CheckExact(index) ? PyTuple_GET_ITEM(index, k) : index;
        if (part == Py_None) {
            continue;
        }
        if (part == Py_Ellipsis || axis == ndim) {
            return -1;
        }
        if (IS_NUMPYS(part)) {
            if (!PyTypeNum_ISINTEGER(PyArray_TYPE((PyArrayObject *)part))) {
                return -1; /* of a mask */
            }
            Py_ssize_t n = PyArray_SIZE((PyArrayObject *)part);
            crossed = crossed || PyArray_NDIM((PyArrayObject *)part) > 1;
            picks = crossed ? picks * n : n > picks ? n : picks;
        }
        else if (PySlice_Check(part)) {
            size *= PyArray_DIM(whole, axis);
        }
        axis++;
    }
    for (; axis < ndim; axis++) {
        size *= PyArray_DIM(whole, axis);
    }
    return picks > (PY_SSIZE_T_MAX >> 24) / (size + 1) ? -1 : picks * size;
}

/* The large memory out of which arrays pick a little, and the index as NumPy is given it; both new, NULL without an error where Python has to look. */
static PyObject *
little_picked(PyObject *x, PyObject *key, PyObject **index)
{
    PyObject *whole = NULL;
    *index = setting(world.memory_limit_at) != 0 ? NULL
             : PyTuple_CheckExact(key)           ? plain_tuple(key)
             : !PyList_CheckExact(key)           ? at_hand(key)
             : picks_part(key) ? PyArray_FROMANY(key, NPY_INTP, 1, 1, 0)
                               : NULL;
    PyErr_Clear();
    if (*index != NULL && (whole = lying_here(x)) != NULL) {
        Py_ssize_t most = most_picked(*index, (PyArrayObject *)whole);
        if (most < 0 || most >= setting(world.eager_below_at)) {
            Py_CLEAR(whole);
        }
    }
    if (whole == NULL) {
        Py_CLEAR(*index);
    }
    return whole;
}

/* An item or a view of computed memory, where nobody is to be told that it is read; NULL without an
   error where Python has to look. */
static PyObject *
seen_item(Handle *x, PyObject *key)
{
    if (!is_basic(key) || is_watched(x->buf)) {
        return NULL;
    }
    PyObject *memory = computed(x->buf);
    if (memory == NULL && is_made_now(x->buf, 0)) {
        memory = computed(x->buf);
    }
    if (memory == NULL) {
        return NULL;
    }
    PyObject *whole = shown_of(x, memory);
    PyObject *found = whole == NULL ? NULL : item_of(whole, key);
    Py_XDECREF(whole);
    if (found != NULL && IS_NUMPYS(found)) {
        found = new_seen(x, memory, found);
    }
    Py_DECREF(memory);
    return found;
}

/* Say whether two arrays are one view of one memory. */
static int
is_same(PyObject *x, PyObject *y)
{
    if (!IS_NUMPYS(y)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    int ndim = PyArray_NDIM(a);
    size_t bytes = ndim * sizeof(npy_intp);
    return PyArray_DATA(a) == PyArray_DATA(b) && PyArray_DESCR(a) == PyArray_DESCR(b) &&
           ndim == PyArray_NDIM(b) && memcmp(PyArray_DIMS(a), PyArray_DIMS(b), bytes) == 0 &&
           memcmp(PyArray_STRIDES(a), PyArray_STRIDES(b), bytes) == 0;
}

/* Write to a region of memory: 1 if it was done, 0 where it takes the lock, -1 with an error; where it
   is large, if NumPy is to do that now. */
static int
set_region(PyObject *whole, PyObject *key, PyObject *plain, int has_lock)
{
    if (set_element((PyArrayObject *)whole, key, plain)) {
        return 1;
    }
    PyObject *region = item_of(whole, key), *site = NULL;
    if (region == NULL) {
        return -1;
    }
    int done = 1;
    if (!IS_NUMPYS(region)) {
        done = PyObject_SetItem(whole, key, plain) < 0 ? -1 : 1;
    }
    else if (!is_same(region, plain)) { /* which is the last step of x[key] += 1 */
        Py_ssize_t size = PyArray_SIZE((PyArrayObject *)region);
        int large = !runs_at_once(region) || (IS_NUMPYS(plain) && !runs_at_once(plain));
        if (size > WRITTEN_AT_ONCE && large && has_lock) {
            site = turn_on(Py_None, region, plain);
        }
        if (size > WRITTEN_AT_ONCE && (!has_lock || (large && site == NULL))) {
            done = 0;
        }
        else {
            double started = site == NULL ? 0 : seconds_now();
            done = put_item(region, Py_Ellipsis, plain) < 0 ? -1 : 1;
            took(site, started);
        }
    }
    Py_DECREF(region);
    return done;
}

/* Whether an index picks elements by arrays that lie here, and is one array. */
static int
is_picks(PyObject *key)
{
    return IS_ARRAY(key) || IS_NUMPYS(key);
}

/* Bytes that are read and written where an array picks elements; 0 of few. */
static Py_ssize_t
picked_bytes(PyObject *index, PyObject *whole)
{
    if (!IS_NUMPYS(index) || !IS_NUMPYS(whole) || (is_small(index) && is_small(whole))) {
        return 0;
    }
    Py_ssize_t bytes = PyArray_NBYTES((PyArrayObject *)index);
    return bytes + 2 * PyArray_SIZE((PyArrayObject *)index) * PyArray_ITEMSIZE((PyArrayObject *)whole);
}

/* Write to the little that arrays pick, as above. */
static int
set_little_picked(PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *index, *lock = NULL, *plain = at_hand(value), *memory = NULL;
    PyObject *whole = plain == NULL ? NULL : little_picked(x, key, &index);
    int done = 0;
    if (whole != NULL && (memory = memory_to_write(x, &lock)) != NULL) {
        done = PyObject_SetItem(memory, index, plain) < 0 ? -1 : 1;
        unlock(lock);
    }
    if (whole != NULL) {
        Py_DECREF(whole);
        Py_DECREF(index);
    }
    Py_XDECREF(memory);
    Py_XDECREF(plain);
    return done;
}

/* Write to what an array picks out of large memory, if NumPy is to do that now: 1 if it was done, 0
   where Python has to look, -1 with an error. */
static int
set_picked(PyObject *x, PyObject *key, PyObject *value)
{
    if ((!is_picks(key) && !PyTuple_CheckExact(key) && !PyList_CheckExact(key)) || !takes_writes((Handle *)x)) {
        return 0;
    }
    int written = set_little_picked(x, key, value);
    if (written != 0 || !is_picks(key)) {
        return written;
    }
    PyObject *index = lying_here(key), *plain = index == NULL ? NULL : lying_here(value);
    PyObject *lock = NULL, *whole = NULL, *site = NULL;
    int done = 0;
    Py_ssize_t bytes = 0;
    if (plain != NULL && (whole = lying_here(x)) != NULL) {
        bytes = picked_bytes(index, whole);
        site = bytes == 0 ? NULL : turn_of(Py_None, bytes);
        Py_CLEAR(whole);
    }
    if (site != NULL) {
        whole = memory_to_write(x, &lock);
    }
    else if (bytes > 0) {
        Py_CLEAR(index); /* what nobody else holds may be written over */
        Py_CLEAR(plain);
        PyObject *args[] = {x, key, value};
        PyObject *r = ours(item_slow[SETITEM], bytes, args, 3, NULL);
        done = r == NULL ? -1 : 1;
        Py_XDECREF(r);
    }
    if (whole != NULL) {
        double started = seconds_now();
        done = put_by_mask(whole, index, plain) || PyObject_SetItem(whole, index, plain) == 0 ? 1 : -1;
        took(Py_NewRef(site), started);
        unlock(lock);
    }
    Py_XDECREF(whole);
    Py_XDECREF(site);
    Py_XDECREF(index);
    Py_XDECREF(plain);
    return done;
}

static int
is_mask(PyObject *index)
{
    return IS_NUMPYS(index) && PyArray_TYPE((PyArrayObject *)index) == NPY_BOOL;
}

/* What an array picks out of memory of which one is large, if NumPy is to do that now; NULL without
   an error where Python has to look. */
static PyObject *
picked(PyObject *x, PyObject *key)
{
    PyObject *whole, *index, *r = NULL;
    if (!is_picks(key) && !PyTuple_CheckExact(key) && !PyList_CheckExact(key)) {
        return NULL;
    }
    if ((whole = little_picked(x, key, &index)) != NULL) {
        r = result(item_by(whole, index), x, NULL);
        Py_DECREF(whole);
        Py_DECREF(index);
        return r;
    }
    if (!is_picks(key)) {
        return NULL;
    }
    whole = lying_here(x);
    index = whole == NULL ? NULL : lying_here(key);
    if (index != NULL && is_mask(index)) {
        Py_CLEAR(index); /* what a mask shows may be left uncounted */
    }
    Py_ssize_t bytes = index == NULL ? 0 : picked_bytes(index, whole);
    PyObject *site = bytes == 0 ? NULL : turn_of(Py_None, bytes);
    if (site == NULL && bytes > 0) {
        Py_CLEAR(whole); /* what nobody else holds may be written over */
        Py_CLEAR(index);
        PyObject *args[] = {x, key};
        r = ours(item_slow[GETITEM], bytes, args, 2, NULL);
    }
    if (site != NULL) {
        double started = seconds_now();
        r = result(item_by(whole, index), x, NULL);
        took(site, started);
    }
    Py_XDECREF(whole);
    Py_XDECREF(index);
    return r;
}

/* Say whether a value that is written has so many elements that NumPy lets go of the interpreter. */
static int
takes_long(PyObject *value)
{
    PyObject *seen = IS_ARRAY(value) ? small_of(value) : value;
    return seen != NULL && IS_NUMPYS(seen) &&
           PyArray_SIZE((PyArrayObject *)seen) > WRITTEN_AT_ONCE;
}

/* Write a little to computed memory that nobody reads later: 1 if it was done, 0 where Python has to
   look, -1 with an error. */
static int
set_seen(Handle *x, PyObject *key, PyObject *value)
{
    if (x->readonly != Py_False || !is_basic(key) || is_watched(x->buf)) {
        return 0;
    }
    int done = 0;
    is_made_now(x->buf, 1);
    for (int has_lock = takes_long(value); done == 0 && has_lock < 2; has_lock++) {
        PyObject *lock = has_lock ? locked(x->buf) : NULL, *plain = NULL;
        PyObject *memory = has_lock && lock == NULL ? NULL : computed(x->buf);
        PyObject *whole = memory == NULL ? NULL : shown_of(x, memory);
        Py_XDECREF(memory);
        if (whole != NULL && may_be_written(x->buf)) {
            plain = has_lock ? lying_here(value) : at_hand(value);
        }
        if (plain == NULL && !has_lock && whole != NULL && IS_ARRAY(value)) {
            Py_DECREF(whole);
            continue; /* a large one takes the lock */
        }
        if (plain != NULL) {
            done = set_region(whole, key, plain, has_lock);
        }
        else {
            has_lock = 2; /* the lock would not help */
        }
        Py_XDECREF(whole);
        Py_XDECREF(plain);
        if (lock != NULL) {
            unlock(lock);
        }
        if (PyErr_Occurred()) {
            done = -1;
        }
    }
    return done;
}

/* The item that a key has which is no scalar of NumPy's, and in which none is: see elements.c. */
PyObject *
item_by_key(PyObject *x, PyObject *key)
{
    if (loop_waits && !is_below(x) && is_basic(key) && is_region(key) && !views_wait(x) &&
        PyErr_Occurred()) {
        return NULL;
    }
    PyObject *a = small_of(x);
    if (LIKELY(a != NULL)) {
        if (LIKELY(is_basic(key))) { /* an element, or a view */
            PyObject *r = item_of(a, key);
            return r == NULL || !IS_NUMPYS(r) ? r : new_handle(r, x);
        }
        PyObject *plain = plain_key(key);
        if (plain != NULL) {
            PyObject *index = plain_tuple(key);
            Py_INCREF(a);
            PyObject *r = IS_NUMPYS(plain) ? taken_by(a, plain) : NULL;
            if (r == NULL && !PyErr_Occurred()) {
                r = item_by(a, index == NULL ? plain : index);
            }
            Py_DECREF(a);
            Py_XDECREF(index);
            if (r == NULL || !IS_NUMPYS(r)) {
                return r;
            }
            int is_view = plain == key && !PyList_CheckExact(key) && !IS_NUMPYS(key);
            return new_handle(r, is_view ? x : NULL);
        }
        PyObject *found = PyUnicode_CheckExact(key) ? named_field(x, a, key)
                                                    : picked(x, key); /* by a large index */
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    else {
        PyObject *found = seen_item((Handle *)x, key);
        if (found == NULL && !PyErr_Occurred()) {
            found = picked(x, key);
        }
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return call_slow(item_slow[GETITEM], x, key);
}

int
set_by_key(PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *a = small_of(x);
    if (LIKELY(a != NULL && value != NULL)) {
        PyObject *plain = is_immediate(value) || IS_NUMPYS(value) ? value : NULL;
        if (plain == NULL && IS_ARRAY(value) &&
            PyArray_DESCR((PyArrayObject *)a)->kind != 'O') {
            plain = small_of(value);
        }
        if (LIKELY(plain != NULL && (is_basic(key) || is_name_in(a, key)))) {
            return put_item(a, key, plain);
        }
        PyObject *index = plain == NULL ? NULL : plain_key(key);
        if (index != NULL) {
            PyObject *made = plain_tuple(key);
            Py_INCREF(a);
            Py_INCREF(plain);
            int done = IS_NUMPYS(index) && put_by_mask(a, index, plain)
                           ? 0
                           : PyObject_SetItem(a, made == NULL ? index : made, plain);
            Py_DECREF(a);
            Py_DECREF(plain);
            Py_XDECREF(made);
            return done;
        }
    }
    else if (value != NULL) {
        int done = set_seen((Handle *)x, key, value);
        done = done == 0 ? set_picked(x, key, value) : done;
        if (done != 0) {
            return done < 0 ? -1 : 0;
        }
    }
    PyObject *args[] = {x, key, value};
    PyObject *r = value == NULL ? PyObject_Vectorcall(item_slow[DELITEM], args, 2, NULL)
                                : PyObject_Vectorcall(item_slow[SETITEM], args, 3, NULL);
    Py_XDECREF(r);
    return r == NULL ? -1 : 0;
}

Py_ssize_t
mp_length(PyObject *x)
{
    PyObject *a = small_of(x);
    if (LIKELY(a != NULL && PyArray_NDIM((PyArrayObject *)a) > 0)) {
        return PyArray_DIM((PyArrayObject *)a, 0);
    }
    static PyObject *shape_name;
    PyObject *shape = a != NULL ? NULL : managed_fact((Handle *)x, intern(&shape_name, "shape"));
    Py_ssize_t found = -1;
    if (shape != NULL && PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape) > 0) {
        found = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0));
    }
    else if (!PyErr_Occurred()) {
        PyObject *r = call_slow(item_slow[LEN], x, NULL);
        found = r == NULL ? -1 : PyLong_AsSsize_t(r);
        Py_XDECREF(r);
    }
    Py_XDECREF(shape);
    return found;
}

/* NumPy's own iterators: over the elements of one axis, and over what this array has as items. */
PyObject *
handle_iterator(PyObject *x)
{
    static PyObject *shape_name;
    PyObject *a = small_of(x);
    if (a == NULL) {
        PyObject *shape = managed_fact((Handle *)x, intern(&shape_name, "shape"));
        int rows = shape != NULL && PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape) > 1;
        Py_XDECREF(shape);
        PyErr_Clear();
        return rows ? PySeqIter_New(x) : call_slow(item_slow[ITER], x, NULL);
    }
    if (PyArray_NDIM((PyArrayObject *)a) == 0) {
        return call_slow(item_slow[ITER], x, NULL);
    }
    return PyArray_NDIM((PyArrayObject *)a) == 1 ? PyObject_GetIter(a) : PySeqIter_New(x);
}

static PyObject *
sq_item(PyObject *x, Py_ssize_t k)
{
    PyObject *a = small_of(x);
    if (a != NULL && k >= 0) {
        PyObject *r = PySequence_GetItem(a, k);
        return r != NULL && IS_NUMPYS(r) ? new_handle(r, x) : r;
    }
    PyObject *key = PyLong_FromSsize_t(k);
    PyObject *found = key == NULL ? NULL : item_by_key(x, key);
    Py_XDECREF(key);
    return found;
}

static int
sq_ass_item(PyObject *x, Py_ssize_t k, PyObject *value)
{
    PyObject *key = PyLong_FromSsize_t(k);
    int done = key == NULL ? -1 : set_by_key(x, key, value);
    Py_XDECREF(key);
    return done;
}

PySequenceMethods handle_as_sequence = {
    .sq_length = mp_length,
    .sq_item = sq_item,
    .sq_ass_item = sq_ass_item,
};
