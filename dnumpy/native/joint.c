/* A compiled kernel's rows, in batches that several threads draw: see dnumpy.kernels.joint. */

#include "joint.h"

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

int
run_joint(Joint *joint, int threads)
{
    for (int k = 0; k < joint->count; k++) {
        joint->partials[k].first = joint->fields[0][joint->partials[k].at];
    }
    let_go(&joint->alert);
    with_crew(draw, joint, threads - 1);
    take_back(&joint->alert);
    return PyErr_Occurred() ? -1 : joint->raised;
}

/* `run_frames(address, fields, noted, partials, rows, batch, tile)`: the flags that the code raised.
   There is a frame for each thread. Raises what a signal's handler does. Each of `partials` has the
   place of an output's address that moves on with the batches, and the bytes of a tile's. */
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
    }
    int raised = run_joint(&joint, (int)threads);
    return raised < 0 ? NULL : PyLong_FromLong(raised);
}
