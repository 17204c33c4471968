"""What a worker process is told once, when dnumpy first uses it."""

from __future__ import annotations

import logging
import os
import socket
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

from dnumpy.runtime import gpus, machine, on_worker, pace, peaks
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Made
from dnumpy.runtime.relay import open_station

if TYPE_CHECKING:
    from dnumpy.runtime.told import Teller

TASKS = ("glue", "replicas")  # modules of tasks, which the first that needs one imported otherwise
OUR_KEYS = "dnp"  # how the keys of tasks begin
KEPT_SHARE = 0.6  # of a worker's limit, up to which it keeps memory for reuse
ALWAYS_KEPT_SHARE = 1 / 16  # of a worker's limit, of memory that it keeps for arrays of other sizes


def free_bytes_of(worker: Any) -> float:
    """Return the bytes that new arrays may take on the worker now.

    The compilers will take some of what is free, once they are imported.
    """
    device = on_worker.device()
    if device is not None:  # where its results stay
        return float(device.free_bytes())
    free = machine.free_bytes(worker.memory_manager.memory_limit)
    return free if "numba" in sys.modules else max(free - machine.COMPILERS_BYTES, 0.0)


def free_now(dask_worker: Any, *, trim: bool) -> float:
    """Return the bytes that new arrays may take, once what dead ones left is given back if asked.

    Arrays take fresh memory more slowly, which is only worth it where memory is scarce.
    """
    if trim:
        pool.trim()
    return free_bytes_of(dask_worker)


def receive_aligned() -> None:
    """Let arrays that this process receives lie aligned in memory, as compiled kernels need them.

    In a message they lie behind headers of any length.
    """
    import numpy as np
    from distributed.protocol.serialize import dask_deserialize

    received = dask_deserialize.dispatch(np.ndarray)

    def aligned(header: Any, frames: Any) -> Any:
        array = received(header, frames)
        return array if array.flags.aligned else array.copy()

    dask_deserialize.register(np.ndarray)(aligned)


def count_once() -> None:
    """Let what a task made count once in the worker's memory.

    Of several row outputs each is the result of a task of its own (:meth:`Graph.row_segments`): the
    worker would count them twice, and begin to write to disk what there is room for, of which it
    would later read a second copy.
    """
    from dask.sizeof import sizeof

    @sizeof.register(Made)
    def bytes_of(made: Made) -> int:
        rows = made.rows if len(made.rows) == 1 else ()
        return int(sizeof(rows) + sizeof(made.partials))


def is_told_nowhere_else(record: logging.LogRecord) -> bool:
    """Say whether a worker's log has to tell this.

    An error of a task of ours is raised at the user's line, where it may be expected and caught (a
    singular matrix), or is met by computing it elsewhere; the log told of both.
    """
    failed = isinstance(record.msg, str) and record.msg.startswith("Compute Failed")
    key = record.args[0] if isinstance(record.args, tuple) and record.args else ""
    return not (failed and str(key).startswith(OUR_KEYS))


class NodeSetup(WorkerPlugin):
    """The worker's heartbeats say how much memory is free, within all limits that it runs under.

    Its tasks say how much memory they took. Arrays that it receives lie aligned in memory. It takes
    part in relays. Errors that are raised at the user's line are not in its log too.

    BLAS in a worker uses one thread: the worker's own threads are the parallelism.

    A worker that lives in the client's process is left alone, as its BLAS is the user's too.
    """

    name = "dnumpy-node-setup"
    idempotent = True

    def __init__(self) -> None:
        self.client = (socket.gethostname(), os.getpid())
        self._limits: Any = None
        self._teller: Teller | None = None

    def setup(self, worker: Any) -> None:
        """Limit BLAS for the life of this process; report free memory, and what tasks take."""
        worker.metrics[machine.FREE_METRIC] = free_bytes_of
        self._teller = open_station(worker).teller
        count_once()
        logging.getLogger("distributed.worker").addFilter(is_told_nowhere_else)
        if (socket.gethostname(), os.getpid()) != self.client:
            from threadpoolctl import threadpool_limits

            self._limits = threadpool_limits(1, user_api="blas")
            on_worker.set_up(gpus.device_of_worker())
            receive_aligned()
            peaks.watch.start()
            pace.here.threads = worker.state.nthreads
            for name in TASKS:
                import_module(f"dnumpy.runtime.{name}")
            if limit := worker.memory_manager.memory_limit:
                target = worker.memory_manager.memory_target_fraction or KEPT_SHARE
                pool.most_resident = min(target, KEPT_SHARE) * limit
                pool.always_kept = int(ALWAYS_KEPT_SHARE * limit)

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # noqa: ARG002
        """Let what a leg tells go along with the word that its task has ended."""
        if self._teller is not None:
            self._teller.task_is(key, finish)
