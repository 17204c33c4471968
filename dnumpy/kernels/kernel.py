"""What every lowering of a phase is to its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dnumpy.kernels.tiled import TOLD

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np

    from dnumpy.kernels.tiled import Faults


class Kernel(Protocol):
    """See the package docstring for what ``run`` promises."""

    @property
    def lowering(self) -> str:
        """Name of the lowering that ran last, or would run now."""
        ...

    def run(  # noqa: D102 - see the package docstring
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Faults: ...
