"""What passes through a node block by block, and what its tasks take at the peak.

Tasks read arrays in files a block of rows at a time, and fold what the tiles of a block leave
behind before the next is read: of both, a node holds a block, whatever its rows.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from dnumpy.plan.work import partial_bytes, row_bytes, scratch_bytes
from dnumpy.runtime.files import BLOCK_BYTES
from dnumpy.runtime.graph import Range
from dnumpy.runtime.placed import PlacedRows
from dnumpy.runtime.producers import (
    STEP_BYTES,
    BlockedRows,
    FoldedBlocks,
    FoldedTogether,
    FusedRows,
)

if TYPE_CHECKING:
    from dnumpy.cost.work import Work
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.chunked import Producer

TASK_BYTES = 3 << 19  # besides its arrays, of a node's tasks of one stage
CALL_STEPS = 5  # times a block: what one call on a block of rows allocates
FOLD_LEVELS = 8  # results of tiles that wait for their neighbours, or are just being joined


def phase_of(producer: Producer) -> Phase | None:
    """Return the phase that runs, None for a single op."""
    rows = producer.rows if isinstance(producer, PlacedRows) else producer
    return rows.phase if isinstance(rows, FusedRows) else None


def streams(producer: Producer) -> bool:
    """Say whether the tasks read their operands block by block, and hold no more than a block."""
    if isinstance(producer, BlockedRows):
        return producer.op.rows is not None or producer.goes_by_rows()
    return isinstance(producer, (FusedRows, FoldedBlocks, FoldedTogether))


def streamed(work: Work, producer: Producer, from_files: float, threads: int) -> Work:
    """Return the work without what passes through, and with the block of it that is held.

    That is ``from_files`` bytes of each row, and what tiles leave behind to be folded.
    """
    folded = _left_by_a_tile(producer) / producer.granule()
    if not (from_files or (folded and streams(producer))):
        return work
    held = blocks_held(work, producer, from_files, threads)
    return replace(
        work,
        bytes_written=max(work.bytes_written - folded, 0.0),
        passing_bytes_per_row=from_files,
        fixed_bytes=work.fixed_bytes + held,
    )


def tasks_for(producer: Producer, rows: int, from_files: float, threads: int) -> int:
    """Return in how many tasks a node runs so many rows.

    One for each thread, unless each would hold all that it reads from files at once: then as many
    as there are blocks of it.
    """
    if not from_files or streams(producer):
        return threads
    block = max(producer.granule(), int(BLOCK_BYTES // (threads * from_files)))
    return max(threads, ceil(rows / block))


def blocks_held(work: Work, producer: Producer, from_files: float, threads: int = 1) -> float:
    """Return the bytes that a node holds of what passes through it.

    A block of what is read from files, ``from_files`` bytes of each row; of what tiles leave behind
    to be folded, a block (or all, if that is less) and one or two for each level of the tree.
    """
    rows = producer.granule()
    block = max(BLOCK_BYTES, threads * rows * from_files) if from_files else 0.0
    tile = _left_by_a_tile(producer)
    tiles = -(-work.rows // rows)
    return block + min(max(BLOCK_BYTES, threads * tile), tiles * tile) + FOLD_LEVELS * tile


def _left_by_a_tile(producer: Producer) -> float:
    phase = phase_of(producer)
    return partial_bytes(phase) if phase is not None else 0.0


def step_bytes(producer: Producer, rows: int) -> float:
    """Return the bytes of an operand or result that one call takes, of so many rows of a node."""
    match producer:
        case FoldedTogether():
            return max(step_bytes(fold, rows) for fold in producer.folds)
        case BlockedRows() | FoldedBlocks():
            step = producer.step(Range("", 0, rows)) if isinstance(producer, BlockedRows) else 1
            called = min(max(producer.granule(), step), rows)
            widths = [row_bytes(o.shape, o.dtype) for o in producer.operands if o.source]
            if isinstance(producer, BlockedRows):
                widths.append(row_bytes(producer.shape, producer.dtype))
            return min(called * max(widths, default=0.0), STEP_BYTES)
        case _:
            return STEP_BYTES


def peak_bytes(work: Work, producer: Producer, rows: int, held: int) -> int:
    """Return the most that a node with so many rows takes, ``held`` to be read among it."""
    if not rows:
        return 0
    made = rows * (work.bytes_written + work.workspace_bytes_per_row)
    phase = phase_of(producer)
    scratch = scratch_bytes(phase) if phase is not None else CALL_STEPS * step_bytes(producer, rows)
    passing = blocks_held(work, producer, work.passing_bytes_per_row)
    return ceil(held + made + scratch + passing) + TASK_BYTES
