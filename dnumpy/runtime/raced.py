"""What of an evaluation at home is compared with what NumPy takes: see :mod:`dnumpy.expr.race`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.config import config
from dnumpy.expr import race as races
from dnumpy.expr.survey import survey
from dnumpy.kernels.choose import kernel_for
from dnumpy.runtime import find
from dnumpy.runtime.direct import CHEAP, MOST_LITTLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.expr.origin import Site
    from dnumpy.runtime.records import Record

_CHEAP = CHEAP | {"reduce"}


class Entry(NamedTuple):
    """The places that recorded what is evaluated, and the bytes that it reads and writes."""

    sites: tuple[Site, ...]
    nbytes: int
    most: int  # of one operation
    exprs: int
    apart: bool  # each place recorded one large operation at most

    def finish(self, started: float, records: Sequence[Record] = ()) -> None:
        """Note an evaluation that ran here, from then until now.

        Kernels that ran tiled go on being weighed while NumPy runs in their place.
        """
        race, now = self.sites[-1].race, time.perf_counter()
        if race is not None and len(records) == 1 and records[0].lowering != "tiled":
            known = race.goes_on_with(self.sites, self.nbytes, now)
            if known is not None:
                race.went_on(now - started + known)
                return
        recording = sum([s.recording for s in self.sites if s.recording < math.inf])
        recording = max(recording, self.exprs * races.RECORDING)
        seconds = now - started + recording
        tiled = [r.phase for r in records if r.phase is not None and r.lowering == "tiled"]
        skipped = [kernel_for(phase).missed for phase in tiled]
        races.evaluated(
            self.sites, self.nbytes, self.most, seconds, skipped,
            apart=self.apart, cheap=self.exprs <= MOST_LITTLE and all(map(_is_cheap, records)),
            recording=recording,
        )  # fmt: skip


def _is_cheap(record: Record) -> bool:
    """Say whether what ran takes no more than its memory does; what NumPy ran is no matter."""
    steps = () if record.phase is None else record.phase.steps
    return all(getattr(step.op, "loop", "cast") in _CHEAP for step in steps)


def entry_of(order: Sequence[Expr]) -> Entry | None:
    """Return what is to be compared of an evaluation; None of much, or where others may run it."""
    return entry_from(*survey(order)[:6])


def entry_from(
    sites: tuple[Site, ...], exprs: int, nbytes: int, most: int, multiplies: bool, apart: bool
) -> Entry | None:
    """Return the same from what is known of the Exprs.

    A product of matrices takes no part: of operands that lie here it might have other bits.
    """
    if not sites or multiplies or exprs > races.MOST_EXPRS or nbytes > races.MOST_BYTES:
        return None
    if races.is_held() or config.kernels != "auto" or not find.is_only_here(nbytes):
        return None
    return Entry(sites, nbytes, most, exprs, apart)
