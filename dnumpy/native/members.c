/* Methods and attributes of arrays: NumPy's where NumPy may answer now, else Python's.

   Both are what Python finds in the class. What is asked of them (documentation, signature, name) is
   answered by the function or property that they stand before. */

#include "record.h"

typedef struct {
    PyObject_HEAD
    PyObject *slow;   /* the function or property of Python's */
    PyObject *numpys; /* NumPy's method, or the attribute's name */
    PyObject *records; /* what records again as it did before, or None: see replay.c */
    int marked; /* whether the method writes to its array, or makes an element for each pair of its
                   operands'; whether a managed array, too, has the attribute at hand */
    int arrays; /* how many arguments after the first may be arrays */
    int managed; /* the short way of large arrays, or NOT_SHORT: see lone.c */
    int kind;   /* which of those in handle.h the method is, -1 of none; UNASKED until then */
    const PyGetSetDef *numpys_own; /* how NumPy's arrays get the attribute, in a table of its class */
    vectorcallfunc vectorcall;
} Member;

static int
member_traverse(Member *self, visitproc visit, void *arg)
{
    Py_VISIT(self->slow);
    Py_VISIT(self->numpys);
    Py_VISIT(self->records);
    return 0;
}

static int
member_clear(Member *self)
{
    Py_CLEAR(self->slow);
    Py_CLEAR(self->numpys);
    Py_CLEAR(self->records);
    return 0;
}

static void
member_dealloc(Member *self)
{
    PyObject_GC_UnTrack(self);
    member_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* What is a matter of the type is answered here, all else by what Python has. */
static PyObject *
member_get(PyObject *self, PyObject *name)
{
    PyObject *slow = ((Member *)self)->slow;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) {
        return NULL;
    }
    if (strcmp(text, "__class__") == 0 || strcmp(text, "__call__") == 0 ||
        strcmp(text, "__get__") == 0 || strcmp(text, "__set__") == 0 ||
        strcmp(text, "__delete__") == 0 || strncmp(text, "__reduce", 8) == 0 || slow == NULL) {
        return PyObject_GenericGetAttr(self, name);
    }
    return PyObject_GetAttr(slow, name);
}

static int
member_set(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Member *)self)->slow, name, value);
}

static PyObject *
member_repr(PyObject *self)
{
    return PyObject_Repr(((Member *)self)->slow);
}

#define UNASKED (-2)

/* is_of_kind, of the method itself. */
static inline int
is_itself(Member *self, int kind)
{
    if (self->kind == UNASKED && world.kinds != NULL) {
        PyObject *found = PyDict_GetItemWithError(world.kinds, self->numpys);
        self->kind = found == NULL ? -1 : (int)PyLong_AsLong(found);
    }
    return self->kind == kind;
}

static Member *
member_made(PyTypeObject *type, PyObject *slow, PyObject *numpys)
{
    Member *made = (Member *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->slow = Py_NewRef(slow);
        made->numpys = Py_NewRef(numpys);
        made->kind = UNASKED;
        made->managed = NOT_SHORT;
    }
    return made;
}

/* What the method of Python's gives, for arrays of ours. */
static PyObject *
own_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Member *self = (Member *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (is_elsewhere(args, count)) {
        return elsewhere(self->numpys, args, count, kwnames);
    }
    return PyObject_Vectorcall(self->slow, args, nargsf, kwnames);
}

/* ---------------------------------------------------------------- methods */

/* What NumPy's method is given for an argument, new; NULL without an error where Python looks. */
static PyObject *
given_for(PyObject *x, int may_be_array)
{
    if (IS_ARRAY(x)) {
        PyObject *np = may_be_array ? small_of(x) : NULL;
        return Py_XNewRef(np);
    }
    int is_read = is_plain(world.plain, x) || is_immediate(x) ||
                  (may_be_array && (is_at_once(x) || is_numbers(x)));
    return is_read ? Py_NewRef(x) : NULL;
}

/* Say whether a method runs over what lies here, and may do so now. */
static int
runs_over(PyObject *method, PyObject *own)
{
    return is_of_kind(method, RUNS) &&
           is_run_over(own, 2 * PyArray_NBYTES((PyArrayObject *)own));
}

/* Say whether a method looks a few elements up, whatever there is to look at. */
static int
looks_up(PyObject *method, PyObject *const *args, Py_ssize_t count)
{
    int may = is_of_kind(method, LOOKS_UP);
    for (Py_ssize_t k = 1; may && k < count; k++) {
        PyObject *x = IS_ARRAY(args[k]) ? small_of(args[k]) : args[k];
        may = x != NULL && (PyUnicode_CheckExact(x) || is_few(x));
    }
    return may;
}

/* What a product of two arrays that lie here gives, if that is little work; NULL without an error of
   others. */
static PyObject *
little_product(PyObject *method, PyObject *own, PyObject *const *args)
{
    PyObject *other = lying_here(args[1]), *r = NULL;
    if (other != NULL && IS_NUMPYS(other) && is_little_product(own, other)) {
        PyObject *given[] = {own, other};
        r = result(PyObject_Vectorcall(method, given, 2, NULL), args[0], args[1]);
    }
    Py_XDECREF(other);
    return r;
}

/* The array may be followed by plain values, by position and by name, and by one more array: no
   method writes to its first argument. */
static PyObject *
method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Member *self = (Member *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (count > 1 && is_itself(self, MULTIPLIES) && before_product(args, count) < 0) {
        return NULL;
    }
    if (count > 0 && total <= MOST_ARGUMENTS && IS_ARRAY(args[0])) {
        PyObject *given[MOST_ARGUMENTS], *own = small_of(args[0]), *r = NULL, *site = NULL;
        Py_ssize_t large = 0;
        if (own == NULL && self->managed != NOT_SHORT) {
            r = short_of_managed(self->managed, 1, args, count, kwnames);
            if (r != NULL || PyErr_Occurred()) {
                return r;
            }
        }
        if (own == NULL && !self->marked) {
            r = viewed_by_method(self->numpys, args, count, kwnames);
            if (r != NULL || PyErr_Occurred()) {
                return r;
            }
        }
        own = own != NULL ? Py_NewRef(own) : self->marked ? NULL : peek(args[0]);
        if (own == NULL && !self->marked) { /* a copy of what is large */
            own = lying_here(args[0]);
            if (own != NULL && total == 2 && count == 2 && is_itself(self, MULTIPLIES)) {
                r = little_product(self->numpys, own, args);
                if (r != NULL || PyErr_Occurred()) {
                    Py_DECREF(own);
                    return r;
                }
            }
            if (own != NULL && PySet_Contains(world.same_bits, self->numpys) == 1) {
                large = 2 * PyArray_NBYTES((PyArrayObject *)own);
            }
            if (large > 0 && ends_early(self->numpys, own)) {
                large = 0;
            }
            else if (own == NULL ||
                     !(runs_over(self->numpys, own) || looks_up(self->numpys, args, count))) {
                site = large == 0 ? NULL : turn_of(self->numpys, large);
                if (site == NULL) {
                    Py_CLEAR(own);
                }
            }
        }
        given[0] = own;
        Py_ssize_t k = own != NULL;
        for (; k > 0 && k < total; k++) {
            given[k] = given_for(args[k], k <= self->arrays && k < count);
            if (given[k] == NULL) {
                break;
            }
        }
        int called = k == total;
        if (called) {
            double started = site == NULL ? 0 : seconds_now();
            PyObject *many = PyDict_GetItemWithError(world.many, self->numpys);
            r = many == NULL ? NULL : of_many(many, given, count, kwnames);
            if (r == NULL && !PyErr_Occurred()) {
                r = PyObject_Vectorcall(self->numpys, given, count, kwnames);
            }
            r = view_of(r, args[0], own);
            took(Py_XNewRef(site), started);
        }
        Py_XDECREF(site);
        while (k-- > 0) {
            Py_DECREF(given[k]);
        }
        if (called && !(r == NULL && refuses_elements(args, count))) {
            return r;
        }
        if (large > 0 && !PyErr_Occurred()) {
            return ours(self->slow, large, args, count, kwnames);
        }
        r = PyErr_Occurred() ? NULL : replayed(self->records, args, count, kwnames);
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
    }
    return own_call(callable, args, nargsf, kwnames);
}

/* Say whether an argument of `ufunc.reduce` is what it writes to. */
static int
is_out(Py_ssize_t k, Py_ssize_t count, PyObject *kwnames)
{
    return k < count ? k == 4
                     : PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k - count), "out") == 0;
}

/* What NumPy's method of a ufunc or a random stream made of plain values and small arrays. */
static PyObject *
called(Member *self, PyObject *first, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
       int *done)
{
    PyObject *given[MOST_ARGUMENTS] = {Py_NewRef(first)}, *r = NULL;
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), k = 1;
    for (; k < total; k++) {
        int several = k == 1 && count > 1 && (PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1]));
        given[k] = several && self->arrays > 0 ? given_sequence(args[1])
                                               : given_for(args[k], k <= self->arrays && k < count);
        if (given[k] == NULL && k == 1 && self->managed != NOT_SHORT && IS_ARRAY(args[1])) {
            given[k] = peek(args[1]); /* which it only reads */
        }
        if (given[k] == NULL && self->managed != NOT_SHORT && IS_ARRAY(args[k]) && is_out(k, count, kwnames)) {
            given[k] = Py_XNewRef(small_of(args[k]));
        }
        if (given[k] == NULL) {
            break;
        }
    }
    if (k == total && !(self->marked && count == 3 && paired_bytes(given[1], given[2]) > 0)) {
        *done = 1;
        r = PyObject_Vectorcall(self->numpys, given, count, kwnames);
        r = given_back(r, args, given, total);
    }
    while (k-- > 0) {
        Py_DECREF(given[k]);
    }
    return r;
}

enum { PAIRED = 2 }; /* `marked`: the method makes an element for each pair of its operands' */

static PyObject *
ufunc_method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Member *self = (Member *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (count > 1 && total <= MOST_ARGUMENTS && PyObject_TypeCheck(args[0], &Callable_Type)) {
        int done = 0;
        PyObject *np = wrapped_ufunc(args[0]);
        int pairs = self->marked == PAIRED && total == 3 && count == 3 && pairs_wait(args[1], args[2]);
        PyObject *r = pairs                          ? of_pairs(args[0], np, args[1], args[2])
                      : self->managed != NOT_SHORT ? reduced_of_managed(np, args + 1, count - 1, kwnames)
                                                   : NULL;
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
        r = called(self, np, args, count, kwnames, &done);
        if (done) {
            return r;
        }
    }
    return PyObject_Vectorcall(self->slow, args, nargsf, kwnames);
}

static PyObject *
stream_method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    static PyObject *plain_name;
    Member *self = (Member *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)), k = 1;
    if (count > 0 && total <= MOST_ARGUMENTS) {
        while (k < total && draws_few(args[k])) {
            k++;
        }
        PyObject *stream = PyObject_GetAttr(args[0], intern(&plain_name, "_plain"));
        if (stream == NULL) {
            return NULL;
        }
        int done = 0;
        PyObject *r = NULL;
        if (k == total) {
            r = called(self, stream == Py_None ? args[0] : stream, args, count, kwnames, &done);
        }
        Py_DECREF(stream);
        if (done) {
            return r;
        }
    }
    return PyObject_Vectorcall(self->slow, args, nargsf, kwnames);
}

/* `__array_ufunc__(array, ufunc, "__call__", x[, y])`: what a scalar or an array of NumPy's times an
   array of ours is, and what other packages make of ours by NumPy's functions. */
static PyObject *
protocol_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (kwnames == NULL && (count == 4 || count == 5) && PyUnicode_Check(args[2]) &&
        IS_ARRAY(args[0]) && PyUnicode_CompareWithASCIIString(args[2], "__call__") == 0) {
        PyObject *r = call_now(args[1], args[3], count == 5 ? args[4] : NULL);
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
    }
    return own_call(callable, args, nargsf, kwnames);
}

static PyObject *
method_bound(PyObject *self, PyObject *array, PyObject *Py_UNUSED(type))
{
    if (array == NULL || array == Py_None) {
        int defers = ((Member *)self)->vectorcall == protocol_call && is_at_operator();
        return Py_NewRef(defers ? Py_None : self);
    }
    return PyMethod_New(self, array);
}

static PyObject *
method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"slow", "numpys", "of", "writes", "arrays", "records", NULL};
    static const struct {
        const char *of;
        vectorcallfunc call;
    } kinds[] = {
        {"array", method_call},
        {"own", own_call},
        {"ufunc", ufunc_method_call},
        {"pairs", ufunc_method_call},
        {"stream", stream_method_call},
        {"protocol", protocol_call},
    };
    PyObject *slow, *numpys, *records;
    const char *of;
    int writes, arrays;
    vectorcallfunc call = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOspiO", keywords, &slow, &numpys, &of, &writes,
                                     &arrays, &records)) {
        return NULL;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        call = strcmp(of, kinds[k].of) == 0 ? kinds[k].call : call;
    }
    if (call == NULL) {
        return PyErr_Format(PyExc_ValueError, "no kind of method is of %s", of);
    }
    Member *made = member_made(type, slow, numpys);
    if (made != NULL) {
        made->marked = strcmp(of, "pairs") == 0 ? PAIRED : writes;
        made->arrays = arrays;
        made->managed = call == method_call || call == ufunc_method_call ? short_named(slow) : NOT_SHORT;
        made->records = Py_NewRef(records);
        made->vectorcall = call;
    }
    return (PyObject *)made;
}

static PyObject *
method_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyObject_GetAttrString(((Member *)self)->slow, "__qualname__");
}

static PyMethodDef method_methods[] = {
    {"__reduce__", method_reduce, METH_NOARGS, "Pickle by name."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Method_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Method",
    .tp_doc = "A method of arrays: NumPy's on small ones, else the function that it was made of.",
    .tp_basicsize = sizeof(Member),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Member, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = method_new,
    .tp_dealloc = (destructor)member_dealloc,
    .tp_traverse = (traverseproc)member_traverse,
    .tp_clear = (inquiry)member_clear,
    .tp_getattro = member_get,
    .tp_setattro = member_set,
    .tp_repr = member_repr,
    .tp_methods = method_methods,
    .tp_descr_get = method_bound,
};

/* ---------------------------------------------------------------- attributes */

enum { FACT = 1, VIEW };

/* NumPy's attribute by the name of one, new. */
static PyObject *
numpys_attribute(PyObject *self)
{
    return PyObject_GetAttr((PyObject *)&PyArray_Type, ((Member *)self)->numpys);
}

/* What NumPy's attribute makes of what is no array of ours; `how`: what is done with it. */
static PyObject *
attribute_elsewhere(PyObject *self, const char *how, PyObject *object, PyObject *value)
{
    PyObject *attribute = numpys_attribute(self);
    PyObject *does = attribute == NULL ? NULL : PyObject_GetAttrString(attribute, how);
    PyObject *args[] = {object, value};
    PyObject *r = does == NULL ? NULL : elsewhere(does, args, value == NULL ? 1 : 2, NULL);
    Py_XDECREF(does);
    Py_XDECREF(attribute);
    return r;
}

/* What the property of Python's has; of a class, the attribute itself. */
static PyObject *
property_get(PyObject *self, PyObject *array, PyObject *type)
{
    if (array == NULL || array == Py_None) {
        return Py_NewRef(self);
    }
    if (is_elsewhere(&array, 1)) {
        return attribute_elsewhere(self, "__get__", array, NULL);
    }
    PyObject *slow = ((Member *)self)->slow;
    return Py_TYPE(slow)->tp_descr_get(slow, array, type);
}

static PyObject *
attribute_get(PyObject *callable, PyObject *array, PyObject *type)
{
    Member *self = (Member *)callable;
    if (array == NULL || array == Py_None) {
        return Py_NewRef(self);
    }
    PyObject *own = IS_ARRAY(array) ? small_of(array) : NULL;
    if (own == NULL) {
        if (!IS_ARRAY(array)) {
            return property_get(callable, array, type);
        }
        PyObject *told = self->marked == FACT ? managed_fact((Handle *)array, self->numpys)
                         : self->marked == VIEW ? viewed_by_attribute(self->numpys, array)
                                                : NULL;
        if (told != NULL || PyErr_Occurred()) {
            return told;
        }
        return Py_TYPE(self->slow)->tp_descr_get(self->slow, array, type);
    }
    Py_INCREF(own);
    PyObject *found = self->numpys_own != NULL
                          ? self->numpys_own->get(own, self->numpys_own->closure)
                          : PyObject_GetAttr(own, self->numpys);
    PyObject *r = self->marked == FACT ? found : view_of(found, array, own); /* which is no array */
    Py_DECREF(own);
    return r;
}

static int
attribute_set(PyObject *callable, PyObject *array, PyObject *value)
{
    PyObject *slow = ((Member *)callable)->slow;
    if (is_elsewhere(&array, 1)) {
        const char *how = value == NULL ? "__delete__" : "__set__";
        PyObject *done = attribute_elsewhere(callable, how, array, value);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    return Py_TYPE(slow)->tp_descr_set(slow, array, value);
}

/* What the property tells, or else what NumPy's attribute does. */
static PyObject *
attribute_told(PyObject *self, PyObject *name)
{
    PyObject *found = member_get(self, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyObject *attribute = numpys_attribute(self);
        found = attribute == NULL ? NULL : PyObject_GetAttr(attribute, name);
        Py_XDECREF(attribute);
    }
    return found;
}

static PyObject *
attribute_repr(PyObject *self)
{
    PyObject *attribute = numpys_attribute(self);
    PyObject *text = attribute == NULL ? NULL : PyObject_Repr(attribute);
    Py_XDECREF(attribute);
    return text;
}

static PyObject *
attribute_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"slow", "name", "is_fact", "is_view", NULL};
    PyObject *slow, *name;
    int is_fact = 0, is_view = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!U|pp", keywords, &PyProperty_Type, &slow,
                                     &name, &is_fact, &is_view)) {
        return NULL;
    }
    Member *made = member_made(type, slow, name);
    if (made != NULL) {
        PyObject *descriptor = PyObject_GetAttr((PyObject *)&PyArray_Type, name);
        if (descriptor != NULL && Py_TYPE(descriptor) == &PyGetSetDescr_Type) {
            made->numpys_own = ((PyGetSetDescrObject *)descriptor)->d_getset;
        }
        Py_XDECREF(descriptor);
        PyErr_Clear();
        made->marked = is_fact ? FACT : is_view ? VIEW : 0;
    }
    return (PyObject *)made;
}

PyTypeObject Attribute_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Attribute",
    .tp_doc = "An attribute of arrays: NumPy's of small ones, else what a property says.",
    .tp_basicsize = sizeof(Member),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = attribute_new,
    .tp_dealloc = (destructor)member_dealloc,
    .tp_traverse = (traverseproc)member_traverse,
    .tp_clear = (inquiry)member_clear,
    .tp_getattro = attribute_told,
    .tp_setattro = member_set,
    .tp_repr = attribute_repr,
    .tp_descr_get = attribute_get,
    .tp_descr_set = attribute_set,
};

PyTypeObject Property_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Property",
    .tp_doc = "An attribute of arrays: what a property says.",
    .tp_basicsize = sizeof(Member),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = attribute_new,
    .tp_dealloc = (destructor)member_dealloc,
    .tp_traverse = (traverseproc)member_traverse,
    .tp_clear = (inquiry)member_clear,
    .tp_getattro = attribute_told,
    .tp_setattro = member_set,
    .tp_repr = attribute_repr,
    .tp_descr_get = property_get,
    .tp_descr_set = attribute_set,
};
