/* numpy.cross of vectors of three that lie side by side, for which NumPy makes eight arrays, and
   numpy.linalg.norm of all of an array, which is a product and a root there too, or along an axis. */

#include "asked.h"
#include "pairwise.h"

#include <math.h>

#define DEFINE_CROSS(NAME, T)                                                                      \
    FOR_EACH_CPU static void NAME(const void *left, Py_ssize_t left_step, const void *right,       \
                                  Py_ssize_t right_step, void *to, Py_ssize_t count)               \
    {                                                                                              \
        const T *a = left, *b = right;                                                             \
        T *out = to;                                                                               \
        for (Py_ssize_t k = 0; k < count; k++, a += left_step, b += right_step, out += 3) {        \
            out[0] = a[1] * b[2] - a[2] * b[1];                                                    \
            out[1] = a[2] * b[0] - a[0] * b[2];                                                    \
            out[2] = a[0] * b[1] - a[1] * b[0];                                                    \
        }                                                                                          \
    }

DEFINE_CROSS(cross_doubles, double)
DEFINE_CROSS(cross_floats, float)
DEFINE_CROSS(cross_longs, npy_uint64) /* of either sign: they wrap around alike */

typedef void (*Cross)(const void *, Py_ssize_t, const void *, Py_ssize_t, void *, Py_ssize_t);

static Cross
cross_for(PyArrayObject *a)
{
    int kind = PyArray_DESCR(a)->kind, bytes = (int)PyArray_ITEMSIZE(a);
    if (kind == 'f') {
        return bytes == 8 ? cross_doubles : bytes == 4 ? cross_floats : NULL;
    }
    return (kind == 'i' || kind == 'u') && bytes == 8 ? cross_longs : NULL;
}

/* The vectors that an array holds, of three elements each; -1 where it is laid out in another way. */
static Py_ssize_t
vectors_in(PyArrayObject *a)
{
    int last = PyArray_NDIM(a) - 1;
    return last >= 0 && PyArray_DIM(a, last) == 3 && PyArray_ISCARRAY_RO(a) ? PyArray_SIZE(a) / 3 : -1;
}

/* The products of arrays of one shape, or of one and a single vector, new; NULL without an error where
   NumPy has to look, or to tell of a fault. */
static PyObject *
crossed(PyArrayObject *a, PyArrayObject *b)
{
    Py_ssize_t left = vectors_in(a), right = vectors_in(b), count = left > right ? left : right;
    Cross loop = PyArray_DESCR(a) == PyArray_DESCR(b) ? cross_for(a) : NULL;
    int alone_left = PyArray_NDIM(a) == 1, alone_right = PyArray_NDIM(b) == 1, faults;
    if (loop == NULL || left < 1 || right < 1 ||
        !(PyArray_SAMESHAPE(a, b) || alone_left || alone_right)) {
        return NULL;
    }
    PyArrayObject *like = alone_left ? b : a;
    Py_INCREF(PyArray_DESCR(a));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), PyArray_NDIM(like),
                                          PyArray_DIMS(like), NULL, NULL, 0, NULL);
    if (made == NULL) {
        return NULL;
    }
    const void *from = PyArray_DATA(a), *other = PyArray_DATA(b);
    void *to = PyArray_DATA((PyArrayObject *)made);
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(count);
    clear_faults();
    loop(from, left == 1 ? 0 : 3, other, right == 1 ? 0 : 3, to, count);
    faults = faults_among(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO | FE_UNDERFLOW);
    clear_faults();
    NPY_END_THREADS;
    if (faults) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *
cross(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    if (count == 2 && kwnames == NULL && IS_NUMPYS(args[0]) && IS_NUMPYS(args[1])) {
        PyObject *made = crossed((PyArrayObject *)args[0], (PyArrayObject *)args[1]);
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return left_to_numpy(&numpys, NULL, "cross", args, count, kwnames);
}

#define MOST_SQUARED 8192 /* elements: with more, the rest hardly counts */

/* The root of the sum of squares, new; NULL without an error where NumPy has to look. */
static PyObject *
length_of(PyArrayObject *a)
{
    npy_intp size = size_of_array(a);
    if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(a) || PyArray_NDIM(a) == 0 || size < 1 ||
        size > MOST_SQUARED) {
        return NULL;
    }
    PyObject *line = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_DOUBLE), 1, &size,
                                          NULL, PyArray_DATA(a), 0, NULL);
    PyObject *squares = line == NULL ? NULL : PyArray_MatrixProduct(line, line), *found = NULL;
    double sum = squares == NULL ? 0 : PyFloat_AsDouble(squares);
    if (squares != NULL && !PyErr_Occurred()) {
        double root = sqrt(sum);
        PyArray_Descr *dtype = PyArray_DescrFromType(NPY_DOUBLE);
        found = PyArray_Scalar(&root, dtype, NULL);
        Py_DECREF(dtype);
    }
    Py_XDECREF(squares);
    Py_XDECREF(line);
    return found;
}

/* The floats that NumPy makes of whole numbers before it measures them, new; of floats themselves. */
PyObject *
as_measured(PyObject *x)
{
    int is_whole = strchr("biu", PyArray_DESCR((PyArrayObject *)x)->kind) != NULL;
    return is_whole ? PyArray_CastToType((PyArrayObject *)x, PyArray_DescrFromType(NPY_DOUBLE), 0)
                    : Py_NewRef(x);
}

PyObject *
norm(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    int fits = count == 1 && IS_NUMPYS(args[0]) && (kwnames == NULL || PyTuple_GET_SIZE(kwnames) < MOST_ARGUMENTS);
    Asked asked = {0};
    PyObject *found = NULL, *x = fits ? as_measured(args[0]) : NULL;
    fits = x != NULL;
    if (fits && kwnames == NULL) {
        found = length_of((PyArrayObject *)x);
    }
    else if (fits && take_asked(args, count, kwnames, SUM, &asked) && asked.has_axis && !asked.more &&
             !asked.has_type) {
        found = lengths_along((PyArrayObject *)x, &asked);
    }
    if (found == NULL && !PyErr_Occurred() && fits) { /* not to make floats again */
        PyObject *given[MOST_ARGUMENTS];
        Py_ssize_t total = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
        memcpy(given, args, total * sizeof *given);
        given[0] = x;
        found = left_to_numpy(&numpys, "linalg", "norm", given, count, kwnames);
    }
    Py_XDECREF(x);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    return left_to_numpy(&numpys, "linalg", "norm", args, count, kwnames);
}
