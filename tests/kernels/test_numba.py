"""The Numba lowering gives NumPy's bits, whatever lies where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.kernels.numba import NumbaKernel, supports
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.table import CAST, FULL, WHERE
from tests.kernels import phases as p

compiling = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # shrinking would compile hundreds of kernels
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def stored(array: Any) -> Expr:
    array = np.asarray(array)
    return leaf(array, array.shape, array.dtype)


def numba_ran(kernel: NumbaKernel, bound: p.Bound) -> bool:
    return kernel.variant_for(bound.values, bound.allocate()) is not None


@compiling
@given(p.programs(), st.sampled_from((1, 4096, 1 << 18)), st.lists(st.integers(1, 50), max_size=3))
def test_a_compiled_phase_has_the_bits_of_the_tiled_one(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        kernel = NumbaKernel(bound.phase)
        if not numba_ran(kernel, bound):
            continue
        with np.errstate(all="ignore"):
            tiled = bound.run(TiledKernel(bound.phase))
            for found in (bound.run(kernel), bound.run(kernel, cuts)):
                assert [p.bits(x) for x in found] == [p.bits(x) for x in tiled], bound.phase
