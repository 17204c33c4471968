"""What one run of a compiled kernel is told, and the scratch memory that it has to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.kernels.emit import CHUNK
from dnumpy.kernels.emit_past import LINE, LINES
from dnumpy.kernels.helpers import STATE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnumpy.kernels.emit_text import Kernel
    from dnumpy.kernels.lower import Program

_APART = 704  # bytes between buffers: same page offsets of loads and stores would stall


class Frame(NamedTuple):
    """What one run of a kernel is told, and memory of its own; native/launch.c knows of it too."""

    fields: np.ndarray
    noted: np.ndarray  # flags: see :mod:`dnumpy.kernels.flags`
    constants: list[Any]  # the numbers that lie in the cells
    cells: np.ndarray  # 16 bytes each
    plans: dict[int, np.ndarray]
    own: np.ndarray  # where the fields name its own memory
    scratch: np.ndarray

    def tell(self, other: Frame) -> None:
        """Let another frame of the same kernel be told what this one is."""
        own = self.own
        kept = other.fields[own]
        other.fields[:] = self.fields
        other.fields[own] = kept
        other.cells[:] = self.cells
        other.constants[:] = self.constants
        for value, plan in self.plans.items():
            other.plans[value][:] = plan


def lay_out(
    kernel: Kernel,
    program: Program,
    tile: int,
    position: Mapping[tuple[Any, ...], int],
    static: np.ndarray,
) -> Frame:
    """Return a frame with the fields that are the same in all runs, and scratch memory."""
    fields = static.copy()
    sizes = _sizes(kernel, program, tile)
    offsets, total = {}, 0
    for what, size in sizes.items():
        offsets[what] = total
        total += -(-size // 64) * 64 + _APART
    scratch = np.empty(total + 64, np.uint8)
    base = -(-address_of(scratch) // 64) * 64
    own = [position[what] for what in offsets if what in position]
    for what, offset in offsets.items():
        if what in position:
            fields[position[what]] = base + offset
    begin = base - address_of(scratch)
    plans = {
        value: np.ndarray(
            sizes["plan", value] // 8, np.int64, scratch, begin + offsets["plan", value]
        )
        for kind, value in [what for what in sizes if len(what) == 2]
        if kind == "plan"
    }
    noted = np.ndarray(2, np.int64, scratch, begin + offsets["noted",])
    cells = np.ndarray(max(16 * kernel.cells, 1), np.uint8, scratch, begin)
    constants = [None] * len(kernel.constants)
    return Frame(fields, noted, constants, cells, plans, np.array(own, np.intp), scratch)


def _sizes(kernel: Kernel, program: Program, tile: int) -> dict[tuple[Any, ...], int]:
    """Return the bytes of each piece of scratch memory, by the field that names it."""
    width = program.width
    sizes: dict[tuple[Any, ...], int] = {
        ("cells",): 16 * kernel.cells,
        ("states",): STATE_BYTES * kernel.states,
        ("noted",): 16,
    }
    for what in kernel.fields:
        match what:
            case ("chunk", _) | ("gather", _):
                sizes[what] = 16 * CHUNK
            case ("line", _):
                sizes[what] = LINE * LINES
            case ("row", index):
                length = tile * width if program.flat else width
                sizes[what] = length * kernel.schedule.row_bytes[index]
            case ("tile", index):
                sizes[what] = tile * width * kernel.schedule.tile_bytes[index]
            case ("tilebuf", _):
                sizes[what] = 16 * tile
            case ("plan", _):
                sizes[what] = 8 * (4 + 2 * (1 + len(program.rest)))
            case _:
                pass
    return sizes
