"""The ufunc objects: NumPy's, with their methods, over arrays that may be managed."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls, chosen, lending, overrides, quick, stands
from dnumpy.api.array import bare, facts, from_expr, ndarray, peek, wrap
from dnumpy.api.layout import arranged, permuted, restored, result_order
from dnumpy.api.locks import writing
from dnumpy.api.record import (
    Unmanaged,
    element_operand,
    facts_of,
    grows,
    grows_in_pairs,
    is_lazy,
    resolve,
    result_of,
    ufunc_exprs,
    widens,
    write,
)
from dnumpy.api.shown import AS_NUMPYS, find_by_module
from dnumpy.api.stored import with_stored
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.origin import error_state, told_as
from dnumpy.kernels import fast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_np_array = np.ndarray
_TEXT = frozenset({str, bytes, np.str_, np.bytes_})
IMMEDIATE = frozenset({int, float, complex, bool}) | calls.NUMBERS | calls.TIMES | _TEXT
_NO_VALUE = np._NoValue
_NOT_RECORDED = frozenset({"order", "subok", "axes", "axis", "keepdims", "where", "out"})
_OUT_BY_NAME = frozenset({np.maximum, np.minimum})  # NumPy warns of an ``out`` by position
_POWERS = frozenset({np.power, np.float_power})
_NOTHING = np.empty(0)
_registry: dict[np.ufunc, ufunc] = {}
_folds: list[Any] = []  # what records ``reduce``: given by the reductions, built on ufuncs
_generalised: list[Any] = []  # what records generalised ufuncs, likewise
_methods: dict[str, Callable[..., Any]] = {}  # what records the other methods, likewise


def record_generalised_with(record: Any) -> None:
    """Let ``record`` be what records a generalised ufunc."""
    _generalised[:] = [record]


def record_method_with(name: str, record: Callable[..., Any]) -> None:
    """Let ``record`` be what the method ``name`` of ufuncs calls for managed arrays."""
    _methods[name] = record


def fold_with(record: Any) -> None:
    """Let ``record`` be what ``ufunc.reduce`` calls for managed arrays."""
    _folds[:] = [record]


class _UfuncType(type):
    __module__ = AS_NUMPYS

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        return super().__new__(mcs, f"numpy.{name}", bases, namespace)  # as Python's messages say

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__

    def __repr__(cls) -> str:
        return f"<class 'numpy.{cls.__qualname__}'>"

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or isinstance(instance, np.ufunc)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ufunc, name)


find_by_module(_UfuncType)


class _Told:
    """An attribute of NumPy's ufunc. A class with a ``__getattr__`` is slow to read its slots."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, ours: Any, kind: type) -> Any:
        return getattr(np.ufunc if ours is None else ours._np, self._name)

    def __set__(self, ours: Any, value: Any) -> None:
        setattr(ours._np, self._name, value)  # raises


class ufunc(native.Callable, metaclass=_UfuncType):  # noqa: D101 - NumPy's, per instance
    __slots__ = ("__dict__", "__weakref__")

    def __init__(self, wrapped: np.ufunc) -> None:
        self._np = wrapped
        simple = wrapped.nout == 1 and wrapped.nin <= 2 and wrapped.signature is None
        self._plain = wrapped.nin if simple else -1  # operands of a call that needs no more looks
        self._row = quick.row_of(wrapped)
        self.__name__ = wrapped.__name__
        if hasattr(wrapped, "__qualname__"):  # which those made by ``frompyfunc`` lack
            self.__qualname__ = wrapped.__qualname__

    def _called(self, x: Any = _NO_VALUE, /, *others: Any, **kwargs: Any) -> Any:
        """Apply elementwise; as ``numpy.ufunc.__call__``."""
        kind = type(x)
        a = x._np if kind is ndarray else x if kind in IMMEDIATE else None
        if a is None:
            r = self._of_managed(x, others) if kind is ndarray and not kwargs else None
            if r is not None:
                return r
        elif kwargs:
            out = kwargs.get("out")
            if type(out) is tuple and len(out) == 1:
                kwargs["out"] = out = out[0]
            if self._into_small(a, others, **kwargs):
                return out
        elif not others:
            r = self._np(a)
            if type(r) is _np_array:
                made = bare()
                made._np = r
                return made
            return calls.wrap_result(r) if type(r) is tuple else r
        elif self._plain == 2 and len(others) == 1:
            b = at_hand(others[0])
            if b is not None and not (grows(x, *others) or widens(self._np, x, *others)):
                return as_ours(self._np(a, b))
        return call(self._np, others if x is _NO_VALUE else (x, *others), kwargs)

    def _of_managed(self, x: ndarray, others: tuple[Any, ...]) -> Any:
        """Return the result for a managed array; None where that needs another look."""
        if len(others) + 1 != self._plain:
            return None
        a = peek(x)
        if a is not None and not widens(self._np, x, *others):
            if not others:
                return as_ours(self._np(a))
            b = at_hand(others[0])
            return None if b is None or grows(x, others[0]) else as_ours(self._np(a, b))
        row = self._row
        if row is None:
            return None
        return quick.binary(row, x, others[0]) if others else quick.unary(row, x)

    def _into_small(
        self, a: Any, others: tuple[Any, ...], out: Any = None, where: Any = True, **more: Any
    ) -> bool:
        """Write the result of operands at hand to a small ``out``; False where it is another."""
        if type(out) is not ndarray or out._np is None or more or len(others) + 1 != self._plain:
            return False
        mask = where if where is True else where._np if type(where) is ndarray else None
        b = at_hand(others[0]) if others else True
        if mask is None or b is None:
            return False
        if others:
            self._np(a, b, out=out._np, where=mask)
        else:
            self._np(a, out=out._np, where=mask)
        return True

    def __repr__(self) -> str:
        """Return NumPy's repr."""
        return repr(self._np)

    def __eq__(self, other: object) -> bool:
        """Count as NumPy's ufunc, which C code hands to an ``__array_ufunc__`` with a table."""
        return other is self or other is self._np

    def __hash__(self) -> int:
        """Return the hash of NumPy's ufunc."""
        return hash(self._np)

    def __reduce__(self) -> Any:
        """Pickle by the NumPy ufunc."""
        return of, (self._np,)

    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Any:
        """Fold one or more axes; as ``numpy.ufunc.reduce``."""
        kwargs: dict[str, Any] = {} if initial is _NO_VALUE else {"initial": initial}
        if keepdims is not False:
            kwargs["keepdims"] = keepdims
        if where is not True:
            kwargs["where"] = where
        if is_lazy(array):
            found = _folds[0](self._np, array, axis, dtype, out, **kwargs)
            if found is not NotImplemented:
                return found
        plain = axis == 0 and dtype is None and out is None and not kwargs
        if plain and (type(array) is list or type(array) is tuple) and _are_alike(self._np, array):
            return _in_turn(self, array)
        return self._run("reduce", (array, axis, dtype), out, kwargs)

    def accumulate(self, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Running fold along an axis; as ``numpy.ufunc.accumulate``."""
        if is_lazy(array):
            found = _methods["accumulate"](self._np, array, axis, dtype, out)
            if found is not NotImplemented:
                return found
        return self._run("accumulate", (array, axis, dtype), out, {})

    def reduceat(
        self, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Fold slices; as ``numpy.ufunc.reduceat``."""
        if is_lazy(array):
            found = _methods["reduceat"](self._np, array, indices, axis, dtype, out)
            if found is not NotImplemented:
                return found
        return self._run("reduceat", (array, indices, axis, dtype), out, {})

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """Apply to all pairs; as ``numpy.ufunc.outer``."""
        of_pairs = len(args) == self._np.nin == 2 and self._np.signature is None  # else NumPy says
        if of_pairs and (is_lazy(args[0]) or is_lazy(args[1]) or grows_in_pairs(*args)):
            left, right = (x if hasattr(x, "ndim") else np.asarray(x) for x in args)
            if left.ndim:
                left = left[(..., *[None] * right.ndim)]
            return self(left, right, **kwargs)
        return self._run("outer", args, None, kwargs)

    def at(self, *args: Any) -> Any:
        """Unbuffered in-place operation; as ``numpy.ufunc.at``."""
        if len(args) > 1 and is_lazy(args[0]) and _methods["at"](self._np, *args):
            return None
        with writing(*args[:1]):
            self._np.at(*map(calls.for_writing, args[:1]), *map(calls.unwrap, args[1:]))
        return None

    def _run(self, method: str, args: tuple[Any, ...], out: Any, kwargs: dict[str, Any]) -> Any:
        if out is not None:
            kwargs["out"] = out
        return calls.run(getattr(self._np, method), args, kwargs)


def _asking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method, which hands a call as it was written to classes that override it."""

    @wraps(method)
    def asked(self: ufunc, /, *args: Any, **kwargs: Any) -> Any:
        if overrides.overridden((*args, *kwargs.values()), "__array_ufunc__"):
            return overrides.call_ufunc(self, name, args, kwargs)
        if not lending.takes(method, len(args) + 1, kwargs):
            return calls.run(getattr(self._np, name), args, kwargs)  # which says why not
        return method(self, *args, **kwargs)

    return asked


_MOST_IN_TURN = 32
_LEAST_IN_TURN = 1 << 12  # elements of each: fewer are joined as soon as one call is made


def _are_alike(wrapped: np.ufunc, arrays: Sequence[Any]) -> bool:
    """Say whether NumPy would fold arrays one by one, in their own dtype, once it has joined them.

    So that what they would be copied into need not be made.
    """
    if not 1 < len(arrays) <= _MOST_IN_TURN or wrapped.nin != 2 or wrapped.nout != 1:
        return False
    first = arrays[0]
    if type(first) is not ndarray or first.size < _LEAST_IN_TURN:
        return False
    shape, dtype = first.shape, first.dtype
    if dtype.kind not in "biufc" or wrapped.signature is not None:
        return False
    try:
        types = wrapped.resolve_dtypes((None, dtype, None), reduction=True)
    except TypeError:
        return False
    alike = all(type(x) is ndarray and x.shape == shape and x.dtype == dtype for x in arrays)
    return alike and set(types) == {dtype}


def _in_turn(fold: ufunc, arrays: Sequence[Any]) -> Any:
    found = fold(arrays[0], arrays[1])
    for x in arrays[2:]:
        found = fold(found, x)
    return found


native.give_call(ufunc, ufunc._called)
for _name, _arrays in {"reduce": 1, "accumulate": 1, "reduceat": 2, "outer": 2, "at": 3}.items():
    _theirs, _ours = getattr(np.ufunc, _name), _asking(_name, getattr(ufunc, _name))
    vars(_ours)["__wrapped__"] = _theirs
    _soon = native.FASTER_OF_UFUNCS.get(_name, _theirs)
    _kind = "pairs" if _name == "outer" else "ufunc"
    setattr(ufunc, _name, native.method(_ours, _soon, _kind, arrays=_arrays))
for _name in set(dir(np.ufunc)) - set(dir(ufunc)) | {"__signature__"}:
    setattr(ufunc, _name, _Told(_name))


def of(wrapped: np.ufunc) -> ufunc:
    """Return the one ufunc object for a NumPy ufunc."""
    found = _registry.get(wrapped)
    if found is None:
        found = _registry[wrapped] = ufunc(wrapped)
    return found


def ours_for(x: Any) -> Any:
    """Return our ufunc for one of NumPy's, and anything else as it is."""
    return of(x) if type(x) is np.ufunc else x


stands.speak_of_ufuncs_with(ours_for)


def frompyfunc(*args: Any, **kwargs: Any) -> ufunc:
    """Return a ufunc of a function of the program's; as ``numpy.frompyfunc``."""
    return of(np.frompyfunc(*args, **kwargs))


def call(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc: recorded when an operand is managed, at once otherwise."""
    args, kwargs = _with_named_out(wrapped, args, kwargs) if len(args) == 3 else (args, kwargs)
    wants_engine, remarkable = _looked_over(args)
    plain = wants_engine and not (remarkable or kwargs)
    if plain and (found := _recorded_plainly(wrapped, args)) is not None:
        return found
    if remarkable and (taken_in := with_stored(args)) is not args:
        return call(wrapped, taken_in, kwargs)
    if remarkable or kwargs:
        given = (*args, *kwargs.values()) if kwargs else args
        if overrides.overridden(given, "__array_ufunc__"):
            return overrides.call_ufunc(of(wrapped), "__call__", args, kwargs)
    if not wants_engine:
        wants_engine = native.records_between() or _wants_engine_though_small(wrapped, args, kwargs)
    taken = args if wants_engine else lending.adopted(args) if remarkable else None
    if taken is not None and (wrapped.signature is not None or not errors_raise()):
        try:
            return lending.call(_recorder(wrapped), taken, kwargs, taken[wrapped.nin :])
        except Unmanaged:
            pass
    return calls.run(wrapped, args, kwargs)


def _looked_over(args: tuple[Any, ...]) -> tuple[bool, bool]:
    """Say whether an operand is managed, and whether one is no array of ours and no number."""
    wants_engine = remarkable = False
    for x in args:
        if is_lazy(x):
            wants_engine = True
        elif type(x) is not ndarray and type(x) not in IMMEDIATE:
            remarkable = True
    return wants_engine, remarkable


def _recorded_plainly(wrapped: np.ufunc, args: tuple[Any, ...]) -> Any:
    """Return what C records of plain operands, as steps of our functions; None where it cannot."""
    row = of(wrapped)._row if native.built else None
    return None if row is None else native.record_op(row, *args)


def _wants_engine_though_small(
    wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Say whether what small operands are written to asks for the engine, or what they make."""
    if not kwargs:
        if len(args) != wrapped.nin or wrapped.signature is not None:
            return False
        return grows(*args) or widens(wrapped, *args)
    out = kwargs.get("out")
    outs = out if type(out) is tuple else (out,)
    return any(is_lazy(o) for o in outs) or is_lazy(kwargs.get("where"))


def _with_named_out(
    wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments without an output by position, if NumPy may warn of it; it does so here."""
    if wrapped not in _OUT_BY_NAME or "out" in kwargs:
        return args, kwargs
    wrapped(_NOTHING, _NOTHING, _NOTHING)
    return args[:2], {**kwargs, "out": args[2]}


def _recorder(wrapped: np.ufunc) -> Callable[..., Any]:
    """Return what records a call of the ufunc; it raises Unmanaged for what NumPy must run."""
    record = _record if wrapped.signature is None else _generalised[0]
    return lambda *args, **kwargs: record(wrapped, args, kwargs)


def errors_raise() -> bool:
    """Under ``errstate(...='raise')`` NumPy raises at the call, so the call cannot be deferred."""
    return error_state().at_once


def _may_raise(base: Expr | Const, exponent: Expr | Const) -> bool:
    """Say whether a power is one of integers, which raises for negative exponents."""
    if facts_of(base).dtype.kind not in "biu" or facts_of(exponent).dtype.kind != "i":
        return False
    return isinstance(exponent, Expr) or exponent.value < 0


def _repeats_along_rows(base: Expr | Const, exponent: Expr | Const) -> bool:
    """Say whether rows of a power have one exponent each, and are more than one.

    Whether it is 0.5, so that roots are taken, NumPy asks where its loop meets one exponent for
    many elements; its iterator copies those of short rows, so that the loop meets many.
    """
    if not isinstance(base, Expr) or not isinstance(exponent, Expr) or exponent.size == 1:
        return False
    if base.dtype.kind in "biu" and exponent.dtype.kind in "biu":
        return False
    return base.ndim > 0 and base.shape[-1] > 1 and exponent.shape[-1] == 1


def _is_numpys_power(wrapped: np.ufunc, exponent: Any, operands: list[Any]) -> bool:
    """Say whether only NumPy's iterator, or its loop, knows what comes of a power."""
    raises = wrapped is np.power and _may_raise(*operands)
    return raises or _repeats_along_rows(*operands) or _is_spread(exponent)


def _is_spread(exponent: Any) -> bool:
    """Say whether an exponent is an array whose elements are met more than once."""
    is_array = isinstance(exponent, np.ndarray | ndarray)
    return is_array and 0 in exponent.strides


def _record(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for x in args:
        if type(x) is ndarray and x._np is None and type(x._buf) is chosen.Chosen:
            found = chosen.call(wrapped, args, kwargs)
            return _record_whole(wrapped, args, kwargs) if found is NotImplemented else found
    return _record_whole(wrapped, args, kwargs)


def _record_whole(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given_twice = len(args) > wrapped.nin and "out" in kwargs
    outs = kwargs.pop("out", None)
    mask = kwargs.pop("where", True)
    mask = True if mask is _NO_VALUE else mask
    keeps_array = outs is ...
    if keeps_array:
        outs = None
    if given_twice or type(kwargs.pop("subok", True)) is not bool:
        raise Unmanaged  # NumPy says why
    if len(args) > wrapped.nin:
        outs, args = args[wrapped.nin :], args[: wrapped.nin]
    if kwargs.get("order", "K") != "K" or _NOT_RECORDED.intersection(kwargs) - {"order"}:
        raise Unmanaged
    kwargs.pop("order", None)
    if len(args) != wrapped.nin:
        raise Unmanaged
    outs = _as_outs(outs, wrapped.nout)
    if mask is not True:
        mask = _mask(mask, outs)
    args, written, mask = _in_memory_order(args, outs or (), mask)
    placed, axes = (args, None) if outs else arranged(args)
    operands = [element_operand(x) for x in placed]
    if wrapped in _POWERS and _is_numpys_power(wrapped, args[1], operands):
        raise Unmanaged
    wrapped = _as_accurate_as_asked(wrapped, operands, kwargs)
    if outs is None:
        made = from_expr if keeps_array else result_of
        results = [made(e) for e in ufunc_exprs(wrapped, operands, kwargs)]
        if axes is not None:
            results = [restored(r, axes) for r in results]
        return results[0] if len(results) == 1 else tuple(results)
    _record_into(wrapped, operands, kwargs, written, None if mask is True else mask)
    return outs[0] if len(outs) == 1 else outs


def _as_accurate_as_asked(
    wrapped: np.ufunc, operands: list[Expr | Const], kwargs: dict[str, Any]
) -> np.ufunc:
    """Return what computes ``wrapped`` on operands of one dtype as accurately as is asked for."""
    if config.accuracy == "exact" or kwargs:
        return wrapped
    dtypes = {facts_of(x).dtype for x in operands if isinstance(x, Expr)}
    if len(dtypes) != 1 or not dtypes <= fast.DTYPES:
        return wrapped
    (dtype,) = dtypes
    same = resolve(wrapped, operands)[0] == dtype
    return (fast.instead(wrapped, dtype) or wrapped) if same else wrapped


def _in_memory_order(args: Any, outs: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Return operands, outputs and mask with their axes in the order of the one output's memory."""
    order = result_order(outs) if len(outs) == 1 else None
    given = [np.asarray(x) if type(x) in (list, tuple) else x for x in (*args, mask)]
    if order is None or any(getattr(x, "ndim", 0) > len(order) for x in given):
        return args, outs, mask
    *args, mask = [permuted(x, order) for x in given]
    return args, (permuted(outs[0], order),), mask


def _mask(mask: Any, outs: Any) -> Any:
    """Return a mask that can be recorded; lists are converted, arrays must be boolean."""
    if type(mask) is list or type(mask) is tuple:
        mask = np.array(calls.unwrap(mask), bool)
    if outs is None or getattr(mask, "dtype", None) != np.dtype(bool):
        raise Unmanaged
    return mask


def _as_outs(outs: Any, count: int) -> tuple[Any, ...] | None:
    if outs is None:
        return None
    outs = outs if type(outs) is tuple else (outs,)
    if all(o is None for o in outs):
        return None
    if len(outs) != count or not all(type(o) is ndarray and o._np is None for o in outs):
        raise Unmanaged
    return outs


def _record_into(
    wrapped: np.ufunc, operands: list[Any], kwargs: dict[str, Any], outs: tuple[Any, ...], mask: Any
) -> None:
    if any(o._readonly for o in outs) or any(o._buf.shared for o in outs):
        raise Unmanaged
    casting = kwargs.get("casting", "same_kind")
    try:
        exprs = ufunc_exprs(wrapped, operands, kwargs, mask, outs)
    except ValueError as error:  # NumPy looks at the casts first and may say something else
        raise Unmanaged from error
    if mask is not None and any(
        facts(o).dtype != e.dtype for o, e in zip(outs, exprs, strict=True)
    ):
        raise Unmanaged  # what the mask leaves out keeps its value in the dtype of ``out``
    for out, expr in zip(outs, exprs, strict=True):
        shape, dtype = facts(out)
        if not np.can_cast(expr.dtype, dtype, casting) or expr.shape != shape:
            if (
                expr.shape == ()
                and not isinstance(expr, Const)
                and np.can_cast(expr.dtype, dtype, casting)
            ):
                continue
            raise Unmanaged  # NumPy says why
    with told_as(wrapped.__name__):  # NumPy casts within the ufunc's loop
        for out, expr in zip(outs, exprs, strict=True):
            if expr.dtype.kind == "c":
                np.empty(0, expr.dtype).astype(facts(out).dtype)  # warns of discarded parts
            write(out, expr)


def as_ours(r: Any) -> Any:
    """Return what a ufunc made of small arrays and scalars as ours."""
    if type(r) is not _np_array:
        return calls.wrap_result(r) if type(r) is tuple else r
    if r.size < config.eager_below:
        made = bare()
        made._np = r
        return made
    return wrap(r)


def at_hand(x: Any) -> Any:
    """Return what NumPy is given for a small array, a small view or a scalar; None for others."""
    if type(x) is not ndarray:
        return x if type(x) in IMMEDIATE else None
    a = x._np
    return peek(x) if a is None else a
