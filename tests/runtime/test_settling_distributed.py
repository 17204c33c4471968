"""Rows of real workers that are read again and again come to lie elsewhere, with what they held."""

from __future__ import annotations

import gc
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from dask._task_spec import Task
from distributed import wait

from dnumpy.errors import ClusterWarning
from dnumpy.expr.walk import pending_in_order
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.runtime import cluster as module
from dnumpy.runtime import moving
from dnumpy.runtime.answers import Elsewhere
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_runs import Runs
from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.forecast_on import forecast_on
from dnumpy.runtime.moving import Moves
from dnumpy.runtime.scores import clear_scores
from dnumpy.runtime.settling import Stay
from dnumpy.runtime.sketches import clear_sketches
from tests.runtime import programs as p
from tests.runtime.test_cluster_distributed import LOST, client_of, kill, mortal, profiles, shared
from tests.runtime.test_scores import Planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.sketch import Sketch

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
__all__ = ["mortal", "profiles", "shared"]  # fixtures
ROWS, COLUMNS = 600, 40


@pytest.fixture(autouse=True)
def rows_stay_where_they_are() -> None:
    """They do not here."""


class Elsewhere3(Planned):
    """Wants all rows of the first array on the last node but for some hundred."""

    moving = 1e-9

    def plan_elsewhere(self, sketch: Sketch) -> Elsewhere | None:
        first, *_, last = self._alive
        where = ((first, 100), (last, sketch.lying[0].rows - 100))
        return Elsewhere(1.0, 0.0, self.moving, ((0, where, 5),))


@pytest.fixture(scope="module")
def pair() -> Iterator[Any]:
    workers, client = client_of(2)
    yield Elsewhere3(client)
    client.close()
    workers.close()


@pytest.fixture
def nodes(pair: Any) -> Any:
    clear_scores()
    clear_sketches()
    pair._relays_again = float("-inf")
    pair.refresh()
    return pair


def made_on(nodes: Any, seed: int = 3) -> tuple[Expr, np.ndarray]:
    """Return rows that lie on the nodes, and their values."""
    values = np.random.default_rng(seed).random((ROWS, COLUMNS))
    made = p.call("negative", p.data(values))
    p.run([made], nodes)
    assert isinstance(made.value, Chunked)
    return made, -values


def read(made: Expr, nodes: Any) -> np.ndarray:
    total = p.total(p.call("multiply", made, 2.0), (0,), keepdims=True)
    centred = p.call("subtract", made, total)
    p.run([centred], nodes)
    found: np.ndarray = centred.value.gather()
    return found


def arrive(nodes: Any) -> None:
    """Wait for what is on its way, and let it lie where it is then."""
    futures = [future for each in nodes._moves._moving for future in each.futures.values()]
    with nodes.client.as_current():
        wait(futures, timeout=60)
    nodes.refresh()


def test_an_array_that_is_read_again_lies_elsewhere_from_then_on(nodes: Any) -> None:
    made, values = made_on(nodes)
    before = made.value.rows_per_node()
    old = [part.data.key for part in made.value.parts]
    expected = values - (values * 2.0).sum(axis=0, keepdims=True)
    assert np.allclose(read(made, nodes), expected)
    assert made.value.rows_per_node() == before  # the first time says nothing
    assert np.allclose(read(made, nodes), expected)
    arrive(nodes)
    first, *_, last = nodes._alive
    assert made.value.rows_per_node() == ((first, 100), (last, ROWS - 100))
    assert np.array_equal(made.value.gather(), values)
    assert np.allclose(read(made, nodes), expected)
    gc.collect()
    held = {key for keys in nodes.client.has_what().values() for key in keys}
    assert not held & set(old)


def test_what_is_not_worth_moving_stays(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Elsewhere3, "moving", 1e9)
    made, _ = made_on(nodes)
    before = made.value.rows_per_node()
    for _ in range(3):
        read(made, nodes)
    assert made.value.rows_per_node() == before


def test_what_is_on_its_way_is_looked_at_where_it_will_lie(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Elsewhere3, "moving", 5.0)
    monkeypatch.setattr(Stay, "is_worth", lambda *_: True)
    monkeypatch.setattr(Moves, "take_in", lambda _: None)  # nobody sees it arrive
    made, _ = made_on(nodes)
    before = made.value.rows_per_node()
    for _ in range(2):
        read(made, nodes)
    first, *_, last = nodes._alive
    coming = SimpleNamespace(status="pending")
    with nodes.arrived([made]) as waiting:
        assert made.value.rows_per_node() == ((first, 100), (last, ROWS - 100))
        assert nodes._moves.is_there(coming)
        nodes.refresh()
        doubled = p.call("multiply", made, 2.0)
        stages = cut(pending_in_order([doubled]), [doubled], Grain(1, 1 << 18, 5))
        (told,) = forecast_on(stages, nodes, {id(doubled)})
    assert told.where
    assert 0.0 < waiting <= 5.0
    assert made.value.rows_per_node() == before
    assert not nodes._moves.is_there(coming)
    other, _ = made_on(nodes, seed=4)
    with nodes.arrived([other]) as waiting:
        assert waiting == 0.0
        assert made.value.rows_per_node() == before
    monkeypatch.undo()
    arrive(nodes)
    assert made.value.rows_per_node() == ((first, 100), (last, ROWS - 100))
    with nodes.arrived([made]) as waiting:
        assert waiting == 0.0


def test_who_reads_what_is_on_its_way_waits_for_it_and_nobody_else(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = made_on(nodes, seed=4)
    made, _ = made_on(nodes)
    for _ in range(2):
        read(made, nodes)
    waited: list[int] = []
    wait_for = Runs.wait_for

    def counted(runs: Runs, futures: Any, alive: frozenset[str]) -> None:
        waited.append(len(futures))
        wait_for(runs, futures, alive)

    monkeypatch.setattr(Runs, "wait_for", counted)
    monkeypatch.setattr(Moves, "take_in", lambda _: None)
    read(other, nodes)
    assert waited == [0]
    monkeypatch.undo()
    monkeypatch.setattr(Runs, "wait_for", counted)
    first, *_, last = nodes._alive
    nodes._refreshed = float("inf")  # nobody looks at what has arrived
    read(made, nodes)
    assert made.value.rows_per_node() == ((first, 100), (last, ROWS - 100))


def test_what_is_on_its_way_is_read_where_it_lies_and_moves_once(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, values = made_on(nodes)
    before = made.value.rows_per_node()
    expected = values - (values * 2.0).sum(axis=0, keepdims=True)
    begun: list[Any] = []
    begin = Moves.begin

    def counted(moves: Moves, array: Any, *where: Any) -> None:
        begun.append(array)
        begin(moves, array, *where)

    monkeypatch.setattr(Moves, "begin", counted)
    monkeypatch.setattr(Moves, "take_in", lambda _: None)  # it takes long
    for _ in range(4):
        assert np.allclose(read(made, nodes), expected)
    assert begun == [made.value]
    assert made.value.rows_per_node() == before
    monkeypatch.undo()
    arrive(nodes)
    assert made.value.rows_per_node() != before
    assert np.array_equal(made.value.gather(), values)


def test_what_nobody_reads_any_more_moves_nowhere(nodes: Any) -> None:
    made, _ = made_on(nodes)
    for _ in range(2):
        read(made, nodes)
    copies = {key for each in nodes._moves._moving for key in each.futures}
    assert copies
    del made
    gc.collect()
    arrive(nodes)
    assert not nodes._moves._moving
    until = time.monotonic() + 20
    while copies & {key for keys in nodes.client.has_what().values() for key in keys}:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_an_error_on_the_way_is_told_and_all_stays(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, values = made_on(nodes)
    read(made, nodes)
    before = made.value.rows_per_node()
    beside = Runs.beside

    def failing(runs: Runs, tasks: Any, stay: list[str]) -> Any:
        for own in tasks.values():
            for key in own:
                if key in stay:
                    own[key] = Task(key, no_room)
        return beside(runs, tasks, stay)

    monkeypatch.setattr(Runs, "beside", failing)
    read(made, nodes)
    with pytest.warns(ClusterWarning, match="stay: no room"):
        arrive(nodes)
    assert made.value.rows_per_node() == before
    assert np.array_equal(made.value.gather(), values)


def no_room() -> None:
    msg = "no room"
    raise MemoryError(msg)


def test_after_a_move_the_program_is_performed_as_before(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = made_on(nodes)
    for _ in range(2):
        read(made, nodes)
    arrive(nodes)
    monkeypatch.setattr(Elsewhere3, "plan_elsewhere", lambda *_: None)
    moved: list[Any] = []
    monkeypatch.setattr(module, "settle", lambda move, _: moved.append(move))
    results = [read(made, nodes) for _ in range(3)]
    assert not moved
    assert all(np.array_equal(results[0], one) for one in results)


@pytest.mark.parametrize("lost", [True, False])
def test_what_cannot_be_moved_stays_and_the_run_has_its_result(
    nodes: Any, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    made, values = made_on(nodes)
    read(made, nodes)
    before = made.value.rows_per_node()

    def fail(*_: Any) -> Any:
        raise NodesLost(frozenset(), 0) if lost else MemoryError("no room")

    monkeypatch.setattr(moving, "copied", fail)
    expected = values - (values * 2.0).sum(axis=0, keepdims=True)
    with nullcontext() if lost else pytest.warns(ClusterWarning, match="stay: no room"):
        assert np.allclose(read(made, nodes), expected)
    assert made.value.rows_per_node() == before
    assert np.array_equal(made.value.gather(), values)


@LOST
def test_rows_that_were_moved_and_lost_are_computed_again(mortal: Any, profiles: Any) -> None:
    client, addresses = mortal.client, list(mortal._alive)
    nodes = Elsewhere3(client)
    nodes.profiles.update({a: profiles[0].named(a) for a in addresses})
    nodes.refresh()
    made, values = made_on(nodes)
    for _ in range(2):
        read(made, nodes)
    arrive(nodes)
    assert dict(made.value.rows_per_node())[list(nodes._alive)[-1]] == ROWS - 100
    kill(nodes, list(nodes._alive)[-1])
    assert np.array_equal(made.value.gather(), values)
