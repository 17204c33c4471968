/* Masks over whole arrays without a branch for each element.

   NumPy asks of each element whether its mask is set, which a processor guesses wrong every second
   time where a mask is as good as random: 4 ns an element. Here the numbers of the set elements of a
   block are written one after the other, where the next one goes depending on the mask and nothing
   else; what is to be done with them then takes no decision. Where a mask is not at random its set
   elements stand together, and lines of them are copied whole. Others may write to other elements. */

#include "crew.h"
#include "numbers.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* which computes several elements at a time */
#endif

#define BLOCK 1024   /* elements whose numbers are known at a time */
#define LONGEST 8192 /* elements for which nobody is kept from the interpreter's lock */
#define WORD 8       /* bytes of a mask that are looked at together */
#define LINE 64      /* likewise, to see whether all are alike */
#define ONES 0x0101010101010101u /* a word of set elements */
#define SHARE 32768  /* elements that a thread draws */
#define WARNS (1u << 31) /* the flag of an array that warns when it is written to, in no header */

enum { NONE, ALL, SOME };

/* Say how many of a line's elements are set. */
static inline int
kind_of(const unsigned char *mask)
{
    uint64_t words[LINE / WORD], any = 0, other = 0;
    memcpy(words, mask, LINE);
    for (int k = 0; k < LINE / WORD; k++) {
        any |= words[k];
        other |= words[k] ^ ONES;
    }
    return any == 0 ? NONE : other == 0 ? ALL : SOME;
}

/* Return how many elements from the first on are alike, line by line: up to BLOCK, where some are set. */
static npy_intp
stretch_of(const unsigned char *mask, npy_intp size, int *kind)
{
    *kind = size < LINE ? SOME : kind_of(mask);
    npy_intp most = *kind == SOME && size > BLOCK ? BLOCK : size, n = size < LINE ? size : LINE;
    while (n + LINE <= most && kind_of(mask + n) == *kind) {
        n += LINE;
    }
    return n;
}

/* Write the numbers of the set elements of a block, of at most BLOCK; return how many there are. */
static int
numbers_of(const unsigned char *mask, int size, uint16_t *numbers)
{
    int count = 0, k = 0;
    for (; k + WORD <= size; k += WORD) {
        uint64_t word;
        memcpy(&word, mask + k, WORD);
        if (word == 0) {
            continue;
        }
        for (int j = 0; j < WORD; j++) { /* one may be written that is written over */
            numbers[count] = (uint16_t)(k + j);
            count += mask[k + j] != 0;
        }
    }
    for (; k < size; k++) {
        numbers[count] = (uint16_t)k;
        count += mask[k] != 0;
    }
    return count;
}

/* How many are set of a stretch; the numbers of these where only some are. */
static inline npy_intp
set_among(const unsigned char *mask, npy_intp size, int kind, uint16_t *numbers)
{
    return kind == NONE ? 0 : kind == ALL ? size : numbers_of(mask, (int)size, numbers);
}

/* How many elements are set, whatever bytes somebody calls booleans. */
static npy_intp
set_in(const unsigned char *mask, npy_intp size)
{
    npy_intp count = 0, k = 0;
    while (k + LINE <= size) {
        uint8_t counts[LINE] = {0};
        npy_intp stop = size - k < 255 * LINE ? size - LINE : k + 254 * LINE;
        for (; k <= stop; k += LINE) {
            for (int j = 0; j < LINE; j++) {
                counts[j] += mask[k + j] != 0;
            }
        }
        for (int j = 0; j < LINE; j++) {
            count += counts[j];
        }
    }
    for (; k < size; k++) {
        count += mask[k] != 0;
    }
    return count;
}

typedef struct { uint64_t low, high; } Pair;

/* For elements of each size: take those that a mask shows, and put others or one in their place. */
#define LOOPS(name, type)                                                                         \
    static void take_##name(const void *from, const unsigned char *mask, npy_intp size, void *to, \
                            npy_intp room)                                                        \
    {                                                                                             \
        const type *x = from;                                                                     \
        type *out = to;                                                                           \
        uint16_t numbers[BLOCK + WORD];                                                           \
        int kind;                                                                                 \
        for (npy_intp at = 0, n; at < size; at += n) {                                            \
            n = stretch_of(mask + at, size - at, &kind);                                          \
            npy_intp count = set_among(mask + at, n, kind, numbers);                              \
            count = count > room ? room : count; /* somebody writes to the mask */                \
            room -= count;                                                                        \
            if (kind == ALL) {                                                                    \
                memcpy(out, x + at, (size_t)count * sizeof(type));                                \
            }                                                                                     \
            else {                                                                                \
                for (npy_intp k = 0; k < count; k++) {                                            \
                    out[k] = x[at + numbers[k]];                                                  \
                }                                                                                 \
            }                                                                                     \
            out += count;                                                                         \
        }                                                                                         \
    }                                                                                             \
    static void put_##name(void *to, const unsigned char *mask, npy_intp size, const void *from,  \
                           npy_intp left)                                                         \
    {                                                                                             \
        type *x = to;                                                                             \
        const type *new = from;                                                                   \
        uint16_t numbers[BLOCK + WORD];                                                           \
        int kind, one = left < 0;                                                                 \
        for (npy_intp at = 0, n; at < size; at += n) {                                            \
            n = stretch_of(mask + at, size - at, &kind);                                          \
            npy_intp count = set_among(mask + at, n, kind, numbers);                              \
            count = one || count < left ? count : left;                                           \
            if (one) {                                                                            \
                type number = *new;                                                               \
                for (npy_intp k = 0; k < count; k++) {                                            \
                    x[at + (kind == ALL ? k : numbers[k])] = number;                              \
                }                                                                                 \
                continue;                                                                         \
            }                                                                                     \
            if (kind == ALL) {                                                                    \
                memcpy(x + at, new, (size_t)count * sizeof(type));                                \
            }                                                                                     \
            else {                                                                                \
                for (npy_intp k = 0; k < count; k++) {                                            \
                    x[at + numbers[k]] = new[k];                                                  \
                }                                                                                 \
            }                                                                                     \
            new += count;                                                                         \
            left -= count;                                                                        \
        }                                                                                         \
    }

LOOPS(1, uint8_t)
LOOPS(2, uint16_t)
LOOPS(4, uint32_t)
LOOPS(8, uint64_t)
LOOPS(16, Pair)

/* Choose between two of each, bit by bit: `one` and `other_one` say that there is one number for all. */
#define CHOICE(name, type)                                                                        \
    static void choose_##name(const unsigned char *mask, npy_intp size, const void *from, int one, \
                              const void *other, int other_one, void *to)                         \
    {                                                                                             \
        const type *x = from, *y = other;                                                         \
        const type first = *x, second = *y;                                                       \
        type *out = to;                                                                           \
        if (one) {                                                                                \
            for (npy_intp k = 0; k < size; k++) {                                                 \
                type set = (type)(0 - (type)(mask[k] != 0));                                      \
                out[k] = (type)((first & set) | (y[k] & (type)~set));                             \
            }                                                                                     \
        }                                                                                         \
        else if (other_one) {                                                                     \
            for (npy_intp k = 0; k < size; k++) {                                                 \
                type set = (type)(0 - (type)(mask[k] != 0));                                      \
                out[k] = (type)((x[k] & set) | (second & (type)~set));                            \
            }                                                                                     \
        }                                                                                         \
        else {                                                                                    \
            for (npy_intp k = 0; k < size; k++) {                                                 \
                type set = (type)(0 - (type)(mask[k] != 0));                                      \
                out[k] = (type)((x[k] & set) | (y[k] & (type)~set));                              \
            }                                                                                     \
        }                                                                                         \
    }

CHOICE(1, uint8_t)
CHOICE(2, uint16_t)
CHOICE(4, uint32_t)
CHOICE(8, uint64_t)

static void
choose_16(const unsigned char *mask, npy_intp size, const void *from, int one, const void *other,
          int other_one, void *to)
{
    const Pair *x = from, *y = other;
    Pair *out = to;
    for (npy_intp k = 0; k < size; k++) {
        uint64_t set = (uint64_t)0 - (uint64_t)(mask[k] != 0);
        const Pair a = x[one ? 0 : k], b = y[other_one ? 0 : k];
        out[k].low = (a.low & set) | (b.low & ~set);
        out[k].high = (a.high & set) | (b.high & ~set);
    }
}

static const struct {
    int bytes;
    void (*take)(const void *, const unsigned char *, npy_intp, void *, npy_intp);
    void (*put)(void *, const unsigned char *, npy_intp, const void *, npy_intp);
    void (*choose)(const unsigned char *, npy_intp, const void *, int, const void *, int, void *);
} loops[] = {
    {1, take_1, put_1, choose_1},
    {2, take_2, put_2, choose_2},
    {4, take_4, put_4, choose_4},
    {8, take_8, put_8, choose_8},
    {16, take_16, put_16, choose_16},
};

/* The number of the loops for elements of an array; -1 where there are none. */
static int
loops_for(PyArrayObject *array)
{
    int plain = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
                !PyDataType_REFCHK(PyArray_DESCR(array));
    for (int k = 0; plain && k < (int)(sizeof loops / sizeof *loops); k++) {
        if (loops[k].bytes == PyArray_ITEMSIZE(array)) {
            return k;
        }
    }
    return -1;
}

static int
is_mask_over(PyArrayObject *mask, PyArrayObject *array)
{
    return PyArray_TYPE(mask) == NPY_BOOL && PyArray_IS_C_CONTIGUOUS(mask) &&
           PyArray_NDIM(array) > 0 && PyArray_SAMESHAPE(mask, array);
}

/* Say whether two arrays, whose elements lie side by side, have a byte in common. */
int
meet(PyArrayObject *a, PyArrayObject *b)
{
    char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    return x < y + PyArray_NBYTES(b) && y < x + PyArray_NBYTES(a);
}

/* Copy the rows that a mask shows, of so many bytes each, where there is room. */
static void
take_rows(const char *rows, const unsigned char *mask, npy_intp size, npy_intp bytes, char *out,
          npy_intp room)
{
    uint16_t numbers[BLOCK + WORD];
    for (npy_intp at = 0; at < size; at += BLOCK) {
        int n = size - at < BLOCK ? (int)(size - at) : BLOCK;
        int count = numbers_of(mask + at, n, numbers);
        count = count > room ? (int)room : count;
        room -= count;
        for (int k = 0; k < count; k++, out += bytes) {
            const char *row = rows + (at + numbers[k]) * bytes;
            switch (bytes) { /* of which the compiler knows how many there are */
            case 8: memcpy(out, row, 8); break;
            case 16: memcpy(out, row, 16); break;
            case 24: memcpy(out, row, 24); break;
            case 32: memcpy(out, row, 32); break;
            default: memcpy(out, row, bytes);
            }
        }
    }
}

/* The rows of an array that a mask shows, as above. */
static PyObject *
rows_by_mask(PyArrayObject *x, PyArrayObject *m)
{
    int ndim = PyArray_NDIM(x);
    if (PyArray_TYPE(m) != NPY_BOOL || !PyArray_IS_C_CONTIGUOUS(m) || PyArray_NDIM(m) != 1 ||
        ndim < 2 || PyArray_DIM(m, 0) != PyArray_DIM(x, 0) || PyArray_DIM(m, 0) < FEWEST_PICKED ||
        !PyArray_IS_C_CONTIGUOUS(x) || PyDataType_REFCHK(PyArray_DESCR(x))) {
        return NULL;
    }
    npy_intp size = PyArray_DIM(m, 0), dims[NPY_MAXDIMS], count = set_in(PyArray_DATA(m), size);
    memcpy(dims, PyArray_DIMS(x), ndim * sizeof(npy_intp));
    dims[0] = count;
    Py_INCREF(PyArray_DESCR(x));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim, dims, NULL, NULL, 0,
                                          NULL);
    if (made != NULL) {
        char *to = PyArray_DATA((PyArrayObject *)made);
        npy_intp bytes = PyArray_NBYTES(x) / size;
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_NBYTES(x) > LONGEST ? size : 0);
        take_rows(PyArray_DATA(x), PyArray_DATA(m), size, bytes, to, count);
        NPY_END_THREADS;
    }
    return made;
}

/* What a mask over all of an array or over its rows shows, or some of its rows by number, new; NULL
   without an error where that is NumPy's. */
PyObject *
taken_by(PyObject *array, PyObject *index)
{
    PyArrayObject *x = (PyArrayObject *)array, *m = (PyArrayObject *)index;
    if (!IS_NUMPYS(index)) {
        return NULL;
    }
    if (PyArray_TYPE(m) != NPY_BOOL) {
        return picked_by_numbers(x, m);
    }
    if (PyArray_NDIM(x) != PyArray_NDIM(m)) {
        return rows_by_mask(x, m);
    }
    int at = is_mask_over(m, x) && PyArray_SIZE(x) > 0 ? loops_for(x) : -1;
    if (at < 0) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(x);
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size > LONGEST ? size : 0);
    npy_intp count = set_in(PyArray_DATA(m), size);
    NPY_END_THREADS;
    Py_INCREF(PyArray_DESCR(x));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), 1, &count, NULL, NULL, 0,
                                          NULL);
    if (made != NULL) {
        void *to = PyArray_DATA((PyArrayObject *)made);
        NPY_BEGIN_THREADS_THRESHOLDED(size > LONGEST ? size : 0);
        loops[at].take(PyArray_DATA(x), PyArray_DATA(m), size, to, count);
        NPY_END_THREADS;
    }
    return made;
}

/* One number as an element of an array, in `cell`; 0 where NumPy has to convert it. */
int
element_of(PyArrayObject *array, PyObject *number, char *cell)
{
    int type = PyArray_TYPE(array), done = 0, is_native = PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
    if (is_native && is_scalar_of(array, number)) {
        PyArray_ScalarAsCtype(number, cell);
        done = 2;
    }
    else if (type == NPY_BOOL) {
        done = PyBool_Check(number);
        *cell = number == Py_True;
    }
    else if (PyTypeNum_ISINTEGER(type)) {
        done = PyLong_CheckExact(number);
    }
    else if (type == NPY_DOUBLE || type == NPY_CDOUBLE) {
        done = PyFloat_CheckExact(number) || PyLong_CheckExact(number);
    }
    if (done == 1 && is_native && type != NPY_BOOL && PyArray_SETITEM(array, cell, number) < 0) {
        PyErr_Clear(); /* it does not fit, which NumPy says in its own words */
        done = 0;
    }
    return done && is_native;
}

/* Write to what a mask over all of an array shows: 1 if it was done, 0 where that is NumPy's. */
int
put_by_mask(PyObject *array, PyObject *mask, PyObject *value)
{
    PyArrayObject *x = (PyArrayObject *)array, *m = (PyArrayObject *)mask;
    if (IS_NUMPYS(mask) && PyArray_TYPE(m) != NPY_BOOL) {
        return put_picked(x, m, value);
    }
    int at = IS_NUMPYS(mask) && is_mask_over(m, x) && PyArray_SIZE(x) > 0 ? loops_for(x) : -1;
    if (at < 0 || !PyArray_ISWRITEABLE(x) || (PyArray_FLAGS(x) & WARNS) ||
        meet(x, m)) {
        return 0;
    }
    npy_intp size = PyArray_SIZE(x);
    Pair cell;
    const void *from = &cell;
    npy_intp left = -1; /* of as many as there are */
    if (IS_NUMPYS(value)) {
        PyArrayObject *new = (PyArrayObject *)value;
        if (PyArray_NDIM(new) != 1 || !PyArray_IS_C_CONTIGUOUS(new) || !PyArray_ISALIGNED(new) ||
            !PyArray_EquivTypes(PyArray_DESCR(new), PyArray_DESCR(x)) || meet(x, new) ||
            PyArray_SIZE(new) != set_in(PyArray_DATA(m), size)) {
            return 0;
        }
        from = PyArray_DATA(new);
        left = PyArray_SIZE(new);
    }
    else if (!element_of(x, value, (char *)&cell)) {
        return 0;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size > LONGEST ? size : 0);
    loops[at].put(PyArray_DATA(x), PyArray_DATA(m), size, from, left);
    NPY_END_THREADS;
    return 1;
}

/* An operand of `where` beside a mask: its elements, or one number in `cell`; NULL of others. */
static const void *
choice(PyObject *x, PyArrayObject *mask, PyArrayObject *like, Pair *cell)
{
    if (!IS_NUMPYS(x)) {
        return element_of(like, x, (char *)cell) ? cell : NULL;
    }
    PyArrayObject *array = (PyArrayObject *)x;
    int fits = is_mask_over(mask, array) && PyArray_DESCR(array) == PyArray_DESCR(like);
    return fits && loops_for(array) >= 0 ? PyArray_DATA(array) : NULL;
}

/* `where(mask, x, y)`; what is not two arrays of one type, or one and a number, is NumPy's,
   and of a mask alone its indexes. */
PyObject *
where(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *numpys;
    if (kwnames == NULL && count == 3 && IS_NUMPYS(args[0]) &&
        (IS_NUMPYS(args[1]) || IS_NUMPYS(args[2]))) {
        PyArrayObject *m = (PyArrayObject *)args[0];
        PyArrayObject *like = (PyArrayObject *)(IS_NUMPYS(args[1]) ? args[1] : args[2]);
        npy_intp size = PyArray_SIZE(m);
        Pair cells[2];
        int as_it_is = PyArray_ISNBO(PyArray_DESCR(like)->byteorder) &&
                       PyDataType_METADATA(PyArray_DESCR(like)) == NULL; /* which NumPy leaves out */
        int at = size > 0 && as_it_is && is_mask_over(m, like) ? loops_for(like) : -1;
        const void *x = at < 0 ? NULL : choice(args[1], m, like, &cells[0]);
        const void *y = x == NULL ? NULL : choice(args[2], m, like, &cells[1]);
        if (y != NULL) {
            Py_INCREF(PyArray_DESCR(like));
            PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(like),
                                                  PyArray_NDIM(m), PyArray_DIMS(m), NULL, NULL, 0,
                                                  NULL);
            if (made != NULL) {
                void *to = PyArray_DATA((PyArrayObject *)made);
                NPY_BEGIN_THREADS_DEF;
                NPY_BEGIN_THREADS_THRESHOLDED(size > LONGEST ? size : 0);
                loops[at].choose(PyArray_DATA(m), size, x, x == &cells[0], y, y == &cells[1], to);
                NPY_END_THREADS;
            }
            return made;
        }
    }
    PyObject *many = count == 1 && numpys != NULL && world.many != NULL
                         ? PyDict_GetItemWithError(world.many, numpys)
                         : NULL;
    PyObject *indices = many == NULL ? NULL : of_many(many, args, count, kwnames);
    return indices != NULL || PyErr_Occurred()
               ? indices
               : left_to_numpy(&numpys, NULL, "where", args, count, kwnames);
}

/* A mask over all of an array whose blocks several threads draw, twice: to count, then to copy. */
typedef struct {
    int at; /* the loops */
    char *x, *other;
    const unsigned char *mask;
    npy_intp size, bytes, *starts; /* where each block's elements begin among the others */
    int64_t next;
    enum { COUNTS, TAKES, PUTS, FILLS } does;
} Shared;

static void
draw_blocks(void *job)
{
    Shared *self = job;
    npy_intp k;
    while ((k = (npy_intp)ADD(&self->next, 1)) * SHARE < self->size) {
        npy_intp lo = k * SHARE, n = self->size - lo < SHARE ? self->size - lo : SHARE;
        const unsigned char *mask = self->mask + lo;
        if (self->does == COUNTS) {
            self->starts[k + 1] = set_in(mask, n);
            continue;
        }
        if (self->does == FILLS) {
            loops[self->at].put(self->x + lo * self->bytes, mask, n, self->other, -1);
            continue;
        }
        npy_intp first = self->starts[k], count = self->starts[k + 1] - first;
        char *x = self->x + lo * self->bytes, *other = self->other + first * self->bytes;
        if (self->does == TAKES) {
            loops[self->at].take(x, mask, n, other, count);
        }
        else {
            loops[self->at].put(x, mask, n, other, count);
        }
    }
}

static void
do_blocks(Shared *self, int does, int threads)
{
    self->does = does;
    self->next = 0;
    with_crew(draw_blocks, self, threads - 1);
}

/* Count what a mask shows, block by block, and in all; -1 with an error, or where it is NumPy's. */
static npy_intp
count_blocks(Shared *self, PyArrayObject *x, PyArrayObject *m, int threads)
{
    npy_intp size = PyArray_SIZE(m), blocks = (size + SHARE - 1) / SHARE;
    int at = is_mask_over(m, x) ? loops_for(x) : -1;
    *self = (Shared){.at = at, .x = PyArray_BYTES(x), .mask = PyArray_DATA(m), .size = size,
                     .bytes = PyArray_ITEMSIZE(x)};
    if (at < 0) {
        return -1;
    }
    self->starts = PyMem_Calloc((size_t)blocks + 1, sizeof(npy_intp));
    if (self->starts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    do_blocks(self, COUNTS, threads);
    for (npy_intp k = 0; k < blocks; k++) {
        self->starts[k + 1] += self->starts[k];
    }
    Py_END_ALLOW_THREADS
    return self->starts[blocks];
}

/* `take_by_mask(x, mask, make, threads)`: what a mask over all of an array shows, in what `make`
   gives for a number of elements; None where that is NumPy's. */
PyObject *
take_shared(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *m;
    PyObject *make, *out = NULL;
    int threads;
    if (!PyArg_ParseTuple(args, "O!O!Oi", &PyArray_Type, &x, &PyArray_Type, &m, &make, &threads)) {
        return NULL;
    }
    Shared shared;
    npy_intp count = count_blocks(&shared, x, m, threads);
    if (count >= 0) {
        out = PyObject_CallFunction(make, "n", count);
    }
    int fits = out != NULL && PyArray_Check(out) && loops_for((PyArrayObject *)out) == shared.at &&
               PyArray_SIZE((PyArrayObject *)out) == count && !meet(x, (PyArrayObject *)out) &&
               !meet(m, (PyArrayObject *)out);
    if (fits) {
        shared.other = PyArray_BYTES((PyArrayObject *)out);
        Py_BEGIN_ALLOW_THREADS
        do_blocks(&shared, TAKES, threads);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(shared.starts);
    if (!fits) {
        Py_CLEAR(out);
    }
    return out != NULL || PyErr_Occurred() ? out : Py_NewRef(Py_None);
}

/* `put_by_mask(x, mask, new, threads)`: write one number, or an array's elements one by one, to what a
   mask over all of an array shows; False, and nothing written, where that is NumPy's. */
PyObject *
put_shared(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *m;
    PyObject *value;
    int threads, fits = 0;
    if (!PyArg_ParseTuple(args, "O!O!Oi", &PyArray_Type, &x, &PyArray_Type, &m, &value, &threads)) {
        return NULL;
    }
    Shared shared = {.starts = NULL};
    Pair cell;
    int at = is_mask_over(m, x) ? loops_for(x) : -1, does = FILLS;
    if (at < 0 || !PyArray_ISWRITEABLE(x) || (PyArray_FLAGS(x) & WARNS) || meet(x, m)) {
        Py_RETURN_FALSE;
    }
    if (IS_NUMPYS(value)) {
        PyArrayObject *new = (PyArrayObject *)value;
        does = PUTS;
        fits = PyArray_NDIM(new) == 1 && loops_for(new) == at && !meet(x, new) &&
               PyArray_EquivTypes(PyArray_DESCR(new), PyArray_DESCR(x)) &&
               PyArray_SIZE(new) == count_blocks(&shared, x, m, threads);
        shared.other = PyArray_BYTES(new);
    }
    else if (element_of(x, value, (char *)&cell)) {
        fits = 1;
        shared = (Shared){.at = at, .x = PyArray_BYTES(x), .mask = PyArray_DATA(m),
                          .size = PyArray_SIZE(m), .bytes = PyArray_ITEMSIZE(x),
                          .other = (char *)&cell};
    }
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        do_blocks(&shared, does, threads);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(shared.starts);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(fits);
}
