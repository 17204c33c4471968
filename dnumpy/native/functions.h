/* Public functions, and what NumPy is given for their arguments: see functions.c and given.c. */

#ifndef DNUMPY_FUNCTIONS_H
#define DNUMPY_FUNCTIONS_H

#include "record.h"

#define MANY (1 << 10) /* elements from which on `many` is asked */
#define MOST_MADE 8192 /* elements of an array that is made in C: of more, NumPy is as fast */

/* Makes a small array, new; NULL without an error where NumPy has to: see made.c. */
typedef PyObject *(*Maker)(PyObject *const *args, Py_ssize_t count, PyObject *kwnames);

typedef struct {
    PyObject_HEAD
    PyObject *slow;   /* the public function as Python has it */
    PyObject *numpys; /* what runs on arrays that lie here */
    PyObject *direct; /* the same for small ones, which override nothing; NULL where it is the same */
    PyObject *as_are; /* types of arguments that NumPy is given as they are */
    PyObject *records; /* what records again as it did before, or None: see replay.c */
    PyObject *waits; /* what records it where a loop waits, or None: see laps.c */
    PyObject *many;  /* what runs on some thousands of elements, or None */
    PyObject *dict;
    PyObject *weakrefs;
    int kind;         /* which arguments make the short path: see below */
    Py_ssize_t out_position; /* of the first argument that it writes to; -1 until it is asked for */
    int binds;        /* whether it is a method of a class that holds it */
    int managed;      /* the short way of large arrays, or NOT_SHORT: see lone.c */
    int grows;        /* whether small arrays make a large one, or little of one is read: see below */
    int blank;        /* the number of which arrays are full that it makes; -1 of none: see blank.c */
    Maker maker;      /* NULL of what makes no array of its arguments' numbers */
    vectorcallfunc vectorcall;
} Function;

enum { OF_ARRAYS, VIEWING, MOVING, EXACT, PRODUCT, RUNNING, WRITING, OF_SHAPE, OF_SQUARE, OF_LIST, OF_RANGE, AS_IT_IS };

enum { NOT, BROADCAST, IN_PAIRS, LOOKS };

Maker maker_of(PyObject *function);
int blank_of(PyObject *function);
/* A large array that a function makes of no arrays, of at most so many elements, as ours, new; NULL without
   an error where Python has to look. */
PyObject *made_large(Function *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                     Py_ssize_t size);
Py_ssize_t numbers_in(PyObject *x, int depth);
int takes_large(Function *self);
PyObject *arrays_in(Function *self, PyObject *sequence, Py_ssize_t *size);
PyObject *given_for(Function *self, PyObject *x, int may_be_seen);
PyObject *named_for(Function *self, PyObject *name, PyObject *x, PyObject **out);

#endif
