/* Where the largest or smallest element is: of a few, and along an axis, where NumPy takes most of its
   time for short lines to come to the next one. Those of many lines are looked at side by side. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#include <numpy/arrayscalars.h>

#define GROUP 64        /* lines that are looked at side by side */
#define SHORT_LINE 40   /* elements of those: NumPy is faster along longer ones */
#define BATCH (1 << 15) /* elements that a thread takes at a time */

/* Whether an element is the first that is further up or down, or the first that is no number. */
#define IS_NEXT(x, m, OP) (((x) OP (m)) | (((x) != (x)) & ((m) == (m))))

/* Of lines whose elements are `step` apart, and which begin `apart` elements from one another. */
#define DEFINE_PLACES(NAME, T, WHOLE, OP)                                                          \
    FOR_EACH_CPU static void NAME##_places(const void *data, npy_intp lines, npy_intp n,           \
                                           npy_intp apart, npy_intp step, npy_intp *found)         \
    {                                                                                              \
        const T *a = data;                                                                         \
        npy_intp k = 0;                                                                            \
        for (; k + GROUP <= lines; k += GROUP) {                                                   \
            T m[GROUP];                                                                            \
            WHOLE at[GROUP];                                                                       \
            for (int j = 0; j < GROUP; j++) {                                                      \
                m[j] = a[(k + j) * apart];                                                         \
                at[j] = 0;                                                                         \
            }                                                                                      \
            for (npy_intp i = 1; i < n; i++) {                                                     \
                const T *row = a + k * apart + i * step;                                           \
                for (int j = 0; j < GROUP; j++) {                                                  \
                    T x = row[j * apart];                                                          \
                    int is_next = IS_NEXT(x, m[j], OP);                                            \
                    m[j] = is_next ? x : m[j];                                                     \
                    at[j] = is_next ? (WHOLE)i : at[j];                                            \
                }                                                                                  \
            }                                                                                      \
            for (int j = 0; j < GROUP; j++) {                                                      \
                found[k + j] = (npy_intp)at[j];                                                    \
            }                                                                                      \
        }                                                                                          \
        for (; k < lines; k++) {                                                                   \
            T m = a[k * apart];                                                                    \
            npy_intp at = 0;                                                                       \
            for (npy_intp i = 1; i < n; i++) {                                                     \
                T x = a[k * apart + i * step];                                                     \
                if (IS_NEXT(x, m, OP)) {                                                           \
                    m = x;                                                                         \
                    at = i;                                                                        \
                }                                                                                  \
            }                                                                                      \
            found[k] = at;                                                                         \
        }                                                                                          \
    }

DEFINE_PLACES(doubles_up, double, npy_int64, >)
DEFINE_PLACES(doubles_down, double, npy_int64, <)
DEFINE_PLACES(floats_up, float, npy_int32, >)
DEFINE_PLACES(floats_down, float, npy_int32, <)
DEFINE_PLACES(longs_up, npy_int64, npy_int64, >)
DEFINE_PLACES(longs_down, npy_int64, npy_int64, <)
DEFINE_PLACES(ints_up, npy_int32, npy_int32, >)
DEFINE_PLACES(ints_down, npy_int32, npy_int32, <)

typedef struct {
    const char *data;
    npy_intp *found;
    npy_intp outer, n, inner, itemsize, unit;
    void (*places)(const void *data, npy_intp lines, npy_intp n, npy_intp apart, npy_intp step,
                   npy_intp *found);
    int64_t next;
} Places;

/* Lines that lie one after the other, or side by side. */
static void
take_places(void *job)
{
    Places *self = job;
    npy_intp lines = self->inner == 1 ? self->outer : self->inner, block = self->n * self->inner;
    npy_intp units = (lines + self->unit - 1) / self->unit, blocks = self->inner == 1 ? 1 : self->outer;
    int64_t at;
    while ((at = ADD(&self->next, 1)) < units * blocks) {
        npy_intp first = at % units * self->unit, b = at / units;
        npy_intp count = first + self->unit < lines ? self->unit : lines - first;
        npy_intp apart = self->inner == 1 ? self->n : 1;
        self->places(self->data + (b * block + first * apart) * self->itemsize, count, self->n, apart,
                     self->inner, self->found + b * self->inner + first);
    }
    clear_faults(); /* to compare with what is no number raises a flag, of which NumPy says nothing */
}

static int
take_type(Places *self, PyArrayObject *x, int up)
{
    switch (PyArray_TYPE(x)) {
#define OF(TYPE, NAME)                                                                             \
    case TYPE: self->places = up ? NAME##_up_places : NAME##_down_places; return 1;
        OF(NPY_DOUBLE, doubles)
        OF(NPY_FLOAT, floats)
        OF(NPY_INT64, longs)
        OF(NPY_INT32, ints)
    }
    return 0;
}

/* The places along one axis of several, an array, new; NULL without an error where NumPy has to look. */
static PyObject *
places_along(PyArrayObject *a, int largest, const Asked *asked)
{
    Lines of;
    if (PyArray_NDIM(a) < 2 || asked->more || !take_lines_of(&of, a, asked) || PyArray_SIZE(a) == 0 || !PyArray_ISCARRAY_RO(a)) {
        return NULL;
    }
    Places self = {.data = PyArray_BYTES(a), .outer = of.outer, .n = of.n, .inner = of.inner,
                   .itemsize = PyArray_ITEMSIZE(a)};
    if (!take_type(&self, a, largest)) {
        return NULL;
    }
    int is_float = PyArray_DESCR(a)->kind == 'f', is_high = self.inner < GROUP || self.n > SHORT_LINE;
    if (self.n > NPY_MAX_INT32 || (self.inner == 1 ? self.n > SHORT_LINE
                                                   : is_float ? is_high : self.inner < GROUP)) {
        return NULL; /* NumPy turns what is narrow or high, and has more registers' elements at a time */
    }
    PyObject *made = PyArray_SimpleNew(of.axes, of.shape, NPY_INTP);
    if (made != NULL) {
        self.found = PyArray_DATA((PyArrayObject *)made);
        self.unit = self.n < BATCH ? (BATCH / self.n + GROUP - 1) / GROUP * GROUP : GROUP;
        int helpers = helpers_for(PyArray_NBYTES(a), helpers_now());
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
        with_crew(take_places, &self, helpers);
        NPY_END_THREADS;
    }
    return made;
}

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

static PyObject *
found_place(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, int largest)
{
    Asked asked = {0};
    if (count == 1 && kwnames == NULL) {
        return place_of(args[0], largest);
    }
    int is_along = count > 0 && IS_NUMPYS(args[0]) &&
                   take_asked(args, count, kwnames, LARGEST, &asked) && asked.has_axis;
    return is_along ? places_along((PyArrayObject *)args[0], largest, &asked) : NULL;
}

#define DEFINE_PLACE(NAME, LARGEST, OWNER, NUMPYS)                                                 \
    PyObject *NAME(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,           \
                   PyObject *kwnames)                                                              \
    {                                                                                              \
        static PyObject *numpys;                                                                   \
        PyObject *found = found_place(args, count, kwnames, LARGEST);                              \
        return found != NULL || PyErr_Occurred()                                                   \
                   ? found                                                                         \
                   : left_to_numpy(&numpys, OWNER, NUMPYS, args, count, kwnames);                  \
    }

DEFINE_PLACE(argmax, 1, NULL, "argmax")
DEFINE_PLACE(argmin, 0, NULL, "argmin")
DEFINE_PLACE(argmax_of, 1, "ndarray", "argmax")
DEFINE_PLACE(argmin_of, 0, "ndarray", "argmin")
