"""Which lowering runs a phase: one kernel object per phase, found by equality of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dnumpy.kernels.tiled import Faults, TiledKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.rewrite.phase import Phase


class Kernel(Protocol):
    """See the package docstring for what ``run`` promises."""

    lowering: str

    def run(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int, origin: int = 0
    ) -> Faults:
        """Compute rows ``lo:hi``; return the floating-point faults, by step."""
        ...


_MOST_KERNELS = 4096
_kernels: dict[Phase, TiledKernel] = {}


def kernel_for(phase: Phase) -> Kernel:
    """Return the kernel to run ``phase`` with now."""
    found = _kernels.get(phase)
    if found is None:
        if len(_kernels) >= _MOST_KERNELS:
            _kernels.clear()
        found = _kernels[phase] = TiledKernel(phase)
    return found
