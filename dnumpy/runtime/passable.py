"""Which stages of a run that does not fit may let their rows pass (see :mod:`.passing`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.runtime.files import BLOCK_BYTES
from dnumpy.runtime.producers import BlockedRows, ContractedRows, FusedRows, UpdatedRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.runtime.demands import Laid
    from dnumpy.runtime.sketch import Sketch

BESIDE = frozenset({"aligned", "halo"})  # reads that follow the rows that are computed
MUCH = 0.4  # of what is offered, that a result may take
NEAR_LARGEST = 0.25  # of the largest: what passes first


def may_pass(
    sketch: Sketch, laid: Sequence[Laid], offered_bytes: float = 0.0
) -> list[frozenset[int]]:
    """Return the numbers of stages whose rows may pass: the largest only, then all that may.

    None of them where the largest may be held in a good part of what is offered.
    """
    demands: dict[int, list[int]] = {}
    for k, number in enumerate(sketch.stages):
        demands.setdefault(number, []).append(k)
    by_number = {each.number: each for each in laid}
    large: dict[int, float] = {}
    for number, mine in demands.items():
        work = sketch.demands[mine[0]].work
        size = work.rows * work.bytes_written
        if len(mine) == 1 and size > BLOCK_BYTES and _may(sketch, mine[0], by_number):
            large[number] = size
    largest = max(large.values(), default=0.0)
    if largest <= MUCH * offered_bytes:
        return []
    first = frozenset(number for number, size in large.items() if size >= NEAR_LARGEST * largest)
    return list(dict.fromkeys((first, frozenset(large))))


def _may(sketch: Sketch, k: int, laid: Mapping[int, Laid]) -> bool:
    """Say whether nobody keeps the rows of a demand, and all who read them do so row by row."""
    if k not in laid or k in sketch.kept or sketch.demands[k].alone or laid[k].reads.across:
        return False
    if not isinstance(laid[k].producer, (FusedRows, BlockedRows, ContractedRows, UpdatedRows)):
        return False
    readers = [read for read in sketch.reads if read.producer == k and not read.lying]
    return any(read.access in BESIDE for read in readers) and all(
        read.access == "fold" or (read.access in BESIDE and not sketch.demands[read.consumer].alone)
        for read in readers
    )
