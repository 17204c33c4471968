/* Runs of a compiled kernel whose results go, block by block, to where others are still to read what
   was there before: see dnumpy.runtime.donation. */

#include <fenv.h>

#include "staged.h"

#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef int (*Code)(void *, void *, npy_int64, npy_int64, npy_int64);

/* From (target, head, tail, waiting) or None; 0 where Python has to write. */
static int
staged_of(Staged *staged, PyArrayObject *out, PyObject *given, npy_int64 lo, npy_int64 hi)
{
    *staged = (Staged){.rows = PyArray_BYTES(out), .stride = PyArray_STRIDE(out, 0)};
    if (given == Py_None) {
        return 1;
    }
    PyArrayObject *target, *head, *tail, *waiting;
    if (!PyArg_ParseTuple(given, "O!O!O!O!", &PyArray_Type, &target, &PyArray_Type, &head,
                          &PyArray_Type, &tail, &PyArray_Type, &waiting)) {
        PyErr_Clear();
        return 0;
    }
    staged->target = target;
    staged->bytes = PyArray_STRIDE(out, 0);
    staged->head = PyArray_BYTES(head);
    staged->tail = PyArray_BYTES(tail);
    staged->waiting = PyArray_BYTES(waiting);
    staged->above = PyArray_DIM(waiting, 0);
    staged->head_end = lo + PyArray_DIM(head, 0);
    staged->tail_start = hi - PyArray_DIM(tail, 0);
    staged->from = staged->to = lo;
    return PyArray_IS_C_CONTIGUOUS(out);
}

/* `run_staged(address, fields, noted, outs, targets, writes, rows, told)`: `rows` has lo and hi, the
   rows of a block and those of a tile. Blocks are computed into scratch memory, `outs`, by a kernel
   whose frame is bound, and then written to their targets. Each of `writes` has whether an output has
   an entry for each tile, and the place of its address in the frame, or -1. The row from which on
   Python has to go on: the block that begins there raised flags that are to be told of. */
PyObject *
run_staged(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *outs, *targets, *writes;
    PyArrayObject *fields_of, *noted_of;
    Py_ssize_t address, lo, hi, size, tile;
    int told;
    if (!PyArg_ParseTuple(args, "nO!O!O!O!O!(nnnn)i", &address, &PyArray_Type, &fields_of,
                          &PyArray_Type, &noted_of, &PyList_Type, &outs, &PyList_Type, &targets,
                          &PyTuple_Type, &writes, &lo, &hi, &size, &tile, &told)) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(outs);
    Staged staged[MOST_ARGUMENTS];
    npy_int64 at[MOST_ARGUMENTS];
    int partial[MOST_ARGUMENTS];
    if (count > MOST_ARGUMENTS || PyList_GET_SIZE(targets) != count ||
        PyTuple_GET_SIZE(writes) != count || size < 1 || tile < 1) {
        return PyLong_FromSsize_t(lo);
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyArrayObject *out = (PyArrayObject *)PyList_GET_ITEM(outs, k);
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(writes, k), "pL", &partial[k], &at[k])) {
            return NULL;
        }
        if (!staged_of(&staged[k], out, PyList_GET_ITEM(targets, k), lo, hi)) {
            return PyLong_FromSsize_t(lo);
        }
    }
    npy_int64 *fields = PyArray_DATA(fields_of), *noted = PyArray_DATA(noted_of), start = lo;
    Code code = (Code)address;
    Py_BEGIN_ALLOW_THREADS
    for (; start < hi; start += size) {
        npy_int64 stop = start + size < hi ? start + size : hi;
        for (Py_ssize_t k = 0; k < count; k++) {
            npy_int64 before = staged[k].target != NULL ? -start
                               : partial[k]             ? (start - lo) / tile
                                                        : 0;
            if (at[k] >= 0) {
                fields[at[k]] = (npy_int64)(npy_intp)staged[k].rows + before * staged[k].stride;
            }
        }
        void *results[2] = {NULL, NULL};
        noted[0] = 0;
        feclearexcept(FLAGS);
        code(results, results + 1, (npy_int64)(npy_intp)fields, start, stop);
        if ((fetestexcept(FLAGS) | (int)noted[0]) & told) {
            break;
        }
        for (Py_ssize_t k = 0; k < count; k++) {
            if (staged[k].target != NULL) {
                write_block(&staged[k], lo, hi, start, stop);
            }
        }
    }
    Py_END_ALLOW_THREADS
    return PyLong_FromSsize_t(start < hi ? start : hi);
}
