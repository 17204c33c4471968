"""Arrays from nothing, from lists and from other arrays."""

from __future__ import annotations

from functools import partial
from math import ceil, prod
from typing import Any

import numpy as np

from dnumpy import engine
from dnumpy.api import calls, overrides, stands
from dnumpy.api.array import (
    bare,
    facts,
    from_expr,
    ghost,
    is_managed_dtype,
    managed,
    ndarray,
    wrap,
)
from dnumpy.api.buffer import unmade
from dnumpy.api.composites import astype
from dnumpy.api.composites import copy as copy_of
from dnumpy.api.flat import flatiter
from dnumpy.api.layout import kept_order, permuted, restored
from dnumpy.api.record import Unmanaged, content, fresh, is_lazy, operand, write
from dnumpy.api.record import where as where_expr
from dnumpy.api.row_blocks import as_ours, copied_to, memmap
from dnumpy.api.stored import with_stored
from dnumpy.api.transplant import transplanted
from dnumpy.config import config
from dnumpy.expr.expr import Const, exact
from dnumpy.expr.expr import make as make_expr
from dnumpy.ops.table import ARANGE, FULL

_np_array = np.ndarray
_array, _zeros, _empty, _arange = np.array, np.zeros, np.empty, np.arange
_NUMBERS = frozenset({int, float, bool, complex})


def array(_module: Any, object: Any, dtype: Any = None, *more: Any, **named: Any) -> Any:
    """Return an array; as ``numpy.array``."""
    if type(object) is list and dtype is None and not named and not more:
        if object and type(object[0]) in _NUMBERS and len(object) < config.eager_below:
            made = bare()
            made._np = _array(object)
            return made
    elif more or not named.keys() <= _ARRAY_KEYWORDS:
        np.array(object, dtype, *more, **named)  # raises
    return _array_of(object, dtype, **named)


_ARRAY_KEYWORDS = frozenset({"copy", "order", "subok", "ndmin", "ndmax", "like"})


def _array_of(
    object: Any,
    dtype: Any,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int | None = None,
    like: Any = None,
) -> Any:
    if like is None and type(object) is not ndarray:
        object, copy = _taken_in(object, copy)
    if type(object) is list and like is None and ndmax is None:
        given = [_given(object, dtype), dtype]
        r = calls.invoke(np.array, given, {"copy": copy, "order": order, "ndmin": ndmin})
        return wrap(r)
    if is_lazy(object) and like is None and type(object) is ndarray:
        found = _from_managed(object, dtype, copy, order)
        if found is not NotImplemented:
            new = ndmin - found.ndim
            return found if new <= 0 else found[(None,) * new]
    kwargs: dict[str, Any] = {"copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
    if ndmax is not None:
        kwargs["ndmax"] = ndmax
    if _is_foreign(like):
        return _made_by_class(np.array, (object, dtype), {**kwargs, "like": like})
    return calls.wrap_result(
        calls.invoke(np.array, (_given(object, dtype), dtype), kwargs), (object,)
    )


def _taken_in(x: Any, copy: bool | None) -> tuple[Any, bool | None]:
    """Return what an array is made of, as one of ours if it can be, and whether to copy it."""
    if type(x) is flatiter and x.base.flags.c_contiguous:  # a view, in NumPy for ``copy=True`` too
        return x.base.reshape(-1), copy and None
    (found,) = (x,) if copy is False else with_stored((x,))
    return (x, copy) if found is x else (found, None)


def _given(values: Any, dtype: Any) -> Any:
    """Return ``values`` for NumPy to read; arrays of ours stay elements of an object array."""
    plain = calls.unwrap(values)
    if plain is values or dtype is None or type(values) not in (list, tuple):
        return plain
    return stands.standing_in(values) if np.dtype(dtype).hasobject else plain


def _is_foreign(like: Any) -> bool:
    return like is not None and type(like) is not ndarray and type(like) is not _np_array


def _made_by_class(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let the class of ``like`` make the array."""
    return overrides.call_function(function, args, kwargs)


def _from_managed(a: ndarray, dtype: Any, copy: bool | None, order: str) -> Any:
    wanted = facts(a).dtype if dtype is None else np.dtype(dtype)
    if wanted == facts(a).dtype:
        if not copy and order in ("K", "A", None):
            return a
        return copy_of(a, order or "K") if copy else NotImplemented
    return NotImplemented if copy is False else astype(a, wanted, order or "K")


def asarray(_module: Any, a: Any, dtype: Any = None, *more: Any, **named: Any) -> Any:
    """Return ``a`` itself if it is an array that fits, else a new array; as ``numpy.asarray``.

    A large ``zarr.Array`` that was opened for reading alone is promised not to change: its rows are
    read when they are wanted, by the nodes that see the store.
    """
    if type(a) is ndarray and dtype is None and not named and not more:
        return a
    if len(more) + ("order" in named) > 1 or not named.keys() <= _ASARRAY_KEYWORDS:
        np.asarray(a, dtype, *more, **named)  # raises
    return _asarray_of(a, dtype, more[0] if more else named.pop("order", None), **named)


_ASARRAY_KEYWORDS = frozenset({"order", "device", "copy", "like"})


def _asarray_of(
    a: Any,
    dtype: Any,
    order: Any,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    if like is None and type(a) is not ndarray:
        a, copy = _taken_in(a, copy)
    if type(a) is ndarray and dtype is None and order is None and not copy:
        return a
    if type(a) is ndarray and a._np is None:
        found = _from_managed(a, dtype, copy, order or "K")
        if found is not NotImplemented:
            return found
    kwargs: dict[str, Any] = {"device": device, "copy": copy}
    if _is_foreign(like):
        return _made_by_class(np.asarray, (a, dtype, order), {**kwargs, "like": like})
    return calls.wrap_result(
        calls.invoke(np.asarray, (_given(a, dtype), dtype, order), kwargs), (a,)
    )


def asanyarray(_module: Any, a: Any, dtype: Any = None, order: Any = None, **kwargs: Any) -> Any:
    """As ``numpy.asanyarray``: NumPy's subclasses pass through."""
    if type(a) is ndarray and dtype is None and order is None and not kwargs:
        return a
    if _is_foreign(kwargs.get("like")):
        return _made_by_class(np.asanyarray, (a, dtype, order), kwargs)
    if type(a) is not ndarray and hasattr(type(a), "__array__") and _taken_in(a, None)[0] is a:
        kwargs.pop("like", None)
        given = (_given(a, dtype), dtype, order)
        return calls.wrap_result(calls.invoke(np.asanyarray, given, kwargs), (a,))
    return asarray(_module, a, dtype, order, **kwargs)


def maker(function: Any) -> Any:
    """Return a creation function whose result nobody else holds."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("like") is not None:
            if _is_foreign(kwargs["like"]):
                return _made_by_class(function, args, kwargs)
            kwargs.pop("like")
        for a in (*args, *kwargs.values()) if kwargs else args:
            kind = type(a)
            if kind not in calls.PLAIN and kind is not tuple:
                r = _run(function, args, kwargs)
                break
        else:
            r = function(*args, **kwargs)
        if type(r) is _np_array:
            if r.size < config.eager_below:
                made = bare()
                made._np = r
                return made
            return wrap(r)
        return r

    return make


def _run(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    plain = [calls.unwrap(a) for a in args]
    return calls.invoke(function, plain, {k: calls.unwrap(v) for k, v in kwargs.items()})


# arrays from here on are made by the workers of a cluster, if there is one; ranges sooner, since
# nobody fills them in element by element, and sending one takes longer than making it
GENERATED_BYTES, RANGE_BYTES = 16 << 20, 2 << 20
UNMADE_BYTES = 32 << 20  # what the C library makes of fresh pages, zeros already, is larger
_DTYPES: dict[Any, np.dtype] = {
    kind: np.dtype(kind)
    for kind in (None, bool, int, float, complex, *{np.dtype(c).type for c in "?bhilqBHILQefdFD"})
}


def _generated(
    op: Any, params: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype, least: int
) -> Any:
    """Return an array that is made by rows where it is read, or None where NumPy is to make it."""
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < least or not is_managed_dtype(dtype) or not engine.makes_rows(nbytes):
        return None
    return from_expr(make_expr(op, (), params, shape, dtype))


def _shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as NumPy reads it; negative extents and the like raise NumPy's error."""
    return np.broadcast_to(np.empty(()), shape).shape


def _filled(
    function: Any, fill: Any, given: tuple[Any, ...], device: Any, like: Any, *, known: bool = True
) -> Any:
    """Return zeros, ones or empty: the shape is asked of NumPy, and nothing needs unwrapping."""
    shape, dtype, order = given
    if order == "C" and like is None and engine.may_make_rows():
        kind = np.dtype(dtype or float)
        generated = _generated(FULL, exact(kind.type(fill)), _shape(shape), kind, GENERATED_BYTES)
        if generated is not None:
            return generated
    if device is None and like is None:
        if known and order == "C" and (made := _unmade(fill, shape, dtype)) is not None:
            return made
        r = function(shape) if dtype is None and order == "C" else function(shape, dtype, order)
    elif _is_foreign(like):
        return _made_by_class(function, given, {"device": device, "like": like})
    else:
        r = function(shape, dtype, order, device=device)
    if r.size < config.eager_below:
        made = bare()
        made._np = r
        return made
    array = wrap(r)
    if array._np is None and known:
        array._buf.fill(array._buf.dtype.type(fill))
    return array


def _unmade(fill: Any, shape: Any, dtype: Any) -> Any:
    """Return an array that is given memory when somebody wants it, None where it has it at once.

    A program often makes zeros only to add to them, which needs no memory of zeros. What is larger
    than this costs NumPy nothing until it is written to.
    """
    if isinstance(dtype, np.dtype):
        kind: np.dtype | None = dtype
    else:
        kind = _DTYPES.get(dtype) if dtype is None or type(dtype) is type else None
    extents = (shape,) if type(shape) is int else shape
    if kind is None or type(extents) is not tuple or not extents or not is_managed_dtype(kind):
        return None
    for n in extents:
        if type(n) is not int or n < 0:
            return None
    size = prod(extents)
    if size < config.eager_below or size * kind.itemsize > UNMADE_BYTES:
        return None
    return managed(unmade(kind.type(fill), extents, kind), None)


def _is_small(shape: Any) -> bool:
    """Whether a shape, of plain integers, is that of a small array."""
    if type(shape) is int:
        return shape < config.eager_below
    if type(shape) is not tuple:
        return False
    return _INTEGERS.issuperset(map(type, shape)) and prod(shape) < config.eager_below


_INTEGERS = frozenset({int})


def zeros(_module: Any, shape: Any, dtype: Any = None, *more: Any, **named: Any) -> Any:
    """As ``numpy.zeros``."""
    if not named and not more and _is_small(shape):
        made = bare()
        made._np = _zeros(shape) if dtype is None else _zeros(shape, dtype)
        return made
    return _filled_as_asked(_zeros, shape, dtype, more, named)


def empty(_module: Any, shape: Any, dtype: Any = None, *more: Any, **named: Any) -> Any:
    """As ``numpy.empty``."""
    if not named and not more and _is_small(shape):
        made = bare()
        made._np = _empty(shape) if dtype is None else _empty(shape, dtype)
        return made
    return _filled_as_asked(_empty, shape, dtype, more, named)


def _filled_as_asked(
    function: Any, shape: Any, dtype: Any, more: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Return zeros or empty with an order, a device or a class to make them."""
    if len(more) + ("order" in named) > 1 or not named.keys() <= {"order", "device", "like"}:
        function(shape, dtype, *more, **named)  # raises
    order = more[0] if more else named.get("order", "C")
    given = (shape, dtype, order)
    known = function is _zeros
    return _filled(function, 0, given, named.get("device"), named.get("like"), known=known)


def ones(
    shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """As ``numpy.ones``."""
    return _filled(np.ones, 1, (shape, dtype, order), device, like)


_plain_full = maker(np.full)
_plain_arange = maker(np.arange)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **kwargs: Any) -> Any:
    """As ``numpy.full``."""
    plain = isinstance(fill_value, int | float | complex | np.generic)
    if not kwargs and order == "C" and plain and engine.may_make_rows():
        cell = np.full((), fill_value, dtype)
        made = _generated(FULL, exact(cell[()]), _shape(shape), cell.dtype, GENERATED_BYTES)
        if made is not None:
            return made
    return _plain_full(shape, fill_value, dtype, order, **kwargs)


_FILLED_ALIKE = (float, np.float64, None)  # dtypes in which integers count as they do in others


def arange(_module: Any, /, *args: Any, **kwargs: Any) -> Any:
    """As ``numpy.arange``."""
    if len(args) == 1 and not kwargs and type(args[0]) is int and args[0] < config.eager_below:
        made = bare()
        made._np = _arange(args[0])
        return made
    if (
        args
        and (not kwargs or (len(kwargs) == 1 and kwargs.get("dtype") in _FILLED_ALIKE))
        and engine.may_make_rows()
        and all(type(a) in (int, float) for a in args)
    ):
        start, stop, step = _bounds(args)
        if step:
            count = max(ceil((stop - start) / step), 0)
            kind = float if float in map(type, args) else None  # also where stop alone is one
            kind = kwargs.get("dtype") or kind
            few = np.arange(start, start + 3 * step, step, dtype=kind)
            # NumPy fills start + i * delta, where delta is the second element less the first
            if len(few) > 1:
                params = (few[0].item(), (few[1] - few[0]).item())
                made = _generated(ARANGE, params, (count,), few.dtype, RANGE_BYTES)
                if made is not None:
                    return made
    return _plain_arange(*args, **kwargs)


def _bounds(args: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    if len(args) == 1:
        return 0, args[0], 1
    return args[0], args[1], args[2] if len(args) > 2 else 1


def _ranged(function: Any) -> Any:
    """Return linspace or its kin: NumPy's code over a range that the nodes make, where large."""
    plain, by_rows = maker(function), transplanted(function)

    def make(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
        plainly = type(num) is int and not (args or kwargs)
        if plainly and type(start) in _NUMBERS and type(stop) in _NUMBERS:
            return wrap(function(start, stop, num))
        large = type(num) is int and num * np.dtype(float).itemsize >= RANGE_BYTES
        scalars = isinstance(start, int | float) and isinstance(stop, int | float)
        spread = is_lazy(start) or is_lazy(stop)
        spread = spread and not overrides.overridden((start, stop), "__array_function__")
        if spread or (large and scalars and engine.has_workers()):
            return by_rows(start, stop, num, *args, **kwargs)
        return plain(start, stop, num, *args, **kwargs)

    return make


def _window(function: Any) -> Any:
    """Return a window function: NumPy's code over a range that the nodes make, where large."""
    plain, by_rows = maker(function), transplanted(function)

    def make(*args: Any, **kwargs: Any) -> Any:
        size = args[0] if args else kwargs.get("M")
        large = type(size) is int and size * np.dtype(float).itemsize >= GENERATED_BYTES
        return (by_rows if large and engine.has_workers() else plain)(*args, **kwargs)

    return make


WINDOWS = {
    name: _window(getattr(np, name))
    for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")
}


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """As ``numpy.ascontiguousarray`` for managed arrays."""
    return _arranged(a, dtype, "C", like)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """As ``numpy.asfortranarray`` for managed arrays."""
    return _arranged(a, dtype, "F", like)


def _arranged(a: Any, dtype: Any, order: str, like: Any) -> Any:
    if type(a) is not ndarray or a._np is not None or like is not None or not a.ndim:
        return NotImplemented
    if dtype is not None and np.dtype(dtype) != a.dtype:
        a = a.astype(dtype)
    flags = ghost(a).flags
    if flags.c_contiguous if order == "C" else flags.f_contiguous:
        return a
    if order == "C":
        return a.copy()
    axes = tuple(range(a.ndim))[::-1]
    return restored(fresh(content(permuted(a, axes))), axes)


linspace = _ranged(np.linspace)
logspace = _ranged(np.logspace)
geomspace = _ranged(np.geomspace)


def _shaped_like(wrapped: Any, maker: Any) -> Any:
    """Return zeros_like and its kin for managed arrays, of whose values they read none.

    What is to lie in another order than C is made by NumPy, which is given the strides alone.
    """

    def make(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **kwargs: Any,
    ) -> Any:
        if type(a) is not ndarray or a._np is not None:
            return NotImplemented
        if order != "K" or kwargs or (a._geo is not None and kept_order(a) is not None):
            return wrap(wrapped(ghost(a), dtype, order, subok, shape, **kwargs))
        return maker(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)

    return make


zeros_like = _shaped_like(np.zeros_like, partial(zeros, None))
ones_like = _shaped_like(np.ones_like, ones)
empty_like = _shaped_like(np.empty_like, partial(empty, None))


def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``numpy.full_like`` for managed arrays."""

    def filled(stands: Any, *asked: Any, **named: Any) -> Any:
        return np.full_like(stands, calls.unwrap(fill_value), *asked, **named)

    def maker(shape: Any, dtype: Any) -> Any:
        return full(shape, fill_value, dtype)

    return _shaped_like(filled, maker)(a, *args, **kwargs)


def load(*args: Any, **kwargs: Any) -> Any:
    """As ``numpy.load``; a read-only memory map becomes a lazy array read by tiles."""
    loaded = np.load(*args, **kwargs)
    if type(loaded) is np.memmap and loaded.mode == "r" and is_managed_dtype(loaded.dtype):
        return wrap(loaded.view(_np_array))
    if type(loaded) is np.lib.npyio.NpzFile:
        loaded.__class__ = Archive
    if isinstance(loaded, np.memmap):
        return as_ours(loaded)
    return calls.wrap_result(loaded)


class Archive(np.lib.npyio.NpzFile):
    """The arrays of an ``.npz`` file by name; as ``numpy.lib.npyio.NpzFile``."""

    def __getitem__(self, key: str) -> Any:
        """Return the array of that name, read now."""
        return calls.wrap_result(super().__getitem__(key))


_MEMORY = frozenset({np.ndarray, np.memmap, memmap})  # whose rows may be filled one by one


def copyto(*args: Any, **kwargs: Any) -> Any:
    """As ``numpy.copyto``; recorded when source or target is managed and nothing is masked."""
    if overrides.overridden((*args, *kwargs.values()), "__array_function__"):
        return overrides.call_function(np.copyto, args, kwargs)
    if not _is_copy(args, kwargs) or not _copied(*args, **kwargs):
        calls.run_writing(np.copyto, args, kwargs)
    return None


def _is_copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether the arguments are a target, a source, and at most how to copy."""
    operands = {"dst", "src"} & kwargs.keys()
    known = kwargs.keys() <= {"dst", "src", "casting", "where"}
    return known and 2 <= len(args) + len(operands) <= 4


def _copied(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> bool:
    """Record a copy; False where NumPy must perform it, or say why not."""
    recorded = type(dst) is ndarray and dst._np is None and where is True and is_lazy(src)
    if recorded and np.can_cast(src.dtype, dst.dtype, casting):
        dst[...] = src
        return True
    if type(dst) in _MEMORY and where is True and copied_to(dst, src, casting):
        return True
    return type(dst) is ndarray and dst._np is None and _copied_where(dst, src, casting, where)


def _copied_where(dst: ndarray, src: Any, casting: Any, mask: Any) -> bool:
    """Record a masked copy; False where NumPy must perform it, or say why not."""
    if not (is_lazy(dst) or is_lazy(src) or is_lazy(mask)) or dst._readonly or dst._buf.shared:
        return False
    shape, dtype = facts(dst)
    kind = getattr(mask, "dtype", None)
    plain = isinstance(src, int | float | complex | np.number | np.bool_ | ndarray)
    if kind != np.dtype(bool) or not plain or not shape:
        return False
    if not {np.shape(src), np.shape(mask)} <= {shape, ()}:
        return False
    try:
        chosen, chooser, before = operand(src), operand(mask), operand(dst)
    except Unmanaged:
        return False
    constant = isinstance(chosen, Const)
    cell = np.empty(int(constant), dtype)
    try:  # NumPy is asked whether the cast is allowed, and casts what is at hand
        np.copyto(cell, chosen.value if constant else np.empty(0, src.dtype), casting=casting)
    except (TypeError, OverflowError):
        return False
    if constant:
        chosen = Const(cell[0])
    write(dst, where_expr(chooser, chosen, before))
    return True
