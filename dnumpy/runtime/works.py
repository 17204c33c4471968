"""Phase -> Work, with what its compiled lowering makes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from dnumpy.kernels.unroll import unrolled
from dnumpy.plan import work

if TYPE_CHECKING:
    from dnumpy.cost import Work
    from dnumpy.rewrite.phase import Phase
    from dnumpy.rewrite.stages import FusedStage


@lru_cache(maxsize=4096)
def phase_work(phase: Phase) -> Work:
    """Return what the phase does, tiled and compiled."""
    found = work.phase_work(phase)
    flat = unrolled(phase).phase
    return found if flat is phase else replace(found, compiled=work.phase_work(flat).loops)


def stage_work(stage: FusedStage) -> Work:
    """Return what a stage does: its phase, less what it reads again from caches."""
    found, again = phase_work(stage.phase), stage.read_again()
    return replace(found, bytes_again=min(again, found.bytes_read)) if again else found
