"""At home within a limit: stages whose data is larger than ``config.memory_limit`` pass in blocks.

They run as on nodes, which here are threads of this process: arrays in files are read block by
block, and what tiles leave behind is folded before the next block is read. A result that cannot be
held is refused before it is computed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dnumpy.config import config, memory_limit_bytes, thread_count
from dnumpy.cost.estimate import seconds as cost_seconds
from dnumpy.errors import PlanInfeasible
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.runtime.files import BLOCK_BYTES, stored_rows
from dnumpy.runtime.memory import pool
from dnumpy.runtime.stored import StoredRows
from dnumpy.runtime.virtual import VirtualCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dnumpy.cost.work import Work
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.demands import Placement
    from dnumpy.runtime.stored import Identified

HERE = "this process"
BLOCKS = 8  # of what is read from files, that a thread's work may take at a time
COPIES = 2  # of a result: its parts, and the array that they are put together to


class LimitedHome(VirtualCluster):
    """Threads of this process that together keep to a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        several = min(thread_count(), limit_bytes // (BLOCKS * BLOCK_BYTES))
        super().__init__((1.0,) * max(several, 1))

    def at_a_time(self) -> int:
        """Return one for each node: the tasks of a node take what it may hold."""
        return len(self.speeds)

    def see(self, identity: Identified) -> bool:  # noqa: ARG002 - it was found from here
        """Return True: blocks of the file are read, where its map would stay in memory."""
        return True

    def room(self) -> float:
        """Return what is left of the limit."""
        return max(0.0, float(self.limit_bytes - pool.live))

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,
        transfer_bytes_per_row: float,
        transfer_fixed_bytes: float = 0.0,
        resting_bytes_per_row: float = 0.0,  # noqa: ARG002 - nothing lies elsewhere
    ) -> Plan:
        """Return equal shares of the rows.

        Raises
        ------
        dnumpy.errors.PlanInfeasible
            Where the result does not fit beside what is held.
        """
        if COPIES * work.rows * work.bytes_written > self.room():
            raise _refused(name, work, granule, self.limit_bytes)
        return super().plan(
            name, work, granule, current, transfer_bytes_per_row, transfer_fixed_bytes
        )


_homes: dict[tuple[int, int], LimitedHome] = {}


def limited_home(nbytes: int, stored: Iterable[object] = ()) -> LimitedHome | None:
    """Return where stages of so many bytes are run; None where no limit is set, or it is far.

    A part of an array in a file that is ``stored`` may lie in any of its pages. What lies in no
    memory at all is held to the memory that there is.
    """
    values = list(stored)
    limit = config.memory_limit
    if not limit and any(isinstance(value, StoredRows) for value in values):
        limit = memory_limit_bytes()
    if not limit:
        return None
    maps: dict[int, Any] = {id(v): v for v in values if stored_rows(v) is not None}
    mapped = sum(array.nbytes for array in maps.values())
    if max(nbytes, mapped) <= limit // 2:
        return None
    key = limit, thread_count()
    if key not in _homes:
        _homes[key] = LimitedHome(limit)
    return _homes[key]


def _refused(name: str, work: Work, granule: int, limit: int) -> PlanInfeasible:
    """Return the error, which finds later what would make the result fit and how long that takes.

    To know how long may take measuring this process, and that memory.
    """
    error = PlanInfeasible(f"phase {name} needs more than config.memory_limit")
    room = max(0.0, float(limit - pool.live))
    error.later = partial(_with_options, name, work, granule, room)
    error.final = True
    error.add_note(
        f"config.memory_limit is {readable_bytes(limit)}, of which {readable_bytes(pool.live)} "
        "are held; results on the workers of a distributed.Client do not count"
    )
    return error


def _with_options(name: str, work: Work, granule: int, room: float) -> PlanInfeasible:
    from dnumpy.plan.dag import Ask, Network, Node, Program
    from dnumpy.plan.refusal import refusal
    from dnumpy.runtime.profiles import load_or_measure

    profile = load_or_measure(threads=thread_count())
    took = cost_seconds(work, profile, work.rows / profile.threads, "tiled")
    ask = Ask(
        name,
        work.rows,
        (took / work.rows,),
        (0.0,),
        granule,
        work.bytes_written,
        (COPIES - 1) * work.bytes_written,
    )
    program = Program((Node(HERE, room),), Network.uniform(1, 0.0, 1.0), (ask,), ())
    return refusal(program, doubles=work.dtype == "float64")
