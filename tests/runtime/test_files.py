"""Arrays in files are read by rows where they are needed, and found through views."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.runtime.files import FileRows, file_of
from dnumpy.runtime.operands import Take, taken
from dnumpy.runtime.stored import sees

if TYPE_CHECKING:
    from pathlib import Path

HEADER = 40


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("files") / "x.bin"
    file.write_bytes(b"h" * HEADER + np.arange(60 * 7, dtype="f8").tobytes())
    return file


def mapped(path: Path, mode: str = "r") -> np.memmap:
    return np.memmap(path, "f8", mode, HEADER, (60, 7))  # type: ignore[call-overload]


def found(array: np.ndarray) -> FileRows:
    file = file_of(array.view(np.ndarray))
    assert file is not None
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.slices(60), st.integers(0, 59))
def test_rows_read_from_the_file_are_the_rows_of_the_map(
    path: Path, rows: slice, first: int
) -> None:
    whole = mapped(path)
    seen = whole[first:]
    ours = pickle.loads(pickle.dumps(found(seen)))
    forwards = slice(rows.start, rows.stop, abs(rows.step or 1))
    np.testing.assert_array_equal(ours.rows(forwards), seen[forwards])
    np.testing.assert_array_equal(taken(Take(0, None, None, ((1, 3),)), (ours,)), seen[:, 1:3])


def test_only_maps_that_nobody_writes_to_through_numpy_are_read_from_their_file(path: Path) -> None:
    whole = mapped(path)
    assert found(whole).offset == HEADER
    assert found(whole[4:9]).offset == HEADER + 4 * 7 * 8
    assert file_of(mapped(path, "c").view(np.ndarray)) is None
    assert file_of(mapped(path, "r+").view(np.ndarray)) is None
    assert file_of(whole[:, 2:].view(np.ndarray)) is None  # its rows do not follow one another
    assert file_of(np.arange(3)) is None


def test_a_file_that_has_changed_is_not_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    np.save(path, np.ones((50, 3)))
    identity = found(np.load(path, mmap_mode="r")).identity
    assert sees(identity)
    os.utime(path, ns=(1, 1))
    assert not sees(identity)
    path.unlink()
    assert not sees(identity)


def test_a_file_cut_short_is_an_error_and_not_zeros(tmp_path: Path) -> None:
    path = tmp_path / "z.npy"
    np.save(path, np.ones((50, 3)))
    rows = found(np.load(path, mmap_mode="r"))
    os.truncate(path, 200)
    with pytest.raises(OSError, match="too early"):
        rows.rows(slice(20, 50))
