"""What lies on workers goes into files a block of rows at a time, and is what NumPy writes."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import row_blocks
from dnumpy.config import config
from dnumpy.runtime import find
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") == "split", reason="the workers are the nodes here"
)
VALUES = np.random.default_rng(2).normal(size=(600, 7))
BLOCK = 4096


@pytest.fixture
def brought(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the bytes of each array that comes home from now on; small arrays count as large."""
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", BLOCK)
    gathered: list[int] = []
    whole = Chunked.gather

    def gather(self: Chunked) -> np.ndarray:
        gathered.append(self.nbytes)
        return whole(self)

    monkeypatch.setattr(Chunked, "gather", gather)
    return gathered


def saved(path: Path, x: Any) -> None:
    np.save(path, x)


def saved_to_file(path: Path, x: Any) -> None:
    with path.open("wb") as file:
        dnumpy.save(file, x)


def mapped(path: Path, x: Any) -> None:
    target = dnumpy.lib.format.open_memmap(path, mode="w+", dtype=x.dtype, shape=x.shape)
    target[...] = x
    target.flush()


def mapped_again(path: Path, x: Any) -> None:
    np.save(path, np.zeros(x.shape, x.dtype))
    target = dnumpy.load(path, mmap_mode="r+")
    target[:] = x
    target.flush()


def copied(path: Path, x: Any) -> None:
    target = np.lib.format.open_memmap(path, mode="w+", dtype=x.dtype, shape=x.shape)
    dnumpy.copyto(target, x)
    target.flush()


WAYS: dict[str, Callable[[Path, Any], None]] = {
    "save": dnumpy.save,
    "numpy.save": saved,
    "to a file": saved_to_file,
    "map": mapped,
    "map for reading and writing": mapped_again,
    "copyto": copied,
}


@pytest.mark.parametrize("pending", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_written_block_by_block(
    way: str, pending: bool, tmp_path: Path, brought: list[int]
) -> None:
    x = dnumpy.array(VALUES) * 2.0
    if not pending:
        dnumpy.engine.compute([x._buf.expr])
    WAYS[way](tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), VALUES * 2.0)
    assert len(brought) >= VALUES.nbytes // BLOCK
    assert max(brought) <= BLOCK
    assert isinstance(x._buf.expr.value, Chunked)  # it stays where it is


def test_what_is_saved_equals_numpys_file_byte_by_byte(brought: list[int]) -> None:
    for values in (VALUES, VALUES.astype(">i4"), VALUES[:, 0] > 0, VALUES.astype(np.complex64)):
        ours, theirs = io.BytesIO(), io.BytesIO()
        plain = np.ascontiguousarray(values)
        dnumpy.save(ours, dnumpy.array(plain))
        np.save(theirs, plain)
        assert ours.getvalue() == theirs.getvalue()
    assert max(brought, default=0) <= VALUES.nbytes


def test_items_go_to_a_file_block_by_block(tmp_path: Path, brought: list[int]) -> None:
    x = dnumpy.array(VALUES) * 2.0
    x.tofile(tmp_path / "x.bin")
    assert max(brought) <= BLOCK
    np.testing.assert_array_equal(np.fromfile(tmp_path / "x.bin").reshape(VALUES.shape), x)
    brought.clear()
    x.T.tofile(tmp_path / "t.bin")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "t.bin"), np.ravel(2.0 * VALUES.T))


def test_a_part_of_a_map_is_filled_and_the_rest_stays(tmp_path: Path, brought: list[int]) -> None:
    target = dnumpy.memmap(tmp_path / "m", mode="w+", dtype=np.float32, shape=(700, 9))
    target[50:650, 1:8] = dnumpy.array(VALUES) * 2.0
    assert max(brought) <= BLOCK
    expected = np.zeros((700, 9), np.float32)
    expected[50:650, 1:8] = VALUES * 2.0
    np.testing.assert_array_equal(np.asarray(target), expected)
    target[[1, 3]] = dnumpy.array(VALUES[:2, :1]) * 2.0  # an index whose result is a copy
    expected[[1, 3]] = 2.0 * VALUES[:2, :1]
    np.testing.assert_array_equal(np.asarray(target), expected)


def test_numpy_refuses_what_it_refuses(tmp_path: Path, brought: list[int]) -> None:
    x = dnumpy.array(VALUES) * 2.0
    target = dnumpy.memmap(tmp_path / "m", mode="w+", dtype=float, shape=(599, 7))
    with pytest.raises(ValueError, match="broadcast"):
        target[...] = x
    whole = np.zeros(VALUES.shape, np.int32)
    with pytest.raises(TypeError, match="Cannot cast"):
        dnumpy.copyto(whole, x)
    whole.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        dnumpy.copyto(whole, x, casting="unsafe")
    assert brought


def test_maps_are_numpys(tmp_path: Path) -> None:
    plain = np.memmap(tmp_path / "m", mode="w+", dtype=float, shape=(4, 3))
    ours = dnumpy.memmap(tmp_path / "m", mode="r+", dtype=float, shape=(4, 3))
    for found in (plain, ours):
        assert isinstance(found, np.memmap)
        assert isinstance(found, dnumpy.memmap)
    assert not isinstance(np.zeros(3), dnumpy.memmap)
    assert issubclass(np.memmap, dnumpy.memmap)
    ours[...] = np.arange(12.0).reshape(4, 3)
    assert type(ours[1:]) is type(ours)
    assert type(ours[[1, 2]]) is np.ndarray
    assert type(ours + 1) is not type(ours)
    assert ours.sum() == 66.0
    assert ours.filename == plain.filename
    assert np.load(io.BytesIO(_written(ours)))[2, 1] == 7.0


def _written(x: Any) -> bytes:
    out = io.BytesIO()
    dnumpy.save(out, x)
    return out.getvalue()
