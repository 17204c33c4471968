"""Files mapped for reading alone are read by tiles: no copy of them is made."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHAPE = 64_000, 64

WAYS: dict[str, Callable[[Path], Any]] = {
    "load": lambda path: dnumpy.load(path, mmap_mode="r"),
    "asarray": lambda path: dnumpy.asarray(np.load(path, mmap_mode="r")),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_fold_over_a_mapped_file_takes_a_small_part_of_its_memory(
    way: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.npy"
    values = np.random.default_rng(3).random(SHAPE) + 0.5
    np.save(path, values)
    tracemalloc.start()
    try:
        x = WAYS[way](path)
        total = float((x / x.sum(axis=1, keepdims=True)).sum())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(total, (values / values.sum(axis=1, keepdims=True)).sum())
    assert type(x) is dnumpy.ndarray
    assert peak < values.nbytes / 2


def test_a_map_that_may_be_written_to_is_copied_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.ones(SHAPE))
    mapped = np.load(path, mmap_mode="r+")
    doubled = dnumpy.asarray(mapped) * 2
    mapped[...] = 5.0
    assert float(doubled.sum()) == 2.0 * np.prod(SHAPE)
