"""Laws of the planning figures: no plan beats the best of all."""

from __future__ import annotations

import random

import pytest

from benchmarks.planning import (
    best_of_all,
    quality,
    random_program,
    scaled,
    splits,
)
from dnumpy.plan import clear_program_cache


def test_all_splits_are_tried_once():
    assert len(set(splits(6, 3))) == len(list(splits(6, 3))) == 28


def test_no_plan_is_better_than_the_best_of_all_plans():
    clear_program_cache()
    found = quality(4)
    assert found.median >= -1e-9
    assert found.best_found <= found.programs - found.impossible
    assert found.refused_though_possible == 0


def test_times_and_bytes_scaled_together_scale_the_best_plan():
    program = random_program(random.Random(1), 2, 2, 4, (float("inf"),))
    latency = program.network.latency_seconds[0][0]
    assert best_of_all(scaled(program, 10.0)) == pytest.approx(
        10 * best_of_all(program), abs=100 * latency
    )
