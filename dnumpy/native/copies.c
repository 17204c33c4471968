/* Copies of arrays into others.

   Where one lies the other way round NumPy walks both in the order of the result, so that each element
   it reads of a transposed matrix lies in another line of the caches, and in another page. Here a block
   is copied of which both sides are a few lines. Threads draw strips of such blocks, or of any large
   copy. */

#include "calls.h"
#include "crew.h"

#define STRIP 1024            /* elements of a strip along the result, in whole blocks */
#define WIDE 64               /* lines of the result, of which each page that is read has several */
#define STRIP_BYTES (1 << 16) /* of a strip that is copied as it lies */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* which unrolls the loops over blocks */
#endif

typedef struct {
    Call call; /* operand 0 is read, operand 1 is written */
    int across, size; /* the axis along which what is read lies closest, or -1; bytes of an element */
    int turned;       /* that is not the axis along which the result does */
    npy_intp strip, wide, strips_along, strips_across, batch;
    int64_t next, total;
} Copy;

#define DEFINE_COPY(T, name)                                                                      \
    static void name(const Copy *copy, const char *from, char *to, npy_intp along, npy_intp across) \
    {                                                                                             \
        int i = copy->call.axes - 1, j = copy->across;                                            \
        npy_intp by = copy->call.steps[0][i], to_by = copy->call.steps[1][i];                     \
        npy_intp by_j = j < 0 ? 0 : copy->call.steps[0][j];                                       \
        npy_intp to_by_j = j < 0 ? 0 : copy->call.steps[1][j];                                    \
        enum { BLOCK = sizeof(T) > 8 ? 8 : sizeof(T) > 1 ? 64 / sizeof(T) : 32 };                 \
        for (npy_intp i0 = 0; i0 < along; i0 += BLOCK) {                                          \
            npy_intp n = along - i0 < BLOCK ? along - i0 : BLOCK;                                 \
            for (npy_intp k = 0; k < across; k++) {                                               \
                const char *x = from + k * by_j + i0 * by;                                        \
                char *y = to + k * to_by_j + i0 * to_by;                                          \
                if (n == BLOCK && to_by == sizeof(T)) {                                           \
                    T line[BLOCK]; /* all is read before any is written */                        \
                    for (int m = 0; m < BLOCK; m++) {                                             \
                        line[m] = *(const T *)(x + m * by);                                       \
                    }                                                                             \
                    memcpy(y, line, sizeof line);                                                 \
                    continue;                                                                     \
                }                                                                                 \
                for (npy_intp m = 0; m < n; m++) {                                                \
                    *(T *)(y + m * to_by) = *(const T *)(x + m * by);                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

typedef struct {
    npy_uint64 parts[2];
} Pair;

DEFINE_COPY(npy_uint8, copy_1)
DEFINE_COPY(npy_uint16, copy_2)
DEFINE_COPY(npy_uint32, copy_4)
DEFINE_COPY(npy_uint64, copy_8)
DEFINE_COPY(Pair, copy_16)

/* Copy the strip of this number. */
static void
copy_strip(const Copy *copy, int64_t number)
{
    const Call *call = &copy->call;
    int i = call->axes - 1, j = copy->across;
    npy_intp i0 = number % copy->strips_along * copy->strip;
    number /= copy->strips_along;
    npy_intp j0 = number % copy->strips_across * copy->wide;
    number /= copy->strips_across;
    const char *from = call->at[0] + i0 * call->steps[0][i] + (j < 0 ? 0 : j0 * call->steps[0][j]);
    char *to = call->at[1] + i0 * call->steps[1][i] + (j < 0 ? 0 : j0 * call->steps[1][j]);
    for (int d = i - 1; d >= 0; d--) {
        if (d != j) {
            npy_intp at = number % call->shape[d];
            number /= call->shape[d];
            from += at * call->steps[0][d];
            to += at * call->steps[1][d];
        }
    }
    npy_intp along = call->shape[i] - i0 < copy->strip ? call->shape[i] - i0 : copy->strip;
    npy_intp across = j < 0                               ? 1
                      : call->shape[j] - j0 < copy->wide ? call->shape[j] - j0
                                                         : copy->wide;
    if (!copy->turned && call->steps[0][i] == copy->size && call->steps[1][i] == copy->size) {
        for (npy_intp k = 0; k < across; k++) {
            memcpy(to, from, (size_t)(along * copy->size));
            from += j < 0 ? 0 : call->steps[0][j];
            to += j < 0 ? 0 : call->steps[1][j];
        }
        return;
    }
    switch (copy->size) {
    case 1: copy_1(copy, from, to, along, across); break;
    case 2: copy_2(copy, from, to, along, across); break;
    case 4: copy_4(copy, from, to, along, across); break;
    case 8: copy_8(copy, from, to, along, across); break;
    default: copy_16(copy, from, to, along, across);
    }
}

static void
copy_strips(void *job)
{
    Copy *copy = job;
    int64_t start;
    while ((start = ADD(&copy->next, copy->batch)) < copy->total) {
        int64_t stop = start + copy->batch < copy->total ? start + copy->batch : copy->total;
        for (int64_t k = start; k < stop; k++) {
            copy_strip(copy, k);
        }
    }
}

/* Read how two arrays lie; 0 where NumPy must copy. */
static int
reads_copy(Copy *copy, PyArrayObject *from, PyArrayObject *to)
{
    npy_intp steps[MOST_OPERANDS][MOST_AXES];
    int ndim = PyArray_NDIM(to);
    copy->size = (int)PyArray_ITEMSIZE(to);
    int fits = copy->size > 0 && copy->size <= 16 && (copy->size & (copy->size - 1)) == 0;
    if (!fits || ndim > MOST_AXES || ndim != PyArray_NDIM(from) || PyArray_SIZE(to) == 0 ||
        !PyArray_CompareLists(PyArray_DIMS(from), PyArray_DIMS(to), ndim) ||
        !PyArray_EquivArrTypes(from, to) || PyDataType_REFCHK(PyArray_DESCR(to)) ||
        !PyArray_ISBEHAVED_RO(from) || !PyArray_ISBEHAVED(to) || is_disturbed(from, to, 1)) {
        return 0;
    }
    for (int d = 0; d < ndim; d++) {
        steps[0][d] = PyArray_STRIDE(from, d);
        steps[1][d] = PyArray_STRIDE(to, d);
    }
    Call *call = &copy->call;
    call->count = 2;
    call->at[0] = PyArray_DATA(from);
    call->at[1] = PyArray_DATA(to);
    order_axes(call, 1, ndim, PyArray_DIMS(to), steps);
    if (call->axes == 0) {
        return 0;
    }
    int i = call->axes - 1, j = i;
    for (int d = 0; d < i; d++) {
        j = Py_ABS(call->steps[0][d]) < Py_ABS(call->steps[0][j]) ? d : j;
    }
    npy_intp row_bytes = call->shape[i] * copy->size;
    copy->turned = j < i;
    copy->across = j = j < i ? j : i - 1;
    copy->strip = copy->turned ? STRIP : STRIP_BYTES / copy->size;
    copy->wide = copy->turned            ? WIDE
                 : row_bytes < STRIP_BYTES ? STRIP_BYTES / row_bytes
                                         : 1;
    copy->strips_along = (call->shape[i] + copy->strip - 1) / copy->strip;
    copy->strips_across = j < 0 ? 1 : (call->shape[j] + copy->wide - 1) / copy->wide;
    copy->total = copy->strips_along * copy->strips_across;
    for (int d = 0; d < i; d++) {
        copy->total *= d == j ? 1 : call->shape[d];
    }
    return 1;
}

/* Say whether one thread is faster so than NumPy's loop, which reads each line as often as there are
   elements in it, from the second cache if it stays there: where there are many elements in one, where
   rows are short, and where lines that are so far apart drive each other out of it. */
static int
pays_alone(const Copy *copy)
{
    int i = copy->call.axes - 1;
    npy_intp apart = Py_ABS(copy->call.steps[0][i]);
    return copy->turned && (copy->size <= 2 || copy->call.shape[i] < 16 || apart % 1024 == 0);
}

/* `copy_array(from, to, threads)`: copy into an array of the same shape and dtype; False, and nothing
   is done, where NumPy copies as well, or must. */
PyObject *
copy_array(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *from, *to;
    int threads;
    if (!PyArg_ParseTuple(args, "O!O!i", &PyArray_Type, &from, &PyArray_Type, &to, &threads)) {
        return NULL;
    }
    Copy copy = {.next = 0};
    threads = threads < 1 ? 1 : threads > MOST_CREW ? MOST_CREW : threads;
    if (!reads_copy(&copy, from, to) || (threads == 1 && !pays_alone(&copy))) {
        Py_RETURN_FALSE;
    }
    copy.batch = copy.total / (16 * threads) + 1;
    Py_BEGIN_ALLOW_THREADS
    with_crew(copy_strips, &copy, threads - 1);
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
