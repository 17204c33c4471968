/* Operations on small arrays by NumPy's inner loops, past the search for them.

   Of what a ufunc takes for a few numbers nearly all goes into finding out what to run: whether an
   operand overrides it, what the dtypes are promoted to, whether the result overlaps an operand, in
   which order the axes are walked over. Operands of one built-in dtype that lie as C lays arrays out
   leave nothing to find out, and what is run over them is the loop that the ufunc itself would run,
   with the same extents and steps: the bits are NumPy's. Faults of floating point are reported by
   NumPy, under its error state.

   A loop is used once it has given what the ufunc gave for operands of a program, byte by byte. */

#include "loops.h"
#include "numbers.h"
#include "record.h"

#define MOST_UFUNCS 512 /* a power of two, of which at most half are taken */
#define MOST_OTHERS 64  /* of other libraries, which may make them as they go */
#define TYPES 25        /* NPY_BOOL to NPY_HALF */
#define MALLOC_KEEPS (8 << 20) /* bytes of an array whose memory malloc has at hand: runtime/memory.py */

typedef struct {
    PyObject *ufunc; /* kept alive, so that its address stays its own */
    int is_numpys;
    int warns; /* of a result's memory that is given by position */
    Loop loops[TYPES];
} Loops;

static Loops *known[MOST_UFUNCS];
static int known_count, others_count;

int
is_ufunc(PyObject *x)
{
    return PyObject_TypeCheck(x, &PyUFunc_Type);
}

/* Say whether a ufunc is one of NumPy's own, with one result and element by element; -1 with an error. */
static int
is_numpys_own(PyObject *ufunc)
{
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (!is_ufunc(ufunc) || u->nout != 1 || u->nin > 2 || u->core_enabled) {
        return 0;
    }
    PyObject *named = numpys_own(NULL, u->name);
    int same = named == ufunc;
    Py_XDECREF(named);
    PyErr_Clear();
    return same;
}

static Loops *
loops_of(PyObject *ufunc)
{
    size_t at = ((size_t)ufunc / OBJECT_BYTES) % MOST_UFUNCS;
    while (known[at] != NULL) {
        if (LIKELY(known[at]->ufunc == ufunc)) {
            return known[at];
        }
        at = (at + 1) % MOST_UFUNCS;
    }
    int is_own = known_count < MOST_UFUNCS / 2 && is_numpys_own(ufunc);
    if (!is_own && (known_count >= MOST_UFUNCS / 2 || others_count >= MOST_OTHERS)) {
        return NULL;
    }
    Loops *made = PyMem_Calloc(1, sizeof *made);
    if (made != NULL) {
        made->ufunc = Py_NewRef(ufunc);
        made->is_numpys = is_own;
        made->warns = is_own && (strcmp(((PyUFuncObject *)ufunc)->name, "maximum") == 0 ||
                                 strcmp(((PyUFuncObject *)ufunc)->name, "minimum") == 0);
        known[at] = made;
        known_count++;
        others_count += !is_own;
    }
    return made;
}

/* Say whether a type is one of numbers, all of whose bytes count. */
static inline int
is_of_numbers(int type)
{
    return type <= NPY_DOUBLE || type == NPY_CFLOAT || type == NPY_CDOUBLE || type == NPY_HALF;
}

/* Say whether a call with the result's memory as one more operand has something else to it. */
int
warns_of_third(PyObject *ufunc)
{
    Loops *loops = loops_of(ufunc);
    return loops == NULL || loops->warns;
}

/* Say whether a loop rounds once, and exactly, so that it is free in which order it meets elements; others
   may have one way for elements side by side, and another that rounds otherwise for the rest. */
int
is_steady(const char *name, int type)
{
    static const char *const steady[] = {
        "add", "subtract", "multiply", "divide", "less", "less_equal", "equal", "not_equal", "greater",
        "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
    };
    if (PyTypeNum_ISINTEGER(type)) {
        return 1;
    }
    for (size_t k = 0; k < sizeof steady / sizeof *steady; k++) {
        if (strcmp(name, steady[k]) == 0) {
            return !PyTypeNum_ISCOMPLEX(type);
        }
    }
    return 0;
}

/* Find the loop over operands of one type: the first that has it, as NumPy does. */
void
find_loop(Loop *loop, PyUFuncObject *ufunc, int type)
{
    loop->state = NONE;
    for (int k = 0; k < ufunc->ntypes; k++) {
        const char *types = ufunc->types + (ptrdiff_t)k * ufunc->nargs;
        int made = types[ufunc->nin];
        if (types[0] == type && types[ufunc->nin - 1] == type && is_of_numbers(made)) {
            loop->run = ufunc->functions[k];
            loop->data = ufunc->data == NULL ? NULL : ufunc->data[k];
            loop->read = PyArray_DescrFromType(type);
            loop->made = PyArray_DescrFromType(made);
            loop->is_steady = is_steady(ufunc->name, type);
            loop->is_met_beside = is_met_beside(ufunc->name, type);
            loop->state = loop->run == NULL || loop->made == NULL ? NONE : UNTRIED;
            return;
        }
    }
}

/* The dtype that operands share, borrowed; NULL where they differ or it is none of numbers. */
PyArray_Descr *
shared_dtype(PyObject *const *given, int count)
{
    PyArray_Descr *dtype = NULL;
    for (int k = 0; k < count; k++) {
        if (given[k] != NULL && IS_NUMPYS(given[k])) {
            PyArrayObject *array = (PyArrayObject *)given[k];
            if (dtype == NULL) {
                dtype = PyArray_DESCR(array);
            }
            if (PyArray_DESCR(array) != dtype || !PyArray_CHKFLAGS(array, NPY_ARRAY_ALIGNED)) {
                return NULL;
            }
        }
    }
    return dtype;
}

/* The axes of the result: its shape, from the operands'. 0 where they do not fit, or are too many. */
static int
broadcast_shape(PyObject *const *given, int count, npy_intp *shape)
{
    int axes = 0;
    for (int k = 0; k < count; k++) {
        if (IS_NUMPYS(given[k]) && PyArray_NDIM((PyArrayObject *)given[k]) > axes) {
            axes = PyArray_NDIM((PyArrayObject *)given[k]);
        }
    }
    if (axes == 0 || axes > WALKED_AXES) {
        return 0;
    }
    for (int j = 0; j < axes; j++) {
        shape[j] = 1;
    }
    for (int k = 0; k < count; k++) {
        if (!IS_NUMPYS(given[k])) {
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)given[k];
        int before = axes - PyArray_NDIM(array);
        for (int j = before; j < axes; j++) {
            npy_intp extent = PyArray_DIM(array, j - before);
            if (extent != 1 && shape[j] != 1 && extent != shape[j]) {
                return 0;
            }
            shape[j] = shape[j] == 1 ? extent : shape[j];
        }
    }
    return axes;
}

/* How an operand is walked over by axes of the result; 0 where they are in another order than C's. */
static int
walk_over(Walked *walked, PyArrayObject *array, const npy_intp *shape, int axes)
{
    int before = axes - PyArray_NDIM(array);
    npy_intp last = NPY_MAX_INTP;
    walked->data = PyArray_BYTES(array);
    for (int j = 0; j < axes; j++) {
        npy_intp step = j < before || PyArray_DIM(array, j - before) == 1
                            ? 0
                            : PyArray_STRIDE(array, j - before);
        walked->steps[j] = step;
        if (shape[j] != 1 && step != 0) {
            if (axes > 1 && (step < 0 || step > last)) {
                return 0;
            }
            last = step;
        }
    }
    return 1;
}

/* Join axes that are walked over as one, and drop those of one element; return how many are left. */
static int
join_axes(npy_intp *shape, int axes, Walked *walked, int count)
{
    int left = 0;
    for (int j = 0; j < axes; j++) {
        if (shape[j] == 1) {
            continue;
        }
        int joins = left > 0;
        for (int k = 0; joins && k < count; k++) {
            joins = walked[k].steps[left - 1] == walked[k].steps[j] * shape[j];
        }
        int to = joins ? left - 1 : left++;
        shape[to] = joins ? shape[to] * shape[j] : shape[j];
        for (int k = 0; k < count; k++) {
            walked[k].steps[to] = walked[k].steps[j];
        }
    }
    return left;
}

/* The steps over one element, on which loops look though they take none: where no operand has fewer axes
   NumPy calls the loop without an iterator, with the step of an only axis or from element to element;
   else with none. `out` may be NULL, of a new array. Return how many axes that are. */
static int
one_element(Walked *walked, PyObject *const *given, int count, const Loop *loop, PyObject *out, int axes)
{
    int alike = 1;
    for (int k = 0; k < count; k++) {
        int ndim = IS_NUMPYS(given[k]) ? PyArray_NDIM((PyArrayObject *)given[k]) : 0;
        alike = alike && (ndim == 0 || ndim == axes);
    }
    for (int k = 0; k <= count; k++) {
        PyObject *x = k < count ? given[k] : out;
        PyArrayObject *array = x != NULL && IS_NUMPYS(x) ? (PyArrayObject *)x : NULL;
        npy_intp bytes = (npy_intp)PyDataType_ELSIZE(k < count ? loop->read : loop->made);
        int has_step = alike && (k == count || (array != NULL && PyArray_NDIM(array) > 0));
        int own = array != NULL && axes == 1;
        walked[k].steps[0] = !has_step ? 0 : own ? PyArray_STRIDE(array, 0) : bytes;
    }
    return 1;
}

/* The steps of a new array, in C's order. */
static void
walk_over_new(Walked *walked, const npy_intp *shape, int axes, npy_intp bytes)
{
    for (int j = axes; j-- > 0; bytes *= shape[j]) {
        walked->steps[j] = bytes;
    }
}

#define SHORT_AXIS 16 /* elements: of fewer, what comes with a call counts more */
#define MOST_CALLS 32 /* of a short axis: for more, NumPy knows a better way */

/* Let the longest axis be the inner one, where the last is short and that does not matter; 0 if it does. */
static int
take_longest(const Loop *loop, npy_intp *shape, int axes, Walked *walked, int count)
{
    int last = axes - 1, longest = last;
    npy_intp calls = 1;
    for (int j = 0; j < last; j++) {
        longest = shape[j] > shape[last] && (longest == last || shape[j] >= shape[longest]) ? j : longest;
        calls *= shape[j];
    }
    if (axes < 2 || shape[last] >= SHORT_AXIS || calls <= MOST_CALLS ||
        are_short_rows(loop, shape, axes, walked, count)) {
        return 1;
    }
    if (!loop->is_steady) {
        return 0;
    }
    npy_intp extent = shape[last];
    shape[last] = shape[longest];
    shape[longest] = extent;
    for (int k = 0; k < count; k++) {
        npy_intp step = walked[k].steps[last];
        walked[k].steps[last] = walked[k].steps[longest];
        walked[k].steps[longest] = step;
    }
    return 1;
}

/* Run a loop over the axes, the last in each call. */
static void
run_over(const Loop *loop, const npy_intp *shape, int axes, const Walked *walked, int count)
{
    char *at[3] = {NULL};
    npy_intp steps[3], index[WALKED_AXES] = {0};
    if (are_short_rows(loop, shape, axes, walked, count)) {
        run_short_rows(loop, shape, walked, count);
        return;
    }
    if (axes == 2) { /* as most are */
        run_rows(loop, shape, walked, count);
        return;
    }
    for (int k = 0; k < count; k++) {
        at[k] = walked[k].data;
        steps[k] = walked[k].steps[axes - 1];
    }
    for (;;) {
        char *args[] = {at[0], at[1], at[2]};
        npy_intp extent = shape[axes - 1];
        loop->run(args, &extent, steps, loop->data);
        int j = axes - 2;
        for (; j >= 0; j--) {
            for (int k = 0; k < count; k++) {
                at[k] += walked[k].steps[j];
            }
            if (++index[j] < shape[j]) {
                break;
            }
            for (int k = 0; k < count; k++) {
                at[k] -= walked[k].steps[j] * shape[j];
            }
            index[j] = 0;
        }
        if (j < 0) {
            return;
        }
    }
}

/* The same without the interpreter's lock, on more threads where that takes less. */
static void
run_long(Loop *loop, const npy_intp *shape, int axes, const Walked *walked, int count, npy_intp size)
{
    int helpers = axes == 1 ? helpers_with(loop, size) : 0;
    double began = seconds_now();
    Py_BEGIN_ALLOW_THREADS
    if (helpers > 0) {
        char *data[3] = {NULL};
        npy_intp steps[3];
        for (int k = 0; k < count; k++) {
            data[k] = walked[k].data;
            steps[k] = walked[k].steps[0];
        }
        run_shared(loop, size, data, steps, count, helpers);
    }
    else {
        run_over(loop, shape, axes, walked, count);
    }
    Py_END_ALLOW_THREADS
    note_cost(loop, size, seconds_now() - began, helpers);
}

/* Tell of what went wrong in a loop, as the ufunc does: 0, or -1 with an error. */
int
told_faults(PyUFuncObject *ufunc, int integers)
{
    if (integers && PyErr_Occurred()) { /* an integer to a negative power */
        return -1;
    }
    int found = fetestexcept(FAULTS);
    if (LIKELY(found == 0)) {
        return 0;
    }
    feclearexcept(FE_ALL_EXCEPT);
    int faults = (found & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) |
                 (found & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0) |
                 (found & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) |
                 (found & FE_INVALID ? NPY_FPE_INVALID : 0);
    return PyUFunc_GiveFloatingpointErrors(ufunc->name, faults);
}

/* Compare what a loop made with what the ufunc makes of the same, which is given; it is trusted then. */
PyObject *
tried(Loop *loop, PyObject *ufunc, PyObject *const *given, int count, PyObject *made)
{
    PyObject *theirs = PyObject_Vectorcall(ufunc, given, count, NULL);
    PyObject *array = theirs != NULL && PyArray_CheckScalar(theirs) ? PyArray_FromScalar(theirs, NULL)
                                                                    : Py_XNewRef(theirs);
    PyArrayObject *a = (PyArrayObject *)made, *b = (PyArrayObject *)array;
    if (theirs != NULL && array == NULL) {
        Py_CLEAR(theirs);
    }
    if (theirs != NULL && PyArray_SIZE(a) > 0) {
        int same = IS_NUMPYS(array) && PyArray_DESCR(a) == PyArray_DESCR(b) &&
                   PyArray_SAMESHAPE(a, b) && PyArray_IS_C_CONTIGUOUS(b) &&
                   memcmp(PyArray_BYTES(a), PyArray_BYTES(b), PyArray_NBYTES(a)) == 0;
        loop->state = same ? TRUSTED : NONE;
    }
    Py_XDECREF(array);
    Py_DECREF(made);
    return theirs;
}

/* The loop over operands of one dtype, arrays of NumPy's or numbers, if it may be used; NULL if not. */
static Loop *
loop_over(PyObject *ufunc, PyObject *const *given, int count)
{
    PyArray_Descr *dtype = shared_dtype(given, count);
    Loops *loops = dtype == NULL || ufunc == NULL ? NULL : loops_of(ufunc);
    int type = dtype == NULL ? 0 : dtype->type_num;
    if (loops == NULL || !loops->is_numpys || !is_of_numbers(type) ||
        ((PyUFuncObject *)ufunc)->nin != count) {
        return NULL;
    }
    Loop *loop = &loops->loops[type];
    if (loop->state == UNKNOWN) {
        find_loop(loop, (PyUFuncObject *)ufunc, type);
    }
    return loop->state != NONE && loop->read == dtype ? loop : NULL;
}

/* What a ufunc of NumPy's makes of small arrays of one shape, or of one and a number, as ours, new; NULL
   without an error for all else. It is done before anything else has been looked at. */
PyObject *
looped_alike(PyObject *ufunc, PyObject *x, PyObject *y)
{
    PyObject *given[] = {x, y};
    PyArrayObject *first = NULL;
    int count = y == NULL ? 1 : 2;
    Number number;
    for (int k = 0; k < count; k++) {
        if (!IS_ARRAY(given[k]) && !IS_NUMPYS(given[k])) {
            continue;
        }
        if (IS_NUMPYS(given[k]) && !is_at_once(given[k])) {
            return NULL;
        }
        given[k] = IS_ARRAY(given[k]) ? ((Handle *)given[k])->np : given[k];
        if (given[k] == NULL || !IS_NUMPYS(given[k])) {
            return NULL;
        }
        PyArrayObject *array = (PyArrayObject *)given[k];
        int axes = PyArray_NDIM(array);
        if (axes == 0 || (axes > 1 && !PyArray_IS_C_CONTIGUOUS(array)) ||
            (first != NULL && (axes != PyArray_NDIM(first) ||
                               !PyArray_CompareLists(PyArray_DIMS(first), PyArray_DIMS(array), axes)))) {
            return NULL;
        }
        first = array;
    }
    if (first == NULL) {
        return NULL;
    }
    npy_intp size = size_of_array(first);
    Loop *loop = size == 0 || size > HELD_BELOW || size >= setting(world.eager_below_at)
                     ? NULL
                     : loop_over(ufunc, given, count);
    if (loop == NULL || loop->state != TRUSTED) {
        return NULL;
    }
    char *args[3];
    npy_intp steps[3];
    for (int k = 0; k < count; k++) {
        PyArrayObject *array = (PyArrayObject *)given[k];
        if (!IS_NUMPYS(given[k])) {
            if (!put_number(&number, given[k], loop->read->type_num)) {
                return NULL;
            }
            args[k] = (char *)&number;
            steps[k] = 0;
            continue;
        }
        args[k] = PyArray_BYTES(array);
        steps[k] = PyArray_NDIM(array) == 1 ? PyArray_STRIDE(array, 0) : PyArray_ITEMSIZE(array);
    }
    PyObject *made = new_array(loop->made, PyArray_NDIM(first), PyArray_DIMS(first));
    if (made == NULL) {
        return NULL;
    }
    args[count] = PyArray_BYTES((PyArrayObject *)made);
    steps[count] = PyArray_ITEMSIZE((PyArrayObject *)made);
    forget_faults();
    loop->run(args, &size, steps, loop->data);
    if (told_faults((PyUFuncObject *)ufunc, PyTypeNum_ISINTEGER(loop->read->type_num)) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return new_handle(made, NULL);
}

/* New memory for a result; of a large one that which was used before, as malloc keeps of others. */
static PyObject *
memory_for(const Loop *loop, int axes, npy_intp *shape, npy_intp size)
{
    int kept = size * PyDataType_ELSIZE(loop->made) <= MALLOC_KEEPS && setting(world.memory_limit_at) == 0;
    if (kept || size < setting(world.eager_below_at)) {
        return new_array(loop->made, axes, shape);
    }
    PyObject *extents = PyArray_IntTupleFromIntp(axes, shape);
    PyObject *args[] = {extents, (PyObject *)loop->made};
    PyObject *made = extents == NULL ? NULL : PyObject_Vectorcall(world.room, args, 2, NULL);
    Py_XDECREF(extents);
    return made;
}

/* Try a loop over two operands on ones, of which no ufunc complains: what it writes over is not to be
   computed twice. */
static void
try_on_ones(Loop *loop, PyObject *ufunc)
{
    npy_intp count = 3;
    PyObject *ones = PyArray_SimpleNew(1, &count, loop->read->type_num), *one = PyLong_FromLong(1);
    if (ones != NULL && one != NULL && PyArray_FillWithScalar((PyArrayObject *)ones, one) == 0) {
        PyObject *pair[] = {ones, ones};
        PyObject *made = looped(ufunc, pair, 2, NULL);
        Py_XDECREF(made);
    }
    Py_XDECREF(ones);
    Py_XDECREF(one);
    PyErr_Clear();
}

/* What a ufunc of NumPy's makes of one or two operands, arrays of NumPy's or numbers, new, in `out` if
   that is given; NULL without an error where that is left to NumPy. */
PyObject *
looped(PyObject *ufunc, PyObject *const *given, int count, PyObject *out)
{
    Loop *loop = loop_over(ufunc, given, count);
    npy_intp shape[WALKED_AXES];
    if (loop != NULL && out != NULL && loop->state == UNTRIED && count == 2) {
        try_on_ones(loop, ufunc);
    }
    int axes = loop == NULL || (out != NULL && loop->state != TRUSTED)
                   ? 0
                   : broadcast_shape(given, count, shape);
    if (axes == 0) {
        return NULL;
    }
    Number numbers[2];
    Walked walked[3];
    for (int k = 0; k < count; k++) {
        if (IS_NUMPYS(given[k])) {
            if (!walk_over(&walked[k], (PyArrayObject *)given[k], shape, axes)) {
                return NULL;
            }
        }
        else if (put_number(&numbers[k], given[k], loop->read->type_num)) {
            walked[k] = (Walked){.data = (char *)&numbers[k]};
        }
        else {
            return NULL;
        }
    }
    if (out == NULL) {
        walk_over_new(&walked[count], shape, axes, (npy_intp)PyDataType_ELSIZE(loop->made));
    }
    else if (!takes((PyArrayObject *)out, loop->made, given, count, shape, axes) ||
             !walk_over(&walked[count], (PyArrayObject *)out, shape, axes)) {
        return NULL;
    }
    npy_intp extents[WALKED_AXES], size = 1;
    for (int j = 0; j < axes; j++) {
        extents[j] = shape[j];
        size *= shape[j];
    }
    int left = size == 1 ? one_element(walked, given, count, loop, out, axes)
                         : join_axes(extents, axes, walked, count + 1);
    if (size > 1 && (!take_longest(loop, extents, left, walked, count + 1) ||
                     (left > 1 && loop->is_met_beside && is_spread(walked, left, count)))) {
        return NULL;
    }
    PyObject *made = out == NULL ? memory_for(loop, axes, shape, size) : Py_NewRef(out);
    if (made == NULL) {
        return NULL;
    }
    walked[count].data = PyArray_BYTES((PyArrayObject *)made);
    if (size > 0) {
        forget_faults();
        if (size > HELD_BELOW) {
            run_long(loop, extents, left, walked, count + 1, size);
        }
        else {
            run_over(loop, extents, left, walked, count + 1);
        }
    }
    if (LIKELY(loop->state == TRUSTED)) {
        int integers = PyTypeNum_ISINTEGER(loop->read->type_num);
        if (size > 0 && told_faults((PyUFuncObject *)ufunc, integers) < 0) {
            Py_CLEAR(made);
        }
        return made;
    }
    PyErr_Clear(); /* the ufunc says it itself */
    return tried(loop, ufunc, given, count, made);
}

/* Have the part of NumPy's interface in C that is about ufuncs: 0, or -1 with an error. */
int
prepare_loops(void)
{
    return _import_umath();
}
