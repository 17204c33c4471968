/* Operations on small arrays of two dtypes, of which one is cast to the other's loop.

   NumPy casts within its iterator, through buffers; here what has another dtype than the loop is written
   anew, and the loop runs as over operands of one. Casts are those that lose nothing a loop would tell
   of: of booleans and integers to the integers and floats beside them, and of single floats to double. */

#include "loops.h"

#include <numpy/arrayscalars.h>

#define MOST_CAST 8192 /* elements: what one buffer of NumPy's iterator holds */

#define FROM(TYPE, T, TO)                                                                          \
    case TYPE:                                                                                     \
        for (npy_intp k = 0; k < size; k++) {                                                      \
            ((TO *)to)[k] = (TO)((const T *)from)[k];                                              \
        }                                                                                          \
        return 1;

#define DEFINE_CAST(NAME, TO, AND_MORE)                                                            \
    static int NAME(const void *from, int type, void *to, npy_intp size)                           \
    {                                                                                              \
        switch (type) {                                                                            \
            case NPY_BOOL:                                                                         \
                for (npy_intp k = 0; k < size; k++) { /* any byte but 0 is true */                 \
                    ((TO *)to)[k] = (TO)(((const npy_bool *)from)[k] != 0);                        \
                }                                                                                  \
                return 1;                                                                          \
            FROM(NPY_BYTE, npy_byte, TO)                                                           \
            FROM(NPY_UBYTE, npy_ubyte, TO)                                                         \
            FROM(NPY_SHORT, npy_short, TO)                                                         \
            FROM(NPY_USHORT, npy_ushort, TO)                                                       \
            AND_MORE                                                                               \
            default: return 0;                                                                     \
        }                                                                                          \
    }

#define WIDER(TO)                                                                                  \
    FROM(NPY_INT, npy_int, TO)                                                                     \
    FROM(NPY_UINT, npy_uint, TO)                                                                   \
    FROM(NPY_LONG, npy_long, TO)

DEFINE_CAST(cast_to_double, double,
            WIDER(double) FROM(NPY_ULONG, npy_ulong, double) FROM(NPY_LONGLONG, npy_longlong, double)
                FROM(NPY_ULONGLONG, npy_ulonglong, double) FROM(NPY_FLOAT, float, double))
DEFINE_CAST(cast_to_float, float, )
#if NPY_SIZEOF_LONG > NPY_SIZEOF_INT
DEFINE_CAST(cast_to_long, npy_long, FROM(NPY_INT, npy_int, npy_long) FROM(NPY_UINT, npy_uint, npy_long))
#else
DEFINE_CAST(cast_to_long, npy_long, )
#endif

static int
cast_to(int made, const void *from, int type, void *to, npy_intp size)
{
    return made == NPY_DOUBLE  ? cast_to_double(from, type, to, size)
           : made == NPY_FLOAT ? cast_to_float(from, type, to, size)
                               : cast_to_long(from, type, to, size);
}

static int
is_wide_integer(int type)
{
    return PyTypeNum_ISINTEGER(type) && type >= NPY_INT;
}

/* The type of the loop over arrays of two types; -1 where NumPy has to look. */
static int
type_of_both(int a, int b)
{
    int small = PyTypeNum_ISBOOL(a) || (PyTypeNum_ISINTEGER(a) && a < NPY_INT);
    if (b == NPY_DOUBLE) {
        return NPY_DOUBLE; /* of all that can be cast to it */
    }
    if (b == NPY_FLOAT) {
        return small ? NPY_FLOAT : is_wide_integer(a) ? NPY_DOUBLE : -1;
    }
    return b == NPY_LONG && NPY_SIZEOF_LONG > NPY_SIZEOF_INT && (small || a == NPY_INT || a == NPY_UINT)
               ? NPY_LONG
               : -1;
}

/* The type of the loop over an array of a type and a number; -1 where NumPy has to look. */
static int
type_beside(int type, PyObject *number)
{
    PyTypeObject *given = Py_TYPE(number);
    int exact = PyTypeNum_ISBOOL(type) || PyTypeNum_ISINTEGER(type);
    if (given == &PyDoubleArrType_Type) {
        return exact || type == NPY_FLOAT ? NPY_DOUBLE : -1;
    }
    if (given == &PyFloat_Type) {
        return exact ? NPY_DOUBLE : -1;
    }
    return given == &PyLong_Type && PyTypeNum_ISBOOL(type) && NPY_SIZEOF_LONG == NPY_SIZEOF_INTP
               ? NPY_LONG
               : -1;
}

/* The type of the loop that a ufunc runs over operands of other dtypes; -1 where NumPy has to look. */
static int
type_of_loop(PyObject *ufunc, PyObject *const *given, int count)
{
    static PyObject *divide;
    int types[2];
    for (int k = 0; k < count; k++) {
        types[k] = IS_NUMPYS(given[k]) ? PyArray_TYPE((PyArrayObject *)given[k]) : -1;
    }
    if (divide == NULL) {
        divide = numpys_own(NULL, "divide"); /* kept */
    }
    if (count == 1) { /* which has no loop of its own */
        return is_wide_integer(types[0]) ? NPY_DOUBLE : -1;
    }
    int a = types[0], b = types[1];
    if (ufunc == divide && (a < 0 || PyTypeNum_ISINTEGER(a)) && (b < 0 || PyTypeNum_ISINTEGER(b))) {
        int numbers = (a < 0 && !PyLong_CheckExact(given[0]) && !PyFloat_CheckExact(given[0])) ||
                      (b < 0 && !PyLong_CheckExact(given[1]) && !PyFloat_CheckExact(given[1]));
        return numbers ? -1 : NPY_DOUBLE;
    }
    if (a < 0 || b < 0) {
        return a < 0 ? type_beside(b, given[0]) : type_beside(a, given[1]);
    }
    return a == b ? -1 : type_of_both(a, b) >= 0 ? type_of_both(a, b) : type_of_both(b, a);
}

/* The same numbers as another type, new; NULL without an error where there is no such cast here. */
static PyObject *
cast_array(PyArrayObject *a, int type)
{
    PyArray_Descr *built_in = PyArray_DescrFromType(PyArray_TYPE(a));
    int plain = built_in == PyArray_DESCR(a) && PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISALIGNED(a) &&
                PyArray_NDIM(a) > 0 && size_of_array(a) <= MOST_CAST;
    Py_XDECREF(built_in);
    PyArray_Descr *dtype = plain ? PyArray_DescrFromType(type) : NULL;
    PyObject *made = dtype == NULL ? NULL : new_array(dtype, PyArray_NDIM(a), PyArray_DIMS(a));
    Py_XDECREF(dtype);
    if (made != NULL && !cast_to(type, PyArray_DATA(a), PyArray_TYPE(a),
                                 PyArray_DATA((PyArrayObject *)made), size_of_array(a))) {
        Py_CLEAR(made);
    }
    return made;
}

/* Say whether NumPy would call a loop once, with operands side by side, as is done here. */
static int
is_one_call(PyObject *const *given, int count)
{
    PyArrayObject *first = NULL;
    for (int k = 0; k < count; k++) {
        PyArrayObject *a = (PyArrayObject *)given[k];
        if (!IS_NUMPYS(given[k])) {
            continue;
        }
        if (!PyArray_IS_C_CONTIGUOUS(a) || (first != NULL && !PyArray_SAMESHAPE(a, first)) ||
            size_of_array(a) < 2 || size_of_array(a) > MOST_CAST) {
            return 0;
        }
        first = a;
    }
    return 1;
}

/* What a ufunc of NumPy's makes of operands of several dtypes, new, in `out` if that is given; NULL
   without an error where that is left to NumPy. */
PyObject *
looped_mixed(PyObject *ufunc, PyObject *const *given, int count, PyObject *out)
{
    int type = ufunc == NULL || !is_ufunc(ufunc) || ((PyUFuncObject *)ufunc)->nin != count
                   ? -1
                   : type_of_loop(ufunc, given, count);
    PyObject *cast[2] = {NULL, NULL}, *made = NULL;
    if (type < 0 || !(is_steady(((PyUFuncObject *)ufunc)->name, type) || is_one_call(given, count))) {
        return NULL;
    }
    int complete = 1;
    for (int k = 0; complete && k < count; k++) {
        PyArrayObject *a = (PyArrayObject *)given[k];
        cast[k] = IS_NUMPYS(given[k]) && PyArray_TYPE(a) != type ? cast_array(a, type)
                                                                 : Py_NewRef(given[k]);
        complete = cast[k] != NULL;
    }
    if (complete) {
        made = looped(ufunc, cast, count, out);
    }
    Py_XDECREF(cast[0]);
    Py_XDECREF(cast[1]);
    return made;
}
