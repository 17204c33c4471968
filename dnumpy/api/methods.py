"""What an ndarray can do: attributes, methods, operators, protocols."""

from __future__ import annotations

import operator
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import (
    attributes,
    calls,
    composites,
    contractions,
    items,
    lone,
    middling,
    operators,
    overrides,
    picks,
    printing,
    quick,
    receivers,
    replays,
    row_blocks,
    sorting,
    summed,
    ufuncs,
)
from dnumpy.api.array import (
    SEEN,
    bare,
    concrete,
    exported,
    is_managed_dtype,
    ndarray,
    peek,
    room,
    seen_in,
    small,
    wrap,
)
from dnumpy.api.buffer import LOCKS, Buffer, owns
from dnumpy.api.composites import through_ghost
from dnumpy.api.lending import recorded_at_once, recorded_by
from dnumpy.api.locks import writing
from dnumpy.api.native import NATIVE
from dnumpy.api.record import (
    BYTEWISE,
    Unmanaged,
    content,
    fresh,
    grows,
    is_lazy,
    operand,
    to_numpy,
    widens,
    write,
)
from dnumpy.api.ufuncs import IMMEDIATE
from dnumpy.api.walk import iterator
from dnumpy.config import config
from dnumpy.expr import unread
from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.geometry import Geometry
from dnumpy.ops.table import FULL
from dnumpy.runtime.dask_collection import while_pickled

if TYPE_CHECKING:
    from collections.abc import Callable

_np_array = np.ndarray


# ---------------------------------------------------------------- methods


def _method(name: str, ours: Callable[..., Any] | None, *, writes: bool) -> Callable[..., Any]:
    wrapped = getattr(_np_array, name)
    run = calls.run_writing if writes else calls.run

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        a = self._np
        if a is None and not writes:
            a = peek(self)
        plain = not args or (not writes and calls.PLAIN.issuperset(map(type, args)))
        if a is not None and plain and not kwargs:
            return calls.given_by(wrapped(a, *args), self)
        found = recorded_at_once(ours, (self, *args), kwargs)
        if found is not NotImplemented:
            return found
        if ours is not None and ((a is None and is_lazy(self)) or _any_lazy(args)):
            found = recorded_by(ours, (self, *args), kwargs)
            if found is not NotImplemented:
                return found
        return run(wrapped, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    numpys = native.FASTER_OF_ARRAYS.get(name, wrapped)
    return native.method(method, numpys, writes=writes, records=replays.of(ours))


def _any_lazy(args: tuple[Any, ...]) -> bool:
    return any(is_lazy(a) for a in args)


_METHOD_WRITES = frozenset({"byteswap", "fill", "partition", "put", "resize", "setfield", "sort"})
_METHOD_NATIVE = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "cumprod", "cumsum", "dot",
    "diagonal", "max", "mean", "min", "prod", "ravel", "round", "searchsorted", "squeeze", "std",
    "sum", "swapaxes", "var",
)  # fmt: skip
METHOD_PLAIN = (  # what NumPy runs, on gathered memory
    "byteswap", "choose", "compress", "dump", "dumps", "fill", "getfield", "item", "nonzero", "put",
    "repeat", "setfield", "take", "to_device", "tobytes", "tolist", "trace",
    *({"tostring"} & {*dir(_np_array)}),  # an older name of ``tobytes``
)  # fmt: skip


def _transpose(self: ndarray, *axes: Any) -> Any:
    a = self._np
    if a is not None:
        return calls.result_of(a.transpose(*axes), self)
    return through_ghost(self, lambda g: g.transpose(*axes))


def _reshape(self: ndarray, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    a = self._np
    if a is not None:
        if order == "C" and copy is None:
            r = a.reshape(*shape)
            if r.base is a:
                made = bare()
                made._np = r
                made._base = self
                return made
            return calls.result_of(r, self)
        return calls.result_of(a.reshape(*shape, order=order, copy=copy), self)
    if not shape or shape[0] is None:
        return through_ghost(self, lambda g: g.reshape(*shape))
    wanted = shape[0] if len(shape) == 1 else shape
    found = composites.reshape(self, wanted, order, copy=copy)
    if found is NotImplemented:
        return calls.wrap_result(concrete(self).reshape(*shape, order=order, copy=copy), (self,))
    return found


def _copy(self: ndarray, order: str = "C") -> Any:
    a = self._np
    if a is not None:
        made = bare()
        made._np = a.copy() if order == "C" else a.copy(order)  # type: ignore[arg-type]
        return made
    found = recorded_at_once(_copied, (self,) if order == "C" else (self, order), {})
    if found is NotImplemented:
        found = _copied(self, order)
    return calls.run(_np_array.copy, (self, order), {}) if found is NotImplemented else found


def _copied(a: ndarray, order: str = "C") -> Any:
    return composites.copy(a, order)


def _astype(self: ndarray, *args: Any, **kwargs: Any) -> Any:
    a = self._np
    if a is not None and a.dtype.kind == "O":  # whose elements may be arrays of ours
        return calls.run(_np_array.astype, (self, *args), kwargs)
    if a is not None and len(args) == 1 and not kwargs:
        made = bare()
        made._np = a.astype(args[0])
        return made
    return _astype_of(self, *args, **kwargs)


def _flatten(self: ndarray, order: str = "C") -> Any:
    if self._np is None and is_managed_dtype(self.dtype):
        flat = composites.ravel(self, order)
        if flat is not NotImplemented:
            return fresh(content(flat)) if flat._buf is self._buf else flat
    values: Any = concrete(self)
    return calls.wrap_result(values.flatten(order))


def _conjugate(self: ndarray, out: Any = None, /) -> Any:
    kind = self.dtype.kind
    if kind in "biuf" and type(out) is ndarray:
        out[...] = self
        return out
    if kind in "cO":
        return ufuncs.call(np.conjugate, (self,), {} if out is None else {"out": out})
    if kind in "biuf" and out is None:
        return self
    return calls.run(_np_array.conjugate, (self,) if out is None else (self, out), {})


def _conj(self: ndarray, out: Any = None, /) -> Any:
    return _conjugate(self, out)


def _view(self: ndarray, *args: Any, **kwargs: Any) -> Any:
    target = kwargs.get("type", next((x for x in args if isinstance(x, type)), None))
    plain_type = target is None or target is ndarray or not issubclass(target, _np_array)
    if not plain_type:
        return exported(self).view(*args, **kwargs)
    args = tuple(x for x in args if x is not ndarray)
    kwargs.pop("type", None) if target is ndarray else None
    a = self._np
    if a is not None:
        r = a.view(*args, **kwargs)
        if type(r) is not _np_array:
            return r
        return small(r, self)
    return through_ghost(self, lambda g: g.view(*args, **kwargs))


def _resize(self: ndarray, *new_shape: Any, refcheck: bool = True) -> None:
    a = self._np
    np.empty(0).resize(0, refcheck=refcheck)  # raises for what is no truth value
    if a is None:
        _resize_managed(self, new_shape, refcheck=refcheck)
        return
    if refcheck and a.base is None and sys.getrefcount(a) > _REFERENCES:
        _refuse_referenced()
    a.resize(*new_shape, refcheck=False)


_REFERENCES = 3  # of an array that nobody else views: the handle, a local name, the argument


def _refuse_referenced() -> None:
    """Raise what NumPy raises for an array that another refers to."""
    referenced = np.empty(1)
    _another = referenced[:]
    referenced.resize(2)


def _resize_managed(self: ndarray, new_shape: tuple[Any, ...], *, refcheck: bool) -> None:
    if self._base is not None or not owns(self._buf):
        msg = "cannot resize this array: it does not own its data"
        raise ValueError(msg)
    if refcheck and sys.getrefcount(self._buf) >= _REFERENCES:
        _refuse_referenced()
    resized = concrete(self).copy()
    resized.resize(*new_shape, refcheck=False)
    _become(self, wrap(resized))


def _become(array: ndarray, made: ndarray) -> None:
    """Let an array be what another, which nobody else has, is."""
    array._np = made._np
    if made._np is None:
        array._buf, array._base, array._readonly = made._buf, made._base, made._readonly
        array._geo = made._geo
    else:
        array._base = None


def _to_numpy(self: ndarray) -> np.ndarray:
    """Return NumPy's array over the same memory, which is brought home if it lies on nodes.

    Writes to either are seen by both. Libraries that ask for NumPy's class and take others by this
    method, as matplotlib does, then treat our arrays as NumPy's.
    """
    return exported(self)


def _fill(self: ndarray, value: Any) -> None:
    if self._np is None and not is_lazy(value) and not self._buf.shared and self.ndim:
        try:
            constant = operand(value)
        except Unmanaged:
            constant = None
        if isinstance(constant, Const) and not self._readonly:
            cell = np.empty((), self.dtype)
            cell.fill(value)  # raises what NumPy raises
            write(self, Const(cell[()]))
            return
    plain = calls.unwrap(value)
    with writing(self):
        calls.for_writing(self).fill(plain)


# ---------------------------------------------------------------- conversions


def _converter(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any) -> Any:
        return getattr(concrete(self), name)(*args)

    return method


def _copy_protocol(self: ndarray) -> Any:
    return self.copy("K")


def _deepcopy(self: ndarray, memo: Any) -> Any:
    if self.dtype.hasobject:
        return small(concrete(self).__deepcopy__(memo))
    return self.copy("K")


def _reduce(self: ndarray) -> Any:
    if self._np is None:
        with while_pickled():
            concrete(self)
    return wrap, (np.array(concrete(self), copy=False),)


def _reduce_ex(self: ndarray, protocol: Any, /) -> Any:
    if type(protocol) is not int:
        np.empty(0).__reduce_ex__(protocol)  # raises for what is no protocol
    return _reduce(self)


def _setstate(self: ndarray, state: Any, /) -> None:
    """Take the content of NumPy's pickles, as of classes that add to an array's state."""
    made = np.empty(0)
    made.__setstate__(state)
    _become(self, wrap(made))


def _array_finalize(_self: ndarray, other: Any, /) -> None:
    np.empty(0).__array_finalize__(other)


def _pow(self: ndarray, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        return NotImplemented
    a = self._np
    if a is not None and not is_lazy(other):
        if type(other) in IMMEDIATE:
            r = a**other
            if type(r) is _np_array:
                made = bare()
                made._np = r
                return made
            return r
        if not operators.is_operand(other):
            return operators.left_to(other, "__rpow__", operator.pow, self)
        if not overrides.overridden((other,), "__array_ufunc__"):
            return calls.wrap_result(a ** calls.unwrap(other), (self, other))
    if operators.has_own_operators(other):
        return calls.wrap_result(to_numpy(self) ** other, (self, other))
    if not operators.is_operand(other):
        return operators.left_to(other, "__rpow__", operator.pow, self)
    found = operators.asked_first(other, "__rpow__", self)
    return _power(self, other) if found is NotImplemented else found


def _power(base: Any, exponent: Any) -> Any:
    fast = _fast_power(base, exponent)
    if fast is None:
        return ufuncs.call(np.power, (base, exponent), {})
    return ufuncs.of(fast)(base)


def _fast_power(base: Any, exponent: Any) -> np.ufunc | None:
    """NumPy's own shortcuts for a Python scalar exponent."""
    if type(exponent) not in (int, float):
        return None
    if base.dtype.kind in "fc":
        return {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}.get(exponent)
    return (
        np.square if base.dtype.kind in "iub" and type(exponent) is int and exponent == 2 else None
    )


def _rpow(self: ndarray, other: Any) -> Any:
    if operators.has_own_operators(other):
        return calls.wrap_result(other ** to_numpy(self), (other, self))
    if not operators.is_operand(other):
        return calls.run(operator.pow, (other, self), {})
    return ufuncs.call(np.power, (other, self), {})


def _ipow(self: ndarray, other: Any) -> Any:
    a = self._np
    if operators.takes_over(other):
        return NotImplemented
    if a is not None and not overrides.overridden((other,), "__array_ufunc__"):
        r = operator.ipow(a, calls.unwrap(other))
        return self if r is a else calls.wrap_result(r, (self, other))
    fast = _fast_power(self, other)
    if fast:
        return ufuncs.call(fast, (self,), {"out": (self,)})
    return ufuncs.call(np.power, (self, other), {"out": (self,)})


def _matmul(self: Any, other: Any) -> Any:
    if type(other) is ndarray and type(self) is ndarray:
        a, b = self._np, other._np
        if (a is None or b is None) and not config.reproducible:
            a, b = ufuncs.at_hand(self), ufuncs.at_hand(other)
        if a is not None and b is not None:
            return ufuncs.as_ours(a @ b)
    if not (operators.is_operand(self) and operators.is_operand(other)):
        return NotImplemented
    if type(self) is ndarray:
        found = operators.asked_first(other, "__rmatmul__", self)
        if found is not NotImplemented:
            return found
    if overrides.overridden((self, other), "__array_ufunc__"):
        return ufuncs.of(np.matmul)(self, other)
    if is_lazy(self) or is_lazy(other):
        found = recorded_by(contractions.matmul, (self, other), {})
        if found is not NotImplemented:
            return found
    return calls.run(np.matmul, (self, other), {})


def _rmatmul(self: Any, other: Any) -> Any:
    return _matmul(other, self)


def _imatmul(self: ndarray, other: Any) -> Any:
    product = _matmul(self, other) if getattr(other, "ndim", 0) > 1 else None
    if getattr(product, "shape", None) != self.shape:
        return calls.run(operator.imatmul, (self, other), {})
    self[...] = product
    return self


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _comparison(name: str, wrapped: np.ufunc) -> Callable[..., Any]:
    plain = getattr(operator, name)
    theirs = f"__{_MIRRORED.get(name, name)}__"
    row = quick.row_of(wrapped)

    def method(self: Any, other: Any) -> Any:
        a = self._np
        if a is None:
            found = quick.binary(row, self, other) if row is not None else None
            if found is not None:
                return found
        else:
            b = other if type(other) in IMMEDIATE else None
            if type(other) is ndarray and not grows(self, other):
                b = other._np
            if b is not None:
                r = plain(a, b)
                if type(r) is _np_array:
                    if r.size < config.eager_below:
                        made = bare()
                        made._np = r
                        return made
                    return wrap(r)
                return r
        if not operators.is_operand(other):
            return operators.left_to(other, theirs, plain, self)
        if overrides.overridden((other,), "__array_ufunc__"):
            return _overridden(wrapped, theirs, self, other)
        return _compared(wrapped, plain, self, other)

    return method


def _overridden(wrapped: np.ufunc, theirs: str, x: Any, y: Any) -> Any:
    """Compare with an operand whose class overrides ufuncs; a subclass of NumPy's goes first."""
    found = operators.asked_first(y, theirs, x)
    if found is not NotImplemented:
        return found
    if issubclass(type(y), _np_array) and getattr(type(y), theirs) is getattr(_np_array, theirs):
        return ufuncs.call(operators.COMPARE[theirs.strip("_")], (y, x), {})
    return ufuncs.call(wrapped, (x, y), {})


def _compared(wrapped: np.ufunc, plain: Callable[..., Any], x: Any, y: Any) -> Any:
    large = is_lazy(x) or is_lazy(y) or grows(x, y) or widens(None, x, y)
    if large and not operators.has_own_operators(y):
        try:
            return ufuncs.call(wrapped, (x, y), {})
        except TypeError:  # the operators compare what the ufuncs have no loop for
            return calls.wrap_result(plain(to_numpy(x), to_numpy(y)), (x, y))
    return calls.wrap_result(plain(to_numpy(x), calls.unwrap(y)), (x, y))


def install() -> None:
    """Give the class its methods; run once when the package is imported."""
    attributes.install()
    natives = {name: NATIVE[name] for name in _METHOD_NATIVE}
    natives |= _OF_METHODS
    natives |= {**sorting.IN_PLACE, **picks.METHODS, **row_blocks.METHODS}
    for name in (*natives, *METHOD_PLAIN):
        setattr(ndarray, name, _method(name, natives.get(name), writes=name in _METHOD_WRITES))
    for name in ("bool", "int", "float", "complex", "index", "sizeof"):
        native.give(ndarray, f"__{name}__", _converter(f"__{name}__"))
    for short, wrapped in operators.COMPARE.items():
        row = quick.row_of(wrapped)
        native.give(ndarray, f"__{short}__", _comparison(short, wrapped), None, row)
    operators.install(ndarray, in_place=True)
    for name, function in _DIRECT.items():
        native.give(ndarray, name, function, _LOOPS.get(name))
    for name in _NUMPYS_OF_SMALL:
        function = vars(ndarray)[name]
        numpys = native.FASTER_OF_ARRAYS.get(name, getattr(_np_array, name))
        arrays = name not in _WITHOUT_ARRAYS
        short = native.method(
            function,
            numpys,
            writes=name in _CHANGING,
            arrays=int(arrays),
            records=_REPLAYED.get(name),
        )
        setattr(ndarray, name, short)


def _array_wrap(
    self: ndarray, array: Any, /, context: Any = None, return_scalar: bool = False
) -> Any:
    """Return ``array`` as one of this class; ours already are, and stay where they lie."""
    if type(array) is not ndarray:
        return calls.run(_np_array.__array_wrap__, (self, array, context, return_scalar), {})
    return array[()] if return_scalar and not array.ndim else array


def _class_getitem(cls: type, item: Any) -> Any:
    return types.GenericAlias(cls, np.ndarray[item].__args__)  # raises what NumPy raises


_astype_of = _method("astype", composites.astype, writes=False)

_DIRECT: dict[str, Any] = {
    "astype": _astype, "to_numpy": _to_numpy,
    "__getitem__": items.getitem, "__setitem__": items.setitem, "__delitem__": items.delitem,
    "__len__": items.length, "__iter__": iterator, "__contains__": items.contains,
    "__repr__": printing.repr_of,
    "__str__": printing.str_of, "__format__": printing.format_of, "__hash__": None,
    "__copy__": _copy_protocol, "__deepcopy__": _deepcopy, "__reduce__": _reduce,
    "__reduce_ex__": _reduce_ex, "__setstate__": _setstate, "__array_finalize__": _array_finalize,
    "__pow__": _pow, "__rpow__": _rpow, "__ipow__": _ipow, "__matmul__": _matmul,
    "__rmatmul__": _rmatmul, "__imatmul__": _imatmul,
    "__class_getitem__": classmethod(_class_getitem), "__array_wrap__": _array_wrap,
    "copy": _copy, "transpose": _transpose, "reshape": _reshape, "flatten": _flatten, "conj": _conj,
    "conjugate": _conjugate, "view": _view, "resize": _resize, "fill": _fill,
    "setflags": attributes.setflags, **attributes.SETTERS,
}  # fmt: skip
_LOOPS = {"__matmul__": np.matmul, "__pow__": np.power}
_WITHOUT_ARRAYS = ("__copy__", "conj", "conjugate", "setflags")  # or with one to write to
_CHANGING = ("fill", "setflags")
_REPLAYED: dict[str, Callable[..., Any]] = {"astype": composites.astype, "copy": _copied}
_OF_METHODS = {"clip": composites.clip_method}  # whose arguments are not those of the functions
replays.add([*_REPLAYED.values(), *_OF_METHODS.values()])
_NUMPYS_OF_SMALL = (
    "astype", "copy", "fill", "flatten", "reshape", "transpose", "view", *_WITHOUT_ARRAYS,
)  # fmt: skip

install()
native.bind(
    array_type=ndarray,
    config=config,
    immediate=IMMEDIATE,
    plain=calls.PLAIN,
    as_seen=SEEN,
    buffer_type=Buffer,
    expr_type=Expr,
    full=FULL,
    watched=unread.watched,
    seen_of=seen_in,
    locks=LOCKS,
    room=room,
    wrap=wrap,
    wrap_result=calls.wrap_result,
    result_of=calls.result_of,
    turn_of=lone.turn_of,
    may_be_numpys=lone.may_be_numpys,
    run_ours=lone.run_ours,
    same_bits=lone.METHODS,
    bytewise=BYTEWISE,
    may_move=lone.may_move,
    out_position=calls.out_position,
    kinds=lone.KINDS,
    many=middling.METHODS,
    elsewhere=receivers.called,
    way_of_sum=summed.told_way,
    geometry=Geometry,
)
quick.bind()
