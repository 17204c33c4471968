/* Calls of loops, NumPy's own or ours, over arrays that lie anyhow: of stretches.c and tiles.c.

   Arrays are walked as NumPy walks them: axes that lie one after the other are one, and the result
   says which is the innermost. */

#ifndef DNUMPY_CALLS_H
#define DNUMPY_CALLS_H

#include <fenv.h>

#include "handle.h"

#define MOST_AXES 8
#define MOST_OPERANDS 4 /* the result is the last one */
#define MOST_SEEN (MOST_OPERANDS + 1) /* and a mask after it */
#define MASKED_BLOCK 512 /* elements, of which all are computed where the mask is true for some */
#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef void (*Loop)(char **args, npy_intp const *extents, npy_intp const *steps, void *data);

/* What Python writes of a step. */
typedef struct {
    npy_int64 loop, data, count; /* of operands */
    npy_int64 slots[MOST_OPERANDS];
    npy_int64 steps_matter; /* the bits may depend on how far apart elements lie; 2: if backwards */
    npy_int64 stops;        /* whoever reads the flags has to look at the operands */
    npy_int64 mask;         /* of elements that anybody reads: its slot, or -1 */
} Record;

typedef struct {
    Loop loop;
    void *data;
    int count, axes, stops, masked; /* masked: a mask comes after the operands */
    npy_intp shape[MOST_AXES], size; /* size: bytes of an element of the result */
    char *at[MOST_SEEN];
    npy_intp steps[MOST_SEEN][MOST_AXES];
} Call;

/* Say whether writing the result may change an operand where it is read later: by the same loop, or,
   if it `stops`, by NumPy's. */
static inline int
is_disturbed(PyArrayObject *operand, PyArrayObject *out, int stops)
{
    if (!stops && PyArray_DATA(operand) == PyArray_DATA(out) &&
        PyArray_NDIM(operand) == PyArray_NDIM(out) && PyArray_ITEMSIZE(operand) == PyArray_ITEMSIZE(out) &&
        PyArray_CompareLists(PyArray_DIMS(operand), PyArray_DIMS(out), PyArray_NDIM(out)) &&
        PyArray_CompareLists(PyArray_STRIDES(operand), PyArray_STRIDES(out), PyArray_NDIM(out))) {
        return 0; /* each element is read before it is written */
    }
    char *low[2], *high[2];
    PyArrayObject *both[2] = {operand, out};
    for (int k = 0; k < 2; k++) {
        low[k] = PyArray_DATA(both[k]);
        high[k] = low[k] + PyArray_ITEMSIZE(both[k]);
        for (int d = 0; d < PyArray_NDIM(both[k]); d++) {
            npy_intp reach = (PyArray_DIM(both[k], d) - 1) * PyArray_STRIDE(both[k], d);
            *(reach < 0 ? &low[k] : &high[k]) += reach;
        }
    }
    return low[0] < high[1] && low[1] < high[0];
}

/* Put the axes of the call in order, the one along which the elements of operand `out` lie closest
   last, and make one of those that follow each other in all operands. */
static inline void
order_axes(Call *call, int out, int ndim, const npy_intp *shape, npy_intp steps[][MOST_AXES])
{
    int order[MOST_AXES], axes = 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 1) {
            continue;
        }
        int k = axes++;
        npy_intp own = Py_ABS(steps[out][d]);
        for (; k > 0 && Py_ABS(steps[out][order[k - 1]]) < own; k--) {
            order[k] = order[k - 1];
        }
        order[k] = d;
    }
    int seen = call->count + call->masked;
    call->axes = 0;
    for (int k = 0; k < axes; k++) {
        int d = order[k], last = call->axes - 1, follows = last >= 0;
        for (int x = 0; x < seen && follows; x++) {
            follows = call->steps[x][last] == steps[x][d] * shape[d];
        }
        int at = follows ? last : call->axes++;
        call->shape[at] = follows ? call->shape[at] * shape[d] : shape[d];
        for (int x = 0; x < seen; x++) {
            call->steps[x][at] = steps[x][d];
        }
    }
}

/* Take the steps of an operand of a result, along its axes; 0 where it is none. */
static inline int
take_steps(npy_intp *steps, PyArrayObject *operand, PyArrayObject *out)
{
    int ndim = PyArray_NDIM(out), lead = ndim - PyArray_NDIM(operand);
    if (lead < 0 || !PyArray_ISBEHAVED_RO(operand)) {
        return 0;
    }
    for (int d = 0; d < ndim; d++) {
        npy_intp extent = d < lead ? 1 : PyArray_DIM(operand, d - lead);
        if (extent != 1 && extent != PyArray_DIM(out, d)) {
            return 0;
        }
        steps[d] = extent == 1 ? 0 : PyArray_STRIDE(operand, d - lead);
    }
    return 1;
}

/* Make the call for a step over arrays of a list; 0 where NumPy is to do it. */
static inline int
make_call(Call *call, const Record *record, PyObject *values)
{
    npy_intp steps[MOST_SEEN][MOST_AXES], sizes[MOST_OPERANDS];
    call->loop = (Loop)(npy_intp)record->loop;
    call->data = (void *)(npy_intp)record->data;
    call->count = (int)record->count;
    call->stops = (int)record->stops;
    PyObject *given = PyList_GET_ITEM(values, record->slots[call->count - 1]);
    if (!PyArray_CheckExact(given) || PyArray_NDIM((PyArrayObject *)given) > MOST_AXES) {
        return 0;
    }
    PyArrayObject *out = (PyArrayObject *)given;
    int ndim = PyArray_NDIM(out);
    for (int x = 0; x < call->count; x++) {
        given = PyList_GET_ITEM(values, record->slots[x]);
        if (!PyArray_CheckExact(given)) {
            return 0;
        }
        PyArrayObject *operand = (PyArrayObject *)given;
        if (!take_steps(steps[x], operand, out) ||
            (x < call->count - 1 && is_disturbed(operand, out, call->stops))) {
            return 0;
        }
        call->at[x] = PyArray_DATA(operand);
        sizes[x] = PyArray_ITEMSIZE(operand);
    }
    given = record->mask < 0 ? NULL : PyList_GET_ITEM(values, record->mask);
    call->size = PyArray_ITEMSIZE(out);
    call->masked = given != NULL && PyArray_CheckExact(given) && PyArray_SIZE(out) > 1 &&
                   PyArray_TYPE((PyArrayObject *)given) == NPY_BOOL &&
                   take_steps(steps[call->count], (PyArrayObject *)given, out) &&
                   !is_disturbed((PyArrayObject *)given, out, 1);
    if (call->masked) {
        call->at[call->count] = PyArray_DATA((PyArrayObject *)given);
    }
    order_axes(call, call->count - 1, ndim, PyArray_DIMS(out), steps);
    if (call->axes == 0) { /* one element: loops take steps of 0 for a fold or a scalar, as here */
        call->axes = 1;
        call->shape[0] = 1;
        for (int x = 0; x < call->count; x++) {
            PyObject *operand = PyList_GET_ITEM(values, record->slots[x]);
            call->steps[x][0] = PyArray_NDIM((PyArrayObject *)operand) == 0 ? 0 : sizes[x];
        }
    }
    for (int x = 0; x < call->count && record->steps_matter; x++) {
        npy_intp step = call->steps[x][call->axes - 1];
        if (record->steps_matter == 2 ? step < 0 : step != 0 && step != sizes[x]) {
            return 0;
        }
    }
    return PyArray_ISWRITEABLE(out);
}

static inline int
is_true_for_some(const char *mask, npy_intp n, npy_intp step)
{
    npy_intp k = 0;
    for (; step == 1 && k + 32 <= n; k += 32) {
        uint64_t words[4];
        memcpy(words, mask + k, sizeof words);
        if (words[0] | words[1] | words[2] | words[3]) {
            return 1;
        }
    }
    for (; k < n; k++) {
        if (mask[k * step]) {
            return 1;
        }
    }
    return 0;
}

/* Call the loop for those blocks of a row of which some elements are read; the others are cleared. What
   a mask leaves out would be thrown away: of few elements that are left, NumPy computes no more. */
static inline void
run_masked(const Call *call, char *const *row, npy_intp extent, const npy_intp *steps)
{
    int out = call->count - 1;
    const char *mask = row[call->count];
    npy_intp step = steps[call->count], block = step == 0 ? extent : MASKED_BLOCK, next;
    int some = is_true_for_some(mask, Py_MIN(block, extent), step), more = some;
    for (npy_intp k = 0; k < extent; k = next, some = more) {
        for (next = k + block; next < extent; next += block) {
            more = is_true_for_some(mask + next * step, Py_MIN(block, extent - next), step);
            if (more != some) {
                break;
            }
        }
        next = Py_MIN(next, extent);
        npy_intp n = next - k;
        if (some) {
            char *args[MOST_OPERANDS];
            for (int x = 0; x <= out; x++) {
                args[x] = row[x] + k * steps[x];
            }
            call->loop(args, &n, steps, call->data);
        }
        else if (steps[out] == call->size) {
            memset(row[out] + k * call->size, 0, n * call->size);
        }
        else {
            for (npy_intp i = k; i < next; i++) {
                memset(row[out] + i * steps[out], 0, call->size);
            }
        }
    }
}

/* Call the loop once for each of so many rows, which lie `by` bytes apart. */
static inline void
run_rows(const Call *call, char **first, npy_intp rows, const npy_intp *by, npy_intp extent,
         const npy_intp *steps)
{
    char *row[MOST_SEEN], *args[MOST_OPERANDS];
    memcpy(row, first, sizeof row);
    for (npy_intp k = 0; k < rows && call->masked; k++) {
        run_masked(call, row, extent, steps);
        for (int x = 0; x <= call->count; x++) {
            row[x] += by[x];
        }
    }
    for (npy_intp k = 0; k < rows && !call->masked; k++) {
        for (int x = 0; x < MOST_OPERANDS; x++) { /* loops may move what they are given */
            args[x] = row[x];
            row[x] += by[x];
        }
        call->loop(args, &extent, steps, call->data);
    }
}

/* Call the loop for operands that begin at these addresses. */
static inline void
run_call(const Call *call, char *const *begin)
{
    int inner = call->axes - 1, outer = inner - 1; /* of the axes that are not walked here */
    int seen = call->count + call->masked;
    npy_intp at[MOST_AXES] = {0}, by[MOST_SEEN] = {0}, steps[MOST_SEEN] = {0};
    char *first[MOST_SEEN] = {NULL};
    for (int d = 0; d <= inner; d++) {
        if (call->shape[d] == 0) {
            return;
        }
    }
    for (int x = 0; x < seen; x++) {
        first[x] = begin[x];
        steps[x] = call->steps[x][inner];
        by[x] = outer < 0 ? 0 : call->steps[x][outer];
    }
    for (;;) {
        run_rows(call, first, outer < 0 ? 1 : call->shape[outer], by, call->shape[inner], steps);
        int d = outer - 1;
        for (; d >= 0; d--) {
            at[d]++;
            npy_intp back = at[d] < call->shape[d] ? 0 : call->shape[d];
            for (int x = 0; x < seen; x++) {
                first[x] += call->steps[x][d] * (1 - back);
            }
            if (back == 0) {
                break;
            }
            at[d] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

#endif
