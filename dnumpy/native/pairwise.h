/* NumPy's sum of a few adjacent floats, and what else folds.c and moments.c share. */

#ifndef DNUMPY_PAIRWISE_H
#define DNUMPY_PAIRWISE_H

#include "handle.h"

#include <fenv.h>
#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=off") /* a product is rounded before it is added */
#endif
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define FOR_EACH_CPU __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FOR_EACH_CPU
#endif

/* Into each of the versions of a caller. */
#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

#define QUARTER 128
#define LANES 8

/* The flags of faults since they were cleared. The standard's functions look at those of a unit that
   nothing here computes in, which takes longer than a few sums. */
#if defined(__GNUC__) && defined(__x86_64__)
#include <xmmintrin.h>
static inline void
clear_faults(void)
{
    _mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK);
}

static inline int
faults_among(int kinds)
{
    return (int)_mm_getcsr() & kinds; /* whose numbers are the standard's */
}
#define COMPUTED(value) __asm__ volatile("" : "+x"(value)) /* before the flags are looked at */
#define STORED __asm__ volatile("" : : : "memory")         /* likewise, of what is in memory */
#else
#define clear_faults() feclearexcept(FE_ALL_EXCEPT)
#define faults_among(kinds) fetestexcept(kinds)
#define COMPUTED(value)
#define STORED
#endif

#define DEFINE_OF_FEW(T, NAME)                                                                      \
    static inline T NAME##_lanes(const T *r)                                                       \
    {                                                                                              \
        return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                  \
    }                                                                                              \
                                                                                                   \
    /* NumPy's sum of a few adjacent elements: of at most a quarter of a block, and of more. */     \
    ALWAYS_INLINE T NAME##_of_few(const T *a, Py_ssize_t n)                                         \
    {                                                                                               \
        if (n < LANES) {                                                                            \
            T sum = (T)-0.0;                                                                        \
            for (Py_ssize_t i = 0; i < n; i++) {                                                    \
                sum += a[i];                                                                        \
            }                                                                                       \
            return sum;                                                                             \
        }                                                                                           \
        T r[LANES];                                                                                 \
        memcpy(r, a, sizeof r);                                                                     \
        Py_ssize_t i = LANES;                                                                       \
        for (; i < n - n % LANES; i += LANES) {                                                     \
            for (int k = 0; k < LANES; k++) {                                                       \
                r[k] += a[i + k];                                                                   \
            }                                                                                       \
        }                                                                                           \
        T sum = NAME##_lanes(r);                                                                    \
        for (; i < n; i++) {                                                                        \
            sum += a[i];                                                                            \
        }                                                                                           \
        return sum;                                                                                 \
    }

#define DEFINE_PAIRWISE(T, NAME)                                                                    \
    DEFINE_OF_FEW(T, NAME)                                                                          \
                                                                                                    \
    FOR_EACH_CPU static T NAME##_pairwise(const T *a, Py_ssize_t n)                                 \
    {                                                                                               \
        if (n > QUARTER) {                                                                          \
            Py_ssize_t half = n / 2 - n / 2 % LANES;                                                \
            return NAME##_pairwise(a, half) + NAME##_pairwise(a + half, n - half);                  \
        }                                                                                           \
        return NAME##_of_few(a, n);                                                                 \
    }

#endif
