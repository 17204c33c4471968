/* Exprs: their slots, and the one that stands for all equal ones while it is pending.

   What tells two apart is the identity of their ops and operands: an operand that is another Expr
   lives as long as what reads it is pending, so that its address is a name. */

#include "expr.h"

PyTypeObject *expr_class;
static PyObject *interned; /* key -> address of the Expr, which leaves this dict when it dies */

static void
forget(Node *node)
{
    PyObject *key = node->key;
    if (key == NULL) {
        return;
    }
    node->key = NULL;
    PyObject *type, *value, *traceback; /* of an error that is on its way */
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *known = PyDict_GetItemWithError(interned, key);
    if (known != NULL && PyLong_AsVoidPtr(known) == node && PyDict_DelItem(interned, key) < 0) {
        PyErr_WriteUnraisable((PyObject *)node);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    Py_DECREF(key);
}

/* Take what an Expr is made of; the other slots say that it is pending, and nobody's. */
static void
fill(Node *node, PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Py_XSETREF(node->op, Py_NewRef(op));
    Py_XSETREF(node->args, Py_NewRef(args));
    Py_XSETREF(node->params, Py_NewRef(params));
    Py_XSETREF(node->shape, Py_NewRef(shape));
    Py_XSETREF(node->dtype, Py_NewRef(dtype));
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

/* What tells an operand apart from others, new. */
static PyObject *
key_of(PyObject *arg)
{
    static PyObject *name;
    return IS_EXPR(arg) ? PyLong_FromVoidPtr(arg)
                        : PyObject_CallMethodNoArgs(arg, intern(&name, "key"));
}

/* What tells an operation apart from others, new: op, operands, parameters, shape and dtype, whose
   number is a part because int64 and longlong compare equal. */
static PyObject *
key_to(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *key = PyTuple_New(count + 5);
    if (key == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(key, 0, PyLong_FromVoidPtr(op));
    for (Py_ssize_t k = 0; k < count; k++) {
        PyTuple_SET_ITEM(key, k + 1, key_of(PyTuple_GET_ITEM(args, k)));
    }
    PyTuple_SET_ITEM(key, count + 1, Py_NewRef(params));
    PyTuple_SET_ITEM(key, count + 2, Py_NewRef(shape));
    PyTuple_SET_ITEM(key, count + 3, Py_NewRef(dtype));
    PyTuple_SET_ITEM(key, count + 4, PyLong_FromLong(((PyArray_Descr *)dtype)->type_num));
    for (Py_ssize_t k = 0; k < count + 5; k++) {
        if (PyTuple_GET_ITEM(key, k) == NULL) {
            Py_DECREF(key);
            return NULL;
        }
    }
    return key;
}

PyObject *
make_expr(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype)
{
    PyObject *key = key_to(op, args, params, shape, dtype);
    if (key == NULL) {
        return NULL;
    }
    PyObject *known = PyDict_GetItemWithError(interned, key);
    if (known != NULL) {
        Node *found = PyLong_AsVoidPtr(known);
        if (Py_REFCNT(found) > 0 && IS_PENDING(found)) { /* none: it is just dying */
            Py_DECREF(key);
            return Py_NewRef(found);
        }
    }
    else if (PyErr_Occurred()) {
        Py_CLEAR(key);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return NULL;
        }
        PyErr_Clear(); /* an unhashable constant: such an Expr stands alone */
    }
    Node *made = (Node *)new_expr(op, args, params, shape, dtype);
    if (made != NULL && key != NULL) {
        PyObject *address = PyLong_FromVoidPtr(made);
        if (address == NULL || PyDict_SetItem(interned, key, address) < 0) {
            Py_CLEAR(made);
        }
        else {
            made->key = Py_NewRef(key);
        }
        Py_XDECREF(address);
    }
    Py_XDECREF(key);
    return (PyObject *)made;
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

/* Keep the class that Python derived; return the dict of those that equal ones find. */
PyObject *
take_expr(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &Node_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class derived from Node");
        return NULL;
    }
    expr_class = (PyTypeObject *)Py_NewRef(type);
    if (interned == NULL && (interned = PyDict_New()) == NULL) {
        return NULL;
    }
    return Py_NewRef(interned);
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
    Py_VISIT(self->key);
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
};
