/* Runs of a compiled kernel over operands that lie as they did before: their addresses are entered
   into a frame, and the machine code is called without the interpreter's lock. What is not as it was
   is bound in Python, as dnumpy.kernels.numba has it. */

#include "joint.h"

#define CELL 16 /* bytes of a number */
#define ELSEWHERE (-1) /* what is returned where Python has to bind the operands */

/* What a kernel was made for: an operand's layout, or the type of what is no array. */
typedef struct {
    PyTypeObject *type; /* counted */
    int number, aligned, ndim;
    int is_partial;    /* an output with an entry for each tile: of any length */
    npy_intp *extents; /* each axis's length and stride, in turn */
} Look;

typedef struct {
    int operand, at, stride_at; /* the places in a frame are -1 where there is none */
} Place;

typedef struct {
    int operand;     /* -1 where it is fixed */
    PyObject *fixed; /* counted */
    int is_double;
} Constant;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Code code;
    Py_ssize_t values, outs, reads, constants;
    Look *looks;    /* of the values, then of the outputs */
    npy_intp *extents;
    Place *places;  /* of what is read, then of the outputs */
    Constant *fixed;
    int streamed;   /* where it says whether outputs are written past the caches, and that */
    npy_int64 streams;
    Py_ssize_t steps;
    npy_int64 *apart; /* a place in a frame and what is always there, in turn */
    PyObject *frames; /* those that no run has now: a list of (fields, noted, constants, ...) */
} Launch;

/* Note how an operand lies, in room for its extents; return the room beyond. */
static npy_intp *
look_at(Look *look, PyObject *x, npy_intp *room)
{
    look->type = (PyTypeObject *)Py_NewRef(Py_TYPE(x));
    look->extents = room;
    if (IS_NUMPYS(x)) {
        PyArrayObject *array = (PyArrayObject *)x;
        look->number = PyArray_TYPE(array);
        look->aligned = PyArray_ISALIGNED(array);
        look->ndim = PyArray_NDIM(array);
        for (int k = 0; k < look->ndim; k++) {
            *room++ = PyArray_DIM(array, k);
            *room++ = PyArray_STRIDE(array, k);
        }
    }
    return room;
}

static inline int
looks_so(const Look *look, PyObject *x)
{
    if (Py_TYPE(x) != look->type) {
        return 0;
    }
    if (!IS_NUMPYS(x)) {
        return 1;
    }
    PyArrayObject *array = (PyArrayObject *)x;
    if (PyArray_TYPE(array) != look->number || PyArray_NDIM(array) != look->ndim ||
        PyArray_ISALIGNED(array) != look->aligned) {
        return 0;
    }
    for (int k = 0; k < look->ndim; k++) {
        npy_intp extent = look->extents[2 * k], stride = look->extents[2 * k + 1];
        if (PyArray_STRIDE(array, k) != stride ||
            (PyArray_DIM(array, k) != extent && (k > 0 || !look->is_partial))) {
            return 0;
        }
    }
    return 1;
}

static inline int
is_line(PyObject *x)
{
    return PyList_CheckExact(x) || PyTuple_CheckExact(x);
}

static int
fits(Launch *self, PyObject *values, PyObject *outs)
{
    if (!is_line(values) || !is_line(outs) ||
        PySequence_Fast_GET_SIZE(values) != self->values ||
        PySequence_Fast_GET_SIZE(outs) != self->outs) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < self->values; k++) {
        if (!looks_so(&self->looks[k], PySequence_Fast_GET_ITEM(values, k))) {
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < self->outs; k++) {
        if (!looks_so(&self->looks[self->values + k], PySequence_Fast_GET_ITEM(outs, k))) {
            return 0;
        }
    }
    return 1;
}

/* The first byte of an array, and the first one beyond it. */
static inline void
extent_of(PyArrayObject *array, char **low, char **high)
{
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int k = 0; k < PyArray_NDIM(array); k++) {
        npy_intp n = PyArray_DIM(array, k), reach = (n - 1) * PyArray_STRIDE(array, k);
        if (n == 0) {
            *high = *low;
            return;
        }
        *(reach < 0 ? low : high) += reach;
    }
}

/* Say whether an output may share memory with what is read. */
static int
overlaps(Launch *self, PyObject *values, PyObject *outs)
{
    for (Py_ssize_t k = 0; k < self->outs; k++) {
        char *low, *high, *first, *last;
        extent_of((PyArrayObject *)PySequence_Fast_GET_ITEM(outs, k), &low, &high);
        for (Py_ssize_t j = 0; j < self->reads; j++) {
            PyObject *read = PySequence_Fast_GET_ITEM(values, self->places[j].operand);
            extent_of((PyArrayObject *)read, &first, &last);
            if (first < high && low < last) {
                return 1;
            }
        }
    }
    return 0;
}

/* Let a frame hold the numbers that are given; 0 where Python has to. */
static int
has_constants(Launch *self, PyObject *values, PyObject *frame)
{
    PyObject *last = PyTuple_GET_ITEM(frame, 2);
    char *cells = PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(frame, 3));
    for (Py_ssize_t k = 0; k < self->constants; k++) {
        const Constant *constant = &self->fixed[k];
        PyObject *given = constant->operand < 0
                              ? constant->fixed
                              : PySequence_Fast_GET_ITEM(values, constant->operand);
        if (PyList_GET_ITEM(last, k) == given && !PyArray_Check(given)) {
            continue;
        }
        if (!constant->is_double || !PyFloat_Check(given)) { /* NumPy's doubles are such too */
            return 0;
        }
        double number = PyFloat_AS_DOUBLE(given);
        memcpy(cells + CELL * k, &number, sizeof number);
        PyList_SetItem(last, k, Py_NewRef(given));
    }
    return 1;
}

static inline void
enter(npy_int64 *fields, const Place *place, PyObject *x, Py_ssize_t origin)
{
    npy_int64 stride = place->stride_at == WHOLE ? 0 : PyArray_STRIDE((PyArrayObject *)x, 0);
    if (place->at >= 0) {
        fields[place->at] = (npy_int64)(npy_intp)PyArray_DATA((PyArrayObject *)x) - origin * stride;
    }
    if (place->stride_at >= 0) {
        fields[place->stride_at] = stride;
    }
}

static PyObject *noted_runs, *clock_of_runs; /* a list of times, while somebody wants to know */

static void
note_time(void)
{
    PyObject *now = noted_runs == NULL ? NULL : PyObject_CallNoArgs(clock_of_runs);
    if (now == NULL || PyList_Append(noted_runs, now) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(now);
}

static inline void
enter_steps(const Launch *self, npy_int64 *fields)
{
    for (Py_ssize_t k = 0; k < self->steps; k++) {
        fields[self->apart[2 * k]] = self->apart[2 * k + 1];
    }
}

static inline npy_int64 *
numbers_of(PyObject *frame, Py_ssize_t which)
{
    return PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(frame, which));
}

static inline void
give_back(Launch *self, PyObject *frame)
{
    if (PyList_Append(self->frames, frame) < 0) {
        PyErr_Clear(); /* the next run makes another one */
    }
    Py_DECREF(frame);
}

/* Take a frame that no run has, with the numbers given; NULL, with no error, if Python has to. */
static PyObject *
take_frame(Launch *self, PyObject *values)
{
    Py_ssize_t free = PyList_GET_SIZE(self->frames);
    if (free == 0) {
        return NULL;
    }
    PyObject *frame = Py_NewRef(PyList_GET_ITEM(self->frames, free - 1));
    if (PyList_SetSlice(self->frames, free - 1, free, NULL) < 0) {
        PyErr_Clear();
        Py_DECREF(frame);
        return NULL;
    }
    if (!has_constants(self, values, frame)) {
        PyErr_Clear();
        give_back(self, frame);
        return NULL;
    }
    return frame;
}

/* Enter all operands into a frame. */
static void
fill(Launch *self, PyObject *frame, PyObject *values, PyObject *outs, Py_ssize_t origin)
{
    npy_int64 *fields = numbers_of(frame, 0);
    for (Py_ssize_t k = 0; k < self->reads; k++) {
        const Place *place = &self->places[k];
        enter(fields, place, PySequence_Fast_GET_ITEM(values, place->operand), origin);
    }
    enter_steps(self, fields);
    for (Py_ssize_t k = 0; k < self->outs; k++) {
        int partial = self->looks[self->values + k].is_partial;
        PyObject *out = PySequence_Fast_GET_ITEM(outs, k);
        enter(fields, &self->places[self->reads + k], out, partial ? 0 : origin);
    }
    if (self->streamed >= 0) {
        fields[self->streamed] = self->streams;
    }
}

/* The flags raised by rows lo:hi; ELSEWHERE if nothing was run. */
static int
run(Launch *self, PyObject *values, PyObject *outs, Py_ssize_t lo, Py_ssize_t hi, Py_ssize_t origin)
{
    if (!fits(self, values, outs) || overlaps(self, values, outs)) {
        return ELSEWHERE;
    }
    PyObject *frame = take_frame(self, values);
    if (frame == NULL) {
        return ELSEWHERE;
    }
    fill(self, frame, values, outs, origin);
    npy_int64 *fields = numbers_of(frame, 0), *noted = numbers_of(frame, 1);
    noted[0] = 0;
    void *results[2] = {NULL, NULL};
    int raised;
    if (noted_runs != NULL) {
        note_time();
    }
    Py_BEGIN_ALLOW_THREADS
    feclearexcept(FLAGS);
    self->code(results, results + 1, (npy_int64)(npy_intp)fields, lo, hi);
    raised = (fetestexcept(FLAGS) | (int)noted[0]) & FLAGS;
    Py_END_ALLOW_THREADS
    if (noted_runs != NULL) {
        note_time();
    }
    give_back(self, frame);
    return raised;
}

/* The same of all rows, in batches that so many threads draw; -2 with an error. */
static int
run_shared(Launch *self, PyObject *values, PyObject *outs, const Py_ssize_t *rows, int threads)
{
    if (noted_runs != NULL || !fits(self, values, outs) || overlaps(self, values, outs)) {
        return ELSEWHERE;
    }
    Joint joint = {.code = self->code, .rows = rows[0], .batch = rows[1], .tile = rows[2]};
    for (Py_ssize_t k = 0; k < self->outs; k++) {
        const Place *place = &self->places[self->reads + k];
        if (!self->looks[self->values + k].is_partial || place->at < 0) {
            continue;
        }
        if (joint.count == MOST_ARGUMENTS) {
            return ELSEWHERE;
        }
        PyArrayObject *out = (PyArrayObject *)PySequence_Fast_GET_ITEM(outs, k);
        joint.partials[joint.count].at = place->at;
        joint.partials[joint.count++].stride = PyArray_STRIDE(out, 0);
    }
    PyObject *frames[MOST_CREW];
    int taken = 0, raised = ELSEWHERE;
    while (taken < threads && (frames[taken] = take_frame(self, values)) != NULL) {
        fill(self, frames[taken], values, outs, 0);
        joint.fields[taken] = numbers_of(frames[taken], 0);
        joint.noted[taken] = numbers_of(frames[taken], 1);
        taken++;
    }
    if (taken == threads) {
        raised = run_joint(&joint, threads);
        raised = raised < 0 ? -2 : raised;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    while (taken > 0) {
        give_back(self, frames[--taken]);
    }
    PyErr_Restore(type, value, traceback);
    return raised;
}

/* `launch(values, outs, lo, hi, origin)`: see run. */
static PyObject *
launch_call(PyObject *self, PyObject *const *args, size_t count, PyObject *kwnames)
{
    if (PyVectorcall_NARGS(count) != 5 || kwnames != NULL) {
        PyErr_SetString(PyExc_TypeError, "expected values, outputs, lo, hi and origin");
        return NULL;
    }
    Py_ssize_t rows[3];
    for (int k = 0; k < 3; k++) {
        rows[k] = PyLong_AsSsize_t(args[2 + k]);
        if (rows[k] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    return PyLong_FromLong(run((Launch *)self, args[0], args[1], rows[0], rows[1], rows[2]));
}

/* `launch.shared(values, outs, rows, batch, tile, threads)`: see run_shared. */
static PyObject *
launch_shared(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t numbers[4];
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "expected values, outputs, rows, a batch, a tile, threads");
        return NULL;
    }
    for (int k = 0; k < 4; k++) {
        numbers[k] = PyLong_AsSsize_t(args[2 + k]);
        if (numbers[k] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (numbers[1] < 1 || numbers[2] < 1 || numbers[3] < 1) {
        PyErr_SetString(PyExc_ValueError, "expected batches of tiles, and threads");
        return NULL;
    }
    int threads = numbers[3] < MOST_CREW ? (int)numbers[3] : MOST_CREW;
    int raised = run_shared((Launch *)self, args[0], args[1], numbers, threads);
    return raised == -2 ? NULL : PyLong_FromLong(raised);
}

static PyObject *
launch_fits(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "expected values and outputs");
        return NULL;
    }
    return PyBool_FromLong(fits((Launch *)self, args[0], args[1]));
}

/* An operand's place from (operand, at, stride at); 0 with an error. */
static int
place_of(Place *place, PyObject *line, Py_ssize_t operands)
{
    if (!PyArg_ParseTuple(line, "iii", &place->operand, &place->at, &place->stride_at)) {
        return 0;
    }
    if (place->operand < 0 || place->operand >= operands) {
        PyErr_SetString(PyExc_IndexError, "there is no such operand");
        return 0;
    }
    return 1;
}

/* The axes of all arrays among some operands. */
static size_t
axes_of(PyObject *operands)
{
    size_t axes = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(operands); k++) {
        PyObject *x = PyTuple_GET_ITEM(operands, k);
        axes += IS_NUMPYS(x) ? (size_t)PyArray_NDIM((PyArrayObject *)x) : 0;
    }
    return axes;
}

/* Look at the operands; 0 with an error. */
static int
take_looks(Launch *self, PyObject *values, PyObject *outs, PyObject *writes)
{
    npy_intp *room = self->extents;
    for (Py_ssize_t k = 0; k < self->values; k++) {
        room = look_at(&self->looks[k], PyTuple_GET_ITEM(values, k), room);
    }
    for (Py_ssize_t k = 0; k < self->outs; k++) {
        Look *look = &self->looks[self->values + k];
        Place *place = &self->places[self->reads + k];
        PyObject *out = PyTuple_GET_ITEM(outs, k);
        room = look_at(look, out, room);
        place->operand = (int)k;
        if (!IS_NUMPYS(out) || look->ndim == 0) {
            PyErr_SetString(PyExc_TypeError, "expected arrays of rows as outputs");
            return 0;
        }
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(writes, k), "pii", &look->is_partial, &place->at,
                              &place->stride_at)) {
            return 0;
        }
    }
    return 1;
}

/* Note where what is read is entered, and which numbers the kernel holds; 0 with an error. */
static int
take_places(Launch *self, PyObject *values, PyObject *reads, PyObject *constants)
{
    for (Py_ssize_t k = 0; k < self->reads; k++) {
        if (!place_of(&self->places[k], PyTuple_GET_ITEM(reads, k), self->values)) {
            return 0;
        }
        PyObject *x = PyTuple_GET_ITEM(values, self->places[k].operand);
        int is_whole = self->places[k].stride_at == WHOLE;
        if (!IS_NUMPYS(x) || (!is_whole && PyArray_NDIM((PyArrayObject *)x) == 0)) {
            PyErr_SetString(PyExc_TypeError, "expected arrays of rows to be read");
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < self->constants; k++) {
        Constant *constant = &self->fixed[k];
        PyObject *fixed;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(constants, k), "iOp", &constant->operand, &fixed,
                              &constant->is_double)) {
            return 0;
        }
        if (constant->operand >= self->values) {
            PyErr_SetString(PyExc_IndexError, "there is no such operand");
            return 0;
        }
        constant->fixed = Py_NewRef(fixed);
    }
    return 1;
}

static int
take_steps(Launch *self, PyObject *steps)
{
    for (Py_ssize_t k = 0; k < self->steps; k++) {
        Py_ssize_t at, step;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, k), "nn", &at, &step)) {
            return 0;
        }
        self->apart[2 * k] = at;
        self->apart[2 * k + 1] = step;
    }
    return 1;
}

/* `Launch(address, values, outs, reads, writes, constants, (streamed, streams), steps, frames)`:
   what runs the code at an address over operands that lie as these do. Each of `reads` has an
   operand, and where its address and its stride go, or WHOLE; each of `writes` whether it is partial, and the
   same; each of `constants` its operand, or -1 and what it always is; each of `steps` where it goes,
   and the bytes between elements of an operand. */
static PyObject *
launch_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *values, *outs, *reads, *writes, *constants, *steps, *frames;
    Py_ssize_t address;
    int streamed, streams;
    if (!PyArg_ParseTuple(args, "nO!O!O!O!O!(ip)O!O!", &address, &PyTuple_Type, &values,
                          &PyTuple_Type, &outs, &PyTuple_Type, &reads, &PyTuple_Type, &writes,
                          &PyTuple_Type, &constants, &streamed, &streams, &PyTuple_Type, &steps,
                          &PyList_Type, &frames)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(writes) != PyTuple_GET_SIZE(outs)) {
        PyErr_SetString(PyExc_ValueError, "expected to be told of each output");
        return NULL;
    }
    Launch *self = (Launch *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = launch_call;
    self->code = (Code)address;
    self->values = PyTuple_GET_SIZE(values);
    self->outs = PyTuple_GET_SIZE(outs);
    self->reads = PyTuple_GET_SIZE(reads);
    self->constants = PyTuple_GET_SIZE(constants);
    self->streamed = streamed;
    self->streams = streams;
    self->steps = PyTuple_GET_SIZE(steps);
    self->frames = Py_NewRef(frames);
    self->looks = PyMem_Calloc((size_t)(self->values + self->outs), sizeof(Look));
    self->extents = PyMem_Calloc(2 * (axes_of(values) + axes_of(outs)), sizeof(npy_intp));
    self->places = PyMem_Calloc((size_t)(self->reads + self->outs), sizeof(Place));
    self->fixed = PyMem_Calloc((size_t)self->constants, sizeof(Constant));
    self->apart = PyMem_Calloc(2 * (size_t)self->steps, sizeof(npy_int64));
    if (self->looks == NULL || self->extents == NULL || self->places == NULL ||
        self->fixed == NULL || self->apart == NULL) {
        PyErr_NoMemory();
    }
    else if (take_looks(self, values, outs, writes) &&
             take_places(self, values, reads, constants) && take_steps(self, steps)) {
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void
launch_dealloc(PyObject *object)
{
    Launch *self = (Launch *)object;
    for (Py_ssize_t k = 0; self->looks != NULL && k < self->values + self->outs; k++) {
        Py_XDECREF(self->looks[k].type);
    }
    for (Py_ssize_t k = 0; self->fixed != NULL && k < self->constants; k++) {
        Py_XDECREF(self->fixed[k].fixed);
    }
    PyMem_Free(self->looks);
    PyMem_Free(self->extents);
    PyMem_Free(self->places);
    PyMem_Free(self->fixed);
    PyMem_Free(self->apart);
    Py_XDECREF(self->frames);
    Py_TYPE(object)->tp_free(object);
}

/* `note_runs(list or None, clock)`: add when each run begins and ends to a list, from now on. */
PyObject *
note_runs(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *list, *clock;
    if (!PyArg_ParseTuple(args, "OO", &list, &clock)) {
        return NULL;
    }
    if (list != Py_None && !PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_TypeError, "expected a list or None");
        return NULL;
    }
    Py_XSETREF(noted_runs, list == Py_None ? NULL : Py_NewRef(list));
    Py_XSETREF(clock_of_runs, list == Py_None ? NULL : Py_NewRef(clock));
    Py_RETURN_NONE;
}

static PyMethodDef launch_methods[] = {
    {"fits", (PyCFunction)(void (*)(void))launch_fits, METH_FASTCALL,
     "Say whether values and outputs lie as those that this was made for."},
    {"shared", (PyCFunction)(void (*)(void))launch_shared, METH_FASTCALL,
     "Run all rows, in batches that threads draw: the flags raised, or -1 if nothing was run."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Launch_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dnumpy.native.Launch",
    .tp_doc = "Runs of a compiled kernel over operands that lie in one way.",
    .tp_basicsize = sizeof(Launch),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Launch, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = launch_new,
    .tp_dealloc = launch_dealloc,
    .tp_methods = launch_methods,
};
