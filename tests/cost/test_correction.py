"""What finished runs teach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import Observation, OnlineCorrection

factors = st.floats(0.2, 5.0)


def run_phases(
    correction: OnlineCorrection, model_off: float, node_off: dict[str, float], phases: int
) -> None:
    """Let a kernel whose model is off by one factor run on nodes that are off by others."""
    for _ in range(phases):
        correction.observe(
            Observation("k", "cpu", node, correction.factor("k", "cpu", node), model_off * off)
            for node, off in node_off.items()
        )


@given(factors, factors, factors, factors)
def test_predictions_converge_to_what_is_observed(
    model_off: float, a: float, b: float, c: float
) -> None:
    correction = OnlineCorrection()
    nodes = {"a": a, "b": b, "c": c}
    run_phases(correction, model_off, nodes, 30)
    for node, off in nodes.items():
        assert correction.factor("k", "cpu", node) == pytest.approx(model_off * off, rel=0.05)


def test_a_wrong_model_is_not_blamed_on_the_nodes() -> None:
    correction = OnlineCorrection()
    run_phases(correction, 3.0, {"a": 1.0, "b": 1.0, "c": 1.0}, 10)
    assert [correction.node_factor(n) for n in "abc"] == pytest.approx([1.0, 1.0, 1.0])
    assert correction.factor("k", "cpu") == pytest.approx(3.0, rel=0.05)
    assert correction.factor("other", "cpu", "a") == pytest.approx(1.0)


def test_one_slow_node_is_not_blamed_on_the_model() -> None:
    correction = OnlineCorrection()
    run_phases(correction, 1.0, {"a": 1.0, "b": 1.0, "slow": 2.0}, 10)
    assert correction.factor("k", "cpu") == pytest.approx(1.0)
    assert correction.node_factor("slow") == pytest.approx(2.0, rel=0.05)
    assert correction.factor("other", "cpu", "slow") == pytest.approx(2.0, rel=0.05)


def test_short_tasks_that_wait_or_run_through_say_little_of_their_nodes() -> None:
    correction = OnlineCorrection()
    for k in range(20):  # a fifth of a CPU: through at once, or until the next period
        took = {n: 0.085 if (k + waits) % 4 == 0 else 0.004 for n, waits in (("a", 0), ("b", 1))}
        seen = [
            Observation("k", "cpu", n, 0.02 * correction.factor("k", "cpu", n), t)
            for n, t in took.items()
        ]
        correction.observe(seen)
        assert 1 / 3 < correction.node_factor("a") / correction.node_factor("b") < 3


def test_a_phase_on_one_node_teaches_the_kernel_only() -> None:
    correction = OnlineCorrection()
    run_phases(correction, 2.0, {"a": 1.0}, 10)
    assert correction.node_factor("a") == 1.0
    assert correction.factor("k", "cpu") == pytest.approx(2.0, rel=0.05)


def test_a_kernel_that_was_never_seen_on_a_class_is_corrected_as_on_another() -> None:
    correction = OnlineCorrection()
    for _ in range(10):
        seen = Observation("k", "fast", "a", correction.factor("k", "fast", family="f"), 0.05, "f")
        slow = Observation("j", "slow", "b", correction.factor("j", "slow", family="f"), 2.0, "f")
        correction.observe([seen, slow])
    assert correction.factor("k", "fast", family="f") == pytest.approx(0.05, rel=0.1)
    assert correction.factor("k", "slow", family="f") == pytest.approx(0.05, rel=0.1)
    assert correction.factor("new", "slow", family="f") == pytest.approx(2.0, rel=0.1)


def test_a_first_run_that_was_slow_is_soon_forgotten() -> None:
    correction = OnlineCorrection()
    for k, took in enumerate((50.0, 1.0, 1.0)):
        predicted = correction.factor("k", "cpu")
        assert predicted <= (1.0, 2.0, 1.2)[k]
        correction.observe([Observation("k", "cpu", "a", predicted, took)])
    assert correction.factor("k", "cpu") == pytest.approx(1.0, rel=0.1)


def test_tasks_too_short_to_time_teach_nothing() -> None:
    correction = OnlineCorrection()
    correction.observe([Observation("k", "cpu", "a", 1e-6, 1e-4)])
    assert correction.factor("k", "cpu", "a") == 1.0


def test_one_accident_moves_the_estimate_by_a_bounded_factor() -> None:
    correction = OnlineCorrection()
    run_phases(correction, 1.0, {"a": 1.0}, 10)
    correction.observe([Observation("k", "cpu", "a", 1.0, 1e6)])
    assert correction.factor("k", "cpu") < 2.0


def test_three_runs_bring_a_model_that_is_three_times_off_within_a_tenth() -> None:
    correction = OnlineCorrection()
    run_phases(correction, 3.0, {"a": 1.0}, 3)
    assert correction.factor("k", "cpu") == pytest.approx(3.0, rel=0.1)


def test_a_kernel_that_never_ran_is_corrected_as_others_of_its_family() -> None:
    correction = OnlineCorrection()
    for k in range(12):
        kernel = f"k{k}"
        predicted = correction.factor(kernel, "cpu", "a", "sums")
        correction.observe([Observation(kernel, "cpu", "a", predicted, 3.0, "sums")])
    assert correction.factor("new", "cpu", "a", "sums") == pytest.approx(3.0, rel=0.1)
    assert correction.factor("new", "cpu", "a", "others") == 1.0
    assert correction.factor("new", "gpu", "a", "sums") == 1.0


@given(factors, factors)
def test_a_kernel_s_own_runs_outweigh_its_family(own: float, other: float) -> None:
    correction = OnlineCorrection()
    for _ in range(30):
        for kernel, off in (("own", own), ("other", other)):
            predicted = correction.factor(kernel, "cpu", "a", "family")
            correction.observe([Observation(kernel, "cpu", "a", predicted, off, "family")])
    assert correction.factor("own", "cpu", "a", "family") == pytest.approx(own, rel=0.1)
