/* nansum, nanmean, nanvar, nanstd, nanmax and nanmin of floats that lie in C order: in one pass, or two,
   where NumPy makes copies. Sums are added in the order in which NumPy adds what it put zeros into, by
   its own steps, so that they have its bits; the parts of that order are shared among threads. What
   NumPy tells of (lines of no numbers, faults) is left to it. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#include <numpy/arrayscalars.h>

#define LEAF (1 << 15)   /* elements of a line that a thread takes at a time, at most */
#define BLOCK 512        /* columns that are gone through together */
#define MOST_LEAVES 4096 /* of one line: longer ones have larger leaves */
#define GROUP 32         /* elements that are compared side by side */

typedef struct Nans Nans;
struct Nans {
    const char *data;
    npy_intp outer, n, inner, leaf, block, leaves, itemsize;
    int what, is_double;
    const char *means;           /* beside which squares are summed, or NULL */
    char *found;
    npy_intp *counts;            /* of numbers in each line */
    struct { npy_intp at, n; } *leaf_of;
    int64_t next, failed;
};

#define DEFINE_NANS(T, NAME)                                                                       \
    /* The sum of what are numbers, or of squares of how far they are from a mean. */              \
    FOR_EACH_CPU static T NAME##_sum(const T *a, npy_intp n, const T *mean, npy_intp *count)       \
    {                                                                                              \
        T kept[QUARTER];                                                                           \
        if (n > QUARTER) {                                                                         \
            npy_intp half = n / 2 - n / 2 % LANES;                                                 \
            T left = NAME##_sum(a, half, mean, count);                                             \
            return left + NAME##_sum(a + half, n - half, mean, count);                             \
        }                                                                                          \
        npy_intp nans = 0;                                                                         \
        T from = mean == NULL ? (T)0 : *mean;                                                      \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            int is_nan = a[j] != a[j];                                                             \
            T one = is_nan ? from : a[j];                                                          \
            nans += is_nan;                                                                        \
            kept[j] = one;                                                                         \
        }                                                                                          \
        for (npy_intp j = 0; mean != NULL && j < n; j++) {                                         \
            T apart = kept[j] - from;                                                              \
            kept[j] = apart * apart;                                                               \
        }                                                                                          \
        *count += n - nans;                                                                        \
        return NAME##_of_few(kept, n);                                                             \
    }                                                                                              \
                                                                                                   \
    /* The same for `width` columns, whose rows are `stride` elements apart. */                    \
    FOR_EACH_CPU static void NAME##_columns(const T *a, npy_intp n, npy_intp stride, npy_intp width, \
                                            const T *means, T *sums, npy_intp *counts)             \
    {                                                                                              \
        T nans[BLOCK];                                                                             \
        for (npy_intp j = 0; j < width; j++) {                                                     \
            sums[j] = 0;                                                                           \
            nans[j] = 0;                                                                           \
            counts[j] = means == NULL ? n : counts[j]; /* as the pass before found them */         \
        }                                                                                          \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            const T *row = a + i * stride;                                                         \
            for (npy_intp j = 0; means == NULL && j < width; j++) {                                \
                int is_nan = row[j] != row[j];                                                     \
                sums[j] += is_nan ? (T)0 : row[j];                                                 \
                nans[j] += is_nan ? (T)1 : (T)0;                                                   \
            }                                                                                      \
            for (npy_intp j = 0; means != NULL && j < width; j++) {                                \
                T apart = row[j] != row[j] ? (T)0 : row[j] - means[j];                             \
                sums[j] += apart * apart;                                                          \
            }                                                                                      \
            if (i % MOST_COUNTED == MOST_COUNTED - 1 || i == n - 1) {                              \
                for (npy_intp j = 0; j < width; j++) {                                             \
                    counts[j] -= (npy_intp)nans[j];                                                \
                    nans[j] = 0;                                                                   \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The largest of what are numbers, or the smallest of all below zero; minus infinity of none. */ \
    FOR_EACH_CPU static T NAME##_most(const T *a, npy_intp n, int down)                            \
    {                                                                                              \
        T m[GROUP], most = -(T)INFINITY;                                                           \
        npy_intp i = 0;                                                                            \
        for (int j = 0; j < GROUP; j++) {                                                          \
            m[j] = most;                                                                           \
        }                                                                                          \
        for (; !down && i + GROUP <= n; i += GROUP) {                                              \
            for (int j = 0; j < GROUP; j++) {                                                      \
                m[j] = a[i + j] > m[j] ? a[i + j] : m[j];                                          \
            }                                                                                      \
        }                                                                                          \
        for (; down && i + GROUP <= n; i += GROUP) {                                               \
            for (int j = 0; j < GROUP; j++) {                                                      \
                m[j] = -a[i + j] > m[j] ? -a[i + j] : m[j];                                        \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            T one = down ? -a[i] : a[i];                                                           \
            most = one > most ? one : most;                                                        \
        }                                                                                          \
        for (int j = 0; j < GROUP; j++) {                                                          \
            most = m[j] > most ? m[j] : most;                                                      \
        }                                                                                          \
        return most;                                                                               \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_most_of_columns(const T *a, npy_intp n, npy_intp stride,       \
                                                    npy_intp width, int down, T *found)            \
    {                                                                                              \
        T sign = down ? (T)-1 : (T)1;                                                              \
        for (npy_intp j = 0; j < width; j++) {                                                     \
            found[j] = -(T)INFINITY;                                                               \
        }                                                                                          \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            const T *row = a + i * stride;                                                         \
            for (npy_intp j = 0; j < width; j++) {                                                 \
                T one = sign * row[j];                                                             \
                found[j] = one > found[j] ? one : found[j];                                        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME##_line(Nans *self, npy_intp at, npy_intp n, npy_intp mean, npy_intp to)       \
    {                                                                                              \
        const T *a = (const T *)self->data + at;                                                   \
        if (self->what >= LARGEST) {                                                               \
            ((T *)self->found)[to] = NAME##_most(a, n, self->what == SMALLEST);                    \
            return;                                                                                \
        }                                                                                          \
        npy_intp count = 0;                                                                        \
        ((T *)self->found)[to] =                                                                   \
            NAME##_sum(a, n, self->means == NULL ? NULL : (const T *)self->means + mean, &count);  \
        self->counts[to] = count;                                                                  \
    }                                                                                              \
                                                                                                   \
    static void NAME##_block(Nans *self, npy_intp outer, npy_intp first, npy_intp width)           \
    {                                                                                              \
        const T *a = (const T *)self->data + outer * self->n * self->inner + first;                \
        npy_intp to = outer * self->inner + first;                                                 \
        T *found = (T *)self->found + to;                                                          \
        if (self->what >= LARGEST) {                                                               \
            NAME##_most_of_columns(a, self->n, self->inner, width, self->what == SMALLEST, found); \
            return;                                                                                \
        }                                                                                          \
        NAME##_columns(a, self->n, self->inner, width,                                             \
                       self->means == NULL ? NULL : (const T *)self->means + to, found,            \
                       self->counts + to);                                                         \
    }                                                                                              \
                                                                                                   \
    /* What the leaves of a line come to, from the one with this number on. */                     \
    static T NAME##_joined(const Nans *self, npy_intp n, npy_intp *leaf, npy_intp *count)          \
    {                                                                                              \
        if (n <= self->leaf) {                                                                     \
            *count += self->counts[*leaf];                                                         \
            return ((const T *)self->found)[(*leaf)++];                                            \
        }                                                                                          \
        npy_intp half = n / 2 - n / 2 % LANES;                                                     \
        T left = NAME##_joined(self, half, leaf, count);                                           \
        T right = NAME##_joined(self, n - half, leaf, count);                                      \
        return self->what < LARGEST ? left + right : left > right ? left : right;                  \
    }                                                                                              \
                                                                                                   \
    /* Make what was asked for of sums and counts; 0 where NumPy has to tell of something. */      \
    static int NAME##_asked(const Nans *self, npy_intp lines, npy_intp ddof, const T *a)           \
    {                                                                                              \
        T *found = (T *)self->found;                                                               \
        int what = self->what, odd = 0, zeros = 0;                                                 \
        for (npy_intp k = 0; k < lines && what >= LARGEST; k++) {                                  \
            found[k] = what == SMALLEST ? -found[k] : found[k];                                    \
            zeros |= found[k] == 0;                                                                \
            odd |= found[k] == INFINITY || found[k] == -INFINITY;                                  \
        }                                                                                          \
        for (npy_intp i = 0; zeros && !odd && i < self->outer * self->n * self->inner; i++) {      \
            odd |= a[i] == 0 && signbit(a[i]); /* which zero it is depends on the order */         \
        }                                                                                          \
        for (npy_intp k = 0; k < lines && what < LARGEST; k++) {                                   \
            npy_intp each = self->counts[k] - ddof;                                                \
            found[k] += (T)0; /* a sum of -0.0 alone is 0.0 */                                     \
            odd |= what != SUM && each <= 0;                                                       \
            found[k] = what == SUM || each <= 0 ? found[k] : (T)((double)found[k] / (double)each); \
        }                                                                                          \
        return !odd;                                                                               \
    }

#define MOST_COUNTED (1 << 20) /* which floats of four bytes count without rounding */

DEFINE_OF_FEW(double, doubles)
DEFINE_OF_FEW(float, floats)
DEFINE_NANS(double, doubles)
DEFINE_NANS(float, floats)

/* The leaves of the tree in which a line is summed. */
static void
split(Nans *self, npy_intp at, npy_intp n)
{
    if (n <= self->leaf) {
        self->leaf_of[self->leaves].at = at;
        self->leaf_of[self->leaves++].n = n;
        return;
    }
    npy_intp half = n / 2 - n / 2 % LANES;
    split(self, at, half);
    split(self, at + half, n - half);
}

static void
note_faults(Nans *self)
{
    int kinds = FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW;
    STORED;
    if (self->what < LARGEST && faults_among(kinds)) { /* comparing what is no number raises a flag */
        ADD(&self->failed, 1);
    }
    clear_faults();
}

static void
take_leaves(void *job)
{
    Nans *self = job;
    int64_t k;
    clear_faults();
    while ((k = ADD(&self->next, 1)) < self->leaves) {
        (self->is_double ? doubles_line : floats_line)(self, self->leaf_of[k].at, self->leaf_of[k].n, 0, k);
    }
    note_faults(self);
}

static void
take_lines(void *job)
{
    Nans *self = job;
    npy_intp unit = LEAF / self->n + 1;
    int64_t start;
    clear_faults();
    while ((start = ADD(&self->next, unit)) < self->outer) {
        for (npy_intp k = start; k < start + unit && k < self->outer; k++) {
            (self->is_double ? doubles_line : floats_line)(self, k * self->n, self->n, k, k);
        }
    }
    note_faults(self);
}

static void
take_blocks(void *job)
{
    Nans *self = job;
    npy_intp blocks = (self->inner + self->block - 1) / self->block;
    int64_t at;
    clear_faults();
    while ((at = ADD(&self->next, 1)) < self->outer * blocks) {
        npy_intp first = at % blocks * self->block, left = self->inner - first;
        (self->is_double ? doubles_block : floats_block)(self, at / blocks, first,
                                                         left < self->block ? left : self->block);
    }
    note_faults(self);
}

/* One pass: sums and counts, squares and counts, or the largest, into `found` and `counts`. */
static int
passed(Nans *self, int helpers)
{
    self->next = 0;
    if (self->inner > 1) {
        self->block = helpers > 0 && self->outer == 1 && self->inner < 2 * BLOCK ? self->inner / 2 + 1 : BLOCK;
        self->block = self->block > BLOCK ? BLOCK : self->block;
        with_crew(take_blocks, self, helpers);
        return self->failed == 0;
    }
    if (self->outer > 1) {
        with_crew(take_lines, self, helpers);
        return self->failed == 0;
    }
    for (self->leaf = LEAF; self->leaf < self->n / (MOST_LEAVES / 4); self->leaf *= 2) {
    }
    npy_intp most = 4 * (self->n / self->leaf + 1), leaf = 0, count = 0;
    char *found = self->found, *parts = malloc((size_t)most * (8 + sizeof(npy_intp) + sizeof *self->leaf_of));
    npy_intp *counts = self->counts;
    if (parts == NULL) {
        return 0;
    }
    self->leaves = 0;
    self->found = parts;
    self->counts = (npy_intp *)(parts + 8 * most);
    self->leaf_of = (void *)(self->counts + most);
    memset(self->counts, 0, (size_t)most * sizeof(npy_intp));
    split(self, 0, self->n);
    with_crew(take_leaves, self, helpers);
    if (self->is_double) {
        *(double *)found = doubles_joined(self, self->n, &leaf, &count);
    }
    else {
        *(float *)found = floats_joined(self, self->n, &leaf, &count);
    }
    note_faults(self);
    self->found = found;
    self->counts = counts;
    self->counts[0] = count;
    free(parts);
    return self->failed == 0;
}

static int
made_of(Nans *self, npy_intp lines, npy_intp ddof)
{
    int done = self->is_double ? doubles_asked(self, lines, ddof, (const double *)self->data)
                               : floats_asked(self, lines, ddof, (const float *)self->data);
    note_faults(self);
    return done && self->failed == 0;
}

/* Put what is asked for into memory, where `means` has room for as much, or is NULL; 0 where NumPy has
   to look. */
static int
put_folded(Nans *self, const Asked *asked, char *to, char *means, npy_intp *counts)
{
    int what = self->what, is_squared = what == VARIANCE || what == DEVIATION;
    npy_intp lines = self->outer * self->inner;
    int helpers = helpers_for(lines * self->n * self->itemsize, helpers_now());
    self->found = is_squared ? means : to;
    self->counts = counts;
    self->what = is_squared ? MEAN : what;
    if (!passed(self, helpers) || !made_of(self, lines, 0)) {
        return 0;
    }
    if (!is_squared) {
        return 1;
    }
    self->means = means;
    self->found = to;
    if (!passed(self, helpers) || !made_of(self, lines, asked->ddof)) {
        return 0;
    }
    for (npy_intp k = 0; k < lines && what == DEVIATION; k++) {
        if (self->is_double) {
            ((double *)to)[k] = sqrt(((double *)to)[k]);
        }
        else {
            ((float *)to)[k] = sqrtf(((float *)to)[k]);
        }
    }
    clear_faults();
    return 1;
}

PyObject *
nan_folded(PyArrayObject *a, int what, const Asked *asked)
{
    int type = PyArray_TYPE(a), over_all = is_over_all(a, asked), is_done = 0;
    Lines of = {.outer = 1, .n = PyArray_SIZE(a), .inner = 1, .axes = 0};
    if ((type != NPY_DOUBLE && type != NPY_FLOAT) || PyArray_SIZE(a) < 1 || PyArray_NDIM(a) < 1 ||
        !PyArray_ISCARRAY_RO(a) || !is_usual_type(a, what, asked) || asked->ddof < 0 || (!over_all && (!asked->has_axis || asked->more)) ||
        (!over_all && !take_lines_of(&of, a, asked))) {
        return NULL;
    }
    npy_intp lines = of.outer * of.inner, bytes = PyArray_ITEMSIZE(a);
    Nans self = {.data = PyArray_BYTES(a), .outer = of.outer, .n = of.n, .inner = of.inner, .what = what,
                 .is_double = type == NPY_DOUBLE, .itemsize = bytes};
    Py_INCREF(PyArray_DESCR(a));
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), of.axes,
                                                                of.shape, NULL, NULL, 0, NULL);
    char *rest = made == NULL ? NULL : malloc((size_t)lines * (sizeof(npy_intp) + bytes));
    if (rest != NULL) {
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
        is_done = put_folded(&self, asked, PyArray_DATA(made), rest + lines * sizeof(npy_intp), (npy_intp *)rest);
        NPY_END_THREADS;
    }
    free(rest);
    PyObject *r = !is_done ? NULL : over_all ? PyArray_Return((PyArrayObject *)Py_NewRef((PyObject *)made))
                                             : Py_NewRef((PyObject *)made);
    Py_XDECREF(made);
    return r;
}

#define DEFINE_FOLD(NAME, WHAT)                                                                    \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        Asked asked = {0};                                                                         \
        if (count > 0 && IS_NUMPYS(args[0]) && take_asked(args, count, kwnames, WHAT, &asked)) {   \
            PyObject *found = nan_folded((PyArrayObject *)args[0], WHAT, &asked);                  \
            if (found != NULL || PyErr_Occurred()) {                                               \
                return found;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return left_to_numpy(&numpys, NULL, #NAME, args, count, kwnames);                          \
    }

DEFINE_FOLD(nansum, SUM)
DEFINE_FOLD(nanmean, MEAN)
DEFINE_FOLD(nanvar, VARIANCE)
DEFINE_FOLD(nanstd, DEVIATION)
DEFINE_FOLD(nanmax, LARGEST)
DEFINE_FOLD(nanmin, SMALLEST)
