/* The largest or smallest along one axis, and whether any or all along it are true. NumPy takes most of
   its time for short rows and lines to come to the next one. Here elements of many are compared side by
   side, and threads share what is large. In any order the outcome is the same, but for what is no
   number and zeros of either sign, which are left to NumPy where they matter. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#define GROUP 64         /* elements that are compared with as many at a time */
#define SHORT_LINE 63    /* elements of a line, of which many are compared side by side */
#define SHORT(T) (sizeof(T) == 1 ? 24 : SHORT_LINE)
#define BLOCK 2048       /* columns of wide rows that are gone through together: they stay near */
#define BATCH (1 << 15)  /* elements that a thread takes at a time */

#define DEFINE_ALONG(NAME, T, OP)                                                                  \
    FOR_EACH_CPU static void NAME##_lines(const void *data, npy_intp lines, npy_intp n, void *to)  \
    {                                                                                              \
        const T *a = data;                                                                         \
        T *found = to, m[GROUP];                                                                   \
        npy_intp k = 0;                                                                            \
        for (; n <= SHORT(T) && k + GROUP <= lines; k += GROUP, a += GROUP * n) {                  \
            for (int j = 0; j < GROUP; j++) {                                                      \
                m[j] = a[j * n];                                                                   \
            }                                                                                      \
            for (npy_intp i = 1; i < n; i++) {                                                     \
                for (int j = 0; j < GROUP; j++) {                                                  \
                    m[j] = FURTHER(a[j * n + i], m[j], OP);                                        \
                }                                                                                  \
            }                                                                                      \
            memcpy(found + k, m, sizeof m);                                                        \
        }                                                                                          \
        for (; k < lines; k++, a += n) {                                                           \
            npy_intp i = 1;                                                                        \
            m[0] = a[0];                                                                           \
            if (n >= GROUP) {                                                                      \
                memcpy(m, a + n - GROUP, sizeof m);                                                \
                for (i = 0; i + GROUP < n; i += GROUP) { /* those at the end may be met twice */   \
                    for (int j = 0; j < GROUP; j++) {                                              \
                        m[j] = FURTHER(a[i + j], m[j], OP);                                        \
                    }                                                                              \
                }                                                                                  \
                for (int width = GROUP / 2; width > 0; width /= 2) {                               \
                    for (int j = 0; j < width; j++) {                                              \
                        m[j] = FURTHER(m[j + width], m[j], OP);                                    \
                    }                                                                              \
                }                                                                                  \
                i = n;                                                                             \
            }                                                                                      \
            T most = m[0];                                                                         \
            for (; i < n; i++) {                                                                   \
                most = FURTHER(a[i], most, OP);                                                    \
            }                                                                                      \
            found[k] = most;                                                                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Of n rows in each column, `width` of them, which begin `stride` elements apart. */          \
    FOR_EACH_CPU static void NAME##_rows(const void *data, npy_intp n, npy_intp stride,            \
                                         npy_intp width, void *to)                                 \
    {                                                                                              \
        const T *a = data;                                                                         \
        T *found = to, m[GROUP];                                                                   \
        npy_intp i = 1, rows = width == stride ? GROUP / width : 0, together = rows * width;       \
        memmove(found, a, width * sizeof(T));                                                      \
        if (rows > 1 && n >= 2 * rows) {                                                           \
            memcpy(m, a, together * sizeof(T));                                                    \
            for (i = rows; i + rows <= n; i += rows) {                                             \
                const T *next = a + i * width;                                                     \
                for (npy_intp j = 0; j < together; j++) {                                          \
                    m[j] = FURTHER(next[j], m[j], OP);                                             \
                }                                                                                  \
            }                                                                                      \
            for (npy_intp k = 0; k < together; k += width) {                                       \
                for (npy_intp j = 0; j < width; j++) {                                             \
                    found[j] = FURTHER(m[k + j], found[j], OP);                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const T *row = a + i * stride;                                                         \
            for (npy_intp j = 0; j < width; j++) {                                                 \
                found[j] = FURTHER(row[j], found[j], OP);                                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME##_join(void *to, const void *more, npy_intp width)                            \
    {                                                                                              \
        T *found = to;                                                                             \
        for (npy_intp j = 0; j < width; j++) {                                                     \
            T next = ((const T *)more)[j];                                                         \
            found[j] = FURTHER(next, found[j], OP);                                                \
        }                                                                                          \
    }

DEFINE_ALONG(doubles_up, double, >)
DEFINE_ALONG(doubles_down, double, <)
DEFINE_ALONG(floats_up, float, >)
DEFINE_ALONG(floats_down, float, <)
DEFINE_ALONG(longs_up, npy_int64, >)
DEFINE_ALONG(longs_down, npy_int64, <)
DEFINE_ALONG(ints_up, npy_int32, >)
DEFINE_ALONG(ints_down, npy_int32, <)
DEFINE_ALONG(bytes_up, npy_uint8, >)
DEFINE_ALONG(bytes_down, npy_uint8, <)

/* Whether what was found may have been found by NumPy: no element is no number, and where one is zero,
   no zero of the array has a sign. */
#define DEFINE_PLAIN(NAME, T, BITS)                                                                \
    FOR_EACH_CPU static int NAME##_plain(const T *found, npy_intp count, const T *a, npy_intp size) \
    {                                                                                              \
        int odd = 0, zeros = 0;                                                                    \
        for (npy_intp k = 0; k < count; k++) {                                                     \
            odd |= found[k] != found[k];                                                           \
            zeros |= found[k] == 0;                                                                \
        }                                                                                          \
        for (npy_intp k = 0; zeros && !odd && k < size; k += BLOCK) {                              \
            npy_intp end = k + BLOCK < size ? k + BLOCK : size;                                    \
            for (npy_intp i = k; i < end; i++) {                                                   \
                BITS bits;                                                                         \
                memcpy(&bits, a + i, sizeof bits);                                                 \
                odd |= bits == (BITS)1 << (8 * sizeof bits - 1);                                   \
            }                                                                                      \
        }                                                                                          \
        return !odd;                                                                               \
    }

DEFINE_PLAIN(doubles, double, npy_uint64)
DEFINE_PLAIN(floats, float, npy_uint32)

/* Lines, which lie one after the other. */
static void
take_lines(void *job)
{
    Along *self = job;
    int64_t at;
    while ((at = ADD(&self->next, self->unit)) < self->outer) {
        npy_intp lines = at + self->unit < self->outer ? self->unit : self->outer - at;
        self->lines(self->data + at * self->n * self->itemsize, lines, self->n,
                    self->found + at * self->given);
    }
    clear_faults(); /* to compare with what is no number raises a flag, of which NumPy says nothing */
}

/* Blocks of rows, or of some of their columns. */
static void
take_columns(void *job)
{
    Along *self = job;
    npy_intp blocks = (self->inner + BLOCK - 1) / BLOCK;
    int64_t at;
    while ((at = ADD(&self->next, 1)) < self->outer * blocks) {
        npy_intp block = at / blocks, first = at % blocks * BLOCK;
        npy_intp width = first + BLOCK < self->inner ? BLOCK : self->inner - first;
        self->rows(self->data + (block * self->n * self->inner + first) * self->itemsize, self->n,
                   self->inner, width, self->found + (block * self->inner + first) * self->given);
    }
    clear_faults();
}

/* Some rows of one block at a time. */
static void
take_rows(void *job)
{
    Along *self = job;
    npy_intp bytes = self->inner * self->itemsize, room = self->inner * self->given, found = 0;
    int64_t at, who;
    char *own = NULL, *more = NULL;
    while ((at = ADD(&self->next, self->unit)) < self->n) {
        npy_intp rows = at + self->unit < self->n ? self->unit : self->n - at;
        if (!found) { /* others may have been sooner with all */
            who = ADD(&self->members, 1);
            own = self->by + 2 * who * room;
            more = own + room;
        }
        self->rows(self->data + at * bytes, rows, self->inner, self->inner, found ? more : own);
        if (found) {
            self->join(own, more, self->inner);
        }
        found = 1;
    }
    clear_faults();
}

int
fold_along(Along *self)
{
    npy_intp inner = self->inner;
    int helpers = helpers_for(self->outer * self->n * inner * self->itemsize, helpers_now());
    if (inner == 1) {
        self->unit = self->n < BATCH ? (BATCH / self->n + GROUP - 1) / GROUP * GROUP : 1;
        with_crew(take_lines, self, helpers);
        return 1;
    }
    if (helpers == 0 || self->outer > 1 || inner >= BLOCK) {
        with_crew(take_columns, self, helpers);
        return 1;
    }
    size_t room = (size_t)(inner * self->given);
    self->unit = (BATCH + inner - 1) / inner;
    self->by = malloc(2 * (size_t)(helpers + 1) * room);
    if (self->by == NULL) {
        return 0;
    }
    with_crew(take_rows, self, helpers);
    memcpy(self->found, self->by, room);
    for (int64_t k = 1; k < self->members; k++) {
        self->join(self->found, self->by + 2 * k * room, inner);
    }
    free(self->by);
    return 1;
}

/* Set how elements of a type are compared; 0 where NumPy has to. */
static int
take_type(Along *self, PyArrayObject *x, int up)
{
    switch (PyArray_TYPE(x)) {
#define OF(TYPE, NAME)                                                                             \
    case TYPE:                                                                                     \
        self->lines = up ? NAME##_up_lines : NAME##_down_lines;                                    \
        self->rows = up ? NAME##_up_rows : NAME##_down_rows;                                       \
        self->join = up ? NAME##_up_join : NAME##_down_join;                                       \
        return 1;
        OF(NPY_DOUBLE, doubles)
        OF(NPY_FLOAT, floats)
        OF(NPY_INT64, longs)
        OF(NPY_INT32, ints)
        OF(NPY_UINT8, bytes)
        OF(NPY_BOOL, bytes)
    }
    return 0;
}

/* Put the largest or smallest along the middle one of three axes into memory; 0 where NumPy has to. */
static int
compared(PyArrayObject *x, npy_intp outer, npy_intp n, npy_intp inner, int is_largest, void *to)
{
    npy_intp bytes = PyArray_ITEMSIZE(x), size = outer * n * inner;
    Along self = {.data = PyArray_BYTES(x), .found = to, .outer = outer, .n = n, .inner = inner,
                  .itemsize = bytes, .given = bytes};
    int type = PyArray_TYPE(x), is_plain;
    if (!take_type(&self, x, is_largest)) {
        return 0;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size);
    is_plain = fold_along(&self);
    if (is_plain && type == NPY_DOUBLE) {
        is_plain = doubles_plain(to, outer * inner, PyArray_DATA(x), size);
    }
    else if (is_plain && type == NPY_FLOAT) {
        is_plain = floats_plain(to, outer * inner, PyArray_DATA(x), size);
    }
    for (npy_intp k = 0; type == NPY_BOOL && k < outer * inner; k++) {
        ((npy_bool *)to)[k] = ((npy_bool *)to)[k] != 0; /* of other memory one may be any byte */
    }
    clear_faults();
    NPY_END_THREADS;
    return is_plain;
}

#define MOST_FLOATS 65536 /* of four bytes: of more NumPy is as fast */

PyObject *
extremum_here(PyArrayObject *x, int is_largest)
{
    char found[8];
    int is_long = PyArray_TYPE(x) == NPY_FLOAT && PyArray_SIZE(x) > MOST_FLOATS;
    int is_found = PyArray_ITEMSIZE(x) <= 8 && !is_long && compared(x, 1, PyArray_SIZE(x), 1, is_largest, found);
    return is_found ? PyArray_Scalar(found, PyArray_DESCR(x), NULL) : NULL;
}

PyObject *
extremum_along(PyArrayObject *a, int is_largest, const Asked *asked)
{
    Lines of;
    int turned = PyArray_NDIM(a) == 2 && !PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_F_CONTIGUOUS(a);
    if (!take_lines_of(&of, a, asked) || is_over_all(a, asked) || PyArray_SIZE(a) == 0 ||
        !PyArray_ISBEHAVED_RO(a) || !(turned || PyArray_IS_C_CONTIGUOUS(a))) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(a));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), of.axes, of.shape, NULL, NULL, 0,
                                          NULL);
    npy_intp outer = turned ? of.inner : of.outer, inner = turned ? of.outer : of.inner;
    if (made != NULL && !compared(a, outer, of.n, inner, is_largest, PyArray_DATA((PyArrayObject *)made))) {
        Py_CLEAR(made);
    }
    return made;
}
