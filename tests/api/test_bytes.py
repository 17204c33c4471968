"""Booleans and bytes run at once up to the bytes at which other arrays do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.array import BYTES_OF_OTHERS, runs_at_once
from dnumpy.config import EAGER_BELOW, config

pytestmark = pytest.mark.skipif(config.mode != "default", reason="all waits elsewhere")


@pytest.mark.parametrize("dtype", ["?", "u1", "i1"])
def test_what_has_one_byte_is_little_for_longer(dtype: str) -> None:
    few = dnumpy.zeros(EAGER_BELOW, dtype)
    many = dnumpy.zeros(EAGER_BELOW * BYTES_OF_OTHERS, dtype)
    assert few._np is not None
    assert many._np is None
    assert (few == 0)._np is not None
    assert dnumpy.zeros(EAGER_BELOW, "f4")._np is None
    assert dnumpy.asarray(np.zeros(EAGER_BELOW, dtype))._np is not None


def test_nothing_is_little_where_everything_is_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    assert not runs_at_once(1, 1)
    assert dnumpy.zeros(5, "u1")._np is None


def fire(np: Any, n: int) -> Any:
    """Burn a forest of bytes, by masks and views of booleans."""
    forest = (np.arange(n * n).reshape(n, n) * 7919 % 100 < 60).astype(np.uint8)
    forest[:, 0][forest[:, 0] == 1] = 2
    for _ in range(6):
        burning = forest == 2
        near = np.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        catching = (forest == 1) & near
        forest[burning] = 3
        forest[catching] = 2
    return np.bincount(forest.ravel(), minlength=4), forest[:3, :50]


@pytest.mark.parametrize("n", [510, 520, 1460])
def test_grids_of_bytes_are_numpys_on_both_sides_of_the_limit(n: int) -> None:
    for found, expected in zip(fire(dnumpy, n), fire(np, n), strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected)
