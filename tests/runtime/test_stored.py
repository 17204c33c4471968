"""Arrays in Zarr stores are read by rows where they are wanted, and are NumPy's in all else."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.api import stored as operands
from dnumpy.config import config
from dnumpy.errors import GatherTooLarge
from dnumpy.runtime import find, zarrs
from dnumpy.runtime.files import FileRows, file_of, stored_rows
from dnumpy.runtime.stored import StoredRows, sees
from dnumpy.runtime.zarrs import ZarrIdentity, ZarrRows, zarr_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

zarr = pytest.importorskip("zarr", reason="arrays in Zarr stores need the zarr package")

ROWS, COLUMNS = 61, 9
VALUES = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) % 17 + 1
LIMIT = 64 << 20

KINDS: dict[str, dict[str, Any]] = {
    "format 3": {"zarr_format": 3},
    "format 2": {"zarr_format": 2},
    "one chunk": {"chunks": (ROWS, COLUMNS)},
    "rows": {"chunks": (1, COLUMNS)},
    "columns": {"chunks": (ROWS, 2)},
    "more than all": {"chunks": (100, 100)},
    "shards": {"chunks": (5, 3), "shards": (20, 9)},
    "Fortran order": {"zarr_format": 2, "order": "F"},
    "plain bytes": {"compressors": None},
    "fill value": {"fill_value": 7.0, "filled": False},
}


def made(path: Path | str, values: np.ndarray, *, filled: bool = True, **options: Any) -> Any:
    """Return the array in a new store, opened for reading alone."""
    options = {"chunks": tuple(min(7, n) or 1 for n in values.shape), **options}
    if not values.ndim:
        options["chunks"] = ()
    array = zarr.create_array(store=path, shape=values.shape, dtype=values.dtype, **options)
    if filled:
        array[...] = values
    return zarr.open_array(path, mode="r")


def found(array: Any) -> ZarrRows:
    rows = zarr_of(array)
    assert rows is not None
    return rows


def is_unread(array: Any) -> bool:
    return isinstance(array._buf.expr.value, StoredRows)


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays are large ones, so that all are read when they are wanted."""
    monkeypatch.setattr(operands, "LEAST_BYTES", 1)


# ---------------------------------------------------------------- rows


@pytest.fixture(scope="module", params=list(KINDS))
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return made(tmp_path_factory.mktemp("zarr") / "x", VALUES, **KINDS[request.param])


@pytest.mark.modeless("rows are read the same in every mode")
@settings(max_examples=40)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=6), step=st.integers(1, 9), most=st.booleans())
def test_rows_read_one_after_another_are_the_rows_of_the_array(
    kept: Any, cuts: list[int], step: int, most: bool
) -> None:
    rows = pickle.loads(pickle.dumps(found(kept)))
    whole = kept[...]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zarrs, "BAND_BYTES", 1 << 20 if most else 1)
        ends = [0, *sorted(cuts), ROWS]
        for first, stop in pairwise(ends):
            part = rows.rows(slice(first, stop))
            assert part.flags.c_contiguous
            assert part.flags.writeable
            np.testing.assert_array_equal(part, whole[first:stop])
            part[...] = -1.0  # nobody else's
        np.testing.assert_array_equal(
            rows.rows(slice(cuts[0] if cuts else 0, None, step)),
            whole[cuts[0] if cuts else 0 :: step],
        )
    np.testing.assert_array_equal(rows.rows(None), whole)
    assert (rows.shape, rows.dtype, rows.nbytes) == (whole.shape, whole.dtype, whole.nbytes)


@pytest.mark.modeless("chunks are counted without the engine")
def test_blocks_that_cut_chunks_decode_no_chunk_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = found(made(tmp_path / "x", VALUES, chunks=(20, 4)))
    reads: list[tuple[int, int]] = []
    whole = ZarrRows._whole

    def counted(self: ZarrRows, start: int, stop: int) -> np.ndarray:
        reads.append((start, stop))
        return whole(self, start, stop)

    monkeypatch.setattr(ZarrRows, "_whole", counted)
    for first in range(0, ROWS, 6):
        rows.rows(slice(first, first + 6))
    assert reads == [(0, 20), (20, 40), (40, 60), (60, 61)]


# ---------------------------------------------------------------- which arrays


@pytest.mark.modeless("stores are the same in every mode")
def test_only_arrays_opened_for_reading_that_others_see_are_left_where_they_are(
    tmp_path: Path,
) -> None:
    read_only = made(tmp_path / "x", VALUES)
    assert isinstance(stored_rows(found(read_only)), ZarrRows)
    assert zarr_of(zarr.open_array(tmp_path / "x", mode="r+")) is None
    memory = zarr.storage.MemoryStore()
    assert zarr_of(made(memory, VALUES)) is None
    assert zarr_of(made(tmp_path / "scalar", np.array(3.0))) is None
    assert zarr_of(VALUES) is None
    assert file_of(found(read_only)) is None
    assert not issubclass(ZarrRows, FileRows)


@pytest.mark.modeless("stores are the same in every mode")
def test_an_array_in_a_group_and_one_behind_fsspec_are_found(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "g", mode="w")
    group.create_array("inner/y", shape=VALUES.shape, chunks=(8, 4), dtype="f8")[...] = VALUES
    inner = zarr.open_group(tmp_path / "g", mode="r")["inner/y"]
    behind = zarr.open_array(f"file://{tmp_path}/g/inner/y", mode="r")
    for array in (inner, behind):
        rows = pickle.loads(pickle.dumps(found(array)))
        assert sees(rows.identity)
        np.testing.assert_array_equal(rows.rows(slice(3, 40)), VALUES[3:40])


@pytest.mark.modeless("stores are the same in every mode")
@pytest.mark.parametrize("in_folders", [True, False])
def test_a_store_that_was_made_again_is_not_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_folders: bool
) -> None:
    made(tmp_path / "x", VALUES)
    if not in_folders:
        monkeypatch.setattr(zarrs, "_folder_of", lambda array: None)
    identity = found(zarr.open_array(f"file://{tmp_path}/x", mode="r")).identity
    assert isinstance(identity, ZarrIdentity) == (not in_folders)
    assert sees(pickle.loads(pickle.dumps(identity)))
    shutil.rmtree(tmp_path / "x")
    assert not sees(identity)
    made(tmp_path / "x", VALUES[:40])
    assert not sees(identity)


# ---------------------------------------------------------------- as NumPy

USES: list[Callable[[Any, Any], Any]] = [
    lambda np, z: np.asarray(z),
    lambda np, z: np.array(z, dtype="f4"),
    lambda np, z: np.asanyarray(z),
    lambda np, z: np.array(z, ndmin=4),
    lambda np, z: np.sum(z, axis=0),
    lambda np, z: np.add(z, 1),
    lambda np, z: np.multiply(2, z),
    lambda np, z: np.asarray(z) * np.asarray(z),
    lambda np, z: np.asarray(z)[::-3],
    lambda np, z: np.asarray(z)[..., 2:][1:],
    lambda np, z: np.asarray(z).T,
    lambda np, z: np.sort(z, axis=0),
    lambda np, z: np.cumsum(z, axis=0),
    lambda np, z: np.asarray(z)[np.asarray(z) > 3],
    lambda np, z: np.asarray(z)[[3, 1, 60, 3]],
    lambda np, z: np.concatenate([np.asarray(z), np.asarray(z)]),
    lambda np, z: np.asarray(z).reshape(-1)[5:77],
    lambda np, z: np.median(z, axis=0),
    lambda np, z: np.unwrap(np.asarray(z), axis=0),
    lambda np, z: np.asarray(z)[5, ...],
]


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("use", range(len(USES)))
@pytest.mark.parametrize("dtype", ["f8", "i2", "c8", "?"])
def test_whatever_is_made_of_it_is_what_numpy_makes_of_it(
    tmp_path: Path, use: int, dtype: str
) -> None:
    array = made(tmp_path / "x", (VALUES % 5).astype(dtype), chunks=(13, 4))
    with np.errstate(all="ignore"):
        try:
            expected = USES[use](np, array)
        except TypeError:
            with pytest.raises(TypeError):
                np.asarray(USES[use](dnumpy, array))
            return
        ours = USES[use](dnumpy, array)
    got = np.asarray(ours)
    assert (got.shape, got.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (50,), (4, 5, 6)])
@pytest.mark.parametrize("dtype", ["f8", ">i4", "u1", "c16"])
def test_any_shape_and_dtype_is_numpys(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = made(tmp_path / "x", values, zarr_format=2)  # which has both byte orders
    expected = np.asarray(array)
    for ours in (dnumpy.asarray(array), dnumpy.array(array), dnumpy.asarray(array, dtype="c16")):
        got = np.asarray(ours)
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)
    assert dnumpy.asarray(array).dtype == expected.dtype


@pytest.mark.usefixtures("any_size")
def test_what_is_written_goes_to_the_array_and_not_to_the_store(tmp_path: Path) -> None:
    array = made(tmp_path / "x", VALUES)
    ours, theirs = dnumpy.asarray(array), np.asarray(array)
    before = ours + 0
    for x in (ours, theirs):
        x[3:5] = -1.0
        x[...] *= 2.0
        x[0, 0] += 4.0
    np.testing.assert_array_equal(np.asarray(ours), theirs)
    np.testing.assert_array_equal(np.asarray(before), VALUES)
    np.testing.assert_array_equal(array[...], VALUES)
    assert ours.flags.writeable


@pytest.mark.usefixtures("any_size")
def test_numpys_refusal_to_make_no_copy_stays(tmp_path: Path) -> None:
    array = made(tmp_path / "x", VALUES)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)
    with pytest.raises(ValueError, match="copy"):
        dnumpy.asarray(array, copy=False)


@pytest.mark.usefixtures("any_size")
def test_a_store_that_has_gone_is_an_error_and_not_its_fill_value(tmp_path: Path) -> None:
    ours = dnumpy.asarray(made(tmp_path / "x", VALUES)) + 1.0
    shutil.rmtree(tmp_path / "x")
    with pytest.raises(OSError, match="has changed"):
        np.asarray(ours)


@pytest.mark.modeless("sizes count in the default mode alone")
def test_what_is_small_or_may_be_written_is_read_at_once(tmp_path: Path) -> None:
    assert dnumpy.asarray(made(tmp_path / "x", VALUES))._np is not None
    values = np.arange(operands.LEAST_BYTES / 8).reshape(-1, 64)
    large = made(tmp_path / "y", values, chunks=(1_000, 64))
    assert is_unread(dnumpy.asarray(large))
    writeable = zarr.open_array(tmp_path / "y", mode="r+")
    ours = dnumpy.asarray(writeable)
    writeable[3] = -1.0  # NumPy has taken its copy
    np.testing.assert_array_equal(np.asarray(ours), values)


# ---------------------------------------------------------------- out of core

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import zarr
import dnumpy
from dnumpy.config import config

config.memory_limit, config.cluster = 4 << 20, "off"
config.kernels = "tiled"

def held(name):
    return next(int(l.split()[1]) << 10 for l in Path("/proc/self/status").open()
                if l.startswith(name))

def spread(x):
    return np.asarray(((x - x.mean(axis=0)) ** 2).sum(axis=0))

array = zarr.open_array(sys.argv[1], mode="r")
spread(dnumpy.asarray(np.ones((500, 600)))), array[:2_000]  # imports and makes what it needs
config.memory_limit = int(sys.argv[2])
x = dnumpy.asarray(array)
Path("/proc/self/clear_refs").write_text("5")
before = held("VmRSS")
found = spread(x)
print(held("VmHWM") - before)
np.save(sys.argv[3], found)
"""
LONG, WIDE = 60_000, 800
FEW = 10_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An array of six times the limit, of which a few chunks were written."""
    path = tmp_path_factory.mktemp("large") / "x"
    options = {"chunks": (700, 400), "fill_value": 0.5, "filled": False}
    made(path, np.broadcast_to(np.float64(), (LONG, WIDE)), **options)
    zarr.open_array(path, mode="r+")[::7_000, 3] = 2.0
    return zarr.open_array(path, mode="r")


@pytest.fixture(scope="module")
def part_of_large(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("part") / "x"
    return made(path, few_of_large(), chunks=(700, 400))


def few_of_large() -> np.ndarray:
    values = np.full((FEW, WIDE), 0.5)
    values[::7_000, 3] = 2.0
    return values


def spread_of_large(rows: int = LONG) -> np.ndarray:
    values = np.full((rows, 4), 0.5)
    values[::7_000, 3] = 2.0
    few = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return np.concatenate([few, np.zeros(WIDE - 4)])


@pytest.mark.modeless("the limit is that of the default mode")
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_a_store_of_several_times_the_limit_passes_below_it(large: Any, tmp_path: Path) -> None:
    assert large.nbytes > 5 * LIMIT
    out = tmp_path / "found.npy"
    args = [sys.executable, "-c", PROGRAM, str(large.store.root), str(LIMIT), str(out)]
    ran = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert 0 < int(ran.stdout) < LIMIT
    np.testing.assert_allclose(np.load(out), spread_of_large(), rtol=1e-9, atol=1e-9)


@pytest.mark.modeless("the limit is that of the default mode")
def test_what_does_not_fit_is_refused_and_parts_of_it_are_not(
    large: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "memory_limit", LIMIT)
    monkeypatch.setattr(config, "cluster", "off")
    x = dnumpy.asarray(large)
    with pytest.raises(GatherTooLarge, match="a stored array"):
        np.asarray(x)
    np.testing.assert_array_equal(np.asarray(x[7_000:7_002, 2:5] * 2), large[7_000:7_002, 2:5] * 2)
    np.testing.assert_array_equal(np.asarray(x[x[:, 3] > 1.0, 3]), np.full(9, 2.0))
    assert is_unread(x)


# ---------------------------------------------------------------- on workers


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.cluster
@pytest.mark.modeless("the workers are those of the default mode")
@pytest.mark.parametrize("seen", [True, False])
def test_workers_read_the_rows_that_they_want_where_they_see_the_store(
    part_of_large: Any, client: Any, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    reads: list[slice | None] = []
    plain = ZarrRows.rows

    def counted(self: ZarrRows, rows: slice | None) -> np.ndarray:
        reads.append(rows)
        return plain(self, rows)

    monkeypatch.setattr(ZarrRows, "rows", counted)  # in this process alone
    monkeypatch.setattr(find, "SURELY", 0)  # however little that is
    if not seen:
        from dnumpy.runtime.dask_cluster import DaskCluster

        monkeypatch.setattr(DaskCluster, "see", lambda self, identity: False)
    with client.as_current():
        x = dnumpy.asarray(part_of_large)
        engine.history.clear()
        spread = np.asarray(((x - x.mean(axis=0)) ** 2).sum(axis=0))
        nodes = {node for record in engine.history for node, _ in record.where}
        assert nodes
        assert nodes <= set(client.nthreads())  # what the client keeps of them may be old
        doubled = x[:8_000] * 2.0
        head = np.asarray(doubled[7_000, :5])
    np.testing.assert_allclose(spread, spread_of_large(FEW), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(head, [1.0, 1.0, 1.0, 4.0, 1.0])
    assert is_unread(x)
    assert bool(reads) != seen  # who does not see it is sent rows, not the whole
    assert None not in reads
