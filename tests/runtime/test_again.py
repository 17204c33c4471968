"""Stages that run again as they ran before give what they gave, and tell what is to be told."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine, native
from dnumpy.config import config
from dnumpy.kernels import at_hand, choose, preparing, rates, settled
from dnumpy.kernels.choose import kernel_for
from dnumpy.runtime import again, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.modeless("arrays are computed on the threads of this process"),
]

SIZE = 300_000  # elements, of arrays that wait


def chain(np: Any, x: Any, y: Any) -> Any:
    return (x * y + x) * 2.0 - y


def fold(np: Any, x: Any, y: Any) -> Any:
    return (np.abs(x * y - x) + 1.0).max()


def both(np: Any, x: Any, y: Any) -> Any:
    z = x * 2.0 + y
    return z, z.sum(), (z - x).min()


def inside(np: Any, x: Any, y: Any) -> Any:
    a, b = x.reshape(500, 600), y.reshape(500, 600)
    return a[1:-1, 1:-1] * 4.0 - b[:-2, 1:-1] - b[2:, 1:-1]


PROGRAMS = [chain, fold, both, inside]


@pytest.fixture(autouse=True)
def _compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Find every program worth compiling at once, and settled after a run of each kind."""
    at_hand.is_imported_now()
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(choose, "LOWER_AFTER", 0.0)
    monkeypatch.setattr(preparing, "LOAD_AFTER", 0.0)
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(rates.Record, "prefers_numba", lambda record: record.state == "ready")
    monkeypatch.setattr(rates.Record, "is_compiled", lambda record: record.state == "ready")
    monkeypatch.setattr(settled, "ASKED", 1)
    yield
    engine.flush()


def numbers(seed: int, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-99, 99, size) / 4, rng.integers(1, 99, size) / 4  # whose sums are exact


def values_of(found: Any) -> tuple[Any, ...]:
    return found if type(found) is tuple else (found,)


def run_again(program: Callable[..., Any], x: Any, y: Any) -> list[int]:
    """Run until a run was one that was not asked for anything; return how many of each did so."""
    counts: list[int] = []
    limit = time.monotonic() + 60
    while not sum(counts[-3:]):
        assert time.monotonic() < limit, f"{program.__name__} never settled"
        counts.append(0)
        real = again.run_again

        def counted(stage: Any, real: Any = real) -> Any:
            done = real(stage)
            counts[-1] += done is not None
            return done

        local.run_again = engine.run_again = counted
        try:
            for value in values_of(program(dnumpy, x, y)):
                np.asarray(value)
        finally:
            local.run_again = engine.run_again = real
    return counts


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_that_is_settled_gives_what_numpy_gives(program: Callable[..., Any]) -> None:
    first = [dnumpy.array(a) for a in numbers(0)]
    run_again(program, *first)
    for seed in range(1, 30):
        x, y = numbers(seed)
        found = program(dnumpy, dnumpy.array(x), dnumpy.array(y))
        for mine, theirs in zip(values_of(found), values_of(program(np, x, y)), strict=True):
            np.testing.assert_array_equal(np.asarray(mine), theirs, strict=True)


def test_records_tell_of_settled_runs_as_of_others() -> None:
    x, y = (dnumpy.array(a) for a in numbers(0))
    run_again(chain, x, y)
    latest = engine.history[-1]
    assert latest.lowering == "numba"
    assert latest.phase is not None
    assert latest.where == (("local", latest.phase.rows),)
    assert latest.seconds > 0
    assert latest.node_seconds == (latest.seconds,)
    assert latest._fields == type(latest)._fields
    assert latest == type(latest)(*latest)


@pytest.mark.parametrize("program", [chain, fold, both])
def test_faults_of_a_settled_run_are_told_once_and_at_their_line(
    program: Callable[..., Any],
) -> None:
    x, y = numbers(0)
    run_again(program, dnumpy.array(x), dnumpy.array(y))
    x[7] = 1e308
    y[7] = 1e308
    for _ in range(3):
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            found = [
                np.asarray(v) for v in values_of(program(dnumpy, dnumpy.array(x), dnumpy.array(y)))
            ]
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            expected = values_of(program(np, x, y))
        for value, numpys in zip(found, expected, strict=True):
            np.testing.assert_array_equal(value, numpys)
        said = [(str(w.message), w.lineno) for w in theirs]
        assert sorted({(str(w.message), w.lineno) for w in ours}) == sorted(set(said))
        assert said


def test_another_setting_or_another_layout_is_asked_for_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = (dnumpy.array(a) for a in numbers(0))
    run_again(chain, x, y)
    kernels = {kernel_for(r.phase) for r in engine.history if r.phase is not None}
    assert any(kernel.settled is not None for kernel in kernels)
    monkeypatch.setattr(config, "kernels", "tiled")
    np.asarray(chain(dnumpy, x, y))
    assert engine.history[-1].lowering == "tiled"
    monkeypatch.setattr(config, "kernels", "auto")
    wide = dnumpy.array(np.repeat(numbers(1)[0], 2))
    found = chain(dnumpy, wide[::2], y)
    np.testing.assert_array_equal(np.asarray(found), chain(np, numbers(1)[0], numbers(0)[1]))


def test_all_is_asked_again_now_and_then() -> None:
    x, y = (dnumpy.array(a) for a in numbers(0))
    run_again(chain, x, y)
    counts = [run_again(chain, x, y) for _ in range(3 * settled.MOST_RUNS)]
    assert any(0 in found for found in counts)


def test_regions_that_are_written_run_as_settled_and_give_what_numpy_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[int] = []
    real = settled.Settled.run

    def counted(self: settled.Settled, values: Any, outs: Any) -> int:
        ran.append(real(self, values, outs))
        return ran[-1]

    monkeypatch.setattr(settled.Settled, "run", counted)

    def relaxed(xp: Any, u: Any) -> Any:
        for _ in range(3):
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
            assert xp.asarray(u)[0, 0] == u[0, 0]
        return u

    limit, seed = time.monotonic() + 60, 0
    while sum(flags >= 0 for flags in ran) < 20:
        assert time.monotonic() < limit
        seed += 1
        values = numbers(seed)[0].reshape(500, 600)
        found = relaxed(dnumpy, dnumpy.array(values))
        np.testing.assert_array_equal(np.asarray(found), relaxed(np, values), strict=True)
