"""Long runs in pieces give the bits of those in one, whichever lowering takes over on the way."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.expr.expr import leaf
from dnumpy.kernels import at_hand, choose, preparing
from dnumpy.kernels.choose import AdaptiveKernel
from dnumpy.kernels.pieces import PIECES, may_be_parted, pieces
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p

compiling = settings(
    deadline=None,
    max_examples=40,
    phases=[Phase.explicit, Phase.generate],  # shrinking would compile hundreds of kernels
    suppress_health_check=list(HealthCheck),
)


def column(rows: int, tile_bytes: int = 4096) -> p.Bound:
    x = np.random.default_rng(rows).normal(size=rows)
    stored = leaf(x, x.shape, x.dtype)
    doubled = p.apply("multiply", stored, stored)
    assert doubled is not None
    root, total = p.apply("subtract", doubled, stored), p.fold("add", doubled, (0,), keepdims=False)
    assert root is not None
    assert total is not None
    (bound,) = p.bound([root, total], tile_bytes)
    return bound


@given(st.integers(0, 300), st.integers(1, 3000), st.integers(1, 12))
def test_pieces_are_whole_tiles_that_cover_all_rows(first, rows, count):
    phase = column(4000).phase
    lo = first * phase.tile_rows
    found = list(pieces(phase, lo, lo + rows, count))
    assert len(found) <= count
    assert [found[0][0], found[-1][1]] == [lo, lo + rows]
    assert all(a[1] == b[0] and (b[0] - lo) % phase.tile_rows == 0 for a, b in pairwise(found))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is long enough for pieces, and every phase for its kernel, from the second on."""
    monkeypatch.setattr(config, "kernels", "auto")
    monkeypatch.setattr(choose, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(choose, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(choose, "LOWER_AFTER", 1e-12)
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 1e-12)
    at_hand.import_lowerings()


class Taken:
    """Runs a phase as one run of all threads would, in pieces; counts those that ran tiled."""

    def __init__(self, phase: Any, threads: int) -> None:
        self.kernel = AdaptiveKernel(phase)
        self.threads = threads
        self.lowerings: list[str] = []

    def run(self, values: Any, outs: Any, lo: int, hi: int, origin: int = 0) -> None:
        if self.threads > 1:
            found = self.kernel.run_jointly(values, outs, 1, self.threads, ())
            self.lowerings.append(self.kernel.lowering)
            if found is not None:
                return
        self.kernel.run(values, outs, lo, hi, origin, ())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2])
@compiling
@given(p.programs(), st.sampled_from((1, 4096)))
def test_runs_in_pieces_have_the_bits_of_the_tiled_lowering(threads, roots, tile_bytes):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            expected = bound.run(TiledKernel(bound.phase))
            for _ in range(2):  # by now there may be machine code, for another kernel of the phase
                found = bound.run(Taken(bound.phase, threads))
                assert [p.bits(x) for x in found] == [p.bits(x) for x in expected], bound.phase


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_left_of_a_run_is_compiled_as_soon_as_it_can_be(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = column(50_000)
    assert bound.phase.tiles > PIECES
    expected = bound.run(TiledKernel(bound.phase))
    prepared = Taken(bound.phase, threads)
    prepared.kernel.prepare_for(bound.values, bound.allocate())
    variant = prepared.kernel._compiled().variant_for(bound.values, bound.allocate())
    assert variant is not None
    record = preparing.record_of(variant)
    if record.state != "ready":
        preparing.begins(record)
        preparing.prepare(record, bound.phase, worth=True)
    ran: list[str] = []
    for name in ("_run_tiled_jointly", "_run_compiled_jointly", "_run_early", "_run_measured"):
        monkeypatch.setattr(AdaptiveKernel, name, noting(name, getattr(AdaptiveKernel, name), ran))
    taken = Taken(bound.phase, threads)
    found = bound.run(taken)
    early, late = (
        ("_run_tiled_jointly", "_run_compiled_jointly")
        if threads > 1
        else (
            "_run_early",
            "_run_measured",
        )
    )
    assert ran[0] == early
    assert set(ran[1:]) == {late} or set(ran[2:]) == {late}
    assert taken.kernel.lowering == "numba"
    assert [p.bits(x) for x in found] == [p.bits(x) for x in expected]


def noting(name: str, method: Any, ran: list[str]) -> Any:
    def noted(self: Any, *args: Any) -> Any:
        ran.append(name)
        return method(self, *args)

    return noted


@pytest.mark.usefixtures("eager")
def test_what_lies_in_memory_that_a_later_piece_reads_is_not_computed_in_pieces() -> None:
    bound = column(50_000)
    (x,) = bound.values
    memory = np.concatenate([np.zeros(25_000), x])
    outs = [
        memory[:50_000] if not o.partial else out
        for o, out in zip(bound.phase.outputs, bound.allocate(), strict=True)
    ]
    assert not may_be_parted(bound.phase, [memory[25_000:]], outs)
    assert may_be_parted(bound.phase, bound.values, bound.allocate())
    kernel = AdaptiveKernel(bound.phase)
    assert kernel.run_jointly([memory[25_000:]], outs, 1, 2, ()) is None
    assert np.array_equal(memory[25_000:], x)  # nothing was done
