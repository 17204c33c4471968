/* Sums and means of whole numbers and booleans that lie side by side, which threads share where there
   are many. Sums wrap around, as NumPy's do. A mean is that of NumPy, which adds floats, where these
   hold every sum on the way: then no order rounds. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#define BATCH (1 << 15)    /* elements that a thread takes at a time */
#define EXACT (1ull << 53) /* floats hold every whole number up to it */

#define SAME(x) (x)
#define IS_TRUE(x) ((x) != 0) /* a boolean made of other memory may be any byte */

typedef struct {
    npy_uint64 sum;
    npy_uint64 bits; /* each that is set in some number, or not set in one below zero */
} Total;

/* The total of so many numbers: unsigned ones wrap around alike, of either sign. */
#define DEFINE_TOTAL(NAME, FROM, TAKEN, BITS_OF)                                                   \
    FOR_EACH_CPU static Total NAME(const void *data, npy_intp n)                                   \
    {                                                                                              \
        const FROM *a = data;                                                                      \
        npy_uint64 sum = 0;                                                                        \
        FROM bits = 0;                                                                             \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            sum += (npy_uint64)(npy_int64)TAKEN(a[i]);                                             \
            bits |= (FROM)BITS_OF(a[i]);                                                           \
        }                                                                                          \
        Total total = {sum, (npy_uint64)bits};                                                     \
        return total;                                                                              \
    }

#define NOT_ASKED(x) 0
#define MAGNITUDE(x) ((x) < 0 ? ~(x) : (x))
DEFINE_TOTAL(sum_of_longs, npy_int64, SAME, NOT_ASKED)
DEFINE_TOTAL(sum_of_words, npy_uint64, SAME, NOT_ASKED)
DEFINE_TOTAL(sum_of_ints, npy_int32, SAME, NOT_ASKED)
DEFINE_TOTAL(sum_of_bools, npy_uint8, IS_TRUE, NOT_ASKED)
DEFINE_TOTAL(total_of_longs, npy_int64, SAME, MAGNITUDE)
DEFINE_TOTAL(total_of_words, npy_uint64, SAME, SAME)
DEFINE_TOTAL(total_of_ints, npy_int32, SAME, MAGNITUDE)

typedef struct {
    const char *data;
    npy_intp size, itemsize;
    Total (*total)(const void *data, npy_intp n);
    npy_uint64 sum, bits;
    int64_t next;
} Whole;

static void
take_batches(void *job)
{
    Whole *self = job;
    int64_t start;
    npy_uint64 sum = 0, bits = 0;
    while ((start = ADD(&self->next, BATCH)) < self->size) {
        npy_intp count = start + BATCH < self->size ? BATCH : self->size - start;
        Total part = self->total(self->data + start * self->itemsize, count);
        sum += part.sum;
        bits |= part.bits;
    }
#if HAS_CREW
    __atomic_fetch_add(&self->sum, sum, __ATOMIC_RELAXED);
    __atomic_fetch_or(&self->bits, bits, __ATOMIC_RELAXED);
#else
    self->sum += sum;
    self->bits |= bits;
#endif
}

/* Say whether any sum of so many numbers with no other bits is held by floats. */
static int
is_exact(npy_uint64 bits, npy_intp size)
{
    return bits < EXACT && (bits + 1) * 1.0 * (double)size <= (double)EXACT;
}

PyObject *
whole_folded(PyArrayObject *a, int what)
{
    PyArray_Descr *dtype = PyArray_DESCR(a);
    int bytes = (int)PyDataType_ELSIZE(dtype);
    Whole whole = {.data = PyArray_BYTES(a), .size = PyArray_SIZE(a), .itemsize = bytes};
    int sums = what == SUM; /* to look at bits takes as long again, where memory is not what takes it */
    whole.total = dtype->kind == 'b'                 ? sum_of_bools
                  : dtype->kind == 'i' && bytes == 8 ? (sums ? sum_of_longs : total_of_longs)
                  : dtype->kind == 'u' && bytes == 8 ? (sums ? sum_of_words : total_of_words)
                  : dtype->kind == 'i' && bytes == 4 ? (sums ? sum_of_ints : total_of_ints)
                                                     : NULL;
    if (whole.total == NULL || whole.size < 1 || (what != SUM && what != MEAN)) {
        return NULL;
    }
    int helpers = helpers_for(PyArray_NBYTES(a), helpers_now());
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(whole.size);
    with_crew(take_batches, &whole, helpers);
    NPY_END_THREADS;
    if (what == MEAN) {
        if (!is_exact(dtype->kind == 'b' ? 1 : whole.bits, whole.size)) {
            return NULL;
        }
        double mean = (double)(npy_int64)whole.sum / (double)whole.size;
        PyArray_Descr *given = PyArray_DescrFromType(NPY_DOUBLE);
        PyObject *scalar = given == NULL ? NULL : PyArray_Scalar(&mean, given, NULL);
        Py_XDECREF(given);
        return scalar;
    }
    PyArray_Descr *given = bytes == 8 ? (PyArray_Descr *)Py_NewRef((PyObject *)dtype)
                                      : PyArray_DescrFromType(NPY_INTP);
    PyObject *scalar = given == NULL || PyDataType_ELSIZE(given) != 8
                           ? NULL
                           : PyArray_Scalar(&whole.sum, given, NULL);
    Py_XDECREF(given);
    return scalar;
}
