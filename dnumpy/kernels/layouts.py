"""How the operands of a compiled phase lie, and by which steps a kernel walks them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.kernels.lower import Node, Program
    from dnumpy.rewrite.phase import Phase

LEAST_LINE = 16  # elements: shorter lines are not worth a loop each
# Steps, in elements, that stand in the text of a kernel: the compiler then reads whole vectors and
# shuffles them. Three columns of three took 0.53 ns a row that way, each element read by itself
# 0.98, and gathered first 3 (one core of a Zen 4).
FIXED_STEPS = frozenset({-1, 2, 3, 4})


def merged_axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (extent, stride) of the fewest axes that walk the same elements in order."""
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = (axes[-1][0] * extent, stride)
        else:
            axes.append((extent, stride))
    return axes


def layout(phase: Phase, program: Program, k: int, value: Any) -> str:
    """Return how input ``k`` is read (see :func:`emit`), or '' when it is not aligned."""
    given = phase.inputs[k]
    if given.access is Access.CONST:
        return "c"
    if k in program.whole_scalars:
        return "s" if np.asarray(value).flags.aligned else ""
    if given.access is Access.WHOLE:
        return "d" if value.flags.aligned else ""  # spread out first where it is no whole row
    flags = value.flags
    if not flags.aligned:
        return ""
    if flags.c_contiguous and value.shape[1:] == program.rest:
        return "d"
    if not program.wide[k] and not program.flat:
        return "s"
    axes = unit_axes(program, value)
    if not axes or (len(axes) == 1 and axes[0][1] == value.itemsize):
        return "d"
    if len(axes) > 1 or k in _folded(program):
        return "g"
    return step_layout(axes[0][1], value.itemsize)


def step_layout(step: int, itemsize: int) -> str:
    """Return how elements lie that are ``step`` bytes apart (see :func:`emit`)."""
    elements, odd = divmod(step, itemsize)
    return "t" if odd or elements not in FIXED_STEPS else f"t{elements}"


def _folded(program: Program) -> set[int]:
    """Return the values that are read one after the other as they lie."""
    folds = [n for n in program.nodes if n.picks or n.kind not in {"map", "call"}]
    return {a.value for n in folds for a in n.args}


def unit_axes(program: Program, value: np.ndarray) -> list[tuple[int, int]]:
    """Return the axes of a row value that a unit walks, broadcast to the width of the program."""
    rest = program.rest if program.width > 1 else value.shape[1:]
    spread = np.broadcast_to(value, (value.shape[0], *rest))
    if program.flat:
        return merged_axes(spread.shape, spread.strides)
    return merged_axes(spread.shape[1:], spread.strides[1:])


def called_as_by_numpy(
    phase: Phase, program: Program, layouts: Sequence[str], values: Sequence[Any]
) -> bool:
    """Say whether NumPy's loops read inputs with the strides that NumPy would give them.

    Its bits depend on them: it computes powers of scattered operands in another way.
    """
    for k in program.called:
        if layouts[k] == "g":
            return False
        if phase.inputs[k].access is Access.WHOLE and k not in program.whole_scalars:
            inner = values[k].shape[max(values[k].ndim - len(program.rest), 0) :]
            if not values[k].flags.c_contiguous or inner != program.rest:
                return False
    return True


def out_layouts(
    phase: Phase, program: Program, outs: Sequence[np.ndarray], targets: Sequence[Any]
) -> tuple[str, ...] | None:
    """Return how the kernel writes to ``outs`` (see :func:`emit`), None where it cannot.

    They are aligned, with even steps between the elements of each row. Loops of NumPy's write
    adjacent elements; parts of complex numbers have twice the step of these.
    """
    called = {v for n in program.nodes if n.kind != "map" for v in (n.value, *_values(n))}
    apart = {k for v, k in program.outputs if v not in called}
    found = []
    for k, (output, out, (_, part)) in enumerate(zip(phase.outputs, outs, targets, strict=True)):
        flags, step = out.flags, out.itemsize * (1 if part is None else 2)
        if not flags.aligned:
            return None
        axes = merged_axes(out.shape, out.strides)
        inner = (
            axes
            if program.flat and not output.partial
            else merged_axes(out.shape[1:], out.strides[1:])
        )
        if flags.c_contiguous or not inner or (len(inner) == 1 and inner[0][1] == step):
            found.append("d" if part is None else "t2")
        elif len(inner) > 1 or output.partial or part is not None or k not in apart:
            return None
        else:
            found.append(step_layout(inner[0][1], out.itemsize))
    return tuple(found)


def unit_step(program: Program, array: np.ndarray, *, is_read: bool) -> int:
    """Return the bytes between elements of an input or output whose layout is ``t``."""
    if is_read:
        return unit_axes(program, array)[0][1]
    shown = (array.shape, array.strides) if program.flat else (array.shape[1:], array.strides[1:])
    return merged_axes(*shown)[0][1]


def _values(node: Node) -> list[int]:
    return [a.value for a in node.args]


def line_step(value: np.ndarray, rest: tuple[int, ...]) -> int | None:
    """Return the bytes from line to line of a row of ``value``, broadcast to ``rest``.

    A line runs along the last axis. None where its elements are not side by side, or lines come at
    no even steps.
    """
    if value.shape[1:] != rest:
        value = np.broadcast_to(value, (value.shape[0], *rest))
    if value.strides[-1] != value.itemsize and rest[-1] != 1:
        return None
    axes = merged_axes(rest[:-1], value.strides[1:-1])
    if len(axes) > 1:
        return None
    return axes[0][1] if axes else 0


def by_lines(
    phase: Phase, program: Program, values: Sequence[Any], outs: Sequence[np.ndarray]
) -> tuple[Program, tuple[str, ...]] | None:
    """Return a program that walks all that it reads and writes line by line, and its layouts.

    None where lines are short or lie at no even steps, or something is folded: a fold goes along
    the unit without a break.
    """
    rest = program.rest
    if not rest or rest[-1] < LEAST_LINE:
        return None
    if not all(n.kind in {"map", "call"} and not n.picks for n in program.nodes):
        return None
    program = replace(program, flat=False)
    layouts = tuple(layout(phase, program, k, value) for k, value in enumerate(values))
    for k, how in enumerate(layouts):
        if how == "" or (how[0] in "dgt" and _line_step_of(phase, program, k, values[k]) is None):
            return None
    if not all(out.flags.aligned and line_step(out, rest) is not None for out in outs):
        return None
    return program, tuple("d" if how[0] in "gt" else how for how in layouts)


def _line_step_of(phase: Phase, program: Program, k: int, value: Any) -> int | None:
    if phase.inputs[k].access is Access.WHOLE:  # spread out to a whole row
        return value.itemsize * program.rest[-1]
    return line_step(value, program.rest)
