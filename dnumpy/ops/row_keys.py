"""Keys of whole rows: bytes whose order is that of the rows, however many columns there are.

Elements stand one after the other with the highest byte first, their bits changed so that the
order of the bytes is that of the numbers: the sign bit of integers is flipped, and so are all bits
of negative floats. Zeros are one zero, and NaNs one NaN above all numbers; below them where
floats are of 2 bytes, as NumPy compares fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.ops.families import Piece, RowParams, Rowwise, Sorting, read_by_rows, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes

HALF = 2  # bytes of float16
WIDEST = 8  # bytes of a number whose bits are those of an unsigned integer


def has_keys(dtype: np.dtype) -> bool:
    """Say whether rows of this dtype have keys; those of complex numbers must be free of NaN."""
    return dtype.itemsize <= WIDEST * (1 + (dtype.kind == "c"))


def key_dtype(dtype: np.dtype, columns: int) -> np.dtype:
    """Return the dtype of the keys of rows."""
    return np.dtype((np.void, dtype.itemsize * columns))


def keys(rows: np.ndarray) -> np.ndarray:
    """Return the key of each row of a table."""
    dtype = key_dtype(rows.dtype, rows.shape[1])
    values = np.ascontiguousarray(rows)
    if values.dtype.kind == "c":
        values = values.view(values.real.dtype)
    number = np.dtype(f"u{values.dtype.itemsize}")
    top = number.type(1 << (8 * number.itemsize - 1))
    match values.dtype.kind:
        case "f":
            with np.errstate(all="ignore"):
                values = values + values.dtype.type(0)
            bits = values.view(number)
            bits = np.where(bits & top, ~bits, bits | top)
            bits[np.isnan(values)] = 0 if number.itemsize == HALF else ~number.type(0)
        case "i":
            bits = values.view(number) ^ top
        case _:
            bits = values.view(number)
    ordered: np.ndarray = bits.astype(number.newbyteorder(">")).view(dtype)
    return ordered.reshape(len(rows))


def _row_keys(
    pieces: Sequence[Any], _params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    out[...] = keys(pieces[0])


ROW_KEYS = row(Rowwise("row_keys", read_by_rows, _row_keys, None, "gather", 4.0))


def _and_the_one_before(_shapes: Shapes, _params: RowParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, max(lo - 1, 0), hi),)


def _differs(pieces: Sequence[Any], _params: RowParams, lo: int, _hi: int, out: np.ndarray) -> None:
    (values,) = pieces
    out[:1] = True
    out[not lo :] = values[1:] != values[:-1]


DIFFERS = row(Sorting("differs", _and_the_one_before, _differs, None, "compare", 4.0))
