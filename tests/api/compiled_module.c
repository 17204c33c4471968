/* A module of another package's: it takes arrays of NumPy's class alone, as Cython's typed arguments. */

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

typedef struct {
    PyObject_HEAD
    PyObject *array;
} Box;

static PyObject *
total(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"array", NULL};
    PyObject *array;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", keywords, &PyArray_Type, &array)) {
        return NULL;
    }
    return PyObject_CallMethod(array, "sum", NULL);
}

/* Write to an array, and return it. */
static PyObject *
filled(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *array, *value;
    if (!PyArg_ParseTuple(args, "O!O", &PyArray_Type, &array, &value) ||
        PyArray_FillWithScalar((PyArrayObject *)array, value) < 0) {
        return NULL;
    }
    return Py_NewRef(array);
}

static PyObject *
swapped(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &a, &PyArray_Type, &b)) {
        return NULL;
    }
    return PyTuple_Pack(2, b, a);
}

/* How many of a list's items, or of a dict's values, are arrays. */
static PyObject *
count_arrays(PyObject *Py_UNUSED(module), PyObject *held)
{
    PyObject *items = PyDict_Check(held) ? PyDict_Values(held) : PySequence_List(held);
    if (items == NULL) {
        return NULL;
    }
    long count = 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items); k++) {
        count += PyArray_Check(PyList_GET_ITEM(items, k));
    }
    Py_DECREF(items);
    return PyLong_FromLong(count);
}

/* Take as many arguments as there are. */
static PyObject *
count_all(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    long found = 0;
    for (Py_ssize_t k = 0; k < count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)); k++) {
        found += PyArray_Check(args[k]);
    }
    return PyLong_FromLong(found);
}

static int
box_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"array", NULL};
    PyObject *array;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", keywords, &PyArray_Type, &array)) {
        return -1;
    }
    Py_XSETREF(((Box *)self)->array, Py_NewRef(array));
    return 0;
}

static void
box_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Box *)self)->array);
    type->tp_free(self);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        Py_DECREF(type);
    }
}

static PyObject *
box_add(PyObject *self, PyObject *args)
{
    PyObject *array;
    if (!PyArg_ParseTuple(args, "O!", &PyArray_Type, &array)) {
        return NULL;
    }
    return PyNumber_Add(((Box *)self)->array, array);
}

static PyObject *
box_of(PyObject *Py_UNUSED(self), PyObject *array)
{
    return PyBool_FromLong(PyArray_Check(array));
}

static PyObject *
box_call(PyObject *self, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    return box_add(self, args);
}

static PyObject *
box_get(PyObject *self, PyObject *key)
{
    return PyArray_Check(key) ? PyObject_GetItem(((Box *)self)->array, key)
                              : PyErr_Format(PyExc_TypeError, "expected an array");
}

static int
box_set(PyObject *self, PyObject *key, PyObject *value)
{
    if (value == NULL || !PyArray_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "expected an array");
        return -1;
    }
    return PyObject_SetItem(((Box *)self)->array, key, value);
}

static PyMethodDef box_methods[] = {
    {"add", box_add, METH_VARARGS, "add($self, array)\n--\n\nAdd."},
    {"of", box_of, METH_O | METH_STATIC, "of(array)\n--\n\nSay what it is."},
    {NULL, NULL, 0, NULL},
};

static PyMappingMethods box_mapping = {.mp_subscript = box_get, .mp_ass_subscript = box_set};

static PyTypeObject Box_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_module.Box",
    .tp_basicsize = sizeof(Box),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = box_init,
    .tp_dealloc = box_dealloc,
    .tp_call = box_call,
    .tp_as_mapping = &box_mapping,
    .tp_methods = box_methods,
};

/* A class beside it that a program may derive from too. */
static int
mark_init(PyObject *Py_UNUSED(self), PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    return PyArg_ParseTuple(args, "") ? 0 : -1;
}

static PyTypeObject Mark_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_module.Mark",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = mark_init,
};

/* Derived in C: its constructor calls that of its base through the class, as Cython's do. */
static int
named_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return Box_Type.tp_init(self, args, kwargs);
}

static PyTypeObject Named_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_module.Named",
    .tp_basicsize = sizeof(Box),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &Box_Type,
    .tp_init = named_init,
};

static PyType_Slot heap_slots[] = {
    {Py_tp_new, PyType_GenericNew}, {Py_tp_init, box_init},       {Py_tp_dealloc, box_dealloc},
    {Py_tp_methods, box_methods},   {Py_mp_subscript, box_get},   {Py_mp_ass_subscript, box_set},
    {Py_tp_call, box_call},         {0, NULL},
};

static PyType_Spec heap_spec = {"compiled_module.HeapBox", sizeof(Box), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, heap_slots};

static PyMethodDef functions[] = {
    {"total", (PyCFunction)(void (*)(void))total, METH_VARARGS | METH_KEYWORDS,
     "total(array)\n--\n\nAdd all."},
    {"filled", filled, METH_VARARGS, "filled(array, value)\n--\n\nFill."},
    {"swapped", swapped, METH_VARARGS, "swapped(a, b)\n--\n\nSwap."},
    {"count_arrays", count_arrays, METH_O, "count_arrays(held)\n--\n\nCount."},
    {"count_all", (PyCFunction)(void (*)(void))count_all, METH_FASTCALL | METH_KEYWORDS, "Count."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "compiled_module", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC
PyInit_compiled_module(void)
{
    import_array();
    PyObject *module = PyModule_Create(&definition);
    PyObject *heap = PyType_FromSpec(&heap_spec);
    if (module == NULL || heap == NULL || PyModule_AddType(module, &Box_Type) < 0 ||
        PyModule_AddType(module, &Named_Type) < 0 || PyModule_AddType(module, &Mark_Type) < 0 ||
        PyModule_AddObject(module, "HeapBox", heap) < 0) {
        return NULL;
    }
    return module;
}
