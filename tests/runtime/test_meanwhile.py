"""What arrives for others while a stage runs, by every order in which tasks may run."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dnumpy.runtime.graph import Piece, Range, TaskReads
from dnumpy.runtime.meanwhile import note_what_comes_meanwhile


class Tasks:
    """Tasks in the order in which they were added, and what each waits for."""

    def __init__(self) -> None:
        self.node_of: dict[str, str] = {}
        self.needs: dict[str, frozenset[str]] = {}

    def add(self, node: str, needs: set[str]) -> Any:
        key = f"task {len(self.node_of) + 1}"
        self.node_of[key] = node
        self.needs[key] = frozenset(needs)
        return SimpleNamespace(key=key)

    def dependencies(self, key: str) -> frozenset[str]:
        return self.needs[key]

    def number_of(self, key: str) -> int:
        return list(self.node_of).index(key) + 1

    def states(self) -> list[set[str]]:
        """Return every set of tasks that may have ended while the others have not."""
        return [
            set(ended)
            for count in range(len(self.node_of) + 1)
            for ended in combinations(self.node_of, count)
            if all(self.needs[key] <= set(ended) for key in ended)
        ]


@dataclass
class Stage:
    made: list[tuple[Range, Any]]
    reads: TaskReads = field(default_factory=TaskReads)
    meanwhile: dict[str, int] = field(default_factory=dict)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Tasks, list[Any], list[tuple[int, str, int, int]]]:
    """Stages of a task on one node or on both, each reading tasks before it or what is there."""
    tasks, stages, arrivals = Tasks(), [], []
    kept: list[Any] = []
    for number in range(draw(st.integers(0, 4))):
        before = list(tasks.node_of)
        stage = Stage([])
        for node in draw(st.sampled_from(["a", "b", "ab"])):
            makers = draw(st.sets(st.integers(0, len(before)), max_size=2))
            local = {key for key in before if tasks.node_of[key] == node and draw(st.booleans())}
            coming = [m for m in makers if not m or tasks.node_of[before[m - 1]] != node]
            ref = tasks.add(node, local | {before[maker - 1] for maker in coming if maker})
            stage.made.append((Range(node, 0, 1), ref))
            for maker in coming:
                nbytes = draw(st.integers(1, 9))
                kept.append(object())
                stage.reads.note(node, Piece(kept[-1], None, None, (), nbytes, nbytes, True), maker)
                arrivals.append((number, node, maker, nbytes))
        stages.append(stage)
    return tasks, stages, arrivals


@given(runs())
def test_what_may_arrive_while_a_stage_runs_is_counted_and_nothing_else(
    run: tuple[Tasks, list[Any], list[tuple[int, str, int, int]]],
) -> None:
    tasks, stages, arrivals = run
    note_what_comes_meanwhile(stages, tasks)  # type: ignore[arg-type]
    states = tasks.states()
    on = [{r.node: ref.key for r, ref in stage.made} for stage in stages]
    keys = list(tasks.node_of)
    for number, stage in enumerate(stages):
        expected: dict[str, int] = {}
        for node, task in on[number].items():
            for reader, where, maker, nbytes in arrivals:
                if reader == number or where != node:
                    continue
                if any(
                    (not maker or keys[maker - 1] in ended)
                    and tasks.needs[task] <= ended
                    and task not in ended
                    and on[reader][node] not in ended
                    for ended in states
                ):
                    expected[node] = expected.get(node, 0) + nbytes
        assert stage.meanwhile == expected


def test_what_the_stage_itself_reads_is_counted_once() -> None:
    tasks, argument = Tasks(), object()
    stages = []
    for first in (True, False):
        stage = Stage([(Range("a", 0, 1), tasks.add("a", set()))])
        stage.reads.note("a", Piece(argument, None, None, (), 5, 5, first))
        stages.append(stage)
    note_what_comes_meanwhile(stages, tasks)  # type: ignore[arg-type]
    assert [stage.meanwhile for stage in stages] == [{}, {}]
