"""Expr: one immutable, interned operation of a computation."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.ops.table import LEAF

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Expr(native.Node):
    """One operation: ``op`` with ``params`` on ``args`` gives ``shape`` and ``dtype``.

    ``value`` is None while pending and the stored result afterwards; ``owner`` refers weakly to
    the Buffer whose content this is; ``origin`` is the user's file and line. None of the three is
    part of the meaning. ``size`` is the number of elements, ``nbytes`` what they take.
    """

    __slots__ = ()

    op: Op
    args: tuple[Expr | Const, ...]
    params: Params
    shape: Shape
    dtype: np.dtype
    value: Any
    owner: weakref.ref[Any] | None
    origin: Origin | None
    size: int
    nbytes: int

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def operands(self) -> list[Expr]:
        """Return the operands that are Exprs, constants left out."""
        return [a for a in self.args if type(a) is Expr]

    def __repr__(self) -> str:
        """Return op, dtype and shape."""
        state = "pending" if self.value is None else "stored"
        return f"<{self.op.name} {self.dtype}{list(self.shape)} {state}>"


def leaf(value: Any, shape: Shape, dtype: np.dtype) -> Expr:
    """Return a fresh Expr that denotes stored data; leaves are never interned."""
    expr = Expr(LEAF, (), (), shape, dtype)
    expr.value = value
    return expr


class _Interned(weakref.ref[Expr]):
    """A reference that knows under which key it stands."""

    __slots__ = ("key",)

    key: tuple[Any, ...]


def _make(
    op: Op, args: tuple[Expr | Const, ...], params: Params, shape: Shape, dtype: np.dtype
) -> Expr:
    """Return the pending Expr for this operation, the same object while an equal one is pending."""
    key = (
        id(op),
        *[id(a) if type(a) is Expr else a.key() for a in args],  # type: ignore[union-attr]
        params,
        shape,
        dtype,
        dtype.num,  # int64 and longlong compare equal
    )
    try:
        known = _interned.get(key)
    except TypeError:  # an unhashable constant: such an Expr stands alone
        return Expr(op, args, params, shape, dtype)
    if known is not None:
        found = known()
        if found is not None and found.value is None:
            return found
    expr = Expr(op, args, params, shape, dtype)
    ref = _Interned(expr, _forget_ref)
    ref.key = key
    _interned[key] = ref
    return expr


def _forget(expr: Expr) -> None:
    """Let no equal Expr find this one any more."""
    for ref in weakref.getweakrefs(expr):
        if type(ref) is _Interned:
            _forget_ref(ref)


def _forget_ref(ref: _Interned) -> None:
    if _interned.get(ref.key) is ref:
        del _interned[ref.key]


def _count_interned() -> int:
    """Return how many Exprs equal ones find."""
    return len(_interned)


_interned: dict[tuple[Any, ...], _Interned] = {}
# which of the two there are makes no difference but in time: see native/expr.c
if native.built:
    native.take_expr(Expr)
make: Callable[[Op, tuple[Expr | Const, ...], Params, Shape, np.dtype], Expr] = (
    native.make if native.built else _make
)
forget: Callable[[Expr], None] = native.forget if native.built else _forget
count_interned: Callable[[], int] = native.count_interned if native.built else _count_interned


def become(expr: Expr, op: Op, args: tuple[Expr | Const, ...], params: Params) -> None:
    """Let a pending Expr be computed in another way that gives the same; it is interned no more."""
    forget(expr)  # whose key has ids, which hold only as long as the operands live
    expr.op, expr.args, expr.params = op, args, params
