/* Operators of arrays that wait, recorded as dnumpy.api.quick records them, which has what is left.

   Nothing is recorded before everything that may stand against it has been looked at, so that Python
   can begin anew wherever this returns NULL without an error. */

#include "record.h"

Recorder told;

/* How a call that is being recorded is seen from outside. All borrowed. */
typedef struct {
    PyObject *errors; /* NumPy's error state */
    PyObject *watch;  /* the filters of warnings */
} Around;

/* What is known of the calling thread's error state, borrowed; NULL if that has to be asked for. */
static PyObject *
error_state(void)
{
    PyObject *token = NULL, *found = NULL;
    if (told.context == Py_None || PyContextVar_Get(told.context, NULL, &token) < 0) {
        PyErr_Clear();
        return NULL;
    }
    for (Py_ssize_t k = 0; token != NULL && k < PyList_GET_SIZE(told.states); k++) {
        PyObject *known = PyList_GET_ITEM(told.states, k);
        if (PyTuple_GET_ITEM(known, 0) == token) {
            found = PyTuple_GET_ITEM(known, 1);
            break;
        }
    }
    Py_XDECREF(token);
    return found;
}

/* How the program listens to warnings, if that is as it was at the last look, borrowed. */
static PyObject *
watch(void)
{
    static PyObject *filters_name, *impl_name, *show_name;
    if (PyList_GET_SIZE(told.sights) == 0) {
        return NULL;
    }
    PyObject *seen = PyList_GET_ITEM(told.sights, 0);
    PyObject *filters = PyDict_GetItem(told.warnings, intern(&filters_name, "filters"));
    if (filters != PyTuple_GET_ITEM(seen, 0) || !PyList_Check(filters) ||
        PyDict_GetItem(told.warnings, intern(&impl_name, "_showwarnmsg_impl")) !=
            PyTuple_GET_ITEM(seen, 4) ||
        PyDict_GetItem(told.warnings, intern(&show_name, "showwarning")) !=
            PyTuple_GET_ITEM(seen, 5)) {
        return NULL;
    }
    Py_ssize_t length = PyList_GET_SIZE(filters);
    Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(seen, 2));
    int same = length == PyLong_AsSsize_t(PyTuple_GET_ITEM(seen, 1)) &&
               (length == 0 || (number >= 0 && number < length &&
                                PyList_GET_ITEM(filters, number) == PyTuple_GET_ITEM(seen, 3)));
    return same ? PyTuple_GET_ITEM(seen, 6) : NULL;
}

/* Look around; 0 where faults are to be told of at once, or Python has to look. */
static int
look_around(Around *around)
{
    if (told.buffer_type == NULL ||
        PyUnicode_CompareWithASCIIString(*place_of(world.config, told.accuracy), "exact") != 0) {
        return 0;
    }
    around->errors = error_state();
    around->watch = around->errors == NULL ? NULL : watch();
    return around->watch != NULL && PyTuple_GET_ITEM(around->errors, 1) == Py_False &&
           PyTuple_GET_ITEM(around->watch, 2) == Py_False;
}

/* A place in the code that is running. */
typedef struct {
    PyCodeObject *code; /* counted; NULL for none */
    int instruction;
} Spot;

/* What is known of a place in the program, or of one in a library that was called from there,
   borrowed; NULL without an error if that is nothing. */
static PyObject *
known_at(const Spot *outer, const Spot *inner)
{
    PyObject *key = inner->code == NULL
                        ? Py_BuildValue("Ni", PyLong_FromVoidPtr(outer->code), outer->instruction)
                        : Py_BuildValue("NiNi", PyLong_FromVoidPtr(inner->code), inner->instruction,
                                        PyLong_FromVoidPtr(outer->code), outer->instruction);
    PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(told.sites, key);
    Py_XDECREF(key);
    PyErr_Clear();
    if (known == NULL) {
        return NULL;
    }
    const Spot *first = inner->code == NULL ? outer : inner;
    int is_its_own = PyTuple_GET_ITEM(known, 0) == (PyObject *)first->code &&
                     (inner->code == NULL || PyTuple_GET_ITEM(known, 4) == (PyObject *)outer->code);
    return is_its_own ? known : NULL;
}

/* What is known of the place that is running, borrowed: the user's, or that of NumPy's own Python for
   one of the user's; NULL without an error if that is nothing. */
static PyObject *
known_now(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Spot inner = {NULL, 0};
    PyObject *found = NULL;
    Py_XINCREF(frame);
    while (frame != NULL) {
        Spot spot = {PyFrame_GetCode(frame), PyFrame_GetLasti(frame)};
        found = known_at(&spot, &inner);
        PyObject *inside = found != NULL ? NULL : PyDict_GetItem(told.inside, spot.code->co_filename);
        if (inside == Py_True && inner.code == NULL) {
            inner = spot;
            Py_INCREF(inner.code);
        }
        Py_DECREF(spot.code);
        int goes_on = inside == Py_True || inside == Py_Ellipsis;
        PyFrameObject *above = goes_on ? PyFrame_GetBack(frame) : NULL;
        Py_DECREF(frame);
        frame = above;
    }
    Py_XDECREF(inner.code);
    return found;
}

/* The Site of the frame that is running, borrowed; NULL without an error if it has none. */
PyObject *
site_now(void)
{
    PyObject *known = told.buffer_type == NULL ? NULL : known_now();
    return known == NULL ? NULL : PyTuple_GET_ITEM(PyTuple_GET_ITEM(known, 3), SITE_OF_ORIGIN);
}

static int within_function; /* whether what is recorded is a step of something else */

/* The user's line that is running, new; NULL where it is not known yet, or wants each of its results
   by itself. */
static PyObject *
origin_now(const Around *around)
{
    PyObject *known = known_now(), *found = NULL;
    if (known != NULL && PyTuple_GET_ITEM(known, 1) == around->errors &&
        PyTuple_GET_ITEM(known, 2) == around->watch) {
        found = PyTuple_GET_ITEM(known, 3);
    }
    if (found != NULL && !recording_between && !within_function) {
        PyObject *site = PyTuple_GET_ITEM(found, SITE_OF_ORIGIN);
        PyObject *alone = *place_of(site, told.alone);
        if (alone == NULL || !PyLong_CheckExact(alone) || PyObject_IsTrue(alone)) {
            found = NULL;
        }
    }
    return Py_XNewRef(found);
}

/* The place that what is recorded now comes from, new; NULL without an error where Python has to look. */
PyObject *
origin_of_line(void)
{
    Around around;
    return look_around(&around) ? origin_now(&around) : NULL;
}

/* A pending Expr that nobody has yet, new; NULL without an error where Python has to look. If it is
   to be `like` a Buffer, it has the shape and dtype of its content. */
static PyObject *
recorded(PyObject *row, PyObject *x, PyObject *y, PyObject *like)
{
    Around around;
    PyObject *kinds[2] = {NULL, NULL}, *first = NULL, *second = NULL, *shape = NULL, *found = NULL;
    PyObject *dtype = NULL;
    int waits = (IS_ARRAY(x) && small_of(x) == NULL) ||
                (y != NULL && IS_ARRAY(y) && small_of(y) == NULL);
    if (!waits || !look_around(&around)) {
        return NULL;
    }
    PyObject *origin = origin_now(&around);
    first = origin == NULL ? NULL : operand(x, &kinds[0]);
    second = first == NULL || y == NULL ? NULL : operand(y, &kinds[1]);
    if (first != NULL && (y == NULL || second != NULL)) {
        dtype = dtype_of(row, kinds, first, second);
        if (dtype != NULL && second != NULL && IS_EXPR(first) && IS_EXPR(second)) {
            shape = broadcast(((Node *)first)->shape, ((Node *)second)->shape);
        }
        else if (dtype != NULL) {
            shape = Py_NewRef(((Node *)(IS_EXPR(first) ? first : second))->shape);
        }
        int fits = shape != NULL && PyTuple_GET_SIZE(shape) > 0;
        if (fits && like != NULL) {
            PyObject *wanted = *place_of(like, told.buffer.dtype);
            fits = ((PyArray_Descr *)wanted)->type_num == ((PyArray_Descr *)dtype)->type_num &&
                   PyObject_RichCompareBool(shape, *place_of(like, told.buffer.shape), Py_EQ) == 1;
        }
        PyObject *args = !fits            ? NULL
                         : second == NULL ? PyTuple_Pack(1, first)
                                          : PyTuple_Pack(2, first, second);
        PyObject *params = args == NULL ? NULL : PyTuple_New(0);
        found = params == NULL ? NULL : make_expr(row, args, params, shape, dtype);
        Py_XDECREF(args);
        Py_XDECREF(params);
    }
    if (found != NULL && ((Node *)found)->origin != Py_None) {
        Py_CLEAR(found); /* somebody recorded the same, and may hold it */
    }
    if (found != NULL) {
        Py_SETREF(((Node *)found)->origin, Py_NewRef(origin));
        untrack(found);
    }
    Py_XDECREF(origin);
    Py_XDECREF(dtype);
    Py_XDECREF(kinds[0]);
    Py_XDECREF(kinds[1]);
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(shape);
    return found;
}

static void
count_up(Py_ssize_t at, Py_ssize_t by)
{
    PyObject **place = place_of(told.window, at);
    long long now = PyLong_AsLongLong(*place);
    PyObject *sum = PyLong_FromLongLong(now + by);
    if (sum != NULL) {
        Py_SETREF(*place, sum);
    }
}

/* Count what was recorded for a Buffer, and compute what is pending if that is due; -1 with an
   error. */
static int
counted(PyObject *expr, PyObject *owner, PyObject *buffer)
{
    static PyObject *count_name;
    Node *node = (Node *)expr;
    Py_ssize_t size = elements_of(node->shape);
    int one_byte = PyDataType_ELSIZE((PyArray_Descr *)node->dtype) == 1;
    int is_little = waits_here() ? size <= told.less
                                 : size <= told.little || (one_byte && size < told.little_bytes);
    unsigned long thread = PyLong_AsUnsignedLong(*place_of(told.window, told.counts.thread));
    PyObject *key = PyLong_FromVoidPtr(buffer);
    int due = -1;
    if (key == NULL) {
        return -1;
    }
    is_little |= PyObject_IsTrue(*place_of(told.window, told.counts.at_once)) == 1;
    is_little &= PyTuple_GET_SIZE(node->shape) > 0; /* a scalar waits, whatever it takes */
    if (is_little || size > told.most || thread != PyThread_get_thread_ident()) {
        PyObject *args[] = {told.window, expr, owner, key};
        PyObject *r = PyObject_VectorcallMethod(intern(&count_name, "count"), args, 4, NULL);
        due = r == NULL ? -1 : PyObject_IsTrue(r);
        Py_XDECREF(r);
    }
    else if (PyDict_SetItem(*place_of(told.window, told.counts.owners), key, owner) == 0) {
        count_up(told.counts.exprs, 1);
        count_up(told.counts.elements, size);
        due = PyErr_Occurred() != NULL
                  ? -1
                  : PyLong_AsLongLong(*place_of(told.window, told.counts.exprs)) >=
                            setting(told.window_exprs) ||
                        PyLong_AsLongLong(*place_of(told.window, told.counts.elements)) >=
                            PyLong_AsLongLong(*place_of(told.window, told.counts.looked));
    }
    Py_DECREF(key);
    if (due > 0) {
        PyObject *r = PyObject_CallNoArgs(told.flush);
        due = r == NULL ? -1 : 0;
        Py_XDECREF(r);
    }
    return due;
}

/* A Buffer, new, whose content is an Expr that nobody has yet. */
PyObject *
buffer_of(PyObject *expr)
{
    PyObject *buffer = told.buffer_type->tp_alloc(told.buffer_type, 0);
    if (buffer == NULL) {
        return NULL;
    }
    Node *node = (Node *)expr;
    *place_of(buffer, told.buffer.shape) = Py_NewRef(node->shape);
    *place_of(buffer, told.buffer.dtype) = Py_NewRef(node->dtype);
    *place_of(buffer, told.buffer.writeable) = Py_NewRef(Py_True);
    *place_of(buffer, told.buffer.foreign) = Py_NewRef(Py_False);
    *place_of(buffer, told.buffer.ghost) = Py_NewRef(Py_None);
    *place_of(buffer, told.buffer.export) = Py_NewRef(Py_None);
    *place_of(buffer, told.buffer.home) = Py_NewRef(Py_None);
    *place_of(buffer, told.buffer.expr) = Py_NewRef(expr);
    return buffer;
}

/* A handle, new, of a new Buffer whose content is an Expr that nobody has yet. */
static Handle *
holder_of(PyObject *expr)
{
    PyObject *buffer = buffer_of(expr);
    Handle *made = buffer == NULL ? NULL
                                  : (Handle *)world.array_type->tp_alloc(world.array_type, 0);
    if (made == NULL) {
        Py_XDECREF(buffer);
        return NULL;
    }
    made->np = Py_NewRef(Py_None);
    made->base = Py_NewRef(Py_None);
    made->place = Py_NewRef(Py_None);
    made->seen = Py_NewRef(Py_None);
    made->readonly = Py_NewRef(Py_False);
    made->buf = buffer;
    if (!PyObject_GC_IsTracked(expr)) { /* which knows them by a weak reference alone */
        PyObject_GC_UnTrack(buffer);
        PyObject_GC_UnTrack(made);
    }
    return made;
}

PyObject *
holder(PyObject *expr)
{
    return (PyObject *)holder_of(expr);
}

void
change_content(PyObject *buffer, PyObject *expr)
{
    PyObject **place = place_of(buffer, told.buffer.expr);
    Py_XSETREF(*place, expr);
}

int
is_anything_pending(void)
{
    return told.buffer_type == NULL || PyObject_IsTrue(*place_of(told.window, told.counts.exprs));
}

/* The same of a pending Expr, which is counted. */
PyObject *
handle_of(PyObject *expr)
{
    Handle *made = holder_of(expr);
    PyObject *owner = made == NULL ? NULL : PyWeakref_NewRef(made->buf, NULL);
    if (owner == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Py_SETREF(((Node *)expr)->owner, Py_NewRef(owner));
    if (counted(expr, owner, made->buf) < 0) {
        Py_CLEAR(made);
    }
    Py_DECREF(owner);
    return (PyObject *)made;
}

/* What dnumpy.api.scalar.deferred gives for a pending Expr without axes that nobody has yet, new. */
PyObject *
scalar_of(PyObject *expr)
{
    PyObject *made = told.deferred.type->tp_alloc(told.deferred.type, 0);
    if (made == NULL) {
        return NULL;
    }
    *place_of(made, told.deferred.expr) = Py_NewRef(expr);
    *place_of(made, told.deferred.run) = Py_NewRef(Py_None);
    *place_of(made, told.deferred.value) = Py_NewRef(Py_None);
    PyObject *owner = PyWeakref_NewRef(made, NULL);
    if (owner == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    Py_SETREF(((Node *)expr)->owner, Py_NewRef(owner));
    if (counted(expr, owner, made) < 0) {
        Py_CLEAR(made);
    }
    Py_DECREF(owner);
    return made;
}

/* What dnumpy.api.record.record gives for the same arguments, new; None where Python has to look. */
PyObject *
recorded_op(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *origin = origin_of_line();
    if (origin == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    PyObject *made = make_of(module, args, count);
    if (made != NULL && ((Node *)made)->origin != Py_None) {
        Py_SETREF(made, Py_NewRef(Py_None)); /* somebody recorded the same, and may hold it */
    }
    else if (made != NULL) {
        Py_SETREF(((Node *)made)->origin, Py_NewRef(origin));
    }
    Py_DECREF(origin);
    return made;
}

/* What dnumpy.api.array.from_expr gives, new; None where Python has to look. */
PyObject *
held_of(PyObject *Py_UNUSED(module), PyObject *expr)
{
    Around around;
    if (IS_NUMPYS(expr)) {
        PyObject *made = held_anew(expr);
        return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
    }
    int is_plain = IS_EXPR(expr) && IS_PENDING((Node *)expr) && ((Node *)expr)->owner == Py_None &&
                   ((Node *)expr)->op != told.leaf && look_around(&around);
    if (!is_plain) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return handle_of(expr);
}

/* What an operation on one or two operands gives, recorded; NULL without an error where Python has
   to look. `row` may be NULL or None, and y NULL. */
PyObject *
record_now(PyObject *row, PyObject *x, PyObject *y)
{
    if (row == NULL || row == Py_None) {
        return NULL;
    }
    PyObject *expr = recorded(row, x, y, NULL);
    PyObject *made = expr == NULL ? NULL : handle_of(expr);
    Py_XDECREF(expr);
    return made;
}

/* `record_op(row, x[, y])`: the same for Python; None where it has to look. */
PyObject *
record_op(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    int fits = told.buffer_type != NULL && (count == 2 || count == 3) && IS_ARRAY(args[1]);
    within_function = 1;
    PyObject *made = fits ? record_now(args[0], args[1], count == 3 ? args[2] : NULL) : NULL;
    within_function = 0;
    return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}

/* The same for an operation into its first operand, which is given back. */
PyObject *
record_into(PyObject *row, PyObject *x, PyObject *y)
{
    Handle *handle = (Handle *)x;
    PyObject *buffer = handle->buf;
    if (row == NULL || row == Py_None || told.buffer_type == NULL || handle->np != Py_None ||
        handle->readonly != Py_False || handle->place != Py_None || buffer == NULL ||
        Py_TYPE(buffer) != told.buffer_type) {
        return NULL;
    }
    Py_INCREF(buffer);
    PyObject *expr = recorded(row, x, y, buffer), *owner = NULL, *lock = NULL, *r = NULL;
    if (expr != NULL && (owner = PyWeakref_NewRef(buffer, NULL)) != NULL &&
        (lock = locked(buffer)) != NULL) {
        Py_SETREF(((Node *)expr)->owner, Py_NewRef(owner));
        Py_SETREF(*place_of(buffer, told.buffer.expr), Py_NewRef(expr));
        Py_SETREF(*place_of(buffer, told.buffer.home), Py_NewRef(Py_None));
        unlock(lock);
        r = counted(expr, owner, buffer) < 0 ? NULL : Py_NewRef(x);
    }
    Py_XDECREF(owner);
    Py_XDECREF(expr);
    Py_DECREF(buffer);
    return r;
}

/* Take what Python tells, by name. */
PyObject *
take_recorder(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"buffer_type", "site_type", "race_type", "window", "results", "constants",
                               "constant", "scalars", "context", "states", "sights", "warnings",
                               "sites", "inside", "flush", "view", "leaf", "ask", "lent", "naming",
                               "deferred", "most", "little", "less", "little_bytes", "note_file",
                               NULL};
    PyObject *buffer_type, *site_type, *race_type, *dicts[5], *lists[2], *window, *constant, *scalars, *context,
        *flush, *view, *leaf, *ask, *lent, *naming, *deferred, *note_file;
    Py_ssize_t most, little, less, little_bytes;
    if (world.array_type == NULL) {
        PyErr_SetString(PyExc_TypeError, "the classes have to be told of first");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "$O!O!O!OO!O!OO!OO!O!O!O!O!OOOOO!OO!nnnnO", keywords, &PyType_Type, &buffer_type,
            &PyType_Type, &site_type, &PyType_Type, &race_type, &window, &PyDict_Type, &dicts[0], &PyDict_Type, &dicts[1],
            &constant, &PyFrozenSet_Type, &scalars, &context, &PyList_Type, &lists[0],
            &PyList_Type, &lists[1], &PyDict_Type, &dicts[2], &PyDict_Type, &dicts[3],
            &PyDict_Type, &dicts[4], &flush, &view, &leaf, &ask, &PyDict_Type, &lent,
            &naming, &PyType_Type, &deferred, &most, &little, &less, &little_bytes, &note_file)) {
        return NULL;
    }
    PyObject *settings = (PyObject *)Py_TYPE(world.config), *counts = (PyObject *)Py_TYPE(window);
    struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *at;
    } slots[] = {
        {buffer_type, "shape", &told.buffer.shape},
        {buffer_type, "dtype", &told.buffer.dtype},
        {buffer_type, "writeable", &told.buffer.writeable},
        {buffer_type, "foreign", &told.buffer.foreign},
        {buffer_type, "ghost", &told.buffer.ghost},
        {buffer_type, "_export", &told.buffer.export},
        {buffer_type, "_home", &told.buffer.home},
        {buffer_type, "expr", &told.buffer.expr},
        {deferred, "expr", &told.deferred.expr},
        {deferred, "run", &told.deferred.run},
        {deferred, "_value", &told.deferred.value},
        {counts, "exprs", &told.counts.exprs},
        {counts, "elements", &told.counts.elements},
        {counts, "looked", &told.counts.looked},
        {counts, "owners", &told.counts.owners},
        {counts, "thread", &told.counts.thread},
        {counts, "at_once", &told.counts.at_once},
        {settings, "accuracy", &told.accuracy},
        {settings, "window_exprs", &told.window_exprs},
        {settings, "changes", &told.changes},
        {site_type, "alone", &told.alone},
        {site_type, "race", &told.of_race},
        {race_type, "apart", &told.race.apart},
        {race_type, "by_numpy", &told.race.by_numpy},
        {race_type, "most", &told.race.most},
        {race_type, "sites", &told.race.sites},
        {race_type, "trying", &told.race.trying},
        {race_type, "has_end", &told.race.has_end},
        {race_type, "opening", &told.race.opening},
        {race_type, "spent", &told.race.spent},
        {race_type, "numpys", &told.race.numpys},
        {race_type, "best", &told.race.best},
        {race_type, "laps", &told.race.laps},
        {race_type, "rounds", &told.race.rounds},
        {race_type, "skipped", &told.race.skipped},
        {race_type, "behind", &told.race.behind},
        {race_type, "due", &told.race.due},
        {race_type, "runs", &told.race.runs},
    };
    for (size_t k = 0; k < sizeof slots / sizeof *slots; k++) {
        *slots[k].at = stored_at(slots[k].type, slots[k].name);
        if (*slots[k].at < 0) {
            return NULL;
        }
    }
    PyObject *kept[] = {buffer_type, race_type, window, dicts[0], dicts[1], constant, scalars, context,
                        lists[0], lists[1], dicts[2], dicts[3], dicts[4], flush, view, leaf, ask,
                        lent, naming, deferred, note_file};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        Py_INCREF(kept[k]); /* for the life of the process */
    }
    told.race_type = (PyTypeObject *)race_type;
    told.window = window;
    told.results = dicts[0];
    told.constants = dicts[1];
    told.constant = constant;
    told.scalars = scalars;
    told.context = context;
    told.states = lists[0];
    told.sights = lists[1];
    told.warnings = dicts[2];
    told.sites = dicts[3];
    told.inside = dicts[4];
    told.note_file = note_file;
    told.flush = flush;
    told.view = view;
    told.leaf = leaf;
    told.ask = ask;
    told.lent = lent;
    told.naming = naming;
    told.deferred.type = (PyTypeObject *)deferred;
    told.most = most;
    told.little = little;
    told.less = less;
    told.little_bytes = little_bytes;
    told.buffer_type = (PyTypeObject *)buffer_type;
    Py_RETURN_NONE;
}
