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


def run_in_blocks(
    variant: Variant | Staged | Chain | None,
    values: Sequence[Any],
    outs: list[np.ndarray],
    targets: list[tuple[np.ndarray, ...] | None],
    rows: tuple[int, int, int, int],
    told: Collection[str],
) -> int:
    """Compute rows ``lo:hi`` in blocks of a size: ``rows`` has these, and the rows of a tile.

    What the kernel gives in scratch memory, ``outs``, the module in C writes to ``targets``. Return
    the row from which on somebody else has to: the first, if the kernel cannot, or one at which
    flags were raised that somebody wants to be told of.
    """
    lo, hi, _, _ = rows
    if not native.built or not _joins(variant, outs) or not variant.ready:
        return lo
    flags = flags_to_be_told(told, truncates=variant.program.truncates)
    code, frame = variant.compile(), variant.take_frame()
    try:
        keep = variant.bind(frame, values, outs, lo, hi, 0)
        if keep and overlap(keep, outs):
            return lo
        variant.stays_near(frame)
        memory, writes = (frame.fields, frame.noted), variant.places()
        return native.run_staged(code.address, memory, outs, targets, writes, rows, flags)
    except OverflowError:  # a Python integer beyond the dtype: NumPy knows what that means
        return lo
    finally:
        variant.give_frames([frame])
