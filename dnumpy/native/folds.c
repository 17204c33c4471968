/* Sums of floats in the order that dnumpy/kernels/sums.py tells of, over many blocks at a time.

   Each function says whether it was done without a floating-point fault: NumPy, which names them, does
   it otherwise. */

#include "crew.h"
#include "folds.h"

DEFINE_PAIRWISE(double, doubles)
DEFINE_PAIRWISE(float, floats)
DEFINE_APART(double, doubles)
DEFINE_APART(float, floats)
DEFINE_FOLDS(double, doubles)
DEFINE_FOLDS(float, floats)

/* What can be folded: rows of floats, and memory of the same kind for what comes of them. */
static int
fits(PyArrayObject *a, PyArrayObject *b, Matrix *m)
{
    int type = PyArray_TYPE(a);
    if (PyArray_NDIM(a) != 2 || PyArray_TYPE(b) != type ||
        (type != NPY_DOUBLE && type != NPY_FLOAT) || !PyArray_ISALIGNED(a) ||
        !PyArray_ISNOTSWAPPED(a) || !PyArray_ISCARRAY(b) || PyArray_SIZE(a) == 0) {
        return 0;
    }
    m->rows = PyArray_BYTES(a);
    m->count = PyArray_DIM(a, 0);
    m->width = PyArray_DIM(a, 1);
    m->stride = PyArray_STRIDE(a, 0);
    m->step = m->width > 1 ? PyArray_STRIDE(a, 1) : m->stride;
    return 1;
}

static int
has_size(PyArrayObject *out, Py_ssize_t expected)
{
    if (PyArray_SIZE(out) != expected) {
        PyErr_Format(PyExc_ValueError, "expected memory for %zd sums, got that for %zd", expected,
                     (Py_ssize_t)PyArray_SIZE(out));
        return 0;
    }
    return 1;
}

#define WITH_FAULTS_SEEN(WORK)                                                                     \
    int faults;                                                                                    \
    Py_BEGIN_ALLOW_THREADS;                                                                        \
    clear_faults();                                                                                \
    WORK;                                                                                          \
    faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);                                \
    clear_faults();                                                                                \
    Py_END_ALLOW_THREADS;                                                                          \
    return PyBool_FromLong(!faults);

PyObject *
fold_blocks(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &a, &PyArray_Type, &b)) {
        return NULL;
    }
    if (!fits(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    if (!has_size(b, m.count * ((m.width + BLOCK - 1) / BLOCK))) {
        return NULL;
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(is_double ? doubles_blocks(m, m.count, m.width, sums)
                               : floats_blocks(m, m.count, m.width, sums))
}

PyObject *
fold_columns(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Py_ssize_t tile;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!nO!", &PyArray_Type, &a, &tile, &PyArray_Type, &b)) {
        return NULL;
    }
    if (tile < 1 || !fits(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    if (!has_size(b, m.width * ((m.count + tile - 1) / tile))) {
        return NULL;
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(is_double ? doubles_columns(m, tile, sums) : floats_columns(m, tile, sums))
}

/* fold_total(a, tile, out): what fold_tree makes of what fold_columns does, without room for that. */
PyObject *
fold_total(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Py_ssize_t tile;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!nO!", &PyArray_Type, &a, &tile, &PyArray_Type, &b)) {
        return NULL;
    }
    if (tile < 1 || !fits(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    if (!has_size(b, m.width)) {
        return NULL;
    }
    Py_ssize_t levels = 2;
    for (Py_ssize_t left = (m.count + tile - 1) / tile; left; left >>= 1) {
        levels++;
    }
    void *waiting = malloc(levels * WIDE * sizeof(double));
    if (waiting == NULL) {
        return PyErr_NoMemory();
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(
        if (is_double) { doubles_total(m, tile, waiting, sums); } else {
            floats_total(m, tile, waiting, sums);
        } free(waiting))
}

/* Room for the sums of the blocks of one tile. */
static void *
room_for_blocks(const Matrix *m, Py_ssize_t tile)
{
    Py_ssize_t held = tile < m->count ? tile : m->count;
    Py_ssize_t one = held * m->width / BLOCK + 1, each = held * (m->width / BLOCK + 1);
    void *blocks = malloc((m->width < BLOCK ? one : each) * sizeof(double));
    if (blocks == NULL) {
        PyErr_NoMemory();
    }
    return blocks;
}

PyObject *
fold_tiles(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Py_ssize_t tile;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!nO!", &PyArray_Type, &a, &tile, &PyArray_Type, &b)) {
        return NULL;
    }
    if (tile < 1 || !fits(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    void *blocks;
    if (!has_size(b, (m.count + tile - 1) / tile) || !(blocks = room_for_blocks(&m, tile))) {
        return NULL;
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(
        if (is_double) { doubles_tiles(m, tile, blocks, sums); } else {
            floats_tiles(m, tile, blocks, sums);
        } free(blocks))
}

/* What of a matrix has rows to be read where they lie. */
static int
fits_as_rows(PyArrayObject *a, PyArrayObject *b, Matrix *m)
{
    return fits(a, b, m) && (m->width == 1 || m->step == PyArray_ITEMSIZE(a));
}

PyObject *
fold_tree(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &a, &PyArray_Type, &b)) {
        return NULL;
    }
    if (!fits_as_rows(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    if (!has_size(b, m.width)) {
        return NULL;
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(is_double ? doubles_tree(m.rows, m.count, m.stride, m.width, sums)
                               : floats_tree(m.rows, m.count, m.stride, m.width, sums))
}

PyObject *
fold_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *b;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &a, &PyArray_Type, &b)) {
        return NULL;
    }
    if (!fits_as_rows(a, b, &m)) {
        Py_RETURN_FALSE;
    }
    if (!has_size(b, m.count)) {
        return NULL;
    }
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    WITH_FAULTS_SEEN(is_double ? doubles_rows(m.rows, m.count, m.stride, m.width, sums)
                               : floats_rows(m.rows, m.count, m.stride, m.width, sums))
}

void
sum_units(const Sum *sum, Py_ssize_t start, Py_ssize_t stop, char *room)
{
    if (sum->is_double) {
        doubles_units(sum, start, stop, room);
    }
    else {
        floats_units(sum, start, stop, room);
    }
}

/* Take units until there are none. */
static void
take_units(void *job)
{
    Sum *self = job;
    Py_ssize_t start, who = ADD(&self->members, 1);
    char *room = self->room + who * self->room_bytes;
    clear_faults();
    while ((start = ADD(&self->next, self->batch)) < self->units) {
        Py_ssize_t stop = start + self->batch < self->units ? start + self->batch : self->units;
        sum_units(self, start, stop, room);
    }
    int raised = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);
    clear_faults();
#if HAS_CREW
    __atomic_fetch_or(&self->raised, raised, __ATOMIC_RELAXED);
#else
    self->raised |= raised;
#endif
}

static const char *const kinds[] = {"tiles",       "columns", "chunks", "rows",
                                    "numpys rows", "middle",  "within"};

int
kind_of_sum(const char *name)
{
    int kind = TILES;
    while (kind <= WITHIN && strcmp(name, kinds[kind]) != 0) {
        kind++;
    }
    return kind;
}

int
reads_sum(Sum *s, PyArrayObject *a, int kind)
{
    int type = PyArray_TYPE(a), pieces = kind == MIDDLE || kind == WITHIN;
    s->kind = kind;
    if (s->kind > WITHIN || PyArray_NDIM(a) != 2 + pieces || PyArray_SIZE(a) == 0 ||
        (type != NPY_DOUBLE && type != NPY_FLOAT) || !PyArray_ISALIGNED(a) ||
        !PyArray_ISNOTSWAPPED(a)) {
        return 0;
    }
    s->is_double = type == NPY_DOUBLE;
    s->m.rows = PyArray_BYTES(a);
    s->m.count = PyArray_DIM(a, 0);
    s->m.stride = PyArray_STRIDE(a, 0);
    s->middle = pieces ? PyArray_DIM(a, 1) : 1;
    s->apart = pieces ? PyArray_STRIDE(a, 1) : 0;
    s->m.width = PyArray_DIM(a, 1 + pieces);
    s->m.step = s->m.width > 1  ? PyArray_STRIDE(a, 1 + pieces)
                : pieces        ? PyArray_ITEMSIZE(a)
                                : s->m.stride;
    return (s->kind != NUMPYS_ROWS && !pieces) || s->m.step == PyArray_ITEMSIZE(a);
}

Py_ssize_t
room_of_sum(const Sum *s)
{
    Py_ssize_t item = s->is_double ? sizeof(double) : sizeof(float);
    Py_ssize_t held = s->tile < s->m.count ? s->tile : s->m.count, levels = 2;
    switch (s->kind) {
    case TILES:
        return item * (s->m.width < BLOCK ? held * s->m.width / BLOCK + 1
                                          : held * (s->m.width / BLOCK + 1));
    case ROWS:
        return item * (s->m.width / BLOCK + 1);
    case CHUNKS:
        for (Py_ssize_t left = (s->m.count + s->tile - 1) / s->tile; left; left >>= 1) {
            levels++;
        }
        return item * levels * WIDE;
    default:
        return s->means == NULL ? 0 : item * s->m.width;
    }
}

/* How many elements each unit gives, and the units of all. */
static Py_ssize_t
shared_out(Sum *s, int threads)
{
    Py_ssize_t tiles = (s->m.count + s->tile - 1) / s->tile, each = 1;
    if (s->kind == ROWS || s->kind == NUMPYS_ROWS || s->kind == WITHIN) {
        s->tile = 1;
        tiles = s->m.count;
        each = s->kind == WITHIN ? s->m.width : 1;
    }
    else if (s->kind == COLUMNS || s->kind == MIDDLE) {
        each = s->kind == MIDDLE ? s->middle : s->m.width;
    }
    else if (s->kind == CHUNKS) {
        s->chunk = s->m.width / (2 * threads) / 16 * 16;
        s->chunk = s->chunk < 256 ? 256 : s->chunk < WIDE ? s->chunk : WIDE;
        tiles = (s->m.width + s->chunk - 1) / s->chunk;
    }
    s->units = tiles;
    s->batch = tiles / (4 * threads);
    s->batch = s->batch < 1 ? 1 : s->batch;
    return each;
}

int
sum_into(PyArrayObject *a, int kind, Py_ssize_t tile, PyObject *means, PyArrayObject *out, int meet,
         int threads)
{
    Sum s = {.tile = tile};
    int beside = means != NULL, type = PyArray_TYPE(a);
    if (s.tile < 1 || !reads_sum(&s, a, kind) || !PyArray_ISCARRAY(out) || PyArray_TYPE(out) != type ||
        (beside && (!PyArray_Check(means) || PyArray_TYPE((PyArrayObject *)means) != type ||
                    !PyArray_ISCARRAY_RO((PyArrayObject *)means)))) {
        return 0;
    }
    threads = helpers_for(PyArray_NBYTES(a), threads - 1) + 1;
    threads = threads < 1 ? 1 : threads > MOST_CREW ? MOST_CREW : threads;
    if (s.kind == COLUMNS && meet && !beside && s.m.width >= 256 * threads) {
        s.kind = CHUNKS;
    }
    Py_ssize_t item = PyArray_ITEMSIZE(a), each = shared_out(&s, threads), made = each * s.units;
    int meets = meet && s.units > 1 && (s.kind == TILES || s.kind == COLUMNS || s.kind == MIDDLE);
    Py_ssize_t expected = s.kind == CHUNKS ? s.m.width : meets ? each : made;
    if (!has_size(out, expected)) {
        return -1;
    }
    if (beside) {
        Py_ssize_t given = s.kind == TILES ? 1 : s.kind == COLUMNS || s.kind == MIDDLE ? each : made;
        if (!has_size((PyArrayObject *)means, given)) {
            return -1;
        }
        s.means = PyArray_BYTES((PyArrayObject *)means);
    }
    s.room_bytes = (room_of_sum(&s) + 63) / 64 * 64;
    char *parts = malloc((meets ? made * item : 0) + 64 + threads * s.room_bytes);
    if (parts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s.sums = meets ? parts : PyArray_BYTES(out);
    s.room = parts + ((meets ? made * item : 0) + 63) / 64 * 64;
    Py_BEGIN_ALLOW_THREADS;
    with_crew(take_units, &s, threads - 1);
    if (meets) {
        clear_faults();
        if (s.is_double) {
            doubles_tree(parts, s.units, each * item, each, (double *)PyArray_DATA(out));
        }
        else {
            floats_tree(parts, s.units, each * item, each, (float *)PyArray_DATA(out));
        }
        s.raised |= faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);
        clear_faults();
    }
    free(parts);
    Py_END_ALLOW_THREADS;
    return !s.raised;
}

/* sum_axes(a, kind, tile, means, out, meet, threads): see sum_into; True unless there was a fault. */
PyObject *
sum_axes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *out;
    PyObject *means;
    const char *name;
    Py_ssize_t tile;
    int meet, threads;
    if (!PyArg_ParseTuple(args, "O!snOO!pi", &PyArray_Type, &a, &name, &tile, &means,
                          &PyArray_Type, &out, &meet, &threads)) {
        return NULL;
    }
    int summed = sum_into(a, kind_of_sum(name), tile, means == Py_None ? NULL : means, out, meet, threads);
    return summed < 0 ? NULL : PyBool_FromLong(summed);
}
