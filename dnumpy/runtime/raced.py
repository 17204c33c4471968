"""What of an evaluation at home is compared with what NumPy takes: see :mod:`dnumpy.expr.race`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.config import config
from dnumpy.expr import race
from dnumpy.expr.expr import Expr
from dnumpy.kernels.choose import kernel_for
from dnumpy.ops.families import Contraction
from dnumpy.ops.table import VIEW
from dnumpy.runtime import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.origin import Site
    from dnumpy.runtime.records import Record


class Entry(NamedTuple):
    """The places that recorded what is evaluated, and the bytes that it reads and writes."""

    sites: tuple[Site, ...]
    nbytes: int
    most: int  # of one operation
    exprs: int

    def finish(self, started: float, records: Sequence[Record] = ()) -> None:
        """Note an evaluation that ran here, from then until now.

        Kernels that ran tiled go on being weighed while NumPy runs in their place.
        """
        recording = sum([s.recording for s in self.sites if s.recording < math.inf])
        recording = max(recording, self.exprs * race.RECORDING)
        seconds = time.perf_counter() - started + recording
        tiled = [r.phase for r in records if r.phase is not None and r.lowering == "tiled"]
        skipped = [kernel_for(phase).missed for phase in tiled]
        race.evaluated(self.sites, self.nbytes, self.most, seconds, skipped, exprs=self.exprs)


def entry_of(order: Sequence[Expr]) -> Entry | None:
    """Return what is to be compared of an evaluation; None of much, or where others may run it."""
    if len(order) > race.MOST_EXPRS or race.is_held() or config.kernels != "auto":
        return None
    sites: dict[Site, None] = {}
    total = most = exprs = 0
    for expr in order:
        if expr.op is VIEW:
            continue
        if type(expr.op) is Contraction:  # of operands that lie here it might have other bits
            return None
        if expr.origin is not None:  # else it was put in by a rewrite, or is a part of another
            sites[expr.origin.site] = None
        nbytes = expr.nbytes
        for arg in expr.args:
            if type(arg) is Expr:
                nbytes += arg.nbytes
        total += nbytes
        exprs += 1
        most = max(most, nbytes)
    if not sites or total > race.MOST_BYTES or not find.is_only_here(total):
        return None
    return Entry(tuple(sites), total, most, exprs)
