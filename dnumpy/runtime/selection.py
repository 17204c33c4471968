"""Values at a few ranks of one long line, by all threads.

A sample says between which values they lie, with few others. All threads count what lies between
these, and then gather it: the line is read twice, where a partition moves all of it several times.

Source: Floyd and Rivest, "Expected time bounds for selection", CACM 18, 1975.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.runtime import buckets, runs
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Sequence

DEVIATIONS = 3.0  # of a rank in the sample, between which it almost always lies
MOST_PARTS = 256  # that are told apart in less time than sorting takes
MOST_GATHERED = 2  # of so many elements one is


def applies(line: np.ndarray) -> bool:
    """Say whether ranks of a line are found sooner here than by NumPy."""
    flags = line.flags
    return native.built and runs.applies(line.dtype, line.size) and flags.forc and flags.aligned


def at_ranks(line: np.ndarray, ranks: Sequence[int]) -> np.ndarray:
    """Return the values that would stand at these ranks, which ascend, if the line was sorted.

    NaN are behind all others.
    """
    splitters = _splitters(line, ranks)
    found = None if splitters is None else _between(splitters, line, np.asarray(ranks))
    if found is None:  # as many ranks as take longer than to sort
        in_order = pool.empty(line.shape, line.dtype)
        buckets.sort_to(line, in_order)
        found = in_order[np.asarray(ranks)]
    return found


def _between(splitters: np.ndarray, line: np.ndarray, ranks: np.ndarray) -> np.ndarray | None:
    """Return the values at these ranks; None where too much lies between the splitters."""
    shares, counts = runs.counted(line, splitters)
    sizes = counts.sum(axis=0)
    ends = np.cumsum(sizes)
    part_of = np.searchsorted(ends, ranks, side="right")
    found = np.empty(len(ranks), line.dtype)
    mixed = []
    for part in np.unique(part_of).tolist():
        if 0 < part < len(splitters) and _after(splitters[part - 1]) == splitters[part]:
            found[part_of == part] = splitters[part - 1]  # all of it is equal
        else:
            mixed.append(part)
    wanted = np.array(mixed, np.intp)
    room = np.cumsum(sizes[wanted])
    if mixed and room[-1] > line.size // MOST_GATHERED:
        return None
    places = np.full_like(counts, -1)
    places[:, wanted] = (np.cumsum(counts, axis=0) - counts)[:, wanted] + room - sizes[wanted]
    gathered = np.empty(int(room[-1]) if mixed else 0, line.dtype)

    def gather(k: int) -> None:
        native.tell_apart(shares[k], splitters, places[k], gathered)

    def find(k: int) -> None:
        asked = part_of == wanted[k]
        own = ranks[asked] - (ends - sizes)[wanted[k]]
        values = gathered[room[k] - sizes[wanted[k]] : room[k]]
        values.partition(np.unique(own))
        found[asked] = values[own]

    if mixed:
        share_out(gather, range(len(shares)))
    share_out(find, range(len(mixed)))
    return found


def _splitters(line: np.ndarray, ranks: Sequence[int]) -> np.ndarray | None:
    """Return values between which the ranks lie, with few others; None if there is no telling."""
    count = int(line.size ** (2 / 3))  # so that sorting it takes as long as what is gathered
    draw = np.random.default_rng(line.size)
    sample = np.sort(line[draw.integers(0, line.size, count)])
    share = np.asarray(ranks) / line.size
    slack = DEVIATIONS * np.sqrt(count * share * (1 - share)) + DEVIATIONS
    low, high = ((share * count + by).astype(np.intp) for by in (-slack, slack))
    numbers = int(np.count_nonzero(sample == sample))  # noqa: PLR0124 - NaN are last
    values = [sample[k] for k in low if 0 < k < numbers]
    values += [after for k in high if k < numbers and (after := _after(sample[k])) is not None]
    between = np.unique(np.array(values, line.dtype))
    parts = 1 << len(between).bit_length()
    if not len(between) or parts > MOST_PARTS:
        return None
    return np.concatenate([between, np.repeat(between[-1:], parts - 1 - len(between))])


def _after(value: Any) -> Any:
    """Return the next larger value, if any, so that all that are equal to one lie in one part."""
    if value.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.nextafter(value, value.dtype.type(np.inf)) if value < np.inf else None
    return value + value.dtype.type(1) if value < np.iinfo(value.dtype).max else None
