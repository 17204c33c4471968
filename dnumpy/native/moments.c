/* What numpy's mean, var, std, sum, max and min make of adjacent elements, by its own steps and to its
   own bits. NumPy takes most of its time for few elements to come to its loop. */

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

DEFINE_PAIRWISE(double, doubles)
DEFINE_PAIRWISE(float, floats)
DEFINE_MOMENTS(double, doubles)
DEFINE_MOMENTS(float, floats)

enum { MEAN, VARIANCE, DEVIATION, SUM, LARGEST, SMALLEST };
#define FEW 512 /* elements of which the largest is found as fast as by NumPy's loop */

/* Take `(a, axis=None, dtype=None, out=None, ddof=0)`, all but the first and last at their defaults;
   0 where NumPy has to look. Only two have a ddof, and two no dtype. */
static int
takes_all(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int what, Py_ssize_t *ddof)
{
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    *ddof = 0;
    if (count < 1 || count > (what < LARGEST ? 4 : 3) || !IS_NUMPYS(args[0])) {
        return 0;
    }
    for (Py_ssize_t k = 1; k < count; k++) {
        if (args[k] != Py_None) {
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[count + k];
        if ((what == VARIANCE || what == DEVIATION) && PyUnicode_CompareWithASCIIString(name, "ddof") == 0 &&
            PyLong_CheckExact(value)) {
            *ddof = PyLong_AsSsize_t(value);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
        }
        else if (count > 1 || value != Py_None ||
                 PyUnicode_CompareWithASCIIString(name, "axis") != 0) {
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
#define doubles_root sqrt
#define floats_root sqrtf

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

#define DEFINE_WHOLE_SUM(NAME, FROM, T)                                                            \
    FOR_EACH_CPU static T NAME(const FROM *a, Py_ssize_t n)                                        \
    {                                                                                              \
        T sum = 0;                                                                                 \
        for (Py_ssize_t i = 0; i < n; i++) {                                                       \
            sum += (T)a[i];                                                                        \
        }                                                                                          \
        return sum;                                                                                \
    }

DEFINE_WHOLE_SUM(sum_of_longs, npy_uint64, npy_uint64) /* of either sign: they wrap around alike */
DEFINE_WHOLE_SUM(sum_of_ints, npy_int32, npy_int64)
DEFINE_WHOLE_SUM(sum_of_bools, npy_uint8, npy_int64)

/* The sum of whole numbers or booleans, new; NULL without an error of others. */
static PyObject *
whole_sum_of(PyArrayObject *a)
{
    PyArray_Descr *dtype = PyArray_DESCR(a);
    Py_ssize_t n = PyArray_SIZE(a);
    const void *data = PyArray_DATA(a);
    int bytes = (int)PyDataType_ELSIZE(dtype), is_whole = dtype->kind == 'i' || dtype->kind == 'u';
    npy_int64 sum;
    if (!(is_whole && bytes == 8) && !(dtype->kind == 'i' && bytes == 4) && dtype->kind != 'b') {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    sum = bytes == 8 ? (npy_int64)sum_of_longs(data, n)
          : bytes == 4 ? sum_of_ints(data, n)
                       : sum_of_bools(data, n);
    NPY_END_THREADS;
    PyArray_Descr *given = bytes == 8 ? (PyArray_Descr *)Py_NewRef((PyObject *)dtype)
                                      : PyArray_DescrFromType(NPY_INTP);
    PyObject *scalar = given == NULL || PyDataType_ELSIZE(given) != 8
                           ? NULL
                           : PyArray_Scalar(&sum, given, NULL);
    Py_XDECREF(given);
    return scalar;
}

/* The largest or smallest of a few, new; NULL without an error of others, of what is no number, and of
   zeros, which have a sign that depends on the order in which they are looked at. */
#define EXTREMUM_OF(T)                                                                             \
    {                                                                                              \
        const T *a = data;                                                                         \
        T found = a[0];                                                                            \
        int is_number = a[0] == a[0];                                                              \
        for (Py_ssize_t i = 1; i < n; i++) {                                                       \
            is_number &= a[i] == a[i];                                                             \
            found = (what == LARGEST ? a[i] > found : a[i] < found) ? a[i] : found;                \
        }                                                                                          \
        if (is_number && (found != 0 || is_whole)) {                                               \
            return PyArray_Scalar(&found, PyArray_DESCR(x), NULL);                                 \
        }                                                                                          \
    }

static PyObject *
extremum_of(PyArrayObject *x, int what)
{
    Py_ssize_t n = PyArray_SIZE(x);
    const void *data = PyArray_DATA(x);
    int kind = PyArray_DESCR(x)->kind, bytes = (int)PyArray_ITEMSIZE(x), is_whole = kind == 'i';
    if (n > FEW) {
        return NULL;
    }
    if (kind == 'f' && bytes == 8) {
        EXTREMUM_OF(double)
    }
    else if (kind == 'f' && bytes == 4) {
        EXTREMUM_OF(float)
    }
    else if (is_whole && bytes == 8) {
        EXTREMUM_OF(npy_int64)
    }
    else if (is_whole && bytes == 4) {
        EXTREMUM_OF(npy_int32)
    }
    return NULL;
}

static PyObject *
folded_of(PyArrayObject *a, int what, Py_ssize_t ddof)
{
    int type = PyArray_TYPE(a);
    if (PyArray_SIZE(a) < 1 || !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) ||
        !(PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))) {
        return NULL;
    }
    if (what == LARGEST || what == SMALLEST) {
        return extremum_of(a, what);
    }
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        return moment_of(a, what, ddof);
    }
    return what == SUM ? whole_sum_of(a) : NULL;
}

static PyObject *
moment(int what, const char *owner, const char *name, PyObject **numpys, PyObject *const *args,
       Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t ddof;
    if (takes_all(args, count, kwnames, what, &ddof)) {
        PyObject *found = folded_of((PyArrayObject *)args[0], what, ddof);
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    if (*numpys == NULL) {
        *numpys = numpys_own(owner, name);
    }
    return *numpys == NULL ? NULL : PyObject_Vectorcall(*numpys, args, count, kwnames);
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
