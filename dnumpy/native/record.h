/* What Python told of recording, and the parts of it: see record.c and operands.c. */

#ifndef DNUMPY_RECORD_H
#define DNUMPY_RECORD_H

#include "expr.h"

#define SAFE_INT 127 /* fits every integer dtype: api/quick.py, too */
/* Where an Origin has what is looked at of it: see expr/origin.py. */
#define ERRORS_OF_ORIGIN 2
#define SITE_OF_ORIGIN 6
#define NAME_OF_ORIGIN 9


/* What Python told, borrowed for the life of the process; `buffer_type` is NULL until then. */
typedef struct {
    PyTypeObject *buffer_type;
    PyTypeObject *race_type;
    PyObject *window;     /* what is pending, and how much that is */
    PyObject *results;    /* (row, what the dtype depends on of each operand) -> dtype */
    PyObject *constants;  /* (type, number) -> the operand that it is */
    PyObject *constant;   /* the same, made */
    PyObject *scalars;    /* types of scalars that are operands as they are */
    PyObject *context;    /* the variable that has NumPy's error state */
    PyObject *states;     /* [(state, what it says)] */
    PyObject *sights;     /* [what was seen when the filters of warnings were last looked at] */
    PyObject *warnings;   /* the module's names */
    PyObject *sites;      /* (address of code, instruction) -> (code, state, filters, Origin) */
    PyObject *inside;     /* file -> whether it is a library's */
    PyObject *note_file;  /* file -> the same, noted there */
    PyObject *flush;      /* compute what is pending if that is due */
    PyObject *view;       /* the op of a view, and of what is stored */
    PyObject *leaf;
    PyObject *ask;        /* (row, key of the results, operands) -> dtype, or None */
    PyObject *lent;       /* thread -> what it has waiting over memory that NumPy may write to */
    PyObject *naming;     /* what this thread is recording, in NumPy's words */
    struct {
        Py_ssize_t shape, dtype, writeable, foreign, ghost, export, home, expr;
    } buffer;
    struct {
        PyTypeObject *type; /* of scalars that wait */
        Py_ssize_t expr, run, value;
    } deferred;
    struct {
        Py_ssize_t exprs, elements, looked, owners, thread, at_once;
    } counts;
    struct {
        Py_ssize_t apart, by_numpy, most, sites, trying, has_end, opening, spent, numpys, best, laps, rounds,
            skipped, behind, due, runs;
    } race;
    Py_ssize_t accuracy, window_exprs, changes; /* of settings */
    Py_ssize_t alone, of_race;         /* of a Site */
    Py_ssize_t most, little, less, little_bytes; /* elements: see runtime/window.py */
} Recorder;

extern Recorder told;

static inline PyObject **
place_of(PyObject *object, Py_ssize_t at)
{
    return (PyObject **)((char *)object + at);
}

PyObject *site_now(void); /* borrowed */
/* Whether NumPy may run a function, None for what has the same bits in any case, on so many bytes in a
   round that is its own; it clears errors. */
int may_be_numpys(PyObject *function, Py_ssize_t bytes);
PyObject *turn_to_sum(Py_ssize_t bytes); /* new; NULL without an error if not now: see turns.c */
PyObject *numpys_race(PyObject *site); /* borrowed: see turns.c */
PyObject *origin_of_line(void); /* new; NULL without an error where Python has to look */
PyObject *handle_of(PyObject *expr); /* new, over a pending Expr that nobody has yet */
PyObject *scalar_of(PyObject *expr); /* the same where it has no axes */

int is_at_once(PyObject *x); /* see given.c */
PyObject *buffer_of(PyObject *expr); /* new */

/* Arrays of sizes between: see laps.c. */
extern int recording_between, loop_waits;
extern Py_ssize_t least_between;
int goes_at_once(Py_ssize_t bytes);
int views_wait(PyObject *x);
int waits_here(void);
int pairs_wait(PyObject *x, PyObject *y);
int counts_between(PyObject *shape, PyObject *dtype);
PyObject *called_between(PyObject *records, PyObject *waits, PyObject *const *args, Py_ssize_t count,
                         PyObject *kwnames);
PyObject *recorded_where_faster(PyObject *row, PyObject *x, PyObject *y, int into);

/* Say whether an operand is known to be smaller than those: it costs as little as can be. */
static inline int
is_below(PyObject *x)
{
    if (x == NULL || !IS_ARRAY(x)) {
        return 1;
    }
    PyObject *np = ((Handle *)x)->np;
    if (np == NULL || !IS_NUMPYS(np)) {
        return 0;
    }
    return size_of_array((PyArrayObject *)np) < least_between;
}

/* What an operation gives, recorded, where one of its operands is of a size between; NULL without an
   error where that does not wait. `into`: the first operand takes it. */
static inline PyObject *
recorded_between(PyObject *row, PyObject *x, PyObject *y, int into)
{
    return LIKELY(is_below(x) && is_below(y)) ? NULL : recorded_where_faster(row, x, y, into);
}

/* Short ways of large arrays: see lone.c. */
#define MOST_FOLDED (24 << 20) /* bytes of a sum at a line that looks at each: api/summed.py, too */
#define NOT_SHORT (-1)
int short_named(PyObject *function); /* NOT_SHORT of others */
/* What `ufunc.reduce` makes of such an array, likewise. */
PyObject *reduced_of_managed(PyObject *ufunc, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
/* What a method or function makes of a managed array, the first argument; new, NULL without an error
   where Python has to look. */
PyObject *short_of_managed(int what, int is_method, PyObject *const *args, Py_ssize_t count,
                           PyObject *kwnames);

enum { TO_BE_LOOKED_AT, IS_PLAIN, LIES_HERE, WAITS };
int kind_of_argument(PyObject *x);
PyObject *replayed(PyObject *ours, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
void untrack(PyObject *expr); /* for the collector of cycles, where it can be part of none */
int is_managed_dtype(PyObject *dtype);
PyObject *stored(PyObject *memory); /* new */
PyObject *holder(PyObject *expr); /* an array, new, whose content is an Expr that nobody has yet */
int is_anything_pending(void);
void change_content(PyObject *buffer, PyObject *expr); /* takes the Expr */
/* Make the memory of a Buffer that is full of one number and has none: whether it has now. See blank.c. */
int is_made_now(PyObject *buffer, int to_write);
PyObject *operand(PyObject *x, PyObject **kind); /* new, and what a dtype depends on; see there */
PyObject *broadcast(PyObject *a, PyObject *b);
PyObject *dtype_of(PyObject *row, PyObject *const *kinds, PyObject *first, PyObject *second);

#endif
