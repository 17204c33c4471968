/* Parts of arrays of NumPy's by integers and slices: shown as views, and written to.

   NumPy parses an index for everything that it may be, and has the view by way of general code; most
   indices are slices with whole numbers. What is not as plain as that, or does not fit the array, is
   left to NumPy, errors included. */

#include "loops.h"
#include "numbers.h"

#define WARNS_WHEN_WRITTEN (1 << 31) /* a flag of NumPy's own, as of what `np.diagonal` gave once */

#define MOST_AXES 8

typedef struct {
    npy_intp shape[MOST_AXES], strides[MOST_AXES], offset;
    int axes;
} Region;

static inline int
is_bound(PyObject *x)
{
    return x == Py_None || PyLong_CheckExact(x) || is_whole_scalar(x);
}

/* Add an axis of which a slice is taken; 0 where NumPy has to look. */
static int
add_slice(Region *region, PyObject *key, npy_intp extent, npy_intp stride)
{
    PySliceObject *slice = (PySliceObject *)key;
    Py_ssize_t start, stop, step;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step) ||
        PySlice_Unpack(key, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t size = PySlice_AdjustIndices(extent, &start, &stop, step);
    if (size <= 0) {
        size = start = 0;
        step = 1;
    }
    region->offset += start * stride;
    region->strides[region->axes] = step * stride;
    region->shape[region->axes++] = size;
    return 1;
}

static int
add_whole(Region *region, PyArrayObject *a, int first, int end)
{
    if (region->axes + end - first > MOST_AXES) {
        return 0;
    }
    for (int k = first; k < end; k++) {
        region->strides[region->axes] = PyArray_STRIDE(a, k);
        region->shape[region->axes++] = PyArray_DIM(a, k);
    }
    return 1;
}

/* Find what an index shows; 0 where NumPy has to look, as for one element. */
static int
find_region(Region *region, PyArrayObject *a, PyObject *const *parts, Py_ssize_t count)
{
    int ndim = PyArray_NDIM(a), axis = 0, taken = 0, ellipses = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        taken += PyLong_CheckExact(parts[k]) || PySlice_Check(parts[k]);
        ellipses += parts[k] == Py_Ellipsis;
    }
    if (taken > ndim || ellipses > 1) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *part = parts[k];
        if (part == Py_Ellipsis) {
            int end = axis + ndim - taken;
            if (!add_whole(region, a, axis, end)) {
                return 0;
            }
            axis = end;
        }
        else if (region->axes == MOST_AXES) {
            return 0;
        }
        else if (part == Py_None) {
            region->strides[region->axes] = 0;
            region->shape[region->axes++] = 1;
        }
        else if (PySlice_Check(part)) {
            if (!add_slice(region, part, PyArray_DIM(a, axis), PyArray_STRIDE(a, axis))) {
                return 0;
            }
            axis++;
        }
        else if (PyLong_CheckExact(part)) {
            Py_ssize_t at = PyLong_AsSsize_t(part), extent = PyArray_DIM(a, axis);
            at += at < 0 ? extent : 0; /* -1 with an error is the last one, unless that is seen */
            if (at < 0 || at >= extent || (at == extent - 1 && PyErr_Occurred())) {
                PyErr_Clear();
                return 0;
            }
            region->offset += at * PyArray_STRIDE(a, axis);
            axis++;
        }
        else {
            return 0;
        }
    }
    return add_whole(region, a, axis, ndim) && region->axes > 0;
}

/* A view by a basic index, new; NULL without an error where NumPy has to look. */
PyObject *
region_of(PyObject *array, PyObject *key)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int is_tuple = PyTuple_CheckExact(key);
    Region region = {.axes = 0, .offset = 0};
    if (!find_region(&region, a, is_tuple ? &PyTuple_GET_ITEM(key, 0) : &key,
                     is_tuple ? PyTuple_GET_SIZE(key) : 1) ||
        PyArray_FLAGS(a) < 0) { /* which warns of writes */
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(a);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), region.axes, region.shape, region.strides,
        PyArray_BYTES(a) + region.offset, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(array)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* ---------------------------------------------------------------- writing */

#define MOST_WRITTEN 4096 /* elements: with more, NumPy is as fast */

/* Where the elements that are written come from: as many steps as the region has. */
typedef struct {
    const char *data;
    npy_intp steps[MOST_AXES];
} Source;

/* Say whether two pieces of memory have bytes in common, which begin and end here. */
static int
overlap(const char *x, const char *x_end, const char *y, const char *y_end)
{
    return x < y_end && y < x_end;
}

static void
bounds_of(const char *data, const npy_intp *shape, const npy_intp *steps, int axes, npy_intp bytes,
          const char **first, const char **end)
{
    *first = data;
    *end = data + bytes;
    for (int j = 0; j < axes; j++) {
        npy_intp reach = (shape[j] - 1) * steps[j];
        *(reach < 0 ? first : end) += reach;
    }
}

enum { MISFIT, APART, OVERLAPPING, ITSELF };

/* The elements of an array beside a region of as many axes or more. */
static int
take_source(Source *source, PyArrayObject *from, const Region *region, const char *to, npy_intp bytes)
{
    int before = region->axes - PyArray_NDIM(from);
    const char *first, *end, *first_read, *end_read;
    if (before < 0) {
        return MISFIT;
    }
    source->data = PyArray_BYTES(from);
    for (int j = 0; j < region->axes; j++) {
        npy_intp extent = j < before ? 1 : PyArray_DIM(from, j - before);
        if (extent != region->shape[j] && extent != 1) {
            return MISFIT;
        }
        source->steps[j] = extent == 1 ? 0 : PyArray_STRIDE(from, j - before);
    }
    bounds_of(to, region->shape, region->strides, region->axes, bytes, &first, &end);
    bounds_of(source->data, region->shape, source->steps, region->axes, bytes, &first_read, &end_read);
    if (source->data == to && PyArray_NDIM(from) == region->axes &&
        PyArray_CompareLists(source->steps, region->strides, region->axes)) {
        return ITSELF; /* the last step of x[key] += 1 */
    }
    if (!overlap(first, end, first_read, end_read)) {
        return APART;
    }
    /* along one axis NumPy copies as it goes: with another step it reads what it has written */
    return region->axes == 1 && source->steps[0] != region->strides[0] ? MISFIT : OVERLAPPING;
}

#define COPY_LINE(T)                                                                               \
    for (npy_intp k = 0; k < count; k++) {                                                         \
        *(T *)(to + k * step) = *(const T *)(from + k * step_read);                                \
    }

static void
copy_line(char *to, npy_intp step, const char *from, npy_intp step_read, npy_intp count, npy_intp bytes)
{
    if (step == bytes && step_read == bytes) {
        memcpy(to, from, count * bytes);
        return;
    }
    switch (bytes) {
        case 1: COPY_LINE(npy_uint8) break;
        case 2: COPY_LINE(npy_uint16) break;
        case 4: COPY_LINE(npy_uint32) break;
        case 8: COPY_LINE(npy_uint64) break;
        default:
            for (npy_intp k = 0; k < count; k++) {
                memcpy(to + k * step, from + k * step_read, bytes);
            }
    }
}

static void
copy_region(const Region *region, int axis, char *to, const Source *source, const char *from,
            npy_intp bytes)
{
    npy_intp step = region->strides[axis], step_read = source->steps[axis];
    if (axis == region->axes - 1) {
        copy_line(to, step, from, step_read, region->shape[axis], bytes);
        return;
    }
    for (npy_intp k = 0; k < region->shape[axis]; k++, to += step, from += step_read) {
        copy_region(region, axis + 1, to, source, from, bytes);
    }
}

/* Copy the elements to memory of their own, new, whence they are written; NULL with an error. */
static char *
set_apart(Source *source, const Region *region, npy_intp size, npy_intp bytes)
{
    char *memory = PyMem_Malloc(size * bytes);
    Region apart = {.axes = region->axes};
    npy_intp step = bytes;
    for (int j = region->axes; j-- > 0; step *= region->shape[j]) {
        apart.shape[j] = region->shape[j];
        apart.strides[j] = step;
    }
    if (memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    copy_region(&apart, 0, memory, source, source->data, bytes);
    source->data = memory;
    memcpy(source->steps, apart.strides, sizeof source->steps);
    return memory;
}

/* Write an array of the same dtype, or a number, to what a basic index shows: 1 if it was done, 0 where
   NumPy has to, -1 with an error. */
static int
put_region(PyArrayObject *a, PyObject *key, PyObject *value)
{
    int is_tuple = PyTuple_CheckExact(key), type = PyArray_TYPE(a);
    Region region = {.axes = 0, .offset = 0};
    Source source = {.data = NULL};
    Number number;
    PyArrayObject *from = (PyArrayObject *)value;
    int is_array = IS_NUMPYS(value);
    if (!PyTypeNum_ISNUMBER(type) || !PyArray_ISBEHAVED(a) || PyArray_FLAGS(a) < 0 ||
        (is_array ? PyArray_DESCR(from) != PyArray_DESCR(a) || !PyArray_ISALIGNED(from)
                  : !put_number(&number, value, type)) ||
        !find_region(&region, a, is_tuple ? &PyTuple_GET_ITEM(key, 0) : &key,
                     is_tuple ? PyTuple_GET_SIZE(key) : 1)) {
        return 0;
    }
    npy_intp size = 1, bytes = PyArray_ITEMSIZE(a);
    for (int j = 0; j < region.axes; j++) {
        size *= region.shape[j];
    }
    char *to = PyArray_BYTES(a) + region.offset;
    if (size > MOST_WRITTEN || (is_array && size == 0)) {
        return 0; /* of nothing, what fits is NumPy's to say */
    }
    int lies = is_array ? take_source(&source, from, &region, to, bytes) : APART;
    char *apart = lies == OVERLAPPING ? set_apart(&source, &region, size, bytes) : NULL;
    if (lies == MISFIT || (lies == OVERLAPPING && apart == NULL)) {
        return lies == MISFIT ? 0 : -1;
    }
    if (size > 0 && lies != ITSELF) {
        source.data = is_array ? source.data : (const char *)&number;
        copy_region(&region, 0, to, &source, source.data, bytes);
    }
    PyMem_Free(apart);
    return 1;
}

/* Write to an element or a region of a small array: 0, or -1 with an error. */
int
put_item(PyObject *a, PyObject *key, PyObject *plain)
{
    int done = set_element((PyArrayObject *)a, key, plain);
    done = done ? done : put_region((PyArrayObject *)a, key, plain);
    if (done == 0) {
        Py_INCREF(a);
        Py_INCREF(plain);
        done = PyObject_SetItem(a, key, plain);
        Py_DECREF(a);
        Py_DECREF(plain);
    }
    return done < 0 ? -1 : 0;
}

/* Say whether what is written lies apart from what is read, or is the same, element for element. */
static int
may_be_written_beside(PyArrayObject *out, PyArrayObject *read)
{
    if (PyArray_BYTES(out) == PyArray_BYTES(read) && PyArray_SAMESHAPE(out, read) &&
        PyArray_CompareLists(PyArray_STRIDES(out), PyArray_STRIDES(read), PyArray_NDIM(out))) {
        return 1;
    }
    char *first[2], *end[2];
    PyArrayObject *both[] = {out, read};
    for (int k = 0; k < 2; k++) {
        first[k] = end[k] = PyArray_BYTES(both[k]);
        for (int j = 0; j < PyArray_NDIM(both[k]); j++) {
            npy_intp reach = (PyArray_DIM(both[k], j) - 1) * PyArray_STRIDE(both[k], j);
            *(reach < 0 ? &first[k] : &end[k]) += reach;
        }
        end[k] += PyArray_ITEMSIZE(both[k]);
    }
    return end[0] <= first[1] || end[1] <= first[0];
}

/* Say whether an array takes what is made of operands, element by element. */
int
takes(PyArrayObject *out, PyArray_Descr *made, PyObject *const *given, int count, const npy_intp *shape,
      int axes)
{
    if (PyArray_DESCR(out) != made || PyArray_NDIM(out) != axes ||
        !PyArray_CompareLists(PyArray_DIMS(out), shape, axes) ||
        !PyArray_CHKFLAGS(out, NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE) ||
        PyArray_CHKFLAGS(out, WARNS_WHEN_WRITTEN)) {
        return 0;
    }
    for (int j = 0; j < axes; j++) { /* each element once */
        npy_intp step = PyArray_STRIDE(out, j), inner = j + 1 < axes ? PyArray_STRIDE(out, j + 1) : 0;
        npy_intp needs = j + 1 < axes ? inner * PyArray_DIM(out, j + 1) : PyArray_ITEMSIZE(out);
        if ((PyArray_DIM(out, j) > 1 || axes == 1) && step < needs) {
            return 0;
        }
    }
    for (int k = 0; k < count; k++) {
        if (IS_NUMPYS(given[k]) && !may_be_written_beside(out, (PyArrayObject *)given[k])) {
            return 0;
        }
    }
    return 1;
}
