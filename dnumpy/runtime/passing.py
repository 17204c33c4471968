"""Rows that pass: what nobody keeps and no node has room for is made where it is read.

A stage that is not fused with what reads it leaves all its rows on the nodes. Where there is no
room for them, and every reader reads row by row, they are made block by block instead: each task of
a reader makes the rows that it reads, from rows of what those are made of, down to what lies in
files or in memory, and lets them go before the next block. Whoever reads them later makes them
again. What each stage computes, and where it is cut, stays the same, and so do the bits.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.runtime.demands import Reading
from dnumpy.runtime.files import BLOCK_BYTES
from dnumpy.runtime.graph import Block
from dnumpy.runtime.operands import Made

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dnumpy.cost.work import Work
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.demands import AnyProducer, Laid
    from dnumpy.runtime.graph import Graph, Range
    from dnumpy.runtime.operands import Ref

HELD_BLOCKS = 3  # of what passes: what is read, what is made of it, and what a call allocates


# ------------------------------------------------------------------ what it takes


def leaves_partials(producer: AnyProducer) -> bool:
    """Say whether tasks leave something to be folded, beside rows or instead of them."""
    return not producer.row_outputs() or getattr(producer, "leaves_partials", False)


def passed_under(reads: Reading, passing: Mapping[Source, Laid]) -> tuple[Laid, ...]:
    """Return the stages whose rows pass through a task that reads this, each once."""
    found: dict[int, Laid] = {}
    open_ = list(reads.by_rows)
    while open_:
        source = open_.pop().source
        laid = passing.get(source) if source is not None else None
        if laid is not None and id(laid) not in found:
            found[id(laid)] = laid
            open_ += laid.reads.by_rows
    return tuple(found.values())


def through_blocks(
    work: Work,
    reads: Reading,
    through: Sequence[Laid],
    passing: Collection[Source],
    *,
    lets_pass: bool,
) -> tuple[Work, Reading]:
    """Return the work and the reads of a stage with those of what passes through it."""
    all_reads = [reads, *(laid.reads for laid in through)]
    every = {id(o): o for each in all_reads for o in each.by_rows}
    by_rows = [o for o in every.values() if o.source not in passing]
    whole = {id(o): o for each in all_reads for o in each.whole}
    passes = sum(laid.work.bytes_written for laid in through)
    total = work
    for laid in through:
        part = laid.work.rows / max(work.rows, 1)
        total = total + replace(
            laid.work,
            rows=work.rows,
            bytes_read=laid.work.bytes_read * part,
            bytes_written=0.0,
            workspace_bytes_per_row=0.0,
        )
    total = replace(
        total,
        bytes_read=max(total.bytes_read - passes, 0.0),
        bytes_written=0.0 if lets_pass else total.bytes_written,
    )
    return total, Reading(tuple(by_rows), reads.across, tuple(whole.values()))


def held_in_blocks(producer: AnyProducer, through: Sequence[Laid]) -> float:
    """Return the bytes of what passes that a node holds: of each thread, at least a granule."""
    row_bytes = sum(laid.work.bytes_written for laid in through)
    granules = (producer.granule(), *(laid.producer.granule() for laid in through))
    return HELD_BLOCKS * max(BLOCK_BYTES, max(granules) * row_bytes)


def cannot_pass(what: str, needed: float, offered: float) -> PlanInfeasible:
    """Return the error of a stage whose blocks are larger than what there is room for."""
    return PlanInfeasible(
        f"phase {what} needs {readable_bytes(needed)} for one block of the rows that pass through "
        f"it; the nodes offer {readable_bytes(offered)}"
    )


def block_tasks(
    producer: AnyProducer, through: Sequence[Laid], rows: int, from_files: float, threads: int
) -> int:
    """Return in how many tasks a node runs so many rows: as many as there are blocks."""
    row_bytes = from_files + sum(laid.work.bytes_written for laid in through)
    block = max(producer.granule(), int(BLOCK_BYTES // (threads * max(row_bytes, 1.0))))
    return max(threads, -(-rows // block))


# ------------------------------------------------------------------ tasks


class BlockStep(NamedTuple):
    """One step of a block: its function, its arguments, and what is let go of after it.

    Arguments from 0 on are the task's, those below are what earlier steps made: -1 the first. The
    ``faults`` of the step are numbered from there.
    """

    function: Callable[..., Any]
    arguments: tuple[int, ...]
    gone: tuple[int, ...]
    faults: int


def run_block(steps: tuple[BlockStep, ...], keeps_rows: bool, *data: Ref) -> Made:
    """Return what the last step makes; what the others made is let go of as soon as it is read."""
    started = time.perf_counter()
    made: dict[int, Any] = {}
    faults: set[tuple[int, str]] = set()
    for k, step in enumerate(steps):
        given = [made[a] if a < 0 else data[a] for a in step.arguments]
        found = step.function(*given)
        del given
        if isinstance(found, Made):
            faults |= {(number + step.faults, kind) for number, kind in found.faults}
        made[-1 - k] = found
        for number in step.gone:
            del made[number]
    last: Made = made[-len(steps)]
    rows = last.rows if keeps_rows else tuple([each[:0].copy() for each in last.rows])
    took = time.perf_counter() - started
    return last._replace(rows=rows, seconds=took, faults=frozenset(faults))


def build_in_blocks(
    graph: Graph, laid: Laid, ranges: Sequence[Range], passing: Mapping[Source, Laid]
) -> list[tuple[Range, Ref]]:
    """Add a task for each range, which makes what passes through it by itself."""
    first_fault = faults_from(laid, passing)
    made: list[tuple[Range, Ref]] = []
    for r in ranges:
        graph.block = block = Block(r.node)
        ((_, ref),) = laid.producer.build(graph, [r])
        graph.block = None
        for source in passing:
            graph.forget(source)
        _become_one(graph, block, ref, first_fault, keeps_rows=not laid.lets_pass)
        made.append((r, ref))
    return made


def faults_from(laid: Laid, passing: Mapping[Source, Laid]) -> dict[Source | None, int]:
    """Return from where on the faults of what makes each passing source are numbered."""
    starts: dict[int, int] = {}
    at = len(laid.steps)
    for each in laid.through:
        starts[id(each)] = at
        at += len(each.steps)
    found: dict[Source | None, int] = {None: 0}
    return found | {source: starts[id(of)] for source, of in passing.items() if id(of) in starts}


def _become_one(
    graph: Graph,
    block: Block,
    ref: Ref,
    first_fault: Mapping[Source | None, int],
    *,
    keeps_rows: bool,
) -> None:
    """Let the task do what the tasks of its block did, which are none any more."""
    others = [key for key in block.owner_of if key != ref.key]
    if not others and keeps_rows:
        return
    keys = [*sorted(others, key=graph.number_of), ref.key]
    number = {key: -1 - k for k, key in enumerate(keys)}
    tasks = [(graph.task(ref.key) if key == ref.key else graph.take_out(key)) for key in keys]
    data: list[Any] = []
    places: dict[int, int] = {}
    arguments: list[tuple[int, ...]] = []
    for task in tasks:
        mine = []
        for arg in task.args:
            made_by = number.get(getattr(arg, "key", ""))
            if made_by is None and id(arg) not in places:
                places[id(arg)] = len(data)
                data.append(arg)
            mine.append(places[id(arg)] if made_by is None else made_by)
        arguments.append(tuple(mine))
    last_read = {a: k for k, mine in enumerate(arguments) for a in mine if a < 0}
    steps = tuple(
        BlockStep(
            task.func,
            arguments[k],
            tuple(a for a, reader in last_read.items() if reader == k),
            first_fault[block.owner_of[keys[k]]],
        )
        for k, task in enumerate(tasks)
    )
    graph.replace(ref.key, run_block, (steps, keeps_rows, *data))
