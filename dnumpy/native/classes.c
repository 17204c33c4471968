/* Classes of programs, as they are made: those with an `__array__` are told of.

   What NumPy asks for an array has to answer with one of its class, and a class that is written in
   terms of dnumpy answers with one of ours. Where NumPy asks in C, the answer passes through no code
   but the method itself, so that the method has to change, before anybody asks. A class statement calls
   `__build_class__`; a function of Python's in its place would be one more frame to those that look for
   the frame of the statement. */

#include "handle.h"

static PyObject *built_by, *told; /* what Python's function is, and what is called with a class */

static PyObject *
build_class(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    static PyObject *name;
    PyObject *made = PyObject_Vectorcall(built_by, args, (size_t)count, kwnames);
    if (made == NULL || !PyType_Check(made) || intern(&name, "__array__") == NULL) {
        return made; /* a metaclass may make anything */
    }
    PyObject *own = ((PyTypeObject *)made)->tp_dict;
    int has = own == NULL ? 0 : PyDict_Contains(own, name);
    if (has > 0) {
        PyObject *done = PyObject_CallOneArg(told, made);
        has = done == NULL ? -1 : 0;
        Py_XDECREF(done);
    }
    if (has < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyMethodDef built = {
    "__build_class__", (PyCFunction)(void (*)(void))build_class, METH_FASTCALL | METH_KEYWORDS,
    "__build_class__(func, name, /, *bases, [metaclass], **kwds) -> class\n\n"
    "Internal helper function used by the class statement."};

/* (Python's `__build_class__`, what is called with each class that has an `__array__`) -> what is to be
   called in its place. */
PyObject *
build_classes_with(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "expected two functions");
        return NULL;
    }
    Py_XSETREF(built_by, Py_NewRef(args[0]));
    Py_XSETREF(told, Py_NewRef(args[1]));
    return PyCFunction_New(&built, NULL);
}
