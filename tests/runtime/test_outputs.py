"""What a run teaches of the time that passes beside its tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dnumpy.runtime.outputs import told_of


class Learns:
    """A cluster that is told."""

    def __init__(self) -> None:
        self.trips: list[float] = []

    def learn_round_trip(self, seconds: float) -> None:
        self.trips.append(seconds)


def stage(starts: tuple[float, ...], *tasks: tuple[float, float]) -> Any:
    """Return a stage that was to begin at these times; its tasks have (end, seconds).

    What is to begin at once has nothing to do: such nodes are in every plan.
    """
    reports = [SimpleNamespace(ended=ended, seconds=seconds) for ended, seconds in tasks]
    return SimpleNamespace(
        record=lambda *_: None,
        faults=lambda _: [],
        told=lambda: [SimpleNamespace(report=lambda _, told=told: told) for told in reports],
        laid=SimpleNamespace(
            plan=SimpleNamespace(starts=starts, predicted_node_seconds=tuple(map(bool, starts)))
        ),
    )


@pytest.mark.parametrize("arrives", [0.05, 0.2])
def test_what_has_to_come_before_the_first_task_is_no_round_trip(arrives: float) -> None:
    cluster: Any = Learns()
    first, then = stage((arrives, 0.0, arrives + 0.1), (10.5, 0.5)), stage((0.9,), (10.75, 0.25))
    told_of([first, then], cluster, {}, (0.0, 1.0))
    assert cluster.trips == [pytest.approx(1.0 - 0.75 - arrives)]


def test_a_run_that_took_less_than_planned_teaches_no_negative_trip() -> None:
    cluster: Any = Learns()
    told_of([stage((5.0,), (10.5, 0.5))], cluster, {}, (0.0, 1.0))
    assert cluster.trips == [0.0]
