/* Floats that lie apart in memory: what is folded of views, as a column or every second element is.

   A block of them is added where it lies, in the order of pairwise.h; what is done more to is brought
   together first. */

#ifndef DNUMPY_APART_H
#define DNUMPY_APART_H

#include "pairwise.h"

#define BLOCK 512

/* Rows ``stride`` bytes apart, whose elements are ``step`` apart. */
typedef struct {
    const char *rows;
    Py_ssize_t count, width, stride, step;
} Matrix;

/* Compilers that make vectors of what lies apart take longer to fill them than to add it. */
#if defined(__GNUC__) && !defined(__clang__)
#define ONE_BY_ONE                                                                                 \
    __attribute__((noinline, optimize("no-tree-vectorize", "no-tree-slp-vectorize")))
#else
#define ONE_BY_ONE
#endif

/* After DEFINE_PAIRWISE of the same. */
#define DEFINE_APART(T, NAME)                                                                      \
    /* NumPy's sum of a few elements that lie apart: of at most a quarter of a block, and of more. */\
    ONE_BY_ONE static T NAME##_quarter(const char *a, Py_ssize_t step, Py_ssize_t n)               \
    {                                                                                              \
        T r[LANES], sum = (T)-0.0;                                                                 \
        Py_ssize_t i = 0;                                                                          \
        if (n >= LANES) {                                                                          \
            for (int k = 0; k < LANES; k++, a += step) {                                           \
                r[k] = *(const T *)a;                                                              \
            }                                                                                      \
            for (i = LANES; i < n - n % LANES; i += LANES) {                                       \
                r[0] += *(const T *)a;                                                             \
                r[1] += *(const T *)(a + step);                                                    \
                r[2] += *(const T *)(a + 2 * step);                                                \
                r[3] += *(const T *)(a + 3 * step);                                                \
                r[4] += *(const T *)(a + 4 * step);                                                \
                r[5] += *(const T *)(a + 5 * step);                                                \
                r[6] += *(const T *)(a + 6 * step);                                                \
                r[7] += *(const T *)(a + 7 * step);                                                \
                a += LANES * step;                                                                 \
            }                                                                                      \
            sum = NAME##_lanes(r);                                                                 \
        }                                                                                          \
        for (; i < n; i++, a += step) {                                                            \
            sum += *(const T *)a;                                                                  \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    static T NAME##_apart(const char *a, Py_ssize_t step, Py_ssize_t n)                            \
    {                                                                                              \
        if (n <= QUARTER) {                                                                        \
            return NAME##_quarter(a, step, n);                                                     \
        }                                                                                          \
        Py_ssize_t half = n / 2 - n / 2 % LANES;                                                   \
        return NAME##_apart(a, step, half) + NAME##_apart(a + half * step, step, n - half);        \
    }                                                                                              \
                                                                                                   \
    ONE_BY_ONE static void NAME##_gather(const char *a, Py_ssize_t step, Py_ssize_t n, T *room)    \
    {                                                                                              \
        for (; n >= 4; n -= 4, room += 4, a += 4 * step) {                                         \
            T x = *(const T *)a, y = *(const T *)(a + step), z = *(const T *)(a + 2 * step);       \
            room[3] = *(const T *)(a + 3 * step);                                                  \
            room[0] = x;                                                                           \
            room[1] = y;                                                                           \
            room[2] = z;                                                                           \
        }                                                                                          \
        for (; n > 0; n--, room++, a += step) {                                                    \
            *room = *(const T *)a;                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Elements of one row from where ``a`` is, side by side: where they lie, or in ``room``. */   \
    static inline const T *NAME##_beside(const char *a, Py_ssize_t step, Py_ssize_t n, T *room)    \
    {                                                                                              \
        if (step == sizeof(T)) {                                                                   \
            return (const T *)a;                                                                   \
        }                                                                                          \
        NAME##_gather(a, step, n, room);                                                           \
        return room;                                                                               \
    }                                                                                              \
                                                                                                   \
    /* Elements of rows that are read as one, from the one of number ``at`` of ``run`` on. */      \
    static const T *NAME##_across(const Matrix *m, const char *run, Py_ssize_t at, Py_ssize_t n,   \
                                  T *room)                                                         \
    {                                                                                              \
        Py_ssize_t column = at % m->width, done = 0;                                               \
        run += at / m->width * m->stride;                                                          \
        for (; done < n; run += m->stride, column = 0) {                                           \
            Py_ssize_t many = m->width - column < n - done ? m->width - column : n - done;         \
            NAME##_gather(run + column * m->step, m->step, many, room + done);                     \
            done += many;                                                                          \
        }                                                                                          \
        return room;                                                                               \
    }                                                                                              \
                                                                                                   \
    /* ``n`` elements of a run that begins where a row does; ``whole`` if the same step leads on. */\
    static inline const T *NAME##_piece(const Matrix *m, const char *run, Py_ssize_t at,           \
                                        Py_ssize_t n, int whole, T *room)                          \
    {                                                                                              \
        return whole ? NAME##_beside(run + at * m->step, m->step, n, room)                         \
                     : NAME##_across(m, run, at, n, room);                                         \
    }                                                                                              \
                                                                                                   \
    /* Adds rows, one after the other, to ``sum``, which is read and written once for four. */     \
    ONE_BY_ONE static void NAME##_added_apart(Matrix m, Py_ssize_t n, T *sum)                      \
    {                                                                                              \
        Py_ssize_t k = 0, stride = m.stride;                                                       \
        for (; k + 4 <= m.count; k += 4) {                                                         \
            const char *a = m.rows + k * stride;                                                   \
            for (Py_ssize_t j = 0; j < n; j++, a += m.step) {                                      \
                sum[j] = (((sum[j] + *(const T *)a) + *(const T *)(a + stride)) +                  \
                          *(const T *)(a + 2 * stride)) +                                          \
                         *(const T *)(a + 3 * stride);                                             \
            }                                                                                      \
        }                                                                                          \
        for (; k < m.count; k++) {                                                                 \
            const char *a = m.rows + k * stride;                                                   \
            for (Py_ssize_t j = 0; j < n; j++, a += m.step) {                                      \
                sum[j] += *(const T *)a;                                                           \
            }                                                                                      \
        }                                                                                          \
    }

#endif
