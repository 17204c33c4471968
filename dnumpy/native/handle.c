/* Life and death of handles, and what NumPy is given for one. */

#include "handle.h"

World world;

int
holds_type(PyObject *types, PyObject *x)
{
    int found = PySet_Contains(types, (PyObject *)Py_TYPE(x));
    if (found < 0) { /* a type that cannot be hashed is not among them */
        PyErr_Clear();
        return 0;
    }
    return found;
}

int
is_immediate(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x); /* most often a float or integer, of which a set knows later */
    if (type == &PyFloat_Type || type == &PyDoubleArrType_Type || type == &PyLong_Type ||
        type == &PyLongArrType_Type || type == &PyBool_Type) {
        return 1;
    }
    return holds_type(world.immediate, x);
}

/* Handles that died and wait to be used again. A small one lives for one operation of a loop. */
#define MOST_KEPT 128
static Handle *kept[MOST_KEPT];
static int kept_count;

/* A handle of a small array holds NumPy's array, which the collector of cycles does not look into,
   and maybe another handle. A view of a Buffer's memory holds that, which knows no handle but by a weak
   reference. Neither can close a cycle that could be collected, and they are not tracked. */
static Handle *
untracked(void)
{
    if (LIKELY(kept_count > 0)) {
        Handle *made = kept[--kept_count];
        return (Handle *)PyObject_Init((PyObject *)made, world.array_type);
    }
    Handle *made = PyObject_GC_New(Handle, world.array_type);
    if (made != NULL) {
        memset((char *)made + sizeof(PyObject), 0, sizeof(Handle) - sizeof(PyObject));
    }
    return made;
}

PyObject *
new_handle(PyObject *np, PyObject *base)
{
    Handle *made = untracked();
    if (made == NULL) {
        Py_DECREF(np);
        return NULL;
    }
    made->np = np;
    made->base = Py_XNewRef(base);
    return (PyObject *)made;
}

/* A name that is made once and kept for the life of the process, borrowed. */
PyObject *
intern(PyObject **place, const char *text)
{
    if (*place == NULL) {
        *place = PyUnicode_InternFromString(text);
    }
    return *place;
}

/* What NumPy, or its class `owner`, has by a name, new. */
PyObject *
numpys_own(const char *owner, const char *name)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *of = numpy == NULL || owner == NULL ? Py_XNewRef(numpy)
                                                  : PyObject_GetAttrString(numpy, owner);
    PyObject *found = of == NULL ? NULL : PyObject_GetAttrString(of, name);
    Py_XDECREF(of);
    Py_XDECREF(numpy);
    return found;
}

/* What a function or method of NumPy's gives, which is found at the first call and kept. */
PyObject *
left_to_numpy(PyObject **numpys, const char *owner, const char *name, PyObject *const *args,
              Py_ssize_t count, PyObject *kwnames)
{
    if (*numpys == NULL) {
        *numpys = numpys_own(owner, name);
    }
    return *numpys == NULL ? NULL : PyObject_Vectorcall(*numpys, args, count, kwnames);
}

/* Say whether an argument holds no array: one of some types, or a tuple of integers. */
int
is_plain(PyObject *types, PyObject *x)
{
    if (!PyTuple_CheckExact(x)) {
        return PyLong_CheckExact(x) || x == Py_None || holds_type(types, x);
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(x); k++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(x, k))) {
            return 0;
        }
    }
    return 1;
}

PyObject *
new_view(Handle *of, PyObject *memory, PyObject *shown)
{
    Handle *made = untracked();
    PyObject *seen = made == NULL ? NULL : PyTuple_Pack(2, memory, shown);
    Py_DECREF(shown);
    if (seen == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    made->np = Py_NewRef(Py_None);
    made->buf = Py_NewRef(of->buf);
    made->place = Py_NewRef(world.as_seen);
    made->seen = seen;
    made->base = Py_NewRef(of->base == NULL || of->base == Py_None ? (PyObject *)of : of->base);
    made->readonly = Py_NewRef(of->readonly);
    return (PyObject *)made;
}

/* What NumPy shows of an array's computed memory, as a view of it; NULL without an error where that
   is nothing, whose address tells nothing of where it lies, or no part of that memory. */
PyObject *
new_seen(Handle *of, PyObject *memory, PyObject *shown)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)shown), *root = PyArray_BASE((PyArrayObject *)memory);
    if (PyArray_SIZE((PyArrayObject *)shown) > 0 && base != NULL && (base == memory || base == root)) {
        int readonly = !PyArray_ISWRITEABLE((PyArrayObject *)shown) &&
                       PyArray_ISWRITEABLE((PyArrayObject *)memory);
        PyObject *made = new_view(of, memory, shown);
        if (made != NULL && readonly) {
            Py_SETREF(((Handle *)made)->readonly, Py_NewRef(Py_True));
        }
        return made;
    }
    Py_DECREF(shown);
    return NULL;
}

/* The memory of a Buffer's content if it is computed and at home; NULL without an error if not. */
PyObject *
computed(PyObject *buffer)
{
    PyObject *expr = expr_of(buffer);
    PyObject *value = expr == NULL ? NULL : slot_of(expr, world.value_at);
    return value != NULL && IS_NUMPYS(value) ? Py_NewRef(value) : NULL;
}

/* What a view that was made before its base was computed shows of the memory, borrowed from the handle,
   which keeps it; NULL without an error of no element. */
static PyObject *
shown_by_geometry(Handle *x, PyObject *memory)
{
    PyObject *place = x->place;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (place == NULL || !PyTuple_Check(place) || PyTuple_GET_SIZE(place) != 4) {
        return NULL;
    }
    PyObject **of = &PyTuple_GET_ITEM(place, 0);
    Py_ssize_t offset = PyLong_AsSsize_t(of[0]), low = offset, high = offset;
    int ndim = take_numbers(of[1], shape, NPY_MAXDIMS);
    int fits = take_numbers(of[2], strides, NPY_MAXDIMS) == ndim && ndim >= 0 && PyArray_DescrCheck(of[3]);
    PyErr_Clear();
    for (int k = 0; fits && k < ndim; k++) {
        fits = shape[k] > 0;
        *(strides[k] > 0 ? &high : &low) += strides[k] * (shape[k] - 1);
    }
    fits = fits && low >= 0 && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)memory) &&
           high + PyDataType_ELSIZE((PyArray_Descr *)of[3]) <= PyArray_NBYTES((PyArrayObject *)memory);
    if (!fits || PyDataType_REFCHK((PyArray_Descr *)of[3])) {
        return NULL;
    }
    Py_INCREF(of[3]);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)of[3], ndim, shape, strides,
                                          PyArray_BYTES((PyArrayObject *)memory) + offset,
                                          PyArray_FLAGS((PyArrayObject *)memory) & NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(memory)) < 0) {
        Py_CLEAR(view);
    }
    PyObject *seen = view == NULL ? NULL : PyTuple_Pack(2, memory, view);
    Py_XDECREF(view);
    if (seen == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)view, NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    Py_XSETREF(x->seen, seen);
    return view;
}

/* What a managed array shows of computed memory, new; NULL without an error if it is none. */
PyObject *
shown_of(Handle *x, PyObject *memory)
{
    PyObject *whole = NULL, *seen = x->seen;
    if (seen != NULL && PyTuple_CheckExact(seen) && PyTuple_GET_ITEM(seen, 0) == memory) {
        whole = PyTuple_GET_ITEM(seen, 1);
    }
    else if (x->place != NULL && x->place != Py_None) {
        whole = shown_by_geometry(x, memory);
    }
    else if (x->place == Py_None) {
        whole = memory;
    }
    return Py_XNewRef(whole);
}

/* Say whether nobody but its Buffer holds the computed content: it may be written to now, without
   the lock, as long as the interpreter's is held. */
int
may_be_written(PyObject *buffer)
{
    PyObject *expr = expr_of(buffer);
    return expr != NULL && Py_REFCNT(expr) == 1 && slot_of(expr, world.op_at) != world.full;
}

/* Say whether somebody wants to know that this content is read. */
int
is_watched(PyObject *buffer)
{
    if (LIKELY(PyDict_GET_SIZE(world.watched) == 0)) {
        return 0;
    }
    PyObject *expr = expr_of(buffer), *key = expr == NULL ? NULL : PyLong_FromVoidPtr(expr);
    int found = key == NULL ? 1 : PyDict_Contains(world.watched, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return found != 0;
}

int
takes_writes(Handle *x)
{
    return x->readonly == Py_False && !is_watched(x->buf) && may_be_written(x->buf);
}

/* What a managed array shows of computed memory, new, and the lock, taken, under which it may be
   written to; NULL, and no lock, without an error where Python has to look. */
PyObject *
memory_to_write(PyObject *x, PyObject **lock)
{
    Handle *handle = (Handle *)x;
    PyObject *shown = NULL;
    *lock = takes_writes(handle) ? locked(handle->buf) : NULL;
    if (*lock == NULL) {
        PyErr_Clear();
        return NULL;
    }
    shown = may_be_written(handle->buf) ? lying_here(x) : NULL;
    if (shown == NULL) {
        unlock(*lock);
        *lock = NULL;
    }
    return shown;
}

PyObject *
locked(PyObject *buffer)
{
    static PyObject *name;
    size_t at = (size_t)buffer / OBJECT_BYTES % (size_t)PyTuple_GET_SIZE(world.locks);
    PyObject *lock = PyTuple_GET_ITEM(world.locks, at);
    PyObject *taken = PyObject_CallMethodNoArgs(lock, intern(&name, "acquire"));
    if (taken == NULL) {
        return NULL;
    }
    Py_DECREF(taken);
    return Py_NewRef(lock);
}

void
unlock(PyObject *lock)
{
    static PyObject *name;
    PyObject *type, *value, *traceback; /* of an error that is on its way */
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *freed = PyObject_CallMethodNoArgs(lock, intern(&name, "release"));
    if (freed == NULL) {
        PyErr_WriteUnraisable(lock);
    }
    Py_XDECREF(freed);
    Py_DECREF(lock);
    PyErr_Restore(type, value, traceback);
}

PyObject *
peek(PyObject *x)
{
    Handle *handle = (Handle *)x;
    PyObject *memory = computed(handle->buf);
    if (memory == NULL) {
        return NULL;
    }
    PyObject *shown = shown_of(handle, memory);
    Py_DECREF(memory);
    if (shown != NULL && (!IS_NUMPYS(shown) || !runs_at_once(shown) ||
                          setting(world.memory_limit_at) != 0 ||
                          (!is_small(shown) && is_watched(handle->buf)))) {
        Py_CLEAR(shown);
    }
    return shown;
}

PyObject *
at_hand(PyObject *x)
{
    if (world.array_type == NULL) { /* a ufunc called while the package is imported */
        return NULL;
    }
    if (IS_ARRAY(x)) {
        PyObject *np = ((Handle *)x)->np;
        if (LIKELY(np != NULL && np != Py_None)) {
            return Py_NewRef(np);
        }
        return peek(x);
    }
    if (IS_NUMPYS(x)) {
        return runs_at_once(x) ? Py_NewRef(x) : NULL;
    }
    return is_immediate(x) ? Py_NewRef(x) : NULL;
}

/* What NumPy would read for an operand however large, new; NULL without an error where that is to be
   computed first, or its reading to be noted. */
PyObject *
lying_here(PyObject *x)
{
    if (!IS_ARRAY(x)) {
        return IS_NUMPYS(x) || is_immediate(x) ? Py_NewRef(x) : NULL;
    }
    PyObject *np = small_of(x);
    if (np != NULL) {
        return Py_NewRef(np);
    }
    Handle *handle = (Handle *)x;
    PyObject *memory = is_watched(handle->buf) ? NULL : computed(handle->buf);
    PyObject *shown = memory == NULL ? NULL : shown_of(handle, memory);
    if (memory != NULL && shown == NULL) {
        shown = placed_over(handle->place, (PyArrayObject *)memory);
    }
    if (memory != NULL && shown == NULL) { /* a view made in Python, which knows its place alone */
        PyObject *args[] = {x, memory};
        shown = PyObject_Vectorcall(world.seen_of, args, 2, NULL);
        PyErr_Clear();
    }
    Py_XDECREF(memory);
    if (shown != NULL && !IS_NUMPYS(shown)) {
        Py_CLEAR(shown);
    }
    return shown;
}

PyObject *
call_slow(PyObject *function, PyObject *x, PyObject *y)
{
    if (function == NULL) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *args[] = {x, y};
    return PyObject_Vectorcall(function, args, y == NULL ? 1 : 2, NULL);
}

/* What a ufunc makes of operands at hand, or of large ones that lie here where the program wants each
   result by itself; NULL without an error where Python has to look. */
PyObject *
call_now(PyObject *loop, PyObject *x, PyObject *y)
{
    if (loop == NULL) {
        return NULL;
    }
    PyObject *a = at_hand(x), *b = y == NULL ? NULL : at_hand(y), *r = NULL, *site = NULL;
    if (y != NULL && (a == NULL) != (b == NULL)) {
        *(a == NULL ? &a : &b) = a == NULL ? numbers_beside(x, b) : numbers_beside(y, a);
    }
    int now = a != NULL && (y == NULL || b != NULL);
    PyObject *pair[] = {a, b};
    Py_ssize_t grown = now ? bytes_made(loop, pair, y == NULL ? 1 : 2) : 0;
    if (grown > 0) {
        site = turn_of(loop, grown);
        now = site != NULL;
    }
    else if (!now) {
        Py_XSETREF(a, lying_here(x));
        Py_XSETREF(b, a == NULL || y == NULL ? NULL : lying_here(y));
        if (a != NULL && (y == NULL || b != NULL)) {
            site = turn_on(loop, a, b);
            now = site != NULL;
        }
    }
    if (now) {
        PyObject *args[] = {a, b};
        double started = site == NULL ? 0 : seconds_now();
        r = looped(loop, args, y == NULL ? 1 : 2, NULL);
        if (r == NULL && site == NULL && !PyErr_Occurred()) {
            r = looped_mixed(loop, args, y == NULL ? 1 : 2, NULL);
        }
        if (r == NULL && y != NULL && site == NULL && !PyErr_Occurred()) {
            r = multiplied(loop, a, b);
        }
        if (r == NULL && !PyErr_Occurred()) {
            r = PyObject_Vectorcall(loop, args, y == NULL ? 1 : 2, NULL);
        }
        r = result(r, x, y);
        took(site, started);
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

static int
handle_traverse(Handle *self, visitproc visit, void *arg)
{
    Py_VISIT(self->np);
    Py_VISIT(self->base);
    Py_VISIT(self->buf);
    Py_VISIT(self->place);
    Py_VISIT(self->readonly);
    Py_VISIT(self->seen);
    return 0;
}

static int
handle_clear(Handle *self)
{
    Py_CLEAR(self->np);
    Py_CLEAR(self->base);
    Py_CLEAR(self->buf);
    Py_CLEAR(self->place);
    Py_CLEAR(self->readonly);
    Py_CLEAR(self->seen);
    return 0;
}

static void
handle_dealloc(Handle *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    handle_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static void
end_of(Handle *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    handle_clear(self);
    if (LIKELY(kept_count < MOST_KEPT)) {
        kept[kept_count++] = self;
    }
    else {
        PyObject_GC_Del(self);
    }
    Py_DECREF(type);
}

/* The same for the class that Python derived, which has nothing more, and keeps some of them. */
void
array_dealloc(PyObject *object)
{
    Handle *self = (Handle *)object;
    PyObject_GC_UnTrack(self);
    if (LIKELY((self->buf == NULL || Py_REFCNT(self->buf) > 1) &&
               (self->base == NULL || Py_REFCNT(self->base) > 1))) {
        end_of(self);
        return;
    }
    Py_TRASHCAN_BEGIN(self, array_dealloc) /* views of views of views */
    end_of(self);
    Py_TRASHCAN_END
}

static PyMemberDef handle_members[] = {
    {"_np", T_OBJECT_EX, offsetof(Handle, np), 0, NULL},
    {"_base", T_OBJECT_EX, offsetof(Handle, base), 0, NULL},
    {"_buf", T_OBJECT_EX, offsetof(Handle, buf), 0, NULL},
    {"_place", T_OBJECT_EX, offsetof(Handle, place), 0, NULL},
    {"_readonly", T_OBJECT_EX, offsetof(Handle, readonly), 0, NULL},
    {"_seen", T_OBJECT_EX, offsetof(Handle, seen), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

extern PyNumberMethods handle_as_number;
extern PyMappingMethods handle_as_mapping;
extern PySequenceMethods handle_as_sequence;
extern PyBufferProcs handle_as_buffer;
PyObject *handle_compare(PyObject *x, PyObject *y, int op);
PyObject *handle_iterator(PyObject *x);

PyTypeObject Handle_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Handle",
    .tp_doc = "The slots of an array's handle, and operators that need no look at the engine.",
    .tp_basicsize = sizeof(Handle),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)handle_dealloc,
    .tp_traverse = (traverseproc)handle_traverse,
    .tp_clear = (inquiry)handle_clear,
    .tp_weaklistoffset = offsetof(Handle, weakrefs),
    .tp_members = handle_members,
    .tp_as_number = &handle_as_number,
    .tp_as_mapping = &handle_as_mapping,
    .tp_as_sequence = &handle_as_sequence,
    .tp_as_buffer = &handle_as_buffer,
    .tp_richcompare = handle_compare,
    .tp_iter = handle_iterator,
    .tp_hash = PyObject_HashNotImplemented,
};
