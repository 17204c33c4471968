"""Blocked ops and folds on blocks of rows: what every kind of node runs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from dnumpy.config import config
from dnumpy.ops.families import Scan, read_by_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.expr.expr import Params
    from dnumpy.ops.families import Blocked, Fold, Shapes

BLOCK_BYTES = 1 << 19  # of one operand or result in one block: enough to keep a call's cost small
MOST_SMALL = 64  # blocks of which tiles are kept small on purpose
LEAST_ROWS = 32  # of one block of a scan
MOST_RUN = 1 << 20  # elements of a scan in one block: native/handle.h, too
MOST_BLOCKS = 256  # of one fold or scan: each has a partial result of its own


def grid_rows(op: Blocked | Fold, shapes: Shapes, params: Params, rows: int, row_bytes: int) -> int:
    """Return at which multiples of rows blocks may be cut; no partition plays a part in it."""
    if op.rows is not None:
        return max(1, op.rows(shapes, params))
    return max(1, min(rows, config.tile_rows_max, BLOCK_BYTES // max(row_bytes, 1)))


def fold_rows(rows: int, row_bytes: int) -> int:
    """Return the rows of one block of a fold or scan: few enough blocks that merging is cheap."""
    block = max(1, BLOCK_BYTES // max(row_bytes, 1), -(-rows // MOST_BLOCKS))
    return max(1, min(rows, config.tile_rows_max, _whole_tiles(block, row_bytes)))


def _whole_tiles(rows: int, row_bytes: int) -> int:
    """Return so many rows or more, as many as whole tiles of a phase over such rows have.

    What nodes are given is cut between blocks here, and between tiles there: were these not the
    same places, a node would copy all it has to join a few rows of its neighbour's.
    """
    tile = max(1, config.tile_bytes // max(row_bytes, 1))
    return -(-rows // tile) * tile


def scan_rows(shape: tuple[int, ...], itemsize: int) -> int:
    """Return the rows of one block of a scan: all, where one thread runs over so many."""
    rows = shape[0]
    if prod(shape) < min(config.eager_below * 4, MOST_RUN):
        return max(rows, 1)
    row_bytes = max(prod(shape[1:]) * itemsize, 1)
    # what goes before each block is small beside the block
    block = max(BLOCK_BYTES // row_bytes, -(-rows // MOST_BLOCKS), LEAST_ROWS)
    return max(1, min(rows, _whole_tiles(block, row_bytes), most_rows(rows)))


def most_rows(rows: int) -> int:
    """Return the most rows of a block: tiles that are small for tests do not make many of them."""
    return max(config.tile_rows_max, -(-rows // MOST_SMALL), 1)


def shapes_of(args: Sequence[Any]) -> Shapes:
    """Return the operands' shapes; a scalar's is ()."""
    return tuple(getattr(a, "shape", ()) for a in args)


def row_bytes_of(args: Sequence[Any], out: Any = None) -> int:
    """Return the bytes of a row of the widest operand or result."""
    arrays = [a for a in (*args, out) if getattr(a, "shape", ())]
    return max((prod(a.shape[1:]) * a.dtype.itemsize for a in arrays), default=1)


def compute_rows(
    op: Blocked, args: Sequence[Any], params: Params, out: np.ndarray, rows: tuple[int, int, int]
) -> None:
    """Compute rows ``lo:hi`` of a blocked op over whole operands into ``out``.

    ``rows`` is (lo, hi, grid); ``lo`` lies on the grid, and ``out`` holds row ``lo`` first.
    """
    lo, hi, grid = rows
    if isinstance(op, Scan) and op.join is not None and len(args) == 1:
        run_over_blocks(op, args[0], params, out, grid)
        return
    shapes = shapes_of(args)
    step = grid if op.rows is not None else hi - lo
    for start in range(lo, hi, max(step, 1)):
        stop = min(start + step, hi)
        pieces = [p.of(args[p.operand]) for p in op.reads(shapes, params, start, stop)]
        op.call(pieces, params, start, stop, out[start - lo : stop - lo])


def run_over_blocks(op: Scan, rows: Any, params: Params, out: np.ndarray, grid: int) -> None:
    """Compute all running folds, one block after the other while it is in the cache."""
    assert op.join is not None
    if not op.rounds(params):
        op.call((rows,), params, 0, len(out), out)
        return
    for lo in range(0, len(rows), grid):
        block = out[lo : lo + grid]
        before = (out[lo - 1 : lo],) if lo else ()
        op.call((rows[lo : lo + grid], *before), params, lo, lo + len(block), block)


def what_goes_before(op: Scan, params: Params, out: np.ndarray, grid: int) -> list[Any]:
    """Return what goes before each block but the first, of which ``out`` holds their own folds."""
    assert op.join is not None
    found: list[Any] = []
    for last in range(grid - 1, len(out) - 1, grid):
        total = out[last : last + 1].copy()
        if found:
            op.join(found[-1], params, total)
        found.append(total[0])
    return found


def partial_results(
    op: Fold, args: Sequence[Any], params: Params, rows: tuple[int, int, int]
) -> list[Any]:
    """Return what a fold makes of each block of rows ``lo:hi``; ``rows`` is (lo, hi, grid)."""
    lo, hi, grid = rows
    shapes = shapes_of(args)
    found = []
    for start in range(lo, hi, grid):
        stop = min(start + grid, hi)
        pieces = [p.of(args[p.operand]) for p in read_by_rows(shapes, params, start, stop)]
        found.append(op.call(pieces, params, start, stop))
    return found
