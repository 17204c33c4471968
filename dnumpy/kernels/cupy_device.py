"""An NVIDIA GPU as a :class:`~dnumpy.kernels.device.Device`, by CuPy.

Arrays travel through pinned memory: one half of a buffer is filled while the other is on its way.
"""

from __future__ import annotations

import threading
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.kernels.cuda_library import apply_on_device, over
from dnumpy.kernels.cupy import CupyKernel
from dnumpy.kernels.lower import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.kernels.kernel import Kernel
    from dnumpy.ops.families import Op
    from dnumpy.rewrite.phase import Phase

KINDS = "?biufc"
STAGED_BYTES = 8 << 20  # of each half of a staging buffer
DIRECT_BYTES = 1 << 20  # smaller arrays go at once
MEMORY_SHARE = 0.9  # of a device's memory, that its pool may take
CUDA_KINDS = frozenset({2, 13})  # what DLPack calls memory of CUDA's devices, and managed memory
_MOST_KERNELS = 4096
_TO_DEVICE, _TO_HOST = 1, 2  # cudaMemcpyKind
# what CuPy's errors say, by class, where an allocation failed: the attribute, and its code
_FAILED_ALLOCATIONS = {
    "CUDARuntimeError": ("status", 2),  # cudaErrorMemoryAllocation, of pinned memory too
    "CUDADriverError": ("status", 2),  # CUDA_ERROR_OUT_OF_MEMORY
    "CUBLASError": ("status", 3),  # CUBLAS_STATUS_ALLOC_FAILED
    "CUSOLVERError": ("status", 2),  # CUSOLVER_STATUS_ALLOC_FAILED
    "CuFFTError": ("result", 2),  # CUFFT_ALLOC_FAILED
}


class AllocationError(MemoryError):
    """CUDA or a library of its could not allocate memory."""


class _Current:
    """A GPU as the one that CuPy works with; failed allocations meanwhile are told as such."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._device.__exit__(kind, problem, trace)
        attribute, code = _FAILED_ALLOCATIONS.get(type(problem).__name__, ("", None))
        if problem is not None and attribute and getattr(problem, attribute) == code:
            raise AllocationError(str(problem)) from problem


class CupyDevice:
    """One GPU. All that it is asked for is done in order, on one stream."""

    def __init__(self, xp: Any, number: int) -> None:
        """Take CuPy, which is imported where a GPU is looked for, and the GPU's number."""
        self._xp = xp
        self.name = f"gpu-{number}"
        self.number = number
        self.exhausted: tuple[type[Exception], ...] = (
            xp.cuda.memory.OutOfMemoryError,
            AllocationError,
        )
        self._device = _Current(xp.cuda.Device(number))
        self._kernels: dict[Phase, CupyKernel] = {}
        self._staging: _Staging | None = None
        self._lock = threading.Lock()
        properties = self._xp.cuda.runtime.getDeviceProperties(number)
        self.describes = str(properties["name"].decode())
        with self._device:
            _, total = self._xp.cuda.runtime.memGetInfo()
        self._share = int(MEMORY_SHARE * total)
        self.allow(None)

    def holds(self, value: object) -> bool:
        """Say whether a value is an array in this GPU's memory."""
        return isinstance(value, self._xp.ndarray) and value.device.id == self.number

    def taken(self, value: object) -> Any:
        """Return an array of any library's that lies here as one of CuPy's, not copied.

        None for what lies elsewhere. CuPy asks for ``__cuda_array_interface__`` or DLPack.
        """
        found: Any = value
        with self._device:
            if hasattr(value, "__cuda_array_interface__"):
                found = self._xp.asarray(value)
            elif hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in CUDA_KINDS:
                found = self._xp.from_dlpack(value)
        return found if self.holds(found) else None

    def put(self, array: np.ndarray) -> Any:
        """Return a C-contiguous copy in the GPU's memory."""
        out = self.empty(array.shape, array.dtype)
        source = np.ascontiguousarray(array)
        if source.nbytes:
            with self._device, self._lock:
                self._stage().up(out.data.ptr, source)
        return out

    def get(self, array: Any) -> np.ndarray:
        """Return a C-contiguous copy in the memory of this process."""
        with self._device:
            source = self._xp.ascontiguousarray(array)
            out = np.empty(source.shape, source.dtype)
            if out.nbytes:
                with self._lock:
                    self._stage().down(out, source.data.ptr)
        return out

    def adjacent(self, array: Any) -> Any:
        """Return the array itself where it is C-contiguous, else such a copy."""
        with self._device:
            return self._xp.ascontiguousarray(array)

    def _stage(self) -> _Staging:
        if self._staging is None:
            self._staging = _Staging(self._xp, STAGED_BYTES)
        return self._staging

    def empty(self, shape: Shape, dtype: np.dtype) -> Any:
        """Return new memory; raises Unsupported for what only Python or the host can hold.

        Records, as argmin leaves them behind for each tile, are bytes along one more axis.
        """
        if dtype.names is not None:
            shape, dtype = (*shape, dtype.itemsize), np.dtype(np.uint8)
        if dtype.kind not in KINDS or dtype.itemsize > 16 or dtype.char in "gG":
            msg = f"dtype {dtype} on {self.name}"
            raise Unsupported(msg)
        with self._device:
            return self._xp.empty(shape, dtype.newbyteorder("="))

    def joined(self, pieces: Sequence[Any]) -> Any:
        """Return arrays one after the other along their first axis."""
        with self._device:
            return self._xp.concatenate(pieces)

    def view(self, geometry: Geometry, array: Any) -> Any:
        """Return what is seen of an array's memory; that of a copy where it is not contiguous."""
        with self._device:
            return over(self._xp, geometry, self._xp.ascontiguousarray(array))

    def assign(self, target: Any, value: Any) -> None:
        """Write a value into a part of an array, broadcast and cast as NumPy does."""
        with self._device:
            target[...] = value

    def kernel(self, phase: Phase) -> Kernel:
        """Return the kernel of a phase; raises Unsupported where only the host has one."""
        found = self._kernels.get(phase)
        if found is None:
            if len(self._kernels) >= _MOST_KERNELS:
                self._kernels.clear()
            found = self._kernels[phase] = CupyKernel(phase, self._device)
        return found

    def apply(
        self, op: Op, values: Sequence[Any], params: Params, shape: Shape, dtype: np.dtype
    ) -> Any:
        """Return one op's result; raises Unsupported where only the host has it."""
        with self._device:
            return apply_on_device(op, values, params, shape, dtype)

    def wait(self) -> None:
        """Return once all that was asked for is done."""
        with self._device:
            self._xp.cuda.get_current_stream().synchronize()

    def free_bytes(self) -> int:
        """Return how much memory arrays may still take: what is free, and what the pool keeps."""
        with self._device:
            free, _ = self._xp.cuda.runtime.memGetInfo()
            pool = self._xp.get_default_memory_pool()
            return max(0, min(free + pool.free_bytes(), self._share - pool.used_bytes()))

    def allow(self, more: float | None) -> None:
        """Let arrays take so many bytes more than now, within the device's share.

        All of its share where that is None. What the pool keeps it gives back before it takes more.
        """
        with self._device:
            pool = self._xp.get_default_memory_pool()
            used = pool.used_bytes()
            most = self._share if more is None else min(used + ceil(more), self._share)
            pool.set_limit(size=max(used, most, 1))  # of 0, CuPy makes no limit at all

    def trim(self) -> None:
        """Give memory back that the pool keeps for reuse."""
        with self._device:
            self._xp.get_default_memory_pool().free_all_blocks()


class _Staging:
    """Two halves of pinned memory, each filled while the other is on its way."""

    def __init__(self, xp: Any, nbytes: int) -> None:
        self._xp = xp
        self.nbytes = nbytes
        self._memory = [self._xp.cuda.alloc_pinned_memory(nbytes) for _ in range(2)]
        self._halves = [np.frombuffer(m, np.uint8, nbytes) for m in self._memory]
        self._sent = [self._xp.cuda.Event(disable_timing=True) for _ in range(2)]

    def up(self, target: int, source: np.ndarray) -> None:
        """Copy an array to an address on the device; what was asked of it before comes first."""
        stream = self._xp.cuda.get_current_stream()
        memory = source.reshape(-1).view(np.uint8)
        if memory.nbytes <= DIRECT_BYTES:
            self._xp.cuda.runtime.memcpy(target, address_of(memory), memory.nbytes, _TO_DEVICE)
            return
        for k, lo in enumerate(range(0, memory.nbytes, self.nbytes)):
            half, sent = self._halves[k % 2], self._sent[k % 2]
            count = min(self.nbytes, memory.nbytes - lo)
            sent.synchronize()  # until what lay here before has left
            half[:count] = memory[lo : lo + count]
            self._xp.cuda.runtime.memcpyAsync(
                target + lo, address_of(half), count, _TO_DEVICE, stream.ptr
            )
            sent.record(stream)
        stream.synchronize()

    def down(self, target: np.ndarray, source: int) -> None:
        """Copy from an address on the device, once all that was asked of it is done."""
        stream = self._xp.cuda.get_current_stream()
        memory = target.reshape(-1).view(np.uint8)
        starts = range(0, memory.nbytes, self.nbytes)

        def ask(k: int) -> None:
            lo = starts[k]
            count = min(self.nbytes, memory.nbytes - lo)
            self._xp.cuda.runtime.memcpyAsync(
                address_of(self._halves[k % 2]), source + lo, count, _TO_HOST, stream.ptr
            )
            self._sent[k % 2].record(stream)

        for k in range(min(2, len(starts))):
            ask(k)
        for k, lo in enumerate(starts):
            count = min(self.nbytes, memory.nbytes - lo)
            self._sent[k % 2].synchronize()
            memory[lo : lo + count] = self._halves[k % 2][:count]
            if k + 2 < len(starts):
                ask(k + 2)


def found_devices() -> list[CupyDevice]:
    """Return all GPUs that CuPy can use; raises what CUDA says where it cannot."""
    import cupy

    return [CupyDevice(cupy, number) for number in range(cupy.cuda.runtime.getDeviceCount())]
