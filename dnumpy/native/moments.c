/* What numpy's mean, var, std, sum, max and min make of adjacent elements, by its own steps and to its
   own bits. NumPy takes most of its time for few elements to come to its loop. */

#include "asked.h"
#include "pairwise.h"

#include <numpy/arrayscalars.h>

#define DEFINE_MOMENTS(T, NAME)                                                                    \
    /* NumPy's mean, and the sum of squares beside it, of adjacent elements. */                    \
    FOR_EACH_CPU static T NAME##_mean(const T *a, Py_ssize_t n)                                    \
    {                                                                                              \
        return (NAME##_pairwise(a, n) + (T)0) / (T)n; /* a sum of -0.0 alone is 0.0 */              \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static T NAME##_apart(const T *a, Py_ssize_t n, T mean)                           \
    {                                                                                              \
        T squares[QUARTER];                                                                        \
        if (n > QUARTER) {                                                                         \
            Py_ssize_t half = n / 2 - n / 2 % LANES;                                               \
            return NAME##_apart(a, half, mean) + NAME##_apart(a + half, n - half, mean);           \
        }                                                                                          \
        for (Py_ssize_t j = 0; j < n; j++) {                                                       \
            T apart = a[j] - mean;                                                                 \
            squares[j] = apart * apart;                                                            \
        }                                                                                          \
        return NAME##_pairwise(squares, n);                                                        \
    }

/* Of one row after the other: most are short. */
#define DEFINE_ROWS_SUM(T, NAME)                                                                   \
    ALWAYS_INLINE T NAME##_rows_sum(const T *a, Py_ssize_t n)                                      \
    {                                                                                              \
        return n <= QUARTER ? NAME##_of_few(a, n) : NAME##_pairwise(a, n);                         \
    }

/* Sums along the middle one of three axes, or of squares beside means: of adjacent elements as above,
   else row after row. */
#define DEFINE_ALONG(T, NAME)                                                                      \
    FOR_EACH_CPU static void NAME##_along(const T *a, Py_ssize_t outer, Py_ssize_t n,              \
                                          Py_ssize_t inner, const T *means, T *sums)               \
    {                                                                                              \
        for (Py_ssize_t k = 0; k < outer; k++, a += n * inner, sums += inner) {                    \
            const T *mean = means == NULL ? NULL : means + k * inner;                              \
            if (inner == 1) {                                                                      \
                sums[0] = (mean == NULL ? NAME##_rows_sum(a, n) : NAME##_apart(a, n, *mean)) + (T)0; \
                continue;                                                                          \
            }                                                                                      \
            for (Py_ssize_t j = 0; j < inner; j++) {                                               \
                sums[j] = 0;                                                                       \
            }                                                                                      \
            for (Py_ssize_t i = 0; i < n; i++) {                                                   \
                const T *row = a + i * inner;                                                      \
                for (Py_ssize_t j = 0; mean == NULL && j < inner; j++) {                           \
                    sums[j] += row[j];                                                             \
                }                                                                                  \
                for (Py_ssize_t j = 0; mean != NULL && j < inner; j++) {                           \
                    T apart = row[j] - mean[j];                                                    \
                    sums[j] += apart * apart;                                                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    FOR_EACH_CPU static void NAME##_finished(T *sums, Py_ssize_t count, T n, int is_root)          \
    {                                                                                              \
        for (Py_ssize_t k = 0; k < count; k++) {                                                   \
            sums[k] /= n;                                                                          \
        }                                                                                          \
        for (Py_ssize_t k = 0; is_root && k < count; k++) {                                        \
            sums[k] = NAME##_root(sums[k]);                                                        \
        }                                                                                          \
    }

#define doubles_root sqrt
#define floats_root sqrtf

DEFINE_PAIRWISE(double, doubles)
DEFINE_PAIRWISE(float, floats)
DEFINE_MOMENTS(double, doubles)
DEFINE_MOMENTS(float, floats)
DEFINE_ROWS_SUM(double, doubles)
DEFINE_ROWS_SUM(float, floats)
DEFINE_ALONG(double, doubles)
DEFINE_ALONG(float, floats)

static int
take_number(PyObject *value, Py_ssize_t *place)
{
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    *place = PyLong_AsSsize_t(value);
    int fits = PyErr_Occurred() == NULL;
    PyErr_Clear();
    return fits;
}

static int
take_axis(PyObject *value, Asked *asked)
{
    if (value == Py_None) {
        return 1;
    }
    asked->has_axis = 1;
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) < 1) {
        return take_number(value, &asked->axis);
    }
    asked->more = PyTuple_GET_SIZE(value) - 1;
    Py_ssize_t next = 0;
    for (Py_ssize_t k = 0; k <= asked->more; k++) { /* neighbours, in order: as one axis */
        if (!take_number(PyTuple_GET_ITEM(value, k), &next)) {
            return 0;
        }
        asked->axis = k == 0 ? next : asked->axis;
        if (next != asked->axis + k || (asked->axis < 0) != (next < 0)) {
            return 0;
        }
    }
    return 1;
}

static int
take_type(PyObject *value, Asked *asked)
{
    asked->has_type = value != Py_None;
    asked->type = asked->has_type ? type_named(value) : 0;
    return asked->type >= 0;
}

static int
take_named(PyObject *name, PyObject *value, int what, Asked *asked)
{
    if (PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
        return take_axis(value, asked);
    }
    if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0) {
        asked->keeps = value == Py_True;
        return PyBool_Check(value);
    }
    if (what < LARGEST && PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
        return take_type(value, asked);
    }
    int counts = what == VARIANCE || what == DEVIATION;
    return counts && PyUnicode_CompareWithASCIIString(name, "ddof") == 0 &&
           take_number(value, &asked->ddof);
}

/* Take `(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False)`; 0 where NumPy has to look. Only
   two have a ddof, and two no dtype. */
int
take_asked(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int what, Asked *asked)
{
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (count < 1 || count > (what < LARGEST ? 4 : 3)) {
        return 0;
    }
    for (Py_ssize_t k = 1; k < count; k++) {
        int is_type = k == 2 && what < LARGEST;
        if (k == 1 ? !take_axis(args[k], asked) : is_type ? !take_type(args[k], asked) : args[k] != Py_None) {
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int twice = (count > 1 && PyUnicode_CompareWithASCIIString(name, "axis") == 0) ||
                    (count > 2 && PyUnicode_CompareWithASCIIString(name, "dtype") == 0);
        if (twice || !take_named(name, args[count + k], what, asked)) {
            return 0;
        }
    }
    return 1;
}

#define MOMENT_OF(NAME, T)                                                                         \
    {                                                                                              \
        T found = what == SUM ? NAME##_pairwise(data, n) + (T)0 : NAME##_mean(data, n);            \
        if (what == VARIANCE || what == DEVIATION) {                                               \
            found = NAME##_apart(data, n, found) / (T)(n - ddof);                                  \
        }                                                                                          \
        result = what == DEVIATION ? NAME##_root(found) : found;                                   \
    }

static PyObject *
float_of(double value, int type)
{
    PyObject *scalar = type == NPY_FLOAT ? PyArrayScalar_New(Float) : PyArrayScalar_New(Double);
    if (scalar != NULL && type == NPY_FLOAT) {
        PyArrayScalar_ASSIGN(scalar, Float, (float)value);
    }
    else if (scalar != NULL) {
        PyArrayScalar_ASSIGN(scalar, Double, value);
    }
    return scalar;
}

/* A scalar, new; NULL without an error where there is a fault to be told of. */
static PyObject *
moment_of(PyArrayObject *a, int what, Py_ssize_t ddof)
{
    int type = PyArray_TYPE(a), faults;
    Py_ssize_t n = PyArray_SIZE(a);
    const void *data = PyArray_DATA(a);
    double result;
    if (n <= ddof || ddof < 0) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    clear_faults();
    if (type == NPY_DOUBLE) {
        MOMENT_OF(doubles, double)
    }
    else {
        MOMENT_OF(floats, float)
    }
    COMPUTED(result);
    faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
    clear_faults();
    NPY_END_THREADS;
    return faults ? NULL : float_of(result, type);
}

#define ALONG(NAME, T)                                                                             \
    {                                                                                              \
        T *means = what == SUM ? NULL : (T *)out, *sums = squares == NULL ? (T *)out : squares;    \
        NAME##_along(data, outer, n, inner, NULL, out);                                            \
        if (what != SUM) {                                                                         \
            NAME##_finished(means, outer * inner, (T)n, 0);                                        \
        }                                                                                          \
        if (squares != NULL) {                                                                     \
            NAME##_along(data, outer, n, inner, means, sums);                                      \
            NAME##_finished(sums, outer * inner, (T)(n - asked->ddof), what == DEVIATION);         \
            memcpy(out, sums, outer * inner * sizeof(T));                                          \
        }                                                                                          \
    }

/* The same along one axis of several, an array, new; NULL as above. */
static PyObject *
folded_along(PyArrayObject *a, int what, const Asked *asked)
{
    int type = PyArray_TYPE(a), faults;
    Lines of;
    if (what > SUM) {
        return extremum_along(a, what == LARGEST, asked);
    }
    if (strchr("biu", PyArray_DESCR(a)->kind) != NULL) {
        return wholes_along(a, what, asked);
    }
    if (asked->more || !take_lines_of(&of, a, asked) || !PyArray_IS_C_CONTIGUOUS(a) ||
        (type != NPY_DOUBLE && type != NPY_FLOAT)) {
        return NULL;
    }
    Py_ssize_t outer = of.outer, n = of.n, inner = of.inner;
    int is_squared = what == VARIANCE || what == DEVIATION;
    if (n <= asked->ddof || asked->ddof < 0) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(a));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), of.axes, of.shape, NULL, NULL, 0,
                                          NULL);
    void *squares = made == NULL || !is_squared ? NULL : malloc(outer * inner * sizeof(double));
    if (made == NULL || (is_squared && squares == NULL)) {
        Py_XDECREF(made);
        return NULL;
    }
    const void *data = PyArray_DATA(a);
    void *out = PyArray_DATA((PyArrayObject *)made);
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
    clear_faults();
    if (type == NPY_DOUBLE) {
        ALONG(doubles, double)
    }
    else {
        ALONG(floats, float)
    }
    faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
    clear_faults();
    NPY_END_THREADS;
    free(squares);
    if (faults) {
        Py_CLEAR(made);
    }
    return made;
}

#define DEFINE_SQUARED(NAME, T)                                                                    \
    FOR_EACH_CPU static void NAME##_squared(const void *data, Py_ssize_t n, void *to)              \
    {                                                                                              \
        const T *a = data;                                                                         \
        T *squares = to;                                                                           \
        for (Py_ssize_t k = 0; k < n; k++) {                                                       \
            squares[k] = a[k] * a[k];                                                              \
        }                                                                                          \
    }

DEFINE_SQUARED(doubles, double)
DEFINE_SQUARED(floats, float)

PyObject *
lengths_along(PyArrayObject *a, const Asked *asked)
{
    int type = PyArray_TYPE(a), faults;
    if ((type != NPY_DOUBLE && type != NPY_FLOAT) || PyArray_NDIM(a) < 2 || PyArray_SIZE(a) < 1 ||
        !PyArray_ISCARRAY_RO(a)) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(a));
    PyObject *squares = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), PyArray_NDIM(a),
                                             PyArray_DIMS(a), NULL, NULL, 0, NULL);
    if (squares == NULL) {
        return NULL;
    }
    void *to = PyArray_DATA((PyArrayObject *)squares);
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
    clear_faults();
    (type == NPY_DOUBLE ? doubles_squared : floats_squared)(PyArray_DATA(a), PyArray_SIZE(a), to);
    faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
    clear_faults();
    NPY_END_THREADS;
    PyObject *sums = faults ? NULL : folded_along((PyArrayObject *)squares, SUM, asked);
    if (sums != NULL) {
        PyArrayObject *made = (PyArrayObject *)sums;
        type == NPY_DOUBLE ? doubles_finished(PyArray_DATA(made), PyArray_SIZE(made), 1, 1)
                           : floats_finished(PyArray_DATA(made), PyArray_SIZE(made), 1, 1);
        clear_faults();
    }
    Py_DECREF(squares);
    return sums;
}

static PyObject *
folded_of(PyArrayObject *a, int what, const Asked *asked)
{
    int type = PyArray_TYPE(a);
    if (PyArray_SIZE(a) < 1 || !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) ||
        !is_usual_type(a, what, asked) || !(PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))) {
        return NULL;
    }
    if (!is_over_all(a, asked)) {
        return asked->has_axis ? folded_along(a, what, asked) : NULL;
    }
    if (what == LARGEST || what == SMALLEST) {
        return extremum_shared(a, what == LARGEST);
    }
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        return moment_of(a, what, asked->ddof);
    }
    return whole_folded(a, what);
}

static PyObject *
moment(int what, const char *owner, const char *name, PyObject **numpys, PyObject *const *args,
       Py_ssize_t count, PyObject *kwnames)
{
    Asked asked = {0};
    if (count > 0 && IS_NUMPYS(args[0]) && take_asked(args, count, kwnames, what, &asked)) {
        PyObject *found = folded_of((PyArrayObject *)args[0], what, &asked);
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return left_to_numpy(numpys, owner, name, args, count, kwnames);
}

#define DEFINE_MOMENT(NAME, WHAT, OWNER, NUMPYS)                                                   \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        return moment(WHAT, OWNER, NUMPYS, &numpys, args, count, kwnames);                         \
    }

DEFINE_MOMENT(mean, MEAN, NULL, "mean")
DEFINE_MOMENT(var, VARIANCE, NULL, "var")
DEFINE_MOMENT(std_, DEVIATION, NULL, "std")
DEFINE_MOMENT(sum, SUM, NULL, "sum")
DEFINE_MOMENT(largest, LARGEST, NULL, "max")
DEFINE_MOMENT(smallest, SMALLEST, NULL, "min")
DEFINE_MOMENT(mean_of, MEAN, "ndarray", "mean") /* a method's errors have other texts */
DEFINE_MOMENT(var_of, VARIANCE, "ndarray", "var")
DEFINE_MOMENT(std_of, DEVIATION, "ndarray", "std")
DEFINE_MOMENT(sum_of, SUM, "ndarray", "sum")
DEFINE_MOMENT(largest_of, LARGEST, "ndarray", "max")
DEFINE_MOMENT(smallest_of, SMALLEST, "ndarray", "min")

int
fold_by(PyObject *ufunc)
{
    static struct {
        const char *name;
        int what;
        PyObject *ufunc;
    } folds[] = {{"add", SUM, NULL}, {"maximum", LARGEST, NULL}, {"minimum", SMALLEST, NULL}};
    for (size_t k = 0; k < sizeof folds / sizeof *folds; k++) {
        if (folds[k].ufunc == NULL) {
            folds[k].ufunc = numpys_own(NULL, folds[k].name);
            PyErr_Clear();
        }
        if (ufunc == folds[k].ufunc) {
            return folds[k].what;
        }
    }
    return -1;
}

int
names_no_axis(Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *axis_name;
    return count < 2 && (kwnames == NULL || PySequence_Contains(kwnames, intern(&axis_name, "axis")) != 1);
}

/* reduce_of(ufunc, array, axis=0, dtype=None, out=None, keepdims=False) */
PyObject *
reduce_of(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    Asked asked = {0};
    int what = count > 1 && IS_NUMPYS(args[1]) ? fold_by(args[0]) : -1;
    if (what >= 0 && take_asked(args + 1, count - 1, kwnames, what, &asked)) {
        PyArrayObject *a = (PyArrayObject *)args[1];
        asked.has_axis |= names_no_axis(count - 1, kwnames);
        PyObject *found = folded_of(a, what, &asked);
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return left_to_numpy(&numpys, "ufunc", "reduce", args, count, kwnames);
}
