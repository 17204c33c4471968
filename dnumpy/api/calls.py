"""Call NumPy with our arrays and give its results back as ours, aliases kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import (
    adopt,
    concrete,
    concrete_for_writing,
    geometry_of,
    managed,
    ndarray,
    small,
    wrap,
)
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_np_array = np.ndarray
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
    if kind is dict:
        return {k: unwrap(v) for k, v in x.items()}
    return _unwrap_rare(x)


def _unwrap_sequence(x: Any) -> Any:
    for e in x[:_LOOKED_AT]:
        kind = type(e)
        if kind is ndarray or kind is DeferredScalar or (
            (kind is list or kind is tuple) and e and _is_ours(e)
        ):
            return type(x)([unwrap(e) for e in x])
    return x


def _is_ours(x: Any) -> bool:
    kind = type(x)
    if kind is ndarray or kind is DeferredScalar:
        return True
    return bool((kind is list or kind is tuple) and x and any(_is_ours(e) for e in x[:_LOOKED_AT]))


def _unwrap_rare(x: Any) -> Any:
    native = getattr(type(x), "__dnumpy_native__", None)
    if native is not None:
        return native(x)
    return x


def for_writing(x: Any) -> Any:
    """Return an operand that NumPy will write to."""
    if type(x) is ndarray:
        return concrete_for_writing(x)
    if type(x) is tuple:
        return tuple(for_writing(e) for e in x)
    return x


def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's ``function`` now; ``out`` is written in place."""
    plain = [unwrap(a) for a in args]
    handles: list[Any] = list(args)
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        plain[function.nin :] = [for_writing(a) for a in args[function.nin :]]
    elif len(args) == _REDUCE_ARGS and args[-1] is not None and _is_fold(function):
        plain[-1] = for_writing(args[-1])
    if kwargs:
        out = kwargs.get("out")
        named = {k: unwrap(v) for k, v in kwargs.items()}
        if out is not None:
            named["out"] = for_writing(out)
            handles += out if type(out) is tuple else (out,)
        handles += [v for v in kwargs.values() if type(v) is ndarray]
        return wrap_result(function(*plain, **named), handles)
    return wrap_result(function(*plain), handles)


_REDUCE_ARGS = 4


def _is_fold(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), np.ufunc)


def run_writing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function that writes to its first argument."""
    target = for_writing(args[0]) if args else None
    plain = [target, *[unwrap(a) for a in args[1:]]] if args else []
    named = {k: unwrap(v) for k, v in kwargs.items()}
    for name in _TARGETS.intersection(kwargs):
        named[name] = for_writing(kwargs[name])
    return wrap_result(function(*plain, **named), [*args, *kwargs.values()])


_TARGETS = frozenset({"dst", "a", "arr", "x"})


def wrap_result(r: Any, handles: Iterable[Any] = ()) -> Any:
    """Return NumPy's result as ours; what aliases an operand aliases its handle."""
    kind = type(r)
    if kind is _np_array:
        return _wrap_array(r, handles)
    if kind is tuple or kind is list:
        if any(type(e) is _np_array or type(e) in (list, tuple) for e in r):
            return kind([wrap_result(e, handles) for e in r])
        return r
    if isinstance(r, tuple) and hasattr(r, "_fields"):
        return kind(*[wrap_result(e, handles) for e in r])
    if kind is dict:
        return {k: wrap_result(v, handles) for k, v in r.items()}
    return r


def _wrap_array(r: np.ndarray, handles: Iterable[Any]) -> ndarray:
    for x in handles:
        if type(x) is not ndarray:
            if isinstance(x, _np_array) and (r is x or _root(r) is _root(x)):
                return adopt(r)
            continue
        own = x._np
        if own is r:
            return x
        if own is not None:
            if r.base is not None and (r.base is own or r.base is own.base):
                return small(r, x if (kept := getattr(x, "_base", None)) is None else kept)
        else:
            alias = _alias_of(r, x)
            if alias is not None:
                return alias
    return wrap(r)


def _root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, _np_array):
        array = array.base
    return array


def _alias_of(r: np.ndarray, x: ndarray) -> ndarray | None:
    memory = x._buf.memory_here()
    if memory is None:
        return None
    if _root(r) is not _root(memory) or not np.may_share_memory(r, memory):
        return None
    geometry = geometry_of(r, memory)
    if geometry == x._geo:
        return x
    base = x if x._base is None else x._base
    return managed(x._buf, geometry, base, readonly=not r.flags.writeable)
