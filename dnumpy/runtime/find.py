"""Which cluster runs an evaluation: virtual nodes, the user's Dask workers, or none.

What runs on clusters is imported when there is one: programs of one machine start sooner.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import config
from dnumpy.errors import ClusterWarning
from dnumpy.expr.expr import Expr
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import gpus
from dnumpy.runtime.chunked import Chunked, read
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distributed import Client

    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.dask_cluster import DaskCluster
    from dnumpy.runtime.devices import Devices
    from dnumpy.runtime.virtual import VirtualCluster

LEAST_BYTES = 16 << 20  # a pass over less takes no longer than the messages that would spread it
SURELY = 4  # times as much is sent whatever it takes
LONGEST_TRIP = 0.02  # seconds: runs that waited for busy workers teach longer ones

_virtual: dict[tuple[float, ...], VirtualCluster] = {}


def cluster_for(
    stages: Sequence[Stage], looked_at: int = 0, *, counts: bool = True
) -> Cluster | None:
    """Return where to run the stages; None for the threads of this process.

    So many bytes of what they give are to be ``looked_at`` here. They are about to be run where
    that ``counts`` (:mod:`dnumpy.runtime.sending`).

    In the ``split`` mode everything runs on virtual nodes. Otherwise the user's
    ``distributed.Client``, where there is one, gets what is worth sending, and what reads what
    already lies on its workers until it is worth bringing that home. What takes one thread less
    than a message there and back is not, and neither is what takes less than sending what it reads.
    What is more than half of ``config.memory_limit`` passes in blocks.
    """
    if config.mode == "split":
        return _virtual.get(config.split_rows) or _virtual_nodes(config.split_rows)
    limited = config.memory_limit > 0
    stored = _stored(stages)
    for value in stored:
        if type(value) is np.ndarray:
            continue
        if type(value) is Chunked:
            if value.home.gone:
                _bring_what_is_lost(stages)
                return cluster_for(stages, looked_at, counts=counts)
            if counts and not limited and _comes_home(stages, value.home):
                return cluster_for(stages, looked_at)
            return value.home
        limited = limited or isinstance(value, StoredRows)
    asks = limited or "distributed" in sys.modules or gpus.might_be()
    nbytes = sum(map(_bytes, stages)) if asks else 0
    theirs = users_cluster() if nbytes >= LEAST_BYTES else None
    if theirs is not None and not _is_worth_it(stages, theirs, nbytes, looked_at, counts=counts):
        theirs = None
    if theirs is None and nbytes >= LEAST_BYTES and not limited:
        return _devices_for(stages, looked_at, counts=counts)
    if theirs is not None or not limited:
        return theirs
    from dnumpy.runtime.at_home import limited_home

    return limited_home(nbytes, stored)


def has_threads_alone() -> bool:
    """Say whether what reads arrays in memory here can be for this process's threads alone."""
    if config.mode != "default" or config.memory_limit or gpus.might_be():
        return False
    return "distributed" not in sys.modules


def is_only_here(nbytes: int) -> bool:
    """Say whether work on so many bytes can only be for this process's threads, all at once."""
    if config.mode != "default" or config.memory_limit:
        return False
    if nbytes < LEAST_BYTES:
        return True
    has_client = config.cluster != "off" and current_client() is not None
    return not has_client and not gpus.might_be()


def _is_worth_it(
    stages: Sequence[Stage], cluster: DaskCluster, nbytes: int, looked_at: int, *, counts: bool
) -> bool:
    """Say whether stages on data that is here take longer than asking for it and sending that."""
    from dnumpy.runtime import sending
    from dnumpy.runtime.forecast import work_of

    trip = min(cluster.round_trip, LONGEST_TRIP)
    if nbytes < SURELY * LEAST_BYTES and cluster.seconds_alone(map(work_of, stages)) <= trip:
        return False
    return sending.pays(stages, cluster, trip + cluster.sending_seconds(looked_at), counts=counts)


def home_of(expr: Expr) -> Cluster | None:
    """Return the cluster on whose nodes a value lies; None where it is here, or is none yet.

    What lay on workers of a cluster that is gone is computed again, and lies here from then on.
    """
    if type(expr.value) is not Chunked:
        return None
    home: Cluster = expr.value.home
    if not home.gone:
        return home
    read(expr)
    return None


def _bring_what_is_lost(stages: Sequence[Stage]) -> None:
    """Compute again here what the stages read on workers of clusters that are gone."""
    from dnumpy.runtime.returning import owners

    for owner in owners(stages):
        home_of(owner)


def _comes_home(stages: Sequence[Stage], cluster: Cluster) -> bool:
    """Bring home what the stages read on the user's workers, if that pays; say whether it did."""
    theirs = users_cluster()
    if theirs is None or theirs is not cluster:
        return False
    from dnumpy.runtime.returning import bring_home

    return bring_home(stages, theirs, min(theirs.round_trip, LONGEST_TRIP))


def bringing_seconds(stages: Sequence[Stage]) -> float | None:
    """Return what bringing home first what the stages read would take; None if they would not."""
    if config.mode != "default" or config.memory_limit > 0:
        return None
    elsewhere = (value for value in _stored(stages) if type(value) is not np.ndarray)
    first = next(elsewhere, None)
    if not isinstance(first, Chunked):
        return None
    theirs = users_cluster()
    if theirs is None or first.home is not theirs or theirs.gone:
        return None
    from dnumpy.runtime.returning import bringing_seconds as seconds_of

    return seconds_of(stages, theirs, min(theirs.round_trip, LONGEST_TRIP))


def _devices_for(stages: Sequence[Stage], looked_at: int, *, counts: bool) -> Devices | None:
    """Return this machine's devices, if a GPU among them is worth sending it what is read."""
    if not gpus.might_be():
        return None
    from dnumpy.runtime import sending

    known = gpus.known_or_unmeasured()
    if not sending.pays(stages, known, known.sending_seconds(looked_at), counts=counts):
        return None
    return gpus.devices_here() if counts or not isinstance(known, gpus.Unmeasured) else None


def _virtual_nodes(rows: tuple[float, ...]) -> VirtualCluster:
    from dnumpy.runtime.virtual import VirtualCluster

    return _virtual.setdefault(rows, VirtualCluster(rows))


def users_cluster() -> DaskCluster | None:
    """Return the workers of the user's client; None where there is none or `cluster` is off."""
    client = current_client() if config.cluster != "off" else None
    if client is None:
        return None
    from dnumpy.runtime.dask_cluster import dask_cluster

    return dask_cluster(client)


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


def current_client() -> Client | None:
    """Return the user's client, or None; distributed is not imported for the question.

    Inside a task of a worker there is none: waiting there for other tasks would block the worker.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    if client.status != "running":
        return None
    if client.asynchronous:
        _tell_asynchronous()
        return None
    return client


@cache
def _tell_asynchronous() -> None:
    """Say once that nobody waits for an asynchronous client's workers: that would stop its loop."""
    text = (
        "the current client is asynchronous: arrays are computed in this process; "
        "a Client without asynchronous=True, used in a thread of its own (asyncio.to_thread), "
        "lets its workers compute them"
    )
    warnings.warn(text, ClusterWarning, stacklevel=2)
