"""Matrices and sequences on the workers of a real cluster are factored and transformed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import einstein, factors, fft, linalg
from dnumpy.config import config
from dnumpy.runtime import chunked, find
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster
from tests.api.test_linalg import DEFINITE, RIGHT, SQUARE, TALL, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

CALLS: dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]] = {
    "solve": (SQUARE, lambda xp, a: xp.linalg.solve(a, RIGHT)),
    "cholesky": (DEFINITE, lambda xp, a: xp.linalg.cholesky(a)),
    "qr": (TALL, lambda xp, a: xp.linalg.qr(a)),
    "svd": (TALL, lambda xp, a: xp.linalg.svd(a, full_matrices=False)),
    "lstsq": (TALL, lambda xp, a: xp.linalg.lstsq(a, TALL[:, 0] ** 2)),
    "fft": (TALL.ravel(), lambda xp, a: xp.fft.fft(a)),
    "rfft": (TALL.ravel(), lambda xp, a: xp.fft.rfft(a)),
    "fft of a prime": (TALL.ravel()[:701], lambda xp, a: xp.fft.ifft(a)),
    "fft2": (TALL, lambda xp, a: xp.fft.fft2(a)),
    "einsum": (TALL, lambda xp, a: xp.einsum("ij,ik->jk", a, a)),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(linalg, "ONE_NODE_BYTES", 0)
    monkeypatch.setattr(fft, "ONE_NODE_BYTES", 0)
    monkeypatch.setattr(fft, "LEAST", 16)
    monkeypatch.setattr(einstein, "LEAST_BYTES", 0)
    monkeypatch.setattr(factors, "PANEL", 5)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_workers_give_what_numpy_gives_and_nothing_whole_comes_home(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, call = CALLS[name]
    placed = dnumpy.array(values) * 1.0
    dnumpy.engine.compute([placed._buf.expr])
    assert isinstance(placed._buf.expr.value, Chunked)
    gathered: list[int] = []
    monkeypatch.setattr(
        chunked, "refuse_above_limit", lambda nbytes, _what: gathered.append(nbytes)
    )
    found = call(dnumpy, placed)
    assert max(gathered, default=0) <= 0.75 * values.nbytes
    compare(found, call(np, values))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_what_lapack_overwrites_is_overwritten_on_workers_too(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linalg, "ONE_NODE_BYTES", 1 << 40)
    stack = TALL.ravel()[:360].reshape(10, 9, 4)
    for values in (TALL, stack):
        placed = dnumpy.array(values) * 1.0
        compare(dnumpy.linalg.qr(placed, mode), np.linalg.qr(values, mode))
        np.testing.assert_array_equal(np.asarray(placed), values)
