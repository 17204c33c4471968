/* Adjacent steps of a phase over a tile, one after the other, without asking for the interpreter's
   lock between them: see dnumpy.kernels.stretches.

   A step is a loop, NumPy's own or one of those below, over operands that lie in a list of arrays.
   They are walked as NumPy walks them: axes that lie one after the other are one, and the result
   says which is the innermost. */

#include "calls.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* which computes several elements at a time */
#endif

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

#define CAST_BOOL(t, to) OWN_LOOP(cast_b1_##t, npy_bool, to, (to)AS_BOOL) /* any byte but 0 is true */

CAST_BOOL(b1, npy_bool)
CAST_BOOL(i1, npy_int8)
CAST_BOOL(i2, npy_int16)
CAST_BOOL(i4, npy_int32)
CAST_BOOL(i8, npy_int64)
CAST_BOOL(u1, npy_uint8)
CAST_BOOL(u2, npy_uint16)
CAST_BOOL(u4, npy_uint32)
CAST_BOOL(u8, npy_uint64)
CAST_BOOL(f4, float)
CAST_BOOL(f8, double)
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

/* Complex numbers: of a real one, and of each other; the imaginary part of what becomes real is dropped. */
typedef struct {
    float real, imag;
} Single;

typedef struct {
    double real, imag;
} Double;

#define TO_SINGLE(x) ((Single){(float)(x), 0})
#define TO_DOUBLE(x) ((Double){(double)(x), 0})
#define BOTH_TO_SINGLE(x) ((Single){(float)(x).real, (float)(x).imag})
#define BOTH_TO_DOUBLE(x) ((Double){(double)(x).real, (double)(x).imag})
#define BOOL_TO_SINGLE(x) TO_SINGLE((x) != 0)
#define BOOL_TO_DOUBLE(x) TO_DOUBLE((x) != 0)
#define REAL_OF(x) (x).real
#define IS_NOT_ZERO(x) ((x).real != 0 || (x).imag != 0)

#define TO_COMPLEX(f, from) \
    OWN_LOOP(cast_##f##_c8, from, Single, TO_SINGLE) OWN_LOOP(cast_##f##_c16, from, Double, TO_DOUBLE)
#define FROM_COMPLEX(f, from)                                                                       \
    OWN_LOOP(cast_##f##_c8, from, Single, BOTH_TO_SINGLE)                                           \
    OWN_LOOP(cast_##f##_c16, from, Double, BOTH_TO_DOUBLE)                                          \
    OWN_LOOP(cast_##f##_f4, from, float, REAL_OF) OWN_LOOP(cast_##f##_f8, from, double, REAL_OF)    \
    OWN_LOOP(cast_##f##_b1, from, npy_bool, IS_NOT_ZERO)

OWN_LOOP(cast_b1_c8, npy_bool, Single, BOOL_TO_SINGLE)
OWN_LOOP(cast_b1_c16, npy_bool, Double, BOOL_TO_DOUBLE)
TO_COMPLEX(i1, npy_int8)
TO_COMPLEX(i2, npy_int16)
TO_COMPLEX(i4, npy_int32)
TO_COMPLEX(i8, npy_int64)
TO_COMPLEX(u1, npy_uint8)
TO_COMPLEX(u2, npy_uint16)
TO_COMPLEX(u4, npy_uint32)
TO_COMPLEX(u8, npy_uint64)
TO_COMPLEX(f4, float)
TO_COMPLEX(f8, double)
FROM_COMPLEX(c8, Single)
FROM_COMPLEX(c16, Double)

#define BLOCK 256 /* elements of which a mask is looked at together */
#define ONES 0x0101010101010101u

/* Say whether the mask is true for none of some adjacent elements, 0, for all, 1, or for some, -1. */
static int
share_of(const npy_bool *mask, npy_intp n)
{
    uint64_t any = 0, all = ONES, word;
    npy_intp k = 0;
    for (; k + 8 <= n; k += 8) {
        memcpy(&word, mask + k, sizeof word);
        any |= word;
        all &= word;
    }
    for (; k < n; k++) {
        any |= mask[k];
        all &= mask[k] == 1 ? ONES : 0;
    }
    return any == 0 ? 0 : (all == ONES && any == ONES) ? 1 : -1;
}

/* `where`: bits of both are read whatever the mask says, so that no processor has to guess; but not of
   what it says for many elements alike. */
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
            for (npy_intp k = 0, m; k < n; k += m) {                                            \
                m = Py_MIN(BLOCK, n - k);                                                       \
                int whole = share_of(mask + k, m);                                             \
                if (whole < 0) {                                                                \
                    name##_lines(mask + k, x + k, 1, y + k, 1, out + k, m);                     \
                }                                                                               \
                else if ((whole ? x : y) != out) {                                              \
                    memcpy(out + k, (whole ? x : y) + k, m * size);                             \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
        else if (lines && steps[1] == size && steps[2] == 0) {                                  \
            const type other = y[0];                                                            \
            name##_lines(mask, x, 1, &other, 0, out, n);                                        \
        }                                                                                       \
        else if (lines && steps[1] == 0 && steps[2] == size) {                                  \
            const type chosen = x[0];                                                           \
            for (npy_intp k = 0, m; k < n; k += m) {                                            \
                m = Py_MIN(BLOCK, n - k);                                                       \
                if (y != out || share_of(mask + k, m) != 0) {                                  \
                    name##_lines(mask + k, &chosen, 0, y + k, 1, out + k, m);                   \
                }                                                                               \
            }                                                                                   \
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
    int in_place = args[2] == args[3] && steps[2] == steps[3];
    for (npy_intp k = 0; k < extents[0]; k++) {
        if (k % BLOCK == 0 && steps[0] == 1 && in_place &&
            share_of((const npy_bool *)args[0] + k, Py_MIN(BLOCK, extents[0] - k)) == 0) {
            k += BLOCK - 1;
            continue;
        }
        const uint64_t *x = (const uint64_t *)(args[1] + k * steps[1]);
        const uint64_t *y = (const uint64_t *)(args[2] + k * steps[2]);
        uint64_t *out = (uint64_t *)(args[3] + k * steps[3]);
        const uint64_t all = -(uint64_t)(args[0][k * steps[0]] != 0);
        uint64_t low = (x[0] & all) | (y[0] & ~all), high = (x[1] & all) | (y[1] & ~all);
        out[0] = low;
        out[1] = high;
    }
}

/* Sums of integers, in NumPy's type for them: of (sum, element, sum), as loops that fold are given. */
#define SUM_OF(f, from, t, to, of)                                                                \
    static void sum_##f##_##t(char **args, npy_intp const *extents, npy_intp const *steps, void *unused)\
    {                                                                                             \
        (void)unused;                                                                             \
        npy_intp n = extents[0], by = steps[1], to_by = steps[0];                                 \
        if (to_by == 0) {                                                                         \
            to sum = *(to *)args[0];                                                              \
            if (by == sizeof(from)) {                                                             \
                const from *x = (const from *)args[1];                                            \
                for (npy_intp k = 0; k < n; k++) {                                                \
                    sum += (to)of(x[k]);                                                          \
                }                                                                                 \
            }                                                                                     \
            else {                                                                                \
                for (npy_intp k = 0; k < n; k++) {                                                \
                    sum += (to)of(*(const from *)(args[1] + k * by));                             \
                }                                                                                 \
            }                                                                                     \
            *(to *)args[0] = sum;                                                                 \
            return;                                                                               \
        }                                                                                         \
        for (npy_intp k = 0; k < n; k++) {                                                        \
            *(to *)(args[0] + k * to_by) += (to)of(*(const from *)(args[1] + k * by));            \
        }                                                                                         \
    }

SUM_OF(b1, npy_bool, i8, npy_uint64, AS_BOOL) /* unsigned ones wrap around */
SUM_OF(i1, npy_int8, i8, npy_uint64, )
SUM_OF(i2, npy_int16, i8, npy_uint64, )
SUM_OF(i4, npy_int32, i8, npy_uint64, )
SUM_OF(i8, npy_int64, i8, npy_uint64, )
SUM_OF(u1, npy_uint8, u8, npy_uint64, )
SUM_OF(u2, npy_uint16, u8, npy_uint64, )
SUM_OF(u4, npy_uint32, u8, npy_uint64, )
SUM_OF(u8, npy_uint64, u8, npy_uint64, )

static const struct {
    const char *name;
    Loop loop;
} own[] = {
    {"sum b1 i8", sum_b1_i8}, {"sum i1 i8", sum_i1_i8}, {"sum i2 i8", sum_i2_i8},
    {"sum i4 i8", sum_i4_i8}, {"sum i8 i8", sum_i8_i8}, {"sum u1 u8", sum_u1_u8},
    {"sum u2 u8", sum_u2_u8}, {"sum u4 u8", sum_u4_u8}, {"sum u8 u8", sum_u8_u8},
#define NAMED(f, t) {#f " " #t, cast_##f##_##t},
#define NAMED_FROM(f)                                                                           \
    NAMED(f, b1) NAMED(f, i1) NAMED(f, i2) NAMED(f, i4) NAMED(f, i8) NAMED(f, u1) NAMED(f, u2)  \
    NAMED(f, u4) NAMED(f, u8) NAMED(f, f4) NAMED(f, f8)
    NAMED_FROM(b1) NAMED_FROM(i1) NAMED_FROM(i2) NAMED_FROM(i4) NAMED_FROM(i8)
    NAMED_FROM(u1) NAMED_FROM(u2) NAMED_FROM(u4) NAMED_FROM(u8) NAMED_FROM(f4) NAMED_FROM(f8)
#define NAMED_COMPLEX(f) NAMED(f, c8) NAMED(f, c16)
    NAMED_COMPLEX(b1) NAMED_COMPLEX(i1) NAMED_COMPLEX(i2) NAMED_COMPLEX(i4) NAMED_COMPLEX(i8)
    NAMED_COMPLEX(u1) NAMED_COMPLEX(u2) NAMED_COMPLEX(u4) NAMED_COMPLEX(u8) NAMED_COMPLEX(f4)
    NAMED_COMPLEX(f8) NAMED_COMPLEX(c8) NAMED_COMPLEX(c16) NAMED(c8, b1) NAMED(c16, b1)
    NAMED(c8, f4) NAMED(c8, f8) NAMED(c16, f4) NAMED(c16, f8)
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
        run_call(&calls[done], calls[done].at);
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
