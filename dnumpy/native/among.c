/* Which numbers are among some others. NumPy compares with one after the other, reads a table of whole
   numbers through several copies of what it looks up, or sorts both. Here numbers are keys of 64 bits:
   few are compared with each element side by side, whole numbers that lie close are the bits of a map,
   others are looked up in a table with open addressing (Knuth, The Art of Computer Programming 3,
   6.4, algorithm L, with multiplicative hashing), whose places for a block of elements are found
   before any is read. Threads share the elements. */

#include "crew.h"
#include "handle.h"
#include "pairwise.h"

#define BATCH (1 << 14) /* elements that a thread takes at a time */
#define BLOCK 512       /* elements whose keys are made at once */
#define FEW 12          /* members that are compared with each element */
#define BITS_EACH 64    /* at most so many bits of a map for each element and member */
#define LEAST_BITS (1 << 16)

typedef struct Members Members;
struct Members {
    void (*keys)(const char *values, npy_intp n, npy_uint64 *to);
    void (*look)(const Members *self, const npy_uint64 *keys, npy_intp n, npy_bool *to);
    const char *values;
    npy_bool *to;
    npy_intp size, itemsize;
    const npy_uint64 *members;
    npy_intp count;
    npy_uint64 low, span; /* of whole numbers: the smallest, and how far from it the largest is */
    npy_uint64 *table;
    int shift, has_zero, inverts; /* zero is what free places of a table hold */
    int64_t next;
};

#define WHOLE(x) ((npy_uint64)(npy_int64)(x))
#define IS_TRUE(x) ((npy_uint64)((x) != 0))

/* Zeros of either sign are one. What is no number is no member, and so may have any key. */
static inline npy_uint64
key_of_double(double x)
{
    npy_uint64 key;
    x += 0.0;
    memcpy(&key, &x, sizeof key);
    return key;
}

#define DEFINE_KEYS(NAME, T, KEY_OF)                                                               \
    FOR_EACH_CPU static void NAME(const char *values, npy_intp n, npy_uint64 *to)                  \
    {                                                                                              \
        const T *a = (const T *)values;                                                            \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            to[i] = KEY_OF(a[i]);                                                                  \
        }                                                                                          \
    }

DEFINE_KEYS(bools, npy_uint8, IS_TRUE)
DEFINE_KEYS(chars, npy_int8, WHOLE)
DEFINE_KEYS(bytes, npy_uint8, WHOLE)
DEFINE_KEYS(shorts, npy_int16, WHOLE)
DEFINE_KEYS(pairs, npy_uint16, WHOLE)
DEFINE_KEYS(ints, npy_int32, WHOLE)
DEFINE_KEYS(words, npy_uint32, WHOLE)
DEFINE_KEYS(longs, npy_int64, WHOLE)
DEFINE_KEYS(floats, float, key_of_double)
DEFINE_KEYS(doubles, double, key_of_double)

FOR_EACH_CPU static void
look_among_few(const Members *self, const npy_uint64 *keys, npy_intp n, npy_bool *to)
{
    npy_uint64 found[BLOCK];
    for (npy_intp i = 0; i < n; i++) {
        found[i] = 0;
    }
    for (npy_intp k = 0; k < self->count; k++) {
        npy_uint64 member = self->members[k];
        for (npy_intp i = 0; i < n; i++) {
            found[i] |= keys[i] == member;
        }
    }
    for (npy_intp i = 0; i < n; i++) {
        to[i] = (npy_bool)(found[i] ^ (npy_uint64)self->inverts);
    }
}

FOR_EACH_CPU static void
look_in_map(const Members *self, const npy_uint64 *keys, npy_intp n, npy_bool *to)
{
    const npy_uint64 *map = self->table, low = self->low, span = self->span, word = map[0];
    for (npy_intp i = 0; span < 64 && i < n; i++) {
        npy_uint64 at = keys[i] - low, inside = at <= span;
        to[i] = (npy_bool)((word >> (at & 63) & inside) ^ (npy_uint64)self->inverts);
    }
    if (span < 64) {
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        npy_uint64 at = keys[i] - low, inside = at <= span;
        at &= 0 - inside; /* half of them may lie outside: no branch */
        to[i] = (npy_bool)((map[at >> 6] >> (at & 63) & inside) ^ (npy_uint64)self->inverts);
    }
}

static inline npy_uint64
place_of_key(npy_uint64 key, int shift)
{
    return ((key ^ key >> 32) * 0x9E3779B97F4A7C15ull) >> shift;
}

static void
look_in_table(const Members *self, const npy_uint64 *keys, npy_intp n, npy_bool *to)
{
    npy_uint64 places[BLOCK], mask = ((npy_uint64)1 << (64 - self->shift)) - 1;
    for (npy_intp i = 0; i < n; i++) {
        places[i] = place_of_key(keys[i], self->shift);
#if defined(__GNUC__)
        __builtin_prefetch(self->table + places[i]);
#endif
    }
    for (npy_intp i = 0; i < n; i++) {
        npy_uint64 at = places[i], there = self->table[at];
        while (there != keys[i] && there != 0) {
            at = (at + 1) & mask;
            there = self->table[at];
        }
        int found = keys[i] == 0 ? self->has_zero : there != 0;
        to[i] = (npy_bool)(found ^ self->inverts);
    }
}

static void
look_up_batches(void *job)
{
    Members *self = job;
    npy_uint64 keys[BLOCK];
    int64_t start;
    while ((start = ADD(&self->next, BATCH)) < self->size) {
        npy_intp end = start + BATCH < self->size ? start + BATCH : self->size;
        for (npy_intp i = start; i < end; i += BLOCK) {
            npy_intp n = i + BLOCK < end ? BLOCK : end - i;
            self->keys(self->values + i * self->itemsize, n, keys);
            self->look(self, keys, n, self->to + i);
        }
    }
}

/* Make a map of the members, where they lie close enough; 0 where memory is short. */
static int
make_map(Members *self, int has_sign)
{
    npy_uint64 flip = has_sign ? (npy_uint64)1 << 63 : 0, low = ~(npy_uint64)0, high = 0;
    for (npy_intp k = 0; k < self->count; k++) {
        npy_uint64 key = self->members[k] ^ flip;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    self->low = low ^ flip;
    self->span = high - low;
    if (self->span >= LEAST_BITS && self->span / BITS_EACH >= (npy_uint64)(self->size + self->count)) {
        return 1;
    }
    self->table = calloc(self->span / 64 + 1, 8);
    if (self->table == NULL) {
        return 0;
    }
    for (npy_intp k = 0; k < self->count; k++) {
        npy_uint64 at = self->members[k] - self->low;
        self->table[at >> 6] |= (npy_uint64)1 << (at & 63);
    }
    self->look = look_in_map;
    return 1;
}

/* Make a table of them, of which at most every fourth place is taken; 0 where memory is short. */
static int
make_table(Members *self)
{
    int log = 4;
    while (((npy_intp)1 << log) / 4 < self->count) {
        log++;
    }
    npy_uint64 mask = ((npy_uint64)1 << log) - 1;
    self->shift = 64 - log;
    self->table = calloc((size_t)1 << log, 8);
    if (self->table == NULL) {
        return 0;
    }
    for (npy_intp k = 0; k < self->count; k++) {
        npy_uint64 key = self->members[k], at = place_of_key(key, self->shift);
        while (self->table[at] != 0 && self->table[at] != key) {
            at = (at + 1) & mask;
        }
        self->table[at] = key; /* zero leaves it free */
        self->has_zero |= key == 0;
    }
    self->look = look_in_table;
    return 1;
}

/* Whole numbers as keys of 64 bits, or floats. */
static int
take_keys(Members *self, PyArray_Descr *dtype, int as_floats)
{
    static void (*const wholes[2][4])(const char *, npy_intp, npy_uint64 *) = {
        {bytes, pairs, words, longs}, {chars, shorts, ints, longs}};
    int size = (int)PyDataType_ELSIZE(dtype), at = size == 8 ? 3 : size == 4 ? 2 : size - 1;
    self->itemsize = size;
    if (as_floats) {
        self->keys = dtype->type_num == NPY_DOUBLE ? doubles : dtype->type_num == NPY_FLOAT ? floats : NULL;
    }
    else if (dtype->kind == 'b') {
        self->keys = bools;
    }
    else if (dtype->kind == 'i' || dtype->kind == 'u') {
        self->keys = wholes[dtype->kind == 'i'][at];
    }
    return self->keys != NULL;
}

/* `are_members(values, members, out, inverts, threads)`: put into `out`, booleans, whether each value
   is among the members, which are int64, uint64 or float64 and none of them is no number; False where
   memory is short. */
PyObject *
are_members(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values, *members, *out;
    int inverts;
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "O!O!O!pn", &PyArray_Type, &values, &PyArray_Type, &members, &PyArray_Type,
                          &out, &inverts, &threads)) {
        return NULL;
    }
    char kind = PyArray_DESCR(members)->kind;
    Members job = {.values = PyArray_BYTES(values), .size = PyArray_SIZE(values), .count = PyArray_SIZE(members),
                   .to = PyArray_DATA(out), .inverts = inverts};
    if (PyArray_ITEMSIZE(members) != 8 || strchr("iuf", kind) == NULL || job.count < 1 ||
        !PyArray_ISCARRAY_RO(values) || !PyArray_ISCARRAY_RO(members) || !PyArray_ISCARRAY(out) ||
        PyArray_TYPE(out) != NPY_BOOL || PyArray_SIZE(out) != job.size ||
        !take_keys(&job, PyArray_DESCR(values), kind == 'f')) {
        PyErr_SetString(PyExc_TypeError, "expected numbers, members of 64 bits, and booleans");
        return NULL;
    }
    npy_uint64 *keys = malloc((size_t)job.count * 8);
    if (keys == NULL) {
        return PyErr_NoMemory();
    }
    int is_made = 1;
    Py_BEGIN_ALLOW_THREADS;
    (kind == 'f' ? doubles : longs)(PyArray_BYTES(members), job.count, keys);
    job.members = keys;
    if (job.count <= FEW) {
        job.look = look_among_few;
    }
    else if (kind != 'f') {
        is_made = make_map(&job, kind == 'i');
    }
    is_made = is_made && (job.look != NULL || make_table(&job));
    if (is_made) {
        with_crew(look_up_batches, &job, threads > 1 ? (int)threads - 1 : 0);
    }
    free(job.table);
    free(keys);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(is_made);
}
