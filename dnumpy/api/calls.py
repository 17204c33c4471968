"""Call NumPy with our arrays and give its results back as ours, aliases kept."""

from __future__ import annotations

import inspect
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import stands
from dnumpy.api.array import (
    adopt,
    bare,
    concrete,
    concrete_for_writing,
    geometry_of,
    managed,
    ndarray,
    runs_at_once,
    small,
    wrap,
)
from dnumpy.api.locks import writing
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_np_array = np.ndarray
_NUMERIC = tuple(map(np.dtype, "?bhilqBHILQefdgFDG"))
NUMBERS = frozenset(dtype.type for dtype in _NUMERIC)  # NumPy's scalars
TIMES = frozenset({np.datetime64, np.timedelta64})
PLAIN: frozenset[type] = NUMBERS.union(
    TIMES,
    {
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        slice,
        range,
        type(None),
        type,
        type(Ellipsis),
        *map(type, _NUMERIC),
    },
)  # types of arguments that hold no array
_WRITEABLE = 0x0400  # NumPy's flag
_LOOKED_AT = 8  # elements of a sequence that are looked at for arrays of ours


def unwrap(x: Any) -> Any:
    """Return ``x`` with our arrays and scalars as NumPy's, inside lists, tuples and dicts too."""
    kind = type(x)
    if kind is ndarray:
        return x._np if x._np is not None else concrete(x)
    if kind is DeferredScalar:
        return x.force()
    if kind is list or kind is tuple:
        return _unwrap_sequence(x)
    if kind in PLAIN or kind is _np_array:
        return x
    if kind is dict:
        return {k: unwrap(v) for k, v in x.items()}
    return stands.standing(x)


def _unwrap_sequence(x: Any) -> Any:
    for e in x[:_LOOKED_AT]:
        if type(e) not in PLAIN and holds_ours(e):
            return type(x)([unwrap(e) for e in x])
    return x


def holds_ours(x: Any) -> bool:
    """Say whether NumPy is given something else for ``x``, or for the first of a sequence."""
    kind = type(x)
    if kind is ndarray or kind is DeferredScalar:
        return True
    if kind is list or kind is tuple:
        return any(type(e) not in PLAIN and holds_ours(e) for e in x[:_LOOKED_AT])
    return kind is not _np_array and stands.is_stood_for(kind)


def for_writing(x: Any) -> Any:
    """Return an operand that NumPy will write to."""
    if type(x) is ndarray:
        return concrete_for_writing(x)
    if type(x) is tuple:
        return tuple(for_writing(e) for e in x)
    return unwrap(x)


waiting: dict[int, Any] = {}  # thread -> what it has waiting over memory that NumPy may write to


def settle() -> None:
    """Compute what waits over lent memory, before this thread runs anything but this library."""
    loans = waiting.get(get_ident())
    if loans is not None and not loans.busy:
        loans.settled(None)


def is_kin(x: Any) -> bool:
    """Say whether NumPy may have a small array of a class derived from its own as it is.

    Such a class (of masked arrays, say) says how its arrays are computed with by NumPy's protocols
    of results alone; and nothing waits over its memory.
    """
    kind = type(x)
    kin = _kin.get(kind)
    if kin is None:
        if len(_kin) >= _MOST_KIN:
            _kin.clear()
        kin = _kin[kind] = (
            kind is not _np_array
            and issubclass(kind, _np_array)
            and all(
                getattr(kind, name) is getattr(_np_array, name)
                for name in ("__array_ufunc__", "__array_function__")
            )
        )
    return kin and not waiting and runs_at_once(x.size, x.itemsize) and not x.dtype.hasobject


_kin: dict[type, bool] = {}
_MOST_KIN = 64


def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's ``function`` now; ``out`` is written in place."""
    if waiting:
        settle()
    placed = args[out_position(function) :] if len(args) > 1 else ()
    if placed or "out" in kwargs:
        with writing(*placed, kwargs.get("out")):
            return _run(function, args, kwargs)
    return _run(function, args, kwargs)


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    plain = [unwrap(a) for a in args]
    handles: list[Any] = list(args)
    outs: tuple[Any, ...] = ()
    if len(args) > 1:
        first_out = out_position(function)
        outs = args[first_out:]
        if outs:
            plain[first_out:] = [for_writing(a) for a in outs]
    if not kwargs:
        result = invoke(function, plain, kwargs)
        own = outs and type(result) is _np_array and any(result is out for out in outs)
        return result if own else wrap_result(result, handles)
    named = {k: unwrap(v) for k, v in kwargs.items()}
    out = kwargs.get("out")
    if out is not None:
        named["out"] = for_writing(out)
        handles = [*(out if type(out) is tuple else (out,)), *handles]
    handles += [v for v in kwargs.values() if type(v) is ndarray]
    result = invoke(function, plain, named)
    if result is out and type(out) is _np_array:
        return out  # the caller's own
    return wrap_result(result, handles)


_NOWHERE = 1 << 30
_out_positions: dict[Any, int] = {}


def out_position(function: Callable[..., Any]) -> int:
    """Return the index of the first positional argument that NumPy writes its result to."""
    found = _out_positions.get(function)
    if found is None:
        found = _out_positions[function] = _find_out(function)
    return found


def _find_out(function: Any) -> int:
    if isinstance(function, np.ufunc):
        return function.nin
    for known in (function, vars(np).get(getattr(function, "__name__", ""))):
        try:
            parameters = list(inspect.signature(known).parameters)  # type: ignore[arg-type]
        except (TypeError, ValueError):  # built in, without a signature
            continue
        return parameters.index("out") if "out" in parameters else _NOWHERE
    return _NOWHERE


_NO_ARRAY = ("object __array__ method not producing an array",)


def invoke(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call NumPy; operands whose ``__array__`` returns one of our arrays are converted."""
    try:
        found = function(*args, **kwargs)
    except ValueError as error:
        if error.args != _NO_ARRAY:
            raise
        args = [stands.converted(a) for a in args]
        kwargs = {k: stands.converted(v) for k, v in kwargs.items()}
        found = function(*args, **kwargs)
    except (TypeError, OverflowError):
        bare = [_with_numpys_elements(a) for a in args]
        if all(a is b for a, b in zip(args, bare, strict=True)):
            raise
        found = function(*bare, **kwargs)
    if type(found) is _np_array and found.dtype.hasobject and stands.any_in(args):
        stands.put_back(found)
    return found


def _with_numpys_elements(x: Any) -> Any:
    """Return an array of objects with NumPy's arrays for those of ours that are its elements.

    Elements that become integers are asked for one first, and are then told to be out of bounds,
    unless they are arrays of NumPy's.
    """
    if type(x) is not _np_array or x.dtype.kind != "O":
        return x
    mine = [k for k, element in enumerate(x.flat) if type(element) is ndarray]
    bare = x.copy() if mine else x
    for k in mine:
        bare[np.unravel_index(k, x.shape)] = unwrap(x.flat[k])
    return bare


def run_writing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function that writes to its first argument."""
    if waiting:
        settle()
    with writing(*args[:1], *[kwargs[name] for name in _TARGETS.intersection(kwargs)]):
        return _run_writing(function, args, kwargs)


def _run_writing(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    target = for_writing(args[0]) if args else None
    plain = [target, *[unwrap(a) for a in args[1:]]] if args else []
    named = {k: unwrap(v) for k, v in kwargs.items()}
    for name in _TARGETS.intersection(kwargs):
        named[name] = for_writing(kwargs[name])
    return wrap_result(invoke(function, plain, named), [*args, *kwargs.values()])


_TARGETS = frozenset({"dst", "a", "arr", "x"})


_ARRAYS_OR_MORE = frozenset({_np_array, list, tuple})


def wrap_result(r: Any, handles: Iterable[Any] = ()) -> Any:
    """Return NumPy's result as ours; what aliases an operand aliases its handle."""
    kind = type(r)
    if kind is _np_array:
        return _wrap_array(r, handles)
    if kind is tuple or kind is list:
        if _ARRAYS_OR_MORE.isdisjoint(map(type, r)):
            return r
        made = [
            _wrap_array(e, handles) if type(e) is _np_array else wrap_result(e, handles) for e in r
        ]
        return made if kind is list else tuple(made)
    if isinstance(r, tuple) and hasattr(r, "_fields"):
        return kind(*[wrap_result(e, handles) for e in r])
    if kind is dict:
        return {k: wrap_result(v, handles) for k, v in r.items()}
    return r._operand if type(kind) is stands.StandType else r


def result_of(r: np.ndarray, handle: ndarray) -> ndarray:
    """Return the array that a method of ``handle`` gave as ours."""
    own = handle._np
    if own is not None and r is not own:
        base = r.base
        if base is None:
            if r.size >= config.eager_below:
                return wrap(r)
            made: ndarray = bare()
            made._np = r
            return made
        if base is own or base is own.base:
            return small(r, handle)  # whose own base is looked up when it is asked for
    return _wrap_array(r, (handle,))


def given_by(r: Any, handle: ndarray) -> Any:
    """Return what a method of ``handle`` gave as ours."""
    if type(r) is _np_array:
        return result_of(r, handle)
    return wrap_result(r, (handle,)) if type(r) is tuple else r


def _wrap_array(r: np.ndarray, handles: Iterable[Any]) -> ndarray:
    nested: list[Any] = []
    for x in handles:
        if type(x) is not ndarray:
            if issubclass(type(x), _np_array) and (r is x or _root(r) is _root(x)):
                return adopt(r)
            if type(x) not in PLAIN:
                nested += _handles_in(x)
            continue
        own = x._np
        if own is r:
            return x
        if own is not None:
            if r.base is not None and (r.base is own or r.base is own.base):
                return small(r, x)
        else:
            alias = _alias_of(r, x)
            if alias is not None:
                return alias
    if nested:
        return _wrap_array(r, nested)
    return wrap(r)


def _handles_in(x: Any) -> Sequence[Any]:
    """Return where NumPy may have found arrays: the first of a sequence, what was converted."""
    if type(x) is list or type(x) is tuple:
        return x[:_LOOKED_AT]
    return stands.taken_lately() if stands.is_stood_for(type(x)) else ()


def _root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, _np_array):
        array = array.base
    return array


def _within(r: np.ndarray, memory: np.ndarray) -> bool:
    low, high = np.lib.array_utils.byte_bounds(r)
    first, last = np.lib.array_utils.byte_bounds(memory)
    return first <= low and high <= last


def _alias_of(r: np.ndarray, x: ndarray) -> ndarray | None:
    memory = x._buf.memory_here()
    if memory is None or (r.base is None and r is not memory):
        return None
    if not r.size and x._readonly and r.base is not None and _root(r) is _root(memory):
        nothing = r.view()  # lies nowhere, but is read-only all the same
        nothing.flags.writeable = False
        return small(nothing)
    if not np.may_share_memory(r, memory) or not _within(r, memory):
        return None
    geometry = geometry_of(r, memory)
    if geometry == x._geo:
        return x
    base = x if x._base is None else x._base
    writeable = r.flags.num & _WRITEABLE  # asked by name, what was broadcast warns
    readonly = x._readonly or not writeable  # whose memory others may write to
    return managed(x._buf, geometry, base, readonly=readonly)
