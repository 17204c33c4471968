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

#define FEW 512 /* elements of which the largest is found as fast as by NumPy's loop */
/* The same of several: NumPy's loop is slow over short axes, and faster along long ones. */
#define SEVERAL 65536
#define SEVERAL_WIDE 16384
#define WIDE 64       /* elements side by side that are compared with as many */
#define LONG_LINE 24  /* elements, one after the other */

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
    return take_number(value, &asked->axis);
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
        if (k == 1 ? !take_axis(args[k], asked) : args[k] != Py_None) {
            return 0;
        }
    }
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int twice = count > 1 && PyUnicode_CompareWithASCIIString(name, "axis") == 0;
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

/* The largest or smallest along the middle one of three axes; 0 where something is no number, or where
   zeros have a sign, which depends on the order in which they are looked at. */
#define DEFINE_EXTREMA(NAME, T, BITS, IS_ODD)                                                      \
    FOR_EACH_CPU static int NAME(const T *a, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner,     \
                                 int is_largest, T *found)                                         \
    {                                                                                              \
        BITS odd = 0;                                                                              \
        for (Py_ssize_t i = 0; i < outer * n * inner; i++) {                                       \
            BITS bits;                                                                             \
            memcpy(&bits, a + i, sizeof(T));                                                       \
            odd |= (BITS)IS_ODD(bits);                                                             \
        }                                                                                          \
        for (Py_ssize_t k = 0; k < outer; k++, a += n * inner, found += inner) {                   \
            memcpy(found, a, inner * sizeof(T));                                                   \
            for (Py_ssize_t i = 1; i < n; i++) {                                                   \
                const T *row = a + i * inner;                                                      \
                for (Py_ssize_t j = 0; is_largest && j < inner; j++) {                             \
                    found[j] = row[j] > found[j] ? row[j] : found[j];                              \
                }                                                                                  \
                for (Py_ssize_t j = 0; !is_largest && j < inner; j++) {                            \
                    found[j] = row[j] < found[j] ? row[j] : found[j];                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return odd == 0;                                                                           \
    }

/* A negative zero, and what is beyond infinity. */
#define IS_ODD_64(x) ((x) == 1ull << 63 || (x) << 1 > 0xffeull << 52)
#define IS_ODD_32(x) ((x) == 1u << 31 || (x) << 1 > 0xffu << 24)
#define NEVER(x) 0
DEFINE_EXTREMA(extrema_of_doubles, double, uint64_t, IS_ODD_64)
DEFINE_EXTREMA(extrema_of_floats, float, uint32_t, IS_ODD_32)
DEFINE_EXTREMA(extrema_of_longs, npy_int64, uint64_t, NEVER)
DEFINE_EXTREMA(extrema_of_ints, npy_int32, uint32_t, NEVER)

static int
find_extrema(PyArrayObject *x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, int what, void *to)
{
    int kind = PyArray_DESCR(x)->kind, bytes = (int)PyArray_ITEMSIZE(x), largest = what == LARGEST;
    const void *data = PyArray_DATA(x);
    if (kind != 'f' && kind != 'i') {
        return 0;
    }
    if (bytes == 8) {
        return kind == 'f' ? extrema_of_doubles(data, outer, n, inner, largest, to)
                           : extrema_of_longs(data, outer, n, inner, largest, to);
    }
    if (bytes == 4) {
        return kind == 'f' ? extrema_of_floats(data, outer, n, inner, largest, to)
                           : extrema_of_ints(data, outer, n, inner, largest, to);
    }
    return 0;
}

/* The largest or smallest of a few, new; NULL without an error of others. */
static PyObject *
extremum_of(PyArrayObject *x, int what)
{
    char found[8];
    if (PyArray_SIZE(x) > FEW) {
        return extremum_shared(x, what == LARGEST);
    }
    int is_found = PyArray_ITEMSIZE(x) <= 8 &&
                   find_extrema(x, 1, PyArray_SIZE(x), 1, what, found);
    return is_found ? PyArray_Scalar(found, PyArray_DESCR(x), NULL) : NULL;
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
    int dimensions = PyArray_NDIM(a), type = PyArray_TYPE(a), kept = 0, faults;
    Py_ssize_t axis = asked->axis + (asked->axis < 0 ? dimensions : 0), outer = 1, inner = 1;
    npy_intp shape[NPY_MAXDIMS];
    int is_float = type == NPY_DOUBLE || type == NPY_FLOAT, is_extremum = what > SUM;
    if (axis < 0 || axis >= dimensions || !PyArray_IS_C_CONTIGUOUS(a) ||
        !(is_extremum || is_float)) {
        return NULL;
    }
    Py_ssize_t n = PyArray_DIM(a, (int)axis);
    for (int k = 0; k < dimensions; k++) {
        outer *= k < axis ? PyArray_DIM(a, k) : 1;
        inner *= k > axis ? PyArray_DIM(a, k) : 1;
        if (k != axis || asked->keeps) {
            shape[kept++] = k == axis ? 1 : PyArray_DIM(a, k);
        }
    }
    if (is_extremum && (PyArray_SIZE(a) > (inner < WIDE ? SEVERAL : SEVERAL_WIDE) ||
                        (inner == 1 && n > LONG_LINE))) {
        return NULL;
    }
    int is_squared = what == VARIANCE || what == DEVIATION;
    if (n <= asked->ddof || asked->ddof < 0) {
        return NULL;
    }
    Py_INCREF(PyArray_DESCR(a));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), kept, shape, NULL, NULL, 0,
                                          NULL);
    if (made != NULL && is_extremum) {
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
        int is_found = find_extrema(a, outer, n, inner, what, PyArray_DATA((PyArrayObject *)made));
        NPY_END_THREADS;
        if (!is_found) {
            Py_CLEAR(made);
        }
        return made;
    }
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

static PyObject *
folded_of(PyArrayObject *a, int what, const Asked *asked)
{
    int type = PyArray_TYPE(a);
    if (PyArray_SIZE(a) < 1 || !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) ||
        !(PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))) {
        return NULL;
    }
    int is_whole = !asked->has_axis || (PyArray_NDIM(a) == 1 && asked->axis >= -1 && asked->axis < 1);
    if (!is_whole || asked->keeps) {
        return asked->has_axis ? folded_along(a, what, asked) : NULL;
    }
    if (what == LARGEST || what == SMALLEST) {
        return extremum_of(a, what);
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

#define MOST_LOOKED_AT 512 /* elements: of more, NumPy's loop is faster */

/* The first place of the largest or smallest element of a line, or of the first that is no number. */
#define FIRST_PLACE(T)                                                                             \
    {                                                                                              \
        const T *x = data;                                                                         \
        for (npy_intp k = 1; k < size && x[at] == x[at]; k++) {                                    \
            if (x[k] != x[k] || (largest ? x[k] > x[at] : x[k] < x[at])) {                         \
                at = k;                                                                            \
            }                                                                                      \
        }                                                                                          \
    }

/* Where the largest or smallest element is, new; NULL without an error where NumPy has to look. */
static PyObject *
place_of(PyObject *array, int largest)
{
    PyArrayObject *a = (PyArrayObject *)array;
    npy_intp size = IS_NUMPYS(array) ? size_of_array(a) : 0, at = 0;
    if (size < 1 || size > MOST_LOOKED_AT || !PyArray_ISCARRAY_RO(a)) {
        return NULL;
    }
    const void *data = PyArray_DATA(a);
    switch (PyArray_TYPE(a)) {
        case NPY_DOUBLE: FIRST_PLACE(double) break;
        case NPY_FLOAT: FIRST_PLACE(float) break;
        case NPY_LONG: FIRST_PLACE(npy_long) break;
        case NPY_INT: FIRST_PLACE(npy_int) break;
        default: return NULL;
    }
    PyArray_Descr *whole = PyArray_DescrFromType(NPY_INTP);
    PyObject *found = whole == NULL ? NULL : PyArray_Scalar(&at, whole, NULL);
    Py_XDECREF(whole);
    return found;
}

#define DEFINE_PLACE(NAME, LARGEST, OWNER, NUMPYS)                                                 \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        PyObject *found = count == 1 && kwnames == NULL ? place_of(args[0], LARGEST) : NULL;       \
        return found != NULL || PyErr_Occurred()                                                   \
                   ? found                                                                         \
                   : left_to_numpy(&numpys, OWNER, NUMPYS, args, count, kwnames);                  \
    }

DEFINE_PLACE(argmax, 1, NULL, "argmax")
DEFINE_PLACE(argmin, 0, NULL, "argmin")
DEFINE_PLACE(argmax_of, 1, "ndarray", "argmax")
DEFINE_PLACE(argmin_of, 0, "ndarray", "argmin")
