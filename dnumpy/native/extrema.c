/* The largest or smallest of a large array, which threads share: a processor's core alone does not read
   memory as fast as two do. Of any number of elements it is the same in any order, but for zeros of
   either sign, which are left to NumPy. */

#include "asked.h"
#include "crew.h"
#include "pairwise.h"

#include <numpy/arrayscalars.h>

#define SIDE_BY_SIDE 32 /* elements that do not wait for each other */
#define BATCH (1 << 15) /* elements that a thread takes at a time */

#define DEFINE_EXTREMUM(NAME, T, OP)                                                               \
    FOR_EACH_CPU static T NAME(const T *a, npy_intp n)                                             \
    {                                                                                              \
        T m[SIDE_BY_SIDE];                                                                         \
        npy_intp i = 0;                                                                            \
        for (int j = 0; j < SIDE_BY_SIDE; j++) {                                                   \
            m[j] = a[0];                                                                           \
        }                                                                                          \
        for (; i + SIDE_BY_SIDE <= n; i += SIDE_BY_SIDE) {                                         \
            for (int j = 0; j < SIDE_BY_SIDE; j++) {                                               \
                m[j] = FURTHER(a[i + j], m[j], OP);                                                \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            m[0] = FURTHER(a[i], m[0], OP);                                                        \
        }                                                                                          \
        for (int j = 1; j < SIDE_BY_SIDE; j++) {                                                   \
            m[0] = FURTHER(m[j], m[0], OP);                                                        \
        }                                                                                          \
        return m[0];                                                                               \
    }

/* What a thread found so far, as any of the types. */
typedef struct {
    char found[8];
    char apart[56]; /* from the next thread's */
} Found;

typedef struct Search {
    const char *data;
    npy_intp size, itemsize;
    void (*look)(const char *data, npy_intp size, char *found); /* among what was found, too */
    int64_t next, members;
    Found by[MOST_CREW];
} Search;

#define DEFINE_LOOK(NAME, T, OP)                                                                   \
    DEFINE_EXTREMUM(NAME##_found, T, OP)                                                           \
    static void NAME(const char *data, npy_intp size, char *found)                                 \
    {                                                                                              \
        T both[2];                                                                                 \
        memcpy(&both[0], found, sizeof(T));                                                        \
        both[1] = NAME##_found((const T *)data, size);                                             \
        both[0] = NAME##_found(both, 2);                                                           \
        memcpy(found, &both[0], sizeof(T));                                                        \
    }

DEFINE_LOOK(doubles_look_up, double, >)
DEFINE_LOOK(doubles_look_down, double, <)
DEFINE_LOOK(floats_look_up, float, >)
DEFINE_LOOK(floats_look_down, float, <)
DEFINE_LOOK(longs_look_up, npy_int64, >)
DEFINE_LOOK(longs_look_down, npy_int64, <)
DEFINE_LOOK(ints_look_up, npy_int32, >)
DEFINE_LOOK(ints_look_down, npy_int32, <)

static void
search_batches(void *job)
{
    Search *self = job;
    int64_t start, who = ADD(&self->members, 1);
    memcpy(self->by[who].found, self->data, (size_t)self->itemsize);
    while ((start = ADD(&self->next, BATCH)) < self->size) {
        npy_intp count = start + BATCH < self->size ? BATCH : self->size - start;
        self->look(self->data + start * self->itemsize, count, self->by[who].found);
    }
    clear_faults(); /* to compare with what is no number raises a flag, of which NumPy says nothing */
}

/* Set `look` of a search for elements of a type; 0 where NumPy has to look. */
static int
take_look(Search *self, int kind, int is_largest)
{
    int wide = self->itemsize == 8;
    if ((kind != 'f' && kind != 'i') || (!wide && self->itemsize != 4)) {
        return 0;
    }
    self->look = kind == 'f' ? (wide ? (is_largest ? doubles_look_up : doubles_look_down)
                                     : (is_largest ? floats_look_up : floats_look_down))
                             : (wide ? (is_largest ? longs_look_up : longs_look_down)
                                     : (is_largest ? ints_look_up : ints_look_down));
    return 1;
}

PyObject *
extremum_shared(PyArrayObject *x, int is_largest)
{
    if (PyArray_TYPE(x) == NPY_BOOL) { /* what is found early ends it */
        int found = truth_of((PyObject *)x, !is_largest);
        PyArrayScalar_RETURN_BOOL_FROM_LONG(found);
    }
    Search search = {.data = PyArray_BYTES(x), .size = PyArray_SIZE(x), .itemsize = PyArray_ITEMSIZE(x)};
    int helpers = helpers_for(PyArray_NBYTES(x), helpers_now()), kind = PyArray_DESCR(x)->kind;
    if (helpers < 1) {
        return extremum_here(x, is_largest);
    }
    if (!take_look(&search, kind, is_largest)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    with_crew(search_batches, &search, helpers);
    for (int64_t k = 1; k < search.members; k++) {
        search.look(search.by[k].found, 1, search.by[0].found);
    }
    Py_END_ALLOW_THREADS;
    double value = 1;
    if (kind == 'f' && search.itemsize == 8) {
        memcpy(&value, search.by[0].found, 8);
    }
    else if (kind == 'f') {
        float narrow;
        memcpy(&narrow, search.by[0].found, 4);
        value = narrow;
    }
    return value == 0 ? NULL : PyArray_Scalar(search.by[0].found, PyArray_DESCR(x), NULL);
}
