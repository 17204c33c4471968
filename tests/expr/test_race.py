"""The faster of two ways is found, kept, looked at again, and given up where lines change."""

from __future__ import annotations

import math

import pytest

from dnumpy.expr import race
from dnumpy.expr.origin import Site
from dnumpy.expr.race import AGAIN, BEHIND, EARLY, FIRST_PERIOD, STEADY, TRIALS, Race, evaluated

NBYTES = 1 << 24
OURS = 1e-3


@pytest.fixture
def forgotten() -> None:
    """Forget what other tests have left."""
    race._known.clear()


def raced(sites: tuple[Site, ...], times: int = STEADY, seconds: float = OURS) -> Race:
    for _ in range(times):
        evaluated(sites, NBYTES, NBYTES, seconds)
    found = sites[-1].race
    assert found is not None
    return found


def round_of(sites: tuple[Site, ...], seconds: float) -> None:
    for site in sites:
        site.took(seconds / len(sites))


@pytest.mark.parametrize("count", [1, 3])
def test_numpy_is_tried_once_lines_are_known_and_kept_where_it_is_faster(count: int) -> None:
    sites = tuple(Site() for _ in range(count))
    found = raced(sites, STEADY - 1)
    assert not found.by_numpy
    found = raced(sites, 1)
    assert found.by_numpy
    assert all(site.race is found for site in sites)
    for _ in range(TRIALS):
        assert found.by_numpy
        round_of(sites, OURS / 2)
    for _ in range(FIRST_PERIOD):
        assert found.by_numpy
        round_of(sites, OURS / 2)
    assert not found.by_numpy  # ours are looked at again
    raced(sites, race.TELLING)
    assert found.by_numpy
    for _ in range(2 * FIRST_PERIOD):  # more seldom than before
        assert found.by_numpy
        round_of(sites, OURS / 2)
    assert not found.by_numpy
    raced(sites, 1, OURS / 4)  # meanwhile ours are compiled
    assert not found.by_numpy
    assert found.is_won()


def test_ours_are_judged_when_they_are_warm() -> None:
    sites = (Site(),)
    for last in (OURS / 1.8, OURS / 3):
        found = raced(sites)
        for _ in range(TRIALS + FIRST_PERIOD):
            round_of(sites, OURS / 2)
        assert not found.by_numpy
        for k in range(AGAIN):
            assert not found.by_numpy
            evaluated(sites, NBYTES, NBYTES, last if k == AGAIN - 1 else OURS / 1.7)
        assert found.by_numpy == (last > OURS / 2)
        sites = (Site(),)


def test_the_rest_of_a_round_that_was_numpys_is_no_race_of_its_own() -> None:
    sites = tuple(Site() for _ in range(3))
    found = raced(sites)
    sites[0].took(OURS)
    sites[1].took(100 * OURS)  # the last one is ours
    assert found.is_won()
    evaluated(sites[2:], NBYTES, NBYTES, OURS)
    assert all(site.race is found for site in sites)
    rest = found.due - found.runs
    raced(sites, rest - 1)
    assert not found.by_numpy
    evaluated(sites[2:], NBYTES, NBYTES, OURS)  # of lines that are used without the others
    assert sites[2].race is not found


@pytest.mark.parametrize(
    ("cheap", "seconds", "early"),
    [(True, 1e-3, True), (True, 1e-4, False), (True, 1e-2, False), (False, 1e-3, False)],
)
def test_numpy_is_tried_early_where_ours_take_longer_than_its_loops_usually_do(
    cheap: bool, seconds: float, early: bool
) -> None:
    """A few cheap loops over what fits a cache are NumPy's from the fourth call on."""
    sites = (Site(),)
    for k in range(STEADY):
        evaluated(sites, NBYTES, NBYTES, seconds, cheap=cheap)
        found = sites[0].race
        assert found is not None
        assert found.by_numpy == ((early and k == EARLY - 1) or k == STEADY - 1)
        if found.by_numpy:
            break


@pytest.mark.parametrize("seconds", [OURS, 1.2 * OURS, 100 * OURS])
def test_what_is_no_faster_is_not_tried_again_soon(seconds: float) -> None:
    sites = (Site(),)
    found = raced(sites)
    rounds = 0
    while found.by_numpy:
        round_of(sites, seconds)
        rounds += 1  # the first may meet new memory
    assert rounds == (1 if seconds > 10 * OURS else TRIALS)
    rest = found.due - found.runs
    assert rest >= race.FIRST_REST
    raced(sites, rest)
    assert found.by_numpy
    while found.by_numpy:
        round_of(sites, seconds)
    assert found.due - found.runs > rest


def test_rounds_that_meet_new_memory_do_not_decide() -> None:
    sites = (Site(),)
    found = raced(sites)
    for _ in range(race.COLD):
        round_of(sites, 2 * OURS)  # as long as the system takes to clear the pages
    for _ in range(TRIALS - race.COLD):
        round_of(sites, OURS / 2)
    assert found.by_numpy
    assert not found.trying


def test_a_trial_that_met_a_programs_first_memory_is_soon_repeated() -> None:
    sites = (Site(),)
    found = raced(sites)
    for _ in range(race.COLD_TRIALS):
        slow = race.AT_FIRST * OURS + race.FIRST_MEMORY / 2 * NBYTES
        round_of(sites, slow)
        assert not found.by_numpy
        assert not found.is_won()
        raced(sites)
        assert found.by_numpy
    round_of(sites, slow)
    assert found.is_won()


def test_what_numpy_ran_in_place_of_is_told_of_many_rounds_together() -> None:
    told: list[float] = []
    sites = (Site(),)
    for _ in range(STEADY):
        evaluated(sites, NBYTES, NBYTES, OURS, [told.append])
    found = sites[0].race
    assert found is not None
    rounds = 0
    while found.by_numpy:
        round_of(sites, OURS / 2)
        rounds += 1
    assert sum(told) == pytest.approx(rounds * OURS)
    assert len(told) <= TRIALS + rounds // race.TOLD_ROUNDS + 1


def test_a_trial_ends_in_the_middle_of_a_round_that_takes_too_long() -> None:
    allowed = int(race.AT_FIRST + race.NEW_MEMORY * NBYTES / OURS)  # the first round: new memory
    sites = tuple(Site() for _ in range(allowed + 3))
    found = raced(sites)
    found.cold = race.COLD_TRIALS
    for k, site in enumerate(sites):
        assert found.by_numpy == (k <= allowed)
        site.took(OURS)
    assert found.is_won()


def test_numpy_is_not_tried_where_no_memory_is_as_fast() -> None:
    sites = (Site(),)
    assert not raced(sites, 3 * STEADY, race.LEAST_SECONDS * NBYTES / 2).by_numpy


def test_lines_that_are_used_with_others_or_other_sizes_begin_anew() -> None:
    first, second = Site(), Site()
    found = raced((first,))
    assert found.by_numpy
    evaluated((first, second), NBYTES, NBYTES, OURS)
    assert first.race is second.race is not found
    assert not first.race.by_numpy
    again = raced((first, second))
    assert again.by_numpy
    evaluated((first, second), 100 * NBYTES, NBYTES, OURS)
    assert first.race is not again
    assert not first.race.by_numpy


@pytest.mark.usefixtures("forgotten")
def test_each_size_of_the_same_lines_has_its_race() -> None:
    site = Site()
    found = raced((site,))
    evaluated((site,), 100 * NBYTES, 100 * NBYTES, OURS)
    assert site.race is not found
    evaluated((site,), NBYTES, NBYTES, OURS)
    assert site.race is found
    for k in range(2, 2 + race.MOST_SIZES):
        evaluated((site,), 5**k * NBYTES, NBYTES, OURS)
    assert len(race._known[(site,)]) == race.MOST_SIZES


@pytest.mark.usefixtures("forgotten")
def test_of_many_lines_some_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "MOST_KNOWN", 5)
    for _ in range(12):
        raced((Site(),), 1)
    assert len(race._known) <= 5


def test_lines_that_were_computed_with_others_once_are_known_again() -> None:
    loop, before = (Site(), Site()), Site()
    found = raced(loop)
    for _ in range(TRIALS):
        round_of(loop, OURS / 2)
    assert found.by_numpy
    evaluated((before, *loop), 2 * NBYTES, NBYTES, OURS)  # the loop's first turn, in another call
    assert loop[-1].race is not found
    evaluated(loop, NBYTES, NBYTES, OURS)
    assert loop[-1].race is found
    assert found.by_numpy
    round_of(loop, OURS / 2)
    assert found.by_numpy
    assert before.race is not None
    assert not before.race.by_numpy


def test_what_numpy_cannot_be_given_counts_in_its_rounds() -> None:
    sites = (Site(), Site())
    found = raced(sites)
    for _ in range(TRIALS):
        sites[0].took(OURS / 4)
        evaluated(sites[1:], NBYTES // 2, NBYTES // 2, OURS / 4)
    assert found.by_numpy
    assert not found.trying
    assert found.numpys == math.inf  # those of the period that has begun


def test_rounds_that_numpy_does_not_get_end() -> None:
    sites = (Site(),)
    found = raced(sites)
    for _ in range(TRIALS):
        evaluated(sites, NBYTES, NBYTES, OURS)
    assert not found.by_numpy
    assert found.is_won()


def test_parts_of_what_is_timed_as_a_whole_are_known() -> None:
    assert not race.is_held()
    with race.held():
        assert race.is_held()
        with race.held():
            pass
        assert race.is_held()
    assert not race.is_held()


class Clock:
    """What the rounds' lengths are told from, beside what is timed of them."""

    def __init__(self) -> None:
        self.now = 1.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(race, "time", found)
    return found


def ours(sites: tuple[Site, ...], clock: Clock, times: int, lap: float = OURS) -> Race:
    for _ in range(times):
        clock.now += lap
        raced(sites, 1, 0.8 * lap)
    found = sites[-1].race
    assert found is not None
    return found


def open_round(sites: tuple[Site, ...], clock: Clock, lap: float) -> None:
    """Run a round of NumPy's whose last line has nothing to do."""
    for site in sites[:-1]:
        site.took(0.1 * lap)
    clock.now += lap


@pytest.mark.parametrize("faster", [True, False])
def test_rounds_whose_last_line_has_nothing_to_do_end_where_the_next_begins(
    clock: Clock, faster: bool
) -> None:
    sites = tuple(Site() for _ in range(4))
    lap = 0.5 * OURS if faster else 1.1 * OURS
    found = ours(sites, clock, STEADY)
    assert found.by_numpy
    for _ in range(TRIALS):
        assert found.by_numpy
        open_round(sites, clock, lap)
    sites[0].took(0.1 * lap)  # which tells that the last one is over
    assert found.by_numpy == faster
    if not faster:
        return
    for _ in range(FIRST_PERIOD):
        assert found.by_numpy
        open_round(sites, clock, lap)
        sites[0].took(0.1 * lap)
    evaluated(sites[1:], NBYTES, NBYTES, OURS)  # the rest of a round that had begun
    assert sites[-1].race is found
    assert not found.by_numpy
    ours(sites, clock, AGAIN)
    assert found.by_numpy
    assert found.period == 4 * FIRST_PERIOD


def test_a_place_that_is_met_again_before_the_last_one_is_no_end(clock: Clock) -> None:
    first, second, last = sites = tuple(Site() for _ in range(3))
    found = ours(sites, clock, STEADY)
    for _ in range(40):
        for site in (first, second, first, second, last):
            site.took(0.4 * OURS)  # twice as much as ours in all
            clock.now += 0.4 * OURS
    assert not found.by_numpy


def test_what_numpy_is_given_unasked_goes_to_us_where_it_takes_three_times_ours() -> None:
    site = Site()
    found = raced((site,), 1)
    site.took(OURS * 9)
    site.took(OURS * 2)  # not in a row
    for _ in range(BEHIND):
        assert not found.is_won()
        site.took(OURS * 9)
    assert found.is_won()
    assert not found.by_numpy
    raced((site,), race.FIRST_REST - STEADY)
    assert not found.is_won()  # and is looked at again
    site.took(OURS)
    site.took(OURS)
    assert not found.is_won()
