/* What an evaluation has to know of the Exprs that it is about to compute, in one pass over them: see
   dnumpy.expr.survey. */

#include "record.h"

#define LARGE_BYTES (1 << 16) /* read and written: dnumpy/expr/survey.py has the same */

static PyObject *view, *contraction; /* the op of a view, and the family of products */

/* `take_ops(view, contraction)` */
PyObject *
take_ops(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given, *family;
    if (!PyArg_ParseTuple(args, "OO!", &given, &PyType_Type, &family)) {
        return NULL;
    }
    Py_XSETREF(view, Py_NewRef(given));
    Py_XSETREF(contraction, Py_NewRef(family));
    Py_RETURN_NONE;
}

/* The Expr whose content the owner that a weak reference is to has now, new; NULL, with or without
   an error, if there is none. */
static PyObject *
content_of(PyObject *ref)
{
    static PyObject *expr_name;
    PyObject *owner = ref == NULL || !PyWeakref_Check(ref) ? NULL : referred(ref);
    if (owner == NULL) {
        return NULL;
    }
    PyObject *expr = expr_of(owner); /* borrowed */
    expr = expr != NULL ? Py_NewRef(expr)
                        : PyObject_GetAttr(owner, intern(&expr_name, "expr"));
    Py_DECREF(owner);
    return expr;
}

/* `waiting(owners)`: the pending content of every owner that lives, of a dict of weak references. */
PyObject *
waiting(PyObject *Py_UNUSED(module), PyObject *owners)
{
    if (!PyDict_CheckExact(owners)) {
        PyErr_SetString(PyExc_TypeError, "expected a dict of weak references");
        return NULL;
    }
    PyObject *refs = PyDict_Values(owners), *found = refs == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t k = 0; found != NULL && k < PyList_GET_SIZE(refs); k++) {
        PyObject *expr = content_of(PyList_GET_ITEM(refs, k));
        int failed = expr == NULL && PyErr_Occurred();
        if (expr != NULL && IS_EXPR(expr) && IS_PENDING((Node *)expr)) {
            failed = PyList_Append(found, expr) < 0;
        }
        Py_XDECREF(expr);
        if (failed) {
            Py_CLEAR(found);
        }
    }
    Py_XDECREF(refs);
    return found;
}

static inline Py_ssize_t
bytes_of(Node *node)
{
    Py_ssize_t size = elements_of(node->shape);
    Py_ssize_t each = PyDataType_ELSIZE((PyArray_Descr *)node->dtype);
    return each > 0 && size > PY_SSIZE_T_MAX / each ? PY_SSIZE_T_MAX : size * each;
}

static inline Py_ssize_t
sum_of_bytes(Py_ssize_t a, Py_ssize_t b)
{
    return a > PY_SSIZE_T_MAX - b ? PY_SSIZE_T_MAX : a + b;
}

/* Bytes that an operation reads and writes; note if it reads what is stored, and not here. */
static Py_ssize_t
traffic_of(Node *node, int *home)
{
    Py_ssize_t found = bytes_of(node);
    for (Py_ssize_t k = 0; node->args != NULL && k < PyTuple_GET_SIZE(node->args); k++) {
        PyObject *arg = PyTuple_GET_ITEM(node->args, k);
        if (IS_EXPR(arg)) {
            PyObject *value = ((Node *)arg)->value;
            *home = *home && (value == Py_None || IS_NUMPYS(value));
            found = sum_of_bytes(found, bytes_of((Node *)arg));
        }
    }
    return found;
}

/* Add an Expr to a list if it is the content of a live owner; -1 with an error. */
static int
add_if_live(PyObject *live, Node *node)
{
    PyObject *expr = content_of(node->owner);
    int failed = expr == NULL ? PyErr_Occurred() != NULL
                              : expr == (PyObject *)node && PyList_Append(live, expr) < 0;
    Py_XDECREF(expr);
    return failed ? -1 : 0;
}

/* Note a place that recorded an operation, and if that is the second `large` one; -1 with an error. */
static int
add_site(PyObject *sites, PyObject *site, int large, int *apart)
{
    PyObject *known = PyDict_GetItemWithError(sites, site);
    if (known == NULL && PyErr_Occurred()) {
        return -1;
    }
    *apart = *apart && !(large && known == Py_True);
    return known != NULL && !large ? 0 : PyDict_SetItem(sites, site, large ? Py_True : Py_False);
}

/* `survey(order)`: (places that recorded the operations, how many these are, bytes that all and that
   the largest reads and writes, whether one is a product, whether each place recorded one large
   operation at most, whether all that is read lies here, the content of live owners). */
PyObject *
survey(PyObject *Py_UNUSED(module), PyObject *order)
{
    PyObject *fast = PySequence_Fast(order, "expected Exprs");
    PyObject *sites = fast == NULL ? NULL : PyDict_New(), *live = sites == NULL ? NULL : PyList_New(0);
    PyObject *places = NULL, *r = NULL;
    Py_ssize_t exprs = 0, total = 0, most = 0;
    int failed = live == NULL, multiplies = 0, apart = 1, home = 1;
    for (Py_ssize_t k = 0; !failed && k < PySequence_Fast_GET_SIZE(fast); k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, k);
        Node *node = (Node *)item;
        if (!IS_EXPR(item)) {
            PyErr_SetString(PyExc_TypeError, "expected Exprs");
            failed = 1;
            break;
        }
        failed = node->owner != NULL && node->owner != Py_None && add_if_live(live, node) < 0;
        Py_ssize_t traffic = traffic_of(node, &home);
        if (failed || node->op == view) {
            continue;
        }
        total = sum_of_bytes(total, traffic);
        most = traffic > most ? traffic : most;
        exprs++;
        multiplies |= (PyObject *)Py_TYPE(node->op) == contraction;
        int large = traffic >= LARGE_BYTES;
        if (node->origin != NULL && node->origin != Py_None) {
            PyObject *site = PyTuple_GET_ITEM(node->origin, SITE_OF_ORIGIN);
            failed = add_site(sites, site, large, &apart) < 0;
        }
        else if (large) {
            apart = 0;
        }
    }
    if (!failed) {
        places = PySequence_Tuple(sites);
        r = places == NULL ? NULL
                           : Py_BuildValue("(OnnnOOOO)", places, exprs, total, most,
                                           multiplies ? Py_True : Py_False,
                                           apart ? Py_True : Py_False, home ? Py_True : Py_False,
                                           live);
    }
    Py_XDECREF(places);
    Py_XDECREF(sites);
    Py_XDECREF(live);
    Py_XDECREF(fast);
    return r;
}
