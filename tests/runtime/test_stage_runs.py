"""What arrives for later stages while one runs, by the order in which tasks were added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dnumpy.runtime.stage_runs import note_what_comes_meanwhile


@dataclass
class Reads:
    began: int
    arrivals: list[tuple[int, str, int]]

    def arriving(self) -> list[tuple[int, str, int]]:
        return self.arrivals


@dataclass
class Stage:
    reads: Reads
    meanwhile: dict[str, int] = field(default_factory=dict)


@st.composite
def runs(draw: st.DrawFn) -> list[Any]:
    stages, began = [], 0
    for _ in range(draw(st.integers(0, 6))):
        given_by = st.tuples(st.integers(0, began), st.sampled_from("ab"), st.integers(1, 9))
        stages.append(Stage(Reads(began, draw(st.lists(given_by, max_size=4)))))
        began += draw(st.integers(1, 3))
    return stages


@given(runs())
def test_what_was_made_until_a_stage_ends_may_arrive_for_later_ones_while_it_runs(
    stages: list[Any],
) -> None:
    note_what_comes_meanwhile(stages)
    for number, stage in enumerate(stages):
        expected: dict[str, int] = {}
        for later in stages[number + 1 :]:
            for latest, node, nbytes in later.reads.arrivals:
                if latest <= stages[number + 1].reads.began:
                    expected[node] = expected.get(node, 0) + nbytes
        assert stage.meanwhile == expected
