"""The table of all programs, and the choice of some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.everyday import (
    images,
    integers,
    learning,
    linear,
    physics,
    records,
    samples,
    signals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Program = Callable[[Any, float], Any]

TOPICS = (physics, images, signals, samples, learning, linear, records, integers)
PROGRAMS: dict[str, Program] = {
    program.__name__: program for topic in TOPICS for program in topic.PROGRAMS
}


def chosen(names: Sequence[str]) -> dict[str, Program]:
    """Return the programs of these names, each once; all of them where none is named.

    Raises
    ------
    ValueError
        There is no such program.
    """
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        msg = f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}"
        raise ValueError(msg)
    return {name: PROGRAMS[name] for name in names or PROGRAMS}
