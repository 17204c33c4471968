/* Adjacent steps of a phase over a tile, one after the other, without asking for the interpreter's
   lock between them: see dnumpy.kernels.stretches.

   A step is a loop, NumPy's own or one of those below, over operands that lie in a list of arrays.
   They are walked as NumPy walks them: axes that lie one after the other are one, and the result
   says which is the innermost. */

#include <fenv.h>

#include "handle.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* which computes several elements at a time */
#endif

#define MOST_AXES 8
#define MOST_OPERANDS 4 /* the result is the last one */
#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef void (*Loop)(char **args, npy_intp const *extents, npy_intp const *steps, void *data);

/* What Python writes of a step. */
typedef struct {
    npy_int64 loop, data, count; /* of operands */
    npy_int64 slots[MOST_OPERANDS];
    npy_int64 steps_matter; /* the bits may depend on how far apart elements lie */
    npy_int64 stops;        /* whoever reads the flags has to look at the operands */
} Record;

typedef struct {
    Loop loop;
    void *data;
    int count, axes, stops;
    npy_intp shape[MOST_AXES];
    char *at[MOST_OPERANDS];
    npy_intp steps[MOST_OPERANDS][MOST_AXES];
} Call;

/* ---------------------------------------------------------------- loops of our own */

#define OWN_LOOP(name, from, to, body)                                                    \
    static void name(char **args, npy_intp const *extents, npy_intp const *steps, void *unused) \
    {                                                                                     \
        (void)unused;                                                                     \
        npy_intp n = extents[0], by = steps[0], to_by = steps[1];                         \
        if (by == sizeof(from) && to_by == sizeof(to)) {                                  \
            const from *x = (const from *)args[0];                                        \
            to *out = (to *)args[1];                                                      \
            for (npy_intp k = 0; k < n; k++) {                                            \
                out[k] = body(x[k]);                                                      \
            }                                                                             \
            return;                                                                       \
        }                                                                                 \
        for (npy_intp k = 0; k < n; k++) {                                                \
            *(to *)(args[1] + k * to_by) = body(*(const from *)(args[0] + k * by));       \
        }                                                                                 \
    }

#define AS_BOOL(x) ((x) != 0)
#define CAST(f, from, t, to) OWN_LOOP(cast_##f##_##t, from, to, (to))
#define CAST_TO_BOOL(f, from) OWN_LOOP(cast_##f##_b1, from, npy_bool, AS_BOOL)

/* what every type may become; whoever makes integers of floats looks at the flags, since what stands
   for a number that does not fit is NumPy's to choose */
#define CASTS_OF(f, from)                                                                      \
    CAST_TO_BOOL(f, from)                                                                      \
    CAST(f, from, i1, npy_int8) CAST(f, from, i2, npy_int16) CAST(f, from, i4, npy_int32)      \
    CAST(f, from, i8, npy_int64) CAST(f, from, u1, npy_uint8) CAST(f, from, u2, npy_uint16)    \
    CAST(f, from, u4, npy_uint32) CAST(f, from, u8, npy_uint64) CAST(f, from, f4, float)       \
    CAST(f, from, f8, double)

CASTS_OF(b1, npy_bool)
CASTS_OF(i1, npy_int8)
CASTS_OF(i2, npy_int16)
CASTS_OF(i4, npy_int32)
CASTS_OF(i8, npy_int64)
CASTS_OF(u1, npy_uint8)
CASTS_OF(u2, npy_uint16)
CASTS_OF(u4, npy_uint32)
CASTS_OF(u8, npy_uint64)
CASTS_OF(f4, float)
CASTS_OF(f8, double)

/* `where`: bits of both are read whatever the mask says, so that no processor has to guess. */
#define SELECT(name, type)                                                                      \
    static inline void name##_lines(const npy_bool *mask, const type *x, npy_intp a,            \
                                    const type *y, npy_intp b, type *out, npy_intp n)           \
    {                                                                                           \
        for (npy_intp k = 0; k < n; k++) {                                                      \
            const type all = (type)-(type)(mask[k] != 0);                                       \
            out[k] = (type)((x[k * a] & all) | (y[k * b] & (type)~all));                        \
        }                                                                                       \
    }                                                                                           \
    static void name(char **args, npy_intp const *extents, npy_intp const *steps, void *unused) \
    {                                                                                           \
        (void)unused;                                                                           \
        const npy_intp n = extents[0], size = sizeof(type);                                     \
        const npy_bool *mask = (const npy_bool *)args[0];                                       \
        const type *x = (const type *)args[1], *y = (const type *)args[2];                      \
        type *out = (type *)args[3];                                                            \
        int lines = steps[0] == 1 && steps[3] == size;                                          \
        if (lines && steps[1] == size && steps[2] == size) {                                    \
            name##_lines(mask, x, 1, y, 1, out, n);                                             \
        }                                                                                       \
        else if (lines && steps[1] == size && steps[2] == 0) {                                  \
            const type other = y[0];                                                            \
            name##_lines(mask, x, 1, &other, 0, out, n);                                        \
        }                                                                                       \
        else if (lines && steps[1] == 0 && steps[2] == size) {                                  \
            const type chosen = x[0];                                                           \
            name##_lines(mask, &chosen, 0, y, 1, out, n);                                       \
        }                                                                                       \
        else {                                                                                  \
            for (npy_intp k = 0; k < n; k++) {                                                  \
                const char *from = mask[k * steps[0]] ? args[1] + k * steps[1]                  \
                                                      : args[2] + k * steps[2];                 \
                *(type *)(args[3] + k * steps[3]) = *(const type *)from;                        \
            }                                                                                   \
        }                                                                                       \
    }

SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)

static void
select_16(char **args, npy_intp const *extents, npy_intp const *steps, void *unused)
{
    (void)unused;
    for (npy_intp k = 0; k < extents[0]; k++) {
        const uint64_t *x = (const uint64_t *)(args[1] + k * steps[1]);
        const uint64_t *y = (const uint64_t *)(args[2] + k * steps[2]);
        uint64_t *out = (uint64_t *)(args[3] + k * steps[3]);
        const uint64_t all = -(uint64_t)(args[0][k * steps[0]] != 0);
        uint64_t low = (x[0] & all) | (y[0] & ~all), high = (x[1] & all) | (y[1] & ~all);
        out[0] = low;
        out[1] = high;
    }
}

static const struct {
    const char *name;
    Loop loop;
} own[] = {
#define NAMED(f, t) {#f " " #t, cast_##f##_##t},
#define NAMED_FROM(f)                                                                           \
    NAMED(f, b1) NAMED(f, i1) NAMED(f, i2) NAMED(f, i4) NAMED(f, i8) NAMED(f, u1) NAMED(f, u2)  \
    NAMED(f, u4) NAMED(f, u8) NAMED(f, f4) NAMED(f, f8)
    NAMED_FROM(b1) NAMED_FROM(i1) NAMED_FROM(i2) NAMED_FROM(i4) NAMED_FROM(i8)
    NAMED_FROM(u1) NAMED_FROM(u2) NAMED_FROM(u4) NAMED_FROM(u8) NAMED_FROM(f4) NAMED_FROM(f8)
    {"where 1", select_1}, {"where 2", select_2}, {"where 4", select_4}, {"where 8", select_8},
    {"where 16", select_16},
};

/* `own_loops()`: the address of each by its name. */
PyObject *
own_loops(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *found = PyDict_New();
    for (size_t k = 0; found != NULL && k < sizeof own / sizeof *own; k++) {
        PyObject *address = PyLong_FromVoidPtr((void *)own[k].loop);
        if (address == NULL || PyDict_SetItemString(found, own[k].name, address) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(address);
    }
    return found;
}

/* ---------------------------------------------------------------- how operands lie */

/* Say whether writing the result may change an operand where it is read later: by the same loop, or,
   if it `stops`, by NumPy's. */
static int
is_disturbed(PyArrayObject *operand, PyArrayObject *out, int stops)
{
    if (!stops && PyArray_DATA(operand) == PyArray_DATA(out) &&
        PyArray_NDIM(operand) == PyArray_NDIM(out) && PyArray_ITEMSIZE(operand) == PyArray_ITEMSIZE(out) &&
        PyArray_CompareLists(PyArray_DIMS(operand), PyArray_DIMS(out), PyArray_NDIM(out)) &&
        PyArray_CompareLists(PyArray_STRIDES(operand), PyArray_STRIDES(out), PyArray_NDIM(out))) {
        return 0; /* each element is read before it is written */
    }
    char *low[2], *high[2];
    PyArrayObject *both[2] = {operand, out};
    for (int k = 0; k < 2; k++) {
        low[k] = PyArray_DATA(both[k]);
        high[k] = low[k] + PyArray_ITEMSIZE(both[k]);
        for (int d = 0; d < PyArray_NDIM(both[k]); d++) {
            npy_intp reach = (PyArray_DIM(both[k], d) - 1) * PyArray_STRIDE(both[k], d);
            *(reach < 0 ? &low[k] : &high[k]) += reach;
        }
    }
    return low[0] < high[1] && low[1] < high[0];
}

/* Put the axes of the call in order, the one along which the result's elements lie closest last,
   and make one of those that follow each other in all operands. */
static void
order_axes(Call *call, int ndim, const npy_intp *shape, npy_intp steps[][MOST_AXES])
{
    int order[MOST_AXES], axes = 0, out = call->count - 1;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 1) {
            continue;
        }
        int k = axes++;
        npy_intp own = Py_ABS(steps[out][d]);
        for (; k > 0 && Py_ABS(steps[out][order[k - 1]]) < own; k--) {
            order[k] = order[k - 1];
        }
        order[k] = d;
    }
    call->axes = 0;
    for (int k = 0; k < axes; k++) {
        int d = order[k], last = call->axes - 1, follows = last >= 0;
        for (int x = 0; x < call->count && follows; x++) {
            follows = call->steps[x][last] == steps[x][d] * shape[d];
        }
        int at = follows ? last : call->axes++;
        call->shape[at] = follows ? call->shape[at] * shape[d] : shape[d];
        for (int x = 0; x < call->count; x++) {
            call->steps[x][at] = steps[x][d];
        }
    }
}

/* Make the call for a step over arrays of a list; 0 where NumPy is to do it. */
static int
make_call(Call *call, const Record *record, PyObject *values)
{
    npy_intp steps[MOST_OPERANDS][MOST_AXES], sizes[MOST_OPERANDS];
    call->loop = (Loop)(npy_intp)record->loop;
    call->data = (void *)(npy_intp)record->data;
    call->count = (int)record->count;
    call->stops = (int)record->stops;
    PyObject *given = PyList_GET_ITEM(values, record->slots[call->count - 1]);
    if (!PyArray_CheckExact(given) || PyArray_NDIM((PyArrayObject *)given) > MOST_AXES) {
        return 0;
    }
    PyArrayObject *out = (PyArrayObject *)given;
    int ndim = PyArray_NDIM(out);
    for (int x = 0; x < call->count; x++) {
        given = PyList_GET_ITEM(values, record->slots[x]);
        if (!PyArray_CheckExact(given)) {
            return 0;
        }
        PyArrayObject *operand = (PyArrayObject *)given;
        int lead = ndim - PyArray_NDIM(operand);
        if (lead < 0 || !PyArray_ISBEHAVED_RO(operand) ||
            (x < call->count - 1 && is_disturbed(operand, out, call->stops))) {
            return 0;
        }
        for (int d = 0; d < ndim; d++) {
            npy_intp extent = d < lead ? 1 : PyArray_DIM(operand, d - lead);
            if (extent != 1 && extent != PyArray_DIM(out, d)) {
                return 0;
            }
            steps[x][d] = extent == 1 ? 0 : PyArray_STRIDE(operand, d - lead);
        }
        call->at[x] = PyArray_DATA(operand);
        sizes[x] = PyArray_ITEMSIZE(operand);
    }
    order_axes(call, ndim, PyArray_DIMS(out), steps);
    if (call->axes == 0) { /* one element: loops take steps of 0 for a fold or a scalar, as here */
        call->axes = 1;
        call->shape[0] = 1;
        for (int x = 0; x < call->count; x++) {
            PyObject *operand = PyList_GET_ITEM(values, record->slots[x]);
            call->steps[x][0] = PyArray_NDIM((PyArrayObject *)operand) == 0 ? 0 : sizes[x];
        }
    }
    for (int x = 0; x < call->count && record->steps_matter; x++) {
        npy_intp step = call->steps[x][call->axes - 1];
        if (step != 0 && step != sizes[x]) {
            return 0;
        }
    }
    return PyArray_ISWRITEABLE(out);
}

/* Call the loop once for each of so many rows, which lie `by` bytes apart. */
static inline void
run_rows(const Call *call, char **first, npy_intp rows, const npy_intp *by, npy_intp extent,
         const npy_intp *steps)
{
    char *row[MOST_OPERANDS], *args[MOST_OPERANDS];
    memcpy(row, first, sizeof row);
    for (npy_intp k = 0; k < rows; k++) {
        for (int x = 0; x < MOST_OPERANDS; x++) { /* loops may move what they are given */
            args[x] = row[x];
            row[x] += by[x];
        }
        call->loop(args, &extent, steps, call->data);
    }
}

static void
run_call(const Call *call)
{
    int inner = call->axes - 1, outer = inner - 1; /* of the axes that are not walked here */
    npy_intp at[MOST_AXES] = {0}, by[MOST_OPERANDS] = {0}, steps[MOST_OPERANDS] = {0};
    char *first[MOST_OPERANDS] = {NULL};
    for (int d = 0; d <= inner; d++) {
        if (call->shape[d] == 0) {
            return;
        }
    }
    for (int x = 0; x < call->count; x++) {
        first[x] = call->at[x];
        steps[x] = call->steps[x][inner];
        by[x] = outer < 0 ? 0 : call->steps[x][outer];
    }
    for (;;) {
        run_rows(call, first, outer < 0 ? 1 : call->shape[outer], by, call->shape[inner], steps);
        int d = outer - 1;
        for (; d >= 0; d--) {
            at[d]++;
            npy_intp back = at[d] < call->shape[d] ? 0 : call->shape[d];
            for (int x = 0; x < call->count; x++) {
                first[x] += call->steps[x][d] * (1 - back);
            }
            if (back == 0) {
                break;
            }
            at[d] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

/* `run_stretch(values, records, begin)`: run the steps from the one of this number on; return the
   number of the first one that NumPy has to run, and the flags that each one raised, if any did. */
PyObject *
run_stretch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3 || !PyList_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "expected a list of arrays, records, and where to begin");
        return NULL;
    }
    PyObject *values = args[0];
    PyArrayObject *given = (PyArrayObject *)args[1];
    Py_ssize_t begin = PyLong_AsSsize_t(args[2]);
    Py_ssize_t count = PyArray_NBYTES(given) / (Py_ssize_t)sizeof(Record);
    if (begin < 0 || begin > count) {
        PyErr_SetString(PyExc_ValueError, "expected the number of a record");
        return NULL;
    }
    const Record *records = PyArray_DATA(given);
    Call *calls = PyMem_Malloc((count - begin + 1) * sizeof *calls);
    int *raised = PyMem_Malloc((count - begin + 1) * sizeof *raised);
    if (calls == NULL || raised == NULL) {
        PyMem_Free(calls);
        PyMem_Free(raised);
        return PyErr_NoMemory();
    }
    Py_ssize_t ready = 0, done = 0;
    int any = 0;
    while (begin + ready < count && make_call(&calls[ready], &records[begin + ready], values)) {
        ready++;
    }
    Py_BEGIN_ALLOW_THREADS
    while (done < ready) {
        feclearexcept(FLAGS);
        run_call(&calls[done]);
        raised[done] = fetestexcept(FLAGS);
        if (raised[done] && calls[done].stops) {
            break;
        }
        any |= raised[done++];
    }
    if (any || done < ready) {
        feclearexcept(FLAGS);
    }
    Py_END_ALLOW_THREADS
    PyObject *faults = any ? PyList_New(0) : NULL;
    for (Py_ssize_t k = 0; faults != NULL && k < done; k++) {
        PyObject *pair = raised[k] ? Py_BuildValue("ni", begin + k, raised[k]) : NULL;
        if (raised[k] && (pair == NULL || PyList_Append(faults, pair) < 0)) {
            Py_CLEAR(faults);
        }
        Py_XDECREF(pair);
    }
    PyMem_Free(calls);
    PyMem_Free(raised);
    if (!any) {
        return PyLong_FromSsize_t(begin + done);
    }
    return faults == NULL ? NULL : Py_BuildValue("nN", begin + done, faults);
}
