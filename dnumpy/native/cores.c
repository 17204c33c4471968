/* On which core a thread is woken.

   A thread that is woken belongs on a core that has nothing to do. In a virtual machine, a core that
   sleeps looks to the scheduler like one that the host has taken away; it then leaves the thread on
   the caller's core, where it waits for the next tick: 4 ms, in which two threads are as fast as
   one. So before a helper is woken its caller's core is forbidden to it, and allowed again as soon as
   it runs, so that the scheduler stays free to move both. */

#define _GNU_SOURCE

#include "crew.h"
#include "handle.h"

#ifdef __linux__

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Which cores a thread may use is what the process's first thread may, now and at any time. */
static int
allowed(cpu_set_t *cores)
{
    return sched_getaffinity(getpid(), sizeof *cores, cores) == 0;
}

int
this_thread(void)
{
    return (int)syscall(SYS_gettid);
}

int
keep_apart(const int *threads, int count)
{
    cpu_set_t cores;
    int here = sched_getcpu();
    if (here < 0 || !allowed(&cores) || !CPU_ISSET(here, &cores) || CPU_COUNT(&cores) < 2) {
        return 0;
    }
    CPU_CLR(here, &cores);
    int self = this_thread(), kept = 0;
    for (int k = 0; k < count; k++) {
        kept += threads[k] > 0 && threads[k] != self &&
                sched_setaffinity(threads[k], sizeof cores, &cores) == 0;
    }
    return kept;
}

void
use_any_core(void)
{
    cpu_set_t cores;
    if (allowed(&cores)) {
        sched_setaffinity(0, sizeof cores, &cores); /* where it may not, it runs where it is */
    }
}

#else

int
this_thread(void)
{
    return 0;
}

int
keep_apart(const int *threads, int count)
{
    (void)threads;
    (void)count;
    return 0;
}

void
use_any_core(void)
{
}

#endif

/* `wake_apart(threads)`: let sleeping threads, by their numbers in the system, be woken on other
   cores than the caller's; how many could be. */
PyObject *
wake_apart(PyObject *Py_UNUSED(module), PyObject *threads)
{
    if (!PyTuple_Check(threads)) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of threads' numbers");
        return NULL;
    }
    int numbers[MOST_CREW];
    Py_ssize_t count = PyTuple_GET_SIZE(threads);
    count = count < MOST_CREW ? count : MOST_CREW;
    for (Py_ssize_t k = 0; k < count; k++) {
        numbers[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(threads, k));
        if (numbers[k] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    return PyLong_FromLong(keep_apart(numbers, (int)count));
}

/* `woken()`: let this thread use all cores again. */
PyObject *
woken(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    use_any_core();
    Py_RETURN_NONE;
}
