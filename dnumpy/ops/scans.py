"""Running folds along rows: sums, products, extrema and whatever else folds in blocks.

Rows are cut at multiples of a fixed number of rows. The folds of whole blocks give what goes
before each block, and a block's running folds, made by NumPy's own loop, are joined with that. So
the bits depend on the size alone, and an error grows with the length of a block and the number of
blocks rather than with their product, as one running sum's does. Running sums of numbers that are
not negative never descend: what goes before a block is the last element of the block before.
Floating-point faults are told by the running folds alone: the folds of whole blocks meet no others
but those of their own way of computing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.ops.families import Fold, Indexing, Piece, Scan, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes

# x(a, x(b, c)) = x(x(a, b), c), for floats but for rounding
FOLDS_IN_BLOCKS = frozenset({
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "logaddexp", "logaddexp2",
    "hypot",
})  # fmt: skip


class ScanParams(NamedTuple):
    """``ufunc`` is accumulated in ``dtype`` over blocks of ``block`` rows."""

    by_rows: tuple[bool, ...]
    ufunc: str
    dtype: np.dtype
    block: int


def rounds(params: ScanParams) -> bool:
    """Say whether the order of joining matters to the last bits."""
    return params.dtype.kind in "fc" and params.ufunc in _ROUNDING


_ROUNDING = frozenset({"add", "multiply", "logaddexp", "logaddexp2", "hypot"})


def _block(_shapes: Shapes, params: ScanParams) -> int:
    return params.block


def _total(pieces: Sequence[Any], params: ScanParams, _lo: int, _hi: int) -> Any:
    """Return the last of a block's running folds."""
    ufunc = getattr(np, params.ufunc)
    with np.errstate(all="ignore"):
        if rounds(params):  # in the very order in which the block's running folds are made
            folds = np.empty(pieces[0].shape, params.dtype)
            accumulate(params.ufunc, pieces[0], folds)
            return folds[-1].copy()  # a view would keep all of the block's folds in memory
        return ufunc.reduce(pieces[0], axis=0, dtype=params.dtype)


def _before(partials: Sequence[Any], params: ScanParams) -> Any:
    """Return what goes before each block; nothing goes before the first, whose row is not read."""
    totals = np.stack([np.asarray(p, params.dtype) for p in partials])
    found = np.empty_like(totals)
    found[:1] = totals[:1]
    with np.errstate(all="ignore"):
        getattr(np, params.ufunc).accumulate(totals[:-1], axis=0, dtype=params.dtype, out=found[1:])
    return found


BEFORE = row(Fold("scan.before", _total, _before, rows=_block, loop="reduce"))


def _rows_and_before(shapes: Shapes, params: ScanParams, lo: int, hi: int) -> tuple[Piece, ...]:
    rows = (Piece(0, lo, hi),)
    if len(shapes) == 1:
        return rows
    return (*rows, Piece(1, lo // params.block, lo // params.block + 1))


def _accumulate(pieces: Sequence[Any], params: ScanParams, lo: int, _hi: int, out: Any) -> None:
    before = pieces[1] if lo and len(pieces) > 1 else None
    if before is None or not _made(params.ufunc, pieces[0], out, 0, before):
        accumulate(params.ufunc, pieces[0], out)
        if before is not None:
            _join(before[0], params, out)


def accumulate(ufunc: str, rows: Any, out: Any, axis: int = 0) -> None:
    """Make NumPy's running folds in the dtype of ``out``, by our own loop where there is one."""
    if not _made(ufunc, rows, out, axis):
        getattr(np, ufunc).accumulate(rows, axis=axis, dtype=out.dtype, out=out)


def _made(ufunc: str, rows: Any, out: Any, axis: int, before: Any = None) -> bool:
    """Say whether our own loop made them; faults are told as NumPy would."""
    return _was_made(native.scan(ufunc, rows, out, axis, before), ufunc, out.dtype)


def _was_made(faults: int, ufunc: str, dtype: np.dtype) -> bool:
    if faults > 0:
        _tell(ufunc, dtype, faults)
    return faults >= 0


def _tell(ufunc: str, dtype: np.dtype, faults: int) -> None:
    """Have NumPy tell of floating-point faults: its own loop has them, on two elements."""
    limits = np.finfo(dtype)
    worst = {"over": (limits.max, limits.max), "under": (limits.tiny, limits.tiny)}
    worst["invalid"] = (np.inf, -np.inf if ufunc == "add" else 0.0)
    for bit, kind in _FAULTS.items():
        if faults & bit:
            getattr(np, ufunc).accumulate(np.array(worst[kind], dtype))


_FAULTS = {2: "over", 4: "under", 8: "invalid"}  # as NumPy numbers them


def _join(before: Any, params: ScanParams, out: Any) -> None:
    getattr(np, params.ufunc)(before, out, out=out)


def _jointly(rows: Any, params: ScanParams, out: Any, block: int, state: Any) -> bool:
    faults = native.scan_jointly(params.ufunc, rows, out, block, state)
    return _was_made(faults, params.ufunc, out.dtype)


SCAN = row(
    Scan(
        "scan", _rows_and_before, _accumulate, rows=_block, loop="scan", join=_join, rounds=rounds,
        jointly=_jointly,
    )
)  # fmt: skip


# ---------------------------------------------------------------- products of floats


class _Factor(NamedTuple):
    """A product as ``scaled * 2**exponent``; how far its running magnitudes went, as log2."""

    scaled: Any
    exponent: Any
    highest: Any
    lowest: Any


_CHUNK = 256  # factors of at least 1/2, whose product is in the range of a float64


def _wide(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex128 if dtype.kind == "c" else np.float64)


@np.errstate(all="ignore")
def _factor(pieces: Sequence[Any], params: ScanParams, _lo: int, _hi: int) -> _Factor:
    """Return the product of a block, which need not be in the range of floats."""
    rows = np.asarray(pieces[0], _wide(params.dtype))
    exponents = np.frexp(np.abs(rows))[1]
    scaled = np.ones(rows.shape[1:], rows.dtype)
    exponent = np.zeros(rows.shape[1:], np.int64)
    for lo in range(0, len(rows), _CHUNK):
        shift = -exponents[lo : lo + _CHUNK]
        scaled = scaled * np.multiply.reduce(_shifted(rows[lo : lo + _CHUNK], shift), axis=0)
        back = np.frexp(np.abs(scaled))[1]
        scaled = _shifted(scaled, -back)
        exponent = exponent + back - shift.sum(axis=0, dtype=np.int64)
    magnitudes = np.add.accumulate(np.log2(np.abs(rows)), axis=0)
    return _Factor(
        scaled, exponent, np.fmax.reduce(magnitudes, axis=0), np.fmin.reduce(magnitudes, axis=0)
    )


def _shifted(x: Any, exponents: Any) -> Any:
    """Return ``x * 2**exponents``."""
    exponents = np.clip(exponents, -(1 << 20), 1 << 20).astype(np.int32)
    if np.asarray(x).dtype.kind != "c":
        return np.ldexp(x, exponents)
    return np.ldexp(x.real, exponents) + 1j * np.ldexp(x.imag, exponents)


def _products_before(partials: Sequence[_Factor], params: ScanParams) -> Any:
    """Return the product of all that goes before each block.

    What was infinite or zero on the way stays so, as it does in one running product.
    """
    limits = np.finfo(params.dtype)
    scaled, exponent = np.ones_like(partials[0].scaled), np.zeros_like(partials[0].exponent)
    found = []
    with np.errstate(all="ignore"):
        for part in partials:
            found.append(_shifted(scaled, exponent).astype(params.dtype))
            at = np.log2(np.abs(scaled)) + exponent
            over = at + part.highest >= limits.maxexp
            under = at + part.lowest < limits.minexp - limits.nmant - 1
            scaled = scaled * part.scaled
            scaled = np.where(over, scaled * np.inf, np.where(under, scaled * 0.0, scaled))
            back = np.frexp(np.abs(scaled))[1]
            scaled, exponent = _shifted(scaled, -back), exponent + part.exponent + back
    return np.stack(found)


FACTORS = row(Fold("scan.factors", _factor, _products_before, rows=_block, loop="exp", flops=30.0))


def _multiply_on(pieces: Sequence[Any], params: ScanParams, lo: int, _hi: int, out: Any) -> None:
    rows = pieces[0]
    if lo:
        rows = np.array(rows, params.dtype)
        np.multiply(pieces[1][0], rows[0], out=rows[:1].reshape(rows.shape[1:]))
    accumulate("multiply", rows, out)


RUNNING_PRODUCTS = row(
    Scan("scan.products", _rows_and_before, _multiply_on, rows=_block, loop="scan")
)


# ---------------------------------------------------------------- row after row


class RunParams(NamedTuple):
    """``ufunc``, which does not fold in blocks, is accumulated in ``dtype`` along axis 0."""

    by_rows: tuple[bool, ...]
    ufunc: str
    dtype: np.dtype


def followed(rows: Any, before: Any, params: RunParams, out: Any) -> Any:
    """Write the running folds of rows that come after others; return what the next come after.

    That is the last fold but one, and the last row: NumPy's loop then makes the last fold again,
    and never runs over so few rows that it would take another way than over many.
    """
    whole = np.concatenate([before, rows], dtype=params.dtype, casting="unsafe")
    folds = getattr(np, params.ufunc).accumulate(whole, axis=0)
    np.copyto(out, folds[len(before) :])
    return np.stack([folds[-2], whole[-1]]) if len(whole) > 1 else whole


def _run(pieces: Sequence[Any], params: RunParams, _lo: int, _hi: int, out: Any) -> None:
    getattr(np, params.ufunc).accumulate(pieces[0], axis=0, dtype=params.dtype, out=out)


def _these_rows(_shapes: Shapes, _params: Any, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi),)


RUN = row(
    Scan("scan.run", _these_rows, _run, rows=lambda shapes, _params: shapes[0][0], loop="scan")
)


# ---------------------------------------------------------------- along the other axes


class AlongParams(NamedTuple):
    """``ufunc`` is accumulated in ``dtype`` along ``axis``, which is not 0."""

    by_rows: tuple[bool, ...]
    ufunc: str
    dtype: np.dtype
    axis: int


def _along(pieces: Sequence[Any], params: AlongParams, _lo: int, _hi: int, out: Any) -> None:
    accumulate(params.ufunc, pieces[0], out, params.axis)


ALONG = row(Scan("scan.along", _these_rows, _along, loop="scan"))


# ---------------------------------------------------------------- slices


class SliceParams(NamedTuple):
    """Row ``k`` of the result folds rows ``indices[k]`` to ``indices[k + 1]`` (int64, as bytes)."""

    ufunc: str
    dtype: np.dtype
    indices: bytes


def _slices(params: SliceParams, rows: int, lo: int, hi: int) -> tuple[np.ndarray, int, int]:
    """Return where slices ``lo:hi`` start, where the last of them ends, and where the last does."""
    every = np.frombuffer(params.indices, np.int64)
    starts = every[lo:hi]
    following = np.append(every[lo + 1 : hi + 1], [] if hi < len(every) else [rows])
    ends = np.maximum(following, starts + 1).astype(np.int64)  # one row where nothing lies between
    return starts, int(ends[-1]), int(ends.max())


def _rows_of_slices(shapes: Shapes, params: SliceParams, lo: int, hi: int) -> tuple[Piece, ...]:
    starts, _, stop = _slices(params, shapes[0][0], lo, hi)
    return (Piece(0, int(starts.min()), stop),)


def _fold_slices(pieces: Sequence[Any], params: SliceParams, lo: int, hi: int, out: Any) -> None:
    first = int(np.frombuffer(params.indices, np.int64)[lo:hi].min())
    starts, end, _ = _slices(params, first + len(pieces[0]), lo, hi)
    local = starts - first
    if end - first < len(pieces[0]):
        local = np.append(local, end - first)
    reduceat = getattr(np, params.ufunc).reduceat
    out[...] = reduceat(pieces[0], local, axis=0, dtype=params.dtype)[: hi - lo]


class AlongSlicesParams(NamedTuple):
    """Slices of ``axis``, which is not 0, start at ``indices``."""

    by_rows: tuple[bool, ...]
    ufunc: str
    dtype: np.dtype
    axis: int
    indices: tuple[int, ...]


def _fold_along(
    pieces: Sequence[Any], params: AlongSlicesParams, _lo: int, _hi: int, out: Any
) -> None:
    ufunc = getattr(np, params.ufunc)
    ufunc.reduceat(pieces[0], params.indices, axis=params.axis, dtype=params.dtype, out=out)


ALONG_SLICES = row(Indexing("reduceat.along", _these_rows, _fold_along, loop="scan"))

SLICES = row(Indexing("reduceat", _rows_of_slices, _fold_slices, loop="reduce"))
