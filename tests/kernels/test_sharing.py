"""Whether a run is shared out among threads is decided by what both ways took."""

from __future__ import annotations

import pytest

from dnumpy.kernels.sharing import CLEAR, LITTLE, MUCH, RETIMED, TRIALS, Sharing


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
    assert chosen[2 * TRIALS :] == [shared < alone] * (40 - 2 * TRIALS)


@pytest.mark.parametrize("guess", [True, False])
def test_two_runs_decide_where_the_difference_is_clear(guess: bool) -> None:
    _, chosen = after(2e-3, 1e-3 / CLEAR, 20, guess=guess)
    assert chosen[1] != chosen[0]
    assert all(chosen[3:])


def test_a_first_run_over_fresh_memory_decides_nothing() -> None:
    sharing = Sharing()
    for seconds in (4e-3, *[6e-4] * 9):
        shared = sharing.pays(guess=True)
        sharing.observe(seconds if shared else 1e-3, shared=shared)
    assert sharing.pays(guess=True)


def test_what_takes_little_wakes_no_thread_again() -> None:
    _, chosen = after(LITTLE / 2, LITTLE / 4, 20, guess=True)
    assert chosen[2:] == [False] * 18


def test_what_takes_long_on_several_threads_is_not_left_to_one() -> None:
    _, chosen = after(1.0, 2 * MUCH, 20, guess=True)
    assert all(chosen)


def test_the_slower_way_is_looked_at_again() -> None:
    sharing, chosen = after(1e-3, 2e-3, 3 * RETIMED, guess=False)
    assert 2 <= chosen[2 * TRIALS :].count(True) <= 3
    for _ in range(3 * RETIMED):  # until threads have become cheap
        shared = sharing.pays(guess=False)
        sharing.observe(5e-4 if shared else 1e-3, shared=shared)
    assert sharing.pays(guess=False)
