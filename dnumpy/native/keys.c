/* Keys of arrays of NumPy's class that hold arrays of ours.

   NumPy takes a key that is no array of its class for a list, and a list without elements for one of
   integers: an empty mask of ours over several axes would choose nothing along the first of them, and
   keep the others. So what indexes its arrays, and those of classes derived from it (matrices, records,
   masked arrays, a program's own), is given NumPy's array for one of ours. That is the one place at
   which all of them meet: the function that NumPy's class has for `x[key]`, and what stands for it in
   `ndarray.__getitem__` and in classes that have inherited it. */

#include "handle.h"

static binaryfunc numpys_get;
static objobjargproc numpys_set;

static int
is_ours(PyObject *x)
{
    return IS_ARRAY(x);
}

static PyObject *
numpys_array(PyObject *x)
{
    return PyArray_FROM_O(x);
}

/* A key with NumPy's arrays in place of ours, new; NULL without an error where it has none. */
static PyObject *
without_ours(PyObject *key)
{
    if (IS_ARRAY(key)) {
        return numpys_array(key);
    }
    Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 0, k = 0;
    while (k < count && !IS_ARRAY(PyTuple_GET_ITEM(key, k))) {
        k++;
    }
    return k < count ? key_with(key, is_ours, numpys_array) : NULL;
}

static PyObject *
get(PyObject *x, PyObject *key)
{
    PyObject *made = without_ours(key);
    if (LIKELY(made == NULL)) {
        return PyErr_Occurred() ? NULL : numpys_get(x, key);
    }
    PyObject *found = numpys_get(x, made);
    Py_DECREF(made);
    return found;
}

static int
set(PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *made = without_ours(key);
    if (LIKELY(made == NULL)) {
        return PyErr_Occurred() ? -1 : numpys_set(x, key, value);
    }
    int done = numpys_set(x, made, value);
    Py_DECREF(made);
    return done;
}

/* What stands for a function of NumPy's class in its `name`; NULL where something else does. */
static PyWrapperDescrObject *
standing_for(void *function, const char *name)
{
    PyWrapperDescrObject *found = (PyWrapperDescrObject *)PyDict_GetItemString(PyArray_Type.tp_dict, name);
    int stands = found != NULL && Py_IS_TYPE(found, &PyWrapperDescr_Type) && found->d_wrapped == function;
    return stands ? found : NULL;
}

/* Let a class, and all that have inherited its functions, index by these; -1 with an error. */
static int
index_by_ours(PyTypeObject *type)
{
    PyMappingMethods *slots = type->tp_as_mapping;
    if (slots != NULL && slots->mp_subscript == numpys_get) {
        slots->mp_subscript = get;
    }
    if (slots != NULL && slots->mp_ass_subscript == numpys_set) {
        slots->mp_ass_subscript = set;
    }
    PyObject *derived = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", type);
    int failed = derived == NULL;
    for (Py_ssize_t k = 0; !failed && k < PyList_GET_SIZE(derived); k++) {
        failed = index_by_ours((PyTypeObject *)PyList_GET_ITEM(derived, k));
    }
    Py_XDECREF(derived);
    return failed ? -1 : 0;
}

/* Let NumPy's class know of our arrays in keys, once in a process; -1 with an error. Where it is not
   made as it is today, it stays as it is. */
int
know_keys(void)
{
    if (numpys_get != NULL) {
        return 0;
    }
    numpys_get = PyArray_Type.tp_as_mapping->mp_subscript;
    numpys_set = PyArray_Type.tp_as_mapping->mp_ass_subscript;
    PyWrapperDescrObject *reads = standing_for((void *)numpys_get, "__getitem__");
    PyWrapperDescrObject *writes = standing_for((void *)numpys_set, "__setitem__");
    PyWrapperDescrObject *deletes = standing_for((void *)numpys_set, "__delitem__");
    if (reads == NULL || writes == NULL || deletes == NULL) {
        return 0;
    }
    reads->d_wrapped = (void *)get;
    writes->d_wrapped = deletes->d_wrapped = (void *)set; /* alike, or derived classes take a detour */
    return index_by_ours(&PyArray_Type);
}
