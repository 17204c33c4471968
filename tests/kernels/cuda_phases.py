"""Phases that go through every loop that CUDA kernels know, with values at the edges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.expr import Expr, leaf, make
from dnumpy.kernels.cuda_words import CODES, WORDS
from dnumpy.ops.families import lookup
from dnumpy.ops.table import CAST, WHERE
from tests.kernels import phases as p

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES = tuple(map(np.dtype, sorted(CODES)))
REALS = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 100.0)


def stored(array: Any) -> Expr:
    """Return the Expr of an array that exists."""
    array = np.asarray(array)
    return leaf(array, array.shape, array.dtype)


def edges(dtype: np.dtype) -> np.ndarray:
    """Return the values of a dtype that ops treat in ways of their own, and some plain ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        plain = [0, 1, 2, 3, 5, 7, 40, info.max, info.max - 1, info.max // 2, info.min]
        return np.array(plain + [-1, -2, -7, info.min + 1] * (dtype.kind == "i"), dtype)
    if dtype.kind == "c":
        parts = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0)
        pairs = [complex(a, b) for a, b in itertools.product(parts, repeat=2)]
        return np.array([*pairs, complex(np.nan, 1), complex(2, np.nan)], dtype)
    info = np.finfo(dtype)
    ends = [info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    return np.array([*REALS, *ends], dtype)


def operands(types: tuple[np.dtype, ...]) -> list[np.ndarray]:
    """Return all tuples of edges of so many operands, one array each, in two dimensions."""
    if types[1:] and types[1].kind == "i" and types[0].kind == "f":  # ldexp's exponents
        grid = np.meshgrid(edges(types[0]), np.array([0, 1, -3, 40, -2000, 70000], types[1]))
    else:
        grid = np.meshgrid(*[edges(t) for t in types])
    return [np.ascontiguousarray(g).reshape(g.shape[0], -1) for g in grid]


def loops() -> Iterator[tuple[str, tuple[np.dtype, ...], int, np.dtype]]:
    """Return each op with each of its loops: operand dtypes, which output, and its dtype."""
    for name in WORDS:
        op: Any = lookup(name)
        seen = set()
        for loop in op.ufunc.types:
            given, results = loop.split("->")
            if set(given + results) & set("OmMgG"):
                continue
            types, outs = tuple(map(np.dtype, given)), list(map(np.dtype, results))
            codes = tuple(f"{t.kind}{t.itemsize}" for t in types)
            known = CODES.issuperset(codes) and codes[0][0] in WORDS[name].kinds
            negative = name == "power" and types[0].kind == "i"
            if known and not negative and codes not in seen:
                seen.add(codes)
                yield from ((name, types, k, dtype) for k, dtype in enumerate(outs))


def elementwise() -> Iterator[tuple[list[str], p.Bound]]:
    """Return phases that compute all loops of equal operands, with the names of their outputs."""
    grouped: dict[tuple[np.dtype, ...], list[tuple[str, int, np.dtype]]] = {}
    for name, types, output, dtype in loops():
        grouped.setdefault(types, []).append((name, output, dtype))
    for types, found in grouped.items():
        leaves = [stored(a) for a in operands(types)]
        shape = leaves[0].shape
        roots = {}
        for name, output, dtype in found:
            many = lookup(name).ufunc.nout > 1  # type: ignore[attr-defined]
            params = (("output", output),) if many else ()
            roots[f"{name}.{output}"] = make(lookup(name), tuple(leaves), params, shape, dtype)
        if len(types) == 1:
            for dtype in DTYPES:
                if dtype != types[0] and (types[0].kind != "c" or dtype.kind in "cb"):
                    roots[f"cast.{dtype}"] = make(CAST, tuple(leaves), (), shape, dtype)
        elif len(types) == 2 and types[0] == types[1]:
            mask = make(lookup("not_equal"), tuple(leaves), (), shape, np.dtype(bool))
            roots["where"] = make(WHERE, (mask, *leaves), (), shape, types[0])
        (bound,) = p.bound(list(roots.values()), 1 << 12)
        names = {id(e): name for name, e in roots.items()}
        yield [names[id(e)] for e in bound.exprs], bound


def cast_phase(array: np.ndarray, dtype: np.dtype) -> p.Bound:
    """Return the phase that casts an array."""
    (bound,) = p.bound([make(CAST, (stored(array),), (), array.shape, dtype)], 1 << 18)
    return bound


def pair_phase(name: str, x: float, y: float) -> p.Bound:
    """Return the phase that applies an op to two numbers, many times."""
    root = p.apply(name, stored(np.full(64, x)), stored(np.full(64, y)))
    assert root is not None
    (bound,) = p.bound([root], 1 << 18)
    return bound
