"""A loop's laps are timed both ways, by turns, and the faster way is kept and doubted."""

from __future__ import annotations

import sys

import pytest

from dnumpy.expr import laps
from dnumpy.expr.laps import BLOCK_SECONDS, FIRST_PERIOD, FIRST_REST, TOLD_LAPS, TRIAL, Laps, Loop


def sized() -> Loop:
    """Return a loop whose first trial begins."""
    loop = Loop()
    loop.ended(BLOCK_SECONDS)
    assert loop.answer() == (TRIAL[0], 1)
    return loop


def tried(loop: Loop, numpys: float, ours: float) -> int:
    """Run a trial and return of how many blocks it was."""
    for blocks in range(1, len(TRIAL) + 1):
        loop.ended(ours if loop.waits else numpys)
        if loop.settled:
            return blocks
    pytest.fail("the trial does not end")


def test_blocks_grow_until_they_can_be_timed() -> None:
    loop = Loop()
    counts = [loop.laps]
    while loop.at < 0:
        assert loop.answer() == (False, loop.laps)
        loop.ended(1e-5 * loop.laps)
        counts.append(loop.laps)
    assert counts == sorted(counts)
    assert BLOCK_SECONDS <= 1e-5 * loop.laps <= 8 * BLOCK_SECONDS


@pytest.mark.parametrize(("ours", "waits"), [(0.5, True), (0.9, True), (0.97, False), (1.2, False)])
def test_the_faster_way_is_kept(ours: float, waits: bool) -> None:
    loop = sized()
    assert tried(loop, 1.0, ours) == len(TRIAL)
    assert loop.answer() == (waits, FIRST_PERIOD if waits else FIRST_REST)


def test_a_block_that_something_else_held_up_does_not_count() -> None:
    loop = sized()
    for at, waits in enumerate(TRIAL):
        assert loop.waits == waits
        loop.ended((0.6 if waits else 1.0) + (3.0 if at in {1, 4, 5} else 0.0))
    assert loop.settled
    assert loop.waits


def test_a_hopeless_trial_ends_early() -> None:
    assert tried(sized(), 1.0, 5.0) == laps.TELLING


def test_what_was_found_is_doubted_ever_more_rarely() -> None:
    loop = sized()
    rests = []
    for _ in range(8):
        tried(loop, 1.0, 1.1)
        rests.append(loop.answer()[1])
        loop.ended(1.0)
        assert loop.answer() == (TRIAL[0], 1)
    assert rests == sorted(rests)
    assert rests[0] == FIRST_REST
    assert rests[-1] == laps.LAST_REST
    tried(loop, 1.0, 0.5)  # compiled meanwhile
    assert loop.answer() == (True, FIRST_PERIOD)
    loop.ended(1.0)
    tried(loop, 1.0, 1.1)
    assert loop.answer() == (False, FIRST_REST)


def test_what_waits_is_computed_within_its_block_and_loops_are_known_again() -> None:
    settled = []
    of = Laps(lambda: settled.append(of.running.at), lambda: None)
    here = sys._getframe().f_code
    waits, count = of.begins(here, 4)
    assert (waits, count) == (False, 1)
    first = of.running
    first.ended(BLOCK_SECONDS)
    while not first.settled:
        first.began -= 1.0 if first.waits else 2.0
        of.ended()
    assert settled == [at for at, waits in enumerate(TRIAL) if waits]
    of.begins(here, 8)
    assert of.running is not first
    assert of.begins(here, 4) == (True, FIRST_PERIOD)
    assert of.running is first


def test_a_setting_counts_more_than_what_is_faster() -> None:
    told: list[bool | None] = [True]
    settled: list[None] = []
    of = Laps(lambda: settled.append(None), lambda: told[0])
    here = sys._getframe().f_code
    assert of.begins(here, 4) == (True, TOLD_LAPS)
    assert of.ended() == (True, TOLD_LAPS)
    told[0] = False
    assert of.ended() == (False, TOLD_LAPS)
    told[0] = None
    assert of.ended() == (False, 1)
    assert not settled
