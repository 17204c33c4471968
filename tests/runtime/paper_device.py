"""A device on paper: memory that only it can read, and NumPy's kernels for what it takes on.

It stands in for a GPU where there is none, so that what the runtime does for devices is tested
everywhere: who computes which rows, what travels, what stays, and what is done where memory ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels import reference
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.tiled import TiledKernel

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.kernels.tiled import Faults
    from dnumpy.ops.families import Op
    from dnumpy.rewrite.phase import Phase


class Paper:
    """An array in a device's memory: neither NumPy nor the tests can read it unasked."""

    __slots__ = ("_own", "device")

    def __init__(self, device: PaperDevice, own: np.ndarray) -> None:
        self.device = device
        self._own = own

    @property
    def shape(self) -> tuple[int, ...]:
        return self._own.shape

    @property
    def dtype(self) -> np.dtype:
        return self._own.dtype

    @property
    def nbytes(self) -> int:
        return self._own.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self._own.__array_interface__)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, int(self.device.name.removeprefix("gpu-"))

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self, kwargs

    def __getitem__(self, index: Any) -> Paper:
        return Paper(self.device, self._own[index])

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        msg = f"somebody read {self.device.name}'s memory from the host"
        raise AssertionError(msg)


class ExhaustedError(Exception):
    """The device's memory does not suffice."""


class PaperDevice:
    """See the module's text; ``lacks`` names ops that it has no kernel for."""

    describes = "made of paper"
    exhausted = (ExhaustedError,)

    def __init__(self, name: str = "gpu-0", lacks: Collection[str] = (), room: int = 1 << 30):
        self.name = name
        self.lacks = frozenset(lacks)
        self.room = room
        self.sent: list[int] = []  # bytes of each array that arrived
        self.fetched: list[int] = []
        self.allowed: list[float | None] = []  # bytes more than it held then
        self.full_once = False
        self.phases = self.applied = self.trims = 0

    def holds(self, value: object) -> bool:
        return isinstance(value, Paper) and value.device is self

    def taken(self, value: object) -> Paper | None:
        own = getattr(value, "paper", value)  # what another library's array would be made of
        return own if isinstance(own, Paper) and self.holds(own) else None

    def put(self, array: np.ndarray) -> Paper:
        assert type(array) is np.ndarray
        if array.dtype.char in "gGO":
            raise Unsupported(array.dtype.char)
        arrived = self._new(np.array(array, order="C"))
        self.sent.append(array.nbytes)
        return arrived

    def get(self, array: Paper) -> np.ndarray:
        assert array.device is self
        self.fetched.append(array.nbytes)
        return np.array(array._own, order="C")

    def adjacent(self, array: Paper) -> Paper:
        return (
            array if array._own.flags.c_contiguous else self._new(np.array(array._own, order="C"))
        )

    def empty(self, shape: Shape, dtype: np.dtype) -> Paper:
        if dtype.char in "gGO":
            raise Unsupported(dtype.char)
        return self._new(np.empty(shape, dtype))

    def _new(self, own: np.ndarray) -> Paper:
        if own.nbytes > self.room or self.full_once:
            self.full_once = False
            raise ExhaustedError(own.nbytes)
        return Paper(self, own)

    def joined(self, pieces: Sequence[Paper]) -> Paper:
        return self._new(np.concatenate([piece._own for piece in pieces]))

    def view(self, geometry: Geometry, array: Paper) -> Paper:
        return Paper(self, geometry.over(np.ascontiguousarray(array._own)))

    def assign(self, target: Paper, value: Any) -> None:
        target._own[...] = value._own if isinstance(value, Paper) else value

    def kernel(self, phase: Phase) -> PaperKernel:
        if any(step.op.name in self.lacks for step in phase.steps):
            raise Unsupported(phase.title())
        self.phases += 1
        return PaperKernel(phase)

    def apply(
        self, op: Op, values: Sequence[Any], params: Params, shape: Shape, dtype: np.dtype
    ) -> Paper:
        if op.name in self.lacks:
            raise Unsupported(op.name)
        self.applied += 1
        return self._new(reference.apply(op, [_own(v) for v in values], params, shape, dtype))

    def wait(self) -> None:
        """Return: nothing is put off."""

    def free_bytes(self) -> int:
        return self.room

    def allow(self, more: float | None) -> None:
        self.allowed.append(more)

    def trim(self) -> None:
        self.trims += 1


class PaperKernel:
    """NumPy's kernel of a phase on a device's memory."""

    lowering = "cuda"

    def __init__(self, phase: Phase) -> None:
        self._kernel = TiledKernel(phase)

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[Paper],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = (),  # noqa: ARG002 - NumPy sees them all
    ) -> Faults:
        assert all(isinstance(out, Paper) for out in outs)
        return self._kernel.run(
            [_own(v) for v in values], [out._own for out in outs], lo, hi, origin
        )


def _own(value: Any) -> Any:
    assert not isinstance(value, np.ndarray), "an operand was not sent to the device"
    return value._own if isinstance(value, Paper) else value
