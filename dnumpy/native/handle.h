/* The handle of an array: what Python sees of one, and the shortest ways to make and read it. */

#ifndef DNUMPY_HANDLE_H
#define DNUMPY_HANDLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dnumpy_native_numpy
#ifndef DNUMPY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#if defined(__GNUC__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define LIKELY(x) (x)
#endif

typedef struct {
    PyObject_HEAD
    PyObject *np;       /* NumPy's array; None where the array goes through the engine */
    PyObject *base;     /* the handle that this one is a view of */
    PyObject *buf;      /* the Buffer of a managed array */
    PyObject *place;    /* its Geometry, None for the whole, or the mark for "as seen shows" */
    PyObject *readonly; /* whether writing through this handle is refused */
    PyObject *seen;     /* (the Buffer's memory, this array as NumPy's view of it), or None */
    PyObject *weakrefs;
} Handle;

/* What Python told when it bound the class: see module.c. Borrowed for the life of the process. */
typedef struct {
    PyTypeObject *array_type;   /* dnumpy.ndarray */
    PyObject *config;           /* the settings, and where some of them are stored in it */
    Py_ssize_t eager_below_at;
    Py_ssize_t memory_limit_at;
    Py_ssize_t reproducible_at;
    Py_ssize_t threads_at;
    PyObject *immediate;        /* types of scalars that NumPy may be given as they are */
    PyObject *plain;            /* types of arguments that hold no array */
    PyObject *as_seen;          /* the mark in `place` */
    PyObject *buffer_type;      /* of a Buffer whose content is one Expr, and where it stores that */
    Py_ssize_t expr_at;
    PyObject *expr_type;        /* of an Expr, and where it stores its value and its op */
    Py_ssize_t value_at;
    Py_ssize_t op_at;
    PyObject *full;             /* the op of content that is one number throughout */
    PyObject *watched;          /* contents of which a read is to be noted: a dict by id */
    PyObject *seen_of;          /* (handle, memory) -> this array as NumPy's view of it, or None */
    PyObject *locks;            /* a tuple of them: a Buffer's is that of its address */
    PyObject *room;             /* (shape, dtype) -> memory of NumPy's that `wrap` is given */
    PyObject *wrap;             /* array of NumPy's -> ours, however large */
    PyObject *wrap_result;      /* (anything of NumPy's, operands) -> ours, aliases kept */
    PyObject *result_of;        /* (array that a method gave, its handle) -> ours */
    PyObject *turn_of;          /* (function of NumPy's, bytes) -> the place it is called for, or None */
    PyObject *may_be_numpys;    /* the same -> whether it is known to give the same bits, and free to */
    PyObject *run_ours;         /* (slow, bytes, arguments, by name) -> the result, its time noted */
    PyObject *kinds;            /* method -> which of those below it is; see api/lone.py */
    PyObject *same_bits;        /* methods of NumPy's arrays that give the same bits as ours */
    PyObject *bytewise;         /* ufuncs with a loop that makes bytes of bytes */
    PyObject *way_of_sum;       /* (floats of NumPy's, axis or None) -> how they are summed, or None */
    PyObject *geometry;         /* the class of where a view lies: expr/geometry.py */
    PyObject *may_move;         /* bytes read and written -> whether NumPy may move them now */
    PyObject *out_position;     /* function of NumPy's -> index of its first argument written to */
    PyObject *many;             /* method -> what runs on some thousands of elements: api/middling.py */
    PyObject *elsewhere;        /* (method of NumPy's, arguments, by name) -> the result, of no array of ours */
} World;

extern World world;

enum { SHOWS, ENDS_EARLY, RUNS, MULTIPLIES, LOOKS_UP }; /* kinds of methods */

/* Special methods of which each has a short path of its own, and what Python does for them. */
enum { GETITEM, SETITEM, LEN, BOOL, INT, FLOAT, INDEX, DELITEM, ITER, ITEMS };
extern PyObject *item_slow[ITEMS];
extern PyTypeObject Handle_Type;
extern PyTypeObject Method_Type;
extern PyTypeObject Attribute_Type;
extern PyTypeObject Property_Type;
extern PyTypeObject Special_Type;
extern PyTypeObject Function_Type;
extern PyTypeObject Callable_Type;
extern PyTypeObject Launch_Type; /* see launch.c */
extern PyTypeObject Lease_Type;  /* see lease.c */

#define OBJECT_BYTES 16 /* addresses of objects are multiples of this: api/buffer.py, too */
#define TAKEN_BYTES (1 << 18) /* of temporaries, at least, whose memory the next result takes */
#define BYTES_OF_OTHERS 8 /* booleans and bytes that take as long as one other: api/array.py */
#define WRITTEN_AT_ONCE 500 /* elements up to which NumPy holds on to the interpreter's lock */
#define LITTLE_BYTES (8 << 20) /* of products that nothing is gained by planning */
#define FEW_MADE (1 << 14)     /* elements of a product of larger ones, likewise: runtime/direct.py */
#define VECTORS_BYTES (24 << 20) /* of products of two vectors, with which nothing is fused */
#define MOST_RUN (1 << 20) /* elements that are run over as they go: kernels/blocked.py, too */
#define MOST_ARGUMENTS 8 /* of a call that takes a short path */

#define IS_ARRAY(x) (Py_TYPE(x) == world.array_type)
#define IS_NUMPYS(x) (Py_TYPE(x) == &PyArray_Type)

/* The arrays that NumPy may read for a handle now, borrowed; NULL where Python has to look. */
static inline PyObject *
small_of(PyObject *x)
{
    PyObject *np = ((Handle *)x)->np;
    return np == Py_None ? NULL : np;
}

/* What an object has in a slot, borrowed; NULL if that is not set. */
static inline PyObject *
slot_of(PyObject *object, Py_ssize_t at)
{
    return *(PyObject **)((char *)object + at);
}

/* The Expr of a plain Buffer, borrowed; NULL where Python has to look. */
static inline PyObject *
expr_of(PyObject *buffer)
{
    if (buffer == NULL || (PyObject *)Py_TYPE(buffer) != world.buffer_type) {
        return NULL;
    }
    PyObject *expr = slot_of(buffer, world.expr_at);
    return expr != NULL && (PyObject *)Py_TYPE(expr) == world.expr_type ? expr : NULL;
}

static inline Py_ssize_t
setting(Py_ssize_t at)
{
    PyObject *value = slot_of(world.config, at);
#if PY_VERSION_HEX >= 0x030C0000
    if (LIKELY(PyLong_CheckExact(value) && PyUnstable_Long_IsCompact((PyLongObject *)value))) {
        return PyUnstable_Long_CompactValue((PyLongObject *)value);
    }
#else
    if (LIKELY(PyLong_CheckExact(value) && Py_SIZE(value) == 1)) {
        return ((PyLongObject *)value)->ob_digit[0];
    }
#endif
    Py_ssize_t found = PyLong_AsSsize_t(value);
    if (found == -1 && PyErr_Occurred()) { /* a float, or more than fits: as much as can be */
        PyErr_Clear();
        return PY_SSIZE_T_MAX;
    }
    return found;
}

/* PyArray_SIZE, without a call. */
static inline Py_ssize_t
size_of_array(PyArrayObject *array)
{
    Py_ssize_t size = 1;
    const npy_intp *shape = PyArray_DIMS(array);
    for (int k = PyArray_NDIM(array); k-- > 0;) {
        size *= shape[k];
    }
    return size;
}

/* Say whether a new array is so small that it is NumPy's from now on. */
static inline int
is_small(PyObject *array)
{
    return size_of_array((PyArrayObject *)array) < setting(world.eager_below_at);
}

/* Say whether NumPy is done with an array before anything else has begun; of booleans and bytes that
   may be as many as have the bytes of other such arrays. */
static inline int
runs_at_once(PyObject *array)
{
    Py_ssize_t size = size_of_array((PyArrayObject *)array), limit = setting(world.eager_below_at);
    return size < limit || (PyArray_ITEMSIZE((PyArrayObject *)array) == 1 &&
                            size / BYTES_OF_OTHERS < limit);
}

int is_immediate(PyObject *x);
PyObject *ours(PyObject *slow, Py_ssize_t bytes, PyObject *const *args, Py_ssize_t count,
               PyObject *kwnames); /* what Python makes of it, the time noted */
PyObject *region_of(PyObject *array, PyObject *key); /* see regions.c */
int put_item(PyObject *a, PyObject *key, PyObject *plain);
PyObject *item_of(PyObject *array, PyObject *key); /* see elements.c */
PyObject *item_by_key(PyObject *x, PyObject *key); /* see items.c */
int set_by_key(PyObject *x, PyObject *key, PyObject *value);
Py_ssize_t mp_length(PyObject *x);
int is_whole_scalar(PyObject *x); /* see elements.c */
PyObject *key_with(PyObject *key, int (*tells)(PyObject *), PyObject *(*makes)(PyObject *));
int know_keys(void); /* see keys.c */
int set_element(PyArrayObject *a, PyObject *key, PyObject *value);
PyObject *nb_int(PyObject *x);
PyObject *nb_float(PyObject *x);
PyObject *nb_index(PyObject *x);
int nb_bool(PyObject *x);
int is_at_operator(void); /* see defer.c */
int is_plain(PyObject *types, PyObject *x);
PyObject *given_sequence(PyObject *x); /* see given.c */
int refuses_elements(PyObject *const *args, Py_ssize_t count);
int is_tuple(PyObject *x);
PyObject *all_fresh(PyObject *r, PyObject *const *given, Py_ssize_t count);
PyObject *several_views(PyObject *r, PyObject *const *args, PyObject *const *given, Py_ssize_t count);
PyObject *wrapped(PyObject *r, PyObject *const *args, Py_ssize_t count); /* steals r */
PyObject *view_of(PyObject *r, PyObject *handle, PyObject *own);
PyObject *managed_fact(Handle *handle, PyObject *name);
PyObject *intern(PyObject **place, const char *text);
PyObject *numpys_own(const char *owner, const char *name); /* new */
PyObject *left_to_numpy(PyObject **numpys, const char *owner, const char *name, PyObject *const *args,
                        Py_ssize_t count, PyObject *kwnames);
int holds_type(PyObject *types, PyObject *x);
PyObject *computed(PyObject *buffer);    /* its memory; NULL without an error if it is not here */
PyObject *shown_of(Handle *x, PyObject *memory);
int may_be_written(PyObject *buffer);
int is_watched(PyObject *buffer);
int is_little(PyObject *operand); /* whether NumPy is done with it before anything else has begun */
int takes_writes(Handle *x); /* whether computed memory may be written to through it */
PyObject *memory_to_write(PyObject *x, PyObject **lock); /* of one that does; see there */
PyObject *locked(PyObject *buffer);  /* the lock, taken */
void unlock(PyObject *lock);         /* steals it */
PyObject *root_of(PyObject *array);
PyObject *peek(PyObject *handle);        /* new reference; NULL without an error where it must wait */
PyObject *at_hand(PyObject *x);          /* the same for any operand */
PyObject *new_handle(PyObject *np, PyObject *base); /* steals np; base may be NULL */
PyObject *new_seen(Handle *of, PyObject *memory, PyObject *shown); /* the same, if it shows any */
PyObject *new_view(Handle *of, PyObject *memory, PyObject *shown); /* steals shown */
PyObject *result(PyObject *r, PyObject *x, PyObject *y); /* steals r, which may be NULL */
Py_ssize_t grown_bytes(PyObject *const *given, Py_ssize_t count);
Py_ssize_t bytes_made(PyObject *loop, PyObject *const *given, Py_ssize_t count);
Py_ssize_t paired_bytes(PyObject *a, PyObject *b);
PyObject *comparing_ufunc(int op); /* borrowed: see shortcuts.c */
PyObject *power_by_loop(PyObject *ufunc, PyObject *a, PyObject *power);
PyObject *multiplied(PyObject *matmul, PyObject *x, PyObject *y); /* see products.c */
PyObject *looped_alike(PyObject *ufunc, PyObject *x, PyObject *y);
PyObject *looped(PyObject *ufunc, PyObject *const *given, int count, PyObject *out); /* see loops.c */
PyObject *looped_mixed(PyObject *ufunc, PyObject *const *given, int count, PyObject *out);
int warns_of_third(PyObject *ufunc);
PyObject *call_now(PyObject *loop, PyObject *x, PyObject *y); /* y may be NULL */
PyObject *given_back(PyObject *r, PyObject *const *args, PyObject *const *given, Py_ssize_t count);
PyObject *wrapped_ufunc(PyObject *callable); /* borrowed */
int draws_few(PyObject *x); /* whether a draw gives few values, if this argument is its size */
PyObject *of_pairs(PyObject *ufunc, PyObject *np, PyObject *x, PyObject *y);
PyObject *lying_here(PyObject *x);
int may_move(Py_ssize_t bytes);
int is_of_kind(PyObject *method, int kind);
int is_run_over(PyObject *x, Py_ssize_t bytes);
int before_product(PyObject *const *args, Py_ssize_t count); /* see laps.c */
int is_little_product(PyObject *a, PyObject *b); /* whether NumPy is to multiply them now */
PyObject *turn_of(PyObject *function, Py_ssize_t bytes); /* new; NULL without an error if not now */
PyObject *turn_on(PyObject *function, PyObject *a, PyObject *b); /* the same; b may be NULL */
PyObject *gathered(PyArrayObject *x, PyObject *key, PyObject *make); /* new, or NULL: see gather.c */
PyObject *item_by(PyObject *x, PyObject *key);       /* new */
int helpers_now(void); /* threads beside this one that may work on something: see costly.c */
double seconds_now(void);
void took(PyObject *site, double started); /* steals site, which may be NULL */
PyObject *record_now(PyObject *row, PyObject *x, PyObject *y); /* see record.c; y may be NULL */
PyObject *held_anew(PyObject *np);
PyObject *record_into(PyObject *row, PyObject *x, PyObject *y);
Py_ssize_t stored_at(PyObject *type, const char *name); /* of a slot, in bytes; -1 with an error */
PyObject *call_slow(PyObject *function, PyObject *x, PyObject *y); /* y may be NULL */
PyObject *temporary_of(PyObject *x); /* new; NULL without an error of others */
PyObject *small_temporary(PyObject *x);
int keeps_type(PyObject *memory, PyObject *other);
int take_operator(const char *name, PyObject *function, PyObject *loop, PyObject *row);
void array_dealloc(PyObject *array);
PyObject *of_many(PyObject *many, PyObject *const *given, Py_ssize_t count,
                  PyObject *kwnames); /* see functions.c */
int ends_early(PyObject *method, PyObject *own); /* see turns.c */
int is_elsewhere(PyObject *const *args, Py_ssize_t count); /* see elsewhere.c */
PyObject *elsewhere(PyObject *numpys, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *show_special(PyObject *module, PyObject *numpys);

/* views of large memory: see views.c */
/* Numbers from a tuple of at most so many; how many there are, or -1, maybe with an error. */
int take_numbers(PyObject *tuple, npy_intp *numbers, Py_ssize_t most);
PyObject *placed_over(PyObject *place, PyArrayObject *memory); /* new; NULL without an error of others */
PyObject *reshaped_view(PyObject *x, PyObject *const *shape, Py_ssize_t count); /* x: managed */
int take_shape(PyObject *const *args, Py_ssize_t count, npy_intp *shape, npy_intp size); /* sooner.c */
PyObject *shown_again(PyObject *x, PyObject *given, PyObject *r);
PyObject *viewed(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *viewed_by_method(PyObject *method, PyObject *const *args, Py_ssize_t count,
                           PyObject *kwnames);
PyObject *viewed_by_attribute(PyObject *name, PyObject *array);
PyObject *taken_by(PyObject *array, PyObject *index); /* see masks.c */
int put_by_mask(PyObject *array, PyObject *mask, PyObject *value);
#define FEWEST_PICKED 48 /* rows, before which NumPy is as fast */
int meet(PyArrayObject *a, PyArrayObject *b); /* whether memory is shared, which has no gaps */
int element_of(PyArrayObject *array, PyObject *number, char *cell);
PyObject *picked_by_numbers(PyArrayObject *x, PyArrayObject *numbers); /* see picks.c */
int put_picked(PyArrayObject *x, PyArrayObject *index, PyObject *value);
PyObject *take_shared(PyObject *module, PyObject *args);
PyObject *put_shared(PyObject *module, PyObject *args);
PyObject *run_stretch(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *own_loops(PyObject *module, PyObject *unused); /* see stretches.c */
PyObject *run_tiles(PyObject *module, PyObject *args); /* see tiles.c */
PyObject *copy_array(PyObject *module, PyObject *args); /* see copies.c */
PyObject *run_frames(PyObject *module, PyObject *args); /* see joint.c */
PyObject *run_staged(PyObject *module, PyObject *args); /* see staged.c */
PyObject *numbers_beside(PyObject *x, PyObject *other);  /* see sequences.c */
int is_few(PyObject *keys);
int is_kin(PyObject *x); /* see given.c */
/* The type of numbers that a class, a name or a dtype stands for; -1 of others: see made.c. */
int type_named(PyObject *x);
int is_name_in(PyObject *a, PyObject *key); /* see elements.c */
PyObject *named_field(PyObject *x, PyObject *a, PyObject *key);
int is_numbers(PyObject *x);
PyObject *where(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *count_bins(PyObject *module, PyObject *args); /* see counts.c */
PyObject *count_whole(PyObject *module, PyObject *args);
PyObject *weigh_whole(PyObject *module, PyObject *args);
PyObject *are_members(PyObject *module, PyObject *args); /* see among.c */
PyObject *merge_runs(PyObject *module, PyObject *args); /* see merges.c */
PyObject *wake_apart(PyObject *module, PyObject *threads); /* see cores.c */
PyObject *woken(PyObject *module, PyObject *nothing);
PyObject *tell_apart(PyObject *module, PyObject *args); /* see parts.c */
PyObject *fold_blocks(PyObject *module, PyObject *args); /* see folds.c */
PyObject *fold_columns(PyObject *module, PyObject *args);
PyObject *fold_rows(PyObject *module, PyObject *args);
PyObject *fold_tiles(PyObject *module, PyObject *args);
PyObject *fold_total(PyObject *module, PyObject *args);
PyObject *fold_tree(PyObject *module, PyObject *args);
PyObject *sum_axes(PyObject *module, PyObject *args);
/* see moments.c */
PyObject *mean(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *var(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *std_(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *mean_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *var_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *std_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *sum(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *largest(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *smallest(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *sum_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *largest_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *smallest_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *allclose(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *isclose(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
/* see sooner.c */
PyObject *any(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *all(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *any_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *all_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *clip(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *clip_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *concatenate(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *stack(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *vstack(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *hstack(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *roll(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *diff(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *outer(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *reduce_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *outer_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *copy_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *reshape_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *astype_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
/* see made.c */
PyObject *zeros(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *array(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
/* see moments.c and vectors.c */
PyObject *argmax(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *argmin(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *argmax_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *argmin_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *norm(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
#define OF_NANS(NAME)                                                                              \
    PyObject *NAME(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
OF_NANS(nansum); /* see nans.c */
OF_NANS(nanmean);
OF_NANS(nanvar);
OF_NANS(nanstd);
OF_NANS(nanmax);
OF_NANS(nanmin);
PyObject *note_runs(PyObject *module, PyObject *args); /* see launch.c */
PyObject *trim_heap(PyObject *module, PyObject *unused); /* see memory.c */
PyObject *hand_over_by(PyObject *module, PyObject *args); /* compiled.c, and the next two */
PyObject *hand_over_in(PyObject *module, PyObject *args);
PyObject *handing(PyObject *module, PyObject *args);
PyObject *build_classes_with(PyObject *module, PyObject *const *args, Py_ssize_t count); /* classes.c */
PyObject *lent(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *lease(PyObject *module, PyObject *const *args, Py_ssize_t count); /* see lease.c */
PyObject *take_ops(PyObject *module, PyObject *args);  /* see survey.c */
PyObject *survey(PyObject *module, PyObject *order);
PyObject *waiting(PyObject *module, PyObject *owners);
PyObject *scan(PyObject *module, PyObject *args); /* see scans.c */
PyObject *scan_jointly(PyObject *module, PyObject *args);
PyObject *accumulate_of(PyObject *module, PyObject *const *args, Py_ssize_t count,
                        PyObject *kwnames);
PyObject *cumsum(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *cumprod(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *cumsum_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
PyObject *cumprod_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);

#endif
