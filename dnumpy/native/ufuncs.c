/* Ufuncs called with operands that NumPy may read now; what is left is Python's. */

#include "record.h"
#include <numpy/ufuncobject.h>

typedef struct {
    PyObject_HEAD
    PyObject *np;    /* NumPy's ufunc */
    PyObject *plain; /* operands of a call that needs no more looks; -1 where all do */
    PyObject *row;
    PyObject *name;
    vectorcallfunc vectorcall;
} Callable;

static PyObject *slow_ufunc; /* what Python does for a call */

PyObject *
wrapped_ufunc(PyObject *callable)
{
    PyObject *np = ((Callable *)callable)->np;
    return np == NULL ? Py_None : np;
}

/* Call with operands that lie here and a large array that takes the result, where NumPy is to do that
   now. NULL without an error where Python has to look. */
static PyObject *
into_large(Callable *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *out = args[count];
    if (!IS_ARRAY(out) || small_of(out) != NULL || !takes_writes((Handle *)out)) {
        return NULL;
    }
    PyObject *given[3] = {NULL, NULL, NULL}, *site = NULL, *lock = NULL, *r = NULL;
    int here = (given[0] = lying_here(args[0])) != NULL;
    here = here && (count == 1 || (given[1] = lying_here(args[1])) != NULL);
    here = here && (given[count] = lying_here(out)) != NULL;
    int little = here && is_little(given[0]) && is_little(given[count]) &&
                 (count == 1 || is_little(given[1]));
    if (here && (little || (site = turn_on(self->np, given[count], given[0])) != NULL)) {
        Py_DECREF(given[count]);
        given[count] = memory_to_write(out, &lock);
    }
    if (lock != NULL) {
        double started = site == NULL ? 0 : seconds_now();
        r = PyObject_Vectorcall(self->np, given, kwnames == NULL ? count + 1 : count, kwnames);
        if (r != NULL) {
            Py_SETREF(r, Py_NewRef(out));
        }
        took(Py_XNewRef(site), started);
        unlock(lock);
    }
    Py_XDECREF(site);
    for (int k = 0; k < 3; k++) {
        Py_XDECREF(given[k]);
    }
    return r;
}

static int
is_only(PyObject *kwnames, PyObject **name, const char *text)
{
    return PyTuple_GET_SIZE(kwnames) == 1 && PyTuple_GET_ITEM(kwnames, 0) == intern(name, text);
}

/* Say whether an argument by name says how, not of what: a dtype, axes, a word. */
static int
is_how(PyObject *x)
{
    return x == Py_None || PyBool_Check(x) || PyUnicode_CheckExact(x) || PyType_CheckExact(x) ||
           PyArray_DescrCheck(x) || is_plain(world.plain, x);
}

/* What NumPy is given for an argument, new; NULL without an error where Python has to look. */
static PyObject *
given_as(PyObject *x, PyObject *name, int is_out)
{
    static PyObject *where_name;
    if (is_out) {
        return Py_XNewRef(IS_ARRAY(x) ? small_of(x) : is_at_once(x) ? x : NULL);
    }
    if (name == NULL || name == intern(&where_name, "where")) {
        return IS_NUMPYS(x) && !is_at_once(x) ? NULL : name == NULL && is_kin(x) ? Py_NewRef(x) : at_hand(x);
    }
    return is_how(x) ? Py_NewRef(x) : NULL;
}

/* Say whether what a ufunc makes is as soon made as what it is made of. */
static int
stays_small(PyObject *np, PyObject *const *given, Py_ssize_t count)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)np;
    if (ufunc->core_enabled && count == 2 && strcmp(ufunc->name, "matmul") == 0) {
        return is_little_product(given[0], given[1]);
    }
    return bytes_made(np, given, count) == 0;
}

/* What a ufunc makes of all pairs of two arrays of ours: of each element of the one beside all of the
   other; NULL without an error where NumPy has no such thing. */
PyObject *
of_pairs(PyObject *ufunc, PyObject *np, PyObject *x, PyObject *y)
{
    PyUFuncObject *own = (PyUFuncObject *)np;
    if (np == NULL || own->nin != 2 || own->nout != 1 || own->core_enabled) {
        return NULL;
    }
    PyObject *axes = PyObject_GetAttrString(y, "ndim"), *left = NULL, *r = NULL;
    Py_ssize_t count = axes == NULL ? -1 : PyLong_AsSsize_t(axes);
    PyObject *key = count < 0 ? NULL : PyTuple_New(1 + count);
    if (key != NULL) {
        for (Py_ssize_t k = 0; k <= count; k++) {
            PyTuple_SET_ITEM(key, k, Py_NewRef(k == 0 ? Py_Ellipsis : Py_None));
        }
        left = PyObject_GetItem(x, key);
    }
    if (left != NULL) {
        PyObject *args[] = {left, y};
        r = PyObject_Vectorcall(ufunc, args, 2, NULL);
    }
    Py_XDECREF(left);
    Py_XDECREF(key);
    Py_XDECREF(axes);
    return r;
}

/* A call in any form that has all of its arrays at hand; set `done` if it was called. */
static PyObject *
of_small(Callable *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int *done)
{
    static PyObject *out_name;
    PyObject *given[MOST_ARGUMENTS] = {NULL}, *r = NULL, *out = NULL;
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), k = 0;
    Py_ssize_t read = self->np == NULL ? 0 : ((PyUFuncObject *)self->np)->nin;
    int outs = 0;
    for (; count >= read && k < total; k++) {
        PyObject *name = k < count ? NULL : PyTuple_GET_ITEM(kwnames, k - count);
        int is_out = (k >= read && k < count) || (name != NULL && name == intern(&out_name, "out"));
        is_out = is_out && args[k] != Py_None;
        PyObject *arg = args[k];
        if (is_out && name != NULL && PyTuple_CheckExact(arg) && PyTuple_GET_SIZE(arg) == 1) {
            arg = PyTuple_GET_ITEM(arg, 0);
        }
        given[k] = given_as(arg, name, is_out);
        if (given[k] == NULL) {
            break;
        }
        outs += is_out;
        out = is_out ? arg : out;
    }
    int fits = read > 0 && count >= read && k == total &&
               (outs == 0 || (outs == 1 && ((PyUFuncObject *)self->np)->nout == 1));
    if (fits && stays_small(self->np, given, read)) {
        *done = 1;
        int plain = outs == 0 ? total == read
                              : total == read + 1 && (kwnames != NULL || !warns_of_third(self->np));
        r = plain ? looped(self->np, given, (int)read, outs == 1 ? given[read] : NULL) : NULL;
        if (r == NULL && plain && !PyErr_Occurred()) {
            r = looped_mixed(self->np, given, (int)read, outs == 1 ? given[read] : NULL);
        }
        if (r == NULL && !PyErr_Occurred() && total == 2 && count == 2) {
            r = multiplied(self->np, given[0], given[1]);
        }
        if (r == NULL && !PyErr_Occurred()) {
            r = PyObject_Vectorcall(self->np, given, count, kwnames);
        }
        if (r != NULL && out != NULL) {
            Py_SETREF(r, Py_NewRef(out));
        }
        else {
            r = given_back(r, args, given, count);
        }
    }
    while (k-- > 0) {
        Py_XDECREF(given[k]);
    }
    return r;
}

static PyObject *
callable_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Callable *self = (Callable *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    static PyObject *out_name;
    int multiplies = self->np != NULL && ((PyUFuncObject *)self->np)->core_enabled;
    if (multiplies && before_product(args, count) < 0) {
        return NULL;
    }
    int simple = (count == 1 || count == 2) && PyLong_AsSsize_t(self->plain) == count;
    if (simple && kwnames == NULL) {
        PyObject *y = count == 2 ? args[1] : NULL;
        PyObject *made = world.array_type == NULL ? NULL : looped_alike(self->np, args[0], y);
        if (LIKELY(made != NULL) || PyErr_Occurred()) {
            return made;
        }
        int ours = world.array_type != NULL && (IS_ARRAY(args[0]) || (y != NULL && IS_ARRAY(y)));
        PyObject *r = ours ? recorded_between(self->row, args[0], y, 0) : NULL;
        if (r == NULL && !PyErr_Occurred()) {
            r = call_now(self->np, args[0], y);
        }
        if (r == NULL && !PyErr_Occurred() && ours) {
            r = record_now(self->row, args[0], y);
        }
        if (r == NULL && !PyErr_Occurred() && world.array_type != NULL &&
            (is_kin(args[0]) || (y != NULL && is_kin(y)))) {
            int done = 0;
            r = of_small(self, args, count, NULL, &done);
        }
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
    }
    else if (total <= MOST_ARGUMENTS && world.array_type != NULL) {
        int done = 0, named_out = simple && is_only(kwnames, &out_name, "out");
        int placed_out = (count == 2 || count == 3) && kwnames == NULL &&
                         PyLong_AsSsize_t(self->plain) == count - 1;
        PyObject *r = of_small(self, args, count, kwnames, &done);
        if (!done && !PyErr_Occurred() && (named_out || placed_out)) {
            r = into_large(self, args, named_out ? count : count - 1, kwnames);
        }
        if (r != NULL || done || PyErr_Occurred()) {
            return r;
        }
    }
    PyObject *more[MOST_ARGUMENTS + 1];
    if (total > MOST_ARGUMENTS) {
        PyObject **many = PyMem_New(PyObject *, total + 1);
        if (many == NULL) {
            return PyErr_NoMemory();
        }
        many[0] = callable;
        memcpy(many + 1, args, total * sizeof(PyObject *));
        PyObject *r = PyObject_Vectorcall(slow_ufunc, many, count + 1, kwnames);
        PyMem_Free(many);
        return r;
    }
    more[0] = callable;
    memcpy(more + 1, args, total * sizeof(PyObject *));
    return PyObject_Vectorcall(slow_ufunc, more, count + 1, kwnames);
}

static PyObject *
callable_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    Callable *made = (Callable *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->vectorcall = callable_call;
    }
    return (PyObject *)made;
}

static int
callable_traverse(Callable *self, visitproc visit, void *arg)
{
    Py_VISIT(self->np);
    Py_VISIT(self->plain);
    Py_VISIT(self->row);
    Py_VISIT(self->name);
    return 0;
}

static int
callable_clear(Callable *self)
{
    Py_CLEAR(self->np);
    Py_CLEAR(self->plain);
    Py_CLEAR(self->row);
    Py_CLEAR(self->name);
    return 0;
}

static void
callable_dealloc(Callable *self)
{
    PyObject_GC_UnTrack(self);
    callable_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef callable_members[] = {
    {"_np", T_OBJECT_EX, offsetof(Callable, np), 0, NULL},
    {"_plain", T_OBJECT_EX, offsetof(Callable, plain), 0, NULL},
    {"_row", T_OBJECT_EX, offsetof(Callable, row), 0, NULL},
    {"__name__", T_OBJECT_EX, offsetof(Callable, name), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Callable_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Callable",
    .tp_doc = "The slots of a ufunc, and calls that need no look at the engine.",
    .tp_basicsize = sizeof(Callable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Callable, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = callable_new,
    .tp_dealloc = (destructor)callable_dealloc,
    .tp_traverse = (traverseproc)callable_traverse,
    .tp_clear = (inquiry)callable_clear,
    .tp_members = callable_members,
};

/* Let instances of the class that Python derived be called without a tuple in between. */
PyObject *
take_ufunc(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *type, *slow;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &slow)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)type, &Callable_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class derived from Callable");
        return NULL;
    }
    Py_XSETREF(slow_ufunc, Py_NewRef(slow));
    ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified((PyTypeObject *)type);
    Py_RETURN_NONE;
}
