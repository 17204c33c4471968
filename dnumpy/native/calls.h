/* Calls of loops, NumPy's own or ours, over arrays that lie anyhow: of stretches.c and tiles.c.

   Arrays are walked as NumPy walks them: axes that lie one after the other are one, and the result
   says which is the innermost. */

#ifndef DNUMPY_CALLS_H
#define DNUMPY_CALLS_H

#include <fenv.h>

#include "handle.h"

#define MOST_AXES 8
#define MOST_OPERANDS 4 /* the result is the last one */
#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef void (*Loop)(char **args, npy_intp const *extents, npy_intp const *steps, void *data);

/* What Python writes of a step. */
typedef struct {
    npy_int64 loop, data, count; /* of operands */
    npy_int64 slots[MOST_OPERANDS];
    npy_int64 steps_matter; /* the bits may depend on how far apart elements lie; 2: if backwards */
    npy_int64 stops;        /* whoever reads the flags has to look at the operands */
} Record;

typedef struct {
    Loop loop;
    void *data;
    int count, axes, stops;
    npy_intp shape[MOST_AXES];
    char *at[MOST_OPERANDS];
    npy_intp steps[MOST_OPERANDS][MOST_AXES];
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
    call->axes = 0;
    for (int k = 0; k < axes; k++) {
        int d = order[k], last = call->axes - 1, follows = last >= 0;
        for (int x = 0; x < call->count && follows; x++) {
            follows = call->steps[x][last] == steps[x][d] * shape[d];
        }
        int at = follows ? last : call->axes++;
        call->shape[at] = follows ? call->shape[at] * shape[d] : shape[d];
        for (int x = 0; x < call->count; x++) {
            call->steps[x][at] = steps[x][d];
        }
    }
}

/* Make the call for a step over arrays of a list; 0 where NumPy is to do it. */
static inline int
make_call(Call *call, const Record *record, PyObject *values)
{
    npy_intp steps[MOST_OPERANDS][MOST_AXES], sizes[MOST_OPERANDS];
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
        int lead = ndim - PyArray_NDIM(operand);
        if (lead < 0 || !PyArray_ISBEHAVED_RO(operand) ||
            (x < call->count - 1 && is_disturbed(operand, out, call->stops))) {
            return 0;
        }
        for (int d = 0; d < ndim; d++) {
            npy_intp extent = d < lead ? 1 : PyArray_DIM(operand, d - lead);
            if (extent != 1 && extent != PyArray_DIM(out, d)) {
                return 0;
            }
            steps[x][d] = extent == 1 ? 0 : PyArray_STRIDE(operand, d - lead);
        }
        call->at[x] = PyArray_DATA(operand);
        sizes[x] = PyArray_ITEMSIZE(operand);
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

/* Call the loop once for each of so many rows, which lie `by` bytes apart. */
static inline void
run_rows(const Call *call, char **first, npy_intp rows, const npy_intp *by, npy_intp extent,
         const npy_intp *steps)
{
    char *row[MOST_OPERANDS], *args[MOST_OPERANDS];
    memcpy(row, first, sizeof row);
    for (npy_intp k = 0; k < rows; k++) {
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
    npy_intp at[MOST_AXES] = {0}, by[MOST_OPERANDS] = {0}, steps[MOST_OPERANDS] = {0};
    char *first[MOST_OPERANDS] = {NULL};
    for (int d = 0; d <= inner; d++) {
        if (call->shape[d] == 0) {
            return;
        }
    }
    for (int x = 0; x < call->count; x++) {
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
            for (int x = 0; x < call->count; x++) {
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
