"""What a run holds at once: what a stage makes is let go of when its last reader has read it."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


def most_live(
    sizes: Sequence[float], reads: Iterable[tuple[int, int]], kept: Collection[int]
) -> float:
    """Return the most bytes that are live at once, whichever stages run at the same time.

    The larger of two orders: one stage after the other, and all at once that wait for no more
    stages than each other, as nodes run them that go on while others are waited for.

    Parameters
    ----------
    sizes : sequence of float
        Bytes that each stage makes.
    reads : iterable of (int, int)
        The number of a stage, and of a later one that reads what it makes.
    kept : collection of int
        The stages whose results are kept to the end.
    """
    pairs = [*reads]
    numbers = range(len(sizes))
    levels = [0] * len(sizes)
    for made, reader in sorted(pairs, key=lambda pair: pair[1]):
        levels[reader] = max(levels[reader], levels[made] + 1)
    return max(_most(sizes, order, pairs, kept) for order in (numbers, levels))


def _most(
    sizes: Sequence[float],
    when: Sequence[int],
    reads: Iterable[tuple[int, int]],
    kept: Collection[int],
) -> float:
    """Return the most bytes live at once where stages run at these times."""
    if not sizes:
        return 0.0
    end = max(when)
    until = [*when]
    for made, reader in reads:
        until[made] = max(until[made], when[reader])
    change = [0.0] * (end + 2)
    for number, size in enumerate(sizes):
        change[when[number]] += size
        change[(end if number in kept else until[number]) + 1] -= size
    return max(accumulate(change))
