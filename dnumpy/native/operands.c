/* What an array or a scalar is as an operand of what is recorded, and what follows for a result. */

#include "record.h"

/* Say whether no axis of a view has larger strides than one before it: api/layout.py, too. */
static int
descends(PyObject *shape, PyObject *strides)
{
    long long last = -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(shape); k++) {
        long long n = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, k));
        long long step = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, k));
        if (n == 0) {
            return 0; /* Python looks at what is empty */
        }
        if (n > 1 && step != 0) {
            step = step < 0 ? -step : step;
            if (last >= 0 && step > last) {
                return 0;
            }
            last = step;
        }
    }
    return !PyErr_Occurred();
}

int
is_managed_dtype(PyObject *dtype)
{
    PyArray_Descr *descr = (PyArray_Descr *)dtype;
    return strchr("biufc", descr->kind) != NULL && PyDataType_ISNOTSWAPPED(descr) &&
           PyDataType_METADATA(descr) == NULL;
}

/* Let the collector of cycles pass by what can be part of none: parameters may have functions, which
   may have anything, but an operation without that, on such operands and computed ones, has none. A
   program records so many that looking through them would take longer than recording them. */
void
untrack(PyObject *expr)
{
    Node *node = (Node *)expr;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(node->args); k++) {
        PyObject *arg = PyTuple_GET_ITEM(node->args, k);
        if (IS_EXPR(arg) && IS_PENDING((Node *)arg) && PyObject_GC_IsTracked(arg)) {
            return;
        }
    }
    PyObject_GC_UnTrack(node->args);
    PyObject_GC_UnTrack(expr);
}

/* The Expr of an array's Buffer that nobody else sees the memory of, borrowed; NULL where Python has to
   look. */
static PyObject *
expr_alone(Handle *handle)
{
    PyObject *buffer = handle->buf;
    if (handle->np != Py_None || buffer == NULL || Py_TYPE(buffer) != told.buffer_type ||
        *place_of(buffer, told.buffer.foreign) != Py_False ||
        *place_of(buffer, told.buffer.export) != Py_None) {
        return NULL;
    }
    PyObject *expr = *place_of(buffer, told.buffer.expr);
    return expr != NULL && IS_EXPR(expr) ? expr : NULL;
}

/* What an array shows now, new; NULL without an error where Python has to look. */
static PyObject *
content(PyObject *x)
{
    static PyObject *geometry_name;
    Handle *handle = (Handle *)x;
    PyObject *expr = expr_alone(handle);
    if (expr == NULL || handle->place == NULL) {
        return NULL;
    }
    Node *node = (Node *)expr;
    if (handle->place == Py_None) {
        if (node->op == world.full && (!IS_PENDING(node) || node->owner == Py_None)) {
            PyObject *none = PyTuple_New(0); /* each reader makes its own */
            PyObject *made = none == NULL ? NULL
                                          : new_expr(node->op, none, node->params, node->shape,
                                                     node->dtype);
            Py_XDECREF(none);
            return made;
        }
        return Py_NewRef(expr);
    }
    if ((IS_PENDING(node) && node->owner == Py_None) || setting(world.memory_limit_at) != 0) {
        return NULL;
    }
    PyObject *place = handle->place == world.as_seen
                          ? PyObject_GetAttr(x, intern(&geometry_name, "_geo"))
                          : Py_NewRef(handle->place);
    PyObject *view = NULL;
    if (place != NULL && PyTuple_Check(place) && PyTuple_GET_SIZE(place) == 4) {
        PyObject *shape = PyTuple_GET_ITEM(place, 1), *dtype = PyTuple_GET_ITEM(place, 3);
        if (descends(shape, PyTuple_GET_ITEM(place, 2)) && is_managed_dtype(dtype) &&
            (IS_PENDING(node) ||
             elements_of(shape) >= (recording_between ? least_between
                                                      : setting(world.eager_below_at)))) {
            PyObject *args = PyTuple_Pack(1, expr);
            view = args == NULL ? NULL : make_expr(told.view, args, place, shape, dtype);
            Py_XDECREF(args);
            if (view != NULL) {
                untrack(view);
            }
        }
    }
    Py_XDECREF(place);
    return view;
}

/* Whether an argument is a plain value, an array that waits (or is large), or one that lies here and is
   little: arrays that nobody else sees the memory of. */
int
kind_of_argument(PyObject *x)
{
    if (is_plain(world.plain, x)) {
        return IS_PLAIN;
    }
    PyObject *expr = IS_ARRAY(x) ? expr_alone((Handle *)x) : NULL;
    if (expr == NULL) {
        return TO_BE_LOOKED_AT;
    }
    Node *node = (Node *)expr;
    if (IS_PENDING(node)) {
        return node->owner == Py_None ? TO_BE_LOOKED_AT : WAITS;
    }
    int is_large = IS_NUMPYS(node->value) && ((Handle *)x)->place == Py_None &&
                   !runs_at_once(node->value);
    is_large |= IS_NUMPYS(node->value) && counts_between(node->shape, node->dtype);
    return is_large ? WAITS : IS_NUMPYS(node->value) ? LIES_HERE : TO_BE_LOOKED_AT;
}

/* Whether a call is to be recorded: some of its arguments wait, and no other asks for a look. */
PyObject *
all_wait(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    if (count != 2 || !PyTuple_Check(given[0]) || !PyDict_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "expected arguments by position and by name");
        return NULL;
    }
    int some = 0, none = told.buffer_type == NULL;
    for (Py_ssize_t k = 0; !none && k < PyTuple_GET_SIZE(given[0]); k++) {
        int kind = kind_of_argument(PyTuple_GET_ITEM(given[0], k));
        none = kind == TO_BE_LOOKED_AT;
        some |= kind == WAITS;
    }
    PyObject *name, *x;
    Py_ssize_t at = 0;
    while (some && !none && PyDict_Next(given[1], &at, &name, &x)) {
        none = !is_plain(world.plain, x);
    }
    return PyErr_Occurred() ? NULL : PyBool_FromLong(some && !none);
}

/* A leaf, new, over memory in C order that nobody else writes to. */
PyObject *
stored(PyObject *memory)
{
    PyArrayObject *array = (PyArrayObject *)memory;
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
    PyObject *none = shape == NULL ? NULL : PyTuple_New(0), *made = NULL;
    if (none != NULL) {
        made = new_expr(told.leaf, none, none, shape, (PyObject *)PyArray_DESCR(array));
    }
    if (made != NULL) {
        Py_SETREF(((Node *)made)->value, Py_NewRef(memory));
        PyObject_GC_UnTrack(made);
    }
    Py_XDECREF(shape);
    Py_XDECREF(none);
    return made;
}

/* What a small array shows now, copied, new; NULL without an error where Python has to look. */
static PyObject *
leaf_of(PyObject *np)
{
    PyArrayObject *array = (PyArrayObject *)np;
    if (!IS_NUMPYS(np) || !is_managed_dtype((PyObject *)PyArray_DESCR(array)) ||
        PyArray_SIZE(array) == 0) {
        return NULL;
    }
    npy_intp last = -1;
    for (int k = 0; k < PyArray_NDIM(array); k++) { /* as `descends` says */
        npy_intp step = PyArray_STRIDE(array, k) < 0 ? -PyArray_STRIDE(array, k)
                                                     : PyArray_STRIDE(array, k);
        if (PyArray_DIM(array, k) > 1 && step != 0) {
            if (last >= 0 && step > last) {
                return NULL;
            }
            last = step;
        }
    }
    PyObject *copy = PyArray_NewCopy(array, NPY_CORDER);
    PyObject *made = copy == NULL ? NULL : stored(copy);
    Py_XDECREF(copy);
    return made;
}

/* The operand that a scalar is, new, and what the result's dtype depends on of it; NULL without an
   error where Python has to look. */
static PyObject *
scalar(PyObject *x, PyObject **kind)
{
    PyObject *type = (PyObject *)Py_TYPE(x), *found = NULL;
    int is_safe = 1;
    if (PyLong_CheckExact(x)) {
        int beyond;
        long value = PyLong_AsLongAndOverflow(x, &beyond);
        is_safe = !beyond && value >= 0 && value <= SAFE_INT;
    }
    else if (!holds_type(told.scalars, x)) {
        return NULL;
    }
    PyObject *key = PyTuple_Pack(2, type, x);
    PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(told.constants, key);
    if (known != NULL && PyObject_IsTrue(x) == 1) {
        found = Py_NewRef(known);
    }
    else if (!PyErr_Occurred()) {
        found = PyObject_CallOneArg(told.constant, x);
    }
    *kind = found == NULL ? NULL : Py_NewRef(is_safe ? type : key);
    Py_XDECREF(key);
    return found;
}

/* An operand, new, and what the result's dtype depends on of it. */
PyObject *
operand(PyObject *x, PyObject **kind)
{
    if (!IS_ARRAY(x)) {
        return scalar(x, kind);
    }
    PyObject *small = small_of(x), *found = small == NULL ? content(x) : leaf_of(small);
    if (found != NULL) {
        *kind = PyLong_FromLong(((PyArray_Descr *)((Node *)found)->dtype)->type_num);
    }
    return found;
}

/* The shape of two broadcast together, new; NULL without an error where they do not fit. */
PyObject *
broadcast(PyObject *a, PyObject *b)
{
    Py_ssize_t m = PyTuple_GET_SIZE(a), n = PyTuple_GET_SIZE(b), axes = m > n ? m : n;
    if (a == b) {
        return Py_NewRef(a);
    }
    PyObject *found = PyTuple_New(axes);
    int like_a = m == axes, like_b = n == axes;
    for (Py_ssize_t k = 1; found != NULL && k <= axes; k++) {
        PyObject *one = k <= m ? PyTuple_GET_ITEM(a, m - k) : NULL;
        PyObject *other = k <= n ? PyTuple_GET_ITEM(b, n - k) : NULL;
        Py_ssize_t p = one == NULL ? 1 : PyLong_AsSsize_t(one);
        Py_ssize_t q = other == NULL ? 1 : PyLong_AsSsize_t(other);
        PyObject *taken = one == NULL || (p == 1 && other != NULL) ? other : one;
        if (p != q && p != 1 && q != 1) {
            Py_CLEAR(found);
            break;
        }
        like_a = like_a && (p == q || q == 1);
        like_b = like_b && (p == q || p == 1);
        PyTuple_SET_ITEM(found, axes - k, Py_NewRef(taken));
    }
    if (found != NULL && (like_a || like_b)) { /* the very object: it is compared by identity first */
        Py_SETREF(found, Py_NewRef(like_a ? a : b));
    }
    return found;
}

/* The dtype of a result, new; NULL without an error where Python has to look. */
PyObject *
dtype_of(PyObject *row, PyObject *const *kinds, PyObject *first, PyObject *second)
{
    PyObject *key = second == NULL ? PyTuple_Pack(2, row, kinds[0])
                                   : PyTuple_Pack(3, row, kinds[0], kinds[1]);
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(told.results, key);
    Py_XINCREF(found);
    if (found == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *operands = second == NULL ? Py_BuildValue("[O]", first)
                                            : Py_BuildValue("[OO]", first, second);
        PyObject *args[] = {row, key, operands};
        found = operands == NULL ? NULL : PyObject_Vectorcall(told.ask, args, 3, NULL);
        Py_XDECREF(operands);
        if (found == Py_None) {
            Py_CLEAR(found);
        }
    }
    Py_XDECREF(key);
    PyErr_Clear(); /* what NumPy refuses is refused again, in Python */
    return found;
}
