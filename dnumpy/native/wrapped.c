/* Copies that wrap around: entry i of an axis is entry i - lead of the operand, modulo its extent. See
   WRAP in dnumpy.ops.blocked; by NumPy each corner and each side would be a copy of its own. */

#include "calls.h"
#include "crew.h"

#define BATCH_BYTES (1 << 16) /* of the result: rows that a thread takes at once */

typedef struct {
    char *from, *to;
    int ndim;
    npy_intp shape[MOST_AXES], extent[MOST_AXES], lead[MOST_AXES]; /* of the result; of the operand */
    npy_intp from_by[MOST_AXES], to_by[MOST_AXES];
    npy_intp size, lines; /* bytes of an element; lines of a row of the result */
    int64_t next, batch;
} Wrapped;

static inline npy_intp
wrapped_at(npy_intp i, npy_intp lead, npy_intp extent)
{
    npy_intp at = (i - lead) % extent;
    return at < 0 ? at + extent : at;
}

/* Fill one line, along the last axis, in runs. */
static inline void
fill_line(const Wrapped *job, const char *from, char *to)
{
    int last = job->ndim - 1;
    npy_intp at = wrapped_at(0, job->lead[last], job->extent[last]), left = job->shape[last];
    while (left > 0) {
        npy_intp run = job->extent[last] - at < left ? job->extent[last] - at : left;
        memcpy(to, from + at * job->size, (size_t)(run * job->size));
        to += run * job->size;
        left -= run;
        at = 0;
    }
}

static void
fill_row(const Wrapped *job, npy_intp row)
{
    const char *from = job->from + row * job->from_by[0];
    char *to = job->to + row * job->to_by[0];
    for (npy_intp line = 0; line < job->lines; line++) {
        npy_intp number = line, read = 0, written = 0;
        for (int d = job->ndim - 2; d > 0; d--) {
            npy_intp i = number % job->shape[d];
            number /= job->shape[d];
            read += wrapped_at(i, job->lead[d], job->extent[d]) * job->from_by[d];
            written += i * job->to_by[d];
        }
        fill_line(job, from + read, to + written);
    }
}

static void
fill_rows(void *given)
{
    Wrapped *job = given;
    int64_t start;
    while ((start = ADD(&job->next, job->batch)) < job->shape[0]) {
        int64_t stop = start + job->batch < job->shape[0] ? start + job->batch : job->shape[0];
        for (int64_t row = start; row < stop; row++) {
            fill_row(job, row);
        }
    }
}

/* Read how the arrays lie; 0 where NumPy must copy. */
static int
reads_wrapped(Wrapped *job, PyArrayObject *x, PyArrayObject *out, PyObject *lead)
{
    int ndim = job->ndim = PyArray_NDIM(x);
    job->size = PyArray_ITEMSIZE(x);
    if (ndim < 2 || ndim > MOST_AXES || PyArray_NDIM(out) != ndim || PyTuple_GET_SIZE(lead) != ndim ||
        !PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(out)) ||
        PyDataType_REFCHK(PyArray_DESCR(x)) || !PyArray_ISWRITEABLE(out) ||
        PyArray_SIZE(x) == 0 || PyArray_DIM(x, 0) != PyArray_DIM(out, 0)) {
        return 0;
    }
    job->from = PyArray_BYTES(x);
    job->to = PyArray_BYTES(out);
    job->lines = 1;
    for (int d = 0; d < ndim; d++) {
        job->shape[d] = PyArray_DIM(out, d);
        job->extent[d] = PyArray_DIM(x, d);
        job->from_by[d] = PyArray_STRIDE(x, d);
        job->to_by[d] = PyArray_STRIDE(out, d);
        job->lead[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(lead, d));
        job->lines *= d > 0 && d < ndim - 1 ? job->shape[d] : 1;
    }
    return !PyErr_Occurred() && job->from_by[ndim - 1] == job->size &&
           job->to_by[ndim - 1] == job->size;
}

/* `wrap_into(x, out, lead, threads)`: fill an array of as many rows, whose other axes wrap around;
   False where NumPy has to, and nothing was done. The lead of axis 0 is no matter. */
PyObject *
wrap_into(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *x, *out, *lead;
    int threads;
    if (!PyArg_ParseTuple(args, "O!O!O!i", &PyArray_Type, &x, &PyArray_Type, &out, &PyTuple_Type,
                          &lead, &threads)) {
        return NULL;
    }
    Wrapped job = {.next = 0};
    if (!reads_wrapped(&job, (PyArrayObject *)x, (PyArrayObject *)out, lead)) {
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    npy_intp row = job.lines * job.shape[job.ndim - 1] * job.size;
    job.batch = row < BATCH_BYTES && row > 0 ? BATCH_BYTES / row : 1;
    Py_BEGIN_ALLOW_THREADS
    with_crew(fill_rows, &job, threads - 1);
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
