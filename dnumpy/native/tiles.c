/* All steps of a phase over its tiles, one tile after the other, shared among threads that need no
   interpreter: see dnumpy.kernels.tile_loop.

   A step is a call as stretches.c makes it, a fold by the loop of a ufunc, a product by that of
   `matmul`, or a sum of floats as folds.c makes it. Operands are given as they lie for the first tile;
   for each later one they lie so many bytes further, and what a tile is computed by way of lies
   elsewhere for each thread. */

#include "calls.h"
#include "crew.h"
#include "folds.h"
#include "interrupts.h"

enum { LOOP, FOLD, FOLD_FROM_ZERO, PRODUCT, SUM }; /* and SUM + k: the sums of kind k */

/* What Python writes of a step. */
typedef struct {
    npy_int64 kind;
    Record record;
} Written;

typedef struct {
    int kind;
    Call call, begin;        /* begin: of a fold, what its result is before */
    Sum sum;                 /* of which a tile is so many units */
    npy_intp extents[4], steps[9]; /* of a product, as its loop wants them */
    Py_ssize_t units;
    npy_intp move[MOST_SEEN], apart[MOST_SEEN]; /* bytes from tile to tile, and thread to thread */
} Part;

typedef struct {
    Part *parts;
    int *raised; /* by each part */
    Py_ssize_t count, tiles, batch, room_bytes;
    char *room;
    int64_t next, members;
    volatile int stopped;
    Alert alert;
} Tiles;

static void
copy_items(char **args, npy_intp const *extents, npy_intp const *steps, void *size)
{
    for (npy_intp k = 0; k < extents[0]; k++) {
        memcpy(args[1] + k * steps[1], args[0] + k * steps[0], (size_t)size);
    }
}

static void
clear_items(char **args, npy_intp const *extents, npy_intp const *steps, void *size)
{
    for (npy_intp k = 0; k < extents[0]; k++) {
        memset(args[0] + k * steps[0], 0, (size_t)size);
    }
}

/* Read what a fold or a sum reads, and what it writes to; 0 where they disturb each other. */
static int
read_pair(const Record *record, PyObject *values, PyArrayObject **operand, PyArrayObject **out)
{
    PyObject *from = PyList_GET_ITEM(values, record->slots[0]);
    PyObject *to = PyList_GET_ITEM(values, record->slots[1]);
    if (!PyArray_CheckExact(from) || !PyArray_CheckExact(to)) {
        return 0;
    }
    *operand = (PyArrayObject *)from;
    *out = (PyArrayObject *)to;
    return !is_disturbed(*operand, *out, 1);
}

/* Make the calls that fold an array along the axes of which the result has one element. */
static int
make_fold(Part *part, const Record *record, PyObject *values)
{
    PyArrayObject *operand, *out;
    if (!read_pair(record, values, &operand, &out)) {
        return 0;
    }
    int ndim = PyArray_NDIM(operand), zero = part->kind == FOLD_FROM_ZERO;
    if (ndim > MOST_AXES || PyArray_NDIM(out) != ndim || PyArray_SIZE(operand) == 0 ||
        !PyArray_ISBEHAVED_RO(operand) || !PyArray_ISBEHAVED(out)) {
        return 0;
    }
    npy_intp steps[MOST_SEEN][MOST_AXES], first[MOST_SEEN][MOST_AXES];
    for (int d = 0; d < ndim; d++) {
        npy_intp extent = PyArray_DIM(out, d), by = PyArray_STRIDE(operand, d);
        if (extent != 1 && extent != PyArray_DIM(operand, d)) {
            return 0;
        }
        steps[0][d] = steps[2][d] = extent == 1 ? 0 : PyArray_STRIDE(out, d);
        steps[1][d] = by;
        first[0][d] = zero ? PyArray_STRIDE(out, d) : by;
        first[1][d] = PyArray_STRIDE(out, d);
    }
    Call *call = &part->call, *begin = &part->begin;
    call->loop = (Loop)(npy_intp)record->loop;
    call->data = (void *)(npy_intp)record->data;
    call->count = 3;
    call->stops = call->masked = begin->masked = 0;
    call->at[0] = call->at[2] = PyArray_BYTES(out);
    call->at[1] = PyArray_BYTES(operand);
    order_axes(call, 1, ndim, PyArray_DIMS(operand), steps);
    begin->loop = zero ? clear_items : copy_items;
    begin->data = (void *)(npy_intp)PyArray_ITEMSIZE(out);
    begin->count = zero ? 1 : 2;
    order_axes(begin, begin->count - 1, ndim, PyArray_DIMS(out), first);
    if (call->axes == 0) { /* one element, of which a boolean may still be any byte */
        call->axes = 1;
        call->shape[0] = 1;
        call->steps[0][0] = call->steps[2][0] = 0;
        call->steps[1][0] = PyArray_ITEMSIZE(operand);
    }
    if (begin->axes == 0) {
        begin->axes = 1;
        begin->shape[0] = 1;
        begin->steps[0][0] = begin->steps[1][0] = 0;
    }
    return 1;
}

static int
make_sum(Part *part, const Record *record, PyObject *values)
{
    PyArrayObject *operand, *out;
    int kind = part->kind - SUM, each_row = kind == ROWS || kind == NUMPYS_ROWS || kind == WITHIN;
    memset(&part->sum, 0, sizeof part->sum);
    if (!read_pair(record, values, &operand, &out) || PyArray_TYPE(out) != PyArray_TYPE(operand) ||
        !PyArray_ISCARRAY(out) || !reads_sum(&part->sum, operand, kind)) {
        return 0;
    }
    Sum *sum = &part->sum;
    sum->tile = each_row ? 1 : sum->m.count;
    part->units = each_row ? sum->m.count : 1;
    part->call.at[0] = PyArray_BYTES(operand);
    part->call.at[1] = PyArray_BYTES(out);
    return 1;
}

/* The extent and the step of an axis; one element where it is missing. */
static void
take_axis(PyArrayObject *x, int axis, npy_intp *extent, npy_intp *step)
{
    int there = axis < PyArray_NDIM(x);
    *extent = there ? PyArray_DIM(x, axis) : 1;
    *step = there ? PyArray_STRIDE(x, axis) : PyArray_ITEMSIZE(x);
}

/* Make the call for rows times what each tile reads whole, or, if it `folds`, for the sums over rows of
   the products of both: dnumpy.kernels.operands has the same extents and steps. */
static int
make_product(Part *part, const Record *record, PyObject *values)
{
    PyArrayObject *x[3];
    int folds = (int)record->steps_matter;
    for (int k = 0; k < 3; k++) {
        PyObject *given = PyList_GET_ITEM(values, record->slots[k]);
        if (!PyArray_CheckExact(given) || PyArray_NDIM((PyArrayObject *)given) < 1 ||
            PyArray_NDIM((PyArrayObject *)given) > 2 + (folds && k == 2) ||
            !(k < 2 ? PyArray_ISBEHAVED_RO((PyArrayObject *)given)
                    : PyArray_ISBEHAVED((PyArrayObject *)given))) {
            return 0;
        }
        x[k] = (PyArrayObject *)given;
        part->call.at[k] = PyArray_BYTES(x[k]);
    }
    if (is_disturbed(x[0], x[2], 1) || is_disturbed(x[1], x[2], 1)) {
        return 0;
    }
    npy_intp extent[3][2], step[3][2]; /* of the first axis, and of the second if there is one */
    for (int k = 0; k < 3; k++) {
        take_axis(x[k], 0, &extent[k][0], &step[k][0]);
        take_axis(x[k], 1, &extent[k][1], &step[k][1]);
    }
    int matrix = PyArray_NDIM(x[0]) == 2, columns = PyArray_NDIM(x[1]) == 2, made = PyArray_NDIM(x[2]);
    npy_intp one = PyArray_ITEMSIZE(x[2]);
    memset(part->steps, 0, 3 * sizeof *part->steps);
    part->extents[0] = 1;
    npy_intp *n = part->extents + 1, *by = part->steps + 3;
    n[2] = extent[1][1];
    if (folds) {
        if (extent[0][0] != extent[1][0] || extent[2][0] != 1 || made != 1 + matrix + columns) {
            return 0;
        }
        n[0] = extent[0][1];
        n[1] = extent[0][0];
        npy_intp given[] = {step[0][1], step[0][0], step[1][0], step[1][1]};
        memcpy(by, given, sizeof given);
        by[4] = matrix ? PyArray_STRIDE(x[2], 1) : one;
        by[5] = columns ? PyArray_STRIDE(x[2], made - 1) : one;
        return PyArray_SIZE(x[2]) == n[0] * n[2] &&
               (!matrix || PyArray_DIM(x[2], 1) == n[0]);
    }
    n[0] = extent[0][0];
    n[1] = extent[0][1];
    npy_intp given[] = {step[0][0], step[0][1], step[1][0], step[1][1], step[2][0], step[2][1]};
    memcpy(by, given, sizeof given);
    return matrix && extent[1][0] == n[1] && made == 1 + columns && extent[2][0] == n[0] &&
           extent[2][1] == n[2];
}

static int
make_part(Part *part, const Written *written, PyObject *values, const npy_int64 *moves)
{
    const Record *record = &written->record;
    part->kind = (int)written->kind;
    int made = part->kind == LOOP      ? make_call(&part->call, record, values)
               : part->kind >= SUM     ? make_sum(part, record, values)
               : part->kind == PRODUCT ? make_product(part, record, values)
                                       : make_fold(part, record, values);
    if (!made) {
        return 0;
    }
    int fold = part->kind == FOLD || part->kind == FOLD_FROM_ZERO;
    if (part->kind == PRODUCT) {
        part->call.loop = (Loop)(npy_intp)record->loop;
        part->call.data = (void *)(npy_intp)record->data;
        part->call.count = 3;
        part->call.stops = part->call.masked = 0;
    }
    for (int x = 0; x < MOST_OPERANDS; x++) { /* a fold has (result, operand, result) */
        npy_int64 slot = record->slots[fold ? x != 1 : x];
        int used = x < (fold ? 3 : (int)record->count);
        part->move[x] = used ? (npy_intp)moves[2 * slot] : 0;
        part->apart[x] = used ? (npy_intp)moves[2 * slot + 1] : 0;
    }
    if (part->kind == LOOP && part->call.masked) {
        part->move[part->call.count] = (npy_intp)moves[2 * record->mask];
        part->apart[part->call.count] = (npy_intp)moves[2 * record->mask + 1];
    }
    return 1;
}

static inline void
run_part(const Part *part, Py_ssize_t tile, Py_ssize_t who, char *room)
{
    char *at[MOST_SEEN] = {NULL};
    int count = part->kind >= SUM ? 2 : part->call.count + (part->kind == LOOP && part->call.masked);
    for (int x = 0; x < count; x++) {
        at[x] = part->call.at[x] + tile * part->move[x] + who * part->apart[x];
    }
    if (part->kind >= SUM) {
        Sum sum = part->sum;
        sum.m.rows = at[0];
        sum.sums = at[1];
        sum_units(&sum, 0, part->units, room);
        return;
    }
    if (part->kind == PRODUCT) { /* of which the loop moves what it is given */
        part->call.loop(at, part->extents, part->steps, part->call.data);
        return;
    }
    if (part->kind != LOOP) {
        char *begin[MOST_SEEN] = {at[1], at[0]};
        run_call(&part->begin, part->kind == FOLD ? begin : at);
    }
    run_call(&part->call, at);
}

/* Take batches of tiles until there are none. */
static void
take_tiles(void *job)
{
    Tiles *self = job;
    int asks = is_callers(&self->alert);
    Py_ssize_t start, who = ADD(&self->members, 1);
    char *room = self->room + who * self->room_bytes;
    feclearexcept(FLAGS);
    while ((start = ADD(&self->next, self->batch)) < self->tiles && !self->stopped) {
        Py_ssize_t stop = start + self->batch < self->tiles ? start + self->batch : self->tiles;
        for (Py_ssize_t tile = start; tile < stop && !self->stopped; tile++) {
            if (asks && is_interrupted(&self->alert)) {
                self->stopped = 1;
                break;
            }
            for (Py_ssize_t k = 0; k < self->count; k++) {
                const Part *part = &self->parts[k];
                run_part(part, tile, who, room);
                int raised = fetestexcept(FLAGS); /* NumPy's loops may raise what only this sees */
                if (raised == 0) {
                    continue;
                }
                feclearexcept(FLAGS); /* which takes ten times as long as to test */
                if (part->kind == LOOP && part->call.stops) {
                    self->stopped = 1;
                    break;
                }
#if HAS_CREW
                __atomic_fetch_or(&self->raised[k], raised, __ATOMIC_RELAXED);
#else
                self->raised[k] |= raised;
#endif
            }
        }
    }
    feclearexcept(FLAGS);
}

static PyObject *
faults_of(const Tiles *tiles)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t k = 0; found != NULL && k < tiles->count; k++) {
        PyObject *pair = tiles->raised[k] ? Py_BuildValue("ni", k, tiles->raised[k]) : NULL;
        if (tiles->raised[k] && (pair == NULL || PyList_Append(found, pair) < 0)) {
            Py_CLEAR(found);
        }
        Py_XDECREF(pair);
    }
    return found;
}

/* `run_tiles(values, records, moves, tiles, batch, threads)`: compute so many tiles, in batches that
   threads draw. `moves` has for each of the values by how many bytes it lies further for the next
   tile, and for the next thread. Return the flags that each step raised, where any did; False where
   NumPy has to look at an operand that raised some, so that all is to be done otherwise; None where an
   operand lies as no step can read it, and nothing was done. Raises what a signal's handler does. */
PyObject *
run_tiles(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *values;
    PyArrayObject *records, *moves;
    Py_ssize_t tiles, batch;
    int threads;
    if (!PyArg_ParseTuple(args, "O!O!O!nni", &PyList_Type, &values, &PyArray_Type, &records,
                          &PyArray_Type, &moves, &tiles, &batch, &threads)) {
        return NULL;
    }
    Py_ssize_t count = PyArray_NBYTES(records) / (Py_ssize_t)sizeof(Written);
    const Written *written = PyArray_DATA(records);
    if (tiles < 1 || batch < 1 || count < 1 || !PyArray_ISCARRAY_RO(moves) ||
        PyArray_NBYTES(moves) != 2 * PyList_GET_SIZE(values) * (Py_ssize_t)sizeof(npy_int64)) {
        PyErr_SetString(PyExc_ValueError, "expected steps, tiles, and two moves for each value");
        return NULL;
    }
    threads = threads < 1 ? 1 : threads > MOST_CREW ? MOST_CREW : threads;
    Part *parts = PyMem_Malloc(count * sizeof *parts);
    int *raised = PyMem_Calloc(count, sizeof *raised);
    char *room = NULL;
    PyObject *found = NULL;
    Tiles job = {.parts = parts, .raised = raised, .count = count, .tiles = tiles, .batch = batch};
    if (parts == NULL || raised == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!make_part(&parts[k], &written[k], values, PyArray_DATA(moves))) {
            found = Py_NewRef(Py_None);
            goto done;
        }
        Py_ssize_t needed = parts[k].kind >= SUM ? (room_of_sum(&parts[k].sum) + 63) / 64 * 64 : 0;
        job.room_bytes = needed > job.room_bytes ? needed : job.room_bytes;
    }
    if (job.room_bytes > 0 && (room = PyMem_Malloc(threads * job.room_bytes)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    job.room = room;
    let_go(&job.alert);
    with_crew(take_tiles, &job, threads - 1);
    take_back(&job.alert);
    if (!PyErr_Occurred()) {
        found = job.stopped ? Py_NewRef(Py_False) : faults_of(&job);
    }
done:
    PyMem_Free(parts);
    PyMem_Free(raised);
    PyMem_Free(room);
    return found;
}
