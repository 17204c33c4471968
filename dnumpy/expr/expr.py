"""Expr: one immutable, interned operation of a computation."""

from __future__ import annotations

import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.ops.table import LEAF

if TYPE_CHECKING:
    from dnumpy.expr.origin import Origin
    from dnumpy.ops.families import Op

_COMPLEX = (complex, np.complexfloating)
Params = tuple[Any, ...]
Shape = tuple[int, ...]


class Const:
    """A Python or NumPy scalar operand, kept as written so that NEP 50 sees what the user wrote."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        """Return the value's repr."""
        return repr(self.value)

    def key(self) -> tuple[Any, ...]:
        """Return what tells two constants apart: 0.0 and -0.0 differ, 1 and 1.0 and True too."""
        value = self.value
        if value and not isinstance(value, _COMPLEX):
            return type(value), value
        return type(value), repr(value)  # which shows the signs of zeros


def exact(value: Any) -> Params:
    """Return parameters for a number that no equal number has: 0.0 and -0.0 are two."""
    if value and not isinstance(value, _COMPLEX):
        return (value,)
    return value, repr(value)


class Expr:
    """One operation: ``op`` with ``params`` on ``args`` gives ``shape`` and ``dtype``.

    ``value`` is None while pending and the stored result afterwards; ``owner`` refers weakly to
    the Buffer whose content this is; ``origin`` is the user's file and line. None of the three is
    part of the meaning.
    """

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

    def __init__(
        self, op: Op, args: tuple[Expr | Const, ...], params: Params, shape: Shape, dtype: np.dtype
    ) -> None:
        self.op = op
        self.args = args
        self.params = params
        self.shape = shape
        self.dtype = dtype
        self.value: Any = None
        self.owner: weakref.ref[Any] | None = None
        self.origin: Origin | None = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the result."""
        return prod(self.shape) * self.dtype.itemsize

    def operands(self) -> list[Expr]:
        """Return the operands that are Exprs, constants left out."""
        return [a for a in self.args if type(a) is Expr]

    def __repr__(self) -> str:
        """Return op, dtype and shape."""
        state = "pending" if self.value is None else "stored"
        return f"<{self.op.name} {self.dtype}{list(self.shape)} {state}>"


class _Interned(weakref.ref[Expr]):
    """A reference that knows under which key it stands."""

    __slots__ = ("key",)

    key: tuple[Any, ...]


_interned: dict[tuple[Any, ...], _Interned] = {}


def leaf(value: Any, shape: Shape, dtype: np.dtype) -> Expr:
    """Return a fresh Expr that denotes stored data; leaves are never interned."""
    expr = Expr(LEAF, (), (), shape, dtype)
    expr.value = value
    return expr


def make(
    op: Op, args: tuple[Expr | Const, ...], params: Params, shape: Shape, dtype: np.dtype
) -> Expr:
    """Return the pending Expr for this operation, the same object while an equal one is pending."""
    if len(args) == 2:  # as most are
        x, y = args
        first = id(x) if type(x) is Expr else x.key()  # type: ignore[union-attr]
        second = id(y) if type(y) is Expr else y.key()  # type: ignore[union-attr]
        key: tuple[Any, ...] = (id(op), first, second, params, shape, dtype, dtype.num)
    elif len(args) == 1 and type(args[0]) is Expr:
        key = (id(op), id(args[0]), params, shape, dtype, dtype.num)
    else:
        key = _key(op, args, params, shape, dtype)
    try:
        known = _interned.get(key)
    except TypeError:  # an unhashable constant: such an Expr stands alone
        return Expr(op, args, params, shape, dtype)
    if known is not None:
        found = known()
        if found is not None and found.value is None:
            return found
    expr = Expr(op, args, params, shape, dtype)
    ref = _Interned(expr, _forget)
    ref.key = key
    _interned[key] = ref
    return expr


def become(expr: Expr, op: Op, args: tuple[Expr | Const, ...], params: Params) -> None:
    """Let a pending Expr be computed in another way that gives the same; it is interned no more."""
    for ref in weakref.getweakrefs(expr):
        if type(ref) is _Interned:  # under a key whose ids hold only as long as the operands live
            _forget(ref)
    expr.op, expr.args, expr.params = op, args, params


def _key(
    op: Op, args: tuple[Expr | Const, ...], params: Params, shape: Shape, dtype: np.dtype
) -> tuple[Any, ...]:
    return (
        id(op),
        *[id(a) if type(a) is Expr else a.key() for a in args],  # type: ignore[union-attr]
        params,
        shape,
        dtype,
        dtype.num,  # int64 and longlong compare equal
    )


def _forget(ref: _Interned) -> None:
    if _interned.get(ref.key) is ref:
        del _interned[ref.key]
