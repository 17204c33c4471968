/* What other packages have compiled is called with NumPy's arrays in place of ours.

   Compiled code asks for NumPy's class itself, by the pointer, and refuses an array of ours ("expected
   numpy.ndarray"), or takes the memory that it is shown for its own copy. So its functions are called
   through `Handing`, its methods through `HandingMethod`, and the classes' own slots through the ones
   below. Each looks at the classes of what it is given, some nanoseconds, since most calls are a
   package's own, of NumPy's arrays. Where one of ours is among it, it asks, once for a module, whether that
   knows NumPy at all: what decorates functions or keeps objects is given ours as they are. */

#include "handle.h"

#define LOOKED_THROUGH 1000 /* items of a list that are looked at: more are a package's own data */
#define ON_STACK 16         /* arguments */

#define MOST_OTHERS 4       /* classes */

static PyObject *handed;   /* what gives NumPy's array, scalar or container for one of ours */
static PyObject *looked;   /* whether a module's file, by its path, knows NumPy */
static PyObject *slots_of; /* class -> capsule of the slots it had */
static PyTypeObject *others[MOST_OTHERS]; /* whose instances are ours too: pending scalars, streams */
static int count_others;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *weak;
    PyObject *home; /* [whether it knows NumPy, None before it was asked; the path], one for a module */
} Handing;

/* Whether what is compiled in a module takes NumPy's arrays for what they are; -1 with an error. */
static int
knows_numpy(PyObject *home)
{
    PyObject *known = PyList_GET_ITEM(home, 0);
    if (known == Py_None) {
        known = PyObject_CallOneArg(looked, PyList_GET_ITEM(home, 1));
        if (known == NULL) {
            return -1;
        }
        PyList_SetItem(home, 0, known);
    }
    return known == Py_True;
}

static inline int
is_ours(PyObject *x)
{
    if (IS_ARRAY(x) || x == (PyObject *)world.array_type) {
        return 1;
    }
    int k = 0;
    while (k < count_others && !Py_IS_TYPE(x, others[k])) {
        k++;
    }
    return k < count_others;
}

/* Whether a list or a tuple, but for those in it, has something of ours, or a dict as a value. */
static int
holds_ours(PyObject *x)
{
    if (PyDict_CheckExact(x)) {
        PyObject *value;
        for (Py_ssize_t at = 0; PyDict_GET_SIZE(x) <= LOOKED_THROUGH && PyDict_Next(x, &at, NULL, &value);) {
            if (is_ours(value)) {
                return 1;
            }
        }
        return 0;
    }
    if (!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) {
        return 0;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(x);
    PyObject **items = PySequence_Fast_ITEMS(x);
    for (Py_ssize_t k = 0; count <= LOOKED_THROUGH && k < count; k++) {
        if (is_ours(items[k])) {
            return 1;
        }
    }
    return 0;
}

/* A function, an attribute that chooses what it is by the object, and one that is called with it first. */
static PyTypeObject Handing_Type, HandingBound_Type, HandingMethod_Type;

static inline int
is_handing(PyObject *x)
{
    return Py_IS_TYPE(x, &Handing_Type) || Py_IS_TYPE(x, &HandingMethod_Type) ||
           Py_IS_TYPE(x, &HandingBound_Type);
}

static inline int
is_to_be_handed(PyObject *x)
{
    return x != NULL && (is_ours(x) || is_handing(x) || holds_ours(x));
}

/* What compiled code is to have for an argument, new: for its own functions those, which it may look
   into (SWIG makes methods of them). */
static PyObject *
handed_one(PyObject *x)
{
    if (x != NULL && is_handing(x)) {
        return Py_NewRef(((Handing *)x)->function);
    }
    return is_to_be_handed(x) ? PyObject_CallOneArg(handed, x) : Py_NewRef(x);
}

/* Put ours where a result, or an item of several, is the array that stood for it. */
static void
give_back(PyObject **found, PyObject *stood, PyObject *ours)
{
    if (*found == stood) {
        Py_SETREF(*found, Py_NewRef(ours));
    }
    else if (PyTuple_CheckExact(*found) && Py_REFCNT(*found) == 1) { /* which no one else has seen */
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(*found); k++) {
            if (PyTuple_GET_ITEM(*found, k) == stood) {
                PyTuple_SET_ITEM(*found, k, Py_NewRef(ours));
                Py_DECREF(stood);
            }
        }
    }
}

/* Call with NumPy's in place of the arguments from `first` on that hold something of ours. What gives
   back an array that it was given, to write to, gives ours. */
static PyObject *
call_handing(const Handing *self, PyObject *const *args, Py_ssize_t given, PyObject *kwnames,
             Py_ssize_t first)
{
    int knows = knows_numpy(self->home);
    if (knows < 0) {
        return NULL;
    }
    Py_ssize_t count = given + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), k;
    PyObject *few[ON_STACK], **made = few, *found = NULL;
    if (count > ON_STACK && (made = PyMem_New(PyObject *, count)) == NULL) {
        return PyErr_NoMemory();
    }
    for (k = 0; k < count; k++) {
        int as_it_is = k < first || !(knows || is_handing(args[k]));
        made[k] = as_it_is ? Py_NewRef(args[k]) : handed_one(args[k]);
        if (made[k] == NULL) {
            break;
        }
    }
    if (k == count) {
        found = PyObject_Vectorcall(self->function, made, (size_t)given, kwnames);
    }
    while (k > 0) {
        k--;
        if (found != NULL && made[k] != args[k] && IS_ARRAY(args[k])) {
            give_back(&found, made[k], args[k]);
        }
        Py_DECREF(made[k]);
    }
    if (made != few) {
        PyMem_Free(made);
    }
    return found;
}

static PyObject *
handing_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *kwnames)
{
    Py_ssize_t given = PyVectorcall_NARGS(flagged);
    Py_ssize_t count = given + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    for (Py_ssize_t k = 0; k < count; k++) {
        if (is_to_be_handed(args[k])) {
            return call_handing((Handing *)self, args, given, kwnames, k);
        }
    }
    return PyObject_Vectorcall(((Handing *)self)->function, args, flagged, kwnames);
}

static int
handing_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Handing *)self)->function);
    Py_VISIT(((Handing *)self)->home);
    return 0;
}

static int
handing_clear(PyObject *self)
{
    Py_CLEAR(((Handing *)self)->function);
    Py_CLEAR(((Handing *)self)->home);
    return 0;
}

static void
handing_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((Handing *)self)->weak != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    handing_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* Everything is asked of the function: its name, its signature, its class, how it is pickled. */
static PyObject *
handing_get(PyObject *self, PyObject *name)
{
    return PyObject_GetAttr(((Handing *)self)->function, name);
}

static int
handing_set(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Handing *)self)->function, name, value);
}

static PyObject *
handing_repr(PyObject *self)
{
    return PyObject_Repr(((Handing *)self)->function);
}

static PyObject *handing_of(PyObject *function, PyObject *home);

static PyObject *
handing_bound(PyObject *self, PyObject *object, PyObject *type)
{
    PyObject *function = ((Handing *)self)->function;
    if (object != NULL && object != Py_None && Py_IS_TYPE(self, &HandingMethod_Type)) {
        return PyMethod_New(self, object);
    }
    PyObject *found = Py_TYPE(function)->tp_descr_get(function, object, type);
    PyObject *made = found == NULL        ? NULL
                     : found == function ? Py_NewRef(self)
                                         : handing_of(found, ((Handing *)self)->home);
    Py_XDECREF(found);
    return made;
}

/* Return what calls a function so; a method where it becomes one as an attribute of an object. */
static PyObject *
handing_of(PyObject *function, PyObject *home)
{
    if (is_handing(function)) {
        return Py_NewRef(function);
    }
    PyTypeObject *type = PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_METHOD_DESCRIPTOR)
                             ? &HandingMethod_Type
                         : Py_TYPE(function)->tp_descr_get != NULL ? &HandingBound_Type
                                                                   : &Handing_Type;
    Handing *self = PyObject_GC_New(Handing, type);
    if (self != NULL) {
        self->call = handing_call;
        self->function = Py_NewRef(function);
        self->home = Py_NewRef(home);
        self->weak = NULL;
        PyObject_GC_Track(self);
    }
    return (PyObject *)self;
}

/* `f[double]`, which chooses one of a fused function's. */
static PyObject *
handing_choose(PyObject *self, PyObject *key)
{
    PyObject *found = PyObject_GetItem(((Handing *)self)->function, key);
    PyObject *made = found == NULL ? NULL : handing_of(found, ((Handing *)self)->home);
    Py_XDECREF(found);
    return made;
}

static PyMappingMethods handing_mapping = {.mp_subscript = handing_choose};

#define HANDING(NAME, FLAGS, BOUND)                                                                \
    {                                                                                              \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dnumpy.native._native." NAME,                    \
        .tp_basicsize = sizeof(Handing), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |     \
                                                     Py_TPFLAGS_HAVE_VECTORCALL | FLAGS,           \
        .tp_doc = "A compiled function, called with NumPy's arrays in place of ours.",             \
        .tp_vectorcall_offset = offsetof(Handing, call), .tp_call = PyVectorcall_Call,             \
        .tp_weaklistoffset = offsetof(Handing, weak), .tp_dealloc = handing_dealloc,               \
        .tp_traverse = handing_traverse, .tp_clear = handing_clear, .tp_getattro = handing_get,    \
        .tp_setattro = handing_set, .tp_repr = handing_repr, .tp_descr_get = BOUND,                \
        .tp_as_mapping = &handing_mapping,                                                         \
    }

static PyTypeObject Handing_Type = HANDING("Handing", 0, NULL);
static PyTypeObject HandingBound_Type = HANDING("HandingBound", 0, handing_bound);
static PyTypeObject HandingMethod_Type =
    HANDING("HandingMethod", Py_TPFLAGS_METHOD_DESCRIPTOR, handing_bound);

/* The slots of a class that are called with what a program gives, as they were. */
typedef struct {
    initproc init;
    newfunc new;
    ternaryfunc call;
    binaryfunc get;
    objobjargproc set;
    PyObject *home;
} Slots;

/* What the class, or the one in C that it is derived from, had. There is one: none is changed that is
   derived from another, since slots of a class call those of its base with its own objects. A class
   statement makes slots that look a method up, and finds those that stand for these. */
static const Slots *
slots_for(PyTypeObject *type)
{
    for (; type != NULL; type = type->tp_base) {
        PyObject *found = PyDict_GetItemWithError(slots_of, (PyObject *)type);
        if (found != NULL) {
            return PyCapsule_GetPointer(found, NULL);
        }
    }
    Py_FatalError("a class has a slot of dnumpy's that no class it is derived from had");
}

/* What a slot is to have for what it was given, new; NULL with an error. */
static PyObject *
for_slot(const Slots *had, PyObject *x)
{
    int ours = is_to_be_handed(x);
    for (Py_ssize_t k = 0; !ours && PyTuple_CheckExact(x) && k < PyTuple_GET_SIZE(x); k++) {
        ours = is_to_be_handed(PyTuple_GET_ITEM(x, k));
    }
    int knows = ours ? knows_numpy(had->home) : 0;
    return knows < 0 ? NULL : knows ? PyObject_CallOneArg(handed, x) : Py_NewRef(x);
}

/* The same of positional and of named arguments; -1 with an error. */
static int
for_slot_all(const Slots *had, PyObject **args, PyObject **kwargs)
{
    *args = for_slot(had, *args);
    if (*args == NULL) {
        return -1;
    }
    *kwargs = *kwargs == NULL ? NULL : for_slot(had, *kwargs);
    if (*kwargs == NULL && PyErr_Occurred()) {
        Py_CLEAR(*args);
        return -1;
    }
    return 0;
}

static int
init_handing(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const Slots *had = slots_for(Py_TYPE(self));
    if (for_slot_all(had, &args, &kwargs) < 0) {
        return -1;
    }
    int done = had->init(self, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return done;
}

static PyObject *
new_handing(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const Slots *had = slots_for(type);
    if (for_slot_all(had, &args, &kwargs) < 0) {
        return NULL;
    }
    PyObject *made = had->new(type, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return made;
}

static PyObject *
slot_call_handing(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const Slots *had = slots_for(Py_TYPE(self));
    if (for_slot_all(had, &args, &kwargs) < 0) {
        return NULL;
    }
    PyObject *found = had->call(self, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return found;
}

static PyObject *
get_handing(PyObject *self, PyObject *key)
{
    const Slots *had = slots_for(Py_TYPE(self));
    PyObject *made = for_slot(had, key);
    PyObject *found = made == NULL ? NULL : had->get(self, made);
    Py_XDECREF(made);
    return found;
}

static int
set_handing(PyObject *self, PyObject *key, PyObject *value)
{
    const Slots *had = slots_for(Py_TYPE(self));
    PyObject *made = for_slot(had, key), *given = value == NULL ? NULL : for_slot(had, value);
    int failed = made == NULL || (value != NULL && given == NULL);
    int done = failed ? -1 : had->set(self, made, given);
    Py_XDECREF(made);
    Py_XDECREF(given);
    return done;
}

/* Put the slots above where a class, or one that has inherited them from it, has what it had. Classes of
   a statement may have several bases, but what makes their instances from one alone. */
static int
put_slots(PyTypeObject *type, const Slots *had)
{
    PyMappingMethods *mapping = type->tp_as_mapping;
    int in_c = !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || PyDict_Contains(slots_of, (PyObject *)type);
    if (had->new != NULL && type->tp_new == had->new) {
        type->tp_new = new_handing;
    }
    if (in_c && had->init != NULL && type->tp_init == had->init) {
        type->tp_init = init_handing;
    }
    if (in_c && had->call != NULL && type->tp_call == had->call) {
        type->tp_call = slot_call_handing;
    }
    if (in_c && had->get != NULL && mapping != NULL && mapping->mp_subscript == had->get) {
        mapping->mp_subscript = get_handing;
    }
    if (in_c && had->set != NULL && mapping != NULL && mapping->mp_ass_subscript == had->set) {
        mapping->mp_ass_subscript = set_handing;
    }
    PyObject *derived = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", type);
    int failed = derived == NULL;
    for (Py_ssize_t k = 0; !failed && k < PyList_GET_SIZE(derived); k++) {
        PyTypeObject *other = (PyTypeObject *)PyList_GET_ITEM(derived, k);
        failed = other->tp_base == type && put_slots(other, had) < 0;
    }
    Py_XDECREF(derived);
    return failed ? -1 : 0;
}

/* Change the slots of a class that is derived from `object` alone, and remember what they were. */
static int
change_slots(PyTypeObject *type, PyObject *dict, PyObject *home)
{
    Slots *had = PyMem_New(Slots, 1);
    PyObject *kept = had == NULL ? NULL : PyCapsule_New(had, NULL, NULL);
    if (kept == NULL || PyDict_SetItem(slots_of, (PyObject *)type, kept) < 0) {
        Py_XDECREF(kept);
        PyMem_Free(had);
        return -1;
    }
    Py_DECREF(kept);
    PyMappingMethods *mapping = type->tp_as_mapping;
    int called_so = !(type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL);
    *had = (Slots){type->tp_init == PyBaseObject_Type.tp_init ? NULL : type->tp_init,
                   type->tp_new == PyBaseObject_Type.tp_new ? NULL : type->tp_new,
                   called_so ? type->tp_call : NULL,
                   mapping == NULL ? NULL : mapping->mp_subscript,
                   mapping == NULL ? NULL : mapping->mp_ass_subscript, Py_NewRef(home)};
    static const char *names[] = {"__init__", "__call__", "__getitem__", "__setitem__", "__delitem__"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        PyObject *found = PyDict_GetItemString(dict, names[k]);
        if (found != NULL && Py_IS_TYPE(found, &PyWrapperDescr_Type)) {
            PyObject *made = handing_of(found, home);
            int failed = made == NULL || PyDict_SetItemString(dict, names[k], made) < 0;
            Py_XDECREF(made);
            if (failed) {
                return -1;
            }
        }
    }
    return put_slots(type, had);
}

/* Have the methods of a class, by their names, be called so. */
static int
change_methods(PyObject *dict, PyObject *names, PyObject *home)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); k++) {
        PyObject *name = PyTuple_GET_ITEM(names, k);
        PyObject *found = PyDict_GetItemWithError(dict, name);
        PyObject *made = found == NULL ? NULL : handing_of(found, home);
        int failed = made == NULL || PyDict_SetItem(dict, name, made) < 0;
        Py_XDECREF(made);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* `hand_over_in(type, names, slots, home)`: have what a compiled class has by these names called with
   NumPy's arrays, and perhaps, where it is derived from `object` alone, its own slots. */
PyObject *
hand_over_in(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *type;
    PyObject *names, *home;
    int slots;
    if (!PyArg_ParseTuple(args, "O!O!pO!", &PyType_Type, &type, &PyTuple_Type, &names, &slots,
                          &PyList_Type, &home)) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);
#else
    PyObject *dict = Py_XNewRef(type->tp_dict);
#endif
    if (dict == NULL) {
        PyErr_Format(PyExc_TypeError, "a class has nothing in it: %R", type);
        return NULL;
    }
    int failed = change_methods(dict, names, home) < 0;
    int known = failed ? 0 : PyDict_Contains(slots_of, (PyObject *)type);
    if (!failed && slots && !known && type->tp_base == &PyBaseObject_Type) {
        failed = change_slots(type, dict, home) < 0;
    }
    Py_DECREF(dict);
    PyType_Modified(type);
    if (failed || known < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* `handing(function, home)`: the function, called with NumPy's arrays in place of ours. */
PyObject *
handing(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *home;
    if (!PyArg_ParseTuple(args, "OO!", &function, &PyList_Type, &home)) {
        return NULL;
    }
    return handing_of(function, home);
}

/* `hand_over_by(function, types, looks)`: keep what gives NumPy's, whose instances it does that for,
   besides arrays, and what says whether a file knows NumPy. */
PyObject *
hand_over_by(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *types, *looks;
    if (!PyArg_ParseTuple(args, "OO!O", &function, &PyTuple_Type, &types, &looks)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(types) > MOST_OTHERS) {
        return PyErr_Format(PyExc_ValueError, "expected %d classes or fewer", MOST_OTHERS);
    }
    if (slots_of == NULL && ((slots_of = PyDict_New()) == NULL || PyType_Ready(&Handing_Type) < 0 ||
                             PyType_Ready(&HandingBound_Type) < 0 ||
                             PyType_Ready(&HandingMethod_Type) < 0)) {
        return NULL;
    }
    Py_XSETREF(handed, Py_NewRef(function));
    Py_XSETREF(looked, Py_NewRef(looks));
    for (count_others = 0; count_others < PyTuple_GET_SIZE(types); count_others++) {
        others[count_others] = (PyTypeObject *)Py_NewRef(PyTuple_GET_ITEM(types, count_others));
    }
    Py_RETURN_NONE;
}
