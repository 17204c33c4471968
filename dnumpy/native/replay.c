/* Calls that record again what they recorded before: see dnumpy.api.replays.

   What a function records follows, for the functions that Python names, from what its arguments are
   like: the shapes and dtypes of arrays, and plain values. A second such call shows what that is, and
   the ones after it record the same operations on their own arrays without asking anything again. */

#include "record.h"

#define MOST_STEPS 32
#define MOST_TEMPLATES 4096

enum { STEP_OP, STEP_PARAMS, STEP_SHAPE, STEP_DTYPE, STEP_ARGS, STEP_FLAGS, STEP_TOLD };
enum { IS_INTERNED = 1, HAS_ORIGIN = 2, IS_UNTRACKED = 4 };

/* What a call is like -> None if it was met once, a tuple of steps, or False if it has none. */
static PyObject *templates;
static long long settings_seen = -1;

/* The operands of a call, new, and how many there are. */
typedef struct {
    PyObject *of[MOST_ARGUMENTS];
    Py_ssize_t count;
} Operands;

static void
drop(Operands *operands)
{
    while (operands->count > 0) {
        Py_DECREF(operands->of[--operands->count]);
    }
}

/* What an array is like, new, while its Expr is kept; NULL without an error where Python has to look. */
static PyObject *
likeness_of_array(PyObject *x, Operands *operands)
{
    PyObject *kind = NULL, *expr = small_of(x) == NULL ? operand(x, &kind) : NULL;
    Node *node = (Node *)expr;
    if (expr == NULL || node->op == world.full) {
        Py_XDECREF(expr);
        Py_XDECREF(kind);
        return NULL;
    }
    Py_ssize_t same = 0;
    while (same < operands->count && operands->of[same] != expr) {
        same++;
    }
    int is_view = node->op == told.view;
    PyObject *strides = is_view ? PyTuple_GET_ITEM(node->params, 2) : Py_None;
    PyObject *op = PyLong_FromVoidPtr(node->op);
    PyObject *numbers = op == NULL ? NULL : Py_BuildValue("nNi", same, op, IS_PENDING(node));
    PyObject *found = numbers == NULL ? NULL : PyTuple_Pack(4, node->shape, kind, strides, numbers);
    Py_XDECREF(numbers);
    Py_DECREF(kind);
    operands->of[operands->count++] = expr;
    return found;
}

/* What a plain value is, new, with its type and its bits where equal ones differ. */
static PyObject *
likeness_of_value(PyObject *x)
{
    if (x == Py_None || PyLong_CheckExact(x) || PyUnicode_CheckExact(x) || PyType_Check(x)) {
        return Py_NewRef(x);
    }
    if (PyTuple_CheckExact(x)) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(x); k++) {
            if (!PyLong_CheckExact(PyTuple_GET_ITEM(x, k))) {
                return NULL;
            }
        }
        return Py_NewRef(x);
    }
    PyObject *part = NULL;
    if (PyBool_Check(x)) {
        part = Py_NewRef(x);
    }
    else if (PyFloat_CheckExact(x)) {
        double value = PyFloat_AS_DOUBLE(x);
        part = PyBytes_FromStringAndSize((char *)&value, sizeof value);
    }
    else if (PyArray_DescrCheck(x)) {
        part = PyLong_FromVoidPtr(x);
        PyObject *found = part == NULL ? NULL : PyTuple_Pack(2, part, x); /* which keeps it alive */
        Py_XDECREF(part);
        return found;
    }
    else if (PyArray_IsScalar(x, Integer) || PyArray_IsScalar(x, Floating) ||
             PyArray_IsScalar(x, Bool)) {
        part = PyObject_CallMethod(x, "tobytes", NULL);
    }
    PyObject *found = part == NULL ? NULL : PyTuple_Pack(2, (PyObject *)Py_TYPE(x), part);
    Py_XDECREF(part);
    return found;
}

/* What a call is like, new, and its operands; NULL without an error where nothing can be said. */
static PyObject *
likeness(PyObject *ours, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
         Operands *operands)
{
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    operands->count = 0;
    int waits = 0;
    if (told.buffer_type == NULL || total > MOST_ARGUMENTS || PyDict_GET_SIZE(told.lent) > 0) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < total; k++) {
        int kind = kind_of_argument(args[k]);
        if (kind == TO_BE_LOOKED_AT) {
            return NULL;
        }
        waits |= kind == WAITS;
    }
    PyObject *key = waits ? PyTuple_New(total + 3) : NULL;
    if (key == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(key, 0, Py_NewRef(ours));
    PyTuple_SET_ITEM(key, 1, PyLong_FromSsize_t(count));
    PyTuple_SET_ITEM(key, 2, Py_NewRef(kwnames == NULL ? Py_None : kwnames));
    for (Py_ssize_t k = 0; k < total; k++) {
        PyObject *part = IS_ARRAY(args[k]) ? likeness_of_array(args[k], operands)
                                           : likeness_of_value(args[k]);
        if (part == NULL) {
            Py_CLEAR(key);
            drop(operands);
            return NULL;
        }
        PyTuple_SET_ITEM(key, k + 3, part);
    }
    return key;
}

/* What is known of such a call, borrowed; NULL if that is nothing, and all is forgotten where a
   setting has changed since. */
static PyObject *
known_of(PyObject *key)
{
    long long now = PyLong_AsLongLong(*place_of(world.config, told.changes));
    if (now != settings_seen || PyDict_GET_SIZE(templates) >= MOST_TEMPLATES) {
        PyDict_Clear(templates);
        settings_seen = now;
    }
    return PyDict_GetItemWithError(templates, key);
}

/* The place with the errors and the name of a step, new; both are None where they are the place's. */
static PyObject *
told_otherwise(PyObject *origin, PyObject *told_as)
{
    PyObject *errors = PyTuple_GET_ITEM(told_as, 0), *name = PyTuple_GET_ITEM(told_as, 1);
    if (errors == Py_None && name == Py_None) {
        return Py_NewRef(origin);
    }
    Py_ssize_t fields = PyTuple_GET_SIZE(origin);
    PyObject *made = Py_TYPE(origin)->tp_alloc(Py_TYPE(origin), fields);
    for (Py_ssize_t k = 0; made != NULL && k < fields; k++) {
        PyObject *item = PyTuple_GET_ITEM(origin, k);
        item = k == ERRORS_OF_ORIGIN && errors != Py_None ? errors : item;
        item = k == NAME_OF_ORIGIN && name != Py_None ? name : item;
        PyTuple_SET_ITEM(made, k, Py_NewRef(item));
    }
    return made;
}

/* An operation of a template on operands and on what steps before it made, new; NULL without an error
   where somebody recorded the same, and may hold it. */
static PyObject *
step_again(PyObject *step, PyObject *const *made, PyObject *origin)
{
    PyObject *refs = PyTuple_GET_ITEM(step, STEP_ARGS);
    long flags = PyLong_AsLong(PyTuple_GET_ITEM(step, STEP_FLAGS));
    PyObject *args = PyTuple_New(PyTuple_GET_SIZE(refs));
    if (args == NULL) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(refs); k++) {
        PyObject *ref = PyTuple_GET_ITEM(refs, k);
        PyTuple_SET_ITEM(args, k, Py_NewRef(PyLong_CheckExact(ref) ? made[PyLong_AsSsize_t(ref)] : ref));
    }
    PyObject *expr = (flags & IS_INTERNED ? make_expr : new_expr)(
        PyTuple_GET_ITEM(step, STEP_OP), args, PyTuple_GET_ITEM(step, STEP_PARAMS),
        PyTuple_GET_ITEM(step, STEP_SHAPE), PyTuple_GET_ITEM(step, STEP_DTYPE));
    Py_DECREF(args);
    if (expr == NULL || !(flags & HAS_ORIGIN)) {
        return expr;
    }
    Node *node = (Node *)expr;
    if (node->origin != Py_None || !IS_PENDING(node)) {
        Py_DECREF(expr);
        return NULL;
    }
    PyObject *place = told_otherwise(origin, PyTuple_GET_ITEM(step, STEP_TOLD));
    if (place == NULL) {
        Py_DECREF(expr);
        return NULL;
    }
    Py_SETREF(node->origin, place);
    if (flags & IS_UNTRACKED) {
        untrack(expr);
    }
    return expr;
}

/* Say whether what is recorded now is told of under a name. */
static int
is_named(void)
{
    static PyObject *name;
    PyObject *told_as = PyObject_GetAttr(told.naming, intern(&name, "name"));
    int is_so = told_as == NULL || PyObject_IsTrue(told_as);
    Py_XDECREF(told_as);
    return is_so;
}

/* What a call gives that is like one before, new; NULL without an error where Python has to record, and
   with one where what was pending had to be computed, and could not. */
PyObject *
replayed(PyObject *ours, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Operands operands;
    PyObject *key = ours == NULL || ours == Py_None
                        ? NULL
                        : likeness(ours, args, count, kwnames, &operands);
    if (key == NULL) {
        PyErr_Clear(); /* Python says what is wrong */
        return NULL;
    }
    PyObject *template = Py_XNewRef(known_of(key)), *origin = NULL, *r = NULL;
    int is_recorded = 0;
    if (template != NULL && PyTuple_Check(template) && !is_named() &&
        (origin = origin_of_line()) != NULL &&
        numpys_race(PyTuple_GET_ITEM(origin, SITE_OF_ORIGIN)) == NULL) {
        Py_ssize_t steps = PyTuple_GET_SIZE(template), last = operands.count + steps, k;
        PyObject *made[MOST_ARGUMENTS + MOST_STEPS];
        for (k = 0; k < operands.count; k++) {
            made[k] = operands.of[k];
        }
        for (; k < last; k++) {
            made[k] = step_again(PyTuple_GET_ITEM(template, k - operands.count), made, origin);
            if (made[k] == NULL) {
                break;
            }
        }
        is_recorded = k == last && ((Node *)made[last - 1])->owner == Py_None;
        if (is_recorded) {
            int axes = (int)PyTuple_GET_SIZE(((Node *)made[last - 1])->shape);
            r = (axes > 0 ? handle_of : scalar_of)(made[last - 1]);
        }
        while (k-- > operands.count) {
            Py_DECREF(made[k]);
        }
    }
    if (!is_recorded) {
        PyErr_Clear(); /* Python says what is wrong */
    }
    Py_XDECREF(template);
    Py_XDECREF(origin);
    Py_DECREF(key);
    drop(&operands);
    return r;
}

/* ---------------------------------------------------------------- learning */

typedef struct {
    Operands *operands;
    PyObject *nodes[MOST_STEPS];
    PyObject *steps; /* a list */
    PyObject *origin;
    int views; /* whether an operand is one */
} Learnt;

/* Say whether parameters have nothing by which they could be part of a cycle. */
static int
are_plain(PyObject *params)
{
    if (!PyTuple_Check(params)) {
        return !PyObject_IS_GC(params) || PyType_Check(params) || PyArray_DescrCheck(params);
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(params); k++) {
        if (!are_plain(PyTuple_GET_ITEM(params, k))) {
            return 0;
        }
    }
    return 1;
}

/* Say whether faults of every kind are ignored. */
static int
ignores_all(PyObject *errors)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(errors); k++) {
        PyObject *how = PyTuple_GET_ITEM(PyTuple_GET_ITEM(errors, k), 1);
        if (PyUnicode_CompareWithASCIIString(how, "ignore") != 0) {
            return 0;
        }
    }
    return 1;
}

/* How a place differs from the line's, new: errors that are all ignored, and the name; None if it is
   another place. */
static PyObject *
differences(PyObject *place, PyObject *line)
{
    PyObject *found[2] = {Py_None, Py_None};
    int is_same = Py_TYPE(place) == Py_TYPE(line);
    for (Py_ssize_t k = 0; is_same && k < PyTuple_GET_SIZE(line); k++) {
        PyObject *item = PyTuple_GET_ITEM(place, k);
        if (item == PyTuple_GET_ITEM(line, k) || k == SITE_OF_ORIGIN) {
            continue; /* a line of NumPy's Python is a place of its own, of the same line */
        }
        if (k == NAME_OF_ORIGIN) {
            found[1] = item;
        }
        else if (k == ERRORS_OF_ORIGIN && ignores_all(item)) {
            found[0] = item;
        }
        else {
            is_same = PyObject_RichCompareBool(item, PyTuple_GET_ITEM(line, k), Py_EQ) == 1;
        }
    }
    return is_same ? PyTuple_Pack(2, found[0], found[1]) : Py_NewRef(Py_None);
}

/* The number of an Expr among operands and steps, noted with all that it reads; -1 where it cannot be
   recorded again, maybe with an error. */
static Py_ssize_t
number_of(Learnt *learnt, PyObject *expr)
{
    Node *node = (Node *)expr;
    for (Py_ssize_t k = 0; k < learnt->operands->count; k++) {
        if (learnt->operands->of[k] == expr) {
            return k;
        }
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(learnt->steps); k++) {
        if (learnt->nodes[k] == expr) {
            return learnt->operands->count + k;
        }
    }
    int is_view = node->op == told.view;
    if (!IS_PENDING(node) || PyTuple_GET_SIZE(node->args) == 0 || elements_of(node->shape) == 0 ||
        (is_view ? learnt->views : node->origin == Py_None)) {
        return -1; /* a view of a view's base begins where the likeness of a call does not tell */
    }
    PyObject *told_as = node->origin == Py_None ? Py_NewRef(Py_None)
                                                : differences(node->origin, learnt->origin);
    int is_recorded = told_as != NULL && told_as != Py_None;
    PyObject *refs = is_recorded || (told_as != NULL && node->origin == Py_None)
                         ? PyTuple_New(PyTuple_GET_SIZE(node->args))
                         : NULL;
    for (Py_ssize_t k = 0; refs != NULL && k < PyTuple_GET_SIZE(node->args); k++) {
        PyObject *arg = PyTuple_GET_ITEM(node->args, k), *ref = NULL;
        if (!IS_EXPR(arg)) {
            ref = Py_NewRef(arg);
        }
        else {
            Py_ssize_t number = number_of(learnt, arg);
            ref = number < 0 ? NULL : PyLong_FromSsize_t(number);
        }
        if (ref == NULL) {
            Py_CLEAR(refs);
            break;
        }
        PyTuple_SET_ITEM(refs, k, ref);
    }
    Py_ssize_t at = PyList_GET_SIZE(learnt->steps);
    if (refs == NULL || at >= MOST_STEPS) {
        Py_XDECREF(refs);
        Py_XDECREF(told_as);
        return -1;
    }
    long flags = (node->is_interned ? IS_INTERNED : 0) | (is_recorded ? HAS_ORIGIN : 0) |
                 (are_plain(node->params) ? IS_UNTRACKED : 0);
    PyObject *step = Py_BuildValue("OOOONlN", node->op, node->params, node->shape, node->dtype, refs,
                                   flags, told_as);
    int noted = step == NULL ? -1 : PyList_Append(learnt->steps, step);
    Py_XDECREF(step);
    learnt->nodes[at] = expr;
    return noted < 0 ? -1 : learnt->operands->count + at;
}

/* The Expr that a scalar waits for, borrowed; NULL if it does not, or another one has it, too. */
static PyObject *
awaited_by_scalar(PyObject *result)
{
    PyObject *expr = *place_of(result, told.deferred.expr);
    if (expr == NULL || !IS_EXPR(expr) || !IS_PENDING((Node *)expr)) {
        return NULL;
    }
    PyObject *owner = ((Node *)expr)->owner == Py_None ? NULL : referred(((Node *)expr)->owner);
    Py_XDECREF(owner);
    return owner == result ? expr : NULL;
}

/* The Expr that a result waits for, borrowed; NULL for anything but a new array of its own, or a new
   scalar. */
static PyObject *
waits_alone(PyObject *result)
{
    if (Py_TYPE(result) == told.deferred.type) {
        return awaited_by_scalar(result);
    }
    if (!IS_ARRAY(result)) {
        return NULL;
    }
    Handle *handle = (Handle *)result;
    if (handle->np != Py_None || handle->base != Py_None || handle->readonly != Py_False ||
        handle->place != Py_None || handle->buf == NULL || Py_TYPE(handle->buf) != told.buffer_type) {
        return NULL;
    }
    PyObject *expr = *place_of(handle->buf, told.buffer.expr);
    int is_new = expr != NULL && IS_EXPR(expr) && IS_PENDING((Node *)expr) &&
                 ((Node *)expr)->owner != Py_None && PyTuple_GET_SIZE(((Node *)expr)->shape) > 0 &&
                 *place_of(handle->buf, told.buffer.foreign) == Py_False;
    return is_new ? expr : NULL;
}

/* Say whether numbers lose their imaginary parts, of which NumPy warns each time. */
static int
discards(const Operands *operands, PyObject *expr)
{
    int is_complex = 0;
    for (Py_ssize_t k = 0; k < operands->count; k++) {
        PyObject *dtype = ((Node *)operands->of[k])->dtype;
        is_complex |= ((PyArray_Descr *)dtype)->kind == 'c';
    }
    return is_complex && ((PyArray_Descr *)((Node *)expr)->dtype)->kind != 'c';
}

/* The steps that make what a call gave, a new tuple; False if there are none, None if another call may
   show them. */
static PyObject *
template_of(Operands *operands, PyObject *result)
{
    PyObject *expr = waits_alone(result);
    if (expr == NULL || is_named() || discards(operands, expr)) {
        int is_view = IS_ARRAY(result) && ((Handle *)result)->place != Py_None;
        int is_none = is_view || result == Py_NotImplemented || PyTuple_Check(result);
        return Py_NewRef(is_none ? Py_False : Py_None); /* a number was computed, this time */
    }
    Learnt learnt = {.operands = operands, .origin = origin_of_line()};
    if (learnt.origin == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    for (Py_ssize_t k = 0; k < operands->count; k++) {
        learnt.views |= ((Node *)operands->of[k])->op == told.view;
    }
    PyObject *found = NULL;
    if ((learnt.steps = PyList_New(0)) != NULL) {
        Py_ssize_t number = number_of(&learnt, expr);
        int is_last = number >= operands->count &&
                      number == operands->count + PyList_GET_SIZE(learnt.steps) - 1;
        found = is_last ? PyList_AsTuple(learnt.steps) : NULL;
    }
    Py_XDECREF(learnt.steps);
    Py_XDECREF(learnt.origin);
    return found != NULL || PyErr_Occurred() ? found : Py_NewRef(Py_False);
}

/* Call a function that records, and learn what it makes of arguments that were met before. */
PyObject *
recorded_and_learnt(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,
                    PyObject *kwnames)
{
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "expected a function");
        return NULL;
    }
    Operands operands;
    PyObject *key = likeness(args[0], args + 1, count - 1, kwnames, &operands);
    PyErr_Clear(); /* Python says what is wrong */
    PyObject *known = key == NULL ? NULL : known_of(key);
    if (key != NULL && known == NULL && PyDict_SetItem(templates, key, Py_None) < 0) {
        PyErr_Clear();
    }
    PyObject *r = PyObject_Vectorcall(args[0], args + 1, count - 1, kwnames);
    if (known == Py_None && r != NULL) {
        PyObject *template = template_of(&operands, r);
        if (template == NULL || PyDict_SetItem(templates, key, template) < 0) {
            Py_CLEAR(r);
        }
        Py_XDECREF(template);
    }
    if (key != NULL) {
        Py_DECREF(key);
        drop(&operands);
    }
    return r;
}

/* How many templates there are, of which so many tell of steps. */
PyObject *
count_templates(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *key, *value;
    Py_ssize_t at = 0, steps = 0;
    while (PyDict_Next(templates, &at, &key, &value)) {
        steps += PyTuple_Check(value);
    }
    return Py_BuildValue("nn", PyDict_GET_SIZE(templates), steps);
}

int
prepare_templates(void)
{
    templates = PyDict_New();
    return templates == NULL ? -1 : 0;
}
