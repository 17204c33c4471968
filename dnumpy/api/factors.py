"""Factorisations of one matrix whose rows lie on nodes, over recorded operations.

The matrix is never in one place: panels of a few columns, or rows, come here, are factored by
LAPACK's rules, and the rest is brought up to date where its rows lie. Blocks are of fixed sizes, so
that the bits do not depend on the partition. Everything is in float64 or complex128, as NumPy has
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks, composites, ufuncs
from dnumpy.api.array import from_expr, ndarray
from dnumpy.api.record import content, operand
from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.ops.factor import (
    CROSS,
    DOWNDATE,
    ELIMINATE,
    SUBSTITUTE,
    TAKE_COLUMNS,
    TAKE_ROWS,
    TALL_Q,
    TALL_R,
    ColumnParams,
    CrossParams,
    StepParams,
    TakeParams,
    TallParams,
    block_rows,
)
from dnumpy.ops.table import ARANGE, FULL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.expr.expr import Expr
    from dnumpy.ops.families import Op

PANEL = 128  # columns of a panel: enough for fast products, little to bring here
MOST_BLOCKS = 128  # of rows that are factored apart: their factors are joined in one place
TALL = 4  # times as many rows as columns: one panel
TALL_COLUMNS = 1024  # of one panel at most


class NotDefinite(Exception):  # noqa: N818 - the caller raises what NumPy raises
    """A leading minor is not positive."""


def panel_width() -> int:
    """Return the columns of a panel."""
    return max(1, min(PANEL, config.tile_rows_max))


def home(array: Any) -> np.ndarray:
    """Return a small part of a matrix as NumPy's array here."""
    return engine.value(content(array))


def _recorded(op: Op, args: list[Any], params: Any, like: Any) -> Any:
    exprs = [operand(x) for x in args]
    return from_expr(blocks.record(op, exprs, params, like.shape, like.dtype))


def _panels(count: int) -> Iterator[tuple[int, int]]:
    width = panel_width()
    for start in range(0, count, width):
        yield start, min(start + width, count)


# ---------------------------------------------------------------- elimination


class Eliminated(NamedTuple):
    """``rows``: the upper triangle, with what stood right of the matrix brought along.

    ``diagonal`` is that of the triangle; ``odd`` says whether rows were swapped an odd number of
    times.
    """

    rows: Any
    diagonal: np.ndarray
    odd: bool


def eliminate(matrix: Any, size: int) -> Eliminated:
    """Eliminate below the diagonal of the first ``size`` columns, with partial pivoting."""
    diagonal = np.ones(size, matrix.dtype)
    swaps = 0
    for start, stop in _panels(size):
        panel = np.zeros((size, stop - start), matrix.dtype)
        own = panel[start:]
        own[...] = home(matrix[start:, start:stop])
        order, swapped = _pivoted(own)
        swaps += swapped
        diagonal[start:stop] = own.diagonal()
        placed, rows = _placed_rows(matrix, start, stop, order)
        head = own[: stop - start]
        rows[: stop - start, start:] = _forward(head, rows[: stop - start, start:])
        params = StepParams(start, stop, placed)
        matrix = _recorded(ELIMINATE, [matrix, panel, rows], params, matrix)
    return Eliminated(matrix, diagonal, bool(swaps % 2))


def _placed_rows(
    matrix: Any, start: int, stop: int, order: np.ndarray
) -> tuple[tuple[int, ...], np.ndarray]:
    """Return which rows the pivoting replaces, and with what; the panel's own come first."""
    moved = np.flatnonzero(order != np.arange(len(order)))
    later = moved[moved >= stop - start]
    places = np.concatenate([np.arange(stop - start), later])
    taken = tuple((order[places] + start).tolist())
    expr = blocks.record(
        TAKE_ROWS,
        [content(matrix)],
        TakeParams(taken),
        (len(taken), matrix.shape[1]),
        matrix.dtype,
    )
    return tuple((places + start).tolist()), np.array(engine.value(expr))


def _pivoted(panel: np.ndarray) -> tuple[np.ndarray, int]:
    """Factor a panel in place, L below the diagonal and U above; return the order of its rows.

    Also returns how many swaps made the order.
    """
    rows, columns = panel.shape
    if columns == 1:
        return _pivoted_column(panel)
    left = columns // 2
    order, swaps = _pivoted(panel[:, :left])
    right = panel[:, left:]
    right[...] = right[order]
    right[:left] = _forward(panel[:left, :left], right[:left])
    if rows > left:
        right[left:] -= panel[left:, :left] @ right[:left]
        below, more = _pivoted(right[left:])
        panel[left:, :left] = panel[left:, :left][below]
        order[left:] = order[left:][below]
        swaps += more
    return order, swaps


def _pivoted_column(panel: np.ndarray) -> tuple[np.ndarray, int]:
    column = panel[:, 0]
    order = np.arange(len(column))
    size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
    pivot = int(np.argmax(size))
    if pivot:
        order[[0, pivot]] = pivot, 0
        column[[0, pivot]] = column[[pivot, 0]]
    if column[0] != 0:
        column[1:] /= column[0]
    return order, int(pivot != 0)


_LEAF = 16  # unknowns that are solved for one by one


def _forward(lower: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve with the unit lower triangle of ``lower``; what lies above is not read."""
    solved = np.array(rhs)
    size = len(lower)
    if size > _LEAF:
        half = size // 2
        solved[:half] = _forward(lower[:half, :half], solved[:half])
        solved[half:] -= lower[half:, :half] @ solved[:half]
        solved[half:] = _forward(lower[half:, half:], solved[half:])
        return solved
    for k in range(1, size):
        solved[k] -= lower[k, :k] @ solved[:k]
    return solved


def _backward(upper: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve with the upper triangle of ``upper``; what lies below is not read."""
    solved = np.array(rhs)
    size = len(upper)
    if size > _LEAF:
        half = size // 2
        solved[half:] = _backward(upper[half:, half:], solved[half:])
        solved[:half] -= upper[:half, half:] @ solved[half:]
        solved[:half] = _backward(upper[:half, :half], solved[:half])
        return solved
    for k in reversed(range(size)):
        solved[k] -= upper[k, k + 1 :] @ solved[k + 1 :]
        solved[k] /= upper[k, k]
    return solved


def solve(a: Any, b: Any) -> Any:
    """Return x with ``a @ x = b``; raises ZeroDivisionError for a singular matrix."""
    size = a.shape[0]
    eliminated = eliminate(joined([a, b], 1), size)
    if not eliminated.diagonal.all():
        raise ZeroDivisionError
    rows = eliminated.rows
    unknowns = rows[:, size:]
    for start, stop in reversed(list(_panels(size))):
        corner = home(rows[start:stop, start:stop])
        solved = _backward(corner, home(unknowns[start:stop]))
        params = StepParams(start, stop)
        unknowns = _recorded(SUBSTITUTE, [unknowns, rows, solved], params, unknowns)
    return unknowns


def slogdet(a: Any) -> tuple[Any, Any]:
    """Return sign and logarithm of the determinant."""
    found = eliminate(a, a.shape[0])
    size = np.abs(found.diagonal)
    if not size.all():
        return a.dtype.type(0), size.dtype.type(-np.inf)
    sign = np.prod(found.diagonal / size)
    return -sign if found.odd else sign, np.log(size).sum()


def cholesky(a: Any) -> Any:
    """Return L with ``L @ L^H = a``, of which only the lower triangle is read."""
    size = a.shape[0]
    matrix = a
    for start, stop in _panels(size):
        panel = np.array(home(matrix[start:, start:stop]))
        try:
            head = np.linalg.cholesky(panel[: stop - start])
        except np.linalg.LinAlgError as error:
            raise NotDefinite from error
        panel[: stop - start] = head
        panel[stop - start :] = _right_divided(panel[stop - start :], head.conj().T)
        matrix = _recorded(DOWNDATE, [matrix, panel], StepParams(start, stop), matrix)
    return lower_triangle(matrix)


def identity(rows: int, columns: int, dtype: np.dtype) -> Any:
    """Return ones on the diagonal, computed where the rows will lie."""
    return ufuncs.call(np.equal, (count(rows)[:, None], count(columns)), {}).astype(dtype)


def lower_triangle(a: Any) -> Any:
    """Return ``a`` with zeros above the diagonal."""
    below = ufuncs.call(np.greater_equal, (count(a.shape[0])[:, None], count(a.shape[1])), {})
    return composites.where(below, a, a.dtype.type(0))


def count(extent: int) -> Any:
    """Return 0, 1, 2, ..., made where they will lie."""
    return from_expr(make(ARANGE, (), (0, 1), (extent,), np.dtype(np.int64)))


# ---------------------------------------------------------------- reflections


class Reflected(NamedTuple):
    """``I - y t y^H`` maps the panel to the triangle ``r`` over zeros; its first columns are ``q``.

    Signs are LAPACK's: ``r[j, j]`` has the sign opposite to that of the element that it replaces.
    """

    q: Any
    y: Any
    t: np.ndarray
    r: np.ndarray


def tall_blocks(rows: int, columns: int) -> int:
    """Return the rows that are factored apart."""
    block = max(TALL * columns, block_rows(((rows, columns),)), -(-rows // MOST_BLOCKS))
    return min(rows, block)


def tall_qr(a: Any) -> tuple[Any, np.ndarray]:
    """Return Q, by rows, and R of a matrix that has no more columns than rows."""
    expr = content(a)
    params = TallParams((True,), tall_blocks(*expr.shape))
    r, factors = blocks.merged(TALL_R, [expr], params)
    return _recorded(TALL_Q, [a, factors], params, a), r


def reflected(panel: Any, *, reflectors: bool = True) -> Reflected:
    """Return the QR factors of a panel that has no more columns than rows, as reflections.

    The reflectors are made from Q: the LU factors of Q less the signs (Ballard et al., 2014).
    """
    rows, columns = panel.shape
    q, r = tall_qr(panel)
    top = np.array(home(q[:columns]))
    signs = _signed(top, square=rows == columns)
    upper = np.triu(top)
    lower = np.tril(top, -1) + np.eye(columns, dtype=top.dtype)
    t = -_right_divided(upper * signs, lower.conj().T)
    y = _reflectors(q, upper, lower) if reflectors else None
    return Reflected(q * signs, y, t, signs[:, None] * r)


def _reflectors(q: Any, upper: np.ndarray, lower: np.ndarray) -> Any:
    columns = len(upper)
    if q.shape[0] == columns:
        return joined([lower], 0)
    safe = upper + np.diag((upper.diagonal() == 0).astype(upper.dtype))
    below = q[columns:] @ _backward(safe, np.eye(columns, dtype=upper.dtype))
    return joined([lower, below], 0)


def _right_divided(a: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return ``a @ inv(upper)``."""
    return _backward(upper.T[::-1, ::-1], a.T[::-1])[::-1].T


def _signed(top: np.ndarray, *, square: bool) -> np.ndarray:
    """Replace the first rows of Q by the LU factors of Q less the signs; return the signs.

    A column that is a unit vector already is not reflected, as LAPACK has it.
    """
    size = len(top)
    signs = np.ones(size)
    for j in range(size):
        at_end = square and j == size - 1 and top.dtype.kind == "f"
        alone = at_end or (abs(top[j, j]) == 1 and top[j, j].imag == 0)
        flips = (top[j, j].real >= 0) != alone
        signs[j] = -1.0 if flips else 1.0
        top[j, j] = 0 if alone else top[j, j] - signs[j]
        if alone:
            top[j + 1 :, j] = 0
            continue
        top[j + 1 :, j] /= top[j, j]
        top[j + 1 :, j + 1 :] -= np.outer(top[j + 1 :, j], top[j, j + 1 :])
    return signs


class Factored(NamedTuple):
    """The panels of a QR factorisation, and the rows of R, panel by panel."""

    panels: list[Reflected]
    starts: list[int]
    rows: list[Any]


def factored(a: Any, *, reflectors: bool = True) -> Factored:
    """Return the QR factors of a matrix; a tall one is one panel."""
    rows, columns = a.shape
    count = min(rows, columns)
    one = rows >= TALL * columns and columns <= TALL_COLUMNS
    width = columns if one or count == 0 else panel_width()
    found = Factored([], [], [])
    rest = a
    for start in range(0, count, width):
        stop = min(start + width, count)
        needed = reflectors or count > width or stop < columns
        panel = reflected(_first_columns(rest, stop - start), reflectors=needed)
        found.panels.append(panel)
        found.starts.append(start)
        pieces = [np.zeros((stop - start, start), panel.r.dtype), np.triu(panel.r)]
        if stop < columns:
            updated = rest[:, stop - start :]
            updated = updated - panel.y @ (panel.t.conj().T @ crossed(panel.y, updated))
            pieces.append(updated[: stop - start])
            rest = updated[stop - start :]
        found.rows.append(joined(pieces, 1))
    return found


def _first_columns(a: Any, count: int) -> Any:
    """Return a copy of the first columns, so that nobody reads the others with them."""
    if count == a.shape[1]:
        return a
    expr = content(a)
    shape = (a.shape[0], count)
    return from_expr(blocks.record(TAKE_COLUMNS, [expr], ColumnParams(0, count), shape, expr.dtype))


def crossed(x: Any, y: Any) -> Any:
    """Return ``x^H @ y``, both by rows."""
    left, right = content(x), content(y)
    shape = (left.shape[1], *right.shape[1:])
    return from_expr(blocks.record(CROSS, [left, right], CrossParams(), shape, left.dtype))


def upper_factor(found: Factored) -> Any:
    """Return R."""
    return joined(found.rows, 0)


def orthogonal_factor(found: Factored, rows: int, columns: int) -> Any:
    """Return the first columns of Q."""
    if len(found.panels) == 1 and found.panels[0].q.shape == (rows, columns):
        return found.panels[0].q
    q = identity(rows, columns, found.panels[0].t.dtype)
    for panel, start in zip(reversed(found.panels), reversed(found.starts), strict=True):
        part = q[start:, start:]
        part = part - panel.y @ (panel.t @ crossed(panel.y, part))
        q[start:, start:] = part
    return q


def joined(pieces: list[Any], axis: int) -> Any:
    """Return pieces joined; those of NumPy's are small, those without elements left out."""
    ours = [
        p if type(p) is ndarray and p._np is None else managed_copy(p) for p in pieces if p.size
    ]
    return ours[0] if len(ours) == 1 else composites.concatenate(ours, axis)


def padded(a: Any, rows: int) -> Any:
    """Return ``a`` over rows of zeros."""
    if a.shape[0] == rows:
        return a
    zeros = make(FULL, (), (a.dtype.type(0),), (rows - a.shape[0], a.shape[1]), a.dtype)
    return joined([a, from_expr(zeros)], 0)


def managed_copy(array: Any) -> Any:
    """Return an array that the engine sees, however small it is."""
    expr: Expr = operand(array)  # type: ignore[assignment]
    return from_expr(blocks.copied(expr))
