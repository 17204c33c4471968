"""A loop's laps are timed both ways, by turns, and the faster way is kept and doubted."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING

import pytest

from dnumpy.expr import laps
from dnumpy.expr.laps import (
    AS_EVER,
    AT_ONCE,
    BLOCK_SECONDS,
    FIRST_PERIOD,
    FIRST_REST,
    TOLD_LAPS,
    WAITING,
    Laps,
    Loop,
    trial_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = 262_144
TRIAL = trial_of(AS_EVER, (WAITING,))


def sized() -> Loop:
    """Return a loop whose first trial begins."""
    loop = Loop()
    loop.ended(BLOCK_SECONDS)
    assert loop.answer() == (AS_EVER, 1, False)
    return loop


def tried(loop: Loop, numpys: float, ours: float) -> int:
    """Run a trial and return of how many blocks it was."""
    for blocks in range(1, len(TRIAL) + 1):
        loop.ended(ours if loop.differs else numpys)
        if loop.settled:
            return blocks
    pytest.fail("the trial does not end")


def test_blocks_grow_until_they_can_be_timed() -> None:
    loop = Loop()
    counts = [loop.laps]
    while loop.at < 0:
        assert loop.answer() == (AS_EVER, loop.laps, False)
        loop.ended(2e-4 * loop.laps)
        counts.append(loop.laps)
    assert counts == sorted(counts)
    assert BLOCK_SECONDS <= 2e-4 * loop.laps <= 8 * BLOCK_SECONDS


def test_laps_that_are_too_short_to_gain_are_left_alone_until_they_are_longer() -> None:
    loop, rests = Loop(), []
    lap = laps.LEAST_LAP / 2
    while not loop.settled:
        loop.ended(lap * loop.laps)
    for _ in range(8):
        way, count, _ = loop.answer()
        rests.append(count)
        assert way == AS_EVER
        loop.ended(lap * count)
        assert loop.settled
    assert rests == sorted(rests)
    assert rests[-1] == laps.LAST_REST * loop.laps
    loop.ended(4 * lap * loop.answer()[1])
    assert (loop.settled, loop.at) == (False, 0)


@pytest.mark.parametrize(("ours", "waits"), [(0.5, True), (0.9, True), (0.97, False), (1.2, False)])
def test_the_faster_way_is_kept(ours: float, waits: bool) -> None:
    loop = sized()
    assert tried(loop, 1.0, ours) == len(TRIAL)
    found = (WAITING, FIRST_PERIOD) if waits else (AS_EVER, FIRST_REST)
    assert loop.answer() == (*found, True)


def test_a_block_that_something_else_held_up_does_not_count() -> None:
    loop = sized()
    for at, way in enumerate(TRIAL):
        assert loop.way == way
        loop.ended((0.6 if way == WAITING else 1.0) + (3.0 if at in {1, 4, 5} else 0.0))
    assert loop.settled
    assert loop.differs


def test_a_hopeless_trial_ends_early() -> None:
    assert tried(sized(), 1.0, 2.0) == 3 + 2 * laps.TELLING


@pytest.mark.parametrize(("ours", "blocks"), [(0.5, len(TRIAL)), (10.0, laps.PROBED)])
def test_a_few_laps_show_first_what_takes_several_times_as_long(ours: float, blocks: int) -> None:
    loop = Loop()
    while loop.at < 0:
        loop.ended(2e-4 * loop.laps)
    whole, ran = loop.laps, []
    while not loop.settled:
        way, count, _ = loop.answer()
        ran.append(count)
        loop.ended((ours if way == WAITING else 1.0) * 2e-4 * count)
    assert whole >= laps.PROBE
    assert ran == [whole, *[whole // laps.PROBE] * 2, *[whole] * (blocks - 3)]
    assert loop.differs == (ours < 1.0)
    if ours > 1.0:
        assert loop.answer()[1] == laps.SLOW_REST * whole


@pytest.mark.parametrize(("ours", "asks"), [(0.5, False), (2.0, True), (9.0, False)])
def test_kernels_of_a_long_loop_are_asked_for_once_and_it_is_tried_again(
    ours: float, asks: bool
) -> None:
    asked: list[float] = []
    of = laps_of([], lambda: None, compiled=asked.append)
    of.begins(sys._getframe().f_code, 4, 100_000)
    loop, trials = of.running, 0
    while trials < 6:
        was = loop.settled
        took(loop, loop.answer()[1] * 2e-3 * (ours if loop.differs else 1.0))
        of.ended(0.0)
        trials += loop.settled and not was
        if asked and len(asked) == 1 and loop.settled and not was:
            assert loop.rest <= laps.SLOW_REST
            asked.append(0.0)  # counted once
    assert len(asked) == (2 if asks else 0)
    assert loop.spent >= laps.LONG_SECONDS


def test_a_trial_waits_while_kernels_are_compiled() -> None:
    busy = [True]
    of = laps_of([], lambda: None, compiles=lambda: busy[0])
    of.begins(sys._getframe().f_code, 4, 100_000)
    loop = of.running
    for _ in range(20):
        took(loop, 1.0)
        of.ended(0.0)
        assert loop.answer() == (AS_EVER, 1, False)
    busy[0] = False
    took(loop, 1.0)
    of.ended(0.0)
    assert loop.at == 0


def test_what_was_found_is_doubted_ever_more_rarely() -> None:
    loop = sized()
    rests = []
    for _ in range(8):
        tried(loop, 1.0, 1.1)
        rests.append(loop.answer()[1])
        loop.ended(1.0)
        assert loop.answer() == (AS_EVER, 1, False)
    assert rests == sorted(rests)
    assert rests[0] == FIRST_REST
    assert rests[-1] == laps.LAST_REST
    tried(loop, 1.0, 0.5)  # compiled meanwhile
    assert loop.answer() == (WAITING, FIRST_PERIOD, True)
    loop.ended(1.0)
    tried(loop, 1.0, 1.1)
    assert loop.answer() == (AS_EVER, FIRST_REST, True)


def laps_of(
    settled: list[object],
    told: Callable[[], int | None],
    went: list[int] | None = None,
    compiles: Callable[[], bool] = lambda: False,
    compiled: Callable[[float], None] | None = None,
    evaluated: Callable[[], int] | None = None,
) -> Laps:
    """Return laps that say when they have what waits computed, and whether all is."""
    goes = went if went is not None else []
    heard = lambda at_once, _waits: goes.append(at_once)  # noqa: E731 - as short as it is
    return Laps(
        lambda: settled.append(None),
        told,
        heard,
        compiles,
        compiled or (lambda _: None),
        evaluated or itertools.count(0, 10_000).__next__,
        LARGE,
    )


def took(loop: Loop, seconds: float, waited: float = 0.0) -> None:
    """Let what is running have begun earlier, and have waited for others meanwhile."""
    began, computed = loop.began
    loop.began = began - seconds - waited, computed - seconds


def test_what_waits_is_computed_within_its_block_and_loops_are_known_again() -> None:
    settled: list[object] = []
    of = laps_of(settled, lambda: None)
    here = sys._getframe().f_code
    assert of.begins(here, 4, 100_000) == (AS_EVER, 1, False)
    first = of.running
    first.ended(BLOCK_SECONDS)
    while not first.settled:
        took(first, 1.0 if first.differs else 2.0)
        of.ended(0.0)
    assert len(settled) == TRIAL.count(WAITING)
    of.begins(here, 8, 100_000)
    assert of.running is not first
    assert of.begins(here, 4, 100_000) == (WAITING, FIRST_PERIOD, True)
    assert of.running is first
    before = len(settled)
    of.ended(0.0)  # it is doubted: what waits until then would have the next block wait
    assert (first.at, first.way, len(settled)) == (0, AS_EVER, before + 1)
    of.begins(here, 4, LARGE)  # the same place, with larger arrays
    assert of.running is not first


def test_large_arrays_are_computed_at_once_where_that_is_faster() -> None:
    settled: list[object] = []
    went: list[int] = []
    of = laps_of(settled, lambda: None, went)
    assert of.begins(sys._getframe().f_code, 4, LARGE) == (AS_EVER, 1, False)
    loop = of.running
    while loop.at < 0:
        assert not settled
        took(loop, 2e-2)
        of.ended(1e6)
    assert loop.seen >= laps.SEEN_SECONDS
    while not loop.settled:
        took(loop, 1e-2 if loop.differs else 2e-2)
        of.ended(1e6)
    assert len(settled) == len(TRIAL)  # else one way would leave work to the other
    assert loop.answer() == (AT_ONCE, FIRST_PERIOD * loop.laps, False)
    assert went[-1] == laps.TIMES_LARGER * LARGE
    assert set(went) == {0, laps.TIMES_LARGER * LARGE}


@pytest.mark.parametrize(
    ("seconds", "elements"),
    [(2e-2, 1e9), (2 * laps.LONGEST_LAP, 1e6), (9e-2, 2.0 * laps.MOST_ELEMENTS)],
    ids=["fast", "long", "much memory"],
)
def test_there_is_no_trial_where_numpy_cannot_be_faster_or_a_lap_is_long(
    seconds: float, elements: float
) -> None:
    loop = Loop(large=True)
    while not loop.settled:
        loop.ended(seconds * loop.laps, elements * loop.laps, evaluated=1)
        assert loop.at < 0
    assert loop.answer() == (AS_EVER, loop.laps * laps.HOPELESS_REST, False)


def test_laps_that_leave_their_work_to_later_ones_are_sized_by_many() -> None:
    loop = Loop(large=True)
    count = asked = 0
    while loop.at < 0:
        laps_of_block = range(count + 1, count + loop.laps + 1)
        count += loop.laps
        asked += 1
        seconds = [1e-2 if lap % 10 == 0 else 1e-6 for lap in laps_of_block]
        loop.ended(sum(seconds), 1e6, evaluated=len(seconds))
    assert loop.laps == 32  # of a millisecond
    assert asked < count / 4  # to be asked takes as long as a short lap


def test_nothing_is_tried_with_large_arrays_while_kernels_are_compiled() -> None:
    busy = [False]
    of = laps_of([], lambda: None, compiles=lambda: busy[0])
    of.begins(sys._getframe().f_code, 4, LARGE)
    loop = of.running
    loop.seen = laps.SEEN_SECONDS
    loop.ended(2e-2, 1e6, evaluated=1)
    assert loop.at == 0
    busy[0] = True
    assert of.ended(1e6)[0] == AS_EVER
    assert loop.at < 0
    loop.settled, loop.chosen = True, AT_ONCE
    assert of.ended(1e6)[0] == AT_ONCE  # what was found stays so
    loop.settled, loop.chosen, busy[0] = False, AS_EVER, False
    while loop.at < 0:
        loop.ended(2e-2, 1e6, evaluated=1)
    assert loop.seen < 2 * laps.SEEN_SECONDS


def test_a_hopeless_trial_with_large_arrays_is_not_soon_repeated() -> None:
    loop = Loop(large=True)
    while loop.at < 0:
        loop.ended(2e-2, 1e6, evaluated=1)
    assert tried(loop, 1.0, 5.0) == 3 + 2 * laps.TELLING_LARGE
    assert loop.answer() == (AS_EVER, laps.HOPELESS_REST * loop.laps, False)


def test_a_setting_counts_more_than_what_is_faster() -> None:
    told: list[int | None] = [WAITING]
    settled: list[object] = []
    of = laps_of(settled, lambda: told[0])
    here = sys._getframe().f_code
    assert of.begins(here, 4, 100_000) == (WAITING, TOLD_LAPS, False)
    assert of.ended(0.0) == (WAITING, TOLD_LAPS, False)
    told[0] = AS_EVER
    assert of.ended(0.0) == (AS_EVER, TOLD_LAPS, False)
    told[0] = None
    way, count, _ = of.ended(0.0)
    assert way == AS_EVER
    assert count < TOLD_LAPS
    assert not settled


def seen(of: Laps, lap: float, **counts: int) -> Loop:
    """Let a loop on large arrays run until its trial begins."""
    loop = of.running
    while loop.at < 0:
        took(loop, lap * loop.laps)
        of.ended(1e6 * loop.laps, **counts)
    return loop


def test_a_loop_on_large_arrays_takes_over_from_a_settled_one_within_and_has_all_ways() -> None:
    went: list[int] = []
    of = laps_of([], lambda: None, went)
    here = sys._getframe().f_code
    of.begins(here, 4, 100_000)
    within = of.running
    assert not within.yields
    within.ended(BLOCK_SECONDS)
    tried(within, 1.0, 0.5)
    assert within.answer()[2]  # it yields to what comes
    assert of.begins(here, 8, LARGE)[0] == WAITING  # as goes what is within
    assert within.attempts == laps.ATTEMPTS - 1
    loop = seen(of, 1e-2, mixed=1)
    assert within.attempts == laps.ATTEMPTS  # it is a loop
    seconds = {AS_EVER: 1.0, WAITING: 0.8, AT_ONCE: 0.6}
    ways = []
    while not loop.settled:
        ways.append(loop.way)
        took(loop, seconds[loop.way])
        of.ended(1e6, 1)
    assert ways == list(trial_of(WAITING, (AT_ONCE, AS_EVER)))
    assert loop.answer()[::2] == (AT_ONCE, False)
    assert went[-1] == laps.TIMES_LARGER * LARGE


def test_what_never_becomes_a_loop_does_not_take_over_for_ever() -> None:
    of = laps_of([], lambda: None)
    here = sys._getframe().f_code
    of.begins(here, 4, 100_000)
    within = of.running
    within.ended(BLOCK_SECONDS)
    tried(within, 1.0, 0.5)
    attempts = 0
    while of.begins(here, 4, 100_000)[2]:
        of.begins(here, 8, LARGE)  # and no lap of it ends
        attempts += 1
    assert attempts == laps.ATTEMPTS


def test_a_way_that_is_hopeless_is_left_out_of_the_rest_of_a_trial() -> None:
    loop = Loop(large=True)
    while loop.at < 0:
        loop.ended(2e-2 * loop.laps, 1e6 * loop.laps, evaluated=loop.laps, mixed=True)
    seconds, ways = {AS_EVER: 1.0, WAITING: 0.9, AT_ONCE: 5.0}, []
    while not loop.settled:
        ways.append(loop.way)
        loop.ended(seconds[loop.way], 1e6)
    whole = trial_of(AS_EVER, (AT_ONCE, WAITING))
    known = 5 + 3 * laps.TELLING_LARGE
    assert ways == [*whole[:known], *[way for way in whole[known:] if way != AT_ONCE]]
    assert loop.chosen == WAITING


def test_a_block_on_large_arrays_holds_what_is_computed_together() -> None:
    count = [0.0]  # of evaluations
    of = laps_of([], lambda: None, evaluated=lambda: int(count[0]))
    of.begins(sys._getframe().f_code, 4, LARGE)
    loop = of.running
    while loop.at < 0:  # one evaluation in eighty laps
        took(loop, 1e-3 * loop.laps)
        count[0] += loop.laps / 80
        of.ended(1e5 * loop.laps)
    assert loop.laps >= 0.8 * laps.EVALUATIONS * 80
    took(loop, 1e-3 * loop.laps)
    of.ended(1e6)
    assert loop.way == AT_ONCE
    assert loop.answer()[1] == loop.laps // laps.PROBE  # of which a few tell
    for _ in range(2):  # one of those laps was held up
        took(loop, 1e-1)
        of.ended(1e6, 0, 1e-3)
    assert not loop.settled


def test_time_in_which_the_program_waits_for_others_does_not_count() -> None:
    of = laps_of([], lambda: None)
    of.begins(sys._getframe().f_code, 4, 100_000)
    took(of.running, 0.0, waited=100.0)
    of.ended(0.0)
    assert of.running.spent < 50.0
