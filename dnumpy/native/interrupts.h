/* Signals that come while threads work without the interpreter, which may take seconds: the user's
   interrupt is not to wait for all of it. */

#ifndef DNUMPY_INTERRUPTS_H
#define DNUMPY_INTERRUPTS_H

#include "handle.h"

#define LOOKS_AFTER 0.05 /* seconds for which nobody looks */

/* Of a caller that has let go of the interpreter. */
typedef struct {
    unsigned long caller;
    PyThreadState *state;
    double looked;
} Alert;

static inline void
let_go(Alert *alert)
{
    alert->caller = PyThread_get_thread_ident();
    alert->looked = seconds_now();
    alert->state = PyEval_SaveThread();
}

static inline void
take_back(Alert *alert)
{
    PyEval_RestoreThread(alert->state);
}

static inline int
is_callers(const Alert *alert)
{
    return PyThread_get_thread_ident() == alert->caller;
}

/* Let Python see to signals, if nobody did lately; say whether to stop, with its error set. Only the
   caller asks. */
static inline int
is_interrupted(Alert *alert)
{
    double now = seconds_now();
    if (now >= alert->looked && now - alert->looked < LOOKS_AFTER) {
        return 0;
    }
    take_back(alert);
    int raised = PyErr_CheckSignals() < 0;
    alert->state = PyEval_SaveThread();
    alert->looked = seconds_now();
    return raised;
}

#endif
