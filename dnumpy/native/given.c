/* What NumPy is given for the arguments of a public function. */

#include "functions.h"

#define LOOKED_AT 8 /* elements of a list of numbers that are looked at */

/* How many numbers there are in lists of lists of them; -1 where anything else is among them. */
Py_ssize_t
numbers_in(PyObject *x, int depth)
{
    if (is_immediate(x)) {
        return 1;
    }
    if ((!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) || depth == 0) {
        return -1;
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(x); k++) {
        Py_ssize_t more = numbers_in(PySequence_Fast_GET_ITEM(x, k), depth - 1);
        if (more < 0) {
            return -1;
        }
        count += more;
    }
    return count;
}

/* Say whether NumPy may be given large arrays, too: little of what is read in blocks may lie in all of
   its pages. */
int
takes_large(Function *self)
{
    int may = self->kind >= MOVING && self->kind <= RUNNING;
    return may && setting(world.memory_limit_at) == 0;
}

/* Say whether NumPy may be given an array of its own as it is. Nothing waits over the memory of one, and
   it is soon done with; elements that are objects may have been replaced: see api/stands.py. */
int
is_at_once(PyObject *x)
{
    return IS_NUMPYS(x) && runs_at_once(x) && !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)x)) &&
           told.buffer_type != NULL && PyDict_GET_SIZE(told.lent) == 0;
}

/* Say whether this is a small array of a class derived from NumPy's that it may have as it is, as
   api/calls.py's `is_kin`. */
int
is_kin(PyObject *x)
{
    static PyObject *ufunc_name, *function_name;
    if (!PyArray_Check(x) || PyArray_CheckExact(x) || !runs_at_once(x) || told.buffer_type == NULL ||
        PyDict_GET_SIZE(told.lent) != 0 || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)x))) {
        return 0;
    }
    PyObject *own = intern(&ufunc_name, "__array_ufunc__"), *of = intern(&function_name, "__array_function__");
    return _PyType_Lookup(Py_TYPE(x), own) == _PyType_Lookup(&PyArray_Type, own) &&
           _PyType_Lookup(Py_TYPE(x), of) == _PyType_Lookup(&PyArray_Type, of);
}

/* What NumPy is given for an element of a list beside arrays: one, a number, or a few of them. */
static PyObject *
small_element(Function *self, PyObject *x)
{
    if (IS_ARRAY(x)) {
        PyObject *np = Py_XNewRef(small_of(x));
        return np == NULL && takes_large(self) ? lying_here(x) : np;
    }
    if (is_at_once(x) || is_kin(x)) {
        return Py_NewRef(x);
    }
    int is_sequence = PyList_CheckExact(x) || PyTuple_CheckExact(x);
    if (is_sequence && PySequence_Fast_GET_SIZE(x) > LOOKED_AT) {
        return NULL;
    }
    return numbers_in(x, 1) < 0 ? NULL : Py_NewRef(x);
}

static int
holds_arrays(PyObject *const *elements, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count && k < LOOKED_AT; k++) {
        if (IS_ARRAY(elements[k])) {
            return 1;
        }
    }
    return 0;
}

/* What NumPy is given for a list or tuple; NULL without an error where that needs another look. */
static PyObject *
small_sequence(Function *self, PyObject *sequence)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    PyObject **elements = PySequence_Fast_ITEMS(sequence);
    if (!holds_arrays(elements, count)) {
        int numpys = 0; /* beside which there may be one of ours anywhere */
        for (Py_ssize_t k = 0; k < count && (k < LOOKED_AT || numpys); k++) {
            int is_numpys = is_at_once(elements[k]) || is_kin(elements[k]);
            if (!is_numpys && numbers_in(elements[k], 1) < 0 &&
                !holds_type(self->as_are, elements[k])) {
                return NULL;
            }
            numpys |= is_numpys;
        }
        return Py_NewRef(sequence);
    }
    int is_list = PyList_CheckExact(sequence);
    PyObject *given = is_list ? PyList_New(count) : PyTuple_New(count);
    for (Py_ssize_t k = 0; given != NULL && k < count; k++) {
        PyObject *np = small_element(self, elements[k]);
        if (np == NULL) {
            Py_CLEAR(given);
        }
        else if (is_list) {
            PyList_SET_ITEM(given, k, np);
        }
        else {
            PyTuple_SET_ITEM(given, k, np);
        }
    }
    return given;
}

/* What NumPy is given for a list of small arrays, and how many elements they have. */
PyObject *
arrays_in(Function *self, PyObject *sequence, Py_ssize_t *size)
{
    PyObject *first = PySequence_Fast_GET_SIZE(sequence) == 0 ? NULL
                                                              : PySequence_Fast_GET_ITEM(sequence, 0);
    if (first == NULL || !(IS_ARRAY(first) || IS_NUMPYS(first))) {
        return NULL;
    }
    PyObject *given = small_sequence(self, sequence);
    *size = given == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; given != NULL && k < PySequence_Fast_GET_SIZE(given); k++) {
        PyObject *x = PySequence_Fast_GET_ITEM(given, k);
        *size += IS_NUMPYS(x) ? PyArray_SIZE((PyArrayObject *)x) : numbers_in(x, 1);
    }
    return given;
}

/* A list or tuple of small arrays and numbers as NumPy is given it, new; NULL without an error of
   others. */
PyObject *
given_sequence(PyObject *x)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(x), size = 0;
    PyObject *given = count == 0 ? NULL : PyTuple_New(count);
    for (Py_ssize_t k = 0; given != NULL && k < count; k++) {
        PyObject *one = PySequence_Fast_GET_ITEM(x, k), *np = IS_ARRAY(one) ? small_of(one) : NULL;
        size += np == NULL ? 1 : size_of_array((PyArrayObject *)np);
        if ((np == NULL && !is_immediate(one)) || size >= setting(world.eager_below_at)) {
            Py_CLEAR(given);
        }
        else {
            PyTuple_SET_ITEM(given, k, Py_NewRef(np == NULL ? one : np));
        }
    }
    return given;
}

/* What NumPy is given for an argument; NULL without an error where that needs another look. */
PyObject *
given_for(Function *self, PyObject *x, int may_be_seen)
{
    if (IS_ARRAY(x)) {
        PyObject *np = small_of(x);
        if (np == NULL && takes_large(self)) {
            return lying_here(x);
        }
        return np != NULL ? Py_NewRef(np) : may_be_seen ? peek(x) : NULL;
    }
    if (PyLong_CheckExact(x) || PyFloat_CheckExact(x) || x == Py_None || is_at_once(x)) {
        return Py_NewRef(x);
    }
    if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
        return small_sequence(self, x);
    }
    int is_read = holds_type(self->as_are, x) || (self->kind != WRITING && is_kin(x));
    return is_read ? Py_NewRef(x) : NULL;
}

/* The same for an argument by name: also an array to write to, which `*out` is then. */
PyObject *
named_for(Function *self, PyObject *name, PyObject *x, PyObject **out)
{
    static PyObject *out_name, *like_name;
    if (is_plain(self->as_are, x)) {
        return Py_NewRef(x);
    }
    if (self->kind == WRITING || name == intern(&like_name, "like")) {
        return NULL;
    }
    if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
        return small_sequence(self, x);
    }
    if (self->grows == LOOKS && IS_ARRAY(x) && small_of(x) == NULL && takes_large(self)) {
        return lying_here(x); /* what a line is put in order by */
    }
    *out = name == intern(&out_name, "out") ? x : *out;
    return Py_XNewRef(IS_ARRAY(x) ? small_of(x) : is_at_once(x) ? x : NULL);
}

/* Say whether NumPy failed at an array of objects, by an error that it has of elements which are arrays
   of ours, where it may have another of its own: Python looks. The error is cleared then. */
int
refuses_elements(PyObject *const *args, Py_ssize_t count)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *np = IS_ARRAY(args[k]) ? small_of(args[k]) : NULL;
        if (np != NULL && PyArray_Check(np) && PyArray_TYPE((PyArrayObject *)np) == NPY_OBJECT) {
            PyErr_Clear();
            return 1;
        }
    }
    return 0;
}
