/* The slots of an Expr, and the operations on graphs of them: see expr.c. */

#ifndef DNUMPY_EXPR_H
#define DNUMPY_EXPR_H

#include "handle.h"

typedef struct {
    PyObject_HEAD
    PyObject *op;
    PyObject *args;     /* a tuple of Exprs and constants */
    PyObject *params;
    PyObject *shape;
    PyObject *dtype;
    PyObject *value;    /* None while pending */
    PyObject *owner;    /* a weak reference to the Buffer whose content it is, or None */
    PyObject *origin;   /* the user's line, or None */
    PyObject *weakrefs;
    Py_hash_t hash;     /* by which an equal one finds it, if it is interned */
    int is_interned;
    unsigned long long met;   /* the walk that met it last, and what that noted */
    unsigned long long asked; /* the walk that was asked for it last */
    Py_ssize_t number;
} Node;

extern PyTypeObject Node_Type;
extern PyTypeObject *expr_class; /* which Python derived; NULL until it has told */

#define IS_EXPR(x) (Py_TYPE(x) == expr_class)
#define IS_PENDING(node) ((node)->value == Py_None)

void forget(Node *node); /* let no equal one find it */
PyObject *referred(PyObject *ref); /* see walk.c */
PyObject *new_expr(PyObject *op, PyObject *args, PyObject *params, PyObject *shape, PyObject *dtype);
PyObject *make_expr(PyObject *op, PyObject *args, PyObject *params, PyObject *shape,
                    PyObject *dtype);
PyObject *make_of(PyObject *module, PyObject *const *args, Py_ssize_t count); /* the same, asked */
Py_ssize_t elements_of(PyObject *shape); /* PY_SSIZE_T_MAX where they are more */

#endif
