from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.measure import Local
from benchmarks.peers import peer
from benchmarks.programs import PROGRAMS, TABLE, Program, chosen

if TYPE_CHECKING:
    from pathlib import Path

SMALL_STEPS = {"tiny_add", "tiny_draws", "nbody"}
IN_DEFAULT_MODE = os.environ.get("DNUMPY_MODE", "default") == "default"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_gives_the_answer_of_numpy(program: Program, tmp_path: Path) -> None:
    if program.name in SMALL_STEPS and not IN_DEFAULT_MODE:
        pytest.skip("thousands of small steps take minutes in tiles of five rows")
    numpy, ours = (Local(peer(name), program, 2e-4) for name in ("numpy", "dnumpy"))
    assert numpy.run() > 0
    assert ours.run() > 0
    numpy.save(tmp_path / "expected")
    ours.check(tmp_path / "expected")


def test_a_wrong_answer_is_told(tmp_path: Path) -> None:
    make = PROGRAMS[0].make
    wrong = Program("wrong", "wrong", make, lambda np_, _: float(np_.__name__ == "numpy"), 0.0)
    numpy, ours = (Local(peer(name), wrong, 1e-4) for name in ("numpy", "dnumpy"))
    numpy.run()
    ours.run()
    numpy.save(tmp_path / "expected")
    with pytest.raises(AssertionError, match="Not equal"):
        ours.check(tmp_path / "expected")


def test_an_unknown_program_is_named_with_those_that_exist() -> None:
    assert [program.name for program in chosen("life,nbody,life")] == ["life", "nbody"]
    assert chosen("table,life") == list(TABLE)
    with pytest.raises(ValueError, match=r"no program lfie; there are .*life"):
        chosen("life,lfie")


def test_what_a_program_must_move_grows_with_its_data() -> None:
    grown = set()
    for program in TABLE:
        small, large = (program.work(*program.make(scale)) for scale in (1e-4, 1e-3))
        assert large.bytes_moved >= small.bytes_moved, program.name
        if large.bytes_moved > small.bytes_moved:
            grown.add(program.name)
    assert {program.name for program in TABLE} - grown == {"einsum", "nbody", "tiny_add"}


def test_the_data_of_a_program_are_the_same_every_time() -> None:
    for program in PROGRAMS:
        first, second = program.make(1e-4), program.make(1e-4)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
