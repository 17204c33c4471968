"""repr and str are NumPy's, and of a large array only the items that are shown are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.api import printing
from dnumpy.api.array import from_expr, wrap
from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.ops.table import FULL
from dnumpy.runtime.chunked import Chunked

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("managed")
TEXTS = (repr, str, lambda x: f"{x}", lambda x: f"{x!r:>5}")
FUNCTIONS = (
    lambda x: dnumpy.array_repr(x, 60, 3, suppress_small=True),
    lambda x: dnumpy.array_str(x, precision=2),
    lambda x: dnumpy.array2string(x, separator=", ", prefix="   "),
    lambda x: dnumpy.array2string(x, threshold=3, edgeitems=1),
)


def assert_prints_alike(ours: Any, theirs: Any) -> None:
    for text in TEXTS:
        assert text(ours) == text(theirs)


ARRAYS = {
    "0-d": np.array(1.5),
    "empty": np.empty((0, 3)),
    "empty 1-d": np.array([]),
    "int": np.arange(24).reshape(2, 3, 4),
    "long": np.arange(1001.0),
    "just short": np.arange(1000.0),
    "wide": np.arange(12_000).reshape(3, 4000),
    "tall": np.arange(12_000).reshape(4000, 3),
    "edges and one": np.arange(7 * 7 * 49).reshape(7, 7, 49),
    "edges": np.arange(6 * 6 * 36).reshape(6, 6, 36),
    "deep": np.arange(10_000).reshape(10, 10, 10, 10),
    "nan": np.where(np.arange(2000) % 2, np.nan, np.inf),
    "exponents": np.logspace(-12, 12, 1500),
    "bool": np.arange(1500) % 3 == 0,
    "complex": np.arange(1500) * (1.25 - 0.5j),
    "float16": np.arange(30, dtype=np.float16) / 7,
    "float32": np.linspace(0, 1, 1500, dtype=np.float32),
    "longdouble": np.linspace(0, 1, 9, dtype=np.longdouble),
    "uint8": np.arange(2000).astype(np.uint8),
    "string": np.array(["a", "bcd"] * 600),
    "bytes": np.array([b"a", b"bcd"]),
    "object": np.array([None, [1, 2], "x", 3.5], dtype=object),
    "datetime": np.arange("2020-01", "2029-01", dtype="M8[D]"),
    "timedelta": np.array([1, "NaT"], dtype="m8[s]"),
    "structured": np.array([(1, 2.5)] * 3, dtype=[("x", int), ("y", float)]),
    "big endian": np.arange(5, dtype=">i4"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_any_kind_prints_as_numpys(name: str) -> None:
    ours = wrap(ARRAYS[name].copy())
    assert_prints_alike(ours, ARRAYS[name])
    for text in FUNCTIONS:
        assert text(ours) == text(ARRAYS[name])


OPTIONS: list[dict[str, Any]] = [
    {"precision": 3}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1}, {"suppress": True},
    {"edgeitems": 5, "threshold": 0}, {"linewidth": 40}, {"floatmode": "fixed"}, {"sign": "+"},
    {"nanstr": "-", "infstr": "oo"}, {"formatter": {"float": lambda x: f"<{x:.1f}>"}},
    {"legacy": "1.13"}, {"legacy": "1.25"}, {"legacy": "2.1"},
    {"override_repr": lambda a: f"!{a.size}"},
    {"edgeitems": 0, "threshold": 3},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=", ".join)
def test_print_options_hold(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with np.printoptions(**options):
            pass
    except KeyError:  # NumPy 2.2.0 does not find its own number of 2.1
        pytest.skip("NumPy does not take them")
    monkeypatch.setattr(printing, "LARGE", 1)
    for values in (np.linspace(-3, 1e5, 1200), np.arange(60.0).reshape(3, 4, 5) / 7):
        pending = wrap(values.copy()) * 1.0
        with dnumpy.printoptions(**options):
            assert_prints_alike(pending, values)
            assert_prints_alike(wrap(values.copy()), values)


def test_masked_arrays_and_scalars_print_as_numpys() -> None:
    def program(xp: Any) -> list[Any]:
        a = xp.arange(2000.0)
        return [xp.ma.masked_array(a, mask=a % 2 == 0), xp.ma.masked_array([1, 2], mask=[0, 1]),
                a.sum(), a[3], a.mean()]  # fmt: skip

    for ours, theirs in zip(program(dnumpy), program(np), strict=True):
        assert_prints_alike(ours, theirs)


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of everything that comes home from nodes while the test runs."""
    sizes: list[int] = []
    plain = Chunked.gather

    def counting(self: Chunked) -> np.ndarray:
        sizes.append(self.nbytes)
        return plain(self)

    monkeypatch.setattr(Chunked, "gather", counting)
    return sizes


def huge(xp: Any, n: int = 10_000) -> Any:
    """Return n * n elements made of 2 * n."""
    column, row = xp.arange(float(n))[:, None], xp.arange(float(n))[None, :]
    return xp.sqrt(column * row + 1.0)


def test_printing_a_huge_pending_array_computes_its_edges_alone(gathered: list[int]) -> None:
    x = huge(dnumpy)
    assert x.size == 10**8
    other = dnumpy.arange(3_000_000.0) * 2.0  # what else waits goes on waiting
    engine.history.clear()
    shown, views = repr(x), [str(x[::-1, 5:]), str(x.T), f"{x[3]}"]
    assert x._buf.pending
    assert other._buf.pending
    assert not engine.history
    assert sum(gathered) < 10_000
    i = np.r_[0:4, 9997:10_000]
    edges = np.sqrt(i[:, None] * i[None, :].astype(float) + 1.0)
    assert shown.endswith("shape=(10000, 10000))")
    with np.printoptions(threshold=0):
        items = repr(edges).replace("shape=(7, 7))", "shape=(10000, 10000))")
        assert shown.split() == items.split()  # the longer shape takes a line of its own
        assert views[1] == str(edges.T)
    assert views[2] == str(np.sqrt(3.0 * np.arange(10_000) + 1.0))


PARTS = st.sampled_from(
    ["x + 1", "-x", "x[::-1]", "x.T", "x[1:]", "x[:, ::2]", "x[5:20]", "x.reshape(-1)", "x * x",
     "xp.where(x > 3, x, 0)", "x[:, 3]", "x[None]", "x.astype('f4')", "xp.maximum(x, x.mean())",
     "put(x)", "x / 0", "x.cumsum(0)", "x.sum(axis=0)", "x[x > 3]", "x + 1j", "x.real"]
)  # fmt: skip


@settings(max_examples=25)
@given(parts=st.lists(PARTS, max_size=5))
def test_any_pending_program_prints_as_numpys(parts: list[str]) -> None:
    def put(x: Any) -> Any:
        x = x.copy()
        x[2:5] = 7
        x[-1:] = x[:1]
        return x

    def program(xp: Any) -> Any:
        x = xp.arange(63.0 * 41).reshape(63, 41)
        for part in parts:
            try:
                x = eval(part, {"x": x, "xp": xp, "put": put})  # noqa: S307 - of the list above
            except (IndexError, TypeError, ValueError):
                break
        return x

    kept, printing.LARGE = printing.LARGE, 1
    try:
        with np.errstate(all="ignore"), np.printoptions(threshold=20):
            ours, theirs = program(dnumpy), program(np)
            assert_prints_alike(ours, theirs)
            if isinstance(theirs, np.ndarray):
                np.testing.assert_array_equal(np.asarray(ours), theirs)  # still what it was
    finally:
        printing.LARGE = kept


def test_what_cannot_be_seen_through_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "LARGE", 1)
    y = (dnumpy.arange(2_000.0) * 2.0).reshape(10, 200).cumsum(axis=1) + 1.0
    assert_prints_alike(y, np.cumsum((np.arange(2e3) * 2).reshape(10, 200), axis=1) + 1.0)


def test_a_chain_of_any_length_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "LARGE", 1)
    x = dnumpy.arange(2_000)
    for _ in range(500):
        x = x + 1
    assert_prints_alike(x, np.arange(2_000) + 500)


def test_of_an_array_on_nodes_only_the_edges_come_home(
    gathered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "mode", "split")
    x = dnumpy.arange(30_000.0).reshape(1000, 30) * 2.0
    engine.compute([x._buf.expr])
    assert isinstance(x._buf.expr.value, Chunked)
    waiting = dnumpy.arange(3_000.0) + 1.0
    expected = np.arange(30_000.0).reshape(1000, 30) * 2.0
    assert repr(x) == repr(expected)
    assert str(x[::2].T) == str(expected[::2].T)
    assert waiting._buf.pending
    assert gathered
    assert sum(gathered) < x.nbytes / 10


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_of_an_array_on_real_workers_only_the_edges_come_home(
    gathered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    for name, setting in (("mode", "default"), ("tile_rows_max", 1 << 20), ("tile_bytes", 1 << 20)):
        monkeypatch.setattr(config, name, setting)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster):
        x = from_expr(make(FULL, (), (np.float64(0.5),), (10**8,), np.dtype(float)))
        y = x + 1.0
        assert repr(y) == "array([1.5, 1.5, 1.5, ..., 1.5, 1.5, 1.5], shape=(100000000,))"
        assert y._buf.pending
        assert x._buf.pending
        assert not gathered
        del x, y
        z = from_expr(make(FULL, (), (np.float64(0.5),), (4_000_000,), np.dtype(float))) + 1.0
        assert float(z.sum()) == 6e6
        assert isinstance(z._buf.expr.value, Chunked)
        assert repr(z) == "array([1.5, 1.5, 1.5, ..., 1.5, 1.5, 1.5], shape=(4000000,))"
        assert z._buf.is_far  # no copy of it was made here
        assert sum(gathered) < 10_000
        del z
