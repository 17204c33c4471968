"""Sums of products run along the axis for which the fewest bytes move, and give NumPy's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import einstein
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(32)
LONG = _rng.standard_normal((90, 6))
OTHER = _rng.standard_normal((90, 5))
STACK = _rng.standard_normal((30, 6, 4))
SMALL = _rng.standard_normal((4, 3))

TABLE: dict[str, tuple[tuple[np.ndarray, ...], Callable[..., Any]]] = {
    "rows": ((LONG, SMALL[:, :2].repeat(2, 0)[:6]), lambda _xp, a, b: a @ b),
    "crossed": ((LONG, OTHER), lambda _xp, a, b: a.T @ b),
    "crossed, contiguous": ((LONG.T.copy(), OTHER), lambda _xp, a, b: a @ b),
    "outer": ((LONG, OTHER), lambda xp, a, b: xp.einsum("ij,kl->ikjl", a[:20], b[:3])),
    "small first": ((SMALL, LONG), lambda _xp, a, b: a[:, :2] @ b.T[:2]),
    "wide result": ((SMALL.T.copy(), LONG[:, :4]), lambda _xp, a, b: a @ b.T),
    "stack": ((STACK, STACK), lambda xp, a, b: xp.matmul(a, b.swapaxes(1, 2))),
    "stack by one": ((STACK, SMALL), lambda _xp, a, b: a @ b),
    "stack by vector": ((STACK, SMALL), lambda _xp, a, b: a @ b[:, 0]),
    "tensordot": ((STACK, STACK), lambda xp, a, b: xp.tensordot(a, b, ([0, 1], [0, 1]))),
    "tensordot last": ((STACK, SMALL), lambda xp, a, b: xp.tensordot(a, b, 1)),
    "tensordot first": ((STACK, LONG), lambda xp, a, b: xp.tensordot(a, b[:30], (0, 0))),
    "einsum rows": ((LONG, OTHER), lambda xp, a, b: xp.einsum("ij,ik->ijk", a, b)),
    "einsum row dots": ((LONG, LONG), lambda xp, a, b: xp.einsum("ij,ij->i", a, b)),
    "einsum fold": ((LONG, OTHER), lambda xp, a, b: xp.einsum("ij,ik->jk", a, b)),
    "einsum sum": ((STACK,), lambda xp, a: xp.einsum("ijk->k", a)),
    "einsum middle": ((STACK, SMALL), lambda xp, a, b: xp.einsum("ijk,kl->jil", a, b)),
    "dot of stacks": ((STACK, SMALL), lambda xp, a, b: xp.dot(a, b)),
    "integers": (((9 * LONG).astype(int),), lambda xp, a: xp.einsum("ij,ij->i", a, a)),
    "complex": ((LONG + 1j * LONG[::-1], OTHER), lambda _xp, a, b: a.T @ b),
    "matrix_power": ((_rng.standard_normal((20, 20)),), lambda xp, a: xp.linalg.matrix_power(a, 5)),
    "multi_dot": ((LONG, OTHER), lambda xp, a, b: xp.linalg.multi_dot([a.T, b, b.T])),
    "kron": ((LONG, SMALL), lambda xp, a, b: xp.kron(a, b)),
    "vecdot": ((LONG, LONG), lambda xp, a, b: xp.vecdot(a, b)),
    "vecdot of columns": ((LONG, LONG), lambda xp, a, b: xp.vecdot(a, b, axis=0)),
    "matvec": ((STACK, STACK), lambda xp, a, b: xp.matvec(a, b[:, 0])),
    "vecmat": ((STACK, LONG), lambda xp, a, b: xp.vecmat(b[:30], a)),
    "keepdims": ((LONG, LONG), lambda xp, a, b: xp.vecdot(a, b, keepdims=True)),
    "keepdims of an axis": (
        (STACK, STACK),
        lambda xp, a, b: xp.vecdot(a, b, axis=1, keepdims=True),
    ),
}


def _agree(found: Any, expected: Any) -> None:
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_the_largest_operand_stays_on_its_nodes(name: str) -> None:
    operands, call = TABLE[name]
    expected = call(np, *operands)
    with spread_out() as meter:
        found = call(dnumpy, *map(on_nodes, operands))
        _agree(found, expected)
        largest = max(expected.nbytes, *(x.nbytes for x in operands))
        assert all(n == expected.nbytes or n < largest for n in meter.gathered), meter.gathered


def test_a_second_operand_too_large_for_a_node_comes_in_strips(monkeypatch: Any) -> None:
    monkeypatch.setattr(einstein, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(einstein, "STRIP_BYTES", 1000)
    left, right = _rng.standard_normal((50, 60)), _rng.standard_normal((60, 40))
    with spread_out() as meter:
        found = on_nodes(left) @ on_nodes(right)
        dnumpy.engine.compute([found._buf.expr])
        assert right.nbytes not in meter.gathered
        _agree(found, left @ right)


@pytest.mark.parametrize("count", [7, 20, 24, 300])
def test_products_of_halves_are_rounded_once(count: int) -> None:
    plain = (np.arange(count) / 16).astype(np.float16)
    with spread_out():
        ours = on_nodes(plain)
        for name in ("dot", "inner", "vdot"):
            found = getattr(dnumpy, name)(ours, ours)
            assert found.dtype == np.float16
            assert found == getattr(np, name)(plain, plain)
