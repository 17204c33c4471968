"""Loops whose outputs go to memory past the caches, and what is fetched meanwhile.

An output that nobody reads before it has left the caches is written to whole lines at once, which
spares reading them first. Where a unit is walked several times, all passes but the first read what
is in the cache: memory would wait for them, and then they for memory. So the last pass asks for
what the first reads of the next unit. Rows of 1,000 to mean 0 and deviation 1 took 1.21 ns an
element on one core without either, 1.00 with lines alone, 1.01 fetching alone, 0.66 with both
(measured in C, on an Intel Xeon with AVX-512).
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.kernels.emit_text import Text
    from dnumpy.kernels.lower import Node, Program
    from dnumpy.kernels.schedule import Schedule

LINE = 64  # bytes of a line of a cache
LINES = 16  # collected before they are written past the caches: more, and reading waits for them
FETCHED_BYTES = 1 << 17  # of a unit that is fetched while the one before it is written
STREAMED_BYTES = 16 << 20  # at least, of outputs that are written past the caches


class Emits(Protocol):
    """What writes the text of a kernel."""

    text: Text
    program: Program
    layouts: Sequence[str]
    schedule: Schedule
    by_lines: bool

    def get(self, *what: Any) -> str:
        """Return the local name of a field."""
        ...

    def loop(
        self, maps: list[Node], walk: tuple[str, str], lines: frozenset[int] = frozenset()
    ) -> None:
        """Emit one vectorised loop, whose values in ``lines`` are collected there."""
        ...


@lru_cache(maxsize=1)
def streamed_bytes() -> int:
    """Return the size of outputs that caches would lose before anybody reads them again."""
    try:
        shared = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (AttributeError, OSError, ValueError):  # not Linux's C library
        shared = 0
    return max(shared // 2, STREAMED_BYTES)


def past_caches(emitter: Emits, maps: list[Node], streamed: list[Node]) -> None:
    """Emit the arithmetic of a chunk whose outputs go to memory past the caches.

    They are collected a few lines at a time, if they are large; what lies before the first
    whole line is written like anything else. Lines of all of them begin with the same element.
    """
    t = emitter.text
    sizes = {n.value: np.dtype(n.code).itemsize for n in streamed}
    step, whole = LINES * LINE // max(sizes.values()), LINE // min(sizes.values())
    (first, size), *_ = sizes.items()
    t.add("b = 0")
    t.add("full = 0")
    t.add("plain = n")
    t.add(f"if {emitter.get('streams')} != 0:")
    t.add(f"    k = ((0 - q{first}) & {LINE - 1}) >> {size.bit_length() - 1}")
    aligned = [f"(((q{v} + k * {s}) & {LINE - 1}) == 0)" for v, s in sizes.items()]
    t.add(f"    if {' & '.join(['(k <= n)', *aligned])}:")
    t.add("        plain = k")
    t.add(f"        full = k + ((n - k) & -{whole})")
    t.add("for part in range(2):")  # before the first whole line, and behind the last
    t.depth += 1
    emitter.loop(maps, ("plain - b", "b + j"))
    t.add("b = plain")
    t.add("plain = n")
    t.add("while b < full:")
    t.depth += 1
    t.add("k = full - b")
    t.add(f"if k > {step}:")
    t.add(f"    k = {step}")
    _fetch(emitter)
    emitter.loop(maps, ("k", "b + j"), frozenset(sizes))
    for value, size in sizes.items():
        line = emitter.get("line", value)
        t.add(f"stream(q{value} + b * {size}, {line}, (k * {size}) >> {LINE.bit_length() - 1})")
    t.add("b += k")
    t.depth -= 2


def _fetch(emitter: Emits) -> None:
    """Ask for what the first pass reads of the next unit, as much as is written of this one.

    Where there are further passes. Units that the nearer caches cannot keep as long are left alone.
    """
    passes, layouts = emitter.schedule.passes, emitter.layouts
    if len(passes) < 2:
        return
    first = [n for stage in passes[0] for n in [*stage.maps, *stage.others]]
    for value in sorted({a.value for n in first for a in n.args}):
        if value < len(layouts) and layouts[value] == "d":
            size = np.dtype(emitter.program.codes[value]).itemsize
            step = emitter.get("step" if emitter.by_lines else "stride", value)
            lines = f"(k * {size}) >> {LINE.bit_length() - 1}"
            emitter.text.add(f"if length <= {FETCHED_BYTES // size}:")
            emitter.text.add(f"    prefetch(p{value} + {step} + (i0 + b) * {size}, {lines})")
