"""The rows: one per primitive op.

NumPy is asked for what exists: every ufunc of its namespace becomes an elementwise row and, when
it can fold, a reduction row. Only what NumPy cannot tell (cost class, scalar expression) is
written here.
"""

from __future__ import annotations

import numpy as np

from dnumpy.ops.families import (
    Contraction,
    Elementwise,
    Leaf,
    Movement,
    Op,
    Random,
    Reduction,
    row,
)

__all__ = ["CAST", "FULL", "LEAF", "UPDATE", "VIEW", "WHERE", "Op"]

LEAF = row(Leaf("leaf"))
FULL = row(Leaf("full"))
EMPTY = row(Leaf("empty"))  # every element is about to be overwritten
ARANGE = row(Leaf("arange"))
DRAW = row(Random("draw"))
VIEW = row(Movement("view"))
UPDATE = row(Movement("update"))
WHERE = row(Elementwise("where", loop="select", scalar="({1} if {0} else {2})"))
CAST = row(Elementwise("cast", loop="cast", flops=0.0))

# parameters of an elementwise op whose last operand is a mask: it computes everything, and tells of
# faults only where the mask is true
CHOSEN = (("chosen", True),)

# name -> (cost class, flops, scalar expression). Expressions are given only where plain IEEE
# arithmetic is bit-equal to NumPy's loop; everything else is called through NumPy's own inner
# loop.
_KNOWN: dict[str, tuple[str, float, str]] = {
    "add": ("arith", 1, "({0} + {1})"),
    "subtract": ("arith", 1, "({0} - {1})"),
    "multiply": ("arith", 1, "({0} * {1})"),
    "divide": ("div", 4, "({0} / {1})"),
    "negative": ("arith", 1, "(-{0})"),
    "positive": ("arith", 0, "({0})"),
    "absolute": ("arith", 1, "abs({0})"),
    "fabs": ("sqrt", 1, "abs({0})"),
    "square": ("arith", 1, "({0} * {0})"),
    "sqrt": ("sqrt", 4, "sqrt({0})"),
    "reciprocal": ("div", 4, ""),
    "maximum": ("compare", 1, "({0} if ({0} >= {1} or {0} != {0}) else {1})"),
    "minimum": ("compare", 1, "({0} if ({0} <= {1} or {0} != {0}) else {1})"),
    "greater": ("compare", 1, "({0} > {1})"),
    "greater_equal": ("compare", 1, "({0} >= {1})"),
    "less": ("compare", 1, "({0} < {1})"),
    "less_equal": ("compare", 1, "({0} <= {1})"),
    "equal": ("compare", 1, "({0} == {1})"),
    "not_equal": ("compare", 1, "({0} != {1})"),
    "isnan": ("compare", 1, "({0} != {0})"),
    "exp": ("exp", 20, ""),
    "exp2": ("exp", 20, ""),
    "expm1": ("exp", 25, ""),
    "log": ("exp", 20, ""),
    "log2": ("exp", 20, ""),
    "log10": ("exp", 25, ""),
    "log1p": ("exp", 25, ""),
    "tanh": ("exp", 25, ""),
    "sin": ("trig", 30, ""),
    "cos": ("trig", 30, ""),
    "tan": ("exp", 35, ""),
    "arcsin": ("exp", 35, ""),
    "arccos": ("exp", 35, ""),
    "arctan": ("exp", 35, ""),
    "arctan2": ("exp", 40, ""),
    "sinh": ("exp", 30, ""),
    "cosh": ("exp", 30, ""),
    "arcsinh": ("exp", 35, ""),
    "arccosh": ("exp", 35, ""),
    "arctanh": ("exp", 35, ""),
    "hypot": ("other", 10, ""),
    "power": ("pow", 40, ""),
    "float_power": ("other", 40, ""),
    "floor_divide": ("other", 8, ""),
    "remainder": ("other", 8, ""),
    "fmod": ("other", 8, ""),
    "divmod": ("other", 10, ""),
    "floor": ("arith", 1, ""),
    "ceil": ("arith", 1, ""),
    "rint": ("arith", 1, ""),
    "trunc": ("arith", 1, ""),
    "fmax": ("arith", 1, ""),
    "fmin": ("arith", 1, ""),
    "conjugate": ("arith", 1, ""),
    "copysign": ("arith", 1, ""),
    "sign": ("arith", 1, ""),
    "isfinite": ("compare", 1, ""),
    "isinf": ("compare", 1, ""),
    "signbit": ("compare", 1, ""),
    "logical_not": ("compare", 1, "({0} == 0)"),
    "logical_and": ("compare", 1, "(({0} != 0) & ({1} != 0))"),
    "logical_or": ("compare", 1, "(({0} != 0) | ({1} != 0))"),
    "logical_xor": ("compare", 1, "(({0} != 0) ^ ({1} != 0))"),
    "bitwise_and": ("arith", 1, "({0} & {1})"),
    "bitwise_or": ("arith", 1, "({0} | {1})"),
    "bitwise_xor": ("arith", 1, "({0} ^ {1})"),
    "invert": ("arith", 1, "({0} == 0)"),  # which it is of booleans
    "cbrt": ("exp", 20, ""),
    "clip": ("compare", 2, ""),
    "deg2rad": ("arith", 1, ""),
    "rad2deg": ("arith", 1, ""),
    "degrees": ("arith", 1, ""),
    "radians": ("arith", 1, ""),
    "heaviside": ("compare", 1, ""),
}


def _enter_ufunc(ufunc: np.ufunc) -> None:
    loop, flops, scalar = _KNOWN.get(ufunc.__name__, ("other", 2, ""))
    row(Elementwise(ufunc.__name__, ufunc=ufunc, loop=loop, flops=flops, scalar=scalar))
    if ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None:
        row(Reduction(f"{ufunc.__name__}.reduce", ufunc=ufunc))


def _ufuncs() -> list[np.ufunc]:
    found = {id(f): f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None}
    clip = vars(np)["_core"].umath.clip
    return sorted([*found.values(), clip], key=lambda f: f.__name__)


for _ufunc in _ufuncs():
    _enter_ufunc(_ufunc)

ARGMAX = row(Reduction("argmax", call=np.argmax, loop="index"))
ARGMIN = row(Reduction("argmin", call=np.argmin, loop="index"))
MATMUL = row(Contraction("matmul", call=np.matmul, writes=True))
DOT = row(Contraction("dot", call=np.dot, writes=True))


def _crossprod(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``x.T @ y``, of which the rows of x and y are summed over."""
    product: np.ndarray = np.matmul(x.T, y, out=out)
    return product


CROSSPROD = row(Contraction("crossprod", call=_crossprod, folds=True, writes=True))
TENSORDOT = row(Contraction("tensordot", call=np.tensordot))


def _einsum(*operands: np.ndarray, subscripts: str, optimize: bool) -> np.ndarray:
    """Contract in the order that opt_einsum finds, when there is a choice."""
    if not optimize:
        return np.asarray(np.einsum(subscripts, *operands))
    from opt_einsum import contract_path

    shapes = [o.shape for o in operands]
    path, _ = contract_path(subscripts, *shapes, shapes=True, optimize="auto")
    return np.asarray(np.einsum(subscripts, *operands, optimize=["einsum_path", *path]))


EINSUM = row(Contraction("einsum", call=_einsum))

# ufuncs whose folds of parts may be folded in turn
REORDERABLE = frozenset({
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor,
})  # fmt: skip


# of numbers that overflow: in another order 0 * inf comes up, and is NaN, where NumPy stays at 0
PRODUCT_IN_TURN = row(Reduction("multiply.reduce in turn", ufunc=np.multiply))


def folds_parts(op: Reduction) -> bool:
    """Say whether partial results of ``op`` give its result: not for subtraction, say."""
    return op is not PRODUCT_IN_TURN and (op.ufunc is None or op.ufunc in REORDERABLE)
