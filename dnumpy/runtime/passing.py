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
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.runtime.demands import Reading
from dnumpy.runtime.files import BLOCK_BYTES
from dnumpy.runtime.folds import Gathered, gathered
from dnumpy.runtime.graph import Block, Range
from dnumpy.runtime.operands import Made

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dnumpy.cost.work import Work
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.demands import AnyProducer, Laid
    from dnumpy.runtime.folds import AnyFold
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref

LEAST_BLOCK = 1 << 20
ROOM_SHARE = 1 / 16  # of the room, that a block takes where that is little
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
            bytes_again=laid.work.bytes_again * part,
            bytes_written=0.0,
            workspace_bytes_per_row=0.0,
        )
    total = replace(
        total,
        bytes_read=max(total.bytes_read - passes, 0.0),
        bytes_written=0.0 if lets_pass else total.bytes_written,
    )
    return total, Reading(tuple(by_rows), reads.across, tuple(whole.values()))


def block_bytes(room: float) -> float:
    """Return the bytes of what passes that all tasks of a node make at a time."""
    return max(LEAST_BLOCK, min(BLOCK_BYTES, ROOM_SHARE * room))


def held_in_blocks(producer: AnyProducer, through: Sequence[Laid], room: float) -> float:
    """Return the bytes of what passes that a node holds: of each thread, at least a granule."""
    row_bytes = sum(laid.work.bytes_written for laid in through)
    granules = (producer.granule(), *(laid.producer.granule() for laid in through))
    return HELD_BLOCKS * max(block_bytes(room), max(granules) * row_bytes)


def cannot_pass(what: str, needed: float, offered: float) -> PlanInfeasible:
    """Return the error of a stage whose blocks are larger than what there is room for."""
    return PlanInfeasible(
        f"phase {what} needs {readable_bytes(needed)} for one block of the rows that pass through "
        f"it; the nodes offer {readable_bytes(offered)}"
    )


def block_tasks(
    producer: AnyProducer, row_bytes: float, rows: int, threads: int, room: float
) -> int:
    """Return in how many tasks a node runs so many rows: as many as there are blocks.

    ``row_bytes`` are of what passes, and of what is read from files.
    """
    block = max(producer.granule(), int(block_bytes(room) // (threads * max(row_bytes, 1.0))))
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


def run_in_blocks(
    folds: tuple[AnyFold, ...],
    blocks: tuple[tuple[BlockStep, ...], ...],
    *data: Ref,
) -> Made:
    """Return what the last steps of the blocks make, folded as far as it may be.

    With several blocks these are partial outputs only, and row outputs of theirs are let go of.
    """
    started = time.perf_counter()
    faults: set[tuple[int, str]] = set()
    if len(blocks) == 1 and not folds:
        made = _run_block(blocks[0], data, faults)
        took = time.perf_counter() - started
        return made._replace(seconds=took, faults=frozenset(faults))
    so_far: list[Made | Gathered] = []
    lowering = "numpy"
    for block in blocks:
        made = _run_block(block, data, faults)
        lowering = max(lowering, made.lowering)
        so_far = [gathered(folds, *so_far, made._replace(rows=()))._replace(reports=())]
        del made
    (found,) = so_far
    assert isinstance(found, Gathered)
    took = time.perf_counter() - started
    return Made((), found.partials, took, frozenset(faults) | found.faults, lowering)


def _run_block(
    steps: tuple[BlockStep, ...], data: Sequence[Ref], faults: set[tuple[int, str]]
) -> Made:
    """Return what the last step makes; what the others made is let go of as soon as it is read."""
    made: dict[int, Any] = {}
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
    return last


def build_in_blocks(
    graph: Graph, laid: Laid, ranges: Sequence[Range], passing: Mapping[Source, Laid]
) -> list[tuple[Range, Ref]]:
    """Add tasks that make what passes through them by themselves, block by block.

    Where all that is left of blocks is folded, each thread of a node has one task, which folds it
    before the next block; else there is a task for each of the ranges.
    """
    first_fault = faults_from(laid, passing)
    folded = laid.folds and (laid.lets_pass or not laid.producer.row_outputs())
    folds = laid.folds if folded else ()
    made: list[tuple[Range, Ref]] = []
    for lane in _lanes(graph, ranges) if folded else [[r] for r in ranges]:
        data: list[Any] = []
        blocks: list[tuple[BlockStep, ...]] = []
        node = lane[0].node
        for r in lane:
            graph.block = block = Block(node)
            ((_, ref),) = laid.producer.build(graph, [r])
            graph.block = None
            for source in passing:
                graph.forget(source)
            blocks.append(_taken_out(graph, block, ref, first_fault, data))
        ref = graph.add("blocks", node, run_in_blocks, folds, tuple(blocks), *data)
        made.append((Range(node, lane[0].lo, lane[-1].hi), ref))
    return made


def _lanes(graph: Graph, ranges: Sequence[Range]) -> list[list[Range]]:
    """Return the ranges of each thread of each node, which follow one another."""
    found: list[list[Range]] = []
    for node, group in groupby(ranges, key=lambda r: r.node):
        mine = list(group)
        count = min(max(graph.nodes.threads(node), 1), len(mine))
        cuts = [len(mine) * k // count for k in range(count + 1)]
        found += [mine[a:b] for a, b in pairwise(cuts)]
    return found


def faults_from(laid: Laid, passing: Mapping[Source, Laid]) -> dict[Source | None, int]:
    """Return from where on the faults of what makes each passing source are numbered."""
    starts: dict[int, int] = {}
    at = len(laid.steps)
    for each in laid.through:
        starts[id(each)] = at
        at += len(each.steps)
    found: dict[Source | None, int] = {None: 0}
    return found | {source: starts[id(of)] for source, of in passing.items() if id(of) in starts}


def _taken_out(
    graph: Graph,
    block: Block,
    ref: Ref,
    first_fault: Mapping[Source | None, int],
    data: list[Any],
) -> tuple[BlockStep, ...]:
    """Take the tasks of a block out of the graph; return them as steps that read from ``data``."""
    others = [key for key in block.owner_of if key != ref.key]
    keys = [*sorted(others, key=graph.number_of), ref.key]
    number = {key: -1 - k for k, key in enumerate(keys)}
    tasks = [graph.take_out(key) for key in keys]
    places = {id(arg): k for k, arg in enumerate(data)}
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
    return tuple(
        BlockStep(
            task.func,
            arguments[k],
            tuple(a for a, reader in last_read.items() if reader == k),
            first_fault[block.owner_of[keys[k]]],
        )
        for k, task in enumerate(tasks)
    )
