"""Device: memory of its own and kernels that work in it, as the runtime sees it.

:mod:`~dnumpy.kernels.cupy_device` makes one of an NVIDIA GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.kernels.kernel import Kernel
    from dnumpy.ops.families import Op
    from dnumpy.rewrite.phase import Phase


class Device(Protocol):
    """One accelerator. Its arrays are of a type of its own; what may run on it by rows runs there.

    Attributes
    ----------
    name : str
        Of the node, ``gpu-0`` and so on.
    describes : str
        What its maker calls it.
    exhausted : tuple of exception types
        What it raises where its memory does not suffice.
    """

    name: str
    describes: str
    exhausted: tuple[type[Exception], ...]

    def holds(self, value: object) -> bool:
        """Say whether a value is an array in the device's memory."""
        ...

    def taken(self, value: object) -> Any:
        """Return an array of any library's that lies here as one of the device's, not copied.

        None for what lies elsewhere.
        """
        ...

    def put(self, array: np.ndarray) -> Any:
        """Return a C-contiguous copy in the device's memory."""
        ...

    def get(self, array: Any) -> np.ndarray:
        """Return a C-contiguous copy in the memory of this process."""
        ...

    def adjacent(self, array: Any) -> Any:
        """Return the array itself where it is C-contiguous, else such a copy."""
        ...

    def empty(self, shape: Shape, dtype: np.dtype) -> Any:
        """Return new memory, C-contiguous; of records perhaps their bytes."""
        ...

    def joined(self, pieces: Sequence[Any]) -> Any:
        """Return arrays one after the other along their first axis."""
        ...

    def view(self, geometry: Geometry, array: Any) -> Any:
        """Return what is seen of an array's memory; that of a copy where it is not contiguous."""
        ...

    def assign(self, target: Any, value: Any) -> None:
        """Write a value into a part of an array, broadcast and cast as NumPy does."""
        ...

    def kernel(self, phase: Phase) -> Kernel:
        """Return the kernel of a phase; raises Unsupported where only the host has one."""
        ...

    def apply(
        self, op: Op, values: Sequence[Any], params: Params, shape: Shape, dtype: np.dtype
    ) -> Any:
        """Return one op's result; raises Unsupported where only the host has it."""
        ...

    def wait(self) -> None:
        """Return once all that was asked for is done."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory arrays may still take."""
        ...

    def allow(self, more: float | None) -> None:
        """Let arrays take so many bytes more than now, within the device's share.

        All of its share where that is None.
        """
        ...

    def trim(self) -> None:
        """Give memory back that is kept for reuse."""
        ...
