/* Arrays of a size between: NumPy is done with one operation on them before an evaluation of ours has
   begun, but several that are computed together take less. Of larger ones each operation waits, but
   some programs do so much else that nothing is gained by it. What the loop that is running gains by
   is measured, by laps: dnumpy/expr/laps.py says how. This file counts them. */

#include "record.h"

/* Operations elsewhere after which a loop is over: some times as many as there were between two of its
   laps. Of a new one that is not known, and more each time that none was come back to. */
#define LEAST_OTHERS 32
#define MOST_OTHERS 1024
#define TIMES_OTHERS 4
/* Times the longest lap, and seconds more, after which it is over, too, if other code runs. */
#define TIMES_LONGER 3
#define SECONDS_LONGER 0.01
#define FADES 0.95 /* what is left of the longest lap after one more: kernels were compiled in it */
#define LEAST_OVER 4

static struct {
    Py_ssize_t most;        /* elements: sizes between are smaller; 0 until Python has told */
    PyObject *ended;        /* called where a lap begins that ends a block, with the elements that
                               were worked on in it, whether some operations are of sizes between,
                               and the seconds of the shortest lap: -> (way, laps to come, whether
                               it yields) */
    PyObject *begins;       /* (code, instruction, elements) -> the same, where another loop begins */
    PyObject *site_here;    /* makes the site of the line that is running */
    PyObject *compute;      /* gives an array that waits its content */
    PyCodeObject *code;     /* the place at which a lap begins */
    const void *within;     /* what was called from there of a library, and where that was */
    int within_at;
    int instruction, way, known; /* `known`: it was come back to */
    int yields;             /* one on larger arrays takes over, if such an operation comes */
    int takes_over;         /* this is such a loop */
    int mixed;              /* some operations since a block began are of sizes between */
    double elements;        /* of operations since then */
    double size;            /* of the operation that begins a lap, in elements */
    long laps, due, others, patience, hope; /* `others` may be so many; or those of the next loop */
    double hit_at, longest; /* seconds: when the latest lap began, and of the longest of late */
    double shortest;        /* of a block */
    unsigned long thread;
} loop;

Py_ssize_t least_between = PY_SSIZE_T_MAX; /* elements */
enum { AS_EVER, WAITING, AT_ONCE }; /* ways: in laps.py, too */
#define MOST_STEPS 256 /* of what waits that are looked at */
#define TIMES_LARGER 4 /* than the operation that begins laps: in laps.py, too */

int loop_waits; /* whether the loop that is running goes that way */
int recording_between; /* whether what is recorded now is between those sizes: views of it are taken */

/* The elements of others that take as long as so many. NumPy is done with large arrays of booleans and
   bytes as soon as with fewer others (api/array.py, runs_at_once): those are of a size between, too. */
static Py_ssize_t
like_others(Py_ssize_t size, Py_ssize_t itemsize)
{
    if (itemsize != 1 || size < loop.most || size / BYTES_OF_OTHERS >= loop.most) {
        return size;
    }
    Py_ssize_t others = size / BYTES_OF_OTHERS;
    return others < least_between ? least_between : others;
}

static Py_ssize_t
like_numpys(PyArrayObject *array)
{
    return like_others(PyArray_SIZE(array), PyArray_ITEMSIZE(array));
}

/* The elements that an array of ours counts for, or the base that it shows; -1 for anything else. */
static Py_ssize_t
size_of(PyObject *x)
{
    if (x == NULL || !IS_ARRAY(x)) {
        return -1;
    }
    Handle *handle = (Handle *)x;
    if (handle->np != NULL && IS_NUMPYS(handle->np)) {
        return like_numpys((PyArrayObject *)handle->np);
    }
    if (told.buffer_type == NULL || handle->buf == NULL || Py_TYPE(handle->buf) != told.buffer_type) {
        return -1;
    }
    PyObject *shape = *place_of(handle->buf, told.buffer.shape);
    PyObject *dtype = *place_of(handle->buf, told.buffer.dtype);
    if (shape == NULL || !PyTuple_CheckExact(shape) || dtype == NULL || !PyArray_DescrCheck(dtype)) {
        return -1;
    }
    return like_others(elements_of(shape), PyDataType_ELSIZE((PyArray_Descr *)dtype));
}

/* Say whether an array of ours is of complex numbers. */
static int
is_complex(PyObject *x)
{
    Handle *handle = (Handle *)x;
    int is_numpys = handle->np != NULL && IS_NUMPYS(handle->np);
    PyObject *dtype = is_numpys ? (PyObject *)PyArray_DESCR((PyArrayObject *)handle->np)
                                : *place_of(handle->buf, told.buffer.dtype);
    return dtype != NULL && PyArray_DescrCheck(dtype) &&
           PyTypeNum_ISCOMPLEX(((PyArray_Descr *)dtype)->type_num);
}

static int
is_between(Py_ssize_t size)
{
    return size >= least_between && size < loop.most;
}

static void
take_answer(PyObject *answer)
{
    int way, yields = 0;
    long due;
    loop.laps = 0;
    loop.elements = 0;
    loop.mixed = 0;
    loop.shortest = Py_HUGE_VAL;
    if (answer != NULL && PyArg_ParseTuple(answer, "il|p", &way, &due, &yields)) {
        loop.way = way;
        loop.due = due;
        loop.yields = yields;
    }
    else {
        loop.way = AS_EVER;
        loop.due = LONG_MAX;
        loop.yields = 0;
    }
    loop_waits = loop.way == WAITING;
    Py_XDECREF(answer);
}

/* A place in the program, and in a library's Python, or ours, if that runs the operation. */
typedef struct {
    PyCodeObject *code; /* counted; NULL where nothing of Python's runs */
    const void *within;
    int instruction, within_at;
} Spot;

static int
is_inside(PyCodeObject *code)
{
    if (told.inside == NULL) {
        return 0;
    }
    PyObject *inside = PyDict_GetItem(told.inside, code->co_filename);
    if (inside == NULL) { /* of a file that nothing was recorded in */
        inside = PyObject_CallOneArg(told.note_file, code->co_filename);
        Py_XDECREF(inside); /* one of three that live on */
        PyErr_Clear();
    }
    return inside == Py_True || inside == Py_Ellipsis;
}

/* Where the program is. Whoever calls `x ** 2` or `np.roll` in some loop comes to the same lines there. */
static Spot
spot_now(void)
{
    Spot spot = {NULL, NULL, 0, 0};
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return spot;
    }
    spot.code = PyFrame_GetCode(frame);
    spot.instruction = PyFrame_GetLasti(frame);
    if (LIKELY(!is_inside(spot.code))) {
        return spot;
    }
    spot.within = spot.code;
    spot.within_at = spot.instruction;
    Py_INCREF(frame);
    while (is_inside(spot.code)) {
        PyFrameObject *above = PyFrame_GetBack(frame);
        if (above == NULL) {
            break;
        }
        Py_SETREF(frame, above);
        Py_SETREF(spot.code, PyFrame_GetCode(frame));
        spot.instruction = PyFrame_GetLasti(frame);
    }
    Py_DECREF(frame);
    return spot;
}

/* Count an operation on so many elements; the way in which those of this loop go at the moment, or -1
   with an error. */
static int
counted(Py_ssize_t elements)
{
    Spot spot = spot_now();
    PyCodeObject *code = spot.code;
    int instruction = spot.instruction;
    if (code == NULL) {
        return 0;
    }
    int takes_over = loop.yields && elements >= loop.most;
    int begins_lap = code == loop.code && instruction == loop.instruction &&
                     spot.within == loop.within && spot.within_at == loop.within_at;
    /* to look at the clock takes as long as a small operation: between laps nobody asks */
    int is_asked = begins_lap || loop.code == NULL || takes_over || code != loop.code ||
                   loop.others + 1 >= loop.patience;
    double now = is_asked ? seconds_now() : loop.hit_at, since = now - loop.hit_at;
    if (begins_lap) {
        loop.longest = since > loop.longest ? since : FADES * loop.longest + (1 - FADES) * since;
        loop.shortest = since < loop.shortest ? since : loop.shortest;
        loop.hit_at = now;
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
            take_answer(PyObject_CallFunction(loop.ended, "did", loop.elements, loop.mixed,
                                              loop.shortest));
            loop.hit_at = seconds_now(); /* without what was computed meanwhile */
        }
    }
    else if (loop.code == NULL || takes_over || ++loop.others >= loop.patience ||
             (loop.known && code != loop.code && loop.others >= LEAST_OVER &&
              since > TIMES_LONGER * loop.longest + SECONDS_LONGER)) {
        if (!loop.known && !loop.takes_over) {
            loop.hope = loop.hope >= MOST_OTHERS ? LEAST_OTHERS : 2 * loop.hope;
        }
        Py_XSETREF(loop.code, (PyCodeObject *)Py_NewRef(code));
        loop.instruction = instruction;
        loop.within = spot.within; /* told apart by its address alone */
        loop.within_at = spot.within_at;
        loop.size = (double)elements;
        loop.known = 0;
        loop.hit_at = now;
        loop.longest = 0;
        loop.takes_over = takes_over;
        loop.patience = takes_over ? MOST_OTHERS : loop.hope;
        loop.others = 0;
        take_answer(PyObject_CallFunction(loop.begins, "Oin", code, instruction, elements));
    }
    loop.elements += (double)elements;
    loop.mixed |= is_between(elements);
    Py_DECREF(code);
    return PyErr_Occurred() ? -1 : loop.way;
}

/* Say whether what is done with these operands is to wait, as it would not otherwise; -1 with an error.
   y may be NULL. */
static int
waits_between(PyObject *x, PyObject *y)
{
    Py_ssize_t first = size_of(x), second = size_of(y), size = first > second ? first : second;
    if (loop.most == 0 || size < least_between ||
        PyThread_get_thread_ident() != loop.thread ||
        setting(world.eager_below_at) != loop.most) {
        return 0;
    }
    if ((first >= loop.most && is_complex(x)) || (second >= loop.most && is_complex(y))) {
        loop.elements = Py_HUGE_VAL; /* whose sums depend on what waits, too */
    }
    int way = counted(size);
    return way < 0 ? -1 : way == WAITING && (is_between(first) || is_between(second));
}

/* Say whether what reads and writes so many bytes in the loop that is running is NumPy's at once, where
   it has the same bits. What is much larger than the loop's is not known. */
int
goes_at_once(Py_ssize_t bytes)
{
    return loop.way == AT_ONCE && PyThread_get_thread_ident() == loop.thread &&
           (double)bytes <= TIMES_LARGER * 24 * loop.size; /* of three arrays of 8 bytes */
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
    if (np == NULL || !IS_NUMPYS(np) || !is_between(like_numpys((PyArrayObject *)np))) {
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

/* Let the engine have the memory of an array that a view is taken of, where the loop waits: what is done
   with the view could not wait over memory that two arrays of NumPy's show. */
int
views_wait(PyObject *x)
{
    return PyThread_get_thread_ident() == loop.thread &&
           setting(world.eager_below_at) == loop.most && is_between(size_of(x)) && handed_over(x);
}

/* Say whether what is recorded by this thread waits, whatever it is. */
int
waits_here(void)
{
    return loop_waits && PyThread_get_thread_ident() == loop.thread;
}

/* Say whether what is made of all pairs of two arrays is of a size between and waits with those that
   the arrays show parts of. */
int
pairs_wait(PyObject *x, PyObject *y)
{
    return waits_here() && setting(world.eager_below_at) == loop.most && IS_ARRAY(x) && IS_ARRAY(y) &&
           (is_between(size_of(x)) || is_between(size_of(y)));
}

/* Say whether an array that lies here is one with which that what is being recorded waits. */
int
counts_between(PyObject *shape, PyObject *dtype)
{
    return recording_between && waits_here() &&
           is_between(like_others(elements_of(shape), PyDataType_ELSIZE((PyArray_Descr *)dtype)));
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

/* Say whether what waits is made of arrays so small that NumPy would have been done with it, had the
   loop gone as ever. */
static int
is_of_few(PyObject *x, int *steps)
{
    if (!IS_EXPR(x)) {
        return 1;
    }
    Node *node = (Node *)x;
    Py_ssize_t itemsize = PyDataType_ELSIZE((PyArray_Descr *)node->dtype);
    if (like_others(elements_of(node->shape), itemsize) >= loop.most || --*steps < 0) {
        return 0;
    }
    for (Py_ssize_t k = 0; IS_PENDING(node) && k < PyTuple_GET_SIZE(node->args); k++) {
        if (!is_of_few(PyTuple_GET_ITEM(node->args, k), steps)) {
            return 0;
        }
    }
    return 1;
}

/* Products have other bits where their operands wait. Whether these do must not depend on the way that
   the loop goes: what would not have waited is computed, and loops with products of large arrays have
   but one way. -1 with an error. */
int
before_product(PyObject *const *args, Py_ssize_t count)
{
    if (loop.most == 0 || PyThread_get_thread_ident() != loop.thread ||
        setting(world.eager_below_at) != loop.most) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        Py_ssize_t size = size_of(args[k]);
        if (size < least_between) {
            continue;
        }
        loop.elements += size < loop.most ? 0 : Py_HUGE_VAL;
        PyObject *expr = ((Handle *)args[k])->np != Py_None ? NULL : expr_of(((Handle *)args[k])->buf);
        int steps = MOST_STEPS;
        if (expr != NULL && IS_PENDING((Node *)expr) && is_of_few(expr, &steps) &&
            computed_now(args[k]) < 0) {
            return -1;
        }
    }
    return 0;
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

/* What a function gives where its arguments are of sizes between, and the loop waits; NULL without an
   error where that is nobody's to record. */
PyObject *
called_between(PyObject *records, PyObject *waits, PyObject *const *args, Py_ssize_t count,
               PyObject *kwnames)
{
    Py_ssize_t names = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    int some = 0;
    if (recording_between || !waits_here() || setting(world.eager_below_at) != loop.most) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count + names; k++) {
        if (k >= count && IS_ARRAY(args[k])) {
            return NULL; /* what is written to */
        }
        some |= is_between(size_of(args[k]));
    }
    if (!some || !is_known_here()) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (IS_ARRAY(args[k]) && !handed_over(args[k])) {
            return NULL;
        }
    }
    recording_between = 1;
    PyObject *r = replayed(records, args, count, kwnames);
    if (r == NULL && !PyErr_Occurred()) {
        r = PyObject_Vectorcall(waits, args, (size_t)count, kwnames);
    }
    recording_between = 0;
    return r;
}

PyObject *
records_between(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(recording_between && waits_here());
}

/* The same where Python begins a product. */
PyObject *
begins_product(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (before_product(args, count) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
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
    loop.way = loop.known = loop_waits = 0;
    loop.laps = loop.others = 0;
    loop.hope = LEAST_OTHERS;
    loop.thread = PyThread_get_thread_ident();
    Py_RETURN_NONE;
}
