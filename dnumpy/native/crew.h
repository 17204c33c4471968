/* Threads that wait for work which needs no interpreter: see crew.c. */

#ifndef DNUMPY_CREW_H
#define DNUMPY_CREW_H

#include <stdint.h>

#define MOST_CREW 64 /* threads that work together, the caller among them */

#if defined(__unix__) || (defined(__APPLE__) && defined(__MACH__))
#define HAS_CREW 1
#define ADD(x, n) __atomic_fetch_add(x, n, __ATOMIC_RELAXED)
#else
#define HAS_CREW 0
static inline int64_t
added(int64_t *x, int64_t n)
{
    int64_t before = *x;
    *x += n;
    return before;
}
#define ADD(x, n) added(x, n)
#endif

/* Call `work(job)` here, and at the same time in up to `helpers` other threads: those that wait for
   it, and get to it before this one is done. `work` shares the job out, say by ADD on a counter, so
   that any number of callers does all of it. The interpreter's lock is not held. */
void with_crew(void (*work)(void *), void *job, int helpers);

/* Whether one of them looks for work now, or does some: it takes part at once. */
int crew_is_awake(void);

#define PASSED_BYTES (1 << 20) /* of one pass: less takes as long as handing it over: config.py, too */
#define WOKEN_BYTES (4 << 20)  /* the same where a thread has to be woken first */

/* How many threads are to help with one pass over so many bytes, of so many, which are counted only
   where some are. */
#define helpers_for(bytes, helpers)                                                                \
    ((bytes) >= PASSED_BYTES && (bytes) >= (crew_is_awake() ? PASSED_BYTES : WOKEN_BYTES) ? (helpers) : 0)

/* Forbid threads that sleep, by their numbers in the system, this thread's core until they call
   `use_any_core`; how many it was forbidden: see cores.c. */
int keep_apart(const int *threads, int count);
void use_any_core(void);
int this_thread(void); /* its number */

#endif
