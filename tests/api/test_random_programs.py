"""Random programs of views and writes equal NumPy after every line.

``DNUMPY_PROGRAMS`` sets how many programs run (670 in each mode by default, 2,010 in all),
``DNUMPY_PROGRAMS_FROM`` the first seed: a failure names its seed and shows the shortest program
that fails.
"""

from __future__ import annotations

import os
import random

import pytest

import dnumpy
from dnumpy.config import config
from tests.programs import Mismatch, Program, check, check_seed, shrink
from tests.writer import Writer

COUNT = int(os.environ.get("DNUMPY_PROGRAMS", "670"))
FIRST = int(os.environ.get("DNUMPY_PROGRAMS_FROM", "0"))
BLOCK = 25


@pytest.mark.usefixtures("managed")
@pytest.mark.timeout(max(300, COUNT))
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BLOCK))
def test_a_random_program_equals_numpy_after_every_line(first: int) -> None:
    for seed in range(first, min(first + BLOCK, FIRST + COUNT)):
        check_seed(seed)


@pytest.mark.usefixtures("managed")
def test_arrays_of_every_size_may_meet_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 20)
    for seed in range(10_000, 10_040):
        check_seed(seed)


@pytest.mark.usefixtures("managed")
def test_windows_that_flush_early_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "window_exprs", 3)
    for seed in range(20_000, 20_040):
        check_seed(seed)


def test_the_same_seed_writes_the_same_program() -> None:
    first, second = (str(Writer(random.Random(7)).program()) for _ in range(2))
    assert first == second
    assert len(first.splitlines()) > 5


@pytest.mark.usefixtures("managed")
def test_the_check_sees_a_wrong_value_and_the_shortest_program_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dnumpy, "negative", dnumpy.positive)
    lines = ["a1 = np.arange(40.0)", "a2 = a1 * 2", "a3 = np.negative(a1)", "a2[1:] = a2[:-1]"]
    program = Program(lines)
    with pytest.raises(Mismatch, match="at the end"):
        check(program)
    assert shrink(program).lines == [lines[0], lines[2]]
