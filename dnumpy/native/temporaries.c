/* Results that nobody will see again, whose memory the next operation may take, as NumPy does.

   An operand with one reference is on the stack of the interpreter, which drops it after the
   operation; or it belongs to a function in C that holds on to it without a reference of the
   call's. Who called tells: between this file and the interpreter's loop there must be nothing but
   Python's own code. The method is that of NumPy's `temp_elide.c`. */

#include "handle.h"

#if defined(__GLIBC__)
#include <dlfcn.h>
#include <execinfo.h>
#define DEEPEST 8
#define MOST_KNOWN 64

static void *loops[MOST_KNOWN], *inner[MOST_KNOWN]; /* places in the loop, and on the way there */
static int loop_count, inner_count;

static int
is_among(void *const *known, int count, void *place)
{
    for (int k = 0; k < count; k++) {
        if (known[k] == place) {
            return 1;
        }
    }
    return 0;
}

/* Say whether nothing but Python's code is between this call and the interpreter's loop. */
static int
interpreter_called(void)
{
    static void *own, *python;
    void *frames[DEEPEST];
    Dl_info found;
    if (python == NULL) {
        if (!dladdr((void *)&PyNumber_Add, &found)) {
            return 0;
        }
        python = found.dli_fbase;
        if (!dladdr((void *)&loop_count, &found)) {
            return 0;
        }
        own = found.dli_fbase;
    }
    int count = backtrace(frames, DEEPEST);
    for (int k = 0; k < count; k++) {
        if (is_among(loops, loop_count, frames[k])) {
            return 1;
        }
        if (is_among(inner, inner_count, frames[k])) {
            continue;
        }
        if (!dladdr(frames[k], &found) || (found.dli_fbase != own && found.dli_fbase != python)) {
            return 0;
        }
        if (found.dli_sname != NULL && strcmp(found.dli_sname, "_PyEval_EvalFrameDefault") == 0) {
            if (loop_count < MOST_KNOWN) {
                loops[loop_count++] = frames[k];
            }
            return 1;
        }
        if (inner_count < MOST_KNOWN) {
            inner[inner_count++] = frames[k];
        }
    }
    return 0;
}
#else
static int
interpreter_called(void)
{
    return 0;
}
#endif

/* Say whether one reference is the stack's, and not that of a variable. */
static int
is_on_the_stack(PyObject *x)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniqueReferencedTemporary(x);
#else
    return Py_REFCNT(x) == 1;
#endif
}

/* The memory of a large result that nobody will see again, new; NULL without an error of others.
   Floats alone: an operation on them and on numbers of Python's keeps their type. */
PyObject *
temporary_of(PyObject *x)
{
    Handle *handle = (Handle *)x;
    if (!IS_ARRAY(x) || Py_REFCNT(x) != 1 || small_of(x) != NULL || handle->weakrefs != NULL ||
        handle->place != Py_None || (handle->base != NULL && handle->base != Py_None) ||
        handle->buf == NULL || Py_REFCNT(handle->buf) != 1 || !takes_writes(handle)) {
        return NULL;
    }
    PyObject *memory = lying_here(x);
    if (memory == NULL) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)memory;
    int type = PyArray_TYPE(array);
    int fits = Py_REFCNT(memory) == 2 && PyArray_BASE(array) == NULL &&
               (type == NPY_DOUBLE || type == NPY_FLOAT) && PyArray_ISNBO(PyArray_DESCR(array)->byteorder) &&
               PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE);
    if (!fits || !is_on_the_stack(x) || !interpreter_called()) {
        Py_CLEAR(memory);
    }
    return memory;
}

/* The same of an array that runs at once, new: its handle is what nobody will see again. NumPy, too,
   takes temporaries of this size and more. */
PyObject *
small_temporary(PyObject *x)
{
    PyObject *np = IS_ARRAY(x) && Py_REFCNT(x) == 1 ? small_of(x) : NULL;
    if (np == NULL || PyArray_NBYTES((PyArrayObject *)np) < TAKEN_BYTES) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)np;
    int fits = Py_REFCNT(np) == 1 && ((Handle *)x)->weakrefs == NULL && PyArray_BASE(array) == NULL &&
               PyTypeNum_ISNUMBER(PyArray_TYPE(array)) &&
               PyArray_ISNBO(PyArray_DESCR(array)->byteorder) &&
               PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE);
    return fits && is_on_the_stack(x) && interpreter_called() ? Py_NewRef(np) : NULL;
}

/* Say whether an operation on such memory and another operand gives what that memory can hold. */
int
keeps_type(PyObject *memory, PyObject *other)
{
    if (!IS_NUMPYS(other)) {
        int is_float = PyTypeNum_ISFLOAT(PyArray_TYPE((PyArrayObject *)memory));
        return PyLong_CheckExact(other) || (is_float && PyFloat_CheckExact(other));
    }
    PyArrayObject *a = (PyArrayObject *)memory, *b = (PyArrayObject *)other;
    return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_SAMESHAPE(a, b);
}
