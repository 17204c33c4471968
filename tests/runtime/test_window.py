"""What is pending, and when it waits no longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import window

in_one_mode = pytest.mark.skipif(config.mode != "default", reason="all waits elsewhere")


def is_pending(x: Any) -> bool:
    return x._np is None and x._buf.pending


def sums_of_exponentials() -> tuple[Any, np.ndarray]:
    """Return pending sums of columns, and what they are."""
    x = np.random.default_rng(0).random((700, 700))
    sums = dnumpy.exp(dnumpy.array(x)).sum(axis=0)
    assert is_pending(sums)
    return sums, np.exp(x).sum(axis=0)


@in_one_mode
def test_little_results_of_what_is_pending_wait_for_a_few_operations_only() -> None:
    r, expected = sums_of_exponentials()
    waiting = []
    for _ in range(6):
        r = r * 0.5 + 1
        expected = expected * 0.5 + 1
        waiting.append(is_pending(r))
    assert waiting[-1] is False
    assert waiting == sorted(waiting, reverse=True)
    np.testing.assert_allclose(np.asarray(r), expected, rtol=1e-12)


@in_one_mode
def test_they_wait_for_what_is_large_while_waiting_saves_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "ELEMENTS_OF_LITTLE", 1 << 10)
    r, _ = sums_of_exponentials()
    for _ in range(20):
        r = r * 0.5 + 1
    assert is_pending(r)
    np.testing.assert_allclose(np.asarray(r), 2, rtol=1e-2)


@in_one_mode
def test_what_is_folded_from_something_large_waits_for_what_is_done_with_it() -> None:
    x = np.random.default_rng(1).random((2_000, 1_000))
    ours = dnumpy.array(x)
    for _ in range(4):
        engine.history.clear()
        centred = ours - ours.mean(axis=1, keepdims=True)
        found = centred / ours.std(axis=1, keepdims=True)
        assert is_pending(found)
        expected = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9)
    assert len(engine.history) == 1  # one pass over the rows


@in_one_mode
@pytest.mark.parametrize("name", ["memory_limit", "eager_below"])
def test_whoever_asks_for_waiting_gets_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(config, name, 1 << 30 if name == "memory_limit" else 0)
    r, _ = sums_of_exponentials()
    for _ in range(12):
        r = r * 0.5 + 1
    assert is_pending(r)


@in_one_mode
def test_faults_are_told_when_they_wait_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "ELEMENTS_OF_LITTLE", 1 << 30)
    r, _ = sums_of_exponentials()
    nothing = np.zeros(r.size)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        r = r / nothing
    assert np.isinf(np.asarray(r)).all()
