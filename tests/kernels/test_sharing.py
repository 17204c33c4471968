"""Whether a run is shared out among threads is decided by what both ways took."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dnumpy.kernels.sharing import CLEAR, LITTLE, MUCH, RETIMED, SOON, TRIALS, Sharing


def after(alone: float, shared: float, runs: int, *, guess: bool) -> tuple[Sharing, list[bool]]:
    sharing, chosen = Sharing(), []
    for _ in range(runs):
        chosen.append(sharing.pays(guess=guess))
        sharing.observe(shared if chosen[-1] else alone, shared=chosen[-1])
    return sharing, chosen


@pytest.mark.parametrize("guess", [True, False])
@pytest.mark.parametrize(("alone", "shared"), [(1e-3, 6e-4), (1e-3, 2e-3), (5e-4, 4e-4)])
def test_the_faster_way_wins_whatever_was_guessed(alone: float, shared: float, guess: bool) -> None:
    _, chosen = after(alone, shared, 40, guess=guess)
    assert chosen[0] == guess
    looks = [k for k in range(2 * TRIALS, 40) if chosen[k] != (shared < alone)]
    gaps = [b - a for a, b in pairwise(looks)]
    assert 2 <= len(looks) <= 4
    assert gaps == [gaps[0] << k for k in range(len(gaps))]  # each twice the one before


@pytest.mark.parametrize("guess", [True, False])
def test_two_runs_decide_where_the_difference_is_clear(guess: bool) -> None:
    _, chosen = after(2e-3, 1e-3 / CLEAR, 20, guess=guess)
    assert chosen[1] != chosen[0]
    assert all(chosen[3 : 2 + SOON - 1])


def test_a_way_that_was_slow_while_much_else_began_is_soon_found_to_be_fast() -> None:
    sharing, chosen = Sharing(), []
    for number in range(30):
        chosen.append(sharing.pays(guess=False))
        slow = number < 2 * TRIALS  # until kernels are compiled and threads started
        sharing.observe((2e-3 if slow else 5e-4) if chosen[-1] else 1e-3, shared=chosen[-1])
    assert all(chosen[2 * TRIALS + SOON :][:3])
    assert not any(chosen[2 * TRIALS : 2 * TRIALS + SOON - 1])


def test_a_first_run_over_fresh_memory_decides_nothing() -> None:
    sharing = Sharing()
    for seconds in (4e-3, *[6e-4] * 9):
        shared = sharing.pays(guess=True)
        sharing.observe(seconds if shared else 1e-3, shared=shared)
    assert sharing.pays(guess=True) or sharing.pays(guess=True)  # one may be a look


def test_what_takes_little_wakes_no_thread_again() -> None:
    _, chosen = after(LITTLE / 2, LITTLE / 4, 20, guess=True)
    assert chosen[2:] == [False] * 18


def test_what_takes_long_on_several_threads_is_not_left_to_one() -> None:
    _, chosen = after(1.0, 2 * MUCH, 20, guess=True)
    assert all(chosen)


def test_what_is_known_to_take_longer_on_several_threads_is_left_to_one() -> None:
    _, chosen = after(MUCH, 3 * MUCH, 20, guess=False)
    assert chosen.count(True) <= 2 + (20 // SOON).bit_length()


def test_the_slower_way_is_looked_at_again() -> None:
    sharing, chosen = after(1e-3, 2e-3, 3 * RETIMED, guess=False)
    early = (RETIMED // SOON).bit_length() - 1  # looks that double the runs until the next
    assert early + 1 <= chosen[2 * TRIALS :].count(True) <= early + 2
    for _ in range(3 * RETIMED):  # until threads have become cheap
        shared = sharing.pays(guess=False)
        sharing.observe(5e-4 if shared else 1e-3, shared=shared)
    assert sharing.pays(guess=False)


def test_a_busy_moment_in_which_one_way_ran_does_not_decide_for_long() -> None:
    sharing, _ = after(1.4e-3, 9e-4, RETIMED + SOON, guess=True)
    while sharing.pays(guess=True):
        sharing.observe(2e-3, shared=True)  # beside what is known of the other way from before
    chosen = []
    for _ in range(RETIMED // 2):
        chosen.append(sharing.pays(guess=True))
        sharing.observe(9e-4 if chosen[-1] else 1.4e-3, shared=chosen[-1])
    assert chosen.count(False) < 2 * SOON
