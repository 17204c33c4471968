/* Public functions called with arguments that NumPy may have now; what is left is Python's. */

#include "functions.h"

/* An integer of Python's or NumPy's; -1 for anything else, maybe with an error. */
static Py_ssize_t
extent_of(PyObject *n)
{
    if (PyLong_CheckExact(n)) {
        return PyLong_AsSsize_t(n);
    }
    return PyArray_IsScalar(n, Integer) ? PyNumber_AsSsize_t(n, PyExc_OverflowError) : -1;
}

static Py_ssize_t
size_of(PyObject *shape)
{
    if (!PyTuple_CheckExact(shape)) {
        return extent_of(shape);
    }
    Py_ssize_t size = 1, bound = PY_SSIZE_T_MAX;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(shape); k++) {
        Py_ssize_t extent = extent_of(PyTuple_GET_ITEM(shape, k));
        if (extent < 0 || (extent > 0 && size > bound / extent)) {
            return -1;
        }
        size *= extent;
    }
    return size;
}

/* What NumPy's function made of arguments as ours: a new array, a view of an argument, or neither. */
PyObject *
given_back(PyObject *r, PyObject *const *args, PyObject *const *given, Py_ssize_t count)
{
    if (r == NULL) {
        return NULL;
    }
    if (IS_NUMPYS(r)) {
        PyObject *base = PyArray_BASE((PyArrayObject *)r);
        if (base == NULL && Py_REFCNT(r) == 1) {
            return result(r, NULL, NULL); /* nobody else holds it: it is no argument */
        }
        if (base != NULL && IS_NUMPYS(base) && Py_REFCNT(r) == 1 && Py_REFCNT(base) == 1 &&
            PyArray_BASE((PyArrayObject *)base) == NULL) {
            return result(r, NULL, NULL); /* nor is what it is a view of */
        }
        for (Py_ssize_t k = 0; k < count; k++) {
            if (IS_NUMPYS(args[k]) && is_small(r) && root_of(r) == root_of(args[k])) {
                return new_handle(r, NULL); /* another name for memory of the program's */
            }
            if (IS_ARRAY(args[k]) && small_of(args[k]) == NULL) {
                PyObject *ours = shown_again(args[k], given[k], r);
                if (ours != NULL || PyErr_Occurred()) {
                    Py_DECREF(r);
                    return ours;
                }
            }
            if (!IS_ARRAY(args[k]) || small_of(args[k]) != given[k]) {
                continue;
            }
            if (r == given[k]) {
                Py_DECREF(r);
                return Py_NewRef(args[k]);
            }
            if (base != NULL &&
                (base == given[k] || base == PyArray_BASE((PyArrayObject *)given[k]))) {
                return new_handle(r, args[k]);
            }
        }
    }
    else if (is_tuple(r)) {
        PyObject *fresh = all_fresh(r, given, count);
        if (fresh != NULL || PyErr_Occurred()) {
            Py_DECREF(r);
            return fresh;
        }
    }
    else if (PyList_CheckExact(r)) {
        PyObject *views = several_views(r, args, given, count);
        if (views != NULL || PyErr_Occurred()) {
            Py_DECREF(r);
            return views;
        }
    }
    else if (holds_type(world.plain, r) || is_kin(r)) {
        return r;
    }
    return wrapped(r, args, count);
}

/* Say whether NumPy's function writes to none of so many arguments. */
static int
only_reads(Function *self, Py_ssize_t count)
{
    if (self->out_position < 0) {
        PyObject *found = PyObject_CallOneArg(world.out_position, self->numpys);
        self->out_position = found == NULL ? 0 : PyLong_AsSsize_t(found);
        Py_XDECREF(found);
        PyErr_Clear();
    }
    return count <= self->out_position;
}

/* The bytes of what NumPy is given, and of its result if that is as large as all; 0 of small arrays. */
static Py_ssize_t
large_bytes(PyObject *const *given, Py_ssize_t count)
{
    Py_ssize_t bytes = 0, most = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        int is_sequence = PyList_CheckExact(given[k]) || PyTuple_CheckExact(given[k]);
        PyObject *const *arrays = is_sequence ? PySequence_Fast_ITEMS(given[k]) : &given[k];
        Py_ssize_t n = is_sequence ? PySequence_Fast_GET_SIZE(given[k]) : 1;
        for (Py_ssize_t j = 0; j < n; j++) {
            if (IS_NUMPYS(arrays[j])) {
                bytes += PyArray_NBYTES((PyArrayObject *)arrays[j]);
                most = runs_at_once(arrays[j]) ? most : bytes;
            }
        }
    }
    return most == 0 ? 0 : 2 * bytes;
}

/* Say whether one of some arrays, or the first of a list of them, has some thousands of elements. */
static int
are_many(PyObject *const *given, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k++) {
        int lists = PyTuple_CheckExact(given[k]) || PyList_CheckExact(given[k]);
        PyObject *x = !lists                                   ? given[k]
                      : PySequence_Fast_GET_SIZE(given[k]) > 0 ? PySequence_Fast_GET_ITEM(given[k], 0)
                                                               : NULL;
        if (x != NULL && IS_NUMPYS(x) && PyArray_SIZE((PyArrayObject *)x) >= MANY) {
            return 1;
        }
    }
    return 0;
}

/* What runs on some thousands of elements gives, new; NULL without an error where that is NumPy's. */
PyObject *
of_many(PyObject *many, PyObject *const *given, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    PyObject *r = are_many(given, total) ? PyObject_Vectorcall(many, given, count, kwnames) : NULL;
    if (r == Py_NotImplemented) {
        Py_CLEAR(r);
    }
    else if (r == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* of arguments that do not fit: NumPy says so itself */
    }
    return r;
}

/* Call NumPy with what it may have; set `done` if it was called. */
static PyObject *
of_arrays(Function *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int *done)
{
    PyObject *given[MOST_ARGUMENTS] = {NULL}, *r = NULL, *out = NULL;
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), k = 0;
    for (; k < total; k++) {
        if (k < count) {
            int managed = IS_ARRAY(args[k]) && small_of(args[k]) == NULL;
            int reads = managed && self->kind != MOVING && self->kind != WRITING;
            int may_be_seen = reads && only_reads(self, count);
            int is_written = IS_NUMPYS(args[k]) && (self->kind == WRITING || !only_reads(self, count));
            if ((self->kind > MOVING && managed && !may_be_seen) || is_written) {
                break;
            }
            given[k] = given_for(self, args[k], may_be_seen);
        }
        else {
            given[k] = named_for(self, PyTuple_GET_ITEM(kwnames, k - count), args[k], &out);
        }
        if (given[k] == NULL) {
            break;
        }
    }
    PyObject *site = NULL;
    if (k == total) {
        int looks_up = (self->grows == LOOKS && (count < 2 || is_few(given[1]))) ||
                       (count == 1 && ends_early(self->numpys, given[0]));
        Py_ssize_t bytes = takes_large(self) && !looks_up ? large_bytes(given, count) : 0;
        if (bytes == 0 && self->grows == BROADCAST) {
            bytes = grown_bytes(given, count);
        }
        else if (bytes == 0 && self->grows == IN_PAIRS && count == 2) {
            bytes = paired_bytes(given[0], given[1]);
        }
        *done = bytes == 0 || (self->kind == MOVING && may_move(bytes)) ||
                (self->kind == PRODUCT && (count == 1 || count == 2) && /* of one with itself */
                 is_little_product(given[0], given[count - 1])) ||
                (self->kind == RUNNING && is_run_over(given[0], bytes));
        if (self->kind == EXACT && bytes > 0) {
            site = turn_of(self->numpys, bytes);
            *done = site != NULL;
            if (site == NULL) {
                while (k > 0) { /* what nobody else holds may be written over */
                    k--; /* apart: the macro may look at its argument twice */
                    Py_CLEAR(given[k]);
                }
                r = ours(self->slow, bytes, args, count, kwnames);
                *done = 2;
            }
        }
    }
    if (*done == 1) {
        double started = site == NULL ? 0 : seconds_now();
        int few = self->grows == LOOKS && count > 1 && is_few(given[1]); /* which NumPy finds soon */
        if (self->many != Py_None && !few) {
            r = of_many(self->many, given, count, kwnames);
        }
        if (r == NULL && !PyErr_Occurred() && self->direct != NULL && site == NULL && self->kind != WRITING) {
            r = PyObject_Vectorcall(self->direct, given, count, kwnames);
            if (r == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
                PyErr_Clear(); /* maybe of arguments that do not fit: the function says so itself */
            }
        }
        if (r == NULL && !PyErr_Occurred()) {
            r = PyObject_Vectorcall(self->numpys, given, count, kwnames);
        }
        if (r != NULL && out != NULL && (IS_ARRAY(out) ? small_of(out) : out) == r) {
            Py_SETREF(r, Py_NewRef(out)); /* the program's own, whose ever it is */
        }
        else {
            r = given_back(r, args, given, total);
        }
        took(site, started);
    }
    while (k-- > 0) {
        Py_DECREF(given[k]);
    }
    return r;
}

/* Say whether arguments after the first hold nothing of ours; of a range all are numbers. */
static int
others_are_plain(Function *self, PyObject *const *args, Py_ssize_t total)
{
    for (Py_ssize_t k = 1; k < total; k++) {
        if (!PyLong_CheckExact(args[k]) && !holds_type(self->as_are, args[k])) {
            return 0;
        }
    }
    return 1;
}

/* At most how many numbers there are in a range; -1 where that needs another look. */
static Py_ssize_t
range_size(PyObject *const *args, Py_ssize_t count)
{
    double bounds[3] = {0, 0, 1};
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *x = args[k];
        int is_real = PyLong_CheckExact(x) || PyFloat_CheckExact(x) ||
                      PyArray_IsScalar(x, Integer) || PyArray_IsScalar(x, Floating);
        if (!is_real) {
            return -1;
        }
        bounds[count == 1 ? 1 : k] = PyFloat_AsDouble(x);
    }
    double size = (bounds[1] - bounds[0]) / bounds[2] + 1; /* one more for the rounding */
    return size >= 1 && size < (double)NPY_MAX_INT && !PyErr_Occurred() ? (Py_ssize_t)size : -1;
}

/* Call NumPy where the arguments make a small array; set `done` if it was called. */
static PyObject *
made_of(Function *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int *done)
{
    PyObject *first = args[0], *given[MOST_ARGUMENTS];
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), size = -1;
    if (!others_are_plain(self, args, total)) {
        return NULL;
    }
    memcpy(given, args, total * sizeof(PyObject *));
    if (self->kind == OF_SHAPE) {
        size = size_of(first);
    }
    else if (self->kind == OF_SQUARE) {
        Py_ssize_t rows = extent_of(first), columns = count > 1 ? extent_of(args[1]) : -1;
        size = columns < 0 ? rows : columns; /* of None, as many as rows */
        size = rows > 0 && size > PY_SSIZE_T_MAX / rows ? -1 : rows * size;
    }
    else if (self->kind == OF_RANGE) {
        size = count <= 3 ? range_size(args, count) : -1;
    }
    else if (IS_ARRAY(first)) {
        if (self->kind == AS_IT_IS && total == 1) {
            *done = 1;
            return Py_NewRef(first);
        }
        given[0] = small_of(first);
        size = given[0] == NULL ? -1 : 0;
        if (size < 0 && self->kind == OF_LIST && total == 1) { /* `array`, the only one */
            *done = 1;
            return PyObject_CallMethod(first, "copy", "s", "K");
        }
    }
    else if (IS_NUMPYS(first)) {
        size = is_at_once(first) && is_small(first) ? 0 : -1;
        if (self->kind == AS_IT_IS && total == 1 && size == 0) {
            *done = 1;
            return new_handle(Py_NewRef(first), NULL);
        }
    }
    else if (PyList_CheckExact(first) || PyTuple_CheckExact(first)) {
        size = numbers_in(first, NPY_MAXDIMS);
        if (size < 0 && kwnames == NULL && count == 1) {
            PyObject *arrays = arrays_in(self, first, &size);
            if (arrays == NULL && PyErr_Occurred()) {
                return NULL;
            }
            given[0] = arrays;
        }
    }
    else if (PyRange_Check(first)) {
        size = PyObject_Size(first);
    }
    else if (is_immediate(first)) {
        size = 1;
    }
    if (size < 0 || size >= setting(world.eager_below_at)) {
        if (given[0] != first && !IS_ARRAY(first)) {
            Py_XDECREF(given[0]);
        }
        PyErr_Clear(); /* an integer that is too large */
        int is_of_numbers = self->kind == OF_SHAPE || self->kind == OF_SQUARE || self->kind == OF_RANGE;
        PyObject *large = size > 0 && is_of_numbers ? made_large(self, args, count, kwnames, size) : NULL;
        *done = large != NULL || PyErr_Occurred();
        return large;
    }
    *done = 1;
    if (given[0] == first || IS_ARRAY(first)) {
        Py_INCREF(given[0]);
    }
    PyObject *r = PyObject_Vectorcall(self->numpys, given, count, kwnames);
    if (IS_ARRAY(first)) {
        r = view_of(r, first, given[0]);
    }
    else {
        r = result(r, first, NULL);
    }
    Py_DECREF(given[0]);
    return r;
}

static PyObject *
function_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Function *self = (Function *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (self->maker != NULL && count > 0 && world.array_type != NULL &&
        setting(world.eager_below_at) > MOST_MADE) {
        PyObject *made = self->maker(args, count, kwnames);
        if (made != NULL || PyErr_Occurred()) {
            return made == NULL ? NULL : new_handle(made, NULL);
        }
    }
    int enough = count > 0 || self->kind == OF_ARRAYS; /* a draw from a stream may have nothing */
    if (self->kind == PRODUCT && before_product(args, total) < 0) {
        return NULL;
    }
    if (loop_waits && self->waits != Py_None && total <= MOST_ARGUMENTS) {
        PyObject *r = called_between(self->records, self->waits, args, count, kwnames);
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
    }
    if (enough && total <= MOST_ARGUMENTS && world.array_type != NULL) {
        int done = 0, large = count > 0 && IS_ARRAY(args[0]) && small_of(args[0]) == NULL;
        int views = large && self->kind == VIEWING;
        for (Py_ssize_t k = 1; views && k < total; k++) {
            views = PyLong_CheckExact(args[k]) || is_plain(self->as_are, args[k]);
        }
        PyObject *shown = !large || self->managed == NOT_SHORT
                              ? NULL
                              : short_of_managed(self->managed, 0, args, count, kwnames);
        if (shown != NULL || PyErr_Occurred()) {
            return shown;
        }
        shown = views ? viewed(self->numpys, args, count, kwnames) : NULL;
        if (shown != NULL || PyErr_Occurred()) {
            return shown;
        }
        PyObject *r = self->kind <= WRITING ? of_arrays(self, args, count, kwnames, &done)
                                              : made_of(self, args, count, kwnames, &done);
        if (done && !(r == NULL && refuses_elements(args, count))) {
            return r;
        }
    }
    PyObject *again = replayed(self->records, args, count, kwnames);
    return again != NULL || PyErr_Occurred() ? again
                                             : PyObject_Vectorcall(self->slow, args, nargsf, kwnames);
}

static int
function_traverse(Function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->slow);
    Py_VISIT(self->numpys);
    Py_VISIT(self->direct);
    Py_VISIT(self->as_are);
    Py_VISIT(self->records);
    Py_VISIT(self->waits);
    Py_VISIT(self->many);
    Py_VISIT(self->dict);
    return 0;
}

static int
function_clear(Function *self)
{
    Py_CLEAR(self->slow);
    Py_CLEAR(self->numpys);
    Py_CLEAR(self->direct);
    Py_CLEAR(self->as_are);
    Py_CLEAR(self->records);
    Py_CLEAR(self->waits);
    Py_CLEAR(self->many);
    Py_CLEAR(self->dict);
    return 0;
}

static void
function_dealloc(Function *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    function_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* The type's own, then what the public function has: its name, documentation, signature. */
static PyObject *
function_get(PyObject *self, PyObject *name)
{
    PyObject *slow = ((Function *)self)->slow, *own = ((Function *)self)->dict;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) {
        return NULL;
    }
    PyObject *found = own == NULL ? NULL : PyDict_GetItemWithError(own, name);
    if (found != NULL || PyErr_Occurred()) {
        return Py_XNewRef(found);
    }
    if (strcmp(text, "__class__") == 0 || strcmp(text, "__call__") == 0 ||
        strcmp(text, "__get__") == 0 || strncmp(text, "__reduce", 8) == 0 || slow == NULL) {
        return PyObject_GenericGetAttr(self, name);
    }
    return PyObject_GetAttr(slow, name);
}

static int
function_set(PyObject *self, PyObject *name, PyObject *value)
{
    if (!((Function *)self)->binds) { /* what is bound to its module takes no attribute */
        return PyObject_GenericSetAttr(self, name, value);
    }
    return PyObject_SetAttr(((Function *)self)->slow, name, value);
}

static PyObject *
function_repr(PyObject *self)
{
    return PyObject_Repr(((Function *)self)->slow);
}

static PyObject *
function_bound(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    if (object == NULL || !((Function *)self)->binds) {
        return Py_NewRef(self);
    }
    return PyMethod_New(self, object);
}

static PyObject *
function_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyObject_GetAttrString(((Function *)self)->slow, "__qualname__");
}

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, "Pickle by name."},
    {NULL, NULL, 0, NULL},
};

static PyObject *
function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"slow", "numpys", "as_are", "kind", "binds", "records", "waits", "many", NULL};
    static const char *const kinds[] = {"arrays", "views", "moves", "exact", "product", "runs",
                                        "writes", "shape", "square", "list", "range", "itself"};
    PyObject *slow, *numpys, *as_are, *records, *waits, *many;
    const char *kind;
    int binds, found = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!spOOO", keywords, &slow, &numpys,
                                     &PyFrozenSet_Type, &as_are, &kind, &binds, &records, &waits, &many)) {
        return NULL;
    }
    int grows = strcmp(kind, "fitted") == 0  ? BROADCAST
                : strcmp(kind, "pairs") == 0 ? IN_PAIRS
                : strcmp(kind, "looks") == 0 ? LOOKS
                                             : NOT;
    if (grows != NOT) {
        kind = "exact";
    }
    for (int k = 0; k <= AS_IT_IS; k++) {
        found = strcmp(kind, kinds[k]) == 0 ? k : found;
    }
    if (found < 0) {
        return PyErr_Format(PyExc_ValueError, "no kind of function is called %s", kind);
    }
    Function *made = (Function *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->slow = Py_NewRef(slow);
        made->numpys = Py_NewRef(numpys);
        made->direct = PyObject_GetAttrString(numpys, "_implementation");
        PyErr_Clear(); /* it looks for no overrides itself */
        made->as_are = Py_NewRef(as_are);
        made->records = Py_NewRef(records);
        made->waits = Py_NewRef(waits);
        made->many = Py_NewRef(many);
        made->kind = found;
        made->binds = binds;
        made->grows = grows;
        made->managed = found == OF_ARRAYS || found == EXACT ? short_named(slow) : NOT_SHORT;
        made->out_position = -1;
        made->maker = maker_of(numpys);
        made->blank = found == OF_SHAPE ? blank_of(slow) : -1;
        made->vectorcall = function_call;
    }
    return (PyObject *)made;
}

PyTypeObject Function_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Function",
    .tp_doc = "A public function: NumPy's on small arrays, else the function it was made of.",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Function, vectorcall),
    .tp_weaklistoffset = offsetof(Function, weakrefs),
    .tp_dictoffset = offsetof(Function, dict),
    .tp_call = PyVectorcall_Call,
    .tp_new = function_new,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_clear = (inquiry)function_clear,
    .tp_getattro = function_get,
    .tp_setattro = function_set,
    .tp_repr = function_repr,
    .tp_methods = function_methods,
    .tp_descr_get = function_bound,
};
