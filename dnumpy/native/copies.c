/* Copies of arrays into others that lie the other way round.

   NumPy walks both in the order of the result, so that each element it reads of a transposed matrix
   lies in another line of the caches, and in another page. Here a block is copied of which both sides
   are a few lines, and threads draw strips of such blocks. */

#include "calls.h"
#include "crew.h"

#define STRIP 2048 /* elements of a strip along the result, in whole blocks */

typedef struct {
    Call call;            /* operand 0 is read, operand 1 is written */
    int across, size;     /* the axis along which what is read lies closest; bytes of an element */
    npy_intp wide, strips_along, strips_across, batch;
    int64_t next, total;
} Copy;

#define DEFINE_COPY(T, name)                                                                      \
    static void name(const Copy *copy, const char *from, char *to, npy_intp along, npy_intp across) \
    {                                                                                             \
        int i = copy->call.axes - 1, j = copy->across;                                            \
        npy_intp by = copy->call.steps[0][i], to_by = copy->call.steps[1][i];                     \
        npy_intp by_j = copy->call.steps[0][j], to_by_j = copy->call.steps[1][j];                 \
        npy_intp block = 64 / (npy_intp)sizeof(T) < 8 ? 8 : 64 / (npy_intp)sizeof(T);             \
        for (npy_intp i0 = 0; i0 < along; i0 += block) {                                          \
            npy_intp n = along - i0 < block ? along - i0 : block;                                 \
            for (npy_intp k = 0; k < across; k++) {                                               \
                const char *x = from + k * by_j + i0 * by;                                        \
                char *y = to + k * to_by_j + i0 * to_by;                                          \
                if (to_by == sizeof(T)) {                                                         \
                    for (npy_intp m = 0; m < n; m++) {                                            \
                        ((T *)y)[m] = *(const T *)(x + m * by);                                   \
                    }                                                                             \
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
    npy_intp i0 = number % copy->strips_along * STRIP;
    number /= copy->strips_along;
    npy_intp j0 = number % copy->strips_across * copy->wide;
    number /= copy->strips_across;
    const char *from = call->at[0] + i0 * call->steps[0][i] + j0 * call->steps[0][j];
    char *to = call->at[1] + i0 * call->steps[1][i] + j0 * call->steps[1][j];
    for (int d = i - 1; d >= 0; d--) {
        if (d != j) {
            npy_intp at = number % call->shape[d];
            number /= call->shape[d];
            from += at * call->steps[0][d];
            to += at * call->steps[1][d];
        }
    }
    npy_intp along = call->shape[i] - i0 < STRIP ? call->shape[i] - i0 : STRIP;
    npy_intp across = call->shape[j] - j0 < copy->wide ? call->shape[j] - j0 : copy->wide;
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

/* Read how two arrays lie; 0 where NumPy's way is as good, or the only one. */
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
    copy->across = call->axes - 1;
    for (int d = 0; d < call->axes; d++) {
        if (Py_ABS(call->steps[0][d]) < Py_ABS(call->steps[0][copy->across])) {
            copy->across = d;
        }
    }
    return copy->across < call->axes - 1;
}

/* `copy_across(from, to, threads)`: copy into an array of the same shape and dtype that lies the other
   way round; False, and nothing is done, where NumPy copies as well. */
PyObject *
copy_across(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *from, *to;
    int threads;
    if (!PyArg_ParseTuple(args, "O!O!i", &PyArray_Type, &from, &PyArray_Type, &to, &threads)) {
        return NULL;
    }
    Copy copy = {.next = 0};
    if (!reads_copy(&copy, from, to)) {
        Py_RETURN_FALSE;
    }
    const Call *call = &copy.call;
    int i = call->axes - 1, j = copy.across;
    copy.wide = 64 / copy.size < 8 ? 8 : 64 / copy.size;
    copy.strips_along = (call->shape[i] + STRIP - 1) / STRIP;
    copy.strips_across = (call->shape[j] + copy.wide - 1) / copy.wide;
    copy.total = copy.strips_along * copy.strips_across;
    for (int d = 0; d < i; d++) {
        copy.total *= d == j ? 1 : call->shape[d];
    }
    threads = threads < 1 ? 1 : threads > MOST_CREW ? MOST_CREW : threads;
    copy.batch = copy.total / (16 * threads) + 1;
    Py_BEGIN_ALLOW_THREADS
    with_crew(copy_strips, &copy, threads - 1);
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
