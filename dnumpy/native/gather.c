/* What whole numbers pick along the first axes of an array, one array of them for each axis.

   NumPy looks each element up by a general iterator, which takes some ten times what the copy does, and
   all numbers twice. Here each is looked at once, checked, and followed; threads draw batches where
   there are many. What is beyond an axis is left to NumPy, which says so. */

#include "crew.h"
#include "handle.h"

#define MOST_INDEXES 4
#define MOST_AXES 6 /* of the indexes together */
#define MOST_DIMS 32 /* of the result */
#define BATCH (1 << 12)       /* elements that a thread draws */
#define SHARED (1 << 15)      /* elements from which on threads share them */
#define SHARED_BYTES (1 << 19) /* or what is copied */
#define FEWEST 16 /* elements: NumPy is as fast with fewer */

typedef struct {
    const char *numbers;
    npy_intp steps[MOST_AXES];
    npy_intp extent, stride; /* of the axis */
} Index;

typedef struct {
    Index indexes[MOST_INDEXES];
    int count, axes;
    npy_intp shape[MOST_AXES], size;
    const char *data; /* where single numbers among the indexes lead to */
    char *out;
    size_t bytes; /* of what one element of the indexes picks */
    int64_t next, failed;
} Gather;

/* Let a number count from the beginning; leave with 0 where it is beyond its axis. */
#define TAKE_NUMBER(N, NUMBERS, STEP, EXTENT)                                                      \
    npy_intp N = *(const npy_intp *)((NUMBERS) + k * (STEP));                                      \
    N += N < 0 ? (EXTENT) : 0;                                                                     \
    if ((npy_uintp)N >= (npy_uintp)(EXTENT)) {                                                     \
        return 0;                                                                                  \
    }

typedef struct {
    npy_uint64 a, b;
} Wide;

/* Copy what so many numbers of one or two indexes pick, which begin there. */
#define DEFINE_RUNS(T)                                                                             \
    static int run_of_one_##T(const Gather *self, const char *const *at, npy_intp count, T *out)   \
    {                                                                                              \
        const Index one = self->indexes[0];                                                        \
        const char *data = self->data, *numbers = at[0];                                           \
        const npy_intp step = one.steps[self->axes - 1];                                           \
        for (npy_intp k = 0; k < count; k++) {                                                     \
            TAKE_NUMBER(n, numbers, step, one.extent)                                              \
            out[k] = *(const T *)(data + n * one.stride);                                          \
        }                                                                                          \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static int run_of_two_##T(const Gather *self, const char *const *at, npy_intp count, T *out)   \
    {                                                                                              \
        const Index one = self->indexes[0], two = self->indexes[1];                                \
        const char *data = self->data, *first = at[0], *second = at[1];                            \
        const npy_intp step = one.steps[self->axes - 1], other = two.steps[self->axes - 1];        \
        for (npy_intp k = 0; k < count; k++) {                                                     \
            TAKE_NUMBER(n, first, step, one.extent)                                                \
            TAKE_NUMBER(m, second, other, two.extent)                                              \
            out[k] = *(const T *)(data + n * one.stride + m * two.stride);                         \
        }                                                                                          \
        return 1;                                                                                  \
    }

DEFINE_RUNS(npy_uint8)
DEFINE_RUNS(npy_uint16)
DEFINE_RUNS(npy_uint32)
DEFINE_RUNS(npy_uint64)
DEFINE_RUNS(Wide)

#define RUN(T)                                                                                     \
    return self->count == 1 ? run_of_one_##T(self, at, count, (T *)out)                            \
                            : run_of_two_##T(self, at, count, (T *)out);

/* The same of any number of indexes, and of elements of any size. */
static int
run_of_any(const Gather *self, const char *const *at, npy_intp count, char *out)
{
    if (self->count <= 2) {
        switch (self->bytes) {
            case 1: RUN(npy_uint8)
            case 2: RUN(npy_uint16)
            case 4: RUN(npy_uint32)
            case 8: RUN(npy_uint64)
            case 16: RUN(Wide)
            default: break;
        }
    }
    for (npy_intp k = 0; k < count; k++) {
        const char *data = self->data;
        for (int j = 0; j < self->count; j++) {
            const Index *index = &self->indexes[j];
            TAKE_NUMBER(n, at[j], index->steps[self->axes - 1], index->extent)
            data += n * index->stride;
        }
        memcpy(out + (size_t)k * self->bytes, data, self->bytes);
    }
    return 1;
}

/* Pick so many elements from that number on; 0 where one is beyond an axis. */
static int
pick_some(const Gather *self, npy_intp start, npy_intp stop)
{
    npy_intp at[MOST_AXES], left = start;
    int last = self->axes - 1;
    for (int j = last; j >= 0; j--) {
        at[j] = left % self->shape[j];
        left /= self->shape[j];
    }
    while (start < stop) {
        npy_intp count = self->shape[last] - at[last];
        count = count < stop - start ? count : stop - start;
        const char *numbers[MOST_INDEXES];
        for (int k = 0; k < self->count; k++) {
            numbers[k] = self->indexes[k].numbers;
            for (int j = 0; j <= last; j++) {
                numbers[k] += at[j] * self->indexes[k].steps[j];
            }
        }
        if (!run_of_any(self, numbers, count, self->out + (size_t)start * self->bytes)) {
            return 0;
        }
        start += count;
        at[last] += count;
        for (int j = last; j > 0 && at[j] == self->shape[j]; j--) {
            at[j] = 0;
            at[j - 1]++;
        }
    }
    return 1;
}

static void
draw(void *job)
{
    Gather *self = job;
    npy_intp start;
    while (!ADD(&self->failed, 0) && (start = (npy_intp)ADD(&self->next, BATCH)) < self->size) {
        if (!pick_some(self, start, self->size - start < BATCH ? self->size : start + BATCH)) {
            ADD(&self->failed, 1);
        }
    }
}

/* Take one index, of an axis of x: 0 where that is not to be done here. */
static int
take_index(Gather *self, PyArrayObject *x, int axis, PyObject *part, PyArrayObject **arrays)
{
    npy_intp extent = PyArray_DIM(x, axis), stride = PyArray_STRIDE(x, axis);
    if (PyLong_CheckExact(part)) {
        npy_intp n = PyLong_AsSsize_t(part);
        if (n < -extent || n >= extent || PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        self->data += (n + (n < 0 ? extent : 0)) * stride;
        return 1;
    }
    PyArrayObject *array = (PyArrayObject *)part;
    if (!IS_NUMPYS(part) || PyArray_TYPE(array) != NPY_INTP || !PyArray_ISALIGNED(array) ||
        !PyArray_ISNBO(PyArray_DESCR(array)->byteorder) || PyArray_NDIM(array) == 0 ||
        PyArray_NDIM(array) > MOST_AXES || self->count == MOST_INDEXES) {
        return 0;
    }
    arrays[self->count] = array;
    Index *index = &self->indexes[self->count++];
    index->numbers = PyArray_BYTES(array);
    index->extent = extent;
    index->stride = stride;
    self->axes = PyArray_NDIM(array) > self->axes ? PyArray_NDIM(array) : self->axes;
    return 1;
}

/* Let all indexes have the axes of the result: 0 where they do not fit, or in which order NumPy goes
   over them is not seen at once. */
static int
broadcast(Gather *self, PyArrayObject *const *arrays)
{
    self->size = 1;
    for (int j = 0; j < self->axes; j++) {
        self->shape[j] = 1;
        for (int k = 0; k < self->count; k++) {
            int own = j - (self->axes - PyArray_NDIM(arrays[k]));
            npy_intp extent = own < 0 ? 1 : PyArray_DIM(arrays[k], own);
            if (extent != 1 && self->shape[j] != 1 && extent != self->shape[j]) {
                return 0;
            }
            self->shape[j] = extent == 1 ? self->shape[j] : extent;
        }
        self->size *= self->shape[j];
    }
    for (int k = 0; k < self->count; k++) {
        npy_intp before = NPY_MAX_INTP;
        for (int j = 0; j < self->axes; j++) {
            int own = j - (self->axes - PyArray_NDIM(arrays[k]));
            int repeats = own < 0 || PyArray_DIM(arrays[k], own) == 1;
            npy_intp step = repeats ? 0 : PyArray_STRIDE(arrays[k], own);
            self->indexes[k].steps[j] = step;
            if (step < 0 || step > before) {
                return 0;
            }
            before = step == 0 ? before : step;
        }
    }
    return 1;
}

/* Go over axes that follow one another in all indexes as over one. */
static void
join_axes(Gather *self)
{
    int left = 0;
    for (int j = 0; j < self->axes; j++) {
        int joins = left > 0;
        for (int k = 0; joins && k < self->count; k++) {
            const npy_intp *steps = self->indexes[k].steps;
            joins = steps[left - 1] == steps[j] * self->shape[j];
        }
        int to = joins ? left - 1 : left++;
        self->shape[to] = joins ? self->shape[to] * self->shape[j] : self->shape[j];
        for (int k = 0; k < self->count; k++) {
            self->indexes[k].steps[to] = self->indexes[k].steps[j];
        }
    }
    self->axes = left;
}

/* Memory in C order for so many elements, new, of `make(shape, dtype)` if that is given. */
static PyObject *
memory_for(PyArrayObject *x, int ndim, npy_intp *dims, PyObject *make)
{
    PyArray_Descr *dtype = PyArray_DESCR(x);
    if (make == NULL) {
        return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), ndim, dims, NULL,
                                    NULL, 0, NULL);
    }
    PyObject *shape = PyArray_IntTupleFromIntp(ndim, dims), *args[] = {shape, (PyObject *)dtype};
    PyObject *made = shape == NULL ? NULL : PyObject_Vectorcall(make, args, 2, NULL);
    Py_XDECREF(shape);
    if (made != NULL && !(IS_NUMPYS(made) && PyArray_DESCR((PyArrayObject *)made) == dtype &&
                          PyArray_ISCARRAY((PyArrayObject *)made) &&
                          PyArray_NDIM((PyArrayObject *)made) == ndim &&
                          PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)made), dims, ndim))) {
        PyErr_SetString(PyExc_TypeError, "expected memory of this shape and dtype, in C order");
        Py_CLEAR(made);
    }
    return made;
}

/* What an index, one array or a tuple of arrays and numbers, picks of an array of NumPy's, new, in what
   `make(shape, dtype)` gives if that is not NULL; NULL without an error where NumPy has to look. */
PyObject *
gathered(PyArrayObject *x, PyObject *key, PyObject *make)
{
    Gather self = {.data = PyArray_BYTES(x)};
    PyArrayObject *arrays[MOST_INDEXES];
    PyObject *const *parts = PyTuple_CheckExact(key) ? PySequence_Fast_ITEMS(key) : &key;
    int indexed = PyTuple_CheckExact(key) ? (int)PyTuple_GET_SIZE(key) : 1, ndim = PyArray_NDIM(x);
    if (indexed > ndim || PyArray_TYPE(x) >= NPY_OBJECT || !PyArray_ISALIGNED(x) ||
        PyArray_SIZE(x) == 0) {
        return NULL;
    }
    for (int axis = 0; axis < indexed; axis++) {
        if (!take_index(&self, x, axis, parts[axis], arrays)) {
            return NULL;
        }
    }
    self.bytes = (size_t)PyArray_ITEMSIZE(x);
    for (int axis = ndim - 1; axis >= indexed; axis--) { /* one piece of memory */
        if (PyArray_STRIDE(x, axis) != (npy_intp)self.bytes) {
            return NULL;
        }
        self.bytes *= (size_t)PyArray_DIM(x, axis);
    }
    if (self.count == 0 || !broadcast(&self, arrays) || self.size < FEWEST ||
        self.axes + ndim - indexed > MOST_DIMS) {
        return NULL;
    }
    npy_intp dims[MOST_AXES + MOST_DIMS];
    memcpy(dims, self.shape, self.axes * sizeof *dims);
    memcpy(dims + self.axes, PyArray_DIMS(x) + indexed, (ndim - indexed) * sizeof *dims);
    PyObject *made = memory_for(x, self.axes + ndim - indexed, dims, make);
    if (made == NULL) {
        return NULL;
    }
    join_axes(&self);
    self.out = PyArray_BYTES((PyArrayObject *)made);
    int shares = self.size >= SHARED || self.size * (npy_intp)self.bytes >= SHARED_BYTES;
    int helpers = shares ? helpers_now() : 0;
    if (self.size < WRITTEN_AT_ONCE) {
        draw(&self);
    }
    else {
        Py_BEGIN_ALLOW_THREADS
        with_crew(draw, &self, helpers);
        Py_END_ALLOW_THREADS
    }
    if (self.failed) {
        Py_CLEAR(made);
    }
    return made;
}

/* What NumPy's indexing gives, new. */
PyObject *
item_by(PyObject *x, PyObject *key)
{
    PyObject *found = IS_NUMPYS(x) ? gathered((PyArrayObject *)x, key, NULL) : NULL;
    return found != NULL || PyErr_Occurred() ? found : PyObject_GetItem(x, key);
}

/* `gather(x, key, make)`: the same for Python, in memory that is made so; None where NumPy has to look. */
PyObject *
gather(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !IS_NUMPYS(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected an array of NumPy's, an index, and what makes memory");
        return NULL;
    }
    PyObject *found = gathered((PyArrayObject *)args[0], args[1], args[2]);
    return found != NULL || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}
