"""Which cluster runs an evaluation: virtual nodes, the user's Dask workers, or none."""

from __future__ import annotations

from sys import modules
from typing import TYPE_CHECKING

from dnumpy.config import config
from dnumpy.expr.expr import Expr
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.cut import FusedStage
from dnumpy.runtime.at_home import limited_home
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import current_client, dask_cluster
from dnumpy.runtime.virtual import VirtualCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnumpy.rewrite.cut import Stage
    from dnumpy.runtime.cluster import Cluster

LEAST_BYTES = 16 << 20  # a pass over less takes no longer than the messages that would spread it

_virtual: dict[tuple[float, ...], VirtualCluster] = {}


def cluster_for(stages: Sequence[Stage]) -> Cluster | None:
    """Return where to run the stages; None for the threads of this process.

    In the ``split`` mode everything runs on virtual nodes. Otherwise the user's
    ``distributed.Client``, where there is one, gets what is worth sending, and all that reads what
    already lies on its workers. What is more than half of ``config.memory_limit`` passes in blocks.
    """
    if config.mode == "split":
        return _virtual.setdefault(config.split_rows, VirtualCluster(config.split_rows))
    for value in _stored(stages):
        if type(value) is Chunked:
            return value.home
    nbytes = sum(map(_bytes, stages)) if config.memory_limit or "distributed" in modules else 0
    if config.cluster != "off" and "distributed" in modules and nbytes >= LEAST_BYTES:
        client = current_client()
        if client is not None:
            return dask_cluster(client)
    return limited_home(nbytes, _stored(stages)) if config.memory_limit else None


def _bytes(stage: Stage) -> int:
    if isinstance(stage, FusedStage):
        return stage.phase.extent_bytes()
    return stage.expr.nbytes + sum(arg.nbytes for arg in stage.expr.operands())


def _stored(stages: Iterable[Stage]) -> list[object]:
    """Return the stored values that the stages read, through views."""
    found: list[object] = []
    for stage in stages:
        args = stage.inputs if isinstance(stage, FusedStage) else stage.expr.args
        for arg in args:
            if type(arg) is not Expr:
                continue
            expr = arg
            while expr.value is None and expr.op is VIEW:
                expr = expr.args[0]  # type: ignore[assignment]
            if expr.value is not None:
                found.append(expr.value)
    return found
