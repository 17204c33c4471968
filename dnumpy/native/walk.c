/* Walks over expressions, as dnumpy.expr.walk and dnumpy.rewrite.cached have them. None of them calls
   into Python while it holds what it has not counted. */

#include "expr.h"

static unsigned long long walks; /* numbers that walks have taken: a mark that no other one makes */

/* A stack or list of what is borrowed. */
typedef struct {
    void **items;
    Py_ssize_t count, room;
} Pile;

static int
pile(Pile *on, void *item)
{
    if (on->count == on->room) {
        Py_ssize_t room = on->room == 0 ? 64 : 2 * on->room;
        void **items = PyMem_Realloc(on->items, (size_t)room * sizeof(void *));
        if (items == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        on->items = items;
        on->room = room;
    }
    on->items[on->count++] = item;
    return 0;
}

/* An operand that is an Expr and pending, borrowed, else NULL. */
static inline Node *
pending_arg(Node *node, Py_ssize_t k)
{
    PyObject *arg = PyTuple_GET_ITEM(node->args, k);
    return IS_EXPR(arg) && IS_PENDING((Node *)arg) ? (Node *)arg : NULL;
}

static inline Py_ssize_t
operands_of(Node *node)
{
    return node->args == NULL ? 0 : PyTuple_GET_SIZE(node->args);
}

static int
are_exprs(PyObject *sequence)
{
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence); k++) {
        if (!IS_EXPR(PySequence_Fast_GET_ITEM(sequence, k))) {
            PyErr_SetString(PyExc_TypeError, "expected Exprs");
            return 0;
        }
    }
    return 1;
}

/* Exprs, counted, as a list or tuple; NULL with an error. */
static PyObject *
exprs_of(PyObject *iterable)
{
    PyObject *found = PySequence_Fast(iterable, "expected Exprs");
    if (found != NULL && !are_exprs(found)) {
        Py_CLEAR(found);
    }
    return found;
}

/* Every pending Expr that the roots need, operands before users, each once. */
PyObject *
pending_in_order(PyObject *Py_UNUSED(module), PyObject *iterable)
{
    PyObject *roots = exprs_of(iterable), *order = roots == NULL ? NULL : PyList_New(0);
    Pile stack = {NULL, 0, 0};
    unsigned long long open = ++walks, done = ++walks;
    int failed = order == NULL;
    for (Py_ssize_t k = roots == NULL ? 0 : PySequence_Fast_GET_SIZE(roots); !failed && k-- > 0;) {
        Node *root = (Node *)PySequence_Fast_GET_ITEM(roots, k);
        failed = IS_PENDING(root) && pile(&stack, root) < 0;
    }
    while (!failed && stack.count > 0) {
        Node *node = stack.items[stack.count - 1];
        if (node->met != open && node->met != done) {
            Py_ssize_t height = stack.count;
            for (Py_ssize_t k = operands_of(node); !failed && k-- > 0;) {
                Node *arg = pending_arg(node, k);
                if (arg != NULL && arg->met != open && arg->met != done) {
                    failed = pile(&stack, arg) < 0;
                }
            }
            node->met = open;
            if (stack.count > height) {
                continue;
            }
        }
        stack.count--;
        if (node->met == open) {
            node->met = done;
            failed = failed || PyList_Append(order, (PyObject *)node) < 0;
        }
    }
    PyMem_Free(stack.items);
    Py_XDECREF(roots);
    if (failed) {
        Py_CLEAR(order);
    }
    return order;
}

/* Bytes of computed operands that nothing but these pending Exprs holds. */
PyObject *
held_bytes(PyObject *Py_UNUSED(module), PyObject *iterable)
{
    PyObject *waiting = exprs_of(iterable);
    Pile stack = {NULL, 0, 0}, stored = {NULL, 0, 0};
    unsigned long long met = ++walks;
    int failed = waiting == NULL;
    double held = 0;
    for (Py_ssize_t k = 0; !failed && k < PySequence_Fast_GET_SIZE(waiting); k++) {
        Node *root = (Node *)PySequence_Fast_GET_ITEM(waiting, k);
        if (IS_PENDING(root) && root->met != met) {
            root->met = met;
            failed = pile(&stack, root) < 0;
        }
    }
    while (!failed && stack.count > 0) {
        Node *node = stack.items[--stack.count];
        for (Py_ssize_t k = 0; !failed && k < operands_of(node); k++) {
            Node *arg = (Node *)PyTuple_GET_ITEM(node->args, k);
            if (!IS_EXPR(arg)) {
                continue;
            }
            if (arg->met != met) {
                arg->met = met;
                arg->number = 0;
                failed = pile(IS_PENDING(arg) ? &stack : &stored, arg) < 0;
            }
            arg->number++; /* how often it is read */
        }
    }
    for (Py_ssize_t k = 0; k < stored.count; k++) {
        Node *arg = stored.items[k];
        if (Py_REFCNT(arg) <= arg->number) {
            held += (double)elements_of(arg->shape) *
                    (double)PyDataType_ELSIZE((PyArray_Descr *)arg->dtype);
        }
    }
    PyMem_Free(stack.items);
    PyMem_Free(stored.items);
    Py_XDECREF(waiting);
    return failed ? NULL : PyLong_FromDouble(held);
}

/* ---------------------------------------------------------------- structure */

static int
append_new(PyObject *list, PyObject *item) /* steals item */
{
    int failed = item == NULL || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

static int
append_kind(PyObject *found, Node *node)
{
    return PyList_Append(found, node->shape) < 0 || PyList_Append(found, node->dtype) < 0 ||
                   append_new(found, PyLong_FromLong(((PyArray_Descr *)node->dtype)->type_num)) < 0
               ? -1
               : 0;
}

/* The number of an operand, which is the next one if it has none yet; -1 with an error. */
static Py_ssize_t
number_of(PyObject *arg, unsigned long long met, PyObject *constants, PyObject *found,
          PyObject *nodes)
{
    Py_ssize_t number = PyList_GET_SIZE(nodes);
    if (IS_EXPR(arg)) {
        Node *node = (Node *)arg;
        if (node->met == met) {
            return node->number;
        }
        node->met = met;
        node->number = number;
        return append_kind(found, node) < 0 || PyList_Append(nodes, arg) < 0 ? -1 : number;
    }
    PyObject *key = PyLong_FromVoidPtr(arg);
    PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(constants, key);
    if (known != NULL) {
        number = PyLong_AsSsize_t(known);
    }
    else if (key == NULL || PyErr_Occurred()) {
        number = -1;
    }
    else { /* which operand is the constant matters: 2 - x is not x - 2 */
        PyObject *value = PyLong_FromSsize_t(number);
        if (value == NULL || PyDict_SetItem(constants, key, value) < 0 ||
            PyList_Append(found, Py_None) < 0 || PyList_Append(nodes, arg) < 0) {
            number = -1;
        }
        Py_XDECREF(value);
    }
    Py_XDECREF(key);
    return number;
}

/* What a weak reference is to, new; NULL without an error where that is gone. */
PyObject *
referred(PyObject *ref)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    return PyWeakref_GetRef(ref, &found) < 0 ? NULL : found;
#else
    PyObject *found = PyWeakref_GetObject(ref);
    return found == NULL || found == Py_None ? NULL : Py_NewRef(found);
#endif
}

static int
is_held(Node *node)
{
    int has_owner = node->owner != NULL && node->owner != Py_None;
    PyObject *owner = has_owner ? referred(node->owner) : NULL;
    Py_XDECREF(owner);
    return owner != NULL;
}

/* Add to what was found what one Expr is; -1 with an error. */
static int
describe(Node *node, unsigned long long met, PyObject *constants, PyObject *found, PyObject *nodes,
         int holders)
{
    Py_ssize_t count = operands_of(node);
    PyObject *args = PyTuple_New(count);
    int failed = args == NULL;
    for (Py_ssize_t k = 0; !failed && k < count; k++) {
        Py_ssize_t number = number_of(PyTuple_GET_ITEM(node->args, k), met, constants, found, nodes);
        PyObject *item = number < 0 ? NULL : PyLong_FromSsize_t(number);
        failed = item == NULL;
        PyTuple_SET_ITEM(args, k, item);
    }
    int role = node->asked == met ? 1 : holders && is_held(node) ? 2 : 0;
    failed = failed || PyList_Append(found, node->op) < 0 || PyList_Append(found, args) < 0 ||
             PyList_Append(found, node->params) < 0 || append_kind(found, node) < 0 ||
             append_new(found, PyLong_FromLong(role)) < 0;
    node->met = met;
    node->number = PyList_GET_SIZE(nodes);
    Py_XDECREF(args);
    return failed || PyList_Append(nodes, (PyObject *)node) < 0 ? -1 : 0;
}

/* (what two evaluations share when the same stages compute them, what has a number there), of Exprs,
   those that are wanted, and the op of which it matters who holds what: see rewrite/cached.py. */
PyObject *
structure(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given, *asked, *rolls, *r = NULL;
    int holders = 0;
    if (!PyArg_ParseTuple(args, "OOO", &given, &asked, &rolls)) {
        return NULL;
    }
    PyObject *order = exprs_of(given), *wanted = order == NULL ? NULL : exprs_of(asked);
    PyObject *constants = PyDict_New(), *found = PyList_New(0), *nodes = PyList_New(0);
    int failed = wanted == NULL || constants == NULL || found == NULL || nodes == NULL;
    int collects = PyGC_Disable(); /* a finalizer might begin another walk, which moves the marks */
    unsigned long long met = ++walks;
    for (Py_ssize_t k = 0; !failed && k < PySequence_Fast_GET_SIZE(wanted); k++) {
        ((Node *)PySequence_Fast_GET_ITEM(wanted, k))->asked = met;
    }
    for (Py_ssize_t k = 0; !failed && !holders && k < PySequence_Fast_GET_SIZE(order); k++) {
        holders = ((Node *)PySequence_Fast_GET_ITEM(order, k))->op == rolls;
    }
    for (Py_ssize_t k = 0; !failed && k < PySequence_Fast_GET_SIZE(order); k++) {
        Node *node = (Node *)PySequence_Fast_GET_ITEM(order, k);
        failed = describe(node, met, constants, found, nodes, holders) < 0;
    }
    if (collects) {
        PyGC_Enable();
    }
    if (!failed) {
        PyObject *key = PyList_AsTuple(found);
        r = key == NULL ? NULL : PyTuple_Pack(2, key, nodes);
        Py_XDECREF(key);
    }
    Py_XDECREF(order);
    Py_XDECREF(wanted);
    Py_XDECREF(constants);
    Py_XDECREF(found);
    Py_XDECREF(nodes);
    return r;
}

/* ---------------------------------------------------------------- rewriting again */

/* The operands that numbers stand for, new. */
static PyObject *
args_of(PyObject *nodes, PyObject *numbers)
{
    Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    PyObject *args = PyTuple_New(count);
    for (Py_ssize_t k = 0; args != NULL && k < count; k++) {
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, k));
        if (number < 0 || number >= PyList_GET_SIZE(nodes)) {
            PyErr_SetString(PyExc_IndexError, "no operand has this number");
            Py_CLEAR(args);
            break;
        }
        PyTuple_SET_ITEM(args, k, Py_NewRef(PyList_GET_ITEM(nodes, number)));
    }
    return args;
}

/* `numbered(nodes, numbers)`: those of a list that a tuple of numbers names, as a tuple. */
PyObject *
numbered(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyTuple_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "expected a list and a tuple of numbers");
        return NULL;
    }
    return args_of(args[0], args[1]);
}

/* `values_of(operands, other)`: the stored values of a tuple of Exprs and constants, as a list;
   `other(operand)` where an Expr has none. */
PyObject *
values_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    static PyObject *name;
    if (count != 2 || !PyTuple_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of operands, and what is asked for others");
        return NULL;
    }
    Py_ssize_t operands = PyTuple_GET_SIZE(args[0]);
    PyObject *values = PyList_New(operands);
    for (Py_ssize_t k = 0; values != NULL && k < operands; k++) {
        PyObject *operand = PyTuple_GET_ITEM(args[0], k);
        PyObject *value = !IS_EXPR(operand) ? PyObject_GetAttr(operand, intern(&name, "value"))
                          : IS_PENDING((Node *)operand) ? PyObject_CallOneArg(args[1], operand)
                                                        : Py_NewRef(((Node *)operand)->value);
        if (value == NULL) {
            Py_CLEAR(values);
        }
        else {
            PyList_SET_ITEM(values, k, value);
        }
    }
    return values;
}

/* Say whether something is a tuple of so many; if not, with an error. */
static int
is_line(PyObject *line, Py_ssize_t count)
{
    if (PyTuple_CheckExact(line) && PyTuple_GET_SIZE(line) == count) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "expected a tuple of %zd", count);
    return 0;
}

/* An Expr by its number, borrowed; NULL with an error. */
static Node *
node_at(PyObject *nodes, PyObject *number)
{
    Py_ssize_t k = PyLong_AsSsize_t(number);
    if (k < 0 || k >= PyList_GET_SIZE(nodes) || !IS_EXPR(PyList_GET_ITEM(nodes, k))) {
        PyErr_SetString(PyExc_IndexError, "no Expr has this number");
        return NULL;
    }
    return (Node *)PyList_GET_ITEM(nodes, k);
}

/* Make the Exprs that a rewrite made, adding them to the nodes, and change those that it changed. */
PyObject *
rebuild(PyObject *Py_UNUSED(module), PyObject *given)
{
    PyObject *nodes, *made, *changed;
    if (!PyArg_ParseTuple(given, "O!O!O!", &PyList_Type, &nodes, &PyTuple_Type, &made,
                          &PyTuple_Type, &changed)) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(made); k++) { /* op, args, ..., whose origin */
        PyObject *line = PyTuple_GET_ITEM(made, k), **parts = &PyTuple_GET_ITEM(line, 0);
        PyObject *args = is_line(line, 6) ? args_of(nodes, parts[1]) : NULL;
        PyObject *expr = args == NULL ? NULL
                                      : new_expr(parts[0], args, parts[2], parts[3], parts[4]);
        Py_XDECREF(args);
        if (expr != NULL && parts[5] != Py_None) {
            Node *from = node_at(nodes, parts[5]);
            if (from == NULL) {
                Py_CLEAR(expr);
            }
            else if (from->origin != NULL) {
                Py_SETREF(((Node *)expr)->origin, Py_NewRef(from->origin));
            }
        }
        if (append_new(nodes, expr) < 0) {
            return NULL;
        }
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(changed); k++) { /* number, op, args, params */
        PyObject *line = PyTuple_GET_ITEM(changed, k), **parts = &PyTuple_GET_ITEM(line, 0);
        PyObject *args = is_line(line, 4) ? args_of(nodes, parts[2]) : NULL;
        Node *node = args == NULL ? NULL : node_at(nodes, parts[0]);
        if (node == NULL) {
            Py_XDECREF(args);
            return NULL;
        }
        forget(node);
        Py_XSETREF(node->op, Py_NewRef(parts[1]));
        Py_XSETREF(node->args, args);
        Py_XSETREF(node->params, Py_NewRef(parts[3]));
    }
    Py_RETURN_NONE;
}
