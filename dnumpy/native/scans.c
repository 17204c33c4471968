/* Running folds along one axis, in NumPy's order: each joins the one before it with the next element.

   NumPy's loop has the one before it from memory, which takes longer than the operation itself; here
   it stays in a register, and where other axes lie within, whole rows are joined at once. What may go
   before all of them is joined with each one afterwards. */

#include "pairwise.h"

#include <float.h>

#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define LARGER(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))

#define GIVEN(T, x) ((T)(x))
#define TRUTH(T, x) ((T)((x) != 0)) /* of a boolean, which may be any byte: of memory made for others */

/* `outer` times `n` rows of `inner` elements, each row joined with the one before; `before`, which may
   be NULL, has `inner` elements, and `outer` is 1 then. */
#define DEFINE_SCAN_OF(NAME, FROM, T, JOIN, TAKEN)                                                 \
    FOR_EACH_CPU static void NAME##_joined(const void *joined, void *to, Py_ssize_t n,             \
                                           Py_ssize_t inner)                                       \
    {                                                                                              \
        const T *before = joined;                                                                  \
        T *restrict out = to;                                                                      \
        if (inner == 1) {                                                                          \
            const T first = before[0];                                                             \
            for (Py_ssize_t i = 0; i < n; i++) {                                                   \
                out[i] = JOIN(first, out[i]);                                                      \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (Py_ssize_t i = 0; i < n; i++) {                                                       \
            T *restrict here = out + i * inner;                                                    \
            for (Py_ssize_t j = 0; j < inner; j++) {                                               \
                here[j] = JOIN(before[j], here[j]);                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME(const void *from, void *to, const void *joined, Py_ssize_t outer, \
                                  Py_ssize_t n, Py_ssize_t inner)                                  \
    {                                                                                              \
        const FROM *x = from;                                                                      \
        const T *before = joined;                                                                  \
        T *out = to;                                                                               \
        for (Py_ssize_t k = 0; k < outer; k++, x += n * inner, out += n * inner) {                 \
            if (inner == 1) {                                                                      \
                T last = TAKEN(T, x[0]);                                                           \
                out[0] = before == NULL ? last : JOIN(before[0], last);                            \
                if (before == NULL) {                                                              \
                    for (Py_ssize_t i = 1; i < n; i++) {                                           \
                        last = JOIN(last, TAKEN(T, x[i]));                                         \
                        out[i] = last;                                                             \
                    }                                                                              \
                    continue;                                                                      \
                }                                                                                  \
                const T first = before[0];                                                         \
                for (Py_ssize_t i = 1; i < n; i++) {                                               \
                    last = JOIN(last, TAKEN(T, x[i]));                                             \
                    out[i] = JOIN(first, last);                                                    \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            for (Py_ssize_t j = 0; j < inner; j++) {                                               \
                out[j] = TAKEN(T, x[j]);                                                           \
            }                                                                                      \
            for (Py_ssize_t i = 1; i < n; i++) {                                                   \
                const T *above = out + (i - 1) * inner;                                            \
                const FROM *row = x + i * inner;                                                   \
                T *restrict here = out + i * inner;                                                \
                for (Py_ssize_t j = 0; j < inner; j++) {                                           \
                    here[j] = JOIN(above[j], TAKEN(T, row[j]));                                    \
                }                                                                                  \
            }                                                                                      \
            if (before != NULL) {                                                                  \
                NAME##_joined(before, out, n, inner);                                              \
            }                                                                                      \
        }                                                                                          \
    }

#define DEFINE_SCAN(NAME, FROM, T, JOIN) DEFINE_SCAN_OF(NAME, FROM, T, JOIN, GIVEN)

DEFINE_SCAN(sum_doubles, double, double, SUM)
DEFINE_SCAN(sum_floats, float, float, SUM)
DEFINE_SCAN(sum_longs, npy_uint64, npy_uint64, SUM) /* of either sign: they wrap around alike */
DEFINE_SCAN(sum_ints, npy_int32, npy_int64, SUM)
DEFINE_SCAN(sum_bytes, npy_uint8, npy_uint64, SUM)
DEFINE_SCAN_OF(sum_truths, npy_uint8, npy_uint64, SUM, TRUTH)
DEFINE_SCAN(multiply_doubles, double, double, PRODUCT)
DEFINE_SCAN(multiply_floats, float, float, PRODUCT)
DEFINE_SCAN(multiply_longs, npy_uint64, npy_uint64, PRODUCT)
DEFINE_SCAN(largest_doubles, double, double, LARGER)
DEFINE_SCAN(largest_floats, float, float, LARGER)
DEFINE_SCAN(largest_longs, npy_int64, npy_int64, LARGER)
DEFINE_SCAN(smallest_doubles, double, double, SMALLER)
DEFINE_SCAN(smallest_floats, float, float, SMALLER)
DEFINE_SCAN(smallest_longs, npy_int64, npy_int64, SMALLER)

typedef void (*Scan)(const void *, void *, const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t);
typedef void (*Join)(const void *, void *, Py_ssize_t, Py_ssize_t);

typedef struct {
    const char *ufunc, *from, *to; /* kinds of dtypes */
    int from_bytes, to_bytes;
    Scan scan;
    Join join;
    int faults; /* that NumPy would tell of */
} Loop;

/* The loops for elements of one kind and size whose folds have another; the first that fits. */
static const Loop loops[] = {
    {"add", "f", "f", 8, 8, sum_doubles, sum_doubles_joined, FE_INVALID | FE_OVERFLOW},
    {"add", "f", "f", 4, 4, sum_floats, sum_floats_joined, FE_INVALID | FE_OVERFLOW},
    {"add", "iu", "iu", 8, 8, sum_longs, sum_longs_joined, 0},
    {"add", "i", "i", 4, 8, sum_ints, sum_ints_joined, 0},
    {"add", "u", "iu", 1, 8, sum_bytes, sum_bytes_joined, 0},
    {"add", "b", "iu", 1, 8, sum_truths, sum_truths_joined, 0},
    {"multiply", "f", "f", 8, 8, multiply_doubles, multiply_doubles_joined, FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW},
    {"multiply", "f", "f", 4, 4, multiply_floats, multiply_floats_joined, FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW},
    {"multiply", "iu", "iu", 8, 8, multiply_longs, multiply_longs_joined, 0},
    {"maximum", "f", "f", 8, 8, largest_doubles, largest_doubles_joined, 0},
    {"maximum", "f", "f", 4, 4, largest_floats, largest_floats_joined, 0},
    {"maximum", "i", "i", 8, 8, largest_longs, largest_longs_joined, 0},
    {"minimum", "f", "f", 8, 8, smallest_doubles, smallest_doubles_joined, 0},
    {"minimum", "f", "f", 4, 4, smallest_floats, smallest_floats_joined, 0},
    {"minimum", "i", "i", 8, 8, smallest_longs, smallest_longs_joined, 0},
};

static const Loop *
loop_for(const char *ufunc, PyArrayObject *x, PyArrayObject *out)
{
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        if (strcmp(loops[k].ufunc, ufunc) == 0 &&
            strchr(loops[k].from, PyArray_DESCR(x)->kind) != NULL &&
            strchr(loops[k].to, PyArray_DESCR(out)->kind) != NULL &&
            PyArray_ITEMSIZE(x) == loops[k].from_bytes &&
            PyArray_ITEMSIZE(out) == loops[k].to_bytes) {
            return &loops[k];
        }
    }
    return NULL;
}

/* The loop that makes running folds of one array in the memory of another, which lies apart; NULL if
   that is NumPy's to do. */
static const Loop *
loop_over(const char *ufunc, PyArrayObject *x, PyArrayObject *out)
{
    const char *from = PyArray_BYTES(x), *to = PyArray_BYTES(out);
    int fits = PyArray_NDIM(x) == PyArray_NDIM(out) && PyArray_SIZE(out) > 0 &&
               PyArray_ISCARRAY_RO(x) && PyArray_ISCARRAY(out) &&
               (from >= to + PyArray_NBYTES(out) || to >= from + PyArray_NBYTES(x));
    for (int k = 0; fits && k < PyArray_NDIM(out); k++) {
        fits = PyArray_DIM(x, k) == PyArray_DIM(out, k);
    }
    return fits ? loop_for(ufunc, x, out) : NULL;
}

/* Say whether there is a row for each column of what is written, of its type and in order. */
static int
goes_before(PyArrayObject *row, PyArrayObject *out, int axis)
{
    return axis == 0 && PyArray_SIZE(row) * PyArray_DIM(out, 0) == PyArray_SIZE(out) &&
           PyArray_EquivTypes(PyArray_DESCR(row), PyArray_DESCR(out)) && PyArray_ISCARRAY_RO(row);
}

/* The faults of floating-point operations, as numpy/ufuncobject.h numbers them. */
static int
numbered(int raised)
{
    return (raised & FE_OVERFLOW ? 2 : 0) |
           (raised & FE_UNDERFLOW ? 4 : 0) |
           (raised & FE_INVALID ? 8 : 0);
}

/* scan(ufunc, x, out, axis, before): the faults, or -1 where NumPy has to do it. */
PyObject *
scan(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *ufunc;
    PyArrayObject *x, *out;
    PyObject *before;
    int axis, raised;
    Py_ssize_t outer = 1, inner = 1;
    if (!PyArg_ParseTuple(args, "sO!O!iO", &ufunc, &PyArray_Type, &x, &PyArray_Type, &out, &axis,
                          &before)) {
        return NULL;
    }
    const Loop *loop = loop_over(ufunc, x, out);
    if (loop == NULL || axis < 0 || axis >= PyArray_NDIM(out) ||
        (before != Py_None &&
         !(IS_NUMPYS(before) && goes_before((PyArrayObject *)before, out, axis)))) {
        return PyLong_FromLong(-1);
    }
    for (int k = 0; k < PyArray_NDIM(out); k++) {
        outer *= k < axis ? PyArray_DIM(out, k) : 1;
        inner *= k > axis ? PyArray_DIM(out, k) : 1;
    }
    const void *joined = before == Py_None ? NULL : PyArray_DATA((PyArrayObject *)before);
    const char *from = PyArray_BYTES(x);
    char *to = PyArray_BYTES(out);
    Py_ssize_t n = PyArray_DIM(out, axis);
    Py_BEGIN_ALLOW_THREADS;
    clear_faults();
    loop->scan(from, to, joined, outer, n, inner);
    raised = faults_among(loop->faults);
    clear_faults();
    Py_END_ALLOW_THREADS;
    return PyLong_FromLong(numbered(raised));
}

/* What numpy.cumsum and the like take for granted: None, or nothing. */
static int
is_none(PyObject *x)
{
    return x == NULL || x == Py_None;
}

/* Take `(a, axis=None, dtype=None, out=None)`; 0 where NumPy has to look. */
static int
take_call(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, PyObject *given[4])
{
    static const char *const names[] = {"a", "axis", "dtype", "out"};
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (count < 1 || count > 4 || !IS_NUMPYS(args[0])) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        given[k] = args[k];
    }
    for (Py_ssize_t k = 0; k < named; k++) {
        int at = 1;
        while (at < 4 &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), names[at]) != 0) {
            at++;
        }
        if (at == 4 || given[at] != NULL) {
            return 0;
        }
        given[at] = args[count + k];
    }
    return is_none(given[2]) && is_none(given[3]) &&
           (is_none(given[1]) || PyLong_CheckExact(given[1]));
}

/* The running folds of an array by the dtype that NumPy gives them, new, and their faults; NULL without
   an error where that has no loop here. */
static PyObject *
run_over(const char *ufunc, PyArrayObject *x, PyObject *axis, int *raised)
{
    int dimensions = PyArray_NDIM(x), along = is_none(axis) ? 0 : PyLong_AsLong(axis);
    Py_ssize_t outer = 1, inner = 1, size = PyArray_SIZE(x);
    along += along < 0 ? dimensions : 0;
    if (PyErr_Occurred() || size == 0 || along < 0 || along >= dimensions ||
        !PyArray_ISCARRAY_RO(x)) {
        PyErr_Clear();
        return NULL;
    }
    for (int k = 0; k < dimensions && !is_none(axis); k++) {
        outer *= k < along ? PyArray_DIM(x, k) : 1;
        inner *= k > along ? PyArray_DIM(x, k) : 1;
    }
    PyArray_Descr *dtype = PyArray_DESCR(x);
    int widens = strchr("biu", dtype->kind) != NULL && PyDataType_ELSIZE(dtype) < 8;
    if (widens) {
        dtype = PyArray_DescrFromType(dtype->kind == 'u' ? NPY_UINTP : NPY_INTP);
    }
    else {
        Py_INCREF(dtype);
    }
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, dtype, is_none(axis) ? 1 : dimensions,
                                         is_none(axis) ? &size : PyArray_DIMS(x), NULL, NULL, 0,
                                         NULL);
    const Loop *loop = out == NULL ? NULL : loop_for(ufunc, x, (PyArrayObject *)out);
    if (loop == NULL) {
        Py_XDECREF(out);
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size);
    clear_faults();
    loop->scan(PyArray_BYTES(x), PyArray_BYTES((PyArrayObject *)out), NULL, outer,
               size / outer / inner, inner);
    *raised = faults_among(loop->faults);
    clear_faults();
    NPY_END_THREADS;
    return out;
}

/* Two elements whose running folds have one fault and no other, new. */
static PyObject *
worst_of(const char *ufunc, int type, int fault)
{
    double largest = type == NPY_FLOAT ? FLT_MAX : DBL_MAX, least = type == NPY_FLOAT ? FLT_MIN : DBL_MIN;
    double first = fault == FE_OVERFLOW ? largest : fault == FE_UNDERFLOW ? least : INFINITY, second = first;
    if (fault == FE_INVALID) {
        second = strcmp(ufunc, "add") == 0 ? -INFINITY : 0;
    }
    npy_intp two = 2;
    PyObject *made = PyArray_SimpleNew(1, &two, type);
    if (made != NULL && type == NPY_FLOAT) {
        float *x = PyArray_DATA((PyArrayObject *)made);
        x[0] = (float)first;
        x[1] = (float)second;
    }
    else if (made != NULL) {
        double *x = PyArray_DATA((PyArrayObject *)made);
        x[0] = first;
        x[1] = second;
    }
    return made;
}

/* Have NumPy tell of the faults of a loop, by its own function of two elements that have the same; -1
   with the error that it may raise. `args` has room for the elements at the end. */
static int
have_told(const char *ufunc, int type, int raised, PyObject *numpys, PyObject **args, Py_ssize_t count)
{
    static const int kinds[] = {FE_OVERFLOW, FE_UNDERFLOW, FE_INVALID}; /* in NumPy's order */
    for (int k = 0; k < 3; k++) {
        if (raised & kinds[k]) {
            PyObject *told = NULL;
            args[count - 1] = worst_of(ufunc, type, kinds[k]);
            if (args[count - 1] != NULL) {
                told = PyObject_Vectorcall(numpys, args, count, NULL);
                Py_DECREF(args[count - 1]);
            }
            if (told == NULL) {
                return -1;
            }
            Py_DECREF(told);
        }
    }
    return 0;
}


static PyObject *
running(const char *ufunc, const char *owner, const char *name, PyObject **numpys,
        PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *given[4] = {NULL}, *two[1];
    int raised = 0;
    if (*numpys == NULL && (*numpys = numpys_own(owner, name)) == NULL) {
        return NULL;
    }
    if (take_call(args, count, kwnames, given)) {
        PyArrayObject *x = (PyArrayObject *)args[0];
        PyObject *made = run_over(ufunc, x, given[1], &raised);
        if (made != NULL && raised && have_told(ufunc, PyArray_TYPE(x), raised, *numpys, two, 1) < 0) {
            Py_CLEAR(made);
        }
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return PyObject_Vectorcall(*numpys, args, count, kwnames);
}

#define DEFINE_RUNNING(NAME, UFUNC, OWNER, NUMPYS)                                                 \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        return running(UFUNC, OWNER, NUMPYS, &numpys, args, count, kwnames);                       \
    }

DEFINE_RUNNING(cumsum, "add", NULL, "cumsum")
DEFINE_RUNNING(cumprod, "multiply", NULL, "cumprod")
DEFINE_RUNNING(cumsum_of, "add", "ndarray", "cumsum") /* a method's errors have other texts */
DEFINE_RUNNING(cumprod_of, "multiply", "ndarray", "cumprod")

/* The name of a ufunc of which there are loops here; NULL for others, whatever they are called. */
static const char *
run_by(PyObject *ufunc)
{
    static const char *const names[] = {"add", "multiply", "maximum", "minimum"};
    static PyObject *ufuncs[4];
    for (int k = 0; k < 4; k++) {
        if (ufuncs[k] == NULL) {
            ufuncs[k] = numpys_own(NULL, names[k]);
            PyErr_Clear();
        }
        if (ufuncs[k] == ufunc) {
            return names[k];
        }
    }
    return NULL;
}

/* accumulate_of(ufunc, array, axis=0, dtype=None, out=None) */
PyObject *
accumulate_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,
              PyObject *kwnames)
{
    static PyObject *numpys;
    PyObject *given[4] = {NULL}, *two[2];
    const char *name = count > 1 ? run_by(args[0]) : NULL;
    int raised = 0;
    if (numpys == NULL && (numpys = numpys_own("ufunc", "accumulate")) == NULL) {
        return NULL;
    }
    if (name != NULL && take_call(args + 1, count - 1, kwnames, given) && given[1] != Py_None &&
        PyArray_NDIM((PyArrayObject *)args[1]) > 0) {
        PyArrayObject *x = (PyArrayObject *)args[1];
        PyObject *first = given[1] == NULL ? PyLong_FromLong(0) : Py_NewRef(given[1]);
        PyObject *made = first == NULL ? NULL : run_over(name, x, first, &raised);
        Py_XDECREF(first);
        two[0] = args[0];
        if (made != NULL && raised && have_told(name, PyArray_TYPE(x), raised, numpys, two, 2) < 0) {
            Py_CLEAR(made);
        }
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return PyObject_Vectorcall(numpys, args, count, kwnames);
}

#if defined(__GNUC__) && !defined(_WIN32)
#include <sched.h>
#define YIELDS 64 /* looks at a flag before another thread is let run */

/* Take the next block, make its own folds, and join them with the last one of the block before. That
   is waited for by looking at a flag: whoever has that block took it earlier, so that the first of
   those who wait for each other waits for nobody. */
static void
take_blocks(const Loop *loop, const char *from, char *to, Py_ssize_t n, Py_ssize_t inner,
            Py_ssize_t block, Py_ssize_t itemsizes[2], npy_int64 *state)
{
    npy_int64 *next = state, *done = state + 1;
    for (;;) {
        Py_ssize_t k = (Py_ssize_t)__atomic_fetch_add(next, 1, __ATOMIC_RELAXED), lo = k * block;
        if (lo >= n) {
            return;
        }
        Py_ssize_t rows = n - lo < block ? n - lo : block, row = inner * itemsizes[1];
        char *own = to + lo * row, *last = own + (rows - 1) * row;
        loop->scan(from + lo * inner * itemsizes[0], own, NULL, 1, rows, inner);
        for (int looks = 0; k > 0 && !__atomic_load_n(&done[k - 1], __ATOMIC_ACQUIRE); looks++) {
            if (looks % YIELDS == YIELDS - 1) {
                sched_yield();
            }
        }
        if (k > 0) {
            loop->join(own - row, last, 1, inner);
        }
        __atomic_store_n(&done[k], 1, __ATOMIC_RELEASE);
        if (k > 0 && rows > 1) {
            loop->join(own - row, own, rows - 1, inner);
        }
    }
}

/* scan_jointly(ufunc, x, out, block, state): as above along the first axis, in blocks, together with
   other threads that call it with the same `state`: 64-bit zeros, one more than there are blocks. */
PyObject *
scan_jointly(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *ufunc;
    PyArrayObject *x, *out, *state;
    Py_ssize_t block;
    int raised;
    if (!PyArg_ParseTuple(args, "sO!O!nO!", &ufunc, &PyArray_Type, &x, &PyArray_Type, &out, &block,
                          &PyArray_Type, &state)) {
        return NULL;
    }
    const Loop *loop = loop_over(ufunc, x, out);
    if (loop == NULL || block < 1 || PyArray_TYPE(state) != NPY_INT64 || !PyArray_ISCARRAY(state) ||
        (PyArray_SIZE(state) - 1) * block < PyArray_DIM(out, 0)) {
        return PyLong_FromLong(-1);
    }
    const char *from = PyArray_BYTES(x);
    char *to = PyArray_BYTES(out);
    Py_ssize_t n = PyArray_DIM(out, 0), sizes[] = {PyArray_ITEMSIZE(x), PyArray_ITEMSIZE(out)};
    Py_BEGIN_ALLOW_THREADS;
    clear_faults();
    take_blocks(loop, from, to, n, PyArray_SIZE(out) / n, block, sizes, PyArray_DATA(state));
    raised = faults_among(loop->faults);
    clear_faults();
    Py_END_ALLOW_THREADS;
    return PyLong_FromLong(numbered(raised));
}
#else
PyObject *
scan_jointly(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyLong_FromLong(-1); /* without the compiler's atomic operations */
}
#endif
