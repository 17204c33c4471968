"""All rows of a phase by a compiled kernel, in batches that threads of the module in C draw.

What takes less than a millisecond is not worth the threads of Python that share out the rest
(:mod:`dnumpy.runtime.threads`): those are woken, and wait for the interpreter's lock, in a tenth or
two. Here operands are bound once, the other threads get a copy of the frame, and nobody asks for
the lock until all rows are done (``native/crew.c``). Nor is it asked for between blocks that are
written where others read (``native/staged.c``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from dnumpy import native
from dnumpy.expr.geometry import overlap
from dnumpy.kernels.flags import flags_to_be_told, to_be_told

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np

    from dnumpy.kernels.chain import Chain
    from dnumpy.kernels.frames import Frame
    from dnumpy.kernels.numba import Variant
    from dnumpy.kernels.staged import Staged

MOST_THREADS = 64
_MOST_PARTIALS = 8


def _joins(variant: Variant | Staged | Chain | None, outs: Sequence[Any]) -> TypeGuard[Variant]:
    """Say whether the kernel is one that threads of the module in C can run."""
    from dnumpy.kernels.numba import Variant

    if type(variant) is not Variant or not variant.plain:
        return False
    return len(variant.partials(outs)) <= _MOST_PARTIALS


def loaded(variant: Variant | Staged | Chain, outs: Sequence[Any]) -> bool:
    """Load the machine code of a kernel that :func:`run_jointly` runs; False of others."""
    if not _joins(variant, outs):
        return False
    variant.compile()
    return True


def run_jointly(
    variant: Variant | Staged | Chain | None,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    rows: tuple[int, int, int],
    threads: int,
    told: Collection[str],
) -> bool | None:
    """Compute all rows; ``rows`` says how many there are, and how many a batch has, and a tile.

    False means that they were, and raised what is to be told, so that all have to be computed
    otherwise; None that nothing was done.
    """
    if not _joins(variant, outs) or not variant.ready:
        return None
    partials = variant.partials(outs)
    code = variant.compile()
    frames = [variant.take_frame() for _ in range(min(threads, MOST_THREADS))]
    try:
        keep = variant.bind(frames[0], values, outs, 0, rows[0], 0)
        if keep and overlap(keep, outs):
            return None
        for frame in frames[1:]:
            frames[0].tell(frame)
        raised = native.run_frames(
            code.address, [f.fields for f in frames], [f.noted for f in frames], partials, rows
        )
    except OverflowError:  # a Python integer beyond the dtype: NumPy knows what that means
        return None
    finally:
        variant.give_frames(frames)
    return not raised or not to_be_told(raised, told, truncates=variant.program.truncates)


class Blocks:
    """A kernel whose results others compute with: in blocks, written where they belong in C.

    Operands are bound once; each batch gets a copy of the frame.
    """

    def __init__(self, variant: Variant, frame: Frame, keep: list[np.ndarray], flags: int) -> None:
        self._variant, self._frame, self._keep, self._flags = variant, frame, keep, flags
        self._code, self._places = variant.compile(), variant.places()

    def run(
        self,
        outs: list[np.ndarray],
        targets: list[tuple[np.ndarray, ...] | None],
        rows: tuple[int, int, int, int],
    ) -> int:
        """Compute rows ``lo:hi`` in blocks of a size: ``rows`` has these, and a tile's rows.

        What the kernel gives in scratch memory, ``outs``, the module in C writes to ``targets``.
        Return the row at which somebody else has to go on: flags were raised there that somebody
        wants to be told of.
        """
        frame = self._variant.take_frame()
        try:
            self._frame.tell(frame)
            memory = frame.fields, frame.noted
            return native.run_staged(
                self._code.address, memory, outs, targets, self._places, rows, self._flags
            )
        finally:
            self._variant.give_frames([frame])

    def end(self) -> None:
        """Let other runs have the frame."""
        self._variant.give_frames([self._frame])


def blocks_of(
    variant: Variant | Staged | Chain | None,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    told: Collection[str],
) -> Blocks | None:
    """Bind a kernel that gives ``outs``, some of them scratch memory; None if it cannot be."""
    if not native.built or not _joins(variant, outs) or not variant.ready:
        return None
    flags = flags_to_be_told(told, truncates=variant.program.truncates)
    variant.compile()
    frame = variant.take_frame()
    try:
        keep = variant.bind(frame, values, outs, 0, variant.phase.rows, 0)
    except OverflowError:  # a Python integer beyond the dtype: NumPy knows what that means
        keep = None
    if keep is None or (keep and overlap(keep, outs)):
        variant.give_frames([frame])
        return None
    variant.stays_near(frame)
    return Blocks(variant, frame, keep, flags)
