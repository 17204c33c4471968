"""The Fourier transform of one long sequence whose elements lie on nodes.

``numpy.fft`` itself is NumPy's Python over a handful of generalised ufuncs; what stands here is
asked when one of them is called with a single sequence on nodes. The sequence is framed as a matrix
of nearly square shape, of which columns and then rows are transformed (Bailey's four steps), with
three exchanges between the nodes. Lengths without such factors go through a convolution of a length
that has them (Bluestein). Real sequences are transformed as half as many complex numbers.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import blocks, calls, composites
from dnumpy.api.array import from_expr, ndarray, small
from dnumpy.api.linalg import ONE_NODE_BYTES
from dnumpy.api.record import content
from dnumpy.api.transplant import transplanted
from dnumpy.config import config
from dnumpy.ops.transforms import (
    CHIRP,
    CIRCLE,
    FRAME,
    PACK,
    ROWS,
    UNFRAME,
    UNPACK,
    Chirp,
    Circle,
    Frame,
    Halves,
    RowTransform,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.expr import Shape
    from dnumpy.ops.families import Op

LEAST = 1024  # elements: below, framing costs more than all else, in whatever mode
OBLONG = 64  # times as long as wide may a frame be: each of its rows is on one node
LONGEST_CHIRP = 3_000_000_000  # elements: the squares of their numbers fit an integer


def _recorded(op: Op, args: list[Any], params: Any, shape: Shape, dtype: np.dtype) -> Any:
    return from_expr(blocks.record(op, [content(x) for x in args], params, shape, dtype))


def sides(count: int) -> tuple[int, int]:
    """Return the factors of ``count`` that are nearest to each other, the smaller first."""
    short = next(k for k in range(isqrt(count), 0, -1) if count % k == 0)
    return short, count // short


def _frames(count: int) -> bool:
    short, long = sides(count)
    return long <= OBLONG * short


def _worth_it(count: int, out: tuple[Shape, np.dtype]) -> bool:
    if count < LEAST or (count > LONGEST_CHIRP and not _frames(count)):
        return False
    return config.mode == "split" or out[0][0] * out[1].itemsize >= ONE_NODE_BYTES


class _Sequence:
    """A sequence framed as a matrix, on its way through the four steps."""

    def __init__(self, values: Any, count: int, dtype: np.dtype, each: int = 1) -> None:
        """Take ``count`` complex numbers; zeros follow where ``values`` has fewer."""
        self.count, self.dtype = count, dtype
        short, long = sides(count)
        frame = Frame(long, each, values.shape[0])
        self.matrix = _recorded(FRAME, [values], frame, (short, long), dtype)

    def transformed(self, sign: int, scale: Any) -> _Sequence:
        """Return the transform, framed the other way."""
        count, dtype = self.count, self.dtype
        columns = blocks.permuted(self.matrix, (1, 0))
        params = RowTransform(sign, count, 1.0)
        columns = _recorded(ROWS, [columns], params, columns.shape, dtype)
        rows = blocks.permuted(columns, (1, 0))
        rows = _recorded(ROWS, [rows], RowTransform(sign, 0, scale), rows.shape, dtype)
        made = object.__new__(_Sequence)
        made.count, made.dtype = count, dtype
        made.matrix = blocks.permuted(rows, (1, 0))
        return made

    def values(self, count: int, dtype: np.dtype, each: int = 1) -> Any:
        """Return the first elements, in one sequence."""
        return _recorded(UNFRAME, [self.matrix], Frame(self.matrix.shape[1], each), (count,), dtype)


def _transformed(values: Any, count: int, sign: int, scale: Any, out: tuple[int, np.dtype]) -> Any:
    """Return the first ``out[0]`` elements of the transform of ``count`` complex numbers."""
    if _frames(count):
        return _Sequence(values, count, out[1]).transformed(sign, scale).values(*out)
    return _by_convolution(values, count, sign, scale, out)


def _by_convolution(
    values: Any, count: int, sign: int, scale: Any, out: tuple[int, np.dtype]
) -> Any:
    wanted, dtype = out
    length = 1 << (2 * count - 2).bit_length()
    taken = min(count, values.shape[0])
    risen = _recorded(CHIRP, [values], Chirp(sign, count, taken), (length,), dtype)
    circle = Circle(Chirp(-sign, count, count), length)
    mirrored = _recorded(CIRCLE, [], circle, (length,), dtype)
    first = _Sequence(risen, length, dtype).transformed(-1, 1.0)
    second = _Sequence(mirrored, length, dtype).transformed(-1, 1.0)
    product = (first.matrix * second.matrix).reshape(-1)
    back = _Sequence(product, length, dtype).transformed(1, 1.0 / length)
    fallen = back.values(count, dtype)
    return _recorded(CHIRP, [fallen], Chirp(sign, count, count, scale), (wanted,), dtype)


def _complex(sign: int) -> Callable[..., list[Any] | None]:
    def transform(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> list[Any] | None:
        if not _fits(args):
            return None
        values, scale, out = args
        count = out[0][0]
        if not _worth_it(count, out):
            return None
        with np.errstate(all="ignore"):
            return [_transformed(values, count, sign, _number(scale), (count, out[1]))]

    return transform


def _number(scale: Any) -> Any:
    """Return the scale as a scalar of its own precision."""
    return np.asarray(calls.unwrap(scale))[()]


def _fits(args: tuple[Any, ...], *, real: bool = False) -> bool:
    """Say whether a call has one sequence of ours on nodes, and an output of NumPy's own type."""
    if len(args) != 3 or type(args[0]) is not ndarray or not args[0].size:
        return False
    precise = np.result_type(args[0].dtype, 1j)
    result = precise.type().real.dtype if real else precise
    return args[2][1] == result and blocks.spread(args[0])


def _real(odd: int) -> Callable[..., list[Any] | None]:
    def transform(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> list[Any] | None:
        if not _fits(args):
            return None
        values, scale, out = args
        wanted, dtype = out[0][0], out[1]
        count = 2 * wanted - 1 if odd else 2 * (wanted - 1)
        if not _worth_it(count // 2, out):
            return None
        with np.errstate(all="ignore"):
            if odd or not _frames(count // 2):
                return [_transformed(values, count, -1, _number(scale), (wanted, dtype))]
            return [_from_halves(values, count, _number(scale), dtype)]

    return transform


def _from_halves(values: Any, count: int, scale: Any, dtype: np.dtype) -> Any:
    half = count // 2
    pairs = _Sequence(values, half, dtype, 2).transformed(-1, 1.0).values(half, dtype)
    circled = composites.concatenate([pairs, pairs[:1]])
    return _recorded(UNPACK, [circled], Halves(count, scale), (half + 1,), dtype)


def _real_back(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> list[Any] | None:
    if not _fits(args, real=True):
        return None
    values, scale, out = args
    count = out[0][0]
    if not _worth_it(count // 2, out):
        return None
    dtype = np.result_type(out[1], np.complex64)
    half = count // 2
    with np.errstate(all="ignore"):
        known = _fitted(values, half + 1, dtype)
        if count % 2 or not _frames(half):
            mirror = composites.flip(known[1 : (count + 1) // 2]).conj()
            whole = composites.concatenate([known, mirror])
            found = _transformed(whole, count, 1, _number(scale), (count, dtype)).real
            return [composites.copy(found, "C")]
        pairs = _recorded(PACK, [known], Halves(count, 1.0), (half,), dtype)
        made = _Sequence(pairs, half, dtype).transformed(1, _number(scale))
        return [made.values(count, out[1], 2)]


def _fitted(values: Any, count: int, dtype: np.dtype) -> Any:
    """Return the first elements, zeros following where there are fewer."""
    framed = _recorded(FRAME, [values], Frame(1, 1, values.shape[0]), (count, 1), dtype)
    return _recorded(UNFRAME, [framed], Frame(1), (count,), dtype)


ALONE: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], list[Any] | None]] = {
    "fft": _complex(-1), "ifft": _complex(1), "rfft_n_even": _real(0), "rfft_n_odd": _real(1),
    "irfft": _real_back,
}  # fmt: skip


def _frequencies(name: str) -> Callable[..., Any]:
    """Return a function of ``numpy.fft`` that makes a long result where its rows will lie."""
    source = getattr(np.fft, name)
    recorded = transplanted(source)

    def frequencies(n: Any, d: Any = 1.0, device: Any = None) -> Any:
        few = type(n) is int and n < config.eager_below and device is None
        if few and (type(d) is float or type(d) is int):
            return small(source(n, d))
        long = isinstance(n, int | np.integer) and n >= max(config.eager_below, 1)
        if long:
            return recorded(n, d, device=device)
        return calls.run(source, (n, d), {"device": device})

    return frequencies


CREATION: dict[str, Callable[..., Any]] = {
    f"fft.{name}": _frequencies(name) for name in ("fftfreq", "rfftfreq")
}
