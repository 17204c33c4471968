"""Masks on all threads equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy import native
from dnumpy.config import config
from dnumpy.runtime import masks


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(masks, "SMALLEST", 10)


def _pair(shape: tuple[int, ...], share: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=shape), rng.random(shape) < share


@pytest.mark.parametrize("shape", [(11,), (1000,), (37, 21), (3, 5, 7)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_taking_by_a_mask_is_numpys(shape: tuple[int, ...], share: float) -> None:
    values, mask = _pair(shape, share)
    assert masks.applies(values, mask)
    assert np.array_equal(masks.take(values, mask), values[mask])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_putting_by_a_mask_is_numpys(share: float) -> None:
    values, mask = _pair((50, 40), share)
    expected = values.copy()
    new = np.arange(float(mask.sum()))
    expected[mask] = new
    assert masks.put(values, mask, new) == native.built
    if native.built:
        assert np.array_equal(values, expected)


def test_a_wrong_number_of_values_writes_nothing() -> None:
    values, mask = _pair((100,), 0.5)
    before = values.copy()
    assert not masks.put(values, mask, np.zeros(int(mask.sum()) + 1))
    assert np.array_equal(values, before)


def test_what_is_no_whole_mask_is_left_to_numpy() -> None:
    values, mask = _pair((100, 3), 0.5)
    assert not masks.applies(values, mask[:, 0])
    assert not masks.applies(values.T, mask.T)
    assert not masks.applies(values, [True] * 100)
