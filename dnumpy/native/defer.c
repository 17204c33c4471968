/* Whether NumPy leaves an operator to our class.

   NumPy's scalars and arrays look at the `__array_ufunc__` of the other operand's class. Where it is
   None, they leave the operator to that operand: here the slots of a handle, which take a short
   path. Where it is a function, they call their ufunc, and that calls the function, by way of half a
   microsecond of looking for others that override it. The answer of both is the same.

   So None is what they find while an operator runs. A ufunc, which takes None for a refusal, looks
   while a call runs. Operators that write into their operand do not ask, but call their ufunc.
   Comparisons are left alone: the other operand would be asked for another one, the other way round,
   whose name the error would have. */

#include "handle.h"

#include <opcode.h>

#define PLACES 512 /* of programs that are remembered: a power of two */

typedef struct {
    PyCodeObject *code; /* kept alive, so that its address stays its own */
    int at;
    int is_operator;
} Place;

static Place places[PLACES];

static int
is_operator(PyCodeObject *code, int at)
{
    PyObject *text = PyCode_GetCode(code);
    if (text == NULL) {
        PyErr_Clear();
        return 0;
    }
    int found = 0;
    if (at >= 0 && at + 1 < PyBytes_GET_SIZE(text)) {
        const unsigned char *instruction = (const unsigned char *)PyBytes_AS_STRING(text) + at;
        found = instruction[0] == BINARY_OP && instruction[1] < NB_INPLACE_ADD;
    }
    Py_DECREF(text);
    return found;
}

/* Whether the instruction that runs is an operator of arithmetic that makes a new object. */
int
is_at_operator(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return 0;
    }
    PyCodeObject *code = PyFrame_GetCode(frame);
    int at = PyFrame_GetLasti(frame);
    Place *place = &places[(((size_t)code / OBJECT_BYTES) * 31 + (size_t)at / 2) % PLACES];
    if (place->code != code || place->at != at) {
        PyCodeObject *before = place->code;
        *place = (Place){(PyCodeObject *)Py_NewRef(code), at, is_operator(code, at)};
        Py_XDECREF(before);
    }
    Py_DECREF(code);
    return place->is_operator;
}
