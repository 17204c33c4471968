/* Threads that wait for work which needs no interpreter.

   A thread of Python's takes 0.07 to 0.2 ms from the call to its first instruction: it is woken, and
   then waits for the interpreter's lock, as the caller does for its return. One that is woken here
   takes 0.03 to 0.04, and none while it still looks for more to do, as it does for a moment after
   each piece of work: programs are loops. What takes a tenth of a millisecond is worth sharing so.

   There is one job at a time. A caller that finds the crew at work does its own alone, which is as
   fast where all cores are taken. */

#define _GNU_SOURCE

#include "crew.h"

#if HAS_CREW

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define LOOKS_SECONDS 2e-4 /* for so long a thread looks for work before it sleeps */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER; /* held by the caller whose job it is */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static pthread_cond_t wanted_more = PTHREAD_COND_INITIALIZER, all_done = PTHREAD_COND_INITIALIZER;
static void (*work_now)(void *);
static void *job_now;
static int wanted, active; /* helpers that may still begin, and that have begun: looked at unlocked */
static int started;        /* helpers of this process */
static int asleep, numbers[MOST_CREW]; /* how many of them sleep, and the system's numbers of all */
static int watches_forks;

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Let a core's other thread, or whoever shares it, go first. */
static inline void
pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Return once `*count` is positive, or not, as `sought` says, or a moment has passed. */
static void
look_for(const int *count, int sought)
{
    double until = 0;
    for (int k = 0; (__atomic_load_n(count, __ATOMIC_ACQUIRE) > 0) != sought; k++) {
        pause_briefly();
        if ((k & 31) == 31) {
            double now = seconds();
            until = until == 0 ? now + LOOKS_SECONDS : until;
            if (now > until) {
                return;
            }
        }
    }
}

static void *
help(void *nothing)
{
    int *number = nothing;
    pthread_mutex_lock(&lock);
    *number = this_thread();
    for (;;) {
        int slept = wanted == 0;
        asleep += slept;
        while (wanted == 0) {
            pthread_cond_wait(&wanted_more, &lock);
        }
        asleep -= slept;
        __atomic_store_n(&wanted, wanted - 1, __ATOMIC_RELEASE);
        __atomic_store_n(&active, active + 1, __ATOMIC_RELEASE);
        void (*work)(void *) = work_now;
        void *job = job_now;
        pthread_mutex_unlock(&lock);
        if (slept) {
            use_any_core();
        }
        work(job);
        pthread_mutex_lock(&lock);
        __atomic_store_n(&active, active - 1, __ATOMIC_RELEASE);
        if (active == 0) {
            pthread_cond_signal(&all_done);
        }
        if (wanted == 0) {
            pthread_mutex_unlock(&lock);
            look_for(&wanted, 1);
            pthread_mutex_lock(&lock);
        }
    }
    return NULL;
}

/* A child process has none of these threads, and what they held is free. */
static void
begin_anew(void)
{
    pthread_mutex_init(&busy, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wanted_more, NULL);
    pthread_cond_init(&all_done, NULL);
    wanted = active = started = asleep = 0;
}

/* Have so many helpers if there can be; signals are for the interpreter's threads. */
static void
have_helpers(int count)
{
    if (started >= count) {
        return;
    }
    if (!watches_forks) {
        watches_forks = pthread_atfork(NULL, NULL, begin_anew) == 0;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (watches_forks && started < count) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, &numbers[started]) != 0) {
            break;
        }
        pthread_detach(thread);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
with_crew(void (*work)(void *), void *job, int helpers)
{
    if (helpers < 1 || pthread_mutex_trylock(&busy) != 0) {
        work(job);
        return;
    }
    have_helpers(helpers < MOST_CREW ? helpers : MOST_CREW - 1);
    pthread_mutex_lock(&lock);
    work_now = work;
    job_now = job;
    __atomic_store_n(&wanted, helpers < started ? helpers : started, __ATOMIC_RELEASE);
    if (asleep > 0) {
        keep_apart(numbers, started);
    }
    if (wanted > 1) {
        pthread_cond_broadcast(&wanted_more);
    }
    else {
        pthread_cond_signal(&wanted_more);
    }
    pthread_mutex_unlock(&lock);
    work(job);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&wanted, 0, __ATOMIC_RELEASE); /* who has not begun is too late */
    pthread_mutex_unlock(&lock);
    look_for(&active, 0);
    pthread_mutex_lock(&lock);
    while (active > 0) {
        pthread_cond_wait(&all_done, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&busy);
}

int
crew_is_awake(void)
{
    return __atomic_load_n(&started, __ATOMIC_RELAXED) > __atomic_load_n(&asleep, __ATOMIC_RELAXED);
}

#else

int
crew_is_awake(void)
{
    return 0;
}

void
with_crew(void (*work)(void *), void *job, int helpers)
{
    (void)helpers;
    work(job);
}

#endif
