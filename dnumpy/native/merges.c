/* Sorted runs that follow each other, merged in place of them, equal elements in their order.

   Neighbours are merged until one run is left, forth and back between the values and as much memory.
   A step of a merge waits for the one before, which says what is looked at next; so every two runs
   are cut where the lower half of what they make ends (the merge path: Green, Odeh and Birk, "Merge
   Path", IPDPS workshops 2012), and both halves are merged in one loop. */

#include "handle.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define STEP(T, A, I, B, J, OUT)                                                                   \
    {                                                                                              \
        T x = (A)[I], y = (B)[J];                                                                  \
        npy_intp other = y < x;                                                                    \
        *(OUT)++ = other ? y : x;                                                                  \
        (I) += !other;                                                                             \
        (J) += other;                                                                              \
    }

/* NaN, of which a run has those that it has at its end, goes behind all numbers. */
#define DEFINE_MERGE(T, NAME)                                                                      \
    static npy_intp NAME##_numbers(const T *x, npy_intp count)                                     \
    {                                                                                              \
        npy_intp low = 0;                                                                          \
        if (count == 0 || x[count - 1] == x[count - 1]) {                                          \
            return count;                                                                          \
        }                                                                                          \
        while (low < count) {                                                                      \
            npy_intp middle = low + (count - low) / 2;                                             \
            if (x[middle] == x[middle]) {                                                          \
                low = middle + 1;                                                                  \
            }                                                                                      \
            else {                                                                                 \
                count = middle;                                                                    \
            }                                                                                      \
        }                                                                                          \
        return low;                                                                                \
    }                                                                                              \
                                                                                                   \
    /* How many of the first half of what both make are of `a`. */                                 \
    static npy_intp NAME##_cut(const T *a, npy_intp na, const T *b, npy_intp nb)                   \
    {                                                                                              \
        npy_intp half = (na + nb) / 2, low = half > nb ? half - nb : 0, high = half < na ? half : na; \
        while (low < high) {                                                                       \
            npy_intp k = low + (high - low) / 2;                                                   \
            if (b[half - k - 1] < a[k]) {                                                          \
                high = k;                                                                          \
            }                                                                                      \
            else {                                                                                 \
                low = k + 1;                                                                       \
            }                                                                                      \
        }                                                                                          \
        return low;                                                                                \
    }                                                                                              \
                                                                                                   \
    static void NAME##_rest(const T *a, npy_intp na, const T *b, npy_intp nb, T *out)              \
    {                                                                                              \
        npy_intp i = 0, j = 0;                                                                     \
        while (i < na && j < nb) {                                                                 \
            STEP(T, a, i, b, j, out)                                                               \
        }                                                                                          \
        memcpy(out, a + i, (size_t)(na - i) * sizeof(T));                                          \
        memcpy(out + (na - i), b + j, (size_t)(nb - j) * sizeof(T));                               \
    }                                                                                              \
                                                                                                   \
    static void NAME##_pair(const void *from, npy_intp na, npy_intp nb, void *to)                  \
    {                                                                                              \
        const T *a = from, *b = a + na;                                                            \
        npy_intp ra = NAME##_numbers(a, na), rb = NAME##_numbers(b, nb);                           \
        npy_intp ca = NAME##_cut(a, ra, b, rb), cb = (ra + rb) / 2 - ca;                           \
        npy_intp i = 0, j = 0, k = ca, l = cb;                                                     \
        T *low = to, *high = low + ca + cb;                                                        \
        while (i < ca && j < cb && k < ra && l < rb) {                                             \
            STEP(T, a, i, b, j, low)                                                               \
            STEP(T, a, k, b, l, high)                                                              \
        }                                                                                          \
        NAME##_rest(a + i, ca - i, b + j, cb - j, low);                                            \
        NAME##_rest(a + k, ra - k, b + l, rb - l, high);                                           \
        T *behind = (T *)to + ra + rb;                                                             \
        memcpy(behind, a + ra, (size_t)(na - ra) * sizeof(T));                                     \
        memcpy(behind + (na - ra), b + rb, (size_t)(nb - rb) * sizeof(T));                         \
    }

DEFINE_MERGE(npy_double, f8)
DEFINE_MERGE(npy_float, f4)
DEFINE_MERGE(npy_int64, i8)
DEFINE_MERGE(npy_uint64, u8)
DEFINE_MERGE(npy_int32, i4)
DEFINE_MERGE(npy_uint32, u4)

typedef void (*Merge)(const void *, npy_intp, npy_intp, void *);

static Merge
merge_of(PyArrayObject *values)
{
    int is_wide = PyArray_ITEMSIZE(values) == 8, is_narrow = PyArray_ITEMSIZE(values) == 4;
    char kind = PyArray_DESCR(values)->kind;
    if ((!is_wide && !is_narrow) || !PyArray_ISCARRAY(values)) {
        return NULL;
    }
    return kind == 'f'   ? (is_wide ? f8_pair : f4_pair)
           : kind == 'i' ? (is_wide ? i8_pair : i4_pair)
           : kind == 'u' ? (is_wide ? u8_pair : u4_pair)
                         : NULL;
}

/* `merge_runs(values, ends)`: merge runs that end before these rows, of which the last is the end of
   all; False, and nothing done, for types that are not known and without memory. */
PyObject *
merge_runs(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values, *bounds;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &values, &PyArray_Type, &bounds)) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(values), runs = PyArray_SIZE(bounds);
    if (PyArray_TYPE(bounds) != NPY_INTP || !PyArray_ISCARRAY_RO(bounds)) {
        PyErr_SetString(PyExc_TypeError, "expected where the runs end");
        return NULL;
    }
    const npy_intp *given = PyArray_DATA(bounds);
    for (npy_intp k = 0; k < runs; k++) {
        if (given[k] < (k == 0 ? 0 : given[k - 1]) || (k == runs - 1 && given[k] != size)) {
            PyErr_SetString(PyExc_ValueError, "expected runs that follow each other, to the end");
            return NULL;
        }
    }
    Merge merge = merge_of(values);
    if (merge == NULL || runs == 0) {
        Py_RETURN_FALSE;
    }
    size_t item = (size_t)PyArray_ITEMSIZE(values);
    npy_intp *ends = PyMem_RawMalloc((size_t)runs * sizeof *ends);
    char *here = PyArray_DATA(values), *spare = PyMem_RawMalloc((size_t)(size > 0 ? size : 1) * item);
    if (ends == NULL || spare == NULL) {
        PyMem_RawFree(ends);
        PyMem_RawFree(spare);
        Py_RETURN_FALSE;
    }
    memcpy(ends, given, (size_t)runs * sizeof *ends);
    Py_BEGIN_ALLOW_THREADS
    char *from = here, *to = spare;
    while (runs > 1) {
        npy_intp made = 0, start = 0;
        for (npy_intp k = 0; k < runs; k += 2, made++) {
            npy_intp middle = ends[k], end = k + 1 < runs ? ends[k + 1] : middle;
            merge(from + (size_t)start * item, middle - start, end - middle, to + (size_t)start * item);
            ends[made] = start = end;
        }
        runs = made;
        char *before = from;
        from = to;
        to = before;
    }
    if (from != here) {
        memcpy(here, from, (size_t)size * item);
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(ends);
    PyMem_RawFree(spare);
    Py_RETURN_TRUE;
}
