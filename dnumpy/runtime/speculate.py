"""Draws that may reject a word now and then: drawn on all threads as if none did, then verified.

Where a piece has rejected words, the pieces after it began at the wrong place: they are drawn
again from the right one. The values are NumPy's whatever happens.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from dnumpy.config import thread_count
from dnumpy.kernels.draws import fill_to_end
from dnumpy.ops.streams import ahead
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dnumpy.expr.expr import Shape
    from dnumpy.ops.streams import Draw, Stream, Unit

SMALLEST, LARGEST = 1 << 17, 1 << 20  # values per thread between two verifications
REJECTED_AT_MOST = 0.25  # expected rejections between two verifications


def piece_size(rejection: float) -> int | None:
    """Return the values per thread and verification; None where guessing would not pay.

    ``rejection`` is the probability that a word is rejected.
    """
    threads = thread_count()
    expected = rejection * threads
    size = LARGEST if expected * LARGEST <= REJECTED_AT_MOST else SMALLEST
    return size if threads > 1 and expected * size <= REJECTED_AT_MOST else None


def drawn_in_threads(
    draw: Draw, shape: Shape, dtype: np.dtype, piece: int
) -> tuple[np.ndarray, Stream]:
    """Return the values of ``draw`` and where the stream stands after them."""
    assert draw.unit is not None
    made = pool.empty(shape, dtype)
    flat, done, count = made.reshape(-1), 0, prod(shape)
    while done < count:
        size = _share(count - done, piece)
        stop = min(done + size * thread_count(), count)
        pieces = [flat[a : min(a + size, stop)] for a in range(done, stop, size)]
        ends: list[Stream] = in_threads(
            [_filling(draw, part, k * size) for k, part in enumerate(pieces)]
        )
        right, place = _verified(draw.stream, draw.unit, [part.size for part in pieces], ends)
        done += right
        draw = replace(draw, stream=place)
    return made, draw.stream


def _share(count: int, most: int) -> int:
    """Return the values of each thread in the next round, so that all rounds are alike."""
    threads = thread_count()
    rounds = -(-count // (most * threads))
    return -(-count // (rounds * threads))


def _filling(draw: Draw, part: np.ndarray, first: int) -> Callable[[], Stream]:
    return lambda: fill_to_end(draw, part, first)


def _verified(
    stream: Stream, unit: Unit, sizes: list[int], ends: list[Stream]
) -> tuple[int, Stream]:
    """Return how many values are right, and the place after them."""
    done = 0
    for size, end in zip(sizes, ends, strict=True):
        done += size
        if end != ahead(stream, unit, done):
            break  # this piece is right, the next one began too early
    return done, end
