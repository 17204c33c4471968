/* The loops of folds.c, for each type of floats: sums in the order that dnumpy/kernels/sums.py tells of. */

#ifndef DNUMPY_FOLDS_H
#define DNUMPY_FOLDS_H

#include "apart.h"

#define NARROW 256  /* that are folded at once: a few buffers of them stay in the first cache */
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

enum { TILES, COLUMNS, CHUNKS, ROWS, NUMPYS_ROWS, MIDDLE, WITHIN };

/* A sum over axes of floats, in units that any thread may compute.

   TILES: all of each tile of rows. COLUMNS: the rows of each tile. CHUNKS: the same of all tiles, so
   many columns a unit. ROWS: each row's blocks. NUMPYS_ROWS: each row as NumPy sums it. MIDDLE: of
   rows of ``middle`` pieces, those of each number in a tile of rows, a piece as NumPy sums it. WITHIN:
   of each row the pieces, one after the other. Where there are ``means``, each beside its own sum,
   squares of what is left beside them are summed. */
typedef struct {
    int kind, is_double;
    Matrix m; /* of rows, or of their pieces, which are ``apart`` bytes from each other */
    Py_ssize_t middle, apart, tile, chunk, units, batch, room_bytes;
    const char *means;
    char *sums, *room; /* room: of each thread some */
    int64_t next, members;
    int raised;
} Sum;

/* Read what is to be summed, in a way of this number; 0 where NumPy must do it. */
int reads_sum(Sum *sum, PyArrayObject *a, int kind);
/* The bytes that a thread needs beside what it reads and writes. */
Py_ssize_t room_of_sum(const Sum *sum);
/* Compute units start:stop. */
void sum_units(const Sum *sum, Py_ssize_t start, Py_ssize_t stop, char *room);

int kind_of_sum(const char *name);
/* Sum floats in a way of this number, beside ``means`` if there are any, by as many threads as pay; what
   tiles of so many rows give meets up the tree, or lies side by side. 0 where NumPy must, or there was
   a fault; -1 with an error. */
int sum_into(PyArrayObject *a, int kind, Py_ssize_t tile, PyObject *means, PyArrayObject *out, int meet,
             int threads);

static inline Matrix
rows_of(Matrix m, Py_ssize_t first, Py_ssize_t stop)
{
    m.rows += first * m.stride;
    m.count = (stop < m.count ? stop : m.count) - first;
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
    /* Rows of so few elements, a constant, that their sums stay in registers. */                  \
    static inline void NAME##_few(Matrix m, const int n, T *sum)                                   \
    {                                                                                              \
        T few[4] = {0};                                                                            \
        for (Py_ssize_t k = 0; k < m.count; k++) {                                                 \
            const T *a = (const T *)(m.rows + k * m.stride);                                       \
            for (int j = 0; j < n; j++) {                                                          \
                few[j] += a[j];                                                                    \
            }                                                                                      \
        }                                                                                          \
        memcpy(sum, few, n * sizeof(T));                                                           \
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
        if (n <= 4) {                                                                              \
            n == 1   ? NAME##_few(m, 1, sum)                                                       \
            : n == 2 ? NAME##_few(m, 2, sum)                                                       \
            : n == 3 ? NAME##_few(m, 3, sum)                                                       \
                     : NAME##_few(m, 4, sum);                                                      \
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
    FOR_EACH_CPU static void NAME##_tree(const char *rows, Py_ssize_t count, Py_ssize_t stride,        \
                                         Py_ssize_t width, T *sums)                                \
    {                                                                                              \
        T waiting[LEVELS * NARROW];                                                                \
        for (Py_ssize_t at = 0; at < width; at += NARROW) {                                        \
            Py_ssize_t n = width - at < NARROW ? width - at : NARROW;                              \
            int level = 0;                                                                         \
            for (Py_ssize_t k = 0; k < count; k++) {                                               \
                memcpy(waiting + level * NARROW, (const T *)(rows + k * stride) + at,              \
                       n * sizeof(T));                                                             \
                level = NAME##_met(waiting, level + 1, k, NARROW, n);                              \
            }                                                                                      \
            NAME##_met_all(waiting, level, NARROW, n);                                             \
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
    /* NumPy's sum of adjacent elements, of squares of what is left beside their mean. */          \
    FOR_EACH_CPU static T NAME##_left(const T *a, Py_ssize_t n, T mean, T *room)                   \
    {                                                                                              \
        for (Py_ssize_t j = 0; j < n; j++) {                                                       \
            T left = a[j] - mean;                                                                  \
            room[j] = left * left;                                                                 \
        }                                                                                          \
        return NAME##_pairwise(room, n);                                                           \
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
    } \
                                                                                                   \
    /* Pieces of ``s->m.width`` adjacent elements, ``middle`` in a row, of rows first:stop. */     \
    static void NAME##_middle(const Sum *s, Py_ssize_t first, Py_ssize_t stop, T *room, T *sums)   \
    {                                                                                              \
        const T *means = (const T *)s->means;                                                      \
        Py_ssize_t n = s->m.width;                                                                 \
        memset(sums, 0, s->middle * sizeof(T));                                                    \
        for (Py_ssize_t k = first; k < stop; k++) {                                                \
            const char *a = s->m.rows + k * s->m.stride;                                           \
            for (Py_ssize_t j = 0; j < s->middle; j++, a += s->apart) {                            \
                sums[j] += means == NULL ? NAME##_pairwise((const T *)a, n)                        \
                                         : NAME##_left((const T *)a, n, means[j], room);           \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Rows that lie beside each other, each of at most a quarter of a block. */                    \
    FOR_EACH_CPU static void NAME##_short_rows(Matrix m, T *sums)                                   \
    {                                                                                               \
        for (Py_ssize_t k = 0; k < m.count; k++) {                                                  \
            sums[k] = NAME##_of_few((const T *)(m.rows + k * m.stride), m.width) + (T)0;            \
        }                                                                                           \
    }                                                                                               \
                                                                                                    \
    /* One row, whose blocks meet. */                                                              \
    static T NAME##_row_sum(Matrix row, const T *mean, T *room)                                    \
    {                                                                                              \
        if (mean == NULL) {                                                                        \
            NAME##_blocks(row, 1, row.width, room);                                                \
        }                                                                                          \
        else {                                                                                     \
            NAME##_squared(row, 1, row.width, mean, 0, room);                                      \
        }                                                                                          \
        return NAME##_up(room, (row.width + BLOCK - 1) / BLOCK);                                   \
    }                                                                                              \
                                                                                                   \
    static void NAME##_units(const Sum *s, Py_ssize_t start, Py_ssize_t stop, void *given)         \
    {                                                                                              \
        T *room = given, *sums = (T *)s->sums;                                                     \
        const T *means = (const T *)s->means;                                                      \
        Matrix m = s->kind == CHUNKS ? s->m : rows_of(s->m, start * s->tile, stop * s->tile);      \
        switch (s->kind) {                                                                         \
        case TILES:                                                                                \
            means ? NAME##_squared_tiles(m, s->tile, means, room, sums + start)                    \
                  : NAME##_tiles(m, s->tile, room, sums + start);                                  \
            return;                                                                                \
        case COLUMNS:                                                                              \
            means ? NAME##_squared_columns(m, s->tile, means, sums + start * m.width)              \
                  : NAME##_columns(m, s->tile, sums + start * m.width);                            \
            return;                                                                                \
        case CHUNKS:                                                                               \
            for (Py_ssize_t at = start * s->chunk, k = start; k < stop; k++, at += s->chunk) {     \
                Matrix part = m;                                                                   \
                part.rows += at * m.step;                                                          \
                part.width = m.width - at < s->chunk ? m.width - at : s->chunk;                    \
                NAME##_total(part, s->tile, room, sums + at);                                      \
            }                                                                                      \
            return;                                                                                \
        case ROWS:                                                                                 \
            if (means == NULL && m.width <= QUARTER && m.step == sizeof(T)) {                      \
                NAME##_short_rows(rows_of(s->m, start, stop), sums + start);                       \
                return;                                                                            \
            }                                                                                      \
            for (Py_ssize_t k = start; k < stop; k++) {                                            \
                sums[k] = NAME##_row_sum(rows_of(s->m, k, k + 1), means ? means + k : NULL, room); \
            }                                                                                      \
            return;                                                                                \
        case NUMPYS_ROWS:                                                                          \
            if (means == NULL && m.width <= QUARTER) {                                             \
                NAME##_short_rows(rows_of(s->m, start, stop), sums + start);                       \
                return;                                                                            \
            }                                                                                      \
            for (Py_ssize_t k = start; k < stop; k++) {                                            \
                const T *a = (const T *)(s->m.rows + k * s->m.stride);                             \
                sums[k] = (means ? NAME##_left(a, m.width, means[k], room)                         \
                                 : NAME##_pairwise(a, m.width)) + (T)0;                            \
            }                                                                                      \
            return;                                                                                \
        case MIDDLE:                                                                               \
            for (Py_ssize_t k = start; k < stop; k++) {                                            \
                Py_ssize_t first = k * s->tile, end = first + s->tile;                             \
                end = end < s->m.count ? end : s->m.count;                                         \
                NAME##_middle(s, first, end, room, sums + k * s->middle);                          \
            }                                                                                      \
            return;                                                                                \
        default: /* WITHIN */                                                                      \
            for (Py_ssize_t k = start; k < stop; k++) {                                            \
                Matrix row = {s->m.rows + k * s->m.stride, s->middle, m.width, s->apart, m.step};  \
                T *out = sums + k * m.width;                                                       \
                means ? NAME##_squared_columns(row, s->middle, means + k * m.width, out)           \
                      : NAME##_columns(row, s->middle, out);                                       \
            }                                                                                      \
        }                                                                                          \
    }

#endif
