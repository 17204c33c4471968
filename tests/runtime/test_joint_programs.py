"""Random programs whose stages are planned together give NumPy's results after every line.

Virtual nodes stand in for workers that arrays at home have to be sent to; what is small is glued to
what it waits for, or computed here.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dnumpy import engine
from dnumpy.config import config
from dnumpy.cost.links import Links
from dnumpy.runtime.jointly import Place, Rating, plan_together
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.virtual import VirtualCluster
from tests.plan.test_rates import PROFILE
from tests.programs import check
from tests.writer import Writer

if TYPE_CHECKING:
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.sketch import Sketch

FIRST, BLOCK, BLOCKS = 9_980_000, 25, 6
SPEEDS = (3.0, 1.0, 2.0)
QUICK = replace(
    PROFILE,
    launch_seconds=1e-7,
    network_latency_seconds=1e-7,
    network_bytes_per_second=1e11,
)


class Planned(VirtualCluster):
    """Virtual nodes whose runs are planned together."""

    home_bytes = 200
    embed_bytes = 64.0
    remote = True
    predicts = True

    def __init__(self) -> None:
        super().__init__(SPEEDS)
        self.planned = 0

    def mirrored(self, owner: Any) -> bool:  # noqa: ARG002 - nothing is anywhere
        return False

    def plan_run(self, sketch: Sketch) -> Joint | None:
        if not sketch.demands:
            return None
        self.planned += 1
        places = [
            Place(replace(QUICK, name=f"node-{k}", speed=speed), "cpu")
            for k, speed in enumerate(SPEEDS)
        ]
        ratings = [Rating("tiled", (1.0,) * len(SPEEDS))] * len(sketch.demands)
        return plan_together(sketch, places, Links(SIZES), ratings)


@pytest.fixture(scope="module")
def nodes() -> Planned:
    return Planned()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_random_program_planned_as_a_whole_equals_numpy_after_every_line(
    block: int, nodes: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(engine, "cluster_for", lambda *_, **__: nodes)
    first, before = FIRST + block * BLOCK, nodes.planned
    for seed in range(first, first + BLOCK):
        check(Writer(random.Random(seed)).program())
    assert nodes.planned > before + BLOCK
