"""Random streams that can be entered at any place: where a bit generator stands, as plain data.

A stream is a sequence of 64-bit words. NumPy's 32-bit draws take half a word and keep the other
half for the next one, which is part of the place. The places that are reached here are NumPy's,
bit for bit, leftover halves and Philox's buffer of four words included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np


class Seekable(Protocol):
    """A bit generator of NumPy's that can be put at any place of its stream."""

    state: Any

    def advance(self, delta: int) -> object:
        """Skip words; Philox: blocks of words."""
        ...

    def random_raw(self, size: int) -> np.ndarray:
        """Return the next words."""
        ...


SEEKABLE = ("PCG64", "PCG64DXSM", "Philox")
_PHILOX_BLOCK = 4  # words that one step of Philox's counter gives
_JUMP = 0x9E3779B97F4A7C15F39CC0605CEDC835  # words between jumped streams: 2**128 / golden ratio


@dataclass(frozen=True, slots=True)
class Stream:
    """A place in the stream of a bit generator of this ``kind``: the numbers of its state."""

    kind: str
    numbers: tuple[int, ...]

    def state(self) -> dict[str, Any]:
        """Return the state as NumPy's bit generators take it."""
        *inner, has_half, half = self.numbers
        state: dict[str, Any] = {
            "bit_generator": self.kind,
            "has_uint32": has_half,
            "uinteger": half,
        }
        if self.kind == "Philox":
            words = np.array(inner[:-1], np.uint64)
            state["state"] = {"counter": words[:4], "key": words[4:6]}
            state["buffer"] = words[6:]
            state["buffer_pos"] = inner[-1]
        else:
            state["state"] = {"state": inner[0], "inc": inner[1]}
        return state


class Unit(NamedTuple):
    """What a draw takes from its stream: words of ``bits`` bits, each of which gives ``per``."""

    bits: int
    per: int


@dataclass(frozen=True, slots=True)
class Draw:
    """Values of NumPy's ``Generator.method(**arguments)`` from a stream.

    With a ``unit`` value ``k`` comes from word ``k // per`` after the place of the stream, so that
    these are the values that NumPy draws. Without one, each granule of values is drawn from a
    stream of its own, jumped from the place.
    """

    stream: Stream
    method: str
    arguments: tuple[tuple[str, Any], ...]
    unit: Unit | None


def seekable(kind: str) -> Any:
    """Return a new bit generator of the kind; NumPy's module is loaded when first asked for."""
    return getattr(np.random, kind)(0)


def stream_of(bit_generator: object) -> Stream | None:
    """Return where a bit generator stands, None for a kind that cannot be entered anywhere."""
    for kind in SEEKABLE:
        if isinstance(bit_generator, getattr(np.random, kind)):
            return Stream(kind, _numbers(cast("Seekable", bit_generator).state))
    return None


def _numbers(state: dict[str, Any]) -> tuple[int, ...]:
    inner = state["state"]
    half = (int(state["has_uint32"]), int(state["uinteger"]))
    if state["bit_generator"] == "Philox":
        words = (*inner["counter"].tolist(), *inner["key"].tolist(), *state["buffer"].tolist())
        return (*words, int(state["buffer_pos"]), *half)
    return (inner["state"], inner["inc"], *half)


def enter(bit_generator: Seekable, stream: Stream, unit: Unit, values: int) -> None:
    """Make a bit generator of the stream's kind stand after ``values`` values."""
    words = -(-values // unit.per)
    if unit.bits == 32:
        _skip_halves(bit_generator, stream, words)
    else:
        _skip_words(bit_generator, stream, words)


def ahead(stream: Stream, unit: Unit, values: int) -> Stream:
    """Return the place after ``values`` values."""
    reader = seekable(stream.kind)
    enter(reader, stream, unit, values)
    return Stream(stream.kind, _numbers(reader.state))


def enter_jumped(bit_generator: Seekable, stream: Stream, jumps: int) -> None:
    """Make a bit generator stand where ``jumped(jumps)`` of one at ``stream`` does (PCG only)."""
    bit_generator.state = stream.state()
    bit_generator.advance(jumps * _JUMP % (1 << 128))


def _skip_words(bit_generator: Seekable, stream: Stream, words: int) -> None:
    *_, has_half, half = stream.numbers
    if stream.kind == "Philox":
        _skip_blocks(bit_generator, stream, words)
        return
    bit_generator.state = stream.state()
    if words:
        bit_generator.advance(words)
        if has_half or half:  # advance forgets them, drawing words does not
            after = bit_generator.state
            after["has_uint32"], after["uinteger"] = has_half, half
            bit_generator.state = after


def _skip_blocks(bit_generator: Seekable, stream: Stream, words: int) -> None:
    state = stream.state()
    position = state["buffer_pos"] + words
    block, last = divmod(position - 1, _PHILOX_BLOCK)
    if not words or not block:
        state["buffer_pos"] = position
        bit_generator.state = state
        return
    counter = sum(int(word) << 64 * k for k, word in enumerate(state["state"]["counter"]))
    counter += block - 1
    state["state"]["counter"] = np.array(
        [counter >> 64 * k & (1 << 64) - 1 for k in range(_PHILOX_BLOCK)], np.uint64
    )
    state["buffer_pos"] = _PHILOX_BLOCK
    bit_generator.state = state
    bit_generator.random_raw(last + 1)  # which fills the buffer as NumPy's own draws would


def _skip_halves(bit_generator: Seekable, stream: Stream, halves: int) -> None:
    *words, has_half, half = stream.numbers
    if halves <= has_half:
        kept = (*words, has_half - halves, half)
        bit_generator.state = Stream(stream.kind, kept).state()
        return
    fresh = halves - has_half
    before = (fresh - 1) // 2
    _skip_words(bit_generator, Stream(stream.kind, (*words, 0, half)), before)
    generator = np.random.Generator(cast("np.random.BitGenerator", bit_generator))
    generator.random(fresh - 2 * before, dtype=np.float32)
