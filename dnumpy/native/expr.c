/* Exprs: their slots, and the one that stands for all equal ones while it is pending.

   What tells two apart is the identity of their ops and operands: an operand that is another Expr
   lives as long as what reads it is pending, so that its address is a name. */

#include "expr.h"

PyTypeObject *expr_class;

/* Those that equal ones find, by their hash: places that are free, were left, or have one. An Expr
   leaves when it dies, so that none of them is held. */
static struct {
    Node **places;
    size_t room;              /* a power of two */
    size_t used, left;        /* places that have one, and that had */
    unsigned long long moves; /* changes so far */
} interned;

static Node gone; /* stands where one was */

static size_t
place_of(const Node *node)
{
    size_t at = (size_t)node->hash & (interned.room - 1);
    while (interned.places[at] != node && interned.places[at] != NULL) {
        at = (at + 1) & (interned.room - 1);
    }
    return at;
}

void
forget(Node *node)
{
    if (node->is_interned) {
        interned.places[place_of(node)] = &gone;
        interned.used--;
        interned.left++;
        interned.moves++;
        node->is_interned = 0;
    }
}

/* Make room for one more; -1 with an error. */
static int
make_room(void)
{
    if (4 * (interned.used + interned.left + 1) < 3 * interned.room) {
        return 0;
    }
    size_t room = 256;
    while (room < 4 * (interned.used + 1)) {
        room *= 2;
    }
    Node **places = PyMem_Calloc(room, sizeof(Node *)), **before = interned.places;
    if (places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t many = interned.room;
    interned.places = places;
    interned.room = room;
    interned.left = 0;
    interned.moves++;
    for (size_t k = 0; k < many; k++) {
        if (before[k] != NULL && before[k] != &gone) {
            interned.places[place_of(before[k])] = before[k];
        }
    }
    PyMem_Free(before);
    return 0;
}

static int
intern_expr(Node *node, Py_hash_t hash)
{
    if (make_room() < 0) {
        return -1;
    }
    node->hash = hash;
    node->is_interned = 1;
    interned.places[place_of(node)] = node;
    interned.used++;
    interned.moves++;
    return 0;
}

/* NumPy's one dtype of its kind in place of an equal one that names this machine's byte order. What
   is known of dtypes is kept by equality, and would else show one program the other's. */
static PyObject *
own_dtype(PyObject *dtype)
{
    PyArray_Descr *descr = (PyArray_Descr *)dtype;
    int number = PyTypeNum_ISNUMBER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num);
    if (!number || descr->byteorder == NPY_NATIVE || descr->byteorder == NPY_IGNORE ||
        !PyArray_ISNBO(descr->byteorder) || PyDataType_METADATA(descr) != NULL) {
        return Py_NewRef(dtype);
    }
    return (PyObject *)PyArray_DescrFromType(descr->type_num);
}

/* Take what an Expr is made of; the other slots say that it is pending, and nobody's. */
static void
fill(Node *node, PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Py_XSETREF(node->op, Py_NewRef(op));
    Py_XSETREF(node->args, Py_NewRef(args));
    Py_XSETREF(node->params, Py_NewRef(params));
    Py_XSETREF(node->shape, Py_NewRef(shape));
    Py_XSETREF(node->dtype, own_dtype(dtype));
    Py_XSETREF(node->value, Py_NewRef(Py_None));
    Py_XSETREF(node->owner, Py_NewRef(Py_None));
    Py_XSETREF(node->origin, Py_NewRef(Py_None));
}

PyObject *
new_expr(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Node *made = (Node *)expr_class->tp_alloc(expr_class, 0);
    if (made != NULL) {
        fill(made, op, args, params, shape, dtype);
    }
    return (PyObject *)made;
}

static inline Py_uhash_t
mixed(Py_uhash_t hash, Py_uhash_t more)
{
    hash ^= more + (Py_uhash_t)0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    return hash;
}

/* The hash of an operation; -1 with an error. Numbers that are equal have one hash, whatever their
   types. */
static Py_hash_t
hash_of(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Py_uhash_t hash = (Py_uhash_t)op >> 4;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++) {
        PyObject *arg = PyTuple_GET_ITEM(args, k);
        Py_hash_t part = (Py_hash_t)((size_t)arg >> 4);
        if (!IS_EXPR(arg)) {
            static PyObject *name;
            PyObject *value = PyObject_GetAttr(arg, intern(&name, "value"));
            part = value == NULL ? -1 : PyObject_Hash(value);
            Py_XDECREF(value);
            if (part == -1) {
                return -1;
            }
        }
        hash = mixed(hash, (Py_uhash_t)part);
    }
    Py_hash_t first = PyObject_Hash(params), second = first == -1 ? -1 : PyObject_Hash(shape);
    if (second == -1) {
        return -1;
    }
    hash = mixed(mixed(hash, (Py_uhash_t)first), (Py_uhash_t)second);
    hash = mixed(hash, (Py_uhash_t)((PyArray_Descr *)dtype)->type_num);
    hash ^= hash >> 29; /* the table looks at the last bits alone */
    return (Py_hash_t)hash == -1 ? -2 : (Py_hash_t)hash;
}

/* Say whether two objects are equal; -1 with an error. */
static int
is_same(PyObject *a, PyObject *b)
{
    return a == b ? 1 : PyObject_RichCompareBool(a, b, Py_EQ);
}

/* What tells one constant apart from others, new. */
static PyObject *
key_of(PyObject *constant)
{
    static PyObject *name;
    return PyObject_CallMethodNoArgs(constant, intern(&name, "key"));
}

static int
is_same_operand(PyObject *a, PyObject *b)
{
    if (a == b || IS_EXPR(a) || IS_EXPR(b)) {
        return a == b;
    }
    PyObject *one = key_of(a), *other = one == NULL ? NULL : key_of(b);
    int same = other == NULL ? -1 : PyObject_RichCompareBool(one, other, Py_EQ);
    Py_XDECREF(one);
    Py_XDECREF(other);
    return same;
}

/* Say whether an Expr is this very operation; -1 with an error. */
static int
is_equal(Node *node, PyObject *op, PyObject *args, PyObject *params, PyObject *shape,
         PyObject *dtype)
{
    if (node->op != op || node->args == NULL ||
        PyTuple_GET_SIZE(node->args) != PyTuple_GET_SIZE(args) ||
        ((PyArray_Descr *)node->dtype)->type_num != ((PyArray_Descr *)dtype)->type_num) {
        return 0; /* int64 and longlong compare equal, but are two */
    }
    int same = 1;
    for (Py_ssize_t k = 0; same == 1 && k < PyTuple_GET_SIZE(args); k++) {
        PyObject *operands = node->args; /* which Python code might take away */
        same = operands == NULL || PyTuple_GET_SIZE(operands) <= k
                   ? 0
                   : is_same_operand(PyTuple_GET_ITEM(operands, k), PyTuple_GET_ITEM(args, k));
    }
    same = same == 1 ? is_same(node->shape, shape) : same;
    same = same == 1 ? is_same(node->dtype, dtype) : same;
    return same == 1 ? is_same(node->params, params) : same;
}

/* The pending Expr that is this very operation, new; NULL if there is none, or with an error. */
static PyObject *
known_expr(Py_hash_t hash, PyObject *op, PyObject *args, PyObject *params, PyObject *shape,
           PyObject *dtype)
{
    for (size_t at = (size_t)hash; interned.room > 0; at++) {
        Node *node = interned.places[at & (interned.room - 1)];
        if (node == NULL) {
            break;
        }
        if (node == &gone || node->hash != hash || Py_REFCNT(node) == 0 || !IS_PENDING(node)) {
            continue; /* no references: it is just dying */
        }
        unsigned long long moves = interned.moves;
        Py_INCREF(node);
        int same = is_equal(node, op, args, params, shape, dtype);
        if (same == 1 && IS_PENDING(node)) {
            return (PyObject *)node;
        }
        Py_DECREF(node);
        if (same < 0) {
            return NULL;
        }
        if (moves != interned.moves) { /* by Python code that compared: begin anew */
            at = (size_t)hash - 1;
        }
    }
    return NULL;
}

PyObject *
make_expr(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Py_hash_t hash = hash_of(op, args, params, shape, dtype);
    PyObject *found = hash == -1 ? NULL : known_expr(hash, op, args, params, shape, dtype);
    if (found != NULL) {
        return found;
    }
    int stands_alone = PyErr_Occurred() != NULL;
    if (stands_alone) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return NULL;
        }
        PyErr_Clear(); /* an unhashable constant */
    }
    found = new_expr(op, args, params, shape, dtype);
    if (found != NULL && !stands_alone && intern_expr((Node *)found, hash) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

Py_ssize_t
elements_of(PyObject *shape)
{
    Py_ssize_t size = 1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(shape); k++) {
        Py_ssize_t n = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (n == 0) {
            return 0;
        }
        if (n < 0 || size > PY_SSIZE_T_MAX / n) {
            PyErr_Clear();
            size = PY_SSIZE_T_MAX; /* unless there is no element at all */
        }
        else if (size < PY_SSIZE_T_MAX) {
            size *= n;
        }
    }
    return size;
}

/* ---------------------------------------------------------------- for Python */

static int
are_parts(PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    if (!PyTuple_Check(args) || !PyTuple_Check(params) || !PyTuple_Check(shape) ||
        !PyArray_DescrCheck(dtype)) {
        PyErr_Format(PyExc_TypeError,
                     "an Expr is made of an op, three tuples and a dtype; got %R, %R, %R, %R", args,
                     params, shape, dtype);
        return 0;
    }
    return 1;
}

PyObject *
make_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 5 || expr_class == NULL) {
        PyErr_SetString(PyExc_TypeError, "expected op, args, params, shape and dtype");
        return NULL;
    }
    if (!are_parts(args[1], args[2], args[3], args[4])) {
        return NULL;
    }
    return make_expr(args[0], args[1], args[2], args[3], args[4]);
}

PyObject *
forget_expr(PyObject *Py_UNUSED(module), PyObject *expr)
{
    if (!IS_EXPR(expr)) {
        PyErr_SetString(PyExc_TypeError, "expected an Expr");
        return NULL;
    }
    forget((Node *)expr);
    Py_RETURN_NONE;
}

/* How many there are that equal ones find. */
PyObject *
count_interned(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromSize_t(interned.used);
}

/* Keep the class that Python derived. */
PyObject *
take_expr(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &Node_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class derived from Node");
        return NULL;
    }
    expr_class = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

static int
node_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *op, *operands, *params, *shape, *dtype;
    static char *keywords[] = {"op", "args", "params", "shape", "dtype", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOO", keywords, &op, &operands, &params,
                                     &shape, &dtype) ||
        !are_parts(operands, params, shape, dtype)) {
        return -1;
    }
    fill((Node *)self, op, operands, params, shape, dtype);
    return 0;
}

static int
node_traverse(Node *self, visitproc visit, void *arg)
{
    Py_VISIT(self->op);
    Py_VISIT(self->args);
    Py_VISIT(self->params);
    Py_VISIT(self->shape);
    Py_VISIT(self->dtype);
    Py_VISIT(self->value);
    Py_VISIT(self->owner);
    Py_VISIT(self->origin);
    return 0;
}

/* What a cycle can go through. The rest stays, for those who still look at it. */
static int
node_clear(Node *self)
{
    Py_CLEAR(self->args);
    Py_CLEAR(self->value);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->origin);
    return 0;
}

static void
node_dealloc(Node *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    forget(self);
    node_clear(self);
    Py_CLEAR(self->op);
    Py_CLEAR(self->params);
    Py_CLEAR(self->shape);
    Py_CLEAR(self->dtype);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef node_members[] = {
    {"op", T_OBJECT_EX, offsetof(Node, op), 0, NULL},
    {"args", T_OBJECT_EX, offsetof(Node, args), 0, NULL},
    {"params", T_OBJECT_EX, offsetof(Node, params), 0, NULL},
    {"shape", T_OBJECT_EX, offsetof(Node, shape), 0, NULL},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype), 0, NULL},
    {"value", T_OBJECT_EX, offsetof(Node, value), 0, NULL},
    {"owner", T_OBJECT_EX, offsetof(Node, owner), 0, NULL},
    {"origin", T_OBJECT_EX, offsetof(Node, origin), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Elements, times what each takes, exactly. */
static PyObject *
product_of(PyObject *shape, Py_ssize_t each)
{
    Py_ssize_t size = elements_of(shape);
    if (each == 0 || size <= PY_SSIZE_T_MAX / each - 1) {
        return PyLong_FromSsize_t(size * each);
    }
    PyObject *found = PyLong_FromSsize_t(each);
    for (Py_ssize_t k = 0; found != NULL && k < PyTuple_GET_SIZE(shape); k++) {
        Py_SETREF(found, PyNumber_Multiply(found, PyTuple_GET_ITEM(shape, k)));
    }
    return found;
}

static PyObject *
node_size(Node *node, void *Py_UNUSED(closure))
{
    if (node->shape == NULL || !PyTuple_Check(node->shape)) {
        PyErr_SetString(PyExc_AttributeError, "shape");
        return NULL;
    }
    return product_of(node->shape, 1);
}

static PyObject *
node_nbytes(Node *node, void *Py_UNUSED(closure))
{
    if (node->shape == NULL || !PyTuple_Check(node->shape) || node->dtype == NULL ||
        !PyArray_DescrCheck(node->dtype)) {
        PyErr_SetString(PyExc_AttributeError, "shape and dtype");
        return NULL;
    }
    return product_of(node->shape, PyDataType_ELSIZE((PyArray_Descr *)node->dtype));
}

static PyGetSetDef node_facts[] = {
    {"size", (getter)node_size, NULL, "Number of elements.", NULL},
    {"nbytes", (getter)node_nbytes, NULL, "Bytes of the result.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Node_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Node",
    .tp_doc = "The slots of an Expr.",
    .tp_basicsize = sizeof(Node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_weaklistoffset = offsetof(Node, weakrefs),
    .tp_new = PyType_GenericNew,
    .tp_init = node_init,
    .tp_dealloc = (destructor)node_dealloc,
    .tp_traverse = (traverseproc)node_traverse,
    .tp_clear = (inquiry)node_clear,
    .tp_members = node_members,
    .tp_getset = node_facts,
};
