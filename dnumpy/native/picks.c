/* Elements of one axis picked by an array of whole numbers, which NumPy prepares for longer than it
   takes; a number that is beyond the axis is left to NumPy, which tells of it. */

#include "handle.h"

#define MOST_PICKED 4096 /* elements: of more, NumPy is as fast */

/* Say whether numbers pick elements of a line of plain ones, all of which can be copied. */
static int
picks_plainly(PyArrayObject *x, PyArrayObject *numbers)
{
    int type = PyArray_TYPE(x);
    return PyArray_NDIM(x) == 1 && PyTypeNum_ISNUMBER(type) && PyArray_ISALIGNED(x) &&
           PyArray_ISNBO(PyArray_DESCR(x)->byteorder) && PyArray_TYPE(numbers) == NPY_INTP &&
           PyArray_NDIM(numbers) > 0 && PyArray_ISCARRAY_RO(numbers) &&
           PyArray_SIZE(numbers) <= MOST_PICKED;
}

/* Say whether all numbers are of elements. */
static int
are_inside(const npy_intp *numbers, npy_intp count, npy_intp extent)
{
    int inside = 1;
    for (npy_intp k = 0; k < count; k++) {
        inside &= numbers[k] >= -extent && numbers[k] < extent;
    }
    return inside;
}

#define FOR_EACH_PICK(T, DOES)                                                                     \
    for (npy_intp k = 0; k < count; k++) {                                                         \
        npy_intp at = numbers[k] + (numbers[k] < 0 ? extent : 0);                                  \
        T *element = (T *)(data + at * stride);                                                    \
        DOES;                                                                                      \
    }

typedef struct {
    npy_uint64 a, b;
} Wide;

/* Do the same for elements of as many bytes as one of these types has. */
#define FOR_EACH_OF_ANY(DOES)                                                                      \
    switch (itemsize) {                                                                            \
        case 1: FOR_EACH_PICK(npy_uint8, DOES(npy_uint8)) break;                                   \
        case 2: FOR_EACH_PICK(npy_uint16, DOES(npy_uint16)) break;                                 \
        case 4: FOR_EACH_PICK(npy_uint32, DOES(npy_uint32)) break;                                 \
        case 8: FOR_EACH_PICK(npy_uint64, DOES(npy_uint64)) break;                                 \
        default: FOR_EACH_PICK(Wide, DOES(Wide)) break;                                            \
    }

#define READS(T) ((T *)other)[k] = *element
#define WRITES(T) *element = ((T *)other)[k]
#define FILLS(T) *element = *(T *)other

static int
is_of_known_bytes(npy_intp itemsize)
{
    return itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8 || itemsize == 16;
}

/* The elements that numbers pick of a line, new; NULL without an error where NumPy has to look. */
static PyObject *
elements_by_numbers(PyArrayObject *x, PyArrayObject *index)
{
    npy_intp itemsize = PyArray_ITEMSIZE(x);
    if (!picks_plainly(x, index) || !is_of_known_bytes(itemsize)) {
        return NULL;
    }
    const npy_intp *numbers = PyArray_DATA(index);
    npy_intp count = PyArray_SIZE(index), extent = PyArray_DIM(x, 0), stride = PyArray_STRIDE(x, 0);
    if (!are_inside(numbers, count, extent)) {
        return NULL;
    }
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x)),
                                          PyArray_NDIM(index), PyArray_DIMS(index), NULL, NULL, 0, NULL);
    if (made != NULL) {
        char *data = PyArray_BYTES(x), *other = PyArray_BYTES((PyArrayObject *)made);
        FOR_EACH_OF_ANY(READS)
    }
    return made;
}

/* Write an array, or the bytes of one element, to the elements that numbers pick, one after the other;
   0 where NumPy has to. */
static int
put_by_numbers(PyArrayObject *x, PyArrayObject *index, PyArrayObject *values, const char *element_bytes)
{
    npy_intp itemsize = PyArray_ITEMSIZE(x);
    if (!picks_plainly(x, index) || !is_of_known_bytes(itemsize) || !PyArray_ISWRITEABLE(x) ||
        PyArray_FLAGS(x) < 0) {
        return 0;
    }
    const npy_intp *numbers = PyArray_DATA(index);
    npy_intp count = PyArray_SIZE(index), extent = PyArray_DIM(x, 0), stride = PyArray_STRIDE(x, 0);
    if (!are_inside(numbers, count, extent)) {
        return 0;
    }
    char *data = PyArray_BYTES(x);
    if (values != NULL) {
        const char *other = PyArray_BYTES(values);
        FOR_EACH_OF_ANY(WRITES)
    }
    else {
        const char *other = element_bytes;
        FOR_EACH_OF_ANY(FILLS)
    }
    return 1;
}

/* The rows of an array by numbers, which NumPy takes faster than it picks them by an index. */
static PyObject *
rows_by_numbers(PyArrayObject *x, PyArrayObject *numbers)
{
    if (PyArray_NDIM(x) < 2 || PyArray_NDIM(numbers) < 1 || PyArray_TYPE(numbers) != NPY_INTP ||
        PyArray_SIZE(numbers) < FEWEST_PICKED || !PyArray_ISCARRAY_RO(numbers) ||
        !PyArray_IS_C_CONTIGUOUS(x) || PyDataType_REFCHK(PyArray_DESCR(x))) {
        return NULL;
    }
    PyObject *made = PyArray_TakeFrom(x, (PyObject *)numbers, 0, NULL, NPY_RAISE);
    PyErr_Clear(); /* a number beyond the end, of which NumPy tells */
    return made;
}

/* What numbers pick, new; NULL without an error where NumPy has to look. */
PyObject *
picked_by_numbers(PyArrayObject *x, PyArrayObject *numbers)
{
    PyObject *elements = elements_by_numbers(x, numbers);
    return elements != NULL || PyErr_Occurred() ? elements : rows_by_numbers(x, numbers);
}

/* Write an array of as many, or one number, to the elements that numbers pick: 1 if it was done. */
int
put_picked(PyArrayObject *x, PyArrayObject *index, PyObject *value)
{
    PyArrayObject *new = (PyArrayObject *)value;
    Wide cell;
    if (!PyArray_IS_C_CONTIGUOUS(x) || meet(x, index)) {
        return 0;
    }
    if (!IS_NUMPYS(value)) {
        return element_of(x, value, (char *)&cell) && put_by_numbers(x, index, NULL, (char *)&cell);
    }
    return PyArray_DESCR(new) == PyArray_DESCR(x) && PyArray_IS_C_CONTIGUOUS(new) &&
           PyArray_ISALIGNED(new) && PyArray_SAMESHAPE(new, index) && !meet(x, new) &&
           put_by_numbers(x, index, new, NULL);
}
