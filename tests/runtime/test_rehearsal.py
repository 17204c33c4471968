"""What a plan says that nodes hold is about what the graph says that is laid out by it.

Virtual nodes stand in for workers, and arrays lie on them that nobody made: nothing is computed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy import engine
from dnumpy.api.array import from_expr
from dnumpy.config import config
from dnumpy.cost.links import Links
from dnumpy.expr.expr import leaf
from dnumpy.plan import joint
from dnumpy.rewrite.cached import cut_again
from dnumpy.runtime.chunked import Chunked, Part, Source
from dnumpy.runtime.cluster import run_of, sketched
from dnumpy.runtime.jointly import Place, Rating, plan_together
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.rehearsal import needs_of
from dnumpy.runtime.tasks import RowJob
from dnumpy.runtime.virtual import VirtualCluster
from tests.plan.test_rates import PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.sketch import Sketch

LEAST, MOST = 0.85, 1.3
MOST_WHOLE = 1.45  # where operands are read whole
LARGE = 256 << 20  # bytes, beside which what tasks take besides their arrays is little
ROWS, WIDTH = 20_000_000, 8
SIDE = 9_000
FREE = 64e9


class Fabricated(VirtualCluster):
    """Nodes of given speeds that nothing runs on."""

    home_bytes = 1 << 16
    embed_bytes = 1e5
    remote = True

    def mirrored(self, owner: Any) -> bool:  # noqa: ARG002 - nothing is anywhere
        return False

    def plan_run(self, sketch: Sketch) -> Joint:
        places = [
            Place(
                replace(
                    PROFILE,
                    name=name,
                    speed=speed,
                    free_bytes=FREE,
                    network_bytes_per_second=1e9,
                ),
                "cpu",
            )
            for name, speed in self.speeds.items()
        ]
        even = Rating("tiled", (1.0,) * len(places))
        return plan_together(sketch, places, Links(SIZES), [even] * len(sketch.demands))


@pytest.fixture(autouse=True)
def lazy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = config.mode, config.eager_below, config.memory_limit
    config.mode, config.eager_below, config.memory_limit = "lazy", 0, int(FREE)
    joint.clear_program_cache()
    for name, module in sys.modules.items():  # a busy machine would end plans before they are good
        if name.startswith("dnumpy.plan.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", time.process_time)
    yield
    config.mode, config.eager_below, config.memory_limit = kept


def lying(nodes: Fabricated, shape: tuple[int, ...], shares: tuple[float, ...]) -> Any:
    """Return an array whose rows lie on the nodes in these shares."""
    dtype = np.dtype(float)
    source = Source(shape, dtype)
    stops = [round(s / sum(shares) * shape[0]) for s in np.cumsum((0.0, *shares))]
    parts = tuple(
        Part(name, a, b, object())
        for name, a, b in zip(nodes.speeds, stops, stops[1:], strict=False)
        if a < b
    )
    return from_expr(leaf(Chunked(shape, dtype, parts, source, nodes), shape, dtype))


def stages_of(result: Any) -> tuple[list[Any], set[int]]:
    roots = [result._buf.expr]
    return cut_again(engine.pending_in_order(roots), roots, engine.grain()), set(map(id, roots))


def both(nodes: Fabricated, result: Any) -> list[tuple[float, float]]:
    """Return for each node what the plan says that it needs, and what the graph does."""
    stages, wanted = stages_of(result)
    joint = nodes.plan_run(sketched(stages, nodes, wanted))
    needs = needs_of(stages, nodes, wanted, joint.plans)
    return [(p, needs.get(n, 0.0)) for n, p in zip(nodes.speeds, joint.peak_bytes, strict=True)]


STEPS: list[Any] = [
    lambda x: x[1:] + x[:-1],
    lambda x: x * 2 + x / 3,
    lambda x: x[:, ::-1] + x,
    lambda x: x / x.sum(axis=1, keepdims=True),
    lambda x: x - x.mean(axis=0),
    lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    lambda x: dnp.cumsum(x, axis=0),
    lambda x: dnp.sort(x, axis=1),
    lambda x: x @ dnp.asarray(np.ones((WIDTH, WIDTH))),
    lambda x: dnp.concatenate([x, x * 2], axis=1)[:, :WIDTH],
    lambda x: dnp.fft.fft(x, axis=1).real,
]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=3),
    st.sampled_from([(1.0, 0.4), (1.0, 1.0), (3.0, 1.0, 2.0)]),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=3, max_size=3).filter(
        lambda x: any(x[:2])
    ),
)
@example([1], (1.0, 0.4), [1.0, 1.0, 0.0])
@example([5], (1.0, 0.4), [1.0, 1.0, 0.0])
@example([0], (1.0, 0.4), [1.0, 0.4, 0.0])
@example([6, 9], (1.0, 0.4), [1.0, 1.0, 0.0])  # a running sum, and what reads it row by row
def test_a_plan_counts_about_what_its_graph_needs(
    steps: list[int], speeds: tuple[float, ...], shares: list[float]
) -> None:
    nodes = Fabricated(speeds)
    result = lying(nodes, (ROWS, WIDTH), tuple(shares[: len(speeds)]))
    for step in steps:
        result = STEPS[step](result)
    for planned, needed in both(nodes, result * 1.0):
        if max(planned, needed) > LARGE:
            assert LEAST <= planned / needed <= MOST, (planned, needed)


WHOLE: dict[str, Any] = {
    "product": lambda x: x @ x,
    "product by a part of it": lambda x: (x @ x)[:, :200] @ x[:200, :900],
    "transpose": lambda x: x + x.T,
    "transformed rows": lambda x: dnp.fft.fft(x, axis=1),
    "sum of products": lambda x: x.T @ x,
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("shares", [(1.0, 1.0), (1.0, 0.4)])
def test_what_is_put_together_to_be_read_is_planned(name: str, shares: tuple[float, ...]) -> None:
    nodes = Fabricated((1.0, 0.4))
    for planned, needed in both(nodes, WHOLE[name](lying(nodes, (SIDE, SIDE), shares))):
        assert LEAST <= planned / needed <= MOST_WHOLE, (planned, needed)


def test_what_is_read_whole_does_not_keep_tiles_from_being_run_together() -> None:
    nodes = Fabricated((1.0, 0.4))
    rows, weights = lying(nodes, (ROWS, WIDTH), (1.0, 0.4)), lying(nodes, (WIDTH,), (1.0, 1.0))
    stages, wanted = stages_of(rows * weights)
    plans = nodes.plan_run(sketched(stages, nodes, wanted)).plans
    graph = run_of(stages, nodes, wanted, plans).graph
    jobs = [arg for key in graph.added for arg in graph.task(key).args if type(arg) is RowJob]
    assert len(jobs) == 2
    assert all(len(job.runs) <= 2 for job in jobs)
