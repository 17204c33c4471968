/* Special methods as the class of arrays shows them.

   The operators take the slots that the class has from Handle. What a program finds by their names is
   one of these, which knows of NumPy's arrays too, and tells of itself what NumPy's tells. It is put
   beside the slots: to set it as an attribute would make Python look it up for each operator. */

#include "handle.h"

typedef struct {
    PyObject_HEAD
    PyObject *slow;   /* what the slot does */
    PyObject *numpys; /* the same of NumPy's class */
    vectorcallfunc vectorcall;
} Special;

static PyObject *
special_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Special *self = (Special *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (is_elsewhere(args, count)) {
        return elsewhere(self->numpys, args, count, kwnames);
    }
    return PyObject_Vectorcall(self->slow, args, nargsf, kwnames);
}

static PyObject *
special_bound(PyObject *object, PyObject *array, PyObject *type)
{
    Special *self = (Special *)object;
    if (array == NULL || array == Py_None) {
        return Py_NewRef(object);
    }
    if (PyArray_Check(array)) {
        return PyMethod_New(object, array);
    }
    PyObject *asked = IS_ARRAY(array) ? self->slow : self->numpys;
    return Py_TYPE(asked)->tp_descr_get(asked, array, type);
}

static PyObject *
special_told(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) {
        return NULL;
    }
    if (strcmp(text, "__objclass__") == 0) {
        return Py_NewRef(world.array_type);
    }
    if (strcmp(text, "__class__") == 0 || strcmp(text, "__call__") == 0 ||
        strcmp(text, "__get__") == 0 || strncmp(text, "__reduce", 8) == 0) {
        return PyObject_GenericGetAttr(self, name);
    }
    return PyObject_GetAttr(((Special *)self)->numpys, name);
}

static PyObject *
special_repr(PyObject *self)
{
    return PyObject_Repr(((Special *)self)->numpys);
}

static PyObject *
special_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *getattr = PyDict_GetItemString(builtins, "getattr");
    PyObject *name = PyObject_GetAttrString(((Special *)self)->numpys, "__name__");
    return name == NULL ? NULL : Py_BuildValue("O(ON)", getattr, world.array_type, name);
}

static void
special_dealloc(Special *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->numpys);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static int
special_traverse(Special *self, visitproc visit, void *arg)
{
    Py_VISIT(self->slow);
    Py_VISIT(self->numpys);
    return 0;
}

static PyMethodDef special_methods[] = {
    {"__reduce__", special_reduce, METH_NOARGS, "Pickle by name."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Special_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dnumpy.native.Special",
    .tp_doc = "A special method of arrays, of ours and of NumPy's.",
    .tp_basicsize = sizeof(Special),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(Special, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = (destructor)special_dealloc,
    .tp_traverse = (traverseproc)special_traverse,
    .tp_getattro = special_told,
    .tp_repr = special_repr,
    .tp_methods = special_methods,
    .tp_descr_get = special_bound,
};

/* Let the class of arrays show a special method, named as NumPy's is; its slots stay as they are. */
PyObject *
show_special(PyObject *Py_UNUSED(module), PyObject *numpys)
{
    PyObject *name = PyObject_GetAttrString(numpys, "__name__");
    PyObject *slow = name == NULL ? NULL : _PyType_Lookup(world.array_type, name); /* borrowed */
    if (slow == NULL || Py_TYPE(slow) != &PyWrapperDescr_Type ||
        Py_TYPE(numpys) != &PyWrapperDescr_Type) {
        Py_XDECREF(name);
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%R is no slot of arrays", numpys);
        }
        return NULL;
    }
    Special *made = (Special *)PyType_GenericAlloc(&Special_Type, 0);
    int done = -1;
    if (made != NULL) {
        made->slow = Py_NewRef(slow);
        made->numpys = Py_NewRef(numpys);
        made->vectorcall = special_call;
        done = PyDict_SetItem(world.array_type->tp_dict, name, (PyObject *)made);
        PyType_Modified(world.array_type);
        Py_DECREF(made);
    }
    Py_DECREF(name);
    return done < 0 ? NULL : Py_NewRef(Py_None);
}
