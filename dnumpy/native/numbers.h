/* Numbers beside an array, as NumPy makes them one of its dtype. */

#ifndef DNUMPY_NUMBERS_H
#define DNUMPY_NUMBERS_H

#include "handle.h"
#include <numpy/arrayscalars.h>

#include <math.h>

/* A number of Python's or NumPy's, as the other operand's dtype has it. */
typedef union {
    npy_byte b;
    npy_short h;
    npy_int i;
    npy_long l;
    npy_longlong q;
    float f;
    double d[2];
} Number;

static inline int
fits_integer(long long value, int type)
{
    switch (type) {
        case NPY_BYTE: return value >= NPY_MIN_BYTE && value <= NPY_MAX_BYTE;
        case NPY_UBYTE: return value >= 0 && value <= NPY_MAX_UBYTE;
        case NPY_SHORT: return value >= NPY_MIN_SHORT && value <= NPY_MAX_SHORT;
        case NPY_USHORT: return value >= 0 && value <= NPY_MAX_USHORT;
        case NPY_INT: return value >= NPY_MIN_INT && value <= NPY_MAX_INT;
        case NPY_UINT: return value >= 0 && value <= (long long)NPY_MAX_UINT;
        case NPY_LONG: return value >= NPY_MIN_LONG && value <= NPY_MAX_LONG;
        case NPY_ULONG: return value >= 0 && (unsigned long long)value <= NPY_MAX_ULONG;
        case NPY_LONGLONG: return 1;
        case NPY_ULONGLONG: return value >= 0;
        default: return 0;
    }
}

/* An integer as one of a type that it fits. */
static inline int
put_integer(Number *number, long long value, int type)
{
    const long long exact = type == NPY_FLOAT ? 1LL << 24 : 1LL << 53;
    if (type == NPY_DOUBLE || type == NPY_CDOUBLE) {
        *number = (Number){.d = {(double)value, 0}};
        return value >= -exact && value <= exact;
    }
    if (type == NPY_FLOAT) {
        number->f = (float)value;
        return value >= -exact && value <= exact;
    }
    if (!fits_integer(value, type)) {
        return 0;
    }
    switch (type) {
        case NPY_BYTE:
        case NPY_UBYTE: number->b = (npy_byte)value; return 1;
        case NPY_SHORT:
        case NPY_USHORT: number->h = (npy_short)value; return 1;
        case NPY_INT:
        case NPY_UINT: number->i = (npy_int)value; return 1;
        case NPY_LONG:
        case NPY_ULONG: number->l = (npy_long)value; return 1;
        default: number->q = value; return 1;
    }
}

/* The value of a number as one of a type, if that is what NumPy makes of it beside an array of that
   type; 0 where it is to look itself. */
static inline int
put_number(Number *number, PyObject *x, int type)
{
    PyTypeObject *given = Py_TYPE(x);
    if (given == &PyFloat_Type || given == &PyDoubleArrType_Type) {
        double value = PyFloat_AS_DOUBLE(x); /* which NumPy's scalar derives from */
        if (type == NPY_DOUBLE || type == NPY_CDOUBLE) {
            *number = (Number){.d = {value, 0}};
            return 1;
        }
        number->f = (float)value;
        double size = fabs(value);
        return type == NPY_FLOAT && given == &PyFloat_Type &&
               (value == 0 || (size >= 1.5e-38 && size <= 3.4e38));
    }
    if (given == &PyLong_Type) {
        int overflows = 0;
        long long value = PyLong_AsLongLongAndOverflow(x, &overflows);
        return !overflows && put_integer(number, value, type);
    }
    if (type == NPY_BOOL && (given == &PyBool_Type || given == &PyBoolArrType_Type)) {
        number->b = given == &PyBool_Type ? x == Py_True : PyArrayScalar_VAL(x, Bool) != 0;
        return 1;
    }
    if (given == &PyLongArrType_Type && (type == NPY_LONG || type == NPY_DOUBLE)) {
        return put_integer(number, PyArrayScalar_VAL(x, Long), type);
    }
    return 0;
}

/* Say whether a number is a scalar of NumPy's, of the type of an array, of 16 bytes at most. */
static inline int
is_scalar_of(PyArrayObject *array, PyObject *number)
{
    int type = PyArray_TYPE(array);
    return Py_TYPE(number) == PyArray_DESCR(array)->typeobj && PyArray_ITEMSIZE(array) <= 16 &&
           (PyTypeNum_ISNUMBER(type) || type == NPY_BOOL);
}

#endif
