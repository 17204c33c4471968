"""Steps of the Fourier transform of one sequence that lies on nodes.

The sequence is a matrix, row by row; its columns and its rows are transformed, with factors in
between whose exponents are integers, taken modulo the length before they are rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Blocked, Piece, named, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes

_QUARTERS = np.array([1, 1j, -1, -1j])
_BATCH = 1 << 14  # roots made at a time: their parts stay in cache


def roots(exponents: np.ndarray, order: int, dtype: np.dtype) -> np.ndarray:
    """Return ``exp(2j pi k / order)`` of integers ``k``, to about one unit in the last place.

    Quarter turns are taken out as integers, so that angles are at most an eighth of a turn.
    """
    real = np.empty(0, dtype).real.dtype
    quarters = np.rint(exponents * (4.0 / order)).astype(np.int64)
    rest = 4 * exponents - quarters * order  # exact, whatever the rounding of the quarters
    angle = rest.astype(real) * (_half_pi(real) / real.type(order))
    made = np.empty(exponents.shape, dtype)
    np.cos(angle, out=made.real)
    np.sin(angle, out=made.imag)
    made *= _QUARTERS.astype(dtype)[quarters % 4]
    return made


def _half_pi(real: np.dtype) -> Any:
    return 2 * np.arctan(np.ones((), real))


class RowTransform(NamedTuple):
    """Transform every row; then multiply element (i, j) by ``exp(sign 2j pi i j / order)``.

    ``order`` 0 stands for no factor; the results are multiplied by ``scale``.
    """

    sign: int
    order: int
    scale: Any


def _own_rows(_shapes: Shapes, _params: Any, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi),)


def _transform_rows(
    pieces: Sequence[Any], params: RowTransform, lo: int, hi: int, out: Any
) -> None:
    transform = named(f"numpy.fft._pocketfft_umath.{'fft' if params.sign < 0 else 'ifft'}")
    scale = np.asarray(params.scale, out.real.dtype)
    transform(pieces[0], scale, axes=[(-1,), (), (-1,)], out=out)
    if params.order:
        columns = np.arange(out.shape[1])
        step = max(1, _BATCH // out.shape[1])
        for start in range(lo, hi, step):
            rows = np.arange(start, min(start + step, hi))[:, None]
            exponents = params.sign * (rows * columns % params.order)
            out[start - lo : start - lo + len(rows)] *= roots(exponents, params.order, out.dtype)


ROWS = row(Blocked("transform.rows", _own_rows, _transform_rows, loop="fft"))


class Frame(NamedTuple):
    """A sequence as rows of ``width``, complex numbers of ``each`` elements of the sequence.

    ``given`` is the number of elements that there are to be framed.
    """

    width: int
    each: int = 1
    given: int = 0


def _stretch(shapes: Shapes, params: Frame, lo: int, hi: int) -> tuple[Piece, ...]:
    step, count = params.width * params.each, shapes[0][0]
    first = min(lo * step, count - 1)
    return (Piece(0, first, max(min(hi * step, count), first + 1)),)


def _frame(pieces: Sequence[Any], params: Frame, lo: int, _hi: int, out: Any) -> None:
    """Fill rows with the sequence, and with zeros after its end."""
    flat = out.reshape(-1)
    flat = flat.view(flat.real.dtype) if params.each > 1 else flat
    (given,) = pieces
    count = min(max(params.given - lo * params.width * params.each, 0), len(flat))
    np.copyto(flat[:count], given[:count], casting="unsafe")
    flat[count:] = 0


def _rows_of(_shapes: Shapes, params: Frame, lo: int, hi: int) -> tuple[Piece, ...]:
    step = params.width * params.each
    return (Piece(0, lo // step, -(-hi // step)),)


def _unframe(pieces: Sequence[Any], params: Frame, lo: int, hi: int, out: Any) -> None:
    flat = pieces[0].reshape(-1)
    flat = flat.view(flat.real.dtype) if params.each > 1 else flat
    first = lo % (params.width * params.each)
    np.copyto(out, flat[first : first + hi - lo])


FRAME = row(Blocked("transform.frame", _stretch, _frame, loop="cast"))
UNFRAME = row(Blocked("transform.unframe", _rows_of, _unframe, loop="cast"))


class Chirp(NamedTuple):
    """Multiply element j by ``scale exp(sign 1j pi j**2 / order)``; zeros follow ``taken``."""

    sign: int
    order: int
    taken: int
    scale: Any = 1.0


def _chirp(params: Chirp, index: np.ndarray, dtype: np.dtype) -> np.ndarray:
    squares = index * index % (2 * params.order)
    return roots(params.sign * squares, 2 * params.order, dtype)


def _as_far(shapes: Shapes, _params: Chirp, lo: int, hi: int) -> tuple[Piece, ...]:
    count = shapes[0][0]
    first = min(lo, count - 1)
    return (Piece(0, first, max(min(hi, count), first + 1)),)


def _chirped(pieces: Sequence[Any], params: Chirp, lo: int, hi: int, out: Any) -> None:
    stop = max(lo, min(hi, params.taken))
    count = stop - lo
    out[count:] = 0
    np.multiply(pieces[0][:count], _chirp(params, np.arange(lo, stop), out.dtype), out=out[:count])
    out[:count] *= out.real.dtype.type(params.scale)


CHIRP = row(Blocked("transform.chirp", _as_far, _chirped, loop="trig", flops=4.0))


class Circle(NamedTuple):
    """A chirp and its mirror image at the end of a circle of ``length`` elements."""

    chirp: Chirp
    length: int


def _nothing(_shapes: Shapes, _params: Circle, _lo: int, _hi: int) -> tuple[Piece, ...]:
    return ()


def _circled(_pieces: Sequence[Any], params: Circle, lo: int, hi: int, out: Any) -> None:
    index = np.arange(lo, hi)
    index = np.minimum(index, params.length - index)
    inside = index < params.chirp.taken
    np.multiply(_chirp(params.chirp, index * inside, out.dtype), inside, out=out)


CIRCLE = row(Blocked("transform.circle", _nothing, _circled, loop="trig", flops=4.0))


class Halves(NamedTuple):
    """A real sequence of ``order`` elements, half as many, is one of complex numbers."""

    order: int
    scale: Any


def _mirrored(shapes: Shapes, _params: Halves, lo: int, hi: int) -> tuple[Piece, ...]:
    last = shapes[0][0]
    return (Piece(0, lo, hi), Piece(0, last - hi, last - lo))


def _unpack(pieces: Sequence[Any], params: Halves, lo: int, hi: int, out: Any) -> None:
    """Return the spectrum of the real sequence, of that of pairs of its elements, circled."""
    ahead, back = pieces[0], np.conj(pieces[1][::-1])
    factor = roots(-np.arange(lo, hi), params.order, out.dtype)
    half = out.real.dtype.type(params.scale / 2)
    np.subtract(ahead, back, out=out)
    out *= factor
    out *= -1j
    out += ahead
    out += back
    out *= half


def _pack(pieces: Sequence[Any], params: Halves, lo: int, hi: int, out: Any) -> None:
    """Return twice the spectrum of pairs of elements, of that of the real sequence."""
    ahead, back = np.array(pieces[0]), np.conj(pieces[1][::-1])
    if not lo:  # the ends are real, whatever they hold
        ahead[0], back[0] = ahead[0].real, back[0].real
    np.subtract(ahead, back, out=out)
    out *= roots(np.arange(lo, hi), params.order, out.dtype)
    out *= 1j
    out += ahead
    out += back


UNPACK = row(Blocked("transform.unpack", _mirrored, _unpack, loop="trig", flops=4.0))
PACK = row(Blocked("transform.pack", _mirrored, _pack, loop="trig", flops=4.0))
