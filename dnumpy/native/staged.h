/* Rows that are computed block by block and written where others are still to read what was there
   before: see dnumpy.runtime.donation. */

#ifndef DNUMPY_STAGED_H
#define DNUMPY_STAGED_H

#include "handle.h"

/* Rows of one output that lie one after the other, and where they belong. */
typedef struct {
    char *rows, *head, *tail, *waiting; /* what is computed, and held back */
    PyArrayObject *target;              /* NULL where the kernel writes to the output itself */
    npy_intp bytes, stride;             /* of a row, and between rows of what is computed */
    npy_int64 above, head_end, tail_start;
    npy_int64 from, to; /* the rows that wait for the next block */
} Staged;

#define SPREAD(size)                                                                              \
    case size:                                                                                    \
        for (npy_intp i = 0; i < count; i++) {                                                    \
            memcpy(to + i * stride, from + i * (size), size);                                     \
        }                                                                                         \
        return

/* Copy adjacent elements to where they are `stride` bytes apart. */
static void
spread_elements(char *to, npy_intp count, npy_intp stride, npy_intp size, const char *from)
{
    switch (size) { /* of a known size each is one load and one store */
        SPREAD(1);
        SPREAD(2);
        SPREAD(4);
        SPREAD(8);
        SPREAD(16);
    default:
        for (npy_intp i = 0; i < count; i++) {
            memcpy(to + i * stride, from + i * size, (size_t)size);
        }
    }
}

/* Copy `count` elements of `axes` axes, that lie adjacent, to where they belong; return what follows. */
static const char *
put(char *to, const npy_intp *dims, const npy_intp *strides, int axes, npy_intp size,
    const char *from)
{
    if (axes == 0 || (axes == 1 && strides[0] == size)) {
        npy_intp bytes = axes == 0 ? size : dims[0] * size;
        memcpy(to, from, (size_t)bytes);
        return from + bytes;
    }
    if (axes == 1) {
        spread_elements(to, dims[0], strides[0], size, from);
        return from + dims[0] * size;
    }
    for (npy_intp i = 0; i < dims[0]; i++) {
        from = put(to + i * strides[0], dims + 1, strides + 1, axes - 1, size, from);
    }
    return from;
}

/* Write rows first:last, of which `from` has the first one, to where they belong. */
static void
put_rows(const Staged *staged, npy_int64 first, npy_int64 last, const char *from)
{
    if (first < last) {
        PyArrayObject *target = staged->target;
        npy_intp dims[NPY_MAXDIMS];
        memcpy(dims, PyArray_DIMS(target), (size_t)PyArray_NDIM(target) * sizeof *dims);
        dims[0] = last - first;
        put(PyArray_BYTES(target) + first * PyArray_STRIDE(target, 0), dims,
            PyArray_STRIDES(target), PyArray_NDIM(target), PyArray_ITEMSIZE(target), from);
    }
}

static inline npy_int64
within(npy_int64 x, npy_int64 low, npy_int64 high)
{
    return x < low ? low : x > high ? high : x;
}

/* Write what may be written of the rows start:stop of lo:hi, and hold back the others. */
static void
write_block(Staged *staged, npy_int64 lo, npy_int64 hi, npy_int64 start, npy_int64 stop)
{
    npy_intp bytes = staged->bytes;
    const char *rows = staged->rows;
    put_rows(staged, staged->from, staged->to, staged->waiting);
    npy_int64 first = within(staged->head_end, start, stop);
    npy_int64 last = within(staged->tail_start, first, stop);
    npy_int64 until = stop == hi ? last : within(stop - staged->above, first, last);
    memcpy(staged->head + (start - lo) * bytes, rows, (size_t)((first - start) * bytes));
    put_rows(staged, first, until, rows + (first - start) * bytes);
    memcpy(staged->waiting, rows + (until - start) * bytes, (size_t)((last - until) * bytes));
    memcpy(staged->tail + (last - staged->tail_start) * (last < stop) * bytes,
           rows + (last - start) * bytes, (size_t)((stop - last) * bytes));
    staged->from = until;
    staged->to = last;
}

#endif
