/* The memory of an array, as code in C asks for it. */

#include "handle.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Say whether the format of a buffer tells all of a dtype, which needs no look at it in Python. */
static int
is_told(PyArray_Descr *dtype)
{
    return (PyTypeNum_ISNUMBER(dtype->type_num) || PyTypeNum_ISBOOL(dtype->type_num)) &&
           PyArray_ISNBO(dtype->byteorder);
}

/* `__buffer__` decides for whom this is memory, and whether it is to be asked for as an array. The
   buffer is NumPy's own: its errors are, and what is written to it is seen by all views. */
static int
memory_of(PyObject *x, Py_buffer *view, int flags)
{
    PyObject *np = IS_ARRAY(x) ? small_of(x) : NULL;
    if (np != NULL && is_told(PyArray_DESCR((PyArrayObject *)np))) {
        return PyObject_GetBuffer(np, view, flags);
    }
    view->obj = NULL;
    PyObject *memory = PyObject_CallMethod(x, "__buffer__", "i", flags);
    if (memory == NULL || !PyMemoryView_Check(memory)) {
        if (memory != NULL || PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Format(PyExc_BufferError, "%R has no memory to give", Py_TYPE(x));
        }
        Py_XDECREF(memory);
        return -1;
    }
    PyObject *owner = PyMemoryView_GET_BASE(memory);
    int done = PyObject_GetBuffer(owner != NULL ? owner : memory, view, flags);
    Py_DECREF(memory);
    return done;
}

PyBufferProcs handle_as_buffer = {.bf_getbuffer = memory_of};

/* Give the pages that are free in malloc's heap back to the system; say whether there were any. */
PyObject *
trim_heap(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    int gave = 0;
#ifdef __GLIBC__
    Py_BEGIN_ALLOW_THREADS
    gave = malloc_trim(0);
    Py_END_ALLOW_THREADS
#endif
    return PyBool_FromLong(gave);
}
