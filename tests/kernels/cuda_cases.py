"""Random phases with CUDA kernels, and what they must equal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dnumpy.kernels.cuda_faults import WORDS as FAULT_WORDS
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import cuda_on_host as host
from tests.kernels import phases as p

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr

Case = tuple[p.Bound, host.HostKernel, list[int]]
ROUNDING = {2: 4e-3, 4: 2e-5, 8: 1e-11}  # of sums in another order, and of functions
HUGE = {2: 1e3, 4: 1e30, 8: 1e290}  # sums of such numbers overflow in one order and not in another


def collected(strategy: Any, examples: int, *, on_host: bool = True) -> list[Case]:
    """Return cases for random roots, their kernels compiled together where they run on the host."""
    found: list[Case] = []
    refused: list[str] = []  # products, powers of complex numbers

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        strategy,
        st.sampled_from((1, 64, 4096, 1 << 18)),
        st.lists(st.integers(1, 50), max_size=3),
    )
    def collect(roots: list[Expr], tile_bytes: int, cuts: list[int]) -> None:
        for bound in p.bound(roots, tile_bytes):
            try:
                found.append(case(bound, cuts))
            except Unsupported as why:
                refused.append(str(why))

    collect()
    assert all(re.match("Contraction|power of c|an operand of shape", why) for why in refused)
    return compiled(found) if on_host else found


def case(bound: p.Bound, cuts: list[int]) -> Case:
    kernel = host.HostKernel(bound.phase, bound.values)
    bound.run(kernel)
    bound.run(kernel, cuts)
    return bound, kernel, cuts


def compiled(found: list[Case]) -> list[Case]:
    library = host.compiled(k for _, kernel, _ in found for k in kernel.wanted.values())
    for _, kernel, _ in found:
        kernel.library = library
    return found


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    if found.dtype.names:
        same = np.array_equal(found["index"], expected["index"])
        return same and np.array_equal(found["value"], expected["value"], equal_nan=True)
    if found.dtype.kind in "biu":
        return np.array_equal(found, expected)
    size = found.real.dtype.itemsize
    with np.errstate(all="ignore"):
        huge = ~(np.abs(expected) < HUGE[size]) & ~(np.abs(found) < HUGE[size])
        near = np.isclose(found, expected, rtol=ROUNDING[size], atol=ROUNDING[size])
    return bool(np.all(near | huge))


def check(cases: list[Case]) -> None:
    for bound, kernel, cuts in cases:
        tiled = TiledKernel(bound.phase)
        with np.errstate(all="ignore"):
            found = bound.run(kernel)
            again = bound.run(kernel, cuts)
            expected = bound.run(tiled)
            told = tiled.run(bound.values, bound.allocate(), 0, bound.phase.rows)
        faults = kernel.run(bound.values, bound.allocate(), 0, bound.phase.rows)
        if not any(s.op.name in {"add.reduce", "multiply.reduce"} for s in bound.phase.steps):
            assert faults == {f for f in told if f[1] in FAULT_WORDS.values()}, bound.phase
        assert [p.bits(x) for x in found] == [p.bits(x) for x in again], (bound.phase, cuts)
        for got, want in zip(found, expected, strict=True):
            assert close(got, want), bound.phase
