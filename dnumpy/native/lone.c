/* Short ways of large arrays: sums and means of floats that lie here, at lines that look at each by
   itself (api/summed.py says why, and how each is summed), and views in another shape. */

#include "asked.h"
#include "folds.h"
#include "record.h"

#define AXES 4
#define KNOWN 64 /* ways, by what they are of: each has one place */
#define EACH (-1) /* axis of a sum over all of them */

/* How arrays of one kind are summed over an axis or all. */
typedef struct {
    int ndim, type, kind; /* kind: of a Sum; NOT_KNOWN of a place that is free, ELSEWHERE of what
                             Python looks at */
    Py_ssize_t axis, tile, each; /* each: of how many elements a sum is */
    npy_intp shape[AXES], strides[AXES];
    npy_intp seen[AXES], given[AXES], kept[AXES]; /* as it is seen; of the result, and with the axis */
    int seen_in, given_in;                        /* how many axes */
} Way;

enum { NOT_KNOWN = -1, ELSEWHERE = -2 };
static Way known[KNOWN];
static long long as_of = -1; /* how often the settings had been changed */

static int
is_of(const Way *way, PyArrayObject *a, Py_ssize_t axis)
{
    size_t bytes = (size_t)PyArray_NDIM(a) * sizeof(npy_intp);
    return way->kind != NOT_KNOWN && way->ndim == PyArray_NDIM(a) && way->axis == axis &&
           way->type == PyArray_TYPE(a) && memcmp(way->shape, PyArray_DIMS(a), bytes) == 0 &&
           memcmp(way->strides, PyArray_STRIDES(a), bytes) == 0;
}

/* Ask Python, and note what it says. */
static void
ask(Way *way, PyArrayObject *a, Py_ssize_t axis)
{
    PyObject *over = axis == EACH ? Py_NewRef(Py_None) : PyLong_FromSsize_t(axis), *told_way = NULL;
    if (over != NULL) {
        PyObject *args[] = {(PyObject *)a, over};
        told_way = PyObject_Vectorcall(world.way_of_sum, args, 2, NULL);
    }
    way->kind = ELSEWHERE;
    if (told_way != NULL && PyTuple_Check(told_way) && PyTuple_GET_SIZE(told_way) == 6) {
        PyObject **of = &PyTuple_GET_ITEM(told_way, 0);
        const char *name = PyUnicode_AsUTF8(of[0]);
        way->tile = PyLong_AsSsize_t(of[2]);
        way->each = PyLong_AsSsize_t(of[3]);
        way->seen_in = take_numbers(of[1], way->seen, AXES);
        way->given_in = take_numbers(of[4], way->given, AXES);
        int kept = take_numbers(of[5], way->kept, AXES);
        if (name != NULL && way->seen_in >= 0 && way->given_in >= 0 && kept >= 0) {
            way->kind = kind_of_sum(name);
        }
    }
    PyErr_Clear();
    Py_XDECREF(told_way);
    Py_XDECREF(over);
}

/* How to sum an array; NULL where Python has to look. */
static const Way *
way_of(PyArrayObject *a, Py_ssize_t axis)
{
    long long now = PyLong_AsLongLong(*place_of(world.config, told.changes));
    if (now != as_of) { /* of tiles, too */
        for (int k = 0; k < KNOWN; k++) {
            known[k].kind = NOT_KNOWN;
        }
        as_of = now;
    }
    size_t at = (size_t)axis + (size_t)PyArray_TYPE(a);
    for (int k = 0; k < PyArray_NDIM(a); k++) {
        at = at * 1000003 + (size_t)PyArray_DIM(a, k) * 31 + (size_t)PyArray_STRIDE(a, k);
    }
    Way *way = &known[(at ^ at >> 17) % KNOWN];
    if (!is_of(way, a, axis)) {
        size_t bytes = (size_t)PyArray_NDIM(a) * sizeof(npy_intp);
        way->ndim = PyArray_NDIM(a);
        way->type = PyArray_TYPE(a);
        way->axis = axis;
        memcpy(way->shape, PyArray_DIMS(a), bytes);
        memcpy(way->strides, PyArray_STRIDES(a), bytes);
        ask(way, a, axis);
    }
    return way->kind < 0 ? NULL : way;
}

/* Make means of sums; 0 where there is a fault to be told of. */
static int
are_divided(PyArrayObject *sums, Py_ssize_t each)
{
    npy_intp count = PyArray_SIZE(sums);
    clear_faults();
    if (PyArray_TYPE(sums) == NPY_DOUBLE) {
        double *x = PyArray_DATA(sums), n = (double)each;
        for (npy_intp k = 0; k < count; k++) {
            x[k] /= n;
        }
    }
    else {
        float *x = PyArray_DATA(sums), n = (float)each;
        for (npy_intp k = 0; k < count; k++) {
            x[k] /= n;
        }
    }
    STORED;
    int faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
    clear_faults();
    return !faults;
}

/* The sums or means of an array, an array, new; NULL without an error where there is a fault to be told
   of, or Python has to look. */
static PyObject *
folded(PyArrayObject *a, const Way *way, int what, int keeps)
{
    PyArray_Dims seen = {(npy_intp *)way->seen, way->seen_in};
    PyArrayObject *rows = (PyArrayObject *)PyArray_Newshape(a, &seen, NPY_CORDER);
    PyArrayObject *out = NULL;
    if (rows != NULL) {
        out = (PyArrayObject *)PyArray_SimpleNew(keeps ? way->ndim : way->given_in,
                                                 keeps ? way->kept : way->given, way->type);
    }
    int summed = out == NULL ? -1 : sum_into(rows, way->kind, way->tile, NULL, out, 1, helpers_now() + 1);
    Py_XDECREF(rows);
    if (summed != 1 || (what == MEAN && !are_divided(out, way->each))) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

/* Say whether a handle shows all of some memory, a matrix, the other way round. */
static int
is_turned(PyObject *x, PyArrayObject *own)
{
    if (PyArray_NDIM(own) != 2 || PyArray_IS_C_CONTIGUOUS(own) || !PyArray_IS_F_CONTIGUOUS(own)) {
        return 0;
    }
    PyObject *memory = computed(((Handle *)x)->buf);
    PyArrayObject *whole = (PyArrayObject *)memory;
    int turned = memory != NULL && PyArray_DATA(whole) == PyArray_DATA(own) &&
                 PyArray_NDIM(whole) == 2 && PyArray_IS_C_CONTIGUOUS(whole) &&
                 PyArray_DIM(whole, 0) == PyArray_DIM(own, 1) &&
                 PyArray_DIM(whole, 1) == PyArray_DIM(own, 0);
    Py_XDECREF(memory);
    return turned;
}

/* The same of whole numbers and booleans: their sums are the same in any order, and means that are. */
static PyObject *
folded_wholes(int what, PyArrayObject *a, const Asked *asked, PyObject *const *args, Py_ssize_t count,
              PyObject *kwnames)
{
    static PyObject *sums;
    int over_all = is_over_all(a, asked);
    int lies = PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a) &&
               (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a));
    if (!lies && (over_all || what != SUM)) {
        return NULL;
    }
    PyObject *site = turn_to_sum(PyArray_NBYTES(a)), *made = NULL;
    if (site == NULL) {
        return NULL;
    }
    double started = seconds_now();
    if (lies) {
        made = over_all ? whole_folded(a, what) : wholes_along(a, what, asked);
    }
    Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (made == NULL && !over_all && what == SUM && !PyErr_Occurred() && total > 1) {
        PyObject *given[MOST_ARGUMENTS];
        memcpy(given, args, total * sizeof *given);
        given[0] = (PyObject *)a;
        made = left_to_numpy(&sums, "ndarray", "sum", given, count, kwnames);
    }
    int is_numpys = made != NULL && numpys_race(site) != NULL;
    took(is_numpys ? Py_NewRef(site) : NULL, started);
    Py_DECREF(site);
    return made == NULL ? NULL : result(made, NULL, NULL);
}

/* The sum or mean of what a managed array, the first argument, shows; NULL as elsewhere. */
static PyObject *
folded_now(int what, PyObject *own, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int of_first)
{
    Asked asked = {0};
    PyArrayObject *a = (PyArrayObject *)own;
    if (!IS_NUMPYS(own) || PyArray_NDIM(a) < 1 || PyArray_NDIM(a) > AXES || PyArray_SIZE(a) == 0 ||
        PyArray_NBYTES(a) > MOST_FOLDED || !take_asked(args, count, kwnames, what, &asked)) {
        return NULL;
    }
    asked.has_axis |= of_first;
    if (!is_usual_type(a, what, &asked)) {
        return NULL;
    }
    if (strchr("biu", PyArray_DESCR(a)->kind) != NULL) {
        return folded_wholes(what, a, &asked, args, count, kwnames);
    }
    if (PyArray_TYPE(a) != NPY_DOUBLE && PyArray_TYPE(a) != NPY_FLOAT) {
        return NULL;
    }
    if (asked.more) {
        return NULL;
    }
    int ndim = PyArray_NDIM(a), turned = is_turned(args[0], a);
    Py_ssize_t axis = asked.has_axis ? asked.axis + (asked.axis < 0 ? ndim : 0) : EACH;
    if (axis < EACH || axis >= ndim || (asked.has_axis && axis == EACH)) {
        return NULL; /* NumPy says so */
    }
    PyArrayObject *rows = turned ? (PyArrayObject *)PyArray_Transpose(a, NULL)
                                 : (PyArrayObject *)Py_NewRef(a);
    const Way *way = rows == NULL ? NULL : way_of(rows, turned && asked.has_axis ? 1 - axis : axis);
    PyObject *site = way == NULL ? NULL : turn_to_sum(PyArray_NBYTES(a)), *made = NULL;
    if (site != NULL) {
        double started = seconds_now();
        made = folded(rows, way, what, asked.keeps);
        if (made != NULL && turned && asked.keeps) {
            Py_SETREF(made, PyArray_Transpose((PyArrayObject *)made, NULL));
        }
        int is_numpys = made != NULL && numpys_race(site) != NULL;
        took(is_numpys ? Py_NewRef(site) : NULL, started);
        Py_DECREF(site);
    }
    Py_XDECREF(rows);
    PyErr_Clear(); /* which Python meets again */
    if (made == NULL || PyArray_NDIM((PyArrayObject *)made) > 0) {
        return result(made, NULL, NULL);
    }
    PyObject *scalar = PyArray_ToScalar(PyArray_DATA((PyArrayObject *)made), (PyArrayObject *)made);
    Py_DECREF(made);
    return scalar;
}

enum { RESHAPED = SMALLEST + 1, FLATTENED, MEASURED, REDUCED, OF_NUMBERS };

/* The 2-norm of floats that lie here: the root of NumPy's product with itself, as `api.linalg._norm`. */
static PyObject *
norm_now(PyObject *own)
{
    PyArrayObject *a = (PyArrayObject *)own;
    if (!IS_NUMPYS(own) || strchr("fbiu", PyArray_DESCR(a)->kind) == NULL ||
        slot_of(world.config, world.reproducible_at) != Py_False ||
        !may_be_numpys(Py_None, PyArray_NBYTES(a))) {
        return NULL;
    }
    PyObject *x = as_measured(own), *found = x == NULL ? NULL : norm(NULL, &x, 1, NULL);
    Py_XDECREF(x);
    return found;
}

/* nansum and its like of floats that lie here: at once, as that takes one pass or two. */
static PyObject *
nan_folded_now(int what, PyObject *own, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Asked asked = {0};
    PyArrayObject *a = (PyArrayObject *)own;
    if (!IS_NUMPYS(own) || slot_of(world.config, world.reproducible_at) != Py_False ||
        !take_asked(args, count, kwnames, what, &asked) || !may_be_numpys(Py_None, PyArray_NBYTES(a))) {
        return NULL;
    }
    return result(nan_folded(a, what, &asked), NULL, NULL);
}

int
short_named(PyObject *function)
{
    static const struct {
        const char *name;
        int what;
    } ways[] = {{"sum", SUM}, {"mean", MEAN}, {"reshape", RESHAPED}, {"ravel", FLATTENED},
                {"norm", MEASURED}, {"reduce", REDUCED}, {"nansum", OF_NUMBERS + SUM},
                {"nanmean", OF_NUMBERS + MEAN}, {"nanvar", OF_NUMBERS + VARIANCE},
                {"nanstd", OF_NUMBERS + DEVIATION}, {"nanmax", OF_NUMBERS + LARGEST},
                {"nanmin", OF_NUMBERS + SMALLEST}};
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    const char *text = name == NULL || !PyUnicode_Check(name) ? NULL : PyUnicode_AsUTF8(name);
    int what = NOT_SHORT;
    text += text != NULL && *text == '_'; /* of methods with a name of their own in Python */
    for (size_t k = 0; text != NULL && k < sizeof ways / sizeof *ways; k++) {
        what = strcmp(text, ways[k].name) == 0 ? ways[k].what : what;
    }
    Py_XDECREF(name);
    PyErr_Clear();
    return what;
}

PyObject *
short_of_managed(int what, int is_method, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (what == RESHAPED) {
        int is_plain = kwnames == NULL && (is_method || count == 2);
        return is_plain ? reshaped_view(args[0], args + 1, count - 1) : NULL;
    }
    if (what == FLATTENED) {
        static PyObject *whole;
        if (whole == NULL) {
            whole = PyLong_FromLong(-1); /* kept */
        }
        return kwnames == NULL && count == 1 && whole != NULL ? reshaped_view(args[0], &whole, 1) : NULL;
    }
    if (what == MEASURED && (count != 1 || kwnames != NULL)) {
        return NULL;
    }
    PyObject *own = lying_here(args[0]);
    PyObject *r = own == NULL            ? NULL
                  : what == MEASURED   ? norm_now(own)
                  : what >= OF_NUMBERS ? nan_folded_now(what - OF_NUMBERS, own, args, count, kwnames)
                                       : folded_now(what, own, args, count, kwnames, 0);
    Py_XDECREF(own);
    return r;
}

PyObject *
reduced_of_managed(PyObject *ufunc, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (!IS_ARRAY(args[0]) || small_of(args[0]) != NULL || fold_by(ufunc) != SUM) {
        return NULL;
    }
    PyObject *own = lying_here(args[0]);
    PyObject *r = own == NULL ? NULL
                              : folded_now(SUM, own, args, count, kwnames, names_no_axis(count, kwnames));
    Py_XDECREF(own);
    return r;
}
