"""Lines, matrices and points that threads share out give what NumPy gives of them all."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native
from dnumpy.api import lines
from dnumpy.kernels import sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module", autouse=True)
def _as_programs_run() -> Iterator[None]:
    kept = np.config.threads, np.config.mode, np.config.eager_below
    np.config.threads, np.config.mode, np.config.eager_below = 3, "default", 1 << 18
    yield
    np.config.threads, np.config.mode, np.config.eager_below = kept


@pytest.fixture(autouse=True, params=["shared", "alone"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share all out, and have one thread do what was found to be slower by several."""
    pays = request.param == "shared"
    monkeypatch.setattr(lines.Sharing, "pays", lambda _self, *, guess: guess and pays)


def seen(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x).__name__, [seen(part) for part in x]
    plain = numpy.asarray(x)
    return plain.dtype, plain.shape, plain.strides, plain.tobytes()


def outcome(call: Callable[..., Any], xp: Any, *arrays: numpy.ndarray) -> Any:
    """Return what a call gives, or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = seen(call(xp, *[xp.array(a) for a in arrays]))
        except Exception as error:  # noqa: BLE001 - compared
            found = type(error), str(error)
    return found, sorted(str(one.message) for one in said)


def numbers(shape: tuple[int, ...], dtype: str = "f8") -> numpy.ndarray:
    draws = numpy.random.default_rng(7).normal(size=shape)
    return (draws * (1 if numpy.dtype(dtype).kind in "fc" else 100)).astype(dtype)


OF_LINES: dict[str, Callable[..., Any]] = {
    "sort": lambda xp, a: xp.sort(a),
    "sort of columns": lambda xp, a: xp.sort(a, axis=0),
    "stable sort": lambda xp, a: xp.sort(a, 1, kind="stable"),
    "argsort": lambda xp, a: xp.argsort(a),
    "argsort of columns": lambda xp, a: xp.argsort(a, axis=0),
    "method": lambda _xp, a: a.argsort(1, kind="stable"),
    "argpartition": lambda xp, a: xp.argpartition(a, 5, axis=1),
    "its method": lambda _xp, a: a.argpartition(3),
    "median": lambda xp, a: xp.median(a, axis=1),
    "median of columns": lambda xp, a: xp.median(a, axis=0),
    "percentile": lambda xp, a: xp.percentile(a, 30, axis=1),
    "quantiles": lambda xp, a: xp.quantile(a, [0.1, 0.9], axis=0),
    "nearest": lambda xp, a: xp.quantile(a, 0.4, axis=-1, method="nearest"),
    "fft": lambda xp, a: xp.fft.fft(a),
    "rfft of columns": lambda xp, a: xp.fft.rfft(a, axis=0),
    "irfft": lambda xp, a: xp.fft.irfft(a, norm="ortho"),
    "fft2": lambda xp, a: xp.fft.fft2(a),
    "wrong axis": lambda xp, a: xp.sort(a, axis=2),
    "wrong kind": lambda xp, a: xp.sort(a, kind="quicker"),
    "wrong place": lambda xp, a: xp.argpartition(a, 99_999, axis=1),
    "wrong share": lambda xp, a: xp.quantile(a, 1.5, axis=1),
}


@pytest.mark.parametrize("name", OF_LINES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_lines(name: str, dtype: str) -> None:
    for shape in ((301, 433), (2, 65_000), (65_000, 2)):
        a = numbers(shape, dtype)
        if dtype == "f8" and "fft" not in name:
            a.reshape(-1)[::1013] = numpy.nan
        assert outcome(OF_LINES[name], np, a) == outcome(OF_LINES[name], numpy, a)


OF_MATRICES: dict[str, Callable[..., Any]] = {
    "inv": lambda xp, a, _b: xp.linalg.inv(a),
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "eigh": lambda xp, a, _b: xp.linalg.eigh(a + a.transpose(0, 2, 1)),
    "eigvals": lambda xp, a, _b: xp.linalg.eigvals(xp.concatenate([abs(a[:1]), a[1:]])),
    "real eigvals": lambda xp, a, _b: xp.linalg.eig(a @ a.transpose(0, 2, 1))[0],
    "svd": lambda xp, a, _b: xp.linalg.svd(a, full_matrices=False),
    "values alone": lambda xp, a, _b: xp.linalg.svd(a, compute_uv=False),
    "no square": lambda xp, _a, b: xp.linalg.inv(b),
}


@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("singular", [False, True])
def test_matrices(name: str, *, singular: bool) -> None:
    a, b = numbers((3000, 5, 5)), numbers((3000, 5, 2))
    if singular:
        a[1234] = 0
    assert outcome(OF_MATRICES[name], np, a, b) == outcome(OF_MATRICES[name], numpy, a, b)


@pytest.mark.parametrize("named", [{}, {"left": -1.0, "right": 2.0}, {"period": 0.5}], ids=str)
def test_points(named: dict[str, float]) -> None:
    x, xp, fp = numbers((300, 200)), numpy.linspace(-1, 1, 400), numbers((400,))

    def call(module: Any, *arrays: Any) -> Any:
        return module.interp(*arrays, **named)

    assert outcome(call, np, x, xp, fp) == outcome(call, numpy, x, xp, fp)


def test_what_numpy_warns_of_is_said_once() -> None:
    a = numpy.full((400, 300), 1e308)

    def call(xp: Any, a: Any) -> Any:
        return xp.median(a, axis=1)

    found, said = outcome(call, np, a)
    assert (found, said) == outcome(call, numpy, a)
    assert said == ["overflow encountered in reduce"]


@pytest.mark.skipif(not native.built, reason="the module in C asks")
def test_threads_share_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines.Sharing, "pays", lambda _self, *, guess: guess)
    shared: list[int] = []
    share_out = lines.share_out

    def noted(work: Any, items: Any) -> None:
        shared.append(len(items))
        share_out(work, items)

    monkeypatch.setattr(lines, "share_out", noted)
    a = np.array(numbers((400, 300)))
    np.sort(a[:20])
    assert not shared
    np.sort(a)
    a.argsort()
    np.linalg.eigh(np.array(numbers((2000, 6, 6))))
    assert shared == [6, 6, 6]


@pytest.mark.skipif(not native.built, reason="the module in C asks")
def test_threads_that_are_in_the_way_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(lines, "_known", {})
    monkeypatch.setattr(sharing, "MUCH", 10.0)  # seconds: one thread is tried whatever it takes
    stack = np.array(numbers((3000, 4, 4)) + 9 * numpy.eye(4))
    waited: list[int] = []
    share_out = lines.share_out

    def slowly(compute: Any, some: Any) -> None:
        waited.append(len(some))
        share_out(compute, some)
        time.sleep(0.05)

    monkeypatch.setattr(lines, "share_out", slowly)
    found = [np.linalg.inv(stack) for _ in range(20)]
    assert 1 <= len(waited) < 10
    assert all(seen(one) == seen(found[0]) for one in found)
