/* The memory of an array, as code in C asks for it. */

#include "record.h"

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

static PyObject *export_type; /* of what knows while memory is in use outside: api/buffer.py */

PyObject *
take_export(PyObject *Py_UNUSED(module), PyObject *type)
{
    Py_XSETREF(export_type, Py_NewRef(type));
    Py_RETURN_NONE;
}

/* Stands between a Buffer's memory and what is handed out, new: another one only once the last is not
   in use. As `Buffer.export`. */
static PyObject *
export_of(PyObject *buffer, PyObject *memory)
{
    static PyObject *names, *memory_name;
    PyObject **place = place_of(buffer, told.buffer.export), *used = *place;
    if (used != NULL && PyWeakref_CheckRef(used)) {
        used = PyWeakref_GetObject(used);
    }
    if (used != NULL && (PyObject *)Py_TYPE(used) == export_type) {
        Py_INCREF(used);
        PyObject *its = PyObject_GetAttr(used, intern(&memory_name, "memory"));
        Py_XDECREF(its);
        if (its == memory) {
            return used;
        }
        Py_DECREF(used);
        return NULL;
    }
    if (used != Py_None || (names == NULL && (names = Py_BuildValue("(s)", "writeable")) == NULL)) {
        return NULL;
    }
    PyObject *args[] = {memory, Py_True};
    PyObject *made = PyObject_Vectorcall(export_type, args, 1, names);
    PyObject *known = made == NULL ? NULL : PyWeakref_NewRef(made, NULL);
    if (known == NULL) {
        Py_CLEAR(made);
        return NULL;
    }
    Py_XSETREF(*place, known);
    return made;
}

/* What an array shows of memory that lies here, and that nobody reads later, as an array of NumPy's to
   hand out, new; NULL without an error where Python has to look. */
static PyObject *
handed_out(Handle *x)
{
    PyObject *buffer = x->buf, *expr = expr_of(buffer), *memory = NULL, *shown = NULL, *made = NULL;
    if (export_type == NULL || expr == NULL || x->readonly != Py_False || is_watched(buffer) ||
        *place_of(buffer, told.buffer.writeable) != Py_True) {
        return NULL;
    }
    is_made_now(buffer, 1);
    expr = expr_of(buffer);
    memory = Py_REFCNT(expr) == 1 ? computed(buffer) : NULL;
    PyArrayObject *whole = (PyArrayObject *)memory;
    if (memory != NULL && PyArray_ISWRITEABLE(whole) && is_told(PyArray_DESCR(whole)) &&
        (PyObject *)PyArray_DESCR(whole) == *place_of(buffer, told.buffer.dtype)) {
        shown = shown_of(x, memory);
        shown = shown != NULL ? shown : placed_over(x->place, whole);
    }
    if (shown != NULL && IS_NUMPYS(shown) && is_told(PyArray_DESCR((PyArrayObject *)shown)) &&
        slot_of(expr, world.op_at) != told.leaf) { /* others may find that by what it means */
        PyObject *leaf = stored(memory);
        if (leaf != NULL) {
            change_content(buffer, leaf);
        }
        else {
            Py_CLEAR(shown);
        }
    }
    PyObject *used = shown == NULL || !IS_NUMPYS(shown) ? NULL : export_of(buffer, memory);
    if (used != NULL) {
        PyObject *args[] = {shown, used, Py_True};
        made = lent(NULL, args, 3);
        Py_DECREF(used);
    }
    Py_XDECREF(shown);
    Py_XDECREF(memory);
    PyErr_Clear();
    return made;
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
    PyObject *out = IS_ARRAY(x) && np == NULL ? handed_out((Handle *)x) : NULL;
    if (out != NULL) {
        int given = PyObject_GetBuffer(out, view, flags);
        Py_DECREF(out);
        return given;
    }
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
