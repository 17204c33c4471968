/* Blocks of memory that arrays lie in, given back when the last of these dies: see
   dnumpy.runtime.memory. */

#include "handle.h"

typedef struct {
    PyObject_HEAD
    PyObject *pool;
    PyObject *block;
    PyObject *spare; /* bytes of the block beyond what was asked for */
} Lease;

/* `lease(pool, block, address, spare, shape, dtype)`: an uninitialised array over a block, which is
   large enough; `pool.give_back(block, spare)` is called once nothing lies in it. */
PyObject *
lease(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    npy_intp dims[NPY_MAXDIMS];
    if (count != 6 || !PyTuple_CheckExact(args[4]) || PyTuple_GET_SIZE(args[4]) > NPY_MAXDIMS ||
        !PyArray_DescrCheck(args[5])) {
        PyErr_SetString(PyExc_TypeError,
                        "expected a pool, a block, an address, spare bytes, a shape and a dtype");
        return NULL;
    }
    int ndim = (int)PyTuple_GET_SIZE(args[4]);
    for (int k = 0; k < ndim; k++) {
        dims[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[4], k));
        if (dims[k] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    void *address = PyLong_AsVoidPtr(args[2]);
    if (address == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "expected an address");
        }
        return NULL;
    }
    Lease *owner = PyObject_New(Lease, &Lease_Type);
    if (owner == NULL) {
        return NULL;
    }
    owner->pool = Py_NewRef(args[0]);
    owner->block = Py_NewRef(args[1]);
    owner->spare = Py_NewRef(args[3]);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(args[5]), ndim,
                                           dims, NULL, address, NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, (PyObject *)owner) < 0) { /* takes it */
        Py_CLEAR(array);
    }
    return array;
}

/* `lent(memory, owner, writeable)`: an array over the same memory, which keeps the owner alive. */
PyObject *
lent(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !IS_NUMPYS(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected an array of NumPy's, its owner, and a truth value");
        return NULL;
    }
    PyArrayObject *memory = (PyArrayObject *)args[0];
    int flags = args[2] == Py_True ? NPY_ARRAY_WRITEABLE : 0;
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(memory)), PyArray_NDIM(memory),
        PyArray_DIMS(memory), PyArray_STRIDES(memory), PyArray_DATA(memory), flags, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(args[1])) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

static void
lease_dealloc(Lease *self)
{
    static PyObject *give_back;
    PyObject *type, *value, *traceback, *args[] = {self->pool, self->block, self->spare};
    PyErr_Fetch(&type, &value, &traceback); /* an error may be on its way */
    PyObject *done = PyObject_VectorcallMethod(intern(&give_back, "give_back"), args, 3, NULL);
    if (done == NULL) {
        PyErr_WriteUnraisable((PyObject *)Py_TYPE(self));
    }
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback);
    Py_DECREF(self->pool);
    Py_DECREF(self->block);
    Py_DECREF(self->spare);
    PyObject_Free(self);
}

PyTypeObject Lease_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dnumpy.native.Lease",
    .tp_doc = "A block of memory while some array lies in it.",
    .tp_basicsize = sizeof(Lease),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)lease_dealloc,
};
