"""One public function per NumPy function: native when an operand is managed, NumPy otherwise."""

from __future__ import annotations

import types
import warnings
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import callables, calls, docs, lending, lone, middling, overrides, replays
from dnumpy.api.array import ndarray, peek, wrap
from dnumpy.api.lending import asks_engine, recorded_by
from dnumpy.api.native import AT_ONCE, BUILTIN, CREATION, NATIVE
from dnumpy.api.record import grows as _grow
from dnumpy.api.record import grows_in_pairs
from dnumpy.api.stored import with_stored
from dnumpy.config import memory_limit_bytes
from dnumpy.errors import FallbackWarning, GatherTooLarge
from dnumpy.expr.origin import here
from dnumpy.runtime.chunked import Chunked

if TYPE_CHECKING:
    from collections.abc import Callable

# functions of NumPy that write to their first argument
WRITING = frozenset({
    "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "copyto", "nan_to_num",
})  # fmt: skip

fallbacks: dict[tuple[str, str, int], list[int]] = {}  # (name, file, line) -> [calls, bytes]
_warned: set[str] = set()


def function(
    name: str, wrapped: Callable[..., Any], qualified: str, kind: str
) -> Callable[..., Any]:
    """Return the public function for NumPy's ``wrapped``: one, whatever its names.

    ``kind`` is its class in the table, which its documentation tells.
    """
    known = overrides.registered(wrapped)
    if known is not None:
        return known
    key = qualified.removeprefix("numpy.")
    is_builtin = isinstance(wrapped, types.BuiltinFunctionType)
    made = CREATION.get(key)
    kind_of_call = _CREATED_FROM.get(key)
    if made is None:
        made = _dispatched(NATIVE.get(key), wrapped, qualified)
        kind_of_call = "writes" if _writes(qualified) else lone.kind_of(key)
    if is_builtin and key not in BUILTIN:
        made = callables.in_module(made)
    _describe(made, wrapped, qualified, kind)
    public: Any = made
    if is_builtin:
        public = callables.builtin(made, wrapped)
    elif callables.has_methods(wrapped):
        public = callables.CallableObject(
            made,
            wrapped,
            lambda method, inner: function(inner, method, f"{qualified}.{inner}", kind),
        )
        kind_of_call = None
    if kind_of_call is not None:
        at_once = AT_ONCE.get(key, wrapped)
        again = replays.of(NATIVE.get(key))
        public = native.function(
            public, at_once, calls.PLAIN, kind_of_call, binds=not is_builtin, records=again,
            waits=_recording(key, wrapped, qualified), many=middling.FUNCTIONS.get(key),
        )  # fmt: skip
        if is_builtin and native.built:
            public.__wrapped__ = wrapped
    overrides.register(wrapped, public)
    return public


def _recording(key: str, wrapped: Any, qualified: str) -> Callable[..., Any] | None:
    """Return what records a function where a loop's operations wait; None where it does not."""
    if key not in replays.MIDDLING:
        return None
    considered = _considered(NATIVE[key], wrapped, qualified)
    return lambda *args, **kwargs: considered(args, kwargs)


def _writes(qualified: str) -> bool:
    """Say whether a function of NumPy's writes to its first argument."""
    return qualified.rpartition(".")[2] in WRITING


def _describe(made: Any, wrapped: Any, qualified: str, kind: str) -> None:
    module, _, name = qualified.rpartition(".")
    own = getattr(wrapped, "__name__", name)
    if module == "numpy" and getattr(np, own, None) is wrapped:
        name = own  # concat is concatenate
    made.__name__ = name
    made.__qualname__ = name
    docs.describe(made, wrapped, kind)
    made.__module__ = "dnumpy" + module.removeprefix("numpy")
    implementation = getattr(wrapped, "_implementation", None)
    if implementation is not None:  # what numpy.ndarray.__array_function__ calls
        made._implementation = lambda *args, **kwargs: calls.run(implementation, args, kwargs)


_np_array = np.ndarray
_FRESH = 2  # references to an array that nobody else holds: a parameter and the count's own
# the arguments with which functions that make arrays may be NumPy's: see dnumpy.native
_CREATED_FROM = {
    "zeros": "shape", "ones": "shape", "empty": "shape", "array": "list", "arange": "range",
    "asarray": "itself", "asanyarray": "itself", "full": "shape", "eye": "square",
    "identity": "square", "tri": "square", "copyto": "writes",
}  # fmt: skip


def _dispatched(
    ours: Callable[..., Any] | None, wrapped: Any, qualified: str
) -> Callable[..., Any]:
    """Return the public function: small operands go to NumPy, managed ones to ``ours``."""
    considered = _considered(ours, wrapped, qualified)
    if _writes(qualified):

        def writing(*args: Any, **kwargs: Any) -> Any:
            return considered(args, kwargs)

        return writing
    quick = _quick(AT_ONCE.get(qualified.removeprefix("numpy."), wrapped), wrapped, considered)
    grows = _GROWING.get(qualified.removeprefix("numpy."))
    if grows is None:
        return quick

    def growing(*args: Any, **kwargs: Any) -> Any:
        return considered(args, kwargs) if grows(*args) else quick(*args, **kwargs)

    return growing


def _pairs_grow(*args: Any) -> bool:
    """Say whether two arrays, and nothing else, make a large one of their pairs."""
    return len(args) == 2 and grows_in_pairs(*args)


_GROWING: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(lone.FITTED, _grow), **dict.fromkeys(lone.IN_PAIRS, _pairs_grow),
}  # fmt: skip


def _quick(
    function: Callable[..., Any], wrapped: Any, considered: Callable[..., Any]
) -> Callable[..., Any]:
    """Return what calls ``function`` with small arrays, and ``considered`` with all else."""

    def public(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return considered(args, kwargs)
        if len(args) == 2:
            x, y = args
            if type(x) is ndarray and type(y) is ndarray:
                a, b = x._np, y._np
                if a is None or b is None:
                    a, b = _read(x, args, wrapped), _read(y, args, wrapped)
                    if a is None or b is None:
                        return considered(args, kwargs)
                r = function(a, b)
                if type(r) in calls.PLAIN:
                    return r
                fresh = type(r) is _np_array and r.base is None and r is not a and r is not b
                return wrap(r) if fresh else calls.wrap_result(r, args)
        plain = _small_values(args, wrapped)
        if plain is None:
            return considered(args, kwargs)
        return _given_back(function(*plain), args)

    return public


def _given_back(r: Any, args: tuple[Any, ...]) -> Any:
    """Return a result of small arrays as ours."""
    if type(r) is not _np_array:
        kept = type(r) in calls.PLAIN or calls.is_kin(r)
        return r if kept else calls.wrap_result(r, args)
    if r.base is not None or getrefcount(r) > _FRESH:  # it may be one of the operands
        return calls.wrap_result(r, args)
    return wrap(r)


def _considered(
    ours: Callable[..., Any] | None, wrapped: Any, qualified: str
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return what calls the function with operands of any kind."""
    runner = calls.run_writing if _writes(qualified) else calls.run
    dispatches = isinstance(wrapped, callables.DISPATCHING)
    reader = None if _writes(qualified) else ours
    grows = _GROWING.get(qualified.removeprefix("numpy."))

    def considered(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = lending.recorded_at_once(ours, args, kwargs)
        if found is not NotImplemented:
            return found
        args = with_stored(args)
        if (dispatches or "like" in kwargs) and overrides.overridden(
            (*args, *kwargs.values()), "__array_function__"
        ):
            return overrides.call_function(wrapped, args, kwargs)
        asked = asks_engine(args, kwargs)
        if asked or (grows is not None and grows(*args)):
            found = NotImplemented if ours is None else recorded_by(ours, args, kwargs)
            if found is not NotImplemented:
                return found
            if asked:
                _note_gather(qualified, args, kwargs)
        elif reader is not None and (taken := lending.adopted(args)) is not None:
            writes = "out" in kwargs or len(args) > calls.out_position(wrapped)
            found = NotImplemented if writes else recorded_by(reader, taken, kwargs)
            if found is not NotImplemented:
                return found
        return runner(wrapped, args, kwargs)

    return considered


def _read(x: ndarray, args: tuple[Any, ...], wrapped: Any) -> np.ndarray | None:
    """Return an array that NumPy may read now, and that is not where it writes its result."""
    if x._np is not None:
        return x._np
    found = peek(x)
    return None if found is None or len(args) > calls.out_position(wrapped) else found


def _small_values(args: tuple[Any, ...], wrapped: Any) -> list[Any] | None:
    """Return what NumPy is given for small arrays and plain values; None if there is else."""
    plain: list[Any] = []
    for a in args:
        kind = type(a)
        if kind is ndarray:
            value: Any = a._np if a._np is not None else _read(a, args, wrapped)
        elif kind in calls.PLAIN:
            plain.append(a)
            continue
        elif kind is list or kind is tuple:
            value = _small_sequence(a)
        else:
            value = a if calls.is_kin(a) else None
        if value is None:
            return None
        plain.append(value)
    return plain


_MOST_ROWS = 16  # lists in a list that is looked through


def _small_rows(sequence: Any) -> Any:
    """Return what NumPy is given for a list or tuple of lists or tuples; None as below."""
    rows = []
    for row in sequence:
        kind = type(row)
        found = _small_sequence(row) if kind is list or kind is tuple else None
        if found is None:
            return None
        rows.append(found)
    return rows if type(sequence) is list else tuple(rows)


def _small_sequence(sequence: Any) -> Any:
    """Return what NumPy is given for a list or tuple; None where that needs another look."""
    if not sequence:
        return sequence
    first = type(sequence[0])
    if (first is list or first is tuple) and len(sequence) <= _MOST_ROWS:
        return _small_rows(sequence)
    if first is not ndarray:
        return sequence if calls.PLAIN.issuperset(map(type, sequence[:8])) else None
    found = [e._np for e in sequence if type(e) is ndarray and e._np is not None]
    if len(found) < len(sequence):
        return None
    return found if type(sequence) is list else tuple(found)


def _note_gather(qualified: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Account for a fallback; warn once per function when bytes really move."""
    moved, total = _gathered_bytes([*args, *kwargs.values()])
    origin = here()
    entry = fallbacks.setdefault((qualified, origin.file, origin.line), [0, 0])
    entry[0] += 1
    entry[1] += total
    if not moved:
        return
    if moved > memory_limit_bytes():
        msg = (
            f"{qualified} has no distributed form and would gather {moved:,} bytes; "
            f"config.memory_limit allows {memory_limit_bytes():,}. Reduce or slice it first."
        )
        raise GatherTooLarge(msg)
    if qualified not in _warned:
        _warned.add(qualified)
        text = f"{qualified} gathers {moved:,} bytes: it has no distributed form yet"
        warnings.warn_explicit(text, FallbackWarning, origin.file, origin.line)


def _gathered_bytes(values: list[Any]) -> tuple[int, int]:
    moved = total = 0
    for v in values:
        if type(v) is ndarray and v._np is None:
            buffer = v._buf
            total += v.nbytes
            value = buffer.expr.value
            if type(value) is Chunked:
                moved += v.nbytes
        elif type(v) in (list, tuple):
            inner_moved, inner_total = _gathered_bytes(list(v))
            moved, total = moved + inner_moved, total + inner_total
    return moved, total
