/* The order of whole numbers within narrow ends, by counting them (H. H. Seward, 1954): each share of the
   numbers is counted by one thread, and knows then where its numbers of each kind begin. */

#include "crew.h"
#include "handle.h"

#define FEWEST_SHARED (1 << 15) /* numbers: with fewer, one thread is as fast */
#define LEAST_FOR_EACH 4 /* numbers for each counter of a share: what is made for them is to pay */

typedef struct Order Order;
struct Order {
    int (*count)(const Order *self, npy_intp start, npy_intp stop, npy_intp *counters);
    int (*place)(const Order *self, npy_intp start, npy_intp stop, npy_intp *counters);
    const char *values;
    npy_intp size, kinds, shares, *counters, *places;
    npy_int64 low;
    int moves; /* whether places are written, after all were counted */
    int64_t next, failed;
};

#define DEFINE_ORDER(T, NAME)                                                                      \
    static int NAME##_count(const Order *self, npy_intp start, npy_intp stop, npy_intp *counters)  \
    {                                                                                              \
        const T *x = (const T *)self->values;                                                      \
        const npy_uint64 low = (npy_uint64)self->low, kinds = (npy_uint64)self->kinds;             \
        for (npy_intp k = start; k < stop; k++) {                                                  \
            npy_uint64 kind = (npy_uint64)(npy_int64)x[k] - low;                                   \
            if (kind >= kinds) {                                                                   \
                return 0;                                                                          \
            }                                                                                      \
            counters[kind]++;                                                                      \
        }                                                                                          \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static int NAME##_place(const Order *self, npy_intp start, npy_intp stop, npy_intp *counters)  \
    {                                                                                              \
        const T *x = (const T *)self->values;                                                      \
        const npy_uint64 low = (npy_uint64)self->low, kinds = (npy_uint64)self->kinds;             \
        for (npy_intp k = start; k < stop; k++) {                                                  \
            npy_uint64 kind = (npy_uint64)(npy_int64)x[k] - low;                                   \
            npy_intp at = kind >= kinds ? self->size : counters[kind]++;                           \
            if (at >= self->size) { /* somebody writes to the numbers meanwhile */                 \
                return 0;                                                                          \
            }                                                                                      \
            self->places[at] = k;                                                                  \
        }                                                                                          \
        return 1;                                                                                  \
    }

DEFINE_ORDER(npy_int8, i1)
DEFINE_ORDER(npy_int16, i2)
DEFINE_ORDER(npy_int32, i4)
DEFINE_ORDER(npy_int64, i8)
DEFINE_ORDER(npy_uint8, u1)
DEFINE_ORDER(npy_uint16, u2)
DEFINE_ORDER(npy_uint32, u4)

static void
take_shares(void *job)
{
    Order *self = job;
    int64_t share;
    while ((share = ADD(&self->next, 1)) < self->shares) {
        npy_intp step = (self->size + self->shares - 1) / self->shares, start = share * step;
        npy_intp stop = start + step < self->size ? start + step : self->size;
        npy_intp *counters = self->counters + share * self->kinds;
        if (!(self->moves ? self->place : self->count)(self, start, stop, counters)) {
            ADD(&self->failed, 1);
        }
    }
}

static int
set_loops(Order *self, char kind, npy_intp itemsize)
{
    static int (*const loops[2][4][2])(const Order *, npy_intp, npy_intp, npy_intp *) = {
        {{i1_count, i1_place}, {i2_count, i2_place}, {i4_count, i4_place}, {i8_count, i8_place}},
        {{u1_count, u1_place}, {u2_count, u2_place}, {u4_count, u4_place}, {NULL, NULL}},
    };
    int log = itemsize == 8 ? 3 : itemsize == 4 ? 2 : (int)itemsize - 1;
    if ((kind != 'i' && kind != 'u') || itemsize > 8) {
        return 0;
    }
    self->count = loops[kind == 'u'][log][0];
    self->place = loops[kind == 'u'][log][1];
    return self->count != NULL;
}

/* `order_by_counting(values, low, kinds, threads)`: the places that put a line of whole numbers in order,
   of equal ones the first first; all are to be from `low` to below `low + kinds`, else None. */
PyObject *
order_by_counting(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *values;
    long long low;
    Py_ssize_t kinds, threads;
    Order order = {.shares = 1};
    if (!PyArg_ParseTuple(args, "O!Lnn", &PyArray_Type, &values, &low, &kinds, &threads)) {
        return NULL;
    }
    if (!set_loops(&order, PyArray_DESCR(values)->kind, PyArray_ITEMSIZE(values)) ||
        !PyArray_ISCARRAY_RO(values) || PyArray_NDIM(values) != 1 || kinds < 1) {
        PyErr_SetString(PyExc_TypeError, "expected a line of whole numbers of up to 63 bits");
        return NULL;
    }
    order.values = PyArray_DATA(values);
    order.size = PyArray_SIZE(values);
    order.kinds = kinds;
    order.low = low;
    if (order.size >= FEWEST_SHARED && threads > 1) {
        npy_intp most = order.size / (LEAST_FOR_EACH * kinds) + 1;
        order.shares = threads < most ? threads : most;
        order.shares = order.shares < MOST_CREW ? order.shares : MOST_CREW;
    }
    PyObject *found = PyArray_SimpleNew(1, &order.size, NPY_INTP);
    order.counters = PyMem_RawCalloc((size_t)(order.shares * kinds), sizeof *order.counters);
    if (found == NULL || order.counters == NULL) {
        Py_XDECREF(found);
        PyMem_RawFree(order.counters);
        return PyErr_NoMemory();
    }
    order.places = PyArray_DATA((PyArrayObject *)found);
    Py_BEGIN_ALLOW_THREADS
    with_crew(take_shares, &order, (int)order.shares - 1);
    npy_intp begins = 0;
    for (npy_intp kind = 0; kind < kinds; kind++) {
        for (npy_intp share = 0; share < order.shares; share++) {
            npy_intp *counter = &order.counters[share * kinds + kind], count = *counter;
            *counter = begins;
            begins += count;
        }
    }
    order.moves = 1;
    order.next = 0;
    if (!order.failed) {
        with_crew(take_shares, &order, (int)order.shares - 1);
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(order.counters);
    if (order.failed) {
        Py_SETREF(found, Py_NewRef(Py_None));
    }
    return found;
}
