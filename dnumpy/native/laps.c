/* Arrays of a size between: NumPy is done with one operation on them before an evaluation of ours has
   begun, but several that are computed together take less. Whether the loop that is running gains by
   that is measured, by laps: dnumpy/expr/laps.py says how. This file counts them. */

#include "record.h"

/* Operations elsewhere after which a loop is over: some times as many as there were between two of its
   laps. Of a new one that is not known, and more each time that none was come back to. */
#define LEAST_OTHERS 32
#define MOST_OTHERS 1024
#define TIMES_OTHERS 4

static struct {
    Py_ssize_t most;        /* elements: sizes between are smaller; 0 until Python has told */
    PyObject *ended;        /* called where a lap begins that ends a block: -> (waits, laps to come) */
    PyObject *begins;       /* (code, instruction) -> the same, where another loop begins */
    PyObject *site_here;    /* makes the site of the line that is running */
    PyObject *compute;      /* gives an array that waits its content */
    PyCodeObject *code;     /* the place at which a lap begins */
    int instruction, waits, known; /* `known`: it was come back to */
    long laps, due, others, patience, hope; /* `others` may be so many; or those of the next loop */
    unsigned long thread;
} loop;

Py_ssize_t least_between = PY_SSIZE_T_MAX; /* elements */
int recording_between; /* whether what is recorded now is between those sizes: views of it are taken */

/* The elements of an array of ours, or of the base that it shows; -1 for anything else. */
static Py_ssize_t
size_of(PyObject *x)
{
    if (x == NULL || !IS_ARRAY(x)) {
        return -1;
    }
    Handle *handle = (Handle *)x;
    if (handle->np != NULL && IS_NUMPYS(handle->np)) {
        return PyArray_SIZE((PyArrayObject *)handle->np);
    }
    if (told.buffer_type == NULL || handle->buf == NULL || Py_TYPE(handle->buf) != told.buffer_type) {
        return -1;
    }
    PyObject *shape = *place_of(handle->buf, told.buffer.shape);
    return shape != NULL && PyTuple_CheckExact(shape) ? elements_of(shape) : -1;
}

static int
is_between(Py_ssize_t size)
{
    return size >= least_between && size < loop.most;
}

static void
take_answer(PyObject *answer)
{
    int waits;
    long due;
    loop.laps = 0;
    if (answer != NULL && PyArg_ParseTuple(answer, "pl", &waits, &due)) {
        loop.waits = waits;
        loop.due = due;
    }
    else {
        loop.waits = 0;
        loop.due = LONG_MAX;
    }
    Py_XDECREF(answer);
}

/* Count an operation; say whether those of this loop wait at the moment. -1 with an error. */
static int
counted(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return 0;
    }
    PyCodeObject *code = PyFrame_GetCode(frame);
    int instruction = PyFrame_GetLasti(frame);
    if (code == loop.code && instruction == loop.instruction) {
        if (!loop.known) {
            loop.known = 1;
            loop.patience = LEAST_OTHERS;
            loop.hope = LEAST_OTHERS;
        }
        if (TIMES_OTHERS * loop.others > loop.patience) {
            loop.patience = TIMES_OTHERS * loop.others;
        }
        loop.others = 0;
        if (++loop.laps >= loop.due) {
            take_answer(PyObject_CallNoArgs(loop.ended));
        }
    }
    else if (loop.code == NULL || ++loop.others >= loop.patience) {
        if (!loop.known) {
            loop.hope = loop.hope >= MOST_OTHERS ? LEAST_OTHERS : 2 * loop.hope;
        }
        Py_XSETREF(loop.code, (PyCodeObject *)Py_NewRef(code));
        loop.instruction = instruction;
        loop.known = 0;
        loop.patience = loop.hope;
        loop.others = 0;
        take_answer(PyObject_CallFunction(loop.begins, "Oi", code, instruction));
    }
    Py_DECREF(code);
    return PyErr_Occurred() ? -1 : loop.waits;
}

/* Say whether what is done with these operands is to wait; -1 with an error. y may be NULL. */
int
waits_between(PyObject *x, PyObject *y)
{
    if (loop.most == 0 || (!is_between(size_of(x)) && !is_between(size_of(y))) ||
        PyThread_get_thread_ident() != loop.thread ||
        setting(world.eager_below_at) != loop.most) {
        return 0;
    }
    return counted();
}

static int
is_set(PyObject *slot)
{
    return slot != NULL && slot != Py_None && slot != Py_False;
}

/* Let the engine have the memory of an array that NumPy made, if nobody else shows it; 0 if that is not
   so, and the array is not a little one, which is copied. */
static int
handed_over(PyObject *x)
{
    if (!IS_ARRAY(x)) {
        return !IS_NUMPYS(x);
    }
    Handle *handle = (Handle *)x;
    PyObject *np = handle->np;
    if (np == NULL || !IS_NUMPYS(np) || !is_between(PyArray_SIZE((PyArrayObject *)np))) {
        return np != NULL && (np == Py_None || PyArray_SIZE((PyArrayObject *)np) < least_between);
    }
    if (Py_REFCNT(np) != 1 || PyArray_BASE((PyArrayObject *)np) != NULL ||
        is_set(handle->base) || is_set(handle->seen) || is_set(handle->readonly) ||
        !PyArray_CHKFLAGS((PyArrayObject *)np, NPY_ARRAY_OWNDATA | NPY_ARRAY_CARRAY) ||
        !is_managed_dtype((PyObject *)PyArray_DESCR((PyArrayObject *)np))) {
        return 0;
    }
    PyObject *leaf = stored(np), *buffer = leaf == NULL ? NULL : buffer_of(leaf);
    Py_XDECREF(leaf);
    if (buffer == NULL) {
        return 0;
    }
    Py_XSETREF(handle->buf, buffer);
    Py_XSETREF(handle->base, Py_NewRef(Py_None));
    Py_XSETREF(handle->place, Py_NewRef(Py_None));
    Py_XSETREF(handle->seen, Py_NewRef(Py_None));
    Py_XSETREF(handle->readonly, Py_NewRef(Py_False));
    Py_SETREF(handle->np, Py_NewRef(Py_None));
    return 1;
}

/* Say whether the line that is running is a known place, which is made if there is none. The race of
   such places is not asked: the laps of a loop tell more. */
static int
is_known_here(void)
{
    if (site_now() != NULL) {
        return 1;
    }
    PyObject *made = PyErr_Occurred() ? NULL : PyObject_CallNoArgs(loop.site_here);
    Py_XDECREF(made);
    return made != NULL;
}

/* Let NumPy have what waits beside an array that cannot be handed over: else that would be copied.
   0, or -1 with an error. */
static int
computed_now(PyObject *x)
{
    if (x == NULL || !IS_ARRAY(x) || ((Handle *)x)->np != Py_None || !is_between(size_of(x))) {
        return 0;
    }
    PyObject *content = PyObject_CallOneArg(loop.compute, x);
    Py_XDECREF(content);
    return content == NULL ? -1 : 0;
}

PyObject *
recorded_where_faster(PyObject *row, PyObject *x, PyObject *y, int into)
{
    int waits = row == NULL || row == Py_None ? 0 : waits_between(x, y);
    if (waits <= 0 || !is_known_here()) {
        return NULL;
    }
    if (!handed_over(x) || (y != NULL && !handed_over(y))) {
        if (computed_now(x) == 0) {
            computed_now(y);
        }
        return NULL;
    }
    recording_between = 1;
    PyObject *r = into ? record_into(row, x, y) : record_now(row, x, y);
    recording_between = 0;
    return r;
}

/* Take what Python tells: sizes, and whom to ask. */
PyObject *
take_laps(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *ended, *begins, *site_here, *compute;
    Py_ssize_t least, most;
    if (!PyArg_ParseTuple(args, "nnOOOO", &least, &most, &ended, &begins, &site_here, &compute)) {
        return NULL;
    }
    Py_XSETREF(loop.ended, Py_NewRef(ended));
    Py_XSETREF(loop.begins, Py_NewRef(begins));
    Py_XSETREF(loop.site_here, Py_NewRef(site_here));
    Py_XSETREF(loop.compute, Py_NewRef(compute));
    Py_CLEAR(loop.code);
    least_between = least;
    loop.most = most;
    loop.waits = loop.known = 0;
    loop.laps = loop.others = 0;
    loop.hope = LEAST_OTHERS;
    loop.thread = PyThread_get_thread_ident();
    Py_RETURN_NONE;
}
