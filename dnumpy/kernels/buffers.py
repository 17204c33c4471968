"""Which results of a phase's steps lie in scratch, and where: one buffer for several, in turn."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dnumpy.kernels.steps import is_plain
from dnumpy.ops.families import Movement
from dnumpy.ops.table import WHERE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.rewrite.phase import Phase, Step

ALIGNED = 64  # bytes: a line of the caches


def buffers_of(phase: Phase, kept: Collection[int]) -> tuple[dict[int, int | None], list[int]]:
    """Give each row value that is not ``kept`` a buffer, used again once its value has died.

    Returns the buffer of each slot, None of what has none by itself, and the bytes of each buffer.
    """
    places: dict[int, int | None] = {}
    sizes: list[int] = []
    free: list[int] = []
    dead_after = _last_uses(phase)
    for slot, step in enumerate(phase.steps, start=len(phase.inputs)):
        dead = [d for d in dead_after.get(slot, ()) if places.get(d) is not None]
        if slot in kept or isinstance(step.op, Movement):
            places[slot] = None
        elif replaced := [d for d in dead if _may_replace(phase, step, d)]:
            places[slot] = places[replaced[0]]
            dead.remove(replaced[0])
        else:
            row_bytes = prod(step.shape[1:]) * step.dtype.itemsize
            places[slot] = _take(free, sizes, phase.tile_rows * row_bytes)
        free.extend(place for d in dead if (place := places[d]) is not None)
    return places, sizes


def _may_replace(phase: Phase, step: Step, slot: int) -> bool:
    """Say whether a step may write over an operand that nobody reads after it."""
    if phase.multiplies or slot not in step.args:
        return False
    if not is_plain(step) and not (step.op is WHERE and slot not in step.args[:2]):
        return False
    before = phase.steps[slot - len(phase.inputs)]
    return (before.shape, before.dtype) == (step.shape, step.dtype)


def laid_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return where each buffer begins in one that holds them all, and the size of that one."""
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // ALIGNED) * ALIGNED
    return starts, end


def _take(free: list[int], sizes: list[int], need: int) -> int:
    """Return the smallest free buffer that is large enough and not far too large, or a new one."""
    fitting = [k for k in free if need <= sizes[k] <= 2 * need]
    if fitting:
        best = min(reversed(fitting), key=sizes.__getitem__)
        free.remove(best)
        return best
    sizes.append(need)
    return len(sizes) - 1


def _last_uses(phase: Phase) -> dict[int, list[int]]:
    """Map a step's slot to the slots that no later step reads; a view keeps its base alive."""
    first = len(phase.inputs)
    last: dict[int, int] = {}
    for slot, step in enumerate(phase.steps, start=first):
        last[slot] = slot
        for arg in step.args:
            last[arg] = slot
    for slot in range(first + len(phase.steps) - 1, first - 1, -1):
        step = phase.steps[slot - first]
        if isinstance(step.op, Movement):
            last[step.args[0]] = max(last[step.args[0]], last[slot])
    dead: dict[int, list[int]] = {}
    for slot, user in last.items():
        if slot >= first:
            dead.setdefault(user, []).append(slot)
    return dead
