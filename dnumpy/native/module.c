/* The module: its types, and how Python tells it of the classes and settings that it works with. */

#define DNUMPY_IMPORTS_NUMPY
#include "expr.h"
#include "joint.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#ifdef DNUMPY_SOURCES
#define BUILT_FROM TEXT(DNUMPY_SOURCES)
#else
#define BUILT_FROM ""
#endif

PyObject *take_ufunc(PyObject *module, PyObject *args);
PyObject *take_recorder(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *take_laps(PyObject *module, PyObject *args);
PyObject *records_between(PyObject *module, PyObject *unused);
PyObject *wrap_into(PyObject *module, PyObject *args);
PyObject *order_by_counting(PyObject *module, PyObject *args);
PyObject *find_places(PyObject *module, PyObject *args);
PyObject *nonzero(PyObject *module, PyObject *args);
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *share_loops(PyObject *module, PyObject *seconds);
PyObject *begins_product(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *recorded_op(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *record_op(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *held_of(PyObject *module, PyObject *expr);
int prepare_templates(void);
int prepare_loops(void);
PyObject *count_templates(PyObject *module, PyObject *ignored);
PyObject *recorded_and_learnt(PyObject *module, PyObject *const *args, Py_ssize_t count,
                              PyObject *kwnames);
PyObject *all_wait(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *take_expr(PyObject *module, PyObject *type);
PyObject *take_export(PyObject *module, PyObject *type);
PyObject *count_interned(PyObject *module, PyObject *ignored);
PyObject *forget_expr(PyObject *module, PyObject *expr);
PyObject *pending_in_order(PyObject *module, PyObject *roots);
PyObject *held_bytes(PyObject *module, PyObject *waiting);
PyObject *structure(PyObject *module, PyObject *args);
PyObject *rebuild(PyObject *module, PyObject *args);
PyObject *values_of(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *numbered(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Where objects of a class store an attribute; -1 with an error if that has no slot. */
Py_ssize_t
stored_at(PyObject *type, const char *name)
{
    PyObject *slot = PyObject_GetAttrString(type, name);
    Py_ssize_t at = -1;
    if (slot != NULL && Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
        at = ((PyMemberDescrObject *)slot)->d_member->offset;
    }
    else if (slot != NULL) {
        PyErr_Format(PyExc_TypeError, "%R has no slot called %s", type, name);
    }
    Py_XDECREF(slot);
    return at;
}

static PyObject *
bind(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"array_type", "config", "immediate", "plain", "as_seen",
                               "buffer_type", "expr_type", "full", "watched", "same_bits", "bytewise",
                               "seen_of", "locks", "room", "wrap", "wrap_result", "result_of",
                               "turn_of", "may_be_numpys", "run_ours", "may_move",
                               "out_position", "kinds", "many", "elsewhere", "way_of_sum", "geometry",
                               NULL};
    PyObject *type;
    World told = {0};
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "$O!OO!O!OO!O!OO!O!O!OO!OOOOOOOOOO!O!OOO!", keywords, &PyType_Type, &type,
            &told.config, &PyFrozenSet_Type, &told.immediate, &PyFrozenSet_Type, &told.plain,
            &told.as_seen, &PyType_Type, &told.buffer_type, &PyType_Type, &told.expr_type,
            &told.full, &PyDict_Type, &told.watched, &PyFrozenSet_Type, &told.same_bits,
            &PyFrozenSet_Type, &told.bytewise,
            &told.seen_of, &PyTuple_Type, &told.locks, &told.room, &told.wrap, &told.wrap_result,
            &told.result_of,
            &told.turn_of, &told.may_be_numpys, &told.run_ours, &told.may_move, &told.out_position,
            &PyDict_Type, &told.kinds, &PyDict_Type, &told.many, &told.elsewhere,
            &told.way_of_sum, &PyType_Type, &told.geometry)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)type, &Handle_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class derived from Handle");
        return NULL;
    }
    told.array_type = (PyTypeObject *)type;
    PyObject *settings = (PyObject *)Py_TYPE(told.config);
    struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *at;
    } slots[] = {
        {settings, "eager_below", &told.eager_below_at},
        {settings, "memory_limit", &told.memory_limit_at},
        {settings, "reproducible", &told.reproducible_at},
        {settings, "threads", &told.threads_at},
        {told.buffer_type, "expr", &told.expr_at},
        {told.expr_type, "value", &told.value_at},
        {told.expr_type, "op", &told.op_at},
    };
    for (size_t k = 0; k < sizeof slots / sizeof *slots; k++) {
        *slots[k].at = stored_at(slots[k].type, slots[k].name);
        if (*slots[k].at < 0) {
            return NULL;
        }
    }
    PyObject *kept[] = {type, told.config, told.immediate, told.plain, told.as_seen,
                        told.buffer_type, told.expr_type, told.full, told.watched,
                        told.same_bits, told.bytewise, told.seen_of, told.locks, told.room, told.wrap,
                        told.wrap_result, told.result_of, told.turn_of,
                        told.may_be_numpys, told.run_ours, told.may_move, told.out_position, told.kinds,
                        told.many, told.elsewhere, told.way_of_sum, told.geometry};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        Py_INCREF(kept[k]); /* for the life of the process */
    }
    world = told;
    world.array_type->tp_dealloc = array_dealloc;
    /* where one special method has two slots, Python gives a derived class a detour for one */
    world.array_type->tp_as_sequence->sq_item = Handle_Type.tp_as_sequence->sq_item;
    world.array_type->tp_as_sequence->sq_ass_item = Handle_Type.tp_as_sequence->sq_ass_item;
    if (know_keys() < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Be what is asked for buffers again, from Python 3.12 on, in which a class that is given
   `__buffer__` has a detour for it; what NumPy refuses is refused in its words. */
static PyObject *
take_buffers(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    world.array_type->tp_as_buffer->bf_getbuffer = Handle_Type.tp_as_buffer->bf_getbuffer;
    Py_RETURN_NONE;
}

static PyObject *
take(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    PyObject *function, *loop = NULL, *row = NULL;
    if (!PyArg_ParseTuple(args, "sO|OO", &name, &function, &loop, &row)) {
        return NULL;
    }
    return PyBool_FromLong(take_operator(name, function, loop, row));
}

static PyObject *
lying_here_of(PyObject *Py_UNUSED(module), PyObject *x)
{
    PyObject *found = lying_here(x);
    return found != NULL || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* What stands for a function of NumPy's, or for a method of its arrays. */
#define GIVES(NAME, FUNCTION, OF)                                                                  \
    {                                                                                              \
        NAME, (PyCFunction)(void (*)(void))FUNCTION, METH_FASTCALL | METH_KEYWORDS,                \
            "What numpy." OF " gives."                                                             \
    }

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS,
     "Tell of the class of arrays, the settings, and what is asked where no short path is."},
    {"take", take, METH_VARARGS,
     "Keep what Python does for a special method, its ufunc, and the row that records it; False for "
     "others."},
    {"show_special", show_special, METH_O,
     "Let the class of arrays show one of its slots by a name, and for NumPy's arrays too."},
    {"take_export", take_export, METH_O,
     "Keep the class of what stands between a Buffer's memory and the arrays handed out."},
    {"take_expr", take_expr, METH_O,
     "Keep the class of Exprs."},
    {"count_interned", count_interned, METH_NOARGS, "Return how many Exprs equal ones find."},
    {"records_between", records_between, METH_NOARGS,
     "records_between(): whether what is of middling size is being recorded as what is large is."},
    {"order_by_counting", order_by_counting, METH_VARARGS,
     "order_by_counting(values, low, kinds, threads): the places that put whole numbers in order."},
    {"find_places", find_places, METH_VARARGS,
     "find_places(line, values, right, threads): where doubles belong in an even line; else None."},
    {"record_op", (PyCFunction)(void (*)(void))record_op, METH_FASTCALL,
     "record_op(row, x[, y]): what an operation gives, recorded; else None."},
    {"nonzero", nonzero, METH_VARARGS,
     "nonzero(mask, make, rows, threads): the indexes of what is set, in rows or lines; else None."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL,
     "gather(x, key, make): what arrays of whole numbers pick along the first axes; else None."},
    {"share_loops", share_loops, METH_O,
     "share_loops(seconds): have threads share loops of NumPy's that take so long."},
    {"begins_product", (PyCFunction)(void (*)(void))begins_product, METH_FASTCALL,
     "Compute what would have been NumPy's before a product."},
    {"take_laps", take_laps, METH_VARARGS, "Know the sizes between, and whom to ask about them."},
    {"take_recorder", (PyCFunction)(void (*)(void))take_recorder, METH_VARARGS | METH_KEYWORDS,
     "Tell of what is looked at when an operation is recorded."},
    {"record", (PyCFunction)(void (*)(void))recorded_op, METH_FASTCALL,
     "Return the Expr for an operation at the user's line; None where Python has to look."},
    {"hold", held_of, METH_O,
     "Return an array whose content is a pending Expr, or a new array of NumPy's; None where Python has to "
     "look."},
    {"all_wait", (PyCFunction)(void (*)(void))all_wait, METH_FASTCALL,
     "Say whether a call is to be recorded: some arguments wait, and no other asks for a look."},
    {"learn", (PyCFunction)(void (*)(void))recorded_and_learnt, METH_FASTCALL | METH_KEYWORDS,
     "Call a function that records, and learn what it makes of such arguments."},
    {"count_templates", count_templates, METH_NOARGS,
     "Return how many calls were met, and how many of them are recorded again as they were."},
    {"make", (PyCFunction)(void (*)(void))make_of, METH_FASTCALL,
     "Return the pending Expr for an operation, the same one while an equal one is pending."},
    {"pending_in_order", pending_in_order, METH_O,
     "Return every pending Expr that the roots need, operands before users, each once."},
    {"held_bytes", held_bytes, METH_O,
     "Return the bytes of computed operands that nothing but these pending Exprs holds."},
    {"structure", structure, METH_VARARGS,
     "Return what evaluations by the same stages share, and what has a number there."},
    {"rebuild", rebuild, METH_VARARGS, "Rewrite as an evaluation by the same stages was rewritten."},
    {"forget", forget_expr, METH_O, "Let no equal Expr find this one any more."},
    {"take_ufunc", take_ufunc, METH_VARARGS,
     "Keep what Python does when an instance of the class of ufuncs is called."},
    {"lying_here", lying_here_of, METH_O,
     "Return what NumPy would read for an operand now, None where that is to be looked at first."},
    {"count_bins", count_bins, METH_VARARGS,
     "Count doubles in bins of equal width; None where one is beyond them."},
    {"count_whole", count_whole, METH_VARARGS,
     "Count each whole number from 0 up; None where one is beyond the counters."},
    {"are_members", are_members, METH_VARARGS,
     "are_members(values, members, out, inverts, threads): say which values are among the members."},
    {"weigh_whole", weigh_whole, METH_VARARGS,
     "Sum weights of each whole number from 0 up, by blocks; None where one is beyond the sums."},
    {"merge_runs", merge_runs, METH_VARARGS,
     "Merge sorted runs that follow each other; False for other types."},
    {"wake_apart", wake_apart, METH_O,
     "Let sleeping threads be woken on other cores than the caller's."},
    {"woken", woken, METH_NOARGS, "Let this thread use all cores again."},
    {"tell_apart", tell_apart, METH_VARARGS,
     "Count the numbers between splitters, or move them, or where they lie, to places; False for other types."},
    {"fold_blocks", fold_blocks, METH_VARARGS,
     "Sum each block of each row; True unless there was a floating-point fault."},
    {"fold_columns", fold_columns, METH_VARARGS,
     "Sum the rows of each tile, one after the other; True unless there was a fault."},
    {"fold_rows", fold_rows, METH_VARARGS,
     "Sum each row pairwise, level by level; True unless there was a fault."},
    {"fold_tiles", fold_tiles, METH_VARARGS,
     "Sum all of each tile of rows; True unless there was a floating-point fault."},
    {"fold_total", fold_total, METH_VARARGS,
     "Sum all rows of each tile, and those sums as fold_tree does; True unless there was a fault."},
    {"fold_tree", fold_tree, METH_VARARGS,
     "Sum all rows pairwise, level by level; True unless there was a fault."},
    {"sum_axes", sum_axes, METH_VARARGS,
     "Sum floats over axes, perhaps by several threads; True unless there was a fault."},
    GIVES("mean", mean, "mean"),
    GIVES("var", var, "var"),
    GIVES("std", std_, "std"),
    GIVES("mean_of", mean_of, "ndarray.mean"),
    GIVES("var_of", var_of, "ndarray.var"),
    GIVES("std_of", std_of, "ndarray.std"),
    GIVES("sum", sum, "sum"),
    GIVES("max", largest, "max"),
    GIVES("min", smallest, "min"),
    GIVES("sum_of", sum_of, "ndarray.sum"),
    GIVES("max_of", largest_of, "ndarray.max"),
    GIVES("min_of", smallest_of, "ndarray.min"),
    GIVES("allclose", allclose, "allclose"),
    GIVES("isclose", isclose, "isclose"),
    GIVES("cross", cross, "cross"),
    GIVES("nansum", nansum, "nansum"),
    GIVES("nanmean", nanmean, "nanmean"),
    GIVES("nanvar", nanvar, "nanvar"),
    GIVES("nanstd", nanstd, "nanstd"),
    GIVES("nanmax", nanmax, "nanmax"),
    GIVES("nanmin", nanmin, "nanmin"),
    {"scan", scan, METH_VARARGS,
     "Make running folds along an axis; return the faults, or -1 if there is no loop for them."},
    {"scan_jointly", scan_jointly, METH_VARARGS,
     "The same in blocks, together with other threads that share a state."},
    {"take_by_mask", take_shared, METH_VARARGS,
     "What a mask shows, by several threads; None, and nothing done, where that is NumPy's."},
    {"put_by_mask", put_shared, METH_VARARGS,
     "Write to what a mask shows, by several threads; False, and nothing done, where not."},
    GIVES("cumsum", cumsum, "cumsum"),
    GIVES("cumprod", cumprod, "cumprod"),
    GIVES("cumsum_of", cumsum_of, "ndarray.cumsum"),
    GIVES("cumprod_of", cumprod_of, "ndarray.cumprod"),
    GIVES("accumulate_of", accumulate_of, "ufunc.accumulate"),
    GIVES("outer_of", outer_of, "ufunc.outer"),
    GIVES("reduce_of", reduce_of, "ufunc.reduce"),
    {"numbered", (PyCFunction)(void (*)(void))numbered, METH_FASTCALL,
     "Those of a list that a tuple of numbers names, as a tuple."},
    {"values_of", (PyCFunction)(void (*)(void))values_of, METH_FASTCALL,
     "The stored values of operands, what a function says where one has none."},
    {"lease", (PyCFunction)(void (*)(void))lease, METH_FASTCALL,
     "An array over a block of a pool, which is given back once nothing lies in it."},
    {"lent", (PyCFunction)(void (*)(void))lent, METH_FASTCALL,
     "lent(memory, owner, writeable): an array over the same memory, which keeps the owner alive."},
    {"build_classes_with", (PyCFunction)(void (*)(void))build_classes_with, METH_FASTCALL,
     "What is to be Python's `__build_class__`, told whom to call with classes: see classes.c."},
    {"hand_over_by", hand_over_by, METH_VARARGS,
     "hand_over_by(function, types, looks): keep what gives NumPy's for ours, and whom it is for."},
    {"hand_over_in", hand_over_in, METH_VARARGS,
     "hand_over_in(type, names, slots, home): have a compiled class's methods called with NumPy's arrays."},
    {"handing", handing, METH_VARARGS,
     "handing(function, home): a compiled function, called with NumPy's arrays in place of ours."},
    {"take_buffers", take_buffers, METH_NOARGS,
     "Answer for buffers before the class's `__buffer__`, which then is asked by this module."},
    {"trim_heap", trim_heap, METH_NOARGS, "Give what is free in the heap back to the system."},
    {"take_ops", take_ops, METH_VARARGS, "Take the op of a view, and the family of products."},
    {"survey", survey, METH_O, "What an evaluation has to know of pending Exprs."},
    {"waiting", waiting, METH_O, "The pending content of every owner that lives."},
    {"note_runs", note_runs, METH_VARARGS,
     "Add when each run of a kernel begins and ends to a list; None ends that."},
    {"run_frames", run_frames, METH_VARARGS,
     "Run a kernel's rows in batches that several threads draw; return the flags raised."},
    {"run_staged", run_staged, METH_VARARGS,
     "run_staged(address, fields, noted, outs, targets, writes, rows, told): the row that is next"},
    {"run_stretch", (PyCFunction)(void (*)(void))run_stretch, METH_FASTCALL,
     "Run steps over a tile; return where NumPy has to go on, and which flags were raised."},
    {"run_tiles", run_tiles, METH_VARARGS,
     "Run steps over tiles that several threads draw; return which flags each one raised."},
    {"wrap_into", wrap_into, METH_VARARGS,
     "Fill an array of which all axes but the first wrap around; False where NumPy has to."},
    {"copy_array", copy_array, METH_VARARGS,
     "Copy into an array, which threads share; say whether NumPy need not."},
    {"own_loops", own_loops, METH_NOARGS, "The addresses of casts, sums and where, by name."},
    GIVES("where", where, "where"),
    GIVES("any", any, "any"),
    GIVES("all", all, "all"),
    GIVES("any_of", any_of, "ndarray.any"),
    GIVES("all_of", all_of, "ndarray.all"),
    GIVES("clip", clip, "clip"),
    GIVES("clip_of", clip_of, "ndarray.clip"),
    GIVES("concatenate", concatenate, "concatenate"),
    GIVES("stack", stack, "stack"),
    GIVES("vstack", vstack, "vstack"),
    GIVES("hstack", hstack, "hstack"),
    GIVES("roll", roll, "roll"),
    GIVES("diff", diff, "diff"),
    GIVES("outer", outer, "outer"),
    GIVES("argmax", argmax, "argmax"),
    GIVES("argmin", argmin, "argmin"),
    GIVES("argmax_of", argmax_of, "ndarray.argmax"),
    GIVES("argmin_of", argmin_of, "ndarray.argmin"),
    GIVES("norm", norm, "linalg.norm"),
    GIVES("zeros", zeros, "zeros"),
    GIVES("empty", empty, "empty"),
    GIVES("ones", ones, "ones"),
    GIVES("full", full, "full"),
    GIVES("arange", arange, "arange"),
    GIVES("array", array, "array"),
    GIVES("copy_of", copy_of, "ndarray.copy"),
    GIVES("reshape_of", reshape_of, "ndarray.reshape"),
    GIVES("astype_of", astype_of, "ndarray.astype"),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dnumpy.native._native",
    .m_doc = "The shortest paths from operators, items, methods and functions to NumPy's.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    import_array();
    if (prepare_templates() < 0 || prepare_loops() < 0) {
        return NULL;
    }
    PyTypeObject *types[] = {&Handle_Type, &Node_Type, &Method_Type, &Attribute_Type, &Property_Type,
                             &Special_Type, &Callable_Type, &Function_Type, &Launch_Type,
                             &Lease_Type};
    PyObject *module = PyModule_Create(&definition);
    for (size_t k = 0; module != NULL && k < sizeof types / sizeof *types; k++) {
        if (PyModule_AddType(module, types[k]) < 0) {
            Py_CLEAR(module);
        }
    }
    if (module != NULL && (PyModule_AddStringConstant(module, "sources", BUILT_FROM) < 0 ||
                           PyModule_AddIntConstant(module, "WHOLE", WHOLE) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
