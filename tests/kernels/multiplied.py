"""Programs with products of rows, whose phases are run in more than one way."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.ops.table import CROSSPROD, MATMUL
from tests.kernels import phases as p


def stored(array: Any) -> Expr:
    array = np.asarray(array)
    return leaf(array, array.shape, array.dtype)


def product(a: Expr, b: Expr) -> Expr:
    """Return ``a @ b``."""
    shape = np.matmul(*[np.broadcast_to(np.zeros((), x.dtype), x.shape) for x in (a, b)]).shape
    return make(MATMUL, (a, b), (), shape, np.result_type(a.dtype, b.dtype))


def crossed(a: Expr, b: Expr) -> Expr:
    """Return ``a.T @ b``."""
    shape = (*a.shape[1:], *b.shape[1:])
    return make(CROSSPROD, (a, b), (), shape, np.result_type(a.dtype, b.dtype))


@st.composite
def programs(draw: Any) -> list[Expr]:
    """Draw roots with products of rows: of vectors, of matrices, of stacks of matrices."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    dtype = np.dtype(draw(st.sampled_from(("f8", "f8", "f4", "c16", "i8"))))
    rows, inner = draw(st.sampled_from((1, 7, 200, 900))), draw(st.sampled_from((1, 3, 20)))
    columns = draw(st.sampled_from((None, 1, 2, 9)))
    lead = draw(st.sampled_from(((rows,), (rows,), (rows, 4))))

    def filled(*shape: int) -> Expr:
        wide = p.filled(rng, (*shape[:-1], 2 * shape[-1]), dtype, plain=True)
        layout = draw(st.sampled_from(("plain", "part", "steps")))
        part = {"plain": slice(shape[-1]), "part": slice(shape[-1]), "steps": slice(None, None, 2)}
        seen = wide[..., part[layout]]
        return stored(seen.copy() if layout == "plain" else seen)

    first = filled(*lead, inner)
    shape = (inner,) if columns is None else (inner, columns)
    stack = draw(st.booleans()) and len(lead) > 1 and columns is not None
    made = product(first, filled(rows, *shape) if stack else filled(*shape))
    if made.ndim > 1 and draw(st.booleans()):
        made = p.apply("add", made, filled(made.shape[-1])) or made
    for name in draw(st.lists(st.sampled_from(("negative", "absolute", "exp", "square")))):
        made = p.apply(name, made) or made
    if draw(st.booleans()):
        made = p.apply("multiply", Const(0.5), made) or made
    roots = [made]
    if made.ndim > 1 and dtype.kind == "f":
        name = draw(st.sampled_from(("add", "maximum", "minimum")))
        folded = p.fold(name, made, (made.ndim - 1,), keepdims=True)
        assert folded is not None
        roots.append(p.apply("subtract", made, folded) or made)
    if first.ndim == 2 and roots[-1].ndim <= 2 and draw(st.booleans()):
        roots.append(crossed(first, roots[-1]))
    return roots[-1:] if draw(st.booleans()) else list({id(e): e for e in roots}.values())


def regression(rows: int, dtype: str = "f8") -> tuple[Expr, Expr]:
    """Return the gradient of a logistic regression, and its chances."""
    rng = np.random.default_rng(rows)
    x, w = stored(rng.normal(size=(rows, 20)).astype(dtype)), stored(np.ones(20, dtype))
    y = stored(rng.random(rows).astype(dtype))
    powers = p.apply("exp", p.apply("negative", product(x, w)))
    chance = p.apply("divide", Const(1.0), p.apply("add", Const(1.0), powers))
    return crossed(x, p.apply("subtract", chance, y)), chance
