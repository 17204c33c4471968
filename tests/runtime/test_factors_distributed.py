"""Matrices and sequences on the workers of a real cluster are factored and transformed there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import einstein, factors, fft, linalg, spectral, subspaces
from dnumpy.config import config
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.runtime import chunked, find
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster, dask_cluster
from tests.api.test_linalg import DEFINITE, RIGHT, SQUARE, TALL, compare
from tests.api.test_spectral import assert_eigen, assert_singular
from tests.api.test_subspaces import assert_eigen as assert_diagonal

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.modeless("every test here sets the mode itself"),
    pytest.mark.timeout(120),
]

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


SYMMETRIC = (SQUARE + SQUARE.T)[:32, :32]  # two panels, and above what one worker takes


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
def test_spectra_that_no_worker_has_room_for_are_divided(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectral, "fits_one_node", lambda a: min(a.shape) <= 30)
    monkeypatch.setattr(config, "tile_rows_max", 16)
    monkeypatch.setattr(factors, "PANEL", 16)
    placed = dnumpy.array(SYMMETRIC) * 1.0
    dnumpy.engine.compute([placed._buf.expr])
    gathered: list[int] = []
    monkeypatch.setattr(
        chunked, "refuse_above_limit", lambda nbytes, _what: gathered.append(nbytes)
    )
    if name == "eigh":
        w, v = dnumpy.linalg.eigh(placed)
        assert max(gathered, default=0) <= 0.75 * SYMMETRIC.nbytes
        assert_eigen(SYMMETRIC, w, v)
    elif name == "eig":
        w, v = dnumpy.linalg.eig(placed)
        pivots = 2 * factors.PANEL * 2 * SYMMETRIC[0].nbytes  # rows of it beside the identity
        assert max(gathered, default=0) <= pivots
        assert_diagonal(SYMMETRIC, w, v)
    else:
        found = dnumpy.linalg.svd(placed)
        assert max(gathered, default=0) <= 0.75 * SYMMETRIC.nbytes
        assert_singular(SYMMETRIC, *found)


def _with_room(client: Any, monkeypatch: pytest.MonkeyPatch, *rooms: float) -> list[str]:
    """Let the plan think that the workers have so many bytes; return the workers."""
    cluster = dask_cluster(client)
    cluster.refresh()
    monkeypatch.setattr(cluster, "_refresh_memory", lambda: None)
    for node, room in zip(cluster.nodes(), rooms, strict=True):
        profile = replace(cluster.profiles[node], free_bytes=room / MEMORY_SHARE)
        monkeypatch.setitem(cluster.profiles, node, profile)
    return list(cluster.nodes())


def test_the_room_of_the_workers_decides_whether_a_spectrum_is_divided(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = dnumpy.array(SYMMETRIC) * 1.0
    dnumpy.engine.compute([placed._buf.expr])
    needed = spectral.WORKSPACE * SYMMETRIC.nbytes
    _with_room(client, monkeypatch, 1e3, 1.01 * needed)
    assert spectral.fits_one_node(placed)
    _with_room(client, monkeypatch, 0.99 * needed, 1e3)
    assert not spectral.fits_one_node(placed)


def test_eigenvalues_of_any_matrix_are_found_on_a_worker_that_has_room_or_it_is_said_that_none_has(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 16)
    monkeypatch.setattr(factors, "PANEL", 16)
    block = np.eye(len(SQUARE)) + np.eye(len(SQUARE), k=1)  # which no line divides
    placed = dnumpy.array(block) * 1.0
    dnumpy.engine.compute([placed._buf.expr])
    _with_room(client, monkeypatch, 1.0, 1e9)
    np.testing.assert_array_equal(dnumpy.linalg.eig(placed)[1], np.linalg.eig(block)[1])
    monkeypatch.setattr(subspaces, "MOST_FAILURES", 1)
    monkeypatch.setattr(subspaces, "MOST_STEPS", 5)
    short = 4.5 * block.nbytes  # enough for operand and results, not for LAPACK beside them
    _with_room(client, monkeypatch, short, short)
    with pytest.raises(MemoryError, match="gufunc needs"):
        dnumpy.engine.compute([dnumpy.linalg.eig(placed).eigenvectors._buf.expr])
