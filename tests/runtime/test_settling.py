"""Rows that are read again and again come to lie where they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.cost.links import Link, Links
from dnumpy.runtime import jointly
from dnumpy.runtime.answers import Elsewhere
from dnumpy.runtime.chunked import Chunked, Part, Source
from dnumpy.runtime.jointly import plan_elsewhere, plan_together
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.moving import settle
from dnumpy.runtime.settling import FUTURE, Move, Stay, _gain
from dnumpy.runtime.sketch import Sketch
from dnumpy.runtime.virtual import VirtualCluster
from tests.runtime.test_sketch import EVEN, SPEEDS, lazy, places, sketch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["lazy"]  # every test here runs in that fixture
NODES = [f"node-{k}" for k in range(len(SPEEDS))]
ROWS = 40_000
PAIRS = [(a, b) for a in NODES for b in NODES if a != b]
SLOW_LINKS = Links(SIZES, tuple(Link(a, b, (1e-4, 0.05, 3.0)) for a, b in PAIRS))


@pytest.fixture(autouse=True)
def rows_stay_where_they_are() -> None:
    """They do not here."""


def lying(where: Sequence[int], cluster: Any | None = None) -> tuple[Any, np.ndarray]:
    """Return an array whose rows lie so on three nodes of this process, and its values."""
    values = np.random.default_rng(5).random((sum(where), 50))
    stops = np.cumsum(where).tolist()
    parts = tuple(
        Part(node, stop - rows, stop, values[stop - rows : stop])
        for node, rows, stop in zip(NODES, where, stops, strict=True)
        if rows
    )
    made = dnumpy.zeros(values.shape)
    source = Source(values.shape, values.dtype)
    made._buf.expr.value = Chunked(
        values.shape, values.dtype, parts, source, cluster or VirtualCluster(SPEEDS)
    )
    return made, values


def asked(sketch: Sketch, free_bytes: float = 1e9) -> tuple[Any, Elsewhere | None]:
    """Return the plan of a sketch on three unequal nodes, and where its arrays had better lie."""
    args = sketch, places(free_bytes), SLOW_LINKS, [EVEN] * len(sketch.demands)
    return plan_together(*args), plan_elsewhere(*args)


def summed(x: Any) -> Any:
    return dnumpy.cumsum(x, axis=1)


def test_rows_on_a_slow_node_had_better_lie_by_speed() -> None:
    x, _ = lying((0, ROWS, 0))
    joint, found = asked(sketch_of(summed(x)))
    assert found is not None
    assert found.then_seconds < found.now_seconds == joint.predicted_seconds
    ((number, where, granule),) = found.places
    assert number == 0
    assert granule >= 1
    assert sum(rows for _, rows in where) == ROWS
    rows = dict(where)
    assert rows["node-0"] > rows["node-2"] > rows.get("node-1", 0)
    assert found.moving_seconds > 0


def test_rows_that_lie_by_speed_stay() -> None:
    x, _ = lying((0, ROWS, 0))
    _, found = asked(sketch_of(summed(x)))
    assert found is not None
    ((_, where, _),) = found.places
    rows = dict(where)
    x, _ = lying([rows.get(node, 0) for node in NODES])
    _, again = asked(sketch_of(summed(x)))
    assert again is None or again.then_seconds > 0.95 * again.now_seconds


def test_no_node_is_filled_by_what_lies_better_there() -> None:
    x, values = lying((0, ROWS, 0))
    _, found = asked(sketch_of(summed(x)), 1.5 * values.nbytes)
    assert found is None


def test_nobody_asks_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = lying((0, ROWS, 0))
    sketch = sketch_of(summed(x))
    first = asked(sketch)[1]
    monkeypatch.setattr(jointly, "plan_program", lambda *_, **__: pytest.fail("planned again"))
    assert asked(sketch)[1] is first


def test_what_is_not_planned_has_no_answer() -> None:
    x, _ = lying((0, ROWS, 0))
    sketch = sketch_of(summed(x))
    args = sketch, places(), SLOW_LINKS, [EVEN] * len(sketch.demands)
    assert plan_elsewhere(*args) is None


def test_arrays_at_home_and_those_read_across_are_not_asked_about() -> None:
    y = dnumpy.array(np.ones((ROWS, 50)))
    assert asked(sketch_of(summed(y)))[1] is None


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=30), st.floats(0.01, 5.0))
def test_an_array_moves_once_a_good_part_of_that_was_lost(
    gains: list[float], moving: float
) -> None:
    stay = Stay()
    stay.runs += 1  # the first run, of which nobody asked, lost as much as the second
    known = 0.0
    for k, gain in enumerate(gains):
        known += gain if k else 2 * gain
        worth = stay.is_worth(moving, gain)
        assert worth == (FUTURE * known >= moving) or FUTURE * known == pytest.approx(moving)
        if worth:
            break
        stay.lose(gain)
        assert stay.lost == pytest.approx(known)


def test_each_move_makes_the_next_one_later() -> None:
    stay, needed = Stay(), []
    for moves in range(4):
        stay.moves = moves
        needed.append(next(k for k in range(1, 1000) if stay.is_worth(1.0, k / 10)))
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]


def test_a_run_loses_no_more_than_it_took() -> None:
    sketch = Sketch()
    found = Elsewhere(0.5, 0.2, 1.0, ())
    assert _gain(found, sketch) == pytest.approx(0.3)
    sketch.note_took(0.25)
    sketch.note_took(0.4)
    assert _gain(found, sketch) == pytest.approx(0.05)
    sketch.note_took(0.21)
    assert _gain(found, sketch) == 0.0
    assert _gain(None, sketch) == 0.0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.integers(1, 7),
)
def test_an_array_that_was_moved_holds_what_it_held(
    before: list[int], shares: list[int], granule: int
) -> None:
    cluster = VirtualCluster(SPEEDS)
    x, values = lying(before, cluster)
    chunked = x._buf.expr.value
    cuts = [round(len(values) * sum(shares[: k + 1]) / sum(shares)) for k in range(3)]
    rows = [b - a for a, b in zip([0, *cuts], cuts, strict=False)]
    where = tuple((node, n) for node, n in zip(NODES, rows, strict=True) if n)
    held = {(p.node, p.start, p.stop): p.data for p in chunked.parts}
    settle(Move(chunked, where, granule), cluster)
    assert chunked.rows_per_node() == where
    assert np.array_equal(chunked.gather(), values)
    for part in chunked.parts:  # what lies there already is not copied
        known = held.get((part.node, part.start, part.stop))
        assert known is None or known is part.data
