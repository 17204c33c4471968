/* How often each whole number occurs, what weights of each sum up to, and how many numbers lie in bins
   of equal width. Threads draw batches, and each counts in counters of its own: two rows of them,
   which take turns, so that equal neighbours do not wait for each other. */

#include "crew.h"
#include "handle.h"
#include "pairwise.h"

#define BATCH (1 << 16) /* values */
#define BLOCK 256 /* values whose bins are guessed at once */
#define LEAST_FOR_EACH 8 /* values that a thread counts for each counter that is made for it */

typedef struct Count Count;
struct Count {
    int (*add)(const Count *self, const char *values, npy_intp count, npy_intp *counters);
    const char *values;
    npy_intp size, itemsize, kinds;
    const double *edges;
    double apart; /* of an edge and its place, in bins */
    npy_intp *counters[MOST_CREW];
    int64_t next, members, failed; /* counters that all threads share */
};

/* Draw batches until there are none, or one that cannot be counted. */
static void
draw(void *job)
{
    Count *self = job;
    int64_t who = ADD(&self->members, 1), start;
    while (!ADD(&self->failed, 0) && (start = ADD(&self->next, BATCH)) < self->size) {
        npy_intp count = self->size - start < BATCH ? self->size - start : BATCH;
        if (!self->add(self, self->values + start * self->itemsize, count, self->counters[who])) {
            ADD(&self->failed, 1);
        }
    }
}

/* Return the counts as an array, None where a value cannot be counted, NULL for an error. */
static PyObject *
counted(Count *self, npy_intp threads)
{
    npy_intp most = self->size / (LEAST_FOR_EACH * self->kinds) + 1;
    most = most < MOST_CREW ? most : MOST_CREW;
    threads = threads < 1 ? 1 : threads < most ? threads : most;
    npy_intp *all = PyMem_RawCalloc((size_t)(2 * threads * self->kinds), sizeof *all);
    PyObject *found = PyArray_ZEROS(1, &self->kinds, NPY_INTP, 0);
    if (all == NULL || found == NULL) {
        PyMem_RawFree(all);
        Py_XDECREF(found);
        return PyErr_NoMemory();
    }
    for (npy_intp k = 0; k < threads; k++) {
        self->counters[k] = all + 2 * k * self->kinds;
    }
    npy_intp *sums = PyArray_DATA((PyArrayObject *)found);
    Py_BEGIN_ALLOW_THREADS
    with_crew(draw, self, (int)threads - 1);
    for (npy_intp row = 0; row < 2 * threads; row++) {
        for (npy_intp k = 0; k < self->kinds; k++) {
            sums[k] += all[row * self->kinds + k];
        }
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(all);
    if (self->failed) {
        Py_SETREF(found, Py_NewRef(Py_None));
    }
    return found;
}

/* Numbers below 0 are very large without a sign. */
#define DEFINE_ADD_WHOLE(NAME, TYPE)                                                               \
    static int NAME(const Count *self, const char *values, npy_intp count, npy_intp *counters)     \
    {                                                                                              \
        const TYPE *x = (const TYPE *)values;                                                      \
        npy_intp *others = counters + self->kinds, at = 0;                                         \
        const npy_uint64 kinds = (npy_uint64)self->kinds;                                          \
        for (; at + 1 < count; at += 2) {                                                          \
            npy_uint64 one = (npy_uint64)x[at], other = (npy_uint64)x[at + 1];                     \
            if (one >= kinds || other >= kinds) {                                                  \
                return 0;                                                                          \
            }                                                                                      \
            counters[one]++;                                                                       \
            others[other]++;                                                                       \
        }                                                                                          \
        if (at < count) {                                                                          \
            npy_uint64 last = (npy_uint64)x[at];                                                   \
            if (last >= kinds) {                                                                   \
                return 0;                                                                          \
            }                                                                                      \
            counters[last]++;                                                                      \
        }                                                                                          \
        return 1;                                                                                  \
    }

DEFINE_ADD_WHOLE(add_i1, npy_int8)
DEFINE_ADD_WHOLE(add_i2, npy_int16)
DEFINE_ADD_WHOLE(add_i4, npy_int32)
DEFINE_ADD_WHOLE(add_i8, npy_int64)
DEFINE_ADD_WHOLE(add_u1, npy_uint8)
DEFINE_ADD_WHOLE(add_u2, npy_uint16)
DEFINE_ADD_WHOLE(add_u4, npy_uint32)

/* `count_whole(values, size, threads)`: how often each number from 0 to below `size` occurs; None
   where another does. */
PyObject *
count_whole(PyObject *Py_UNUSED(module), PyObject *args)
{
    static int (*const adds[2][4])(const Count *, const char *, npy_intp, npy_intp *) = {
        {add_i1, add_i2, add_i4, add_i8}, {add_u1, add_u2, add_u4, NULL}};
    PyArrayObject *values;
    Py_ssize_t size, threads;
    if (!PyArg_ParseTuple(args, "O!nn", &PyArray_Type, &values, &size, &threads)) {
        return NULL;
    }
    npy_intp itemsize = PyArray_ITEMSIZE(values);
    char kind = PyArray_DESCR(values)->kind;
    int log = itemsize == 8 ? 3 : itemsize == 4 ? 2 : (int)itemsize - 1, sign = kind == 'u';
    if ((kind != 'i' && !sign) || adds[sign][log] == NULL || !PyArray_ISCARRAY_RO(values) ||
        size < 1) {
        PyErr_SetString(PyExc_TypeError, "expected whole numbers of up to 63 bits, and counters");
        return NULL;
    }
    Count count = {.add = adds[sign][log], .values = PyArray_DATA(values), .itemsize = itemsize,
                   .size = PyArray_SIZE(values), .kinds = size};
    return counted(&count, threads);
}

/* ---------------------------------------------------------------- weights by whole numbers */

typedef struct Weigh Weigh;
struct Weigh {
    int (*add)(const Weigh *self, npy_intp start, npy_intp stop, double *sums);
    const char *values;
    const double *weights;
    npy_intp size, block, kinds;
    double *sums;
    int64_t next, failed; /* counters that all threads share */
};

/* Add the weights of each block in their order. */
static void
draw_blocks(void *job)
{
    Weigh *self = job;
    int64_t k;
    while (!ADD(&self->failed, 0) && (k = ADD(&self->next, 1)) * self->block < self->size) {
        npy_intp start = (npy_intp)k * self->block, stop = start + self->block;
        stop = stop < self->size ? stop : self->size;
        if (!self->add(self, start, stop, self->sums + k * self->kinds)) {
            ADD(&self->failed, 1);
        }
    }
}

#define DEFINE_WEIGH(NAME, TYPE)                                                                   \
    static int NAME(const Weigh *self, npy_intp start, npy_intp stop, double *sums)                \
    {                                                                                              \
        const TYPE *x = (const TYPE *)self->values;                                                \
        const npy_uint64 kinds = (npy_uint64)self->kinds;                                          \
        for (npy_intp at = start; at < stop; at++) {                                               \
            npy_uint64 one = (npy_uint64)x[at];                                                    \
            if (one >= kinds) {                                                                    \
                return 0;                                                                          \
            }                                                                                      \
            sums[one] += self->weights[at];                                                        \
        }                                                                                          \
        return 1;                                                                                  \
    }

DEFINE_WEIGH(weigh_i1, npy_int8)
DEFINE_WEIGH(weigh_i2, npy_int16)
DEFINE_WEIGH(weigh_i4, npy_int32)
DEFINE_WEIGH(weigh_i8, npy_int64)
DEFINE_WEIGH(weigh_u1, npy_uint8)
DEFINE_WEIGH(weigh_u2, npy_uint16)
DEFINE_WEIGH(weigh_u4, npy_uint32)

/* `weigh_whole(values, weights, size, block, threads)`: for each block of values, the sum of the
   weights of each whole number from 0 to below `size`, a row; None where there is another number. */
PyObject *
weigh_whole(PyObject *Py_UNUSED(module), PyObject *args)
{
    static int (*const adds[2][4])(const Weigh *, npy_intp, npy_intp, double *) = {
        {weigh_i1, weigh_i2, weigh_i4, weigh_i8}, {weigh_u1, weigh_u2, weigh_u4, NULL}};
    PyArrayObject *values, *weights;
    Py_ssize_t size, block, threads;
    if (!PyArg_ParseTuple(args, "O!O!nnn", &PyArray_Type, &values, &PyArray_Type, &weights, &size,
                          &block, &threads)) {
        return NULL;
    }
    npy_intp itemsize = PyArray_ITEMSIZE(values), count = PyArray_SIZE(values);
    char kind = PyArray_DESCR(values)->kind;
    int log = itemsize == 8 ? 3 : itemsize == 4 ? 2 : (int)itemsize - 1, sign = kind == 'u';
    if ((kind != 'i' && !sign) || adds[sign][log] == NULL || !PyArray_ISCARRAY_RO(values) ||
        PyArray_TYPE(weights) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(weights) ||
        PyArray_SIZE(weights) != count || size < 1 || block < 1) {
        PyErr_SetString(PyExc_TypeError, "expected whole numbers of up to 63 bits, and doubles");
        return NULL;
    }
    npy_intp shape[] = {(count + block - 1) / block, size};
    PyObject *found = PyArray_ZEROS(2, shape, NPY_DOUBLE, 0);
    if (found == NULL) {
        return NULL;
    }
    Weigh weigh = {.add = adds[sign][log], .values = PyArray_DATA(values),
                   .weights = PyArray_DATA(weights), .size = count, .block = block, .kinds = size,
                   .sums = PyArray_DATA((PyArrayObject *)found)};
    npy_intp most = shape[0] < MOST_CREW ? shape[0] : MOST_CREW;
    threads = threads < 1 ? 1 : threads < most ? threads : most;
    Py_BEGIN_ALLOW_THREADS
    with_crew(draw_blocks, &weigh, (int)threads - 1);
    Py_END_ALLOW_THREADS
    if (weigh.failed) {
        Py_SETREF(found, Py_NewRef(Py_None));
    }
    return found;
}

/* Where a number lies among bins of equal width: NumPy's steps, none of which goes down as the number
   goes up. */
#define PLACE_OF(X, FIRST, WIDTH, SCALE) (((X) - (FIRST)) / (WIDTH) * (SCALE))

/* Return how far an edge is from the place that its number has. What lies further from a place of a
   whole number is on the side of that edge on which its place is. */
FOR_EACH_CPU static double
furthest_edge(const double *edge, int bins)
{
    const double first = edge[0], width = edge[bins] - first, scale = (double)bins;
    double most = 0;
    for (int k = 0; k <= bins; k++) {
        double apart = PLACE_OF(edge[k], first, width, scale) - k;
        apart = apart < 0 ? -apart : apart;
        most = apart > most ? apart : most;
    }
    return most;
}

#define OUTSIDE INT_MIN

/* The bins of a block of numbers; ~k where the edges of bin k are to be asked. */
FOR_EACH_CPU static void
bins_guessed(const double *x, int count, const double *edge, int bins, double apart, int *found)
{
    const double first = edge[0], last = edge[bins], width = last - first, scale = (double)bins;
    for (int at = 0; at < count; at++) {
        int inside = (x[at] >= first) & (x[at] <= last);
        double place = PLACE_OF(x[at], first, width, scale);
        int k = (int)(inside ? place : 0.0);
        double past = place - (double)k;
        int sure = (past > apart) & (past < 1.0 - apart);
        found[at] = inside ? k ^ (sure - 1) : OUTSIDE;
    }
}

static int
add_bins(const Count *self, const char *values, npy_intp count, npy_intp *counters)
{
    const double *edge = self->edges;
    int bins = (int)self->kinds, guessed[BLOCK];
    npy_intp *rows[] = {counters, counters + bins};
    for (npy_intp start = 0; start < count; start += BLOCK) {
        const double *x = (const double *)values + start;
        int many = count - start < BLOCK ? (int)(count - start) : BLOCK;
        bins_guessed(x, many, edge, bins, self->apart, guessed);
        for (int at = 0; at < many; at++) {
            int k = guessed[at];
            if (k < 0) {
                if (k == OUTSIDE) {
                    continue;
                }
                k = ~k < bins ? ~k : bins - 1;
                k -= k > 0 && x[at] < edge[k];
                k += k < bins - 1 && x[at] >= edge[k + 1];
            }
            rows[at & 1][k]++;
        }
    }
    return 1;
}

/* `count_bins(values, edges, threads)`: how many doubles lie in each bin; None where one belongs to
   no bin that there is. */
PyObject *
count_bins(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values, *edges;
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyArray_Type, &values, &PyArray_Type, &edges, &threads)) {
        return NULL;
    }
    npy_intp bins = PyArray_SIZE(edges) - 1;
    if (PyArray_TYPE(values) != NPY_DOUBLE || PyArray_TYPE(edges) != NPY_DOUBLE || bins < 1 ||
        bins >= INT_MAX || !PyArray_ISCARRAY_RO(values) || !PyArray_ISCARRAY_RO(edges)) {
        PyErr_SetString(PyExc_TypeError, "expected doubles and edges");
        return NULL;
    }
    Count count = {.add = add_bins, .values = PyArray_DATA(values), .itemsize = sizeof(double),
                   .size = PyArray_SIZE(values), .kinds = bins, .edges = PyArray_DATA(edges)};
    count.apart = furthest_edge(count.edges, (int)bins);
    return counted(&count, threads);
}

/* ---------------------------------------------------------------- places in a line */

#define LEAST_SHARED (1 << 14) /* values, from which on threads share them */
#define MOST_APART 2.0 /* steps that an element of an even line is from where it would be */

typedef struct {
    const double *line, *values;
    npy_intp length, size, *places;
    int right; /* whether equal elements come before a value */
    int64_t next;
} Search;

/* Each place is guessed, as if the line were even, and mended: by as many steps as it is not. */
static void
find_some(const Search *self, npy_intp start, npy_intp stop)
{
    const double *line = self->line;
    const npy_intp n = self->length;
    const double first = line[0], last = line[n - 1], scale = (double)(n - 1);
    const double steps = scale / (last - first);
    for (npy_intp at = start; at < stop; at++) {
        double value = self->values[at];
        if (!(value >= first && value <= last)) {
            self->places[at] = value < first ? 0 : n; /* NaN is after all numbers */
            continue;
        }
        npy_intp k = (npy_intp)((value - first) * steps);
        k = k < 0 ? 0 : k > n ? n : k;
        if (self->right) {
            for (; k > 0 && line[k - 1] > value; k--) {
            }
            for (; k < n && line[k] <= value; k++) {
            }
        }
        else {
            for (; k > 0 && line[k - 1] >= value; k--) {
            }
            for (; k < n && line[k] < value; k++) {
            }
        }
        self->places[at] = k;
    }
}

static void
draw_values(void *job)
{
    Search *self = job;
    npy_intp start;
    while ((start = (npy_intp)ADD(&self->next, BATCH / 16)) < self->size) {
        find_some(self, start, self->size - start < BATCH / 16 ? self->size : start + BATCH / 16);
    }
}

/* Say whether numbers rise, and about as much each time. */
static int
is_even(const double *line, npy_intp length)
{
    double width = line[length - 1] - line[0], scale = (double)(length - 1);
    if (!(width > 0 && width < Py_HUGE_VAL && scale / width < Py_HUGE_VAL)) {
        return 0;
    }
    for (npy_intp k = 0; k < length; k++) {
        double apart = PLACE_OF(line[k], line[0], width, scale) - (double)k;
        if (!(apart > -MOST_APART && apart < MOST_APART) || (k > 0 && !(line[k] >= line[k - 1]))) {
            return 0;
        }
    }
    return 1;
}

/* `find_places(line, values, right, threads)`: where doubles belong in an even line of such, as NumPy's
   `searchsorted` tells; None for another line. */
PyObject *
find_places(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *line, *values;
    int right;
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "O!O!pn", &PyArray_Type, &line, &PyArray_Type, &values, &right, &threads)) {
        return NULL;
    }
    if (PyArray_TYPE(line) != NPY_DOUBLE || PyArray_TYPE(values) != NPY_DOUBLE ||
        PyArray_NDIM(line) != 1 || !PyArray_ISCARRAY_RO(line) || !PyArray_ISCARRAY_RO(values)) {
        PyErr_SetString(PyExc_TypeError, "expected a line of doubles, and doubles");
        return NULL;
    }
    Search search = {.line = PyArray_DATA(line), .values = PyArray_DATA(values), .right = right,
                     .length = PyArray_SIZE(line), .size = PyArray_SIZE(values)};
    if (search.length < 2 || !is_even(search.line, search.length)) {
        Py_RETURN_NONE;
    }
    PyObject *found = PyArray_SimpleNew(PyArray_NDIM(values), PyArray_DIMS(values), NPY_INTP);
    if (found == NULL) {
        return NULL;
    }
    search.places = PyArray_DATA((PyArrayObject *)found);
    threads = threads < 1 || search.size < LEAST_SHARED ? 1 : threads < MOST_CREW ? threads : MOST_CREW;
    Py_BEGIN_ALLOW_THREADS
    with_crew(draw_values, &search, (int)threads - 1);
    Py_END_ALLOW_THREADS
    return found;
}
