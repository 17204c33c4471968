"""A relay that is run again on other values is not laid out again, and gives the same bits."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.ops.applied import EACH, ElementParams
from dnumpy.plan.model import Plan
from dnumpy.runtime import cluster as module
from dnumpy.runtime import relayed
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.jointly import Joint
from dnumpy.runtime.layout import Layout
from dnumpy.runtime.scores import clear_scores
from dnumpy.runtime.sealed import Sealed
from tests.runtime import programs as p
from tests.runtime.test_cluster import PROGRAMS
from tests.runtime.test_cluster_distributed import (
    LOST,
    Uneven,
    client_of,
    kill,
    mortal,
    profiles,
    shared,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.sketch import Sketch

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
__all__ = ["mortal", "profiles", "shared"]  # fixtures


class Planned(Uneven):
    """All stages of a run are planned at once, by given speeds."""

    joint = True

    def plan_run(self, sketch: Sketch) -> Joint:
        plans = []
        for demand in sketch.demands:
            rows = demand.work.rows
            if demand.alone:
                here = ((self.fastest(), rows),)
                plans.append(Plan(demand.what, here, 0.0, (0.0,), (0.0,), "single"))
            else:
                plans.append(self.plan(demand.what, demand.work, demand.granule, None, 0.0))
        return Joint(tuple(plans), 0.0, (0.0,) * len(self._alive), "given")


@pytest.fixture(scope="module")
def pair() -> Iterator[Any]:
    cluster, client = client_of(2)
    yield Planned(client)
    client.close()
    cluster.close()


@pytest.fixture
def nodes(pair: Any) -> Any:
    pair._relays_again = float("-inf")
    pair.refresh()
    return pair


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(relayed, "LONGEST_STEP", float("inf"))  # given speeds are no seconds
    clear_scores()


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The records of all runs by a score from now on."""
    seen: list[Any] = []
    perform = module.perform

    def noted(*args: Any) -> Any:
        seen.append(perform(*args))
        return seen[-1]

    monkeypatch.setattr(module, "perform", noted)
    return seen


def rows_of(seed: int, rows: int = 60, columns: int = 4) -> Expr:
    return p.data(np.random.default_rng(seed).random((rows, columns)))


def on_nodes(seed: int, nodes: Any) -> Expr:
    """Return rows that lie on the nodes."""
    made = p.call("negative", rows_of(seed, 600, 40))
    p.run([made], nodes)
    assert isinstance(made.value, Chunked)
    return made


def descent(seed: int, features: Expr, steps: int = 3, rate: float = 0.5) -> list[Expr]:
    """Steps of which each reads all rows and what the one before made of them."""
    weights: Expr = p.data(np.random.default_rng(seed).random((1, features.shape[1])))
    for _ in range(steps):
        slope = p.total(p.call("multiply", features, weights), (0,), keepdims=True)
        weights = p.call("subtract", weights, p.call("multiply", slope, rate))
    return [weights]


def sweeps(plate: Expr, steps: int = 3) -> list[Expr]:
    """Sweeps of a plate, which stays on the nodes."""
    for _ in range(steps):
        up = p.view(plate, lambda x: x[:-2, 1:-1])
        down = p.view(plate, lambda x: x[2:, 1:-1])
        mean = p.call("multiply", p.call("add", up, down), 0.5)
        plate = p.update(plate, lambda x: x[1:-1, 1:-1], mean)
    return [plate]


def bits(roots: list[Expr]) -> list[bytes]:
    return [value.tobytes() for value in p.values(roots)]


def by_tasks(roots: list[Expr], nodes: Any) -> list[bytes]:
    """Return the bits that the same gives without any relay."""
    nodes._relays_again = float("inf")
    p.run(roots, nodes)
    nodes._relays_again = float("-inf")
    return bits(roots)


@pytest.mark.parametrize("home_bytes", [0, 1 << 16])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_gives_again_what_its_tasks_give(
    nodes: Any, program: Any, home_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DaskCluster, "home_bytes", home_bytes)
    for _ in range(3):
        roots = program()
        p.run(roots, nodes)
        again = bits(roots)
    assert again == by_tasks(program(), nodes)


def test_a_loop_on_other_values_is_performed_by_the_score(nodes: Any, performed: list[Any]) -> None:
    lying = [on_nodes(seed, nodes) for seed in range(3)]
    for seed, made in enumerate(lying):
        roots = descent(seed, made)
        p.run(roots, nodes)
        assert len(performed) == seed
        assert bits(roots) == by_tasks(descent(seed, made), nodes)


def test_arrays_at_home_may_be_others(
    nodes: Any, performed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)  # or it would be done at home
    for seed in range(3):
        roots = descent(seed, rows_of(seed + 7))
        p.run(roots, nodes)
        assert len(performed) == seed
        assert bits(roots) == by_tasks(descent(seed, rows_of(seed + 7)), nodes)


def test_what_is_done_at_home_reads_the_arrays_of_now(nodes: Any, performed: list[Any]) -> None:
    made = on_nodes(0, nodes)

    def ended(seed: int) -> list[Expr]:
        return [p.call("subtract", rows_of(seed, 1, 40), descent(seed, made)[0])]

    for seed in range(3):
        roots = ended(seed)
        p.run(roots, nodes)
        assert len(performed) == seed
        assert bits(roots) == by_tasks(ended(seed), nodes)


def test_what_stays_on_the_nodes_is_performed_too(nodes: Any, performed: list[Any]) -> None:
    plates = [on_nodes(seed, nodes) for seed in range(3)]
    for seed, plate in enumerate(plates):
        roots = sweeps(plate)
        p.run(roots, nodes)
        assert len(performed) == seed
        assert isinstance(roots[0].value, Chunked)
        assert bits(roots) == by_tasks(sweeps(plate), nodes)


def test_a_score_records_the_stages_as_a_layout_does(nodes: Any, performed: list[Any]) -> None:
    plate = on_nodes(0, nodes)
    laid_out = p.run(sweeps(plate), nodes)
    again = p.run(sweeps(plate), nodes)
    assert performed
    for one, other in zip(laid_out, again, strict=True):
        assert (one.what, one.where, one.nbytes) == (other.what, other.where, other.nbytes)
        assert one.phase == other.phase
        assert one.predicted_peak_bytes == other.predicted_peak_bytes
        assert len(one.node_seconds) == len(other.node_seconds)


def test_nothing_is_laid_out_where_all_comes_home(
    nodes: Any, performed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = on_nodes(0, nodes)
    p.run(descent(0, made), nodes)

    def refuse(*_: Any) -> Any:
        pytest.fail("a stage was laid out again")

    monkeypatch.setattr(Layout, "fused", refuse)
    p.run(descent(1, made), nodes)
    assert len(performed) == 1


@pytest.mark.parametrize(("one", "other"), [(0.5, 0.25), (0.0, -0.0), (1, 1.0)])
def test_another_constant_is_another_run(
    nodes: Any, performed: list[Any], one: float, other: float
) -> None:
    made = on_nodes(0, nodes)
    for rate in (one, other):
        roots = descent(0, made, rate=rate)
        p.run(roots, nodes)
        assert bits(roots) == by_tasks(descent(0, made, rate=rate), nodes)
    assert not performed


def test_what_calls_a_function_of_the_users_is_sent_anew(nodes: Any, performed: list[Any]) -> None:
    scale = 1.0

    def scaled(x: float) -> float:
        return scale * x

    x = on_nodes(0, nodes)

    def program() -> list[Expr]:
        params = ElementParams((True,), scaled, np.dtype(float))
        each = make(EACH, (x,), params, x.shape, x.dtype)
        return descent(0, each)

    p.run(program(), nodes)
    scale = 2.0
    roots = program()
    p.run(roots, nodes)
    assert not performed
    assert bits(roots) == by_tasks(program(), nodes)


def test_scores_refer_to_no_array(nodes: Any, performed: list[Any]) -> None:
    features = on_nodes(0, nodes)
    for seed in range(2):
        p.run(descent(seed, features), nodes)
    assert performed
    held = weakref.ref(features.value)
    del features
    gc.collect()
    assert held() is None


@LOST
def test_rows_that_a_score_made_are_computed_again_when_they_are_lost(
    mortal: Any,
    performed: list[Any],
) -> None:
    cluster = Planned(mortal.client, mortal.profiles)
    plate = on_nodes(0, cluster)
    p.run(sweeps(plate), cluster)
    roots = sweeps(plate)
    p.run(roots, cluster)
    assert performed
    expected = p.meaning(sweeps(plate))
    kill(cluster, roots[0].value.parts[0].node)
    np.testing.assert_array_equal(p.values(roots)[0], expected[0])


def test_what_is_sealed_is_opened_once() -> None:
    content = {"a": (1, 2.0)}
    sealed, same = Sealed.of(content), Sealed.of(dict(content))
    assert sealed == same
    assert sealed.opened() == content
    assert sealed.opened() is same.opened()
    assert Sealed.of({"a": (1, 2)}).opened() is not sealed.opened()
