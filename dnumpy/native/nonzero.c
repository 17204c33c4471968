/* The indexes of the elements of a mask that are set: they are counted piece by piece, so that each
   piece, which one thread draws, knows where its own begin. Where the next one is written depends on the
   mask, and nothing is decided: see masks.c. */

#include "crew.h"
#include "handle.h"

#define MOST_DIMS 8
#define PIECE 16384      /* elements that a thread draws */
#define FEWEST_SHARED (1 << 16) /* elements: with fewer, one thread is as fast */
#define WORD 8
#define ONES 0x0101010101010101u
#define LOW_BITS (0x7f * ONES) /* of each byte */
#define MOST_ADDED 31 /* words whose bytes, added up, stay below 256 altogether */

typedef struct {
    const unsigned char *mask;
    npy_intp size, pieces, extent; /* extent: of the last axis */
    int ndim;
    npy_intp shape[MOST_DIMS];
    npy_intp *outs[MOST_DIMS], step; /* where the indexes of each axis go, and how far apart they are */
    npy_intp *begins;                /* of each piece: how many are set before it, and in all */
    int fills;
    int64_t next, failed;
} Search;

/* A byte of one for each byte of a word that is set. */
static inline uint64_t
set_bytes(uint64_t word)
{
    return ((((word & LOW_BITS) + LOW_BITS) | word) & ~LOW_BITS) >> 7;
}

static npy_intp
set_in(const unsigned char *mask, npy_intp size)
{
    npy_intp count = 0, k = 0;
    while (k + WORD <= size) {
        uint64_t sums = 0, word;
        for (int n = 0; n < MOST_ADDED && k + WORD <= size; n++, k += WORD) {
            memcpy(&word, mask + k, WORD);
            sums += set_bytes(word);
        }
        count += (npy_intp)((sums * ONES) >> (8 * (WORD - 1))); /* the bytes of a word, added up */
    }
    for (; k < size; k++) {
        count += mask[k] != 0;
    }
    return count;
}

/* Write the indexes, from `first` on, of what is set in a line; nothing is written beyond `room` of
   them. Return how many there are. */
static npy_intp
write_line(const unsigned char *mask, npy_intp size, npy_intp first, npy_intp *out, npy_intp step,
           npy_intp room)
{
    npy_intp count = 0, k = 0;
    for (; k + WORD <= size && count + WORD <= room; k += WORD) {
        uint64_t word;
        memcpy(&word, mask + k, WORD);
        if (word == 0) {
            continue;
        }
        for (int j = 0; j < WORD; j++) {
            out[count * step] = first + k + j;
            count += mask[k + j] != 0;
        }
    }
    for (; k < size && count < room; k++) {
        if (mask[k] != 0) {
            out[count++ * step] = first + k;
        }
    }
    return count;
}

/* Write the indexes of a piece, which has so many as were counted unless somebody writes to the mask. */
static int
fill(const Search *self, npy_intp piece)
{
    npy_intp k = piece * PIECE, stop = k + PIECE < self->size ? k + PIECE : self->size;
    npy_intp at = self->begins[piece], end = self->begins[piece + 1], place[MOST_DIMS];
    int last = self->ndim - 1;
    npy_intp rest = k;
    for (int j = last; j >= 0; j--) {
        place[j] = rest % self->shape[j];
        rest /= self->shape[j];
    }
    while (k < stop) {
        npy_intp length = self->extent - place[last];
        length = length < stop - k ? length : stop - k;
        npy_intp found = write_line(self->mask + k, length, place[last],
                                    self->outs[last] + at * self->step, self->step, end - at);
        for (int j = 0; j < last; j++) {
            npy_intp *out = self->outs[j] + at * self->step;
            for (npy_intp n = 0; n < found; n++) {
                out[n * self->step] = place[j];
            }
        }
        at += found;
        k += length;
        place[last] = 0;
        for (int j = last - 1; j >= 0 && ++place[j] == self->shape[j]; j--) {
            place[j] = 0;
        }
    }
    return at == end;
}

static void
draw(void *job)
{
    Search *self = job;
    int64_t piece;
    while ((piece = ADD(&self->next, 1)) < self->pieces) {
        npy_intp start = piece * PIECE, length = self->size - start < PIECE ? self->size - start : PIECE;
        if (!self->fills) {
            self->begins[piece + 1] = set_in(self->mask + start, length);
        }
        else if (self->begins[piece] < self->begins[piece + 1] && !fill(self, piece)) {
            ADD(&self->failed, 1);
        }
    }
}

static void
do_pieces(Search *self, int fills, int helpers)
{
    self->fills = fills;
    self->next = 0;
    Py_BEGIN_ALLOW_THREADS
    with_crew(draw, self, helpers);
    Py_END_ALLOW_THREADS
}

/* Memory for indexes, new, which `make(shape, dtype)` gives. */
static PyObject *
made_by(PyObject *make, int ndim, npy_intp *dims)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(NPY_INTP);
    PyObject *shape = PyArray_IntTupleFromIntp(ndim, dims);
    PyObject *made = shape == NULL ? NULL : PyObject_CallFunctionObjArgs(make, shape, dtype, NULL);
    Py_XDECREF(shape);
    Py_DECREF(dtype);
    if (made != NULL && !(IS_NUMPYS(made) && PyArray_TYPE((PyArrayObject *)made) == NPY_INTP &&
                          PyArray_ISCARRAY((PyArrayObject *)made) &&
                          PyArray_NDIM((PyArrayObject *)made) == ndim &&
                          PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)made), dims, ndim))) {
        PyErr_SetString(PyExc_TypeError, "expected memory of this shape for indexes, in C order");
        Py_CLEAR(made);
    }
    return made;
}

/* Memory for all indexes, new: with a row for each element, or a line for each axis. */
static PyObject *
memory_for(Search *self, PyObject *make, int as_rows)
{
    npy_intp count = self->begins[self->pieces], ndim = self->ndim;
    npy_intp rows[2] = {count, ndim}, lines[2] = {ndim, count};
    PyObject *made = made_by(make, 2, as_rows ? rows : lines);
    self->step = as_rows ? ndim : 1;
    for (int j = 0; made != NULL && j < ndim; j++) {
        self->outs[j] = (npy_intp *)PyArray_DATA((PyArrayObject *)made) + j * (as_rows ? 1 : count);
    }
    return made;
}

/* `nonzero(mask, make, rows, threads)`: the indexes of what is set in booleans in C order, in memory of
   `make(shape, dtype)`, in rows or lines; None where NumPy has to look. */
PyObject *
nonzero(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *mask;
    PyObject *make;
    int as_rows, threads;
    if (!PyArg_ParseTuple(args, "O!Opi", &PyArray_Type, &mask, &make, &as_rows, &threads)) {
        return NULL;
    }
    Search self = {.ndim = PyArray_NDIM(mask), .size = PyArray_SIZE(mask)};
    if (PyArray_TYPE(mask) != NPY_BOOL || !PyArray_ISCARRAY_RO(mask) || self.ndim < 1 ||
        self.ndim > MOST_DIMS || self.size == 0) {
        Py_RETURN_NONE;
    }
    self.mask = PyArray_DATA(mask);
    memcpy(self.shape, PyArray_DIMS(mask), self.ndim * sizeof *self.shape);
    self.extent = self.shape[self.ndim - 1];
    self.pieces = (self.size + PIECE - 1) / PIECE;
    self.begins = PyMem_RawCalloc((size_t)self.pieces + 1, sizeof *self.begins);
    if (self.begins == NULL) {
        return PyErr_NoMemory();
    }
    int helpers = self.size < FEWEST_SHARED ? 0 : threads - 1;
    helpers = helpers < MOST_CREW - 1 ? helpers : MOST_CREW - 1;
    do_pieces(&self, 0, helpers);
    for (npy_intp k = 0; k < self.pieces; k++) {
        self.begins[k + 1] += self.begins[k];
    }
    PyObject *found = memory_for(&self, make, as_rows);
    if (found != NULL) {
        do_pieces(&self, 1, helpers);
        if (self.failed) {
            Py_SETREF(found, Py_NewRef(Py_None));
        }
    }
    PyMem_RawFree(self.begins);
    return found;
}
