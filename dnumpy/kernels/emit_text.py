"""Lines of a kernel's text, and operations as expressions in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dnumpy.kernels.flags import ALL_FLAGS

if TYPE_CHECKING:
    from dnumpy.kernels.lower import Node
    from dnumpy.kernels.schedule import Schedule

_WRAPPING = frozenset({"add", "subtract", "multiply", "square", "negative"})


Field = tuple[Any, ...]


@dataclass(slots=True)
class Kernel:
    """Source, and for each field what to put there."""

    source: str
    fields: list[Field]
    constants: list[tuple[int, str]]  # (value, code) of each 16-byte cell
    cells: int
    states: int
    schedule: Schedule
    count: int = 0  # iterations of a program that is a loop


@dataclass(slots=True)
class Text:
    """Lines, indented."""

    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def add(self, line: str) -> None:
        """Write one line."""
        self.lines.append("    " * self.depth + line)


def constant(value: int, code: str) -> str:
    """Return the name of a constant."""
    return f"c{value}_{code}"


def cast(name: str, source: str, target: str) -> str:
    """Return a value of one code in another."""
    if source == target:
        return name
    return f"({name} != 0)" if target == "b1" else f"{target}({name})"


def note_flags(noting: str, noted: str) -> tuple[str, ...]:
    """Return the lines that collect the flags raised so far, as ``kernels/flags.py`` says."""
    return (
        f"store_i8({noted}, 1, 0, 0, 0)",
        f"call_loop({noting}, 0, {noted} + 8, {ALL_FLAGS}, 0)",
        f"store_i8({noted}, 0, load_i8({noted}, 0, 0, 0) | load_i8({noted}, 1, 0, 0), 0, 0)",
    )


def map_text(node: Node, names: list[str], index: str) -> str:
    """Return the expression of a map; small integers and booleans come back to their own width.

    Signed integers wrap around in NumPy. Numba tells LLVM that they never do, so that they are
    computed as unsigned ones; shorter ones are widened first and cannot overflow.
    """
    if node.code == "i8" and node.name in _WRAPPING:
        names = [f"u8({name})" for name in names]
    text = node.template.format(*names).replace("INDEX", f"({index})")
    if node.code[0] in "iu" and node.template != "{0}":
        return f"{node.code}({text})"
    if node.code == "b1" and node.template != "{0}":
        return f"({text} != 0)"  # the sum of two booleans is whether one is true
    return text
