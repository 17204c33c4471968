/* A compiled kernel's rows, in batches that several threads draw: see dnumpy.kernels.joint. */

#include <fenv.h>

#include "crew.h"
#include "interrupts.h"

#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef int (*Code)(void *, void *, npy_int64, npy_int64, npy_int64);

typedef struct {
    npy_int64 at, stride, first; /* the place in a frame, the bytes of a tile, the first tile's */
} Partial;

typedef struct {
    Code code;
    npy_int64 *fields[MOST_CREW], *noted[MOST_CREW];
    Partial partials[MOST_ARGUMENTS];
    int count; /* of partials */
    npy_int64 rows, batch, tile;
    int64_t next, members; /* counters */
    int raised;
    volatile int stopped;
    Alert alert;
} Joint;

/* Draw batches until there are none. */
static void
draw(void *job)
{
    Joint *self = job;
    npy_int64 who = ADD(&self->members, 1);
    npy_int64 *fields = self->fields[who], *noted = self->noted[who];
    int raised = 0, asks = is_callers(&self->alert);
    npy_int64 start;
    while ((start = ADD(&self->next, self->batch)) < self->rows && !self->stopped) {
        if (asks && is_interrupted(&self->alert)) {
            self->stopped = 1;
            break;
        }
        npy_int64 stop = start + self->batch < self->rows ? start + self->batch : self->rows;
        for (int k = 0; k < self->count; k++) {
            const Partial *partial = &self->partials[k];
            fields[partial->at] = partial->first + start / self->tile * partial->stride;
        }
        void *results[2] = {NULL, NULL};
        noted[0] = 0;
        feclearexcept(FLAGS);
        self->code(results, results + 1, (npy_int64)(npy_intp)fields, start, stop);
        raised |= (fetestexcept(FLAGS) | (int)noted[0]) & FLAGS;
    }
#if HAS_CREW
    __atomic_fetch_or(&self->raised, raised, __ATOMIC_RELAXED);
#else
    self->raised |= raised;
#endif
}

/* `run_frames(address, fields, noted, partials, rows, batch, tile)`: the flags that the code raised.
   There is a frame for each thread. Raises what a signal's handler does. Each of `partials` has the place of an output's address that
   moves on with the batches, and the bytes of a tile's. */
PyObject *
run_frames(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *fields, *noted, *partials;
    Py_ssize_t address, rows, batch, tile;
    if (!PyArg_ParseTuple(args, "nO!O!O!nnn", &address, &PyList_Type, &fields, &PyList_Type, &noted,
                          &PyTuple_Type, &partials, &rows, &batch, &tile)) {
        return NULL;
    }
    Py_ssize_t threads = PyList_GET_SIZE(fields), count = PyTuple_GET_SIZE(partials);
    if (threads < 1 || threads > MOST_CREW || PyList_GET_SIZE(noted) != threads ||
        count > MOST_ARGUMENTS || batch < 1 || tile < 1) {
        PyErr_SetString(PyExc_ValueError, "expected a frame for each of some threads, and batches");
        return NULL;
    }
    Joint joint = {.code = (Code)address, .count = (int)count, .rows = rows, .batch = batch,
                   .tile = tile};
    for (Py_ssize_t k = 0; k < threads; k++) {
        joint.fields[k] = PyArray_DATA((PyArrayObject *)PyList_GET_ITEM(fields, k));
        joint.noted[k] = PyArray_DATA((PyArrayObject *)PyList_GET_ITEM(noted, k));
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        Partial *partial = &joint.partials[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(partials, k), "LL", &partial->at, &partial->stride)) {
            return NULL;
        }
        partial->first = joint.fields[0][partial->at];
    }
    let_go(&joint.alert);
    with_crew(draw, &joint, (int)threads - 1);
    take_back(&joint.alert);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(joint.raised);
}
