/* Operators of arrays that NumPy may compute at once; what is left is Python's to decide.

   `slow` is the whole method as Python has it, the same that runs where this module was not built. */

#include "record.h"

typedef struct {
    PyObject *loop; /* NumPy's ufunc; NULL until Python has named one */
    PyObject *row;  /* what records it; NULL where Python does */
    PyObject *slow;
    PyObject *slow_reflected;
    PyObject *slow_inplace;
} Operator;

enum {
    ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, DIVMOD, AND, OR, XOR, LSHIFT, RSHIFT, MATMUL, POW,
    NEG, POS, ABS, INVERT,
    OPERATORS
};

static const char *const names[OPERATORS] = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "and", "or", "xor", "lshift",
    "rshift", "matmul", "pow", "neg", "pos", "abs", "invert",
};
static const char *const comparisons[] = {"lt", "le", "eq", "ne", "gt", "ge"}; /* as Py_LT, ... */
static const char *const items[ITEMS] = {"getitem", "setitem", "len", "bool", "int", "float", "index",
                                    "delitem", "iter"};

static Operator operators[OPERATORS];
static PyObject *compare_slow[6], *compare_row[6];
PyObject *item_slow[ITEMS];

static int
keep(PyObject **place, PyObject *function)
{
    Py_XSETREF(*place, Py_NewRef(function));
    return 1;
}

/* Keep what Python does for a special method; return whether this file has a short path for it. */
int
take_operator(const char *name, PyObject *function, PyObject *loop, PyObject *row)
{
    char bare[32];
    size_t length = strlen(name);
    if (length < 5 || length >= sizeof bare || strncmp(name, "__", 2) != 0) {
        return 0;
    }
    memcpy(bare, name + 2, length - 4);
    bare[length - 4] = '\0';
    for (int k = 0; k < OPERATORS; k++) {
        if (strcmp(bare, names[k]) == 0) {
            if (loop != NULL && loop != Py_None) {
                keep(&operators[k].loop, loop);
            }
            if (row != NULL && row != Py_None) {
                keep(&operators[k].row, row);
            }
            return keep(&operators[k].slow, function);
        }
        if (k < NEG && strcmp(bare + 1, names[k]) == 0) {
            if (bare[0] == 'r') {
                return keep(&operators[k].slow_reflected, function);
            }
            if (bare[0] == 'i' && k != DIVMOD) {
                return keep(&operators[k].slow_inplace, function);
            }
        }
    }
    for (int k = 0; k < 6; k++) {
        if (strcmp(bare, comparisons[k]) == 0) {
            if (row != NULL && row != Py_None) {
                keep(&compare_row[k], row);
            }
            return keep(&compare_slow[k], function);
        }
    }
    for (int k = 0; k < ITEMS; k++) {
        if (strcmp(bare, items[k]) == 0) {
            return keep(&item_slow[k], function);
        }
    }
    return 0;
}

/* ---------------------------------------------------------------- arithmetic */

/* What an operation gives into the memory of an operand that nobody will see again, which then is
   the result, where NumPy is to compute it now; NULL without an error of others. `first`: of the two
   operands it is the first; y may be NULL. */
static PyObject *
into_temporary(Operator *op, PyObject *x, PyObject *y, int first)
{
    if (op > &operators[TRUEDIV] && op != &operators[NEG] && op != &operators[ABS]) {
        return NULL;
    }
    PyObject *memory = op->loop == NULL ? NULL : temporary_of(x);
    PyObject *b = memory == NULL || y == NULL ? NULL : lying_here(y), *site = NULL, *r = NULL;
    if (memory != NULL && (y == NULL || (b != NULL && keeps_type(memory, b)))) {
        site = turn_on(op->loop, memory, b);
    }
    if (site != NULL) {
        PyObject *args[] = {first ? memory : b, first ? b : memory, memory};
        if (y == NULL) {
            args[1] = memory;
        }
        double started = seconds_now();
        r = PyObject_Vectorcall(op->loop, args, y == NULL ? 2 : 3, NULL);
        if (r != NULL) {
            Py_SETREF(r, Py_NewRef(x));
        }
        took(site, started);
    }
    Py_XDECREF(memory);
    Py_XDECREF(b);
    return r;
}

/* The same into the memory of an array that runs at once. The order of operands is NumPy's, on which
   the sign of a complex zero depends. */
static PyObject *
into_small(Operator *op, PyObject *x, PyObject *y, int first)
{
    PyObject *memory = op->loop == NULL ? NULL : small_temporary(x), *r = NULL;
    PyObject *b = memory == NULL || y == NULL ? NULL : at_hand(y);
    int type = memory == NULL ? 0 : PyArray_TYPE((PyArrayObject *)memory);
    int divides = op == &operators[TRUEDIV], magnitude = op == &operators[ABS];
    int stays = (!divides || !PyTypeNum_ISINTEGER(type)) && type != NPY_BOOL &&
                (!magnitude || !PyTypeNum_ISCOMPLEX(type));
    if (memory != NULL && stays && (y == NULL || (b != NULL && keeps_type(memory, b)))) {
        int turns = op == &operators[ADD] || op == &operators[MUL];
        PyObject *args[] = {first || turns ? memory : b, first || turns ? b : memory, memory};
        if (y == NULL) {
            args[1] = memory;
        }
        r = PyObject_Vectorcall(op->loop, args, y == NULL ? 2 : 3, NULL);
        if (r != NULL) {
            Py_SETREF(r, Py_NewRef(x));
        }
    }
    Py_XDECREF(memory);
    Py_XDECREF(b);
    return r;
}

/* What an operation gives into the memory of one of its operands, as above. */
static PyObject *
into_one_of(Operator *op, PyObject *x, PyObject *y)
{
    PyObject *r = NULL;
    int gives_two = op == &operators[DIVMOD];
    if (gives_two || (op >= &operators[MATMUL] && op <= &operators[POW])) {
        return NULL;
    }
    if (Py_REFCNT(x) == 1 && IS_ARRAY(x)) {
        r = small_of(x) != NULL ? into_small(op, x, y, 1) : into_temporary(op, x, y, 1);
    }
    if (r == NULL && y != NULL && !PyErr_Occurred() && Py_REFCNT(y) == 1 && IS_ARRAY(y)) {
        r = small_of(y) != NULL ? into_small(op, y, x, 0) : into_temporary(op, y, x, 0);
    }
    return r;
}

static PyObject *
forward(Operator *op, PyObject *x, PyObject *y)
{
    PyObject *r = recorded_between(op->row, x, y, 0);
    if (r == NULL && !PyErr_Occurred()) {
        r = into_one_of(op, x, y);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = call_now(op->loop, x, y);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = record_now(op->row, x, y);
    }
    return r != NULL || PyErr_Occurred() ? r : call_slow(op->slow, x, y);
}

static PyObject *
reflected(Operator *op, PyObject *x, PyObject *y)
{
    PyObject *r = NULL;
    if (is_immediate(x) || is_numbers(x) || is_at_once(x)) {
        r = recorded_between(op->row, x, y, 0);
        if (r == NULL && !PyErr_Occurred()) {
            r = into_one_of(op, x, y);
        }
        if (r == NULL && !PyErr_Occurred()) {
            r = call_now(op->loop, x, y);
        }
        if (r == NULL && !PyErr_Occurred()) {
            r = record_now(op->row, x, y);
        }
    }
    return r != NULL || PyErr_Occurred() ? r : call_slow(op->slow_reflected, y, x);
}

/* One of the two is an array of ours; Python tells by their order which. */
static PyObject *
binary(Operator *op, PyObject *x, PyObject *y)
{
    PyObject *r = looped_alike(op->loop, x, y);
    if (LIKELY(r != NULL) || PyErr_Occurred()) {
        return r;
    }
    return IS_ARRAY(x) ? forward(op, x, y) : reflected(op, x, y);
}

static PyObject *
written(Operator *op, PyObject *x, PyObject *a, PyObject *b)
{
    PyObject *args[] = {a, b, a};
    PyObject *r = looped(op->loop, args, 2, a);
    if (r == NULL && !PyErr_Occurred()) {
        r = looped_mixed(op->loop, args, 2, a);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = PyObject_Vectorcall(op->loop, args, 3, NULL);
    }
    if (r == NULL) {
        return NULL;
    }
    Py_DECREF(r);
    return Py_NewRef(x);
}

int
is_little(PyObject *operand)
{
    return !IS_NUMPYS(operand) ||
           (runs_at_once(operand) && setting(world.memory_limit_at) == 0);
}

/* The same for a view of computed memory, where nobody reads that later. */
static PyObject *
written_seen(Operator *op, PyObject *x, PyObject *y)
{
    Handle *handle = (Handle *)x;
    PyObject *a = NULL, *b = NULL, *lock = NULL, *r = NULL, *site = NULL;
    if (takes_writes(handle)) {
        a = lying_here(x);
        b = a == NULL ? NULL : lying_here(y);
    }
    if (b != NULL && !(is_little(a) && is_little(b))) {
        site = turn_on(op->loop, a, b);
        if (site == NULL) {
            Py_CLEAR(b);
        }
    }
    if (b != NULL && PyArray_SIZE((PyArrayObject *)a) > WRITTEN_AT_ONCE) {
        Py_DECREF(a);
        lock = locked(handle->buf);
        a = lock != NULL && may_be_written(handle->buf) ? lying_here(x) : NULL;
    }
    if (a == NULL) {
        Py_CLEAR(b);
    }
    if (b != NULL) {
        double started = site == NULL ? 0 : seconds_now();
        r = written(op, x, a, b);
        took(Py_XNewRef(site), started);
    }
    Py_XDECREF(site);
    if (lock != NULL) {
        unlock(lock);
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    if (r == NULL && !PyErr_Occurred()) {
        r = record_into(op->row, x, y);
    }
    return r != NULL || PyErr_Occurred() ? r : call_slow(op->slow_inplace, x, y);
}

static PyObject *
inplace(Operator *op, PyObject *x, PyObject *y)
{
    if (op->loop == NULL) {
        return call_slow(op->slow_inplace, x, y);
    }
    PyObject *waits = recorded_between(op->row, x, y, 1);
    if (waits != NULL || PyErr_Occurred()) {
        return waits;
    }
    PyObject *a = small_of(x);
    if (a == NULL) {
        return written_seen(op, x, y);
    }
    PyObject *b = at_hand(y);
    if (b == NULL) {
        return call_slow(op->slow_inplace, x, y);
    }
    Py_INCREF(a);
    PyObject *r = written(op, x, a, b);
    Py_DECREF(a);
    Py_DECREF(b);
    return r;
}

static PyObject *
unary(Operator *op, PyObject *x)
{
    PyObject *r = looped_alike(op->loop, x, NULL);
    if (LIKELY(r != NULL)) {
        return r;
    }
    r = PyErr_Occurred() ? NULL : recorded_between(op->row, x, NULL, 0);
    if (r == NULL && !PyErr_Occurred()) {
        r = into_one_of(op, x, NULL);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = call_now(op->loop, x, NULL);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = record_now(op->row, x, NULL);
    }
    return r != NULL || PyErr_Occurred() ? r : call_slow(op->slow, x, NULL);
}

#define BINARY(name, OP)                                                                          \
    static PyObject *nb_##name(PyObject *x, PyObject *y) { return binary(&operators[OP], x, y); }
#define INPLACE(name, OP)                                                                         \
    static PyObject *nb_inplace_##name(PyObject *x, PyObject *y)                                  \
    {                                                                                             \
        return inplace(&operators[OP], x, y);                                                     \
    }
#define UNARY(name, OP)                                                                           \
    static PyObject *nb_##name(PyObject *x) { return unary(&operators[OP], x); }

BINARY(add, ADD)
BINARY(subtract, SUB)
BINARY(multiply, MUL)
BINARY(true_divide, TRUEDIV)
BINARY(floor_divide, FLOORDIV)
BINARY(remainder, MOD)
BINARY(divmod, DIVMOD)
BINARY(and, AND)
BINARY(or, OR)
BINARY(xor, XOR)
BINARY(lshift, LSHIFT)
BINARY(rshift, RSHIFT)
INPLACE(add, ADD)
INPLACE(subtract, SUB)
INPLACE(multiply, MUL)
INPLACE(true_divide, TRUEDIV)
INPLACE(floor_divide, FLOORDIV)
INPLACE(remainder, MOD)
INPLACE(and, AND)
INPLACE(or, OR)
INPLACE(xor, XOR)
INPLACE(lshift, LSHIFT)
INPLACE(rshift, RSHIFT)
UNARY(negative, NEG)
UNARY(positive, POS)
UNARY(absolute, ABS)
UNARY(invert, INVERT)

/* A factor that NumPy reads now in any case, new; NULL without an error where it is another. */
static PyObject *
small_factor(PyObject *x)
{
    return IS_ARRAY(x) ? Py_XNewRef(small_of(x)) : IS_NUMPYS(x) ? at_hand(x) : NULL;
}

/* Scalars have no matrix product: NumPy says so. A managed operand may be planned for. */
static PyObject *
nb_matrix_multiply(PyObject *x, PyObject *y)
{
    Operator *op = &operators[MATMUL];
    PyObject *factors[] = {x, y}, *a = NULL, *b = NULL;
    if (IS_ARRAY(x) && before_product(factors, 2) < 0) {
        return NULL;
    }
    a = small_factor(x);
    b = small_factor(y);
    if ((a == NULL || b == NULL) && IS_ARRAY(x) &&
        slot_of(world.config, world.reproducible_at) == Py_False) {
        Py_XSETREF(a, at_hand(x)); /* what is computed is multiplied as a small array is */
        Py_XSETREF(b, a == NULL || is_immediate(y) ? NULL : at_hand(y));
        if (b == NULL && !is_immediate(y)) {
            Py_XSETREF(a, lying_here(x));
            b = a == NULL ? NULL : lying_here(y);
            if (b != NULL && !is_little_product(a, b)) {
                Py_CLEAR(b);
            }
        }
    }
    if (a == NULL || b == NULL || op->loop == NULL) {
        Py_XDECREF(a);
        Py_XDECREF(b);
        return IS_ARRAY(x) ? call_slow(op->slow, x, y) : call_slow(op->slow_reflected, y, x);
    }
    PyObject *args[] = {a, b}, *r = multiplied(op->loop, a, b);
    if (r == NULL && !PyErr_Occurred()) {
        r = PyObject_Vectorcall(op->loop, args, 2, NULL);
    }
    Py_DECREF(a);
    Py_DECREF(b);
    return result(r, x, y);
}

static PyObject *
nb_inplace_matrix_multiply(PyObject *x, PyObject *y)
{
    return call_slow(operators[MATMUL].slow_inplace, x, y);
}

/* NumPy's operator, not its ufunc: it has short cuts for some exponents, which change the bits. */
static PyObject *
nb_power(PyObject *x, PyObject *y, PyObject *modulo)
{
    Operator *op = &operators[POW];
    if (modulo != Py_None) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (!IS_ARRAY(x)) {
        return reflected(op, x, y);
    }
    PyObject *a = small_of(x), *b = a == NULL ? NULL : IS_ARRAY(y) ? small_of(y) : y;
    PyObject *site = NULL, *memory = NULL;
    if (a != NULL && Py_REFCNT(x) == 1 && (memory = small_temporary(x)) != NULL) {
        int is_float = PyTypeNum_ISFLOAT(PyArray_TYPE((PyArrayObject *)memory));
        PyObject *r = is_float && keeps_type(memory, y) ? PyNumber_InPlacePower(memory, y, Py_None)
                                                        : NULL;
        Py_DECREF(memory);
        if (r != NULL) {
            Py_SETREF(r, Py_NewRef(x));
        }
        if (r != NULL || PyErr_Occurred()) {
            return r;
        }
        memory = NULL;
    }
    if (a == NULL && op->loop != NULL && (PyLong_CheckExact(y) || PyFloat_CheckExact(y)) &&
        (memory = temporary_of(x)) != NULL && (site = turn_on(op->loop, memory, NULL)) != NULL) {
        double started = seconds_now();
        PyObject *r = PyNumber_InPlacePower(memory, y, Py_None);
        if (r != NULL) {
            Py_SETREF(r, Py_NewRef(x));
        }
        took(site, started);
        Py_DECREF(memory);
        return r;
    }
    Py_XDECREF(memory);
    if (a == NULL && (IS_ARRAY(y) || is_immediate(y)) && (a = peek(x)) != NULL) { /* a small view */
        int begins_no_lap = PyArray_SIZE((PyArrayObject *)a) < FEW_MADE; /* as expr/laps.py has it */
        b = !begins_no_lap ? NULL : IS_ARRAY(y) ? at_hand(y) : Py_NewRef(y);
        if (b == NULL) {
            Py_CLEAR(a);
        }
    }
    if (a != NULL && small_of(x) == NULL) {
    }
    else if (a == NULL && op->loop != NULL && (IS_ARRAY(y) || is_immediate(y))) {
        a = lying_here(x);
        b = a == NULL ? NULL : lying_here(y);
        site = b == NULL ? NULL : turn_on(op->loop, a, b);
        if (site == NULL) {
            Py_CLEAR(b);
            Py_CLEAR(a);
        }
    }
    else if (b != NULL && (b != y || is_immediate(y))) {
        Py_INCREF(a); /* besides keeping it alive: NumPy writes over an array with one reference */
        Py_INCREF(b);
    }
    else {
        b = NULL;
    }
    if (b == NULL) {
        return call_slow(op->slow, x, y);
    }
    double started = site == NULL ? 0 : seconds_now();
    PyObject *r = site == NULL ? power_by_loop(op->loop, a, b) : NULL;
    if (r == NULL && !PyErr_Occurred()) {
        r = PyNumber_Power(a, b, Py_None);
    }
    r = result(r, x, y);
    took(site, started);
    Py_DECREF(a);
    Py_DECREF(b);
    return r;
}

static PyObject *
nb_inplace_power(PyObject *x, PyObject *y, PyObject *Py_UNUSED(modulo))
{
    return call_slow(operators[POW].slow_inplace, x, y);
}

PyObject *
handle_compare(PyObject *x, PyObject *y, int op)
{
    PyObject *made = looped_alike(comparing_ufunc(op), x, y);
    if (LIKELY(made != NULL) || PyErr_Occurred()) {
        return made;
    }
    PyObject *waits = recorded_between(compare_row[op], x, y, 0);
    if (waits != NULL || PyErr_Occurred()) {
        return waits;
    }
    PyObject *a = at_hand(x), *site = NULL;
    PyObject *b = a == NULL ? NULL : at_hand(y);
    b = a != NULL && b == NULL ? numbers_beside(y, a) : b;
    PyObject *pair[] = {a, b};
    Py_ssize_t grown = b == NULL ? 0 : bytes_made(Py_None, pair, 2);
    if (grown > 0) {
        site = turn_of(Py_None, grown);
        if (site == NULL) {
            Py_CLEAR(b);
        }
    }
    else if (b == NULL) {
        Py_XSETREF(a, lying_here(x));
        b = a == NULL ? NULL : lying_here(y);
        site = b == NULL ? NULL : turn_on(Py_None, a, b);
        if (site == NULL) {
            Py_CLEAR(b);
        }
        pair[0] = a; /* those that lie here, of which one may be large */
        pair[1] = b;
    }
    if (b == NULL) {
        Py_XDECREF(a);
        PyObject *r = PyErr_Occurred() ? NULL : record_now(compare_row[op], x, y);
        return r != NULL || PyErr_Occurred() ? r : call_slow(compare_slow[op], x, y);
    }
    double started = site == NULL ? 0 : seconds_now();
    PyObject *r = looped(comparing_ufunc(op), pair, 2, NULL);
    if (r == NULL && site == NULL && !PyErr_Occurred()) {
        r = looped_mixed(comparing_ufunc(op), pair, 2, NULL);
    }
    if (r == NULL && !PyErr_Occurred()) {
        r = PyObject_RichCompare(a, b, op);
    }
    r = result(r, x, y);
    took(site, started);
    Py_DECREF(a);
    Py_DECREF(b);
    return r;
}

PyNumberMethods handle_as_number = {
    .nb_add = nb_add,
    .nb_subtract = nb_subtract,
    .nb_multiply = nb_multiply,
    .nb_true_divide = nb_true_divide,
    .nb_floor_divide = nb_floor_divide,
    .nb_remainder = nb_remainder,
    .nb_divmod = nb_divmod,
    .nb_and = nb_and,
    .nb_or = nb_or,
    .nb_xor = nb_xor,
    .nb_lshift = nb_lshift,
    .nb_rshift = nb_rshift,
    .nb_power = nb_power,
    .nb_matrix_multiply = nb_matrix_multiply,
    .nb_inplace_add = nb_inplace_add,
    .nb_inplace_subtract = nb_inplace_subtract,
    .nb_inplace_multiply = nb_inplace_multiply,
    .nb_inplace_true_divide = nb_inplace_true_divide,
    .nb_inplace_floor_divide = nb_inplace_floor_divide,
    .nb_inplace_remainder = nb_inplace_remainder,
    .nb_inplace_and = nb_inplace_and,
    .nb_inplace_or = nb_inplace_or,
    .nb_inplace_xor = nb_inplace_xor,
    .nb_inplace_lshift = nb_inplace_lshift,
    .nb_inplace_rshift = nb_inplace_rshift,
    .nb_inplace_power = nb_inplace_power,
    .nb_inplace_matrix_multiply = nb_inplace_matrix_multiply,
    .nb_negative = nb_negative,
    .nb_positive = nb_positive,
    .nb_absolute = nb_absolute,
    .nb_invert = nb_invert,
    .nb_bool = nb_bool,
    .nb_int = nb_int,
    .nb_float = nb_float,
    .nb_index = nb_index,
};
