/* Sums of floats in the order that dnumpy/kernels/sums.py tells of, over many blocks at a time.

   Each function says whether it was done without a floating-point fault: NumPy, which names them, does
   it otherwise. */

#include "apart.h"

#define COLUMNS 256 /* that are folded at once: a few buffers of them stay in the first cache */
#define WIDE 2048   /* the same of one buffer: what is read of a row is long enough to be foreseen */
#define LEVELS 40   /* of a tree with more leaves than any memory has rows of tiles */

/* A row of lanes: compilers keep one in registers that are told so, and do not always see it. */
#if defined(__GNUC__)
#define ROW_OF(T) __attribute__((vector_size(LANES * sizeof(T))))
#define ADD_ROW(to, from) to += from;
#else
#define ROW_OF(T) [LANES]
#define ADD_ROW(to, from)                                                                          \
    for (int k = 0; k < LANES; k++) {                                                              \
        to[k] += from[k];                                                                          \
    }
#endif

/* At most ``tile`` rows from ``first`` on, and of them the columns from ``at`` on. */
static inline Matrix
tile_of(Matrix m, Py_ssize_t first, Py_ssize_t tile, Py_ssize_t at)
{
    m.rows += first * m.stride + at * m.step;
    m.count = first + tile < m.count ? tile : m.count - first;
    return m;
}

#define ROW_AT(T, k) (((const T *)(rows + (k) * stride))[j] + (T)0)

#define DEFINE_FOLDS(T, NAME)                                                                      \
    /* The same of a whole block, whose quarters do not wait for each other. */                    \
    typedef T NAME##_row ROW_OF(T);                                                                \
                                                                                                   \
    static inline T NAME##_block(const T *a)                                                       \
    {                                                                                              \
        NAME##_row r[4], next;                                                                     \
        T lanes[4][LANES];                                                                         \
        for (int q = 0; q < 4; q++) {                                                              \
            memcpy(&r[q], a + q * QUARTER, sizeof next);                                           \
        }                                                                                          \
        for (int i = LANES; i < QUARTER; i += LANES) {                                             \
            for (int q = 0; q < 4; q++) {                                                          \
                memcpy(&next, a + q * QUARTER + i, sizeof next);                                   \
                ADD_ROW(r[q], next)                                                                \
            }                                                                                      \
        }                                                                                          \
        memcpy(lanes, r, sizeof lanes);                                                            \
        return (NAME##_lanes(lanes[0]) + NAME##_lanes(lanes[1])) +                                 \
               (NAME##_lanes(lanes[2]) + NAME##_lanes(lanes[3]));                                  \
    }                                                                                              \
                                                                                                   \
    /* Runs of ``length`` elements, each from the beginning of a row on. */                        \
    FOR_EACH_CPU static void NAME##_blocks(Matrix m, Py_ssize_t count, Py_ssize_t length, T *sums) \
    {                                                                                              \
        int whole = length <= m.width || m.stride == m.width * m.step;                             \
        int apart = whole && m.step != sizeof(T);                                                  \
        T room[BLOCK];                                                                             \
        for (Py_ssize_t k = 0; k < count; k++) {                                                   \
            const char *run = m.rows + k * m.stride;                                               \
            for (Py_ssize_t i = 0; i < length; i += BLOCK) {                                       \
                Py_ssize_t n = length - i < BLOCK ? length - i : BLOCK;                            \
                if (apart) {                                                                       \
                    *sums++ = NAME##_apart(run + i * m.step, m.step, n) + (T)0;                    \
                    continue;                                                                      \
                }                                                                                  \
                const T *piece = NAME##_piece(&m, run, i, n, whole, room);                         \
                *sums++ = (n == BLOCK ? NAME##_block(piece) : NAME##_pairwise(piece, n)) + (T)0;   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Rows, one after the other; each sum is read and written once for four of them. */           \
    static inline void NAME##_added(Matrix m, Py_ssize_t n, T *sum)                                \
    {                                                                                              \
        Py_ssize_t k = 0;                                                                          \
        memset(sum, 0, n * sizeof(T));                                                             \
        if (m.step != sizeof(T)) {                                                                 \
            NAME##_added_apart(m, n, sum);                                                         \
            return;                                                                                \
        }                                                                                          \
        for (; k + 4 <= m.count; k += 4) {                                                         \
            const T *a = (const T *)(m.rows + k * m.stride);                                       \
            const T *b = (const T *)((const char *)a + m.stride);                                  \
            const T *c = (const T *)((const char *)b + m.stride);                                  \
            const T *d = (const T *)((const char *)c + m.stride);                                  \
            for (Py_ssize_t j = 0; j < n; j++) {                                                   \
                sum[j] = (((sum[j] + a[j]) + b[j]) + c[j]) + d[j];                                 \
            }                                                                                      \
        }                                                                                          \
        for (; k < m.count; k++) {                                                                 \
            const T *a = (const T *)(m.rows + k * m.stride);                                       \
            for (Py_ssize_t j = 0; j < n; j++) {                                                   \
                sum[j] += a[j];                                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Tiles of rows, one row after the other; the last tile may be shorter. */                    \
    FOR_EACH_CPU static void NAME##_columns(Matrix m, Py_ssize_t tile, T *sums)                    \
    {                                                                                              \
        for (Py_ssize_t first = 0; first < m.count; first += tile, sums += m.width) {              \
            for (Py_ssize_t at = 0; at < m.width; at += WIDE) {                                    \
                Py_ssize_t n = m.width - at < WIDE ? m.width - at : WIDE;                          \
                T sum[WIDE];                                                                       \
                NAME##_added(tile_of(m, first, tile, at), n, sum);                                 \
                memcpy(sums + at, sum, n * sizeof(T));                                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Neighbours meet pairwise, level by level, the odd one out going up unchanged: each bit of the\
       count of rows so far stands for a sum of so many that waits for its like. Returns how many  \
       wait once row ``k``, the last of those given, has come. */                                  \
    static inline int NAME##_met(T *waiting, int level, Py_ssize_t k, Py_ssize_t wide, Py_ssize_t n)\
    {                                                                                              \
        for (; k & 1; k >>= 1, level--) {                                                          \
            T *top = waiting + (level - 2) * wide;                                                 \
            for (Py_ssize_t j = 0; j < n; j++) {                                                   \
                top[j] += top[wide + j];                                                           \
            }                                                                                      \
        }                                                                                          \
        return level;                                                                              \
    }                                                                                              \
                                                                                                   \
    static inline void NAME##_met_all(T *waiting, int level, Py_ssize_t wide, Py_ssize_t n)        \
    {                                                                                              \
        for (; level > 1; level--) {                                                               \
            NAME##_met(waiting, level, 1, wide, n);                                                \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_tree(const char *rows, Py_ssize_t count, Py_ssize_t stride,    \
                                         Py_ssize_t width, T *sums)                                \
    {                                                                                              \
        T waiting[LEVELS * COLUMNS];                                                               \
        for (Py_ssize_t at = 0; at < width; at += COLUMNS) {                                       \
            Py_ssize_t n = width - at < COLUMNS ? width - at : COLUMNS;                            \
            int level = 0;                                                                         \
            for (Py_ssize_t k = 0; k < count; k++) {                                               \
                memcpy(waiting + level * COLUMNS, (const T *)(rows + k * stride) + at,             \
                       n * sizeof(T));                                                             \
                level = NAME##_met(waiting, level + 1, k, COLUMNS, n);                             \
            }                                                                                      \
            NAME##_met_all(waiting, level, COLUMNS, n);                                            \
            memcpy(sums + at, waiting, n * sizeof(T));                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The sums of 1, 2, 4 or 8 rows that meet pairwise; each is added to nothing first, as those of\
       tiles are. */                                                                               \
    static inline void NAME##_pairs(const char *rows, int many, Py_ssize_t stride, Py_ssize_t n,   \
                                    T *sum)                                                        \
    {                                                                                              \
        for (Py_ssize_t j = 0; many == 8 && j < n; j++) {                                          \
            sum[j] = ((ROW_AT(T, 0) + ROW_AT(T, 1)) + (ROW_AT(T, 2) + ROW_AT(T, 3))) +             \
                     ((ROW_AT(T, 4) + ROW_AT(T, 5)) + (ROW_AT(T, 6) + ROW_AT(T, 7)));              \
        }                                                                                          \
        for (Py_ssize_t j = 0; many == 4 && j < n; j++) {                                          \
            sum[j] = (ROW_AT(T, 0) + ROW_AT(T, 1)) + (ROW_AT(T, 2) + ROW_AT(T, 3));                \
        }                                                                                          \
        for (Py_ssize_t j = 0; many == 2 && j < n; j++) {                                          \
            sum[j] = ROW_AT(T, 0) + ROW_AT(T, 1);                                                  \
        }                                                                                          \
        for (Py_ssize_t j = 0; many == 1 && j < n; j++) {                                          \
            sum[j] = ROW_AT(T, 0);                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Columns of tiles that meet up the tree; ``waiting`` has room for WIDE sums of each level. */\
    FOR_EACH_CPU static void NAME##_total(Matrix m, Py_ssize_t tile, T *waiting, T *sums)          \
    {                                                                                              \
        int alone = tile == 1 && m.step == sizeof(T);                                              \
        for (Py_ssize_t at = 0; at < m.width; at += WIDE) {                                        \
            Py_ssize_t n = m.width - at < WIDE ? m.width - at : WIDE, first = 0;                   \
            const char *begin = m.rows + at * m.step;                                              \
            int level = 0;                                                                         \
            for (int many = 8; alone && many; many /= 2) {                                         \
                for (; first + many <= m.count; first += many) {                                   \
                    NAME##_pairs(begin + first * m.stride, many, m.stride, n,                      \
                                 waiting + level * WIDE);                                          \
                    level++;                                                                       \
                    if (many == 8) {                                                               \
                        level = NAME##_met(waiting, level, first / 8, WIDE, n);                    \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            for (; first < m.count; first += tile) {                                               \
                NAME##_added(tile_of(m, first, tile, at), n, waiting + level * WIDE);              \
                level = NAME##_met(waiting, level + 1, first / tile, WIDE, n);                     \
            }                                                                                      \
            NAME##_met_all(waiting, level, WIDE, n);                                               \
            memcpy(sums + at, waiting, n * sizeof(T));                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static T NAME##_up(const T *leaves, Py_ssize_t count)                                          \
    {                                                                                              \
        if (count == 1) {                                                                          \
            return leaves[0];                                                                      \
        }                                                                                          \
        Py_ssize_t half = 1;                                                                       \
        while (2 * half < count) {                                                                 \
            half *= 2;                                                                             \
        }                                                                                          \
        return NAME##_up(leaves, half) + NAME##_up(leaves + half, count - half);                   \
    }                                                                                              \
                                                                                                   \
    /* All of each tile: rows shorter than a block are one run. */                                 \
    static void NAME##_tiles(Matrix m, Py_ssize_t tile, T *blocks, T *sums)                        \
    {                                                                                              \
        for (Py_ssize_t first = 0; first < m.count; first += tile) {                               \
            Matrix held = tile_of(m, first, tile, 0);                                              \
            int one = m.width < BLOCK;                                                             \
            Py_ssize_t runs = one ? 1 : held.count, length = one ? held.count * m.width : m.width; \
            NAME##_blocks(held, runs, length, blocks);                                             \
            *sums++ = NAME##_up(blocks, runs * ((length + BLOCK - 1) / BLOCK));                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The blocks of runs as above, of squares of what is left beside the mean of each row, or of  \
       all of them. */                                                                             \
    FOR_EACH_CPU static void NAME##_squared(Matrix m, Py_ssize_t count, Py_ssize_t length,         \
                                            const T *means, int apart, T *sums)                    \
    {                                                                                              \
        int whole = length <= m.width || m.stride == m.width * m.step;                             \
        T squares[BLOCK];                                                                          \
        for (Py_ssize_t k = 0; k < count; k++) {                                                   \
            const char *run = m.rows + k * m.stride;                                               \
            T mean = means[k * apart];                                                             \
            for (Py_ssize_t i = 0; i < length; i += BLOCK) {                                       \
                Py_ssize_t n = length - i < BLOCK ? length - i : BLOCK;                            \
                const T *piece = NAME##_piece(&m, run, i, n, whole, squares);                      \
                for (Py_ssize_t j = 0; j < n; j++) {                                               \
                    T left = piece[j] - mean;                                                      \
                    squares[j] = left * left;                                                      \
                }                                                                                  \
                *sums++ = (n == BLOCK ? NAME##_block(squares) : NAME##_pairwise(squares, n)) + (T)0;\
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME##_squared_tiles(Matrix m, Py_ssize_t tile, const T *mean, T *blocks, T *sums) \
    {                                                                                              \
        for (Py_ssize_t first = 0; first < m.count; first += tile) {                               \
            Matrix held = tile_of(m, first, tile, 0);                                              \
            int one = m.width < BLOCK;                                                             \
            Py_ssize_t runs = one ? 1 : held.count, length = one ? held.count * m.width : m.width; \
            NAME##_squared(held, runs, length, mean, 0, blocks);                                   \
            *sums++ = NAME##_up(blocks, runs * ((length + BLOCK - 1) / BLOCK));                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_squared_columns(Matrix m, Py_ssize_t tile, const T *means,     \
                                                    T *sums)                                       \
    {                                                                                              \
        T room[WIDE];                                                                              \
        for (Py_ssize_t first = 0; first < m.count; first += tile, sums += m.width) {              \
            for (Py_ssize_t at = 0; at < m.width; at += WIDE) {                                    \
                Matrix held = tile_of(m, first, tile, at);                                         \
                Py_ssize_t n = m.width - at < WIDE ? m.width - at : WIDE;                          \
                const T *mean = means + at;                                                        \
                T sum[WIDE];                                                                       \
                memset(sum, 0, n * sizeof(T));                                                     \
                for (Py_ssize_t k = 0; k < held.count; k++) {                                      \
                    const T *row = NAME##_beside(held.rows + k * m.stride, m.step, n, room);       \
                    for (Py_ssize_t j = 0; j < n; j++) {                                           \
                        T left = row[j] - mean[j];                                                 \
                        sum[j] += left * left;                                                     \
                    }                                                                              \
                }                                                                                  \
                memcpy(sums + at, sum, n * sizeof(T));                                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME##_rows(const char *rows, Py_ssize_t count, Py_ssize_t stride,                 \
                            Py_ssize_t length, T *sums)                                            \
    {                                                                                              \
        for (Py_ssize_t k = 0; k < count; k++) {                                                   \
            sums[k] = NAME##_up((const T *)(rows + k * stride), length);                           \
        }                                                                                          \
    }

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

/* fold_squares(a, tile, means, out): the same as above of squares of what is left beside means: beside
   one, tiles of all; beside one for each column, tiles of columns; beside one for each row, blocks. */
PyObject *
fold_squares(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *a, *means, *b;
    Py_ssize_t tile;
    const char *kind;
    Matrix m;
    if (!PyArg_ParseTuple(args, "O!nsO!O!", &PyArray_Type, &a, &tile, &kind, &PyArray_Type, &means,
                          &PyArray_Type, &b)) {
        return NULL;
    }
    if (tile < 1 || !fits(a, b, &m) || !PyArray_ISCARRAY_RO(means) ||
        PyArray_TYPE(means) != PyArray_TYPE(a)) {
        Py_RETURN_FALSE;
    }
    Py_ssize_t tiles = (m.count + tile - 1) / tile, expected = tiles, given = 1;
    int of_columns = strcmp(kind, "columns") == 0, of_rows = strcmp(kind, "rows") == 0;
    if (of_columns) {
        expected = m.width * tiles;
        given = m.width;
    }
    else if (of_rows) {
        expected = m.count * ((m.width + BLOCK - 1) / BLOCK);
        given = m.count;
    }
    void *blocks;
    if (!has_size(b, expected) || !has_size(means, given) ||
        !(blocks = room_for_blocks(&m, tile))) {
        return NULL;
    }
    const void *beside = PyArray_DATA(means);
    void *sums = PyArray_DATA(b);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
#define FOLD_SQUARES(NAME)                                                                         \
    (of_columns ? NAME##_squared_columns(m, tile, beside, sums)                                    \
     : of_rows  ? NAME##_squared(m, m.count, m.width, beside, 1, sums)                             \
                : NAME##_squared_tiles(m, tile, beside, blocks, sums))
    WITH_FAULTS_SEEN(
        if (is_double) { FOLD_SQUARES(doubles); } else { FOLD_SQUARES(floats); } free(blocks))
}
