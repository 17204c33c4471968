"""What is computed along and never read is not computed along for ever, and never lost."""

from __future__ import annotations

import gc

import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.expr import unread
from dnumpy.expr.walk import pending_in_order

SIZE = 2_400_000  # too large to be computed at once, and for NumPy to be tried (expr/race.py)


def quotient(x: np.ndarray, kept: list[np.ndarray] | None = None) -> tuple[float, bool]:
    """Return what is asked for, and whether the local variable was computed along."""
    centred = x - 1.0
    if kept is not None:
        kept.append(centred)
    asked = centred / 2.0
    first = float(numpy.asarray(asked)[0])
    return first, not centred._buf.pending


def test_a_local_that_died_unread_stays_pending_from_then_on() -> None:
    gc.collect()
    before = {*unread.watched}  # what other tests left, and somebody still holds
    x = np.arange(float(SIZE))
    along = [quotient(x) for _ in range(5)]
    assert [value for value, _ in along] == [-0.5] * 5
    assert [computed for _, computed in along] == [True, False, False, False, False]
    assert before.issuperset(unread.watched)


def test_what_is_read_later_is_always_computed_along() -> None:
    def sums(x: np.ndarray) -> tuple[float, bool]:
        centred = x - 1.0
        asked = float((centred / 2.0).sum())
        computed = not centred._buf.pending
        return asked + float(centred.sum()), computed

    x = np.arange(float(SIZE))
    assert [sums(x)[1] for _ in range(5)] == [True] * 5


@pytest.mark.parametrize("how", ["element", "memory", "operand", "print", "write"])
def test_what_was_left_and_is_read_after_all_is_right_and_not_left_again(how: str) -> None:
    x = np.arange(float(SIZE))
    kept: list[np.ndarray] = []
    for _ in range(4):
        quotient(x)
    assert not quotient(x, kept)[1]
    late = kept.pop()
    expected = numpy.arange(float(SIZE)) - 1.0
    x += 5.0  # what was left reads what was there before
    if how == "element":
        assert late[7] == expected[7]
    elif how == "memory":
        assert numpy.array_equal(numpy.asarray(late), expected)
    elif how == "operand":
        assert numpy.array_equal(numpy.asarray(late * 2.0), expected * 2.0)
    elif how == "print":
        assert str(late) == str(expected)
    else:
        late[3] = 9.0
        expected[3] = 9.0
        assert numpy.array_equal(numpy.asarray(late), expected)
    del late
    gc.collect()
    if how != "print":  # for which the few elements that are shown are computed
        assert [quotient(x)[1] for _ in range(4)] == [True] * 4


def test_what_was_left_and_is_read_by_itself_is_not_left_again() -> None:
    def read(x: np.ndarray) -> tuple[bool, float]:
        centred = x - 1.0
        asked = centred / 2.0
        numpy.asarray(asked)
        return not centred._buf.pending, float(numpy.asarray(centred)[0])

    x = np.arange(float(SIZE)) + 0.0
    numpy.asarray(x)
    for _ in range(4):
        quotient(x)
    kept: list[np.ndarray] = []
    assert not quotient(x, kept)[1]
    assert float(numpy.asarray(kept.pop())[0]) == -1.0
    assert [quotient(x)[1] for _ in range(3)] == [True] * 3
    assert all(read(x) == (True, -1.0) for _ in range(4))


def test_small_results_and_large_operands_are_not_left() -> None:
    def means(x: np.ndarray) -> bool:
        mean = x.mean(axis=1)
        float((x - mean[:, None]).sum())
        return not mean._buf.pending

    x = np.ones((20_000, 500))
    assert all(means(x) for _ in range(5))


def test_a_fault_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        engine.fp_faults, "tell", lambda faults: told.extend(f.text for f in faults)
    )

    def divided(x: np.ndarray, kept: list[np.ndarray]) -> None:
        away = x / (x - x)
        kept.append(away)
        numpy.asarray(away + 1.0)

    x = np.arange(1.0, float(SIZE))
    for _ in range(4):
        divided(x, [])
    told.clear()
    kept: list[np.ndarray] = []
    divided(x, kept)
    assert kept[0]._buf.pending
    assert numpy.isinf(numpy.asarray(kept[0])).all()
    assert told == ["divide by zero encountered in divide"]


def test_what_is_left_waits_in_the_next_window() -> None:
    x = np.arange(float(SIZE))
    kept: list[np.ndarray] = []
    for _ in range(4):
        quotient(x)
    quotient(x, kept)
    assert kept[0]._buf.expr in engine.window.waiting()
    engine.flush()
    assert not kept[0]._buf.pending
    assert not pending_in_order([kept[0]._buf.expr])
