"""Whether a long line is in order sooner on one node than on all of them.

A sample sort takes two runs, of which the first waits for a little answer, and sends nearly every
element once. One node takes one run, and needs all that the others hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import config
from dnumpy.cost.estimate import seconds
from dnumpy.ops.sorting import MERGE
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.plan.work import op_work
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.find import LONGEST_TRIP
from dnumpy.runtime.jointly import ROOMY
from dnumpy.runtime.measured import WIRE, MeasuredNodes
from dnumpy.runtime.settling import FUTURE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.cost import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.ops.families import Sorting

ANSWERS = 3  # that a sample sort waits for beforehand: of tasks, and of two folds in turn
DOUBLE = np.dtype(np.float64)  # loops count elements, whatever these are


def sorts_sooner_alone(
    cluster: MeasuredNodes, keys: Sequence[Expr], op: Sorting, dtype: np.dtype, block: int
) -> bool:
    """Say whether ``op`` gives the keys' elements in order sooner as one block than in many.

    What it makes of them has this dtype, and the many blocks have so many rows.
    """
    rows = keys[0].shape[0]
    nodes = cluster.nodes()
    if len(nodes) < 2:
        return bool(nodes)
    whole = op_work(op, (rows,), dtype, [(key.shape, key.dtype) for key in keys])
    trip = min(cluster.round_trip, LONGEST_TRIP)
    held, part = _held(cluster, keys), _part_of_moving(keys)
    needed = rows * whole.bytes_read + 2 * rows * whole.bytes_written
    alone = []
    for node in nodes:
        room = MEMORY_SHARE * cluster.profiles[node].free_bytes
        if needed <= room:
            arrives = arriving(cluster, node, held) * (part if needed <= ROOMY * room else 1.0)
            alone.append(arrives + _busy(cluster, node, whole, rows))
    shared = _shared_seconds(cluster, held, op, whole, block) + ANSWERS * trip
    return min(alone, default=float("inf")) < shared


def _part_of_moving(keys: Sequence[Expr]) -> float:
    """Return what part of bringing all to one node counts: it will be there for runs to come.

    What is read again and again comes to lie where it is read (:mod:`dnumpy.runtime.settling`), and
    so often is expected to be read yet.
    """
    values = [key.value for key in keys if isinstance(key.value, Chunked)]
    stay = max(values, key=lambda value: value.nbytes).stay if values else None
    if stay is None or len(values) < len(keys) or config.objective != "latency":
        return 1.0
    return 1.0 / (1.0 + FUTURE ** (1 - stay.moves))


def _shared_seconds(
    cluster: MeasuredNodes, held: Mapping[str, float], op: Sorting, whole: Work, block: int
) -> float:
    """Return what sorting blocks, exchanging buckets and merging them takes."""
    short = (min(block, whole.rows),)
    sorting = replace(whole, loops=op_work(op, short, DOUBLE, [(short, DOUBLE)]).loops)
    merging = replace(whole, loops=op_work(MERGE, short, DOUBLE, [(short, DOUBLE)]).loops)
    found = []
    for node, rows in _shares(cluster, whole.rows, block).items():
        part = rows / whole.rows
        each = rows / min(cluster.threads(node), max(1, rows // block))
        busy = sum(_busy(cluster, node, work, each) for work in (sorting, merging))
        found.append(busy + arriving(cluster, node, {o: part * n for o, n in held.items()}))
    return max(found)


def arriving(cluster: MeasuredNodes, node: str, held: Mapping[str, float]) -> float:
    """Return the seconds in which a node gets what the others hold; all of them send at once."""
    times, rates = [0.0], []
    for other, size in held.items():
        if other != node and size:
            known = bool(cluster.links.links)
            rates.append(cluster.links.bytes_per_second(other, node) if known else WIRE)
            times.append(size / rates[-1])
    total = sum(size for other, size in held.items() if other != node)
    return max(*times, total / max(rates, default=float("inf")))


def _busy(cluster: MeasuredNodes, node: str, work: Work, rows: float) -> float:
    factor = cluster.correction.node_factor(node)
    return factor * seconds(work, cluster.profiles[node], rows)


def _held(cluster: MeasuredNodes, keys: Sequence[Expr]) -> dict[str, float]:
    """Return the bytes of the keys on each node; what is not made yet will be, by all."""
    held: dict[str, float] = {}
    for key in keys:
        rows = key.shape[0]
        if isinstance(key.value, Chunked):
            lies = dict(key.value.rows_per_node())
        else:
            lies = _shares(cluster, rows, 1)
        for node, count in lies.items():
            held[node] = held.get(node, 0.0) + count * key.nbytes / rows
    return held


def _shares(cluster: MeasuredNodes, rows: int, granule: int) -> dict[str, int]:
    """Return the rows of each node, in proportion to the rates."""
    shares: dict[str, int] = {}
    for r in cluster.spread(0, rows, granule):
        shares[r.node] = shares.get(r.node, 0) + r.hi - r.lo
    return shares
