"""The shortest paths from an operator, an index, a method or a function to NumPy's, in C.

An operation on a small array costs NumPy 30 to 400 ns; a frame of Python costs 50 to 100 ns more,
and there were three. The files in C beside this one hold what such an operation needs and nothing
else: the slots of a handle, the question whether NumPy may have the operands as they are, and the
handle of the result. Every other case is handed to the function in Python that was *given* for the
name, which is the whole method and is the same where the module was not built: semantics live
there, and the C files only leave out what would not be found. Tests run both (``DNUMPY_NATIVE``).

Of what NumPy takes for a few numbers nearly all goes into finding out what to run. So operations on
small arrays of numbers run NumPy's own inner loops from here (``loops.c``; of two dtypes,
``mixed.c``; over rows, ``rows.c``; products, ``products.c``): the loop and its steps are those that
the ufunc would come to, and so are the bits. Each is compared with its ufunc, byte by byte, before
it is trusted. Views and writes by slices (``regions.c``), elements by numbers (``picks.c``), arrays
of a shape or of numbers (``made.c``, large ones ``blank.c``), and functions that NumPy writes in
Python (``sooner.c``: roll, clip, stack) are done here too. What is not plain is NumPy's.

Where NumPy takes most of its time to come to its loop (sums, means, deviations, comparisons within
a tolerance, cross products: ``moments.c``, ``close.c``, ``vectors.c``; extrema, their places, truth
and sums of integers along an axis: ``along.c``, ``firsts.c``, ``truth.c``, ``wholes.c``), makes
copies (``nans.c``, ``among.c``), or its loop has each fold from memory (``scans.c``), the loop is
here, with NumPy's bits; a fault is NumPy's to tell.

Elements are read and written here where every axis has a whole number (``elements.c``). NumPy's
scalars and arrays leave operators to ours at once (``defer.c``).

Operations that wait are recorded in C where nothing special is to be seen (``record.c``), as
:mod:`dnumpy.api.quick` and :mod:`dnumpy.api.record` record them. An evaluation walks over them
there (``walk.c``, ``survey.c``), its results lie in blocks that come back by themselves
(``lease.c``), and a kernel over operands that lie as they did before is told where they are
(``launch.c``). Until there is one, adjacent steps of a tile are run here by NumPy's loops
(``stretches.c``). Work that needs no interpreter, rows of such kernels (``joint.c``, ``staged.c``),
steps over tiles (``tiles.c``), masks over large arrays (``masks.c``) and copies (``copies.c``, and
``wrapped.c`` for those that wrap around), is shared out among threads that wait for it
(``crew.c``).

Types: :class:`Handle` (which ``ndarray`` derives from), :class:`Callable` (which ``ufunc`` derives
from), :class:`Node` (which ``Expr`` derives from), ``Launch`` and ``Lease``, and ``Method``,
``Attribute`` and ``Function``, which stand before a function or property of Python's and answer for
it when they are asked for documentation or signature.

To add a short path: give it in C, name the function in Python that does the rest, and add its line
to ``tests/native``. ``python -m dnumpy.native`` builds the module in place, which installing
does by itself where a C compiler is found; without one everything works, at the cost above.
"""

from __future__ import annotations

import importlib
import warnings
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.config import config
from dnumpy.native.build import NAME, digest

if TYPE_CHECKING:
    from collections.abc import Callable as Callback


def _built() -> Any:
    if config.native == "off":
        return None
    try:
        found = importlib.import_module(NAME)
    except ModuleNotFoundError:  # no compiler where it was installed
        return None
    except ImportError as error:
        return _left_out(f"was built for another Python or NumPy ({error})")
    if getattr(found, "sources", "") != digest():
        return _left_out("was built from other sources than those beside it")
    return found


def _left_out(why: str) -> None:
    msg = (
        f"{NAME} {why}: small arrays are slower until it is built again, by "
        "python -m dnumpy.native or by installing dnumpy"
    )
    warnings.warn(msg, RuntimeWarning, stacklevel=2)


COPIED_BYTES = 1 << 16  # of a copy: fewer stay in the caches, however they are walked

_module = _built()
built = _module is not None


if TYPE_CHECKING or not built:

    def _own_dtype(dtype: Any) -> Any:  # why: see native/expr.c
        named = dtype.kind in "biufc" and dtype.byteorder in "<>" and dtype.metadata is None
        return np.dtype(dtype.char) if named and dtype.isnative else dtype

    class Handle:
        """The slots of an array's handle."""

        __slots__ = ("__weakref__", "_base", "_buf", "_np", "_place", "_readonly", "_seen")

    class Callable:
        """The slots of a ufunc."""

        __slots__ = ("__name__", "_np", "_plain", "_row")

    class Node:
        """The slots of an Expr."""

        __slots__ = (
            "__weakref__",
            "args",
            "dtype",
            "op",
            "origin",
            "owner",
            "params",
            "shape",
            "value",
        )

        def __init__(self, op: Any, args: Any, params: Any, shape: Any, dtype: Any) -> None:
            self.op = op
            self.args = args
            self.params = params
            self.shape = shape
            self.dtype = _own_dtype(dtype)
            self.value: Any = None
            self.owner: Any = None
            self.origin: Any = None

        @property
        def size(self) -> int:
            """Number of elements."""
            return prod(self.shape)

        @property
        def nbytes(self) -> int:
            """Bytes of the result."""
            found: int = prod(self.shape) * self.dtype.itemsize
            return found

else:
    Handle, Callable, Node = _module.Handle, _module.Callable, _module.Node

OF_PYTHON: tuple[type, ...] = (_module.Method, _module.Function) if built else ()
_OF_C: tuple[type, ...] = (_module.Attribute, _module.Property) if built else ()
PROPERTIES: tuple[type, ...] = (property, *_OF_C)


def fold(name: str, *given: Any) -> bool:
    """Fold floats by one of the functions of ``folds.c``; False where NumPy is to do it.

    It is, where elements do not lie side by side, where a fault is to be told of, and where the
    module in C was not built.
    """
    return built and bool(getattr(_module, name)(*given))


def sum_axes(
    x: np.ndarray,
    kind: str,
    tile: int,
    means: np.ndarray | None,
    out: np.ndarray,
    meet: bool,
    threads: int,
) -> bool:
    """Sum floats over axes as ``kind`` says (``folds.h``); False where NumPy is to do it.

    What tiles of so many rows give meets up the tree, or lies side by side.
    """
    return built and bool(_module.sum_axes(x, kind, tile, means, out, meet, threads))


def copied(x: np.ndarray, out: np.ndarray, threads: int = 1) -> bool:
    """Copy into an array of the same shape and dtype (``copies.c``).

    False where NumPy copies as well, or must; nothing is done then. By one thread it copies most
    of what does not lie the other way round as well.
    """
    if not built or out.nbytes < COPIED_BYTES or (x.ndim < 2 and threads == 1):
        return False
    return bool(_module.copy_array(x, out, threads))


def wrapped(x: np.ndarray, out: np.ndarray, lead: tuple[int, ...], threads: int = 1) -> bool:
    """Fill an array of as many rows whose other axes begin ``lead`` entries late (``wrapped.c``).

    They wrap around. False where NumPy has to do it; nothing is done then.
    """
    return built and bool(_module.wrap_into(x, out, lead, threads))


def scan(ufunc: str, x: np.ndarray, out: np.ndarray, axis: int, before: Any = None) -> int:
    """Make running folds along an axis as NumPy does; return the faults, as NumPy numbers them.

    -1 where NumPy is to do it: of types and memory that are not among a few common ones, and where
    the module in C was not built. ``before``, a row, is joined with each fold.
    """
    return int(_module.scan(ufunc, x, out, axis, before)) if built else -1


def scan_jointly(ufunc: str, x: np.ndarray, out: np.ndarray, block: int, state: np.ndarray) -> int:
    """Make running folds along the first axis together with other threads that call it too.

    The blocks, of so many rows, are joined as ``scan`` joins each with what goes before. All
    callers have one ``state``: 64-bit zeros, one more than there are blocks. Returns what ``scan``
    does.
    """
    return int(_module.scan_jointly(ufunc, x, out, block, state)) if built else -1


def take_by_mask(
    x: np.ndarray, mask: np.ndarray, make: Callback[[int], np.ndarray], threads: int
) -> Any:
    """Return what a mask over all of ``x`` shows, in what ``make`` gives for so many elements.

    None where NumPy is to do it, and where the module in C was not built.
    """
    return _module.take_by_mask(x, mask, make, threads) if built else None


def put_by_mask(x: np.ndarray, mask: np.ndarray, new: object, threads: int) -> bool:
    """Write a number, or elements one by one, to what a mask over all of ``x`` shows.

    False, with nothing written, where NumPy is to do it, and where the module was not built.
    """
    return built and bool(_module.put_by_mask(x, mask, new, threads))


def run_frames(
    address: int,
    fields: list[np.ndarray],
    noted: list[np.ndarray],
    partials: tuple[tuple[int, int], ...],
    rows: tuple[int, int, int],
) -> int:
    """Run the kernel at an address, a thread for each frame; return the flags raised.

    ``rows`` says how many there are, and how many a batch and a tile have; ``partials`` where in
    the fields the address of an output with an entry for each tile is, and an entry's bytes.
    """
    return int(_module.run_frames(address, fields, noted, partials, *rows))


def run_staged(
    address: int,
    frame: tuple[np.ndarray, np.ndarray],
    outs: list[np.ndarray],
    targets: list[tuple[np.ndarray, ...] | None],
    writes: tuple[tuple[bool, int], ...],
    rows: tuple[int, int, int, int],
    told: int,
) -> int:
    """Run machine code in blocks that are written where they belong; return the row that is next.

    ``frame`` has what it is told, and where it notes flags; see ``staged.c`` for the others.
    """
    return int(_module.run_staged(address, *frame, outs, targets, writes, rows, told))


def lying_here(x: object) -> np.ndarray | None:
    """Return what NumPy would read for an operand, without telling anybody that it is read.

    None where it is to be computed first, or its reading to be noted, and where the module in C was
    not built.
    """
    found: np.ndarray | None = _module.lying_here(x) if built else None
    return found


def wake_apart(threads: tuple[int, ...]) -> int:
    """Let sleeping threads, by their native numbers, be woken on other cores than the caller's.

    They are to call :func:`woken` as soon as they run. Returns how many could be; none where the
    system does not place threads, and where the module in C was not built.
    """
    return int(_module.wake_apart(threads)) if built else 0


def woken() -> None:
    """Let this thread, which may have been woken apart, use all cores again."""
    if built:
        _module.woken()


def count_bins(values: np.ndarray, edges: np.ndarray, threads: int) -> np.ndarray | None:
    """Return how many doubles lie in each bin of equal width.

    None where a value is in no bin that there is, and where the module in C was not built.
    """
    found: np.ndarray | None = _module.count_bins(values, edges, threads) if built else None
    return found


def count_whole(values: np.ndarray, size: int, threads: int) -> np.ndarray | None:
    """Return how often each whole number from 0 to below ``size`` occurs.

    None where another does, and where the module in C was not built.
    """
    found: np.ndarray | None = _module.count_whole(values, size, threads) if built else None
    return found


def tell_apart(
    values: np.ndarray,
    splitters: np.ndarray,
    places: np.ndarray,
    out: np.ndarray | None = None,
    first: int = -1,
) -> bool:
    """Count values by part in ``places``; or move each to ``out``, where its part goes on.

    What goes on at a negative place goes nowhere. With ``first`` it is where each lies that goes to
    ``out``, of which that is the first. Splitters, one less than there are parts, are in order;
    there is a power of two of parts. False where a type is not known, and where the module in C was
    not built.
    """
    return built and bool(_module.tell_apart(values, splitters, places, out, first))


def merge_runs(values: np.ndarray, ends: np.ndarray) -> bool:
    """Merge the sorted runs of a line, of which each ends before one of these rows, where they lie.

    NaN comes last, and equal elements keep their order. False, with nothing done, for a type that
    is not known, and where the module in C was not built.
    """
    return built and bool(_module.merge_runs(values, ends))


def take_buffers() -> None:
    """Let the module in C be asked for buffers, once the class has its ``__buffer__``."""
    if built:
        _module.take_buffers()


def trim_heap() -> bool:
    """Give pages that lie free in malloc's heap back to the system; say whether there were any.

    Nothing happens where the C library is not glibc, and where the module in C was not built.
    """
    return built and bool(_module.trim_heap())


if built:
    take_expr: Callback[[type], None] = _module.take_expr
    take_export: Callback[[type], None] = _module.take_export
    count_interned: Callback[[], int] = _module.count_interned
    make: Any = _module.make
    record: Any = _module.record
    record_op: Any = _module.record_op
    hold: Any = _module.hold
    all_wait: Any = _module.all_wait
    learn: Any = _module.learn
    count_templates: Any = _module.count_templates
    forget: Any = _module.forget
    pending_in_order: Any = _module.pending_in_order
    held_bytes: Any = _module.held_bytes
    structure: Any = _module.structure
    rebuild: Any = _module.rebuild
    numbered: Any = _module.numbered
    values_of: Any = _module.values_of
    note_runs: Any = _module.note_runs
    lease: Any = _module.lease
    take_ops: Any = _module.take_ops
    survey: Any = _module.survey
    waiting: Any = _module.waiting
    run_stretch: Any = _module.run_stretch
    run_tiles: Any = _module.run_tiles
    own_loops: Any = _module.own_loops
    build_classes_with: Any = _module.build_classes_with
# what runs a compiled kernel over operands that lie as others did, where it is built
Launch: Any = _module.Launch if built else None
lent: Any = _module.lent if built else None  # (memory, owner, writeable): an array over the same
WHOLE: int = _module.WHOLE if built else 0  # instead of a stride's place: all rows read the same
Lease: Any = _module.Lease if built else None  # the base of arrays over blocks of a pool
# functions of NumPy's, methods of its arrays and of its ufuncs, and what gives the same sooner
_FASTER = (
    "all", "any", "argmax", "argmin", "clip", "cumprod", "cumsum", "max", "mean", "min", "std",
    "sum", "var",
)  # fmt: skip
_OTHERS = (
    "allclose", "arange", "array", "concatenate", "cross", "diff", "empty", "full", "hstack",
    "isclose", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "ones", "outer", "roll",
    "stack", "vstack", "where", "zeros",
)  # fmt: skip
FASTER = {name: getattr(_module, name) for name in (*_FASTER, *_OTHERS)} if built else {}
if built:
    FASTER["linalg.norm"] = _module.norm
_OF_ARRAYS = (*_FASTER, "astype", "copy", "reshape")
FASTER_OF_ARRAYS = {name: getattr(_module, f"{name}_of") for name in _OF_ARRAYS} if built else {}
_OF_UFUNCS = ("accumulate", "outer", "reduce")
FASTER_OF_UFUNCS = {name: getattr(_module, f"{name}_of") for name in _OF_UFUNCS} if built else {}


def bind(**told: Any) -> None:
    """Tell the module in C of the classes, the settings and the functions that it works with."""
    if built:
        _module.bind(**told)


def bind_recorder(**told: Any) -> None:
    """Tell the module in C of what is looked at when an operation is recorded."""
    if built:
        _module.take_recorder(**told)


def share_loops(seconds: float) -> float:
    """Have threads share NumPy's loops that take so long, and return what held until then."""
    before: float = _module.share_loops(seconds)
    return before


def gather(
    values: np.ndarray, key: Any, make: Callback[[tuple[int, ...], np.dtype], np.ndarray]
) -> np.ndarray | None:
    """Return ``values[key]`` for whole numbers, or arrays of them, along the first axes.

    It lies in what ``make(shape, dtype)`` gives. None where NumPy is to say: of other indices, and
    of a place that there is not.
    """
    if not built:
        return None
    found: np.ndarray | None = _module.gather(values, key, make)
    return found


def nonzero(mask: np.ndarray, make: Callback[..., np.ndarray], *, rows: bool, threads: int) -> Any:
    """Return the indices of what is set in booleans in C order.

    They have a row for each element, or a line for each axis, and lie in what
    ``make(shape, dtype)`` gives. None of other arrays, or without the module in C.
    """
    if not built:
        return None
    found: np.ndarray | None = _module.nonzero(mask, make, rows, threads)
    return found


def order_by_counting(values: np.ndarray, low: int, kinds: int, threads: int) -> np.ndarray | None:
    """Return the places that put a line of whole numbers in order, of equal ones the first first.

    All are from ``low`` to below ``low + kinds``, of at most 63 bits, in C order. None without the
    module in C, and where they are not.
    """
    if not built:
        return None
    found: np.ndarray | None = _module.order_by_counting(values, low, kinds, threads)
    return found


def find_places(
    line: np.ndarray, values: np.ndarray, *, right: bool, threads: int
) -> np.ndarray | None:
    """Return where float64 belong in a line of such that rises evenly, as ``searchsorted`` does.

    Both are in C order. None for another line, or without the module in C.
    """
    if not built:
        return None
    found: np.ndarray | None = _module.find_places(line, values, right, threads)
    return found


def records_between() -> bool:
    """Say whether operations on arrays of middling size are being recorded as on large ones."""
    return built and _module.records_between()


def begins_product(*factors: Any) -> None:
    """Let a product meet what it would meet whichever way the loop goes: see laps.c."""
    if built:
        _module.begins_product(*factors)


def bind_laps(
    least: int,
    most: int,
    ended: Callback[..., tuple[int, ...]],
    begins: Callback[[Any, int, int], tuple[int, ...]],
    site_here: Callback[[], object],
    compute: Callback[[Any], object],
) -> None:
    """Tell the module in C of the sizes between, and whom to ask about them: see expr/laps.py."""
    if built:
        _module.take_laps(least, most, ended, begins, site_here, compute)


def give(cls: type, name: str, function: Any, loop: Any = None, row: Any = None) -> None:
    """Give a class a special method: behind the short path, for arrays, where it has one.

    That asks NumPy's ``loop``, and records a ``row``; None where only Python does.
    """
    if not (built and Handle in cls.__mro__ and _module.take(name, function, loop, row)):
        setattr(cls, name, function)


def give_call(cls: type, function: Callback[..., Any]) -> None:
    """Give the class of ufuncs what a call does."""
    if built:
        _module.take_ufunc(cls, function)
    else:
        cls.__call__ = function  # type: ignore[method-assign]


def method(
    slow: Callback[..., Any],
    numpys: Any,
    of: str = "array",
    *,
    writes: bool = False,
    arrays: int = 1,
    records: Callback[..., Any] | None = None,
) -> Any:
    """Return a method that is NumPy's ``numpys`` where this may have the arguments.

    Parameters
    ----------
    slow : callable
        What is called with all others.
    numpys : callable
        NumPy's method.
    of : {"array", "own", "ufunc", "pairs", "stream", "protocol"}
        What it is a method of: of a random stream, draws of few values take the short path; of the
        protocols ``__array_ufunc__`` does; of arrays, one that is its ``own`` has none. "pairs" is
        one of a ufunc whose result has an element for each pair of theirs.
    writes : bool
        Whether it writes to its array.
    arrays : int
        How many arguments after the first may be arrays that are only read.
    records : callable, optional
        What records it, if calls that are alike record alike: see :mod:`dnumpy.api.replays`.
    """
    return _module.Method(slow, numpys, of, writes, arrays, records) if built else slow


def attribute(slow: property, name: str, *, is_fact: bool = False, is_view: bool = False) -> Any:
    """Return an attribute of arrays that is NumPy's for small ones.

    A *fact* is one that a Buffer, a Geometry and an array of NumPy's all have by that name; a
    *view* is one of the array's memory, or the array itself.
    """
    return _module.Attribute(slow, name, is_fact, is_view) if built else slow


def property_(slow: property, name: str) -> Any:
    """Return an attribute of arrays that a property of Python's is, and NumPy's for NumPy's."""
    return _module.Property(slow, name) if built else slow


def show_special(numpys: Any) -> None:
    """Let the class of arrays show the special method that one of its slots is, as NumPy's does."""
    _module.show_special(numpys)


def function(
    slow: Any,
    numpys: Any,
    as_they_are: frozenset[type],
    kind: str = "arrays",
    *,
    binds: bool,
    records: Callback[..., Any] | None = None,
    waits: Callback[..., Any] | None = None,
    many: Callback[..., Any] | None = None,
) -> Any:
    """Return a public function that is NumPy's ``numpys`` where this may have the arguments.

    Parameters
    ----------
    slow : callable
        What is called with all others.
    numpys : callable
        NumPy's function.
    as_they_are : frozenset of type
        What NumPy is given as it is, besides small arrays.
    kind : str
        Which arguments take the short path. "arrays": small arrays and sequences of them; "views":
        the same, and one large array that lies here, of which a view is made; "moves", "exact":
        small ones, and large ones that lie here, of a function that only moves elements, or gives
        the same bits whoever computes them, which is then a matter of time; "fitted", "pairs": as
        "exact", where the result is as large as the arrays together broadcast, or has an element
        for each pair of theirs, and counts too; "product": two of which
        a product is little work; "runs": one that is run over as it lies here; "writes": small ones
        of a function that writes to them; "shape": one of few elements; "square": one or two
        extents of such; "list": a short list of numbers; "range": a short range; "itself": one
        array of ours, which is the result.
    binds : bool
        Whether it is a method of a class that holds it, as functions are and built-in ones are not.
    records : callable, optional
        What records it, if calls that are alike record alike: see :mod:`dnumpy.api.replays`.
    waits : callable, optional
        What records it where a loop's operations on arrays of middling size wait, if it does.
    many : callable, optional
        What is asked before NumPy where an array has some thousands of elements; it returns
        NotImplemented where that is NumPy's to do.
    """
    given = (slow, numpys, as_they_are, kind, binds, records, waits, many)
    return _module.Function(*given) if built else slow
