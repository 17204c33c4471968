/* Numbers told apart by splitters, in the order in which they lie. NaN is beyond all splitters. */

#include "pairwise.h"

#define ABREAST 4
#define FEW 16 /* parts, for which comparing with each splitter takes less than finding the part */
#define BLOCK 2048

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* A value is found among the splitters in steps without branches, several values at a time (Sanders and
   Winkel, "Super Scalar Sample Sort", ESA 2004). */
#define EACH_PART(T, DO)                                                                           \
    npy_intp i = 0, half, many = parts;                                                            \
    for (; i + ABREAST <= size; i += ABREAST) {                                                    \
        T value[ABREAST];                                                                          \
        npy_intp k[ABREAST] = {0};                                                                 \
        memcpy(value, x + i, sizeof value);                                                        \
        for (half = many / 2; half > 0; half /= 2) {                                               \
            for (int m = 0; m < ABREAST; m++) {                                                    \
                k[m] += half * !(value[m] < splitters[k[m] + half - 1]);                           \
            }                                                                                      \
        }                                                                                          \
        for (int m = 0; m < ABREAST; m++) {                                                        \
            DO(value[m], i + m, k[m])                                                              \
        }                                                                                          \
    }                                                                                              \
    for (; i < size; i++) {                                                                        \
        T value = x[i];                                                                            \
        npy_intp k = 0;                                                                            \
        for (half = many / 2; half > 0; half /= 2) {                                               \
            k += half * !(value < splitters[k + half - 1]);                                        \
        }                                                                                          \
        DO(value, i, k)                                                                            \
    }

/* What to do with a value. None goes beyond the target, even where somebody writes to the values
   between counting and moving them; and none where its part is at a negative place. */
#define COUNT_ONLY(VALUE, I, K) places[K]++;
#define MOVE_VALUE(VALUE, I, K)                                                                    \
    if ((at = places[K]) >= 0 && at < room) {                                                      \
        out[at] = VALUE;                                                                           \
        places[K] = at + 1;                                                                        \
    }
#define MOVE_PLACE(VALUE, I, K)                                                                    \
    if ((at = places[K]) >= 0 && at < room) {                                                      \
        out[at] = first + (I);                                                                     \
        places[K] = at + 1;                                                                        \
    }

/* WHOLE, of as many bytes as T, is what compilers count in when they make vectors. */
#define DEFINE_PARTS(T, WHOLE, NAME)                                                               \
    FOR_EACH_CPU static WHOLE NAME##_below(const T *x, int count, T splitter)                      \
    {                                                                                              \
        WHOLE below = 0;                                                                           \
        for (int i = 0; i < count; i++) {                                                          \
            below += x[i] < splitter;                                                              \
        }                                                                                          \
        return below;                                                                              \
    }                                                                                              \
                                                                                                   \
    static void NAME##_count(const T *x, npy_intp size, const T *splitters, npy_intp parts,        \
                             npy_intp *places)                                                     \
    {                                                                                              \
        if (parts > FEW) {                                                                         \
            EACH_PART(T, COUNT_ONLY)                                                               \
            return;                                                                                \
        }                                                                                          \
        npy_intp above[FEW + 1] = {size}; /* how many are not below each splitter */               \
        for (npy_intp start = 0; start < size; start += BLOCK) {                                   \
            int count = size - start < BLOCK ? (int)(size - start) : BLOCK;                        \
            for (npy_intp k = 1; k < parts; k++) {                                                 \
                above[k] += count - NAME##_below(x + start, count, splitters[k - 1]);              \
            }                                                                                      \
        }                                                                                          \
        for (npy_intp k = 0; k < parts; k++) {                                                     \
            places[k] += above[k] - above[k + 1];                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME##_move(const T *x, npy_intp size, const T *splitters, npy_intp parts,         \
                            npy_intp *places, T *out, npy_intp room)                               \
    {                                                                                              \
        npy_intp at;                                                                               \
        if (parts == 2 && places[0] >= 0 && places[1] >= 0) {                                      \
            npy_intp low = places[0], high = places[1];                                            \
            T splitter = splitters[0];                                                             \
            for (npy_intp i = 0; i < size; i++) {                                                  \
                T value = x[i];                                                                    \
                npy_intp below = value < splitter;                                                 \
                at = below ? low : high;                                                           \
                if (at >= room) {                                                                  \
                    break;                                                                         \
                }                                                                                  \
                out[at] = value;                                                                   \
                low += below;                                                                      \
                high += 1 - below;                                                                 \
            }                                                                                      \
            places[0] = low;                                                                       \
            places[1] = high;                                                                      \
            return;                                                                                \
        }                                                                                          \
        EACH_PART(T, MOVE_VALUE)                                                                   \
    }                                                                                              \
                                                                                                   \
    static void NAME##_locate(const T *x, npy_intp size, const T *splitters, npy_intp parts,       \
                              npy_intp *places, npy_intp *out, npy_intp room, npy_intp first)      \
    {                                                                                              \
        npy_intp at;                                                                               \
        EACH_PART(T, MOVE_PLACE)                                                                   \
    }

DEFINE_PARTS(double, npy_int64, f8)
DEFINE_PARTS(float, npy_int32, f4)
DEFINE_PARTS(npy_int64, npy_int64, i8)
DEFINE_PARTS(npy_uint64, npy_int64, u8)
DEFINE_PARTS(npy_int32, npy_int32, i4)
DEFINE_PARTS(npy_uint32, npy_int32, u4)

#define TELL(T, NAME)                                                                              \
    if (out == NULL) {                                                                             \
        NAME##_count((const T *)x, size, (const T *)split, parts, place);                          \
    }                                                                                              \
    else if (first < 0) {                                                                          \
        NAME##_move((const T *)x, size, (const T *)split, parts, place, (T *)out, room);           \
    }                                                                                              \
    else {                                                                                         \
        NAME##_locate((const T *)x, size, (const T *)split, parts, place, (npy_intp *)out, room,   \
                      first);                                                                      \
    }

/* `tell_apart(values, splitters, places, out, first)`: add to `places` how many values lie in each part;
   or, where there is an `out`, move each there to the place of its part, which goes on by one, if it is
   within; or, where `first` is not negative, where each lies, of which that is the first.
   There is one part more than splitters, a power of two. */
PyObject *
tell_apart(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values, *splitters, *places;
    PyObject *target;
    Py_ssize_t first;
    if (!PyArg_ParseTuple(args, "O!O!O!On", &PyArray_Type, &values, &PyArray_Type, &splitters,
                          &PyArray_Type, &places, &target, &first)) {
        return NULL;
    }
    npy_intp parts = PyArray_SIZE(places), size = PyArray_SIZE(values);
    int type = PyArray_TYPE(values), bytes = (int)PyArray_ITEMSIZE(values);
    int moves = target != Py_None, out_type = first < 0 ? type : NPY_INTP;
    if (PyArray_TYPE(splitters) != type || PyArray_TYPE(places) != NPY_INTP ||
        !PyArray_ISCARRAY_RO(values) || !PyArray_ISCARRAY_RO(splitters) ||
        !PyArray_ISCARRAY(places) || PyArray_SIZE(splitters) != parts - 1 || parts < 2 ||
        (parts & (parts - 1)) != 0 ||
        (moves && (!PyArray_Check(target) || PyArray_TYPE((PyArrayObject *)target) != out_type ||
                   !PyArray_ISCARRAY((PyArrayObject *)target)))) {
        PyErr_SetString(PyExc_TypeError, "expected numbers, splitters, places of a power of two");
        return NULL;
    }
    const void *x = PyArray_DATA(values), *split = PyArray_DATA(splitters);
    npy_intp *place = PyArray_DATA(places);
    void *out = moves ? PyArray_DATA((PyArrayObject *)target) : NULL;
    npy_intp room = moves ? PyArray_SIZE((PyArrayObject *)target) : 0;
    int known = 1;
    Py_BEGIN_ALLOW_THREADS
    if (type == NPY_DOUBLE) {
        TELL(double, f8)
    }
    else if (type == NPY_FLOAT) {
        TELL(float, f4)
    }
    else if (PyTypeNum_ISSIGNED(type) && PyTypeNum_ISINTEGER(type) && bytes == 8) {
        TELL(npy_int64, i8)
    }
    else if (PyTypeNum_ISUNSIGNED(type) && bytes == 8) {
        TELL(npy_uint64, u8)
    }
    else if (PyTypeNum_ISSIGNED(type) && PyTypeNum_ISINTEGER(type) && bytes == 4) {
        TELL(npy_int32, i4)
    }
    else if (PyTypeNum_ISUNSIGNED(type) && bytes == 4) {
        TELL(npy_uint32, u4)
    }
    else {
        known = 0;
    }
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(known);
}
