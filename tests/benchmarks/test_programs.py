from __future__ import annotations

import os

import numpy as np
import pytest

import dnumpy
from benchmarks.measure import Comparison, Timing, chosen, compare
from benchmarks.programs import PROGRAMS, Program

SMALL_STEPS = {"tiny_add", "tiny_draws", "nbody"}
IN_DEFAULT_MODE = os.environ.get("DNUMPY_MODE", "default") == "default"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_gives_the_answer_of_numpy(program: Program) -> None:
    if program.name in SMALL_STEPS and not IN_DEFAULT_MODE:
        pytest.skip("thousands of small steps take minutes in tiles of five rows")
    row = compare(program, dnumpy, repeats=1, warmups=1, scale=2e-4)
    assert row.speed > 0


def test_a_wrong_answer_is_not_timed() -> None:
    wrong = Program("wrong", "wrong", PROGRAMS[0].make, lambda np_, _: np_.__name__ == "numpy", 0.0)
    with pytest.raises(AssertionError):
        compare(wrong, dnumpy, repeats=1, warmups=1, scale=1.0)


def test_a_speed_above_one_is_faster_than_numpy() -> None:
    row = Comparison("p", "p", Timing((4.0, 2.0, 9.0), 1), Timing((1.0, 8.0, 1.0), 1))
    assert row.speed == 2.0
    assert row.median_speed == 4.0
    assert row.as_dict()["numpy"]["seconds"] == (4.0, 2.0, 9.0)


def test_an_unknown_program_is_named_with_those_that_exist() -> None:
    assert [program.name for program in chosen(PROGRAMS, "life,nbody")] == ["life", "nbody"]
    with pytest.raises(ValueError, match=r"no program lfie; there are .*life"):
        chosen(PROGRAMS, "life,lfie")


def test_the_data_of_a_program_are_the_same_every_time() -> None:
    for program in PROGRAMS:
        first, second = program.make(1e-4), program.make(1e-4)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
