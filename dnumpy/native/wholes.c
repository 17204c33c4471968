/* Sums and means of whole numbers and booleans, of all or along an axis, which threads share where there
   are many. Sums wrap around, as NumPy's do. A mean is that of NumPy, which adds floats, where these
   hold every sum on the way: then no order rounds. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#define BATCH (1 << 15)    /* elements that a thread takes at a time */
#define GROUP 64           /* lines that are summed side by side */
#define SHORT_LINE 24      /* elements of such a line */
#define BLOCK 2048         /* columns that along.c has gone through together */
#define MANY (1 << 15)     /* of two bytes, so many have sums of four */
#define EXACT (1ull << 53) /* floats hold every whole number up to it */

#define SAME(x) (x)
#define IS_TRUE(x) ((x) != 0) /* a boolean made of other memory may be any byte */

/* Sums of lines, and of the columns of rows, as along.c has them; narrow sums hold those of few. */
#define DEFINE_WHOLES(NAME, FROM, NARROW, TAKEN)                                                   \
    FOR_EACH_CPU static npy_uint64 NAME##_sum(const FROM *a, npy_intp n)                           \
    {                                                                                              \
        npy_uint64 sum = 0;                                                                        \
        for (npy_intp i = 0; i < n; i += MANY) {                                                   \
            npy_intp end = i + MANY < n ? i + MANY : n;                                            \
            NARROW part = 0;                                                                       \
            for (npy_intp j = i; j < end; j++) {                                                   \
                part += (NARROW)TAKEN(a[j]);                                                       \
            }                                                                                      \
            sum += (npy_uint64)part;                                                               \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_lines(const void *data, npy_intp lines, npy_intp n, void *to)  \
    {                                                                                              \
        const FROM *a = data;                                                                      \
        npy_uint64 *sums = to;                                                                     \
        NARROW m[GROUP];                                                                           \
        npy_intp k = 0;                                                                            \
        for (; n <= SHORT_LINE && k + GROUP <= lines; k += GROUP, a += GROUP * n) {                \
            for (int j = 0; j < GROUP; j++) {                                                      \
                m[j] = 0;                                                                          \
            }                                                                                      \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                for (int j = 0; j < GROUP; j++) {                                                  \
                    m[j] += (NARROW)TAKEN(a[j * n + i]);                                           \
                }                                                                                  \
            }                                                                                      \
            for (int j = 0; j < GROUP; j++) {                                                      \
                sums[k + j] = (npy_uint64)m[j];                                                    \
            }                                                                                      \
        }                                                                                          \
        for (; k < lines; k++, a += n) {                                                           \
            sums[k] = NAME##_sum(a, n);                                                            \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_rows(const void *data, npy_intp n, npy_intp stride,            \
                                         npy_intp width, void *to)                                 \
    {                                                                                              \
        const FROM *a = data;                                                                      \
        npy_uint64 *sums = to;                                                                     \
        NARROW m[BLOCK];                                                                           \
        npy_intp rows = width == stride && width < GROUP ? GROUP / width : 1, most = rows * MANY;  \
        npy_intp together = rows * width;                                                          \
        for (npy_intp j = 0; j < width; j++) {                                                     \
            sums[j] = 0;                                                                           \
        }                                                                                          \
        for (npy_intp i = 0; i < n; i += most) {                                                   \
            npy_intp end = i + most < n ? i + most : n, r = i;                                     \
            for (npy_intp j = 0; j < together; j++) {                                              \
                m[j] = 0;                                                                          \
            }                                                                                      \
            for (; r + rows <= end; r += rows) {                                                   \
                const FROM *row = a + r * stride;                                                  \
                for (npy_intp j = 0; j < together; j++) {                                          \
                    m[j] += (NARROW)TAKEN(row[j]);                                                 \
                }                                                                                  \
            }                                                                                      \
            for (; r < end; r++) {                                                                 \
                for (npy_intp j = 0; j < width; j++) {                                             \
                    sums[j] += (npy_uint64)(npy_int64)TAKEN(a[r * stride + j]);                    \
                }                                                                                  \
            }                                                                                      \
            for (npy_intp k = 0; k < together; k += width) {                                       \
                for (npy_intp j = 0; j < width; j++) {                                             \
                    sums[j] += (npy_uint64)m[k + j];                                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* All bits that are set in some number, or not set in one below zero. */
#define DEFINE_BITS(NAME, FROM, BITS_OF)                                                           \
    FOR_EACH_CPU static npy_uint64 NAME##_bits(const FROM *a, npy_intp n)                          \
    {                                                                                              \
        FROM bits = 0;                                                                             \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            bits |= (FROM)BITS_OF(a[i]);                                                           \
        }                                                                                          \
        return (npy_uint64)bits;                                                                   \
    }

#define MAGNITUDE(x) ((x) < 0 ? ~(x) : (x))
DEFINE_WHOLES(longs, npy_int64, npy_uint64, SAME)
DEFINE_WHOLES(ints, npy_int32, npy_uint64, SAME)
DEFINE_WHOLES(words, npy_uint32, npy_uint64, SAME)
DEFINE_WHOLES(shorts, npy_int16, npy_int32, SAME)
DEFINE_WHOLES(pairs, npy_uint16, npy_uint32, SAME)
DEFINE_WHOLES(chars, npy_int8, npy_int32, SAME)
DEFINE_WHOLES(bytes, npy_uint8, npy_uint32, SAME)
DEFINE_WHOLES(bools, npy_uint8, npy_uint32, IS_TRUE)
DEFINE_BITS(longs, npy_int64, MAGNITUDE)
DEFINE_BITS(ulongs, npy_uint64, SAME)
DEFINE_BITS(ints, npy_int32, MAGNITUDE)
DEFINE_BITS(words, npy_uint32, SAME)

static void
join_sums(void *to, const void *more, npy_intp width)
{
    npy_uint64 *sums = to;
    for (npy_intp j = 0; j < width; j++) {
        sums[j] += ((const npy_uint64 *)more)[j];
    }
}

/* Set how numbers of a type are summed; 0 of other types. */
static int
take_type(Along *self, PyArray_Descr *dtype)
{
#define OF(NAME) {NAME##_lines, NAME##_rows}
    static const struct {
        void (*lines)(const void *data, npy_intp lines, npy_intp n, void *to);
        void (*rows)(const void *data, npy_intp n, npy_intp stride, npy_intp width, void *to);
    } ways[2][4] = {{OF(bytes), OF(pairs), OF(words), OF(longs)}, /* of either sign these wrap around alike */
                    {OF(chars), OF(shorts), OF(ints), OF(longs)}},
      of_bools = OF(bools);
#undef OF
    npy_intp bytes = PyDataType_ELSIZE(dtype);
    int kind = dtype->kind, at = bytes == 8 ? 3 : bytes == 4 ? 2 : (int)bytes - 1;
    if (strchr("biu", kind) == NULL || bytes > 8) {
        return 0;
    }
    self->lines = kind == 'b' ? of_bools.lines : ways[kind == 'i'][at].lines;
    self->rows = kind == 'b' ? of_bools.rows : ways[kind == 'i'][at].rows;
    self->join = join_sums;
    self->itemsize = bytes;
    self->given = 8;
    return 1;
}

typedef struct {
    const char *data;
    npy_intp size, itemsize;
    int has_sign;
    npy_uint64 bits;
    int64_t next;
} Look;

static void
look_at_batches(void *job)
{
    Look *self = job;
    int64_t start;
    npy_uint64 bits = 0;
    while ((start = ADD(&self->next, BATCH)) < self->size) {
        npy_intp count = start + BATCH < self->size ? BATCH : self->size - start;
        const void *a = self->data + start * self->itemsize;
        bits |= self->itemsize == 8 ? (self->has_sign ? longs_bits(a, count) : ulongs_bits(a, count))
                                    : (self->has_sign ? ints_bits(a, count) : words_bits(a, count));
    }
#if HAS_CREW
    __atomic_fetch_or(&self->bits, bits, __ATOMIC_RELAXED);
#else
    self->bits |= bits;
#endif
}

/* Say whether any sum of some of the numbers, of `each` at most, is held by floats. */
static int
is_exact(PyArrayObject *a, npy_intp each)
{
    PyArray_Descr *dtype = PyArray_DESCR(a);
    npy_intp bytes = PyDataType_ELSIZE(dtype);
    int has_sign = dtype->kind == 'i';
    npy_uint64 bits = bytes > 4 ? EXACT : dtype->kind == 'b' ? 1 : (1ull << (8 * bytes - has_sign)) - 1;
    if ((double)(bits + 1) * (double)each > (double)EXACT) {
        Look look = {.data = PyArray_BYTES(a), .size = PyArray_SIZE(a), .itemsize = bytes, .has_sign = has_sign};
        if (bytes < 4) {
            return 0;
        }
        with_crew(look_at_batches, &look, helpers_for(PyArray_NBYTES(a), helpers_now()));
        bits = look.bits;
    }
    return bits < EXACT && (double)(bits + 1) * (double)each <= (double)EXACT;
}

/* The type of a sum or mean of numbers of a type. */
static PyArray_Descr *
type_of(int what, PyArray_Descr *dtype)
{
    if (what == MEAN) {
        return PyArray_DescrFromType(NPY_DOUBLE);
    }
    if (PyDataType_ELSIZE(dtype) == 8) {
        return (PyArray_Descr *)Py_NewRef((PyObject *)dtype);
    }
    return PyArray_DescrFromType(dtype->kind == 'u' ? NPY_UINTP : NPY_INTP);
}

#define COLUMNS 1024 /* of numbers that are one line, so that threads share them */

/* The sum of all; 0 where memory is short. */
static int
sum_of_all(Along *self, npy_intp size, npy_uint64 *sum)
{
    npy_uint64 columns[COLUMNS];
    self->n = size / COLUMNS;
    self->inner = COLUMNS;
    self->found = (char *)columns;
    npy_intp seen = self->n * COLUMNS;
    if (seen > 0 && !fold_along(self)) {
        return 0;
    }
    self->lines(self->data + seen * self->itemsize, 1, size - seen, sum);
    for (npy_intp j = 0; seen > 0 && j < COLUMNS; j++) {
        *sum += columns[j];
    }
    return 1;
}

PyObject *
whole_folded(PyArrayObject *a, int what)
{
    Along self = {.data = PyArray_BYTES(a), .outer = 1};
    npy_intp size = PyArray_SIZE(a);
    npy_uint64 sum = 0;
    int is_done;
    if (size < 1 || (what != SUM && what != MEAN) || !take_type(&self, PyArray_DESCR(a))) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size);
    is_done = (what == SUM || is_exact(a, size)) && sum_of_all(&self, size, &sum);
    NPY_END_THREADS;
    if (!is_done) {
        return NULL;
    }
    double mean = (double)(npy_int64)sum / (double)size;
    PyArray_Descr *given = type_of(what, PyArray_DESCR(a));
    PyObject *scalar = given == NULL || PyDataType_ELSIZE(given) != 8
                           ? NULL
                           : PyArray_Scalar(what == MEAN ? (void *)&mean : (void *)&sum, given, NULL);
    Py_XDECREF(given);
    return scalar;
}

PyObject *
wholes_along(PyArrayObject *a, int what, const Asked *asked)
{
    Along self = {.data = PyArray_BYTES(a)};
    Asked each = {.has_axis = 1, .keeps = asked->keeps, .more = PyArray_NDIM(a) - 1}; /* of all axes */
    Lines of;
    int turned = PyArray_NDIM(a) == 2 && !PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_F_CONTIGUOUS(a);
    if (PyArray_SIZE(a) < 1 || (what != SUM && what != MEAN) || !take_lines_of(&of, a, asked->has_axis ? asked : &each) ||
        !PyArray_ISBEHAVED_RO(a) || !(turned || PyArray_IS_C_CONTIGUOUS(a)) ||
        !take_type(&self, PyArray_DESCR(a))) {
        return NULL;
    }
    PyArray_Descr *dtype = type_of(what, PyArray_DESCR(a));
    PyObject *made = dtype == NULL || PyDataType_ELSIZE(dtype) != 8
                         ? NULL
                         : PyArray_NewFromDescr(&PyArray_Type, dtype, of.axes, of.shape, NULL, NULL, 0, NULL);
    if (made == NULL) {
        return NULL;
    }
    npy_int64 *sums = PyArray_DATA((PyArrayObject *)made);
    self.outer = turned ? of.inner : of.outer;
    self.inner = turned ? of.outer : of.inner;
    self.n = of.n;
    self.found = (char *)sums;
    int is_done;
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
    is_done = (what == SUM || is_exact(a, of.n)) && fold_along(&self);
    for (npy_intp k = 0; is_done && what == MEAN && k < of.outer * of.inner; k++) {
        double mean = (double)sums[k] / (double)of.n;
        memcpy(sums + k, &mean, sizeof mean);
    }
    NPY_END_THREADS;
    if (!is_done) {
        Py_CLEAR(made);
    }
    return made;
}
