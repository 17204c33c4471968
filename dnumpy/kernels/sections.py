"""The steps between a phase's products, each run of them as one compiled kernel.

A product of matrices is a library's, and what it reads and gives lies in memory. All steps between
two products are a *section*: a phase of its own over one tile, whose inputs are the phase's and
what products and other sections have left in scratch memory. The chain
(:mod:`dnumpy.kernels.chain`) calls a section's machine code tile by tile, between its calls of
products.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.geometry import Geometry, address_of
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.ops.families import Contraction, Movement, Reduction, folds_rows
from dnumpy.rewrite.phase import Access, Input, Output, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnumpy.kernels.frames import Frame
    from dnumpy.kernels.operands import Home, Lies
    from dnumpy.rewrite.phase import Step


class Section(NamedTuple):
    """Steps between products as a phase over one tile; slots are those of the whole phase."""

    phase: Phase
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[int, ...]


def in_order(phase: Phase) -> Iterator[int | tuple[int, ...]]:
    """Yield the slots of products, and of all steps that may run between two of them, in order."""
    first = len(phase.inputs)
    depth = dict.fromkeys(range(first), 0)
    steps: dict[int, list[int]] = {}
    products: dict[int, list[int]] = {}
    for slot, step in enumerate(phase.steps, start=first):
        before = max((depth[arg] for arg in step.args), default=0)
        is_product = isinstance(step.op, Contraction)
        depth[slot] = before + is_product
        (products if is_product else steps).setdefault(before, []).append(slot)
    for level in range(max(depth.values()) + 1):
        if level in steps:
            yield tuple(steps[level])
        yield from products.get(level, ())


def by_width(phase: Phase, slots: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the steps in runs of rows of one shape, beside which there may be single values."""
    runs: list[list[int]] = []
    latest: tuple[int, ...] | None = None
    for slot in slots:
        step = phase.steps[slot - len(phase.inputs)]
        operand = isinstance(step.op, Reduction)
        rest = (phase.shape_of(step.args[0]) if operand else step.shape)[1:]
        if not runs or (prod(rest) != 1 and latest not in (None, rest)):
            runs.append([])
            latest = None
        if prod(rest) != 1:
            latest = rest
        runs[-1].append(slot)
    return [tuple(run) for run in runs]


def section_of(phase: Phase, slots: Sequence[int]) -> Section:
    """Return the section of these steps; what others read of it are its outputs."""
    first, rows = len(phase.inputs), min(phase.tile_rows, phase.rows)
    inside = _without_idle_views(phase, slots)
    inputs = tuple(
        dict.fromkeys(a for s in inside for a in phase.steps[s - first].args if a not in inside)
    )
    outputs = tuple(_left(phase, inside))
    number = {slot: k for k, slot in enumerate((*inputs, *inside))}
    steps = tuple(
        replace(step, args=tuple(number[a] for a in step.args), **_over(step, rows))
        for step in (phase.steps[slot - first] for slot in inside)
    )
    partial = {output.slot for output in phase.outputs if output.partial}
    made = Phase(
        rows,
        rows,
        tuple(_input_of(phase, slot, rows) for slot in inputs),
        steps,
        tuple(Output(number[slot], slot in partial) for slot in outputs),
    )
    return Section(made, inputs, outputs, inside)


def _without_idle_views(phase: Phase, slots: Sequence[int]) -> tuple[int, ...]:
    """Return the steps less views of what is computed elsewhere, or that none of them reads."""
    first, kept = len(phase.inputs), list(slots)
    for slot in slots:
        step = phase.steps[slot - first]
        if isinstance(step.op, Movement) and step.args[0] not in kept:
            kept.remove(slot)
    for slot in reversed(kept.copy()):
        is_view = isinstance(phase.steps[slot - first].op, Movement)
        if is_view and not any(slot in phase.steps[s - first].args for s in kept):
            kept.remove(slot)
    return tuple(kept)


def _left(phase: Phase, inside: Sequence[int]) -> Iterator[int]:
    """Yield the steps whose results are the phase's, or others read, be it by way of a view."""
    first = len(phase.inputs)
    wanted = {output.slot for output in phase.outputs}
    for slot, step in reversed(list(enumerate(phase.steps, start=first))):
        if slot not in inside or (slot in wanted and isinstance(step.op, Movement)):
            wanted.update(step.args)
    for slot in inside:
        if slot in wanted and not isinstance(phase.steps[slot - first].op, Movement):
            yield slot


def _over(step: Step, rows: int) -> dict[str, Any]:
    """Return what a step over so many rows has in place of its own."""
    if folds_rows(step.op, step.params):
        return {}
    shape = (rows, *step.shape[1:])
    if not isinstance(step.op, Movement):
        return {"shape": shape}
    geometry = Geometry(*step.params)
    return {"shape": shape, "params": geometry._replace(shape=(rows, *geometry.shape[1:]))}


def _input_of(phase: Phase, slot: int, rows: int) -> Input:
    if slot >= len(phase.inputs):
        return Input(Access.ROWS, (rows, *phase.shape_of(slot)[1:]), phase.dtype_of(slot))
    given = phase.inputs[slot]
    if given.access is not Access.ROWS:
        return given
    return replace(given, shape=(rows, *given.shape[1:]))


class Bound(NamedTuple):
    """A section's kernel, and where what it reads and writes lies."""

    section: Section
    variant: Variant
    lies: Mapping[int, Lies]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is to be compiled."""
        return (*self.variant.helpers, self.variant.source)

    def entered(
        self, frame: Frame, values: Sequence[Any], homes: Mapping[Home, int]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Tell the kernel's frame what it is to compute with; ``homes`` are addresses.

        Returns the entries of addresses that move on from tile to tile, and what must stay alive.
        Raises OverflowError of a Python integer that is beyond its dtype.
        """
        given, outs = _arrays(self.section, values, self.lies)
        source, variant = self.variant.unrolled, self.variant
        read, written = source.values(given), source.outs(outs)
        keep = variant.bind(frame, read, written, 0, self.section.phase.rows, 0)
        targets = source.targets or [(k, None) for k in range(len(outs))]
        places = [
            (at, self.section.inputs[source.sources[k][0]], given[source.sources[k][0]], read[k])
            for k, at, _ in variant.reads
        ]
        places += [
            (at, self.section.outputs[k], outs[k], array)
            for (_, at, _), (k, _), array in zip(variant.writes, targets, written, strict=True)
            if at is not None
        ]
        fields, entries = address_of(frame.fields), []
        for at, slot, whole, part in places:
            lies = self.lies.get(slot)
            if lies is None or lies.whole:
                continue
            start = homes[lies.home] + lies.offset + address_of(part) - address_of(whole)
            entries.append((fields + 8 * at, start, lies.row if lies.by_row else 0, lies.tile))
        return np.array(entries, np.int64).reshape(-1, 4), [*keep, *given, *outs]


def bound(section: Section, values: Sequence[Any], lies: Mapping[int, Lies]) -> Bound | None:
    """Return the section's kernel for values that lie so; None where only NumPy will do."""
    given, outs = _arrays(section, values, lies)
    variant = NumbaKernel(section.phase).variant_for(given, outs)
    return Bound(section, variant, lies) if type(variant) is Variant else None


def _arrays(
    section: Section, values: Sequence[Any], lies: Mapping[int, Lies]
) -> tuple[list[Any], list[np.ndarray]]:
    """Return what a section reads and writes; of what has rows, arrays that lie alike."""
    rows = section.phase.rows

    def given(slot: int) -> Any:
        found = lies.get(slot)
        return values[slot] if found is None or found.whole else found.seen(rows)

    return [given(s) for s in section.inputs], [lies[s].seen(rows) for s in section.outputs]
