/* NumPy's inner loops shared by the threads of the crew, where they take long.

   A sine takes ten times what reading its operand does, so that two threads are nearly twice as fast
   from some thousands of them on; and what lies outside the caches of one core two cores read sooner.
   What a loop takes for an element is measured while one thread runs it; a loop that was no faster with
   more threads is left to one for a while.

   Pieces are whole numbers of the widest vectors, and begin where such a vector does if the whole does:
   a loop meets each element as it would in one piece, so that the bits are the same. */

#define _GNU_SOURCE

#include "crew.h"
#include "loops.h"

#ifdef __linux__
#include <sched.h>
#endif

#define PIECE 512 /* elements, of which pieces are multiples */
#define PIECES 4  /* for each thread */
#define FORGETS 1.02 /* times what was measured, each time: the program's numbers may be others now */
#define GAINS 0.9    /* of the time of one thread, which more are to take */
#define TIMES 3      /* in a row that they do not */
#define REST 64      /* runs that are left to one thread then */

#define KINDS 4

typedef struct {
    const Loop *loop;
    char *const *data;
    const npy_intp *steps;
    npy_intp size, piece;
    int count;
    int64_t next, faults[KINDS]; /* threads that met one of that kind */
} Job;

static double least_seconds = 6e-5; /* of a loop, beside which what waking a thread takes is little */

static const int kinds[KINDS] = {FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW, FE_INVALID};

static void
run_pieces(void *job)
{
    Job *self = job;
    forget_faults();
    npy_intp start;
    while ((start = (npy_intp)ADD(&self->next, self->piece)) < self->size) {
        npy_intp extent = self->size - start < self->piece ? self->size - start : self->piece;
        char *at[3] = {NULL};
        for (int k = 0; k < self->count; k++) {
            at[k] = self->data[k] + start * self->steps[k];
        }
        self->loop->run(at, &extent, self->steps, self->loop->data);
    }
    int found = fetestexcept(FAULTS);
    for (int k = 0; k < KINDS; k++) {
        if (found & kinds[k]) {
            ADD(&self->faults[k], 1);
        }
    }
}

/* How many threads may help. */
int
helpers_now(void)
{
    Py_ssize_t threads = setting(world.threads_at);
#ifdef __linux__
    cpu_set_t cores;
    if (threads == 0 && sched_getaffinity(0, sizeof cores, &cores) == 0) {
        threads = CPU_COUNT(&cores);
    }
#endif
    threads = threads < 1 ? 1 : threads > MOST_CREW ? MOST_CREW : threads;
    return (int)threads - 1;
}

/* How many threads may help with a loop over one axis of so many elements. */
int
helpers_with(Loop *loop, npy_intp size)
{
    int type = loop->read->type_num; /* integers may raise errors, which takes the interpreter */
    if (!HAS_CREW || !(PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type)) ||
        loop->cost == 0 || loop->cost * (double)size < least_seconds || size < 2 * PIECE) {
        return 0;
    }
    if (loop->rest > 0) {
        loop->rest--;
        return 0;
    }
    return helpers_now();
}

/* Run a loop over one axis, with helpers; the interpreter's lock is not held. */
void
run_shared(const Loop *loop, npy_intp size, char *const *data, const npy_intp *steps, int count,
           int helpers)
{
    npy_intp pieces = (npy_intp)PIECES * (helpers + 1);
    npy_intp piece = (size / pieces / PIECE + 1) * PIECE;
    Job job = {.loop = loop, .data = data, .steps = steps, .size = size, .piece = piece, .count = count};
    with_crew(run_pieces, &job, helpers);
    for (int k = 0; k < KINDS; k++) {
        if (job.faults[k] > 0) {
            feraiseexcept(kinds[k]);
        }
    }
}

/* Note what a loop took for so many elements. */
void
note_cost(Loop *loop, npy_intp size, double seconds, int helpers)
{
    if (seconds <= 0) {
        return; /* the clock was set */
    }
    if (helpers == 0) {
        double cost = seconds / (double)size, before = loop->cost * FORGETS;
        loop->cost = before > 0 && before < cost ? before : cost;
    }
    else if (seconds > GAINS * loop->cost * (double)size) {
        loop->slow++;
        if (loop->slow == TIMES) {
            loop->rest = REST;
            loop->slow = 0;
        }
    }
    else {
        loop->slow = 0;
    }
}

/* `share_loops(seconds)`: share loops that take so long; what held until then. */
PyObject *
share_loops(PyObject *Py_UNUSED(module), PyObject *seconds)
{
    double before = least_seconds, least = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred()) {
        return NULL;
    }
    least_seconds = least;
    return PyFloat_FromDouble(before);
}
