"""A change for good is found soon, and noise is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import Observation, OnlineCorrection
from dnumpy.cost.drift import LIMIT, MOST, SETTLED, Cusum

WITHIN = 6  # runs in which a factor of 2 is found
NOISE = st.floats(0.02, 0.15)
SEEDS = st.integers(0, 2**32 - 1)


@given(NOISE, SEEDS, st.sampled_from([0.5, 2.0]))
def test_a_factor_of_two_is_found_within_a_few_runs(noise: float, seed: int, factor: float) -> None:
    source, watched = np.random.default_rng(seed), Cusum()
    for _ in range(60):
        watched.observe(float(source.normal(0.0, noise)))
    shift = np.log(factor)
    found = [watched.observe(float(shift + source.normal(0.0, noise))) for _ in range(WITHIN)]
    assert any(found)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1, 0.2])
def test_steady_noise_of_any_size_gives_less_than_one_alarm_in_a_thousand_runs(
    noise: float,
) -> None:
    alarms = 0
    for seed in range(20):
        source, watched = np.random.default_rng(seed), Cusum()
        alarms += sum(watched.observe(float(r)) for r in source.normal(0.0, noise, 1000))
    assert 1000 * alarms < 20 * 1000


def test_one_accident_is_no_change() -> None:
    watched = Cusum()
    for _ in range(20):
        assert not watched.observe(0.0)
    assert not watched.observe(3.0)
    assert watched.above <= MOST < LIMIT
    assert not any(watched.observe(0.0) for _ in range(50))


def correction_of(runs: int) -> OnlineCorrection:
    correction = OnlineCorrection()
    for _ in range(runs):
        run(correction, {"a": 1.0, "b": 1.0, "c": 1.0})
    return correction


def run(correction: OnlineCorrection, took: dict[str, float]) -> None:
    correction.observe(
        Observation("k", "cpu", node, correction.factor("k", "cpu", node), seconds)
        for node, seconds in took.items()
    )


def test_a_node_that_becomes_slow_begins_a_new_epoch_and_is_known_as_slow() -> None:
    correction = correction_of(20)
    assert correction.epoch == 0
    for _ in range(WITHIN):
        run(correction, {"a": 1.0, "b": 2.0, "c": 1.0})
    assert correction.epoch == 1
    assert correction.node_factor("b") == pytest.approx(2.0, rel=0.1)
    assert correction.node_factor("a") == pytest.approx(1.0, rel=0.05)


def test_all_nodes_becoming_slow_begins_a_new_epoch_too() -> None:
    correction = correction_of(20)
    for _ in range(WITHIN):
        run(correction, dict.fromkeys("abc", 2.0))
    assert correction.epoch == 1
    assert correction.factor("k", "cpu", "a") == pytest.approx(2.0, rel=0.1)


def test_nodes_that_stay_as_they_are_keep_the_epoch() -> None:
    source, correction = np.random.default_rng(3), OnlineCorrection()
    for _ in range(500):
        took = np.exp(source.normal(0.0, 0.1, 3))
        run(correction, dict(zip("abc", map(float, took), strict=True)))
    assert correction.epoch == 0


def test_what_settles_at_first_is_no_change() -> None:
    watched = Cusum()
    assert not any(watched.observe(2.0) for _ in range(SETTLED))
    assert not any(watched.observe(0.0) for _ in range(50))
