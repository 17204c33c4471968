"""Values of a draw, any run of them: NumPy's own generators, put where the run begins.

Each thread has a generator of its own, which goes on where its last run ended, so that runs that
follow each other cost nothing but the drawing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from dnumpy.ops.streams import Draw, Stream, enter, enter_jumped, seekable, stream_of

GRANULE = 1 << 16  # values that come from one jumped stream
_PIECE = 1 << 16  # values drawn at a time where NumPy cannot draw into given memory
_INTO_MEMORY = frozenset({"random", "standard_exponential", "standard_normal", "standard_gamma"})
_NOWHERE = -1


@dataclass(slots=True)
class _Reader:
    """A generator that stands before value ``place`` of ``draw``."""

    bit_generator: Any
    generator: np.random.Generator
    draw: Draw | None = None
    place: int = _NOWHERE


_local = threading.local()


def fill(draw: Draw, out: np.ndarray, first_row: int) -> None:
    """Fill ``out`` with rows ``first_row`` and following of the array that ``draw`` denotes."""
    if not out.size:
        return
    flat = out.reshape(-1) if out.flags.c_contiguous else np.empty(out.size, out.dtype)
    fill_from(draw, flat, first_row * (out.size // len(out)))
    if not out.flags.c_contiguous:
        out[...] = flat.reshape(out.shape)


def fill_from(draw: Draw, flat: np.ndarray, first: int) -> None:
    """Fill a flat array with values ``first`` and following."""
    if draw.unit is None:
        _fill_granules(draw, flat, first)
        return
    reader = _reader(draw.stream)
    skipped = first % draw.unit.per  # values of a word that is cut in two
    if reader.place != first - skipped or reader.draw != draw:
        enter(reader.bit_generator, draw.stream, draw.unit, first - skipped)
    reader.draw, reader.place = draw, _NOWHERE
    if skipped:
        whole = np.empty(skipped + flat.size, flat.dtype)
        _sample(reader.generator, draw, whole)
        flat[...] = whole[skipped:]
    else:
        _sample(reader.generator, draw, flat)
    stop = first + flat.size
    reader.place = _NOWHERE if stop % draw.unit.per else stop


def fill_to_end(draw: Draw, flat: np.ndarray, first: int) -> Stream:
    """Fill as :func:`fill_from` does, and return where the stream stands then."""
    fill_from(draw, flat, first)
    reader = _reader(draw.stream)
    reader.place = _NOWHERE  # it may have taken more words than other draws of its kind
    end = stream_of(reader.bit_generator)
    assert end is not None
    return end


def _fill_granules(draw: Draw, flat: np.ndarray, first: int) -> None:
    reader = _reader(draw.stream)
    stop, done = first + flat.size, 0
    while first + done < stop:
        granule, inside = divmod(first + done, GRANULE)
        count = min(GRANULE - inside, stop - first - done)
        if inside == 0 or reader.place != first + done or reader.draw != draw:
            enter_jumped(reader.bit_generator, draw.stream, granule)
            _sample(reader.generator, draw, np.empty(inside, flat.dtype))
        reader.draw, reader.place = draw, _NOWHERE
        _sample(reader.generator, draw, flat[done : done + count])
        done += count
        reader.place = first + done


def _reader(stream: Stream) -> _Reader:
    readers: dict[str, _Reader] = _local.__dict__
    found = readers.get(stream.kind)
    if found is None:
        made = seekable(stream.kind)
        found = readers[stream.kind] = _Reader(made, np.random.Generator(made))
    return found


def _sample(generator: np.random.Generator, draw: Draw, flat: np.ndarray) -> None:
    """Draw the next values; those of cut words begin with a piece."""
    method = getattr(generator, draw.method)
    named = dict(draw.arguments)
    if draw.method in _INTO_MEMORY:
        method(**{**named, "dtype": flat.dtype}, out=flat)
        return
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        piece[...] = method(**named, size=piece.size)
