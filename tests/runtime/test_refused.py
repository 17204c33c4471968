"""What is to stay on the nodes fits there, or is refused before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy.cost.links import Links
from dnumpy.errors import PlanInfeasible
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.runtime import jointly
from dnumpy.runtime.answers import SAME_ROOM, Question, Refused
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.refused import NotTogether, cannot_stay, plan_within, stays_bytes
from tests.runtime.test_sketch import EVEN, lazy, places, sketch_of

if TYPE_CHECKING:
    from dnumpy.plan.dag import Program
    from dnumpy.runtime.sketch import Sketch

__all__ = ["lazy"]  # a fixture of every test here
ROWS, WIDTH = 4_000, 200
ALL = ROWS * WIDTH * 8.0


def planned(sketch: Sketch, free: float) -> object:
    ratings = [EVEN] * len(sketch.demands)
    return plan_within(sketch, places(free), Links(SIZES), ratings, 0)


def matrix() -> dnp.ndarray:
    return dnp.ones((ROWS, WIDTH)) * np.arange(WIDTH)


def test_one_result_that_fits_nowhere_is_refused_with_what_would_help() -> None:
    sketch = sketch_of(dnp.cumsum(dnp.cumsum(matrix(), axis=1) + 1.0, axis=1))
    assert sum(stays_bytes(sketch).values()) == ALL
    with pytest.raises(PlanInfeasible, match="needs more") as caught:
        planned(sketch, ALL / 2.9)
    assert caught.value.final
    assert not isinstance(caught.value, NotTogether)
    caught.value.tell()
    text = str(caught.value)
    assert "scan" in text
    assert "alive" in text
    assert "Short by" in text
    assert all(f"node-{k} would hold" in text for k in range(3))
    kinds = {option.kind for option in caught.value.options}
    assert {"memory", "blocks"} <= kinds
    assert "home" not in text


def test_several_results_that_do_not_fit_together_are_made_one_after_another() -> None:
    results = [dnp.cumsum(matrix() + k, axis=1) for k in range(3)]
    sketch = sketch_of(*results)
    assert cannot_stay(sketch, places(ALL / 2))
    with pytest.raises(NotTogether, match="offered"):
        planned(sketch, ALL / 2)
    assert not cannot_stay(sketch, places(4 * ALL))
    joint, refusal = planned(sketch, 40 * ALL)  # type: ignore[misc]
    assert joint is not None
    assert refusal is None


def test_what_only_passes_is_no_reason_to_refuse_but_to_go_stage_by_stage() -> None:
    x = dnp.cumsum(matrix(), axis=0)
    for _ in range(3):
        x = dnp.cumsum(x.T, axis=0)
    sketch = sketch_of(x)
    assert len(set(sketch.stages)) > 1
    free = places(ALL / 1.5)
    assert not cannot_stay(sketch, free)
    with pytest.raises(NotTogether):
        planned(sketch, ALL / 1.5)


def test_a_refusal_is_searched_for_once_until_more_is_free_than_was_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = dnp.cumsum(matrix(), axis=0)
    for _ in range(3):
        x = dnp.cumsum(x.T, axis=0)
    sketch = sketch_of(x)
    searched: list[float] = []
    search = jointly.plan_program

    def counted(program: Program, **options: Any) -> Any:
        searched.append(program.nodes[0].memory_bytes)
        return search(program, **options)

    monkeypatch.setattr(jointly, "plan_program", counted)
    texts = set()
    for free in (ALL / 1.5, ALL / 1.5, 0.99 * ALL / 1.5, 1.002 * ALL / 1.5, 0.8 * ALL / 1.5):
        with pytest.raises(NotTogether) as caught:
            planned(sketch, free)
        texts.add(str(caught.value).partition("offered")[0])
    assert len(searched) == 1
    assert len(texts) == 1
    (refusal,) = sketch.refusals
    assert refusal.short_bytes > 0
    joint, _ = planned(sketch, 40 * ALL)  # type: ignore[misc]
    assert joint is not None
    assert len(searched) == 2
    with pytest.raises(NotTogether):
        planned(sketch, ALL / 1.5)
    assert len(searched) == 2


@given(st.floats(0.1, 3.0), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_a_refusal_holds_exactly_while_no_more_became_free_than_was_missing(
    free: float, more: float, short: float
) -> None:
    def question(each: float) -> Question:
        return Question.of(places(each * 1e9), Links(SIZES), [EVEN], "asked")

    error = PlanInfeasible("no")
    error.short_bytes = short * 1e9
    refusal = Refused.of(question(free), error)
    gained = 3 * MEMORY_SHARE * more
    borders = max(short, SAME_ROOM * 3 * MEMORY_SHARE * free)
    assume(abs(gained - borders) > 1e-6)
    assert refusal.holds_for(question(free + more)) == (gained < borders)
    assert refusal.holds_for(question(free * 0.5))
    assert not refusal.holds_for(Question.of(places(free)[:2], Links(SIZES), [EVEN], "asked"))
