"""Results that a program looks at one by one are NumPy's at once, and what waits still waits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api.lone import turn_of
from dnumpy.config import EAGER_BELOW, config

SIZE = EAGER_BELOW + 10
TIMES = 8  # looks after which a line is known, between two at which it waits again

pytestmark = pytest.mark.skipif(
    config.mode != "default" or not native.built, reason="asked for by the module in C alone"
)


def made(seed: int = 0) -> Any:
    values = dnumpy.array(np.random.default_rng(seed).random(SIZE))
    assert values[0] < 1
    return values


def is_pending(array: Any) -> bool:
    return bool(array._np is None and array._buf.pending)


OPERATIONS = [
    lambda x, y: x + y,
    lambda x, y: 2.0 - x,
    lambda x, y: x > y,
    lambda x, y: -x,
    lambda x, y: dnumpy.multiply(y, x),
    lambda x, y: dnumpy.negative(x),
    lambda x, y: x.copy(),
    lambda x, y: x.astype("f4"),
    lambda x, y: x[1:] - x[:-1],
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_what_a_line_wants_by_itself_is_computed_as_it_is_met(number: int) -> None:
    x, y = made(), made(1)
    operation = OPERATIONS[number]
    waited = []
    for _ in range(TIMES):
        found = operation(x, y)
        waited.append(is_pending(found))
        assert found[3] == operation(np.asarray(x), np.asarray(y))[3]
    assert not waited[-1]
    expected = operation(np.asarray(x), np.asarray(y))
    assert found.dtype == expected.dtype
    assert found.base is None
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_what_comes_to_be_fused_goes_on_waiting() -> None:
    x, y = made(), made(1)
    for k in range(TIMES):
        product = x * y
        found = dnumpy.sqrt(product + x) / (y + 1.0) + product
        assert k == 0 or is_pending(product)  # what runs once is not worth being planned
        assert found[0] > 0


def test_a_write_in_place_is_not_seen_by_what_waits() -> None:
    x = made()
    values = np.asarray(x).copy()
    for k in range(TIMES):
        x += 1.0
        assert x[0] == pytest.approx(values[0] + k + 1)
    before = x * 2.0 + 1.0
    seen = np.asarray(x).copy()
    for _ in range(2):
        x += 1.0
        assert x[1] > 1
    np.testing.assert_array_equal(np.asarray(before), seen * 2.0 + 1.0)
    np.testing.assert_array_equal(np.asarray(x), seen + 2.0)


def test_a_view_sees_what_is_written_to_its_base_in_place() -> None:
    x = made()
    view = x[::2]
    assert view[0] == x[0]
    first = float(x[0])
    for _ in range(TIMES):
        x += 1.0
        assert x[1] > 0
    assert view[0] == pytest.approx(first + TIMES)


def test_a_fault_is_told_at_the_line_of_the_program() -> None:
    x, zeros = made() + 1.0, made() * 0.0
    assert zeros[0] == 0
    lines = set()
    for _ in range(TIMES):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            assert (x / zeros)[0] == np.inf
        assert [str(w.message) for w in heard] == ["divide by zero encountered in divide"]
        lines |= {(w.filename, w.lineno) for w in heard}
    assert len(lines) == 1
    assert next(iter(lines))[0] == __file__


@pytest.mark.parametrize(
    "move",
    [
        lambda x: dnumpy.concatenate((x, x)),
        lambda x: dnumpy.stack([x, x], axis=1),
        lambda x: dnumpy.take(x, [3, 1]),
    ],
)
def test_what_only_moves_elements_moves_what_lies_here_at_once(move: Any) -> None:
    x = made()
    assert not is_pending(move(x))
    waiting = x * 2.0 + 1.0
    moved = move(waiting)
    assert is_pending(waiting) or not is_pending(moved)
    plain = np.asarray(x)
    names = move.__code__.co_names
    theirs: Any = getattr(np, names[1])
    given = {
        "concatenate": lambda a: theirs((a, a)), "stack": lambda a: theirs([a, a], axis=1),
        "take": lambda a: theirs(a, [3, 1]),
    }[names[1]]  # fmt: skip
    np.testing.assert_array_equal(np.asarray(move(x)), given(plain))
    np.testing.assert_array_equal(np.asarray(moved), given(plain * 2.0 + 1.0))


def test_nothing_runs_alone_where_somebody_asked_for_arrays_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "eager_below", 16)
    assert turn_of(np.add, 100) is None
    x = made()
    for _ in range(TIMES):
        found = dnumpy.concatenate((x, x))
        assert is_pending(found)
        assert found[0] == x[0]
