"""CuPy as this machine plays it: CUDA texts are compiled by g++, memory is NumPy's.

What :mod:`dnumpy.kernels.cupy_device` asks of CuPy besides kernels: streams, copies, pools.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.kernels import cupy as lowering
from dnumpy.kernels import cupy_device
from tests.kernels.cuda_on_host import DeviceArray, HostCupy

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from dnumpy.kernels.cuda_launch import Launch
    from dnumpy.kernels.cupy_device import CupyDevice

CUDA = 2  # what DLPack calls such a device


class OutOfMemoryError(MemoryError):
    """Stands for CuPy's."""


class Device:
    """Stands for ``cupy.cuda.Device``: the first one, whatever is asked for."""

    compute_capability = "80"

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Pointer:
    """Stands for ``cupy.cuda.MemoryPointer``, and keeps the memory."""

    def __init__(self, memory: np.ndarray, offset: int = 0) -> None:
        self.memory, self.offset = memory, offset
        self.ptr = address_of(memory) + offset

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.memory, self.offset + offset)


class Array(DeviceArray):
    """Stands for ``cupy.ndarray``; NumPy cannot read it unasked."""

    def __new__(
        cls, shape: tuple[int, ...], dtype: Any, memptr: Pointer, strides: tuple[int, ...]
    ) -> Self:
        cells = memptr.memory.view(np.ndarray).reshape(-1).view(np.uint8)
        array: Any = np.ndarray(shape, dtype, cells, memptr.offset, strides)
        return array.view(cls)

    @property
    def data(self) -> Pointer:  # type: ignore[override]
        return Pointer(self)

    @property
    def device(self) -> Device:
        return Device()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.view(np.ndarray).__array_interface__)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return CUDA, 0

    def __dlpack__(self, **_: Any) -> Any:
        return self.view(np.ndarray).__dlpack__()

    def get(self) -> np.ndarray:
        return np.array(self.view(np.ndarray))


class Stream:
    """Stands for a stream on which all is done at once."""

    ptr = 0

    def synchronize(self) -> None:
        """Return: all is done."""


class Event:
    """Stands for ``cupy.cuda.Event``."""

    def __init__(self, *, disable_timing: bool) -> None:
        assert disable_timing

    def record(self, stream: Stream) -> None:
        assert isinstance(stream, Stream)

    def synchronize(self) -> None:
        """Return: all is done."""


class Pool:
    """Stands for a memory pool; ``limits`` has all that were set."""

    def __init__(self) -> None:
        self.limits: list[int] = []
        self.used = 0

    def set_limit(self, size: int) -> None:
        assert size > 0  # which CuPy takes for no limit
        self.limits.append(size)

    def used_bytes(self) -> int:
        return self.used

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        """Return: nothing is kept."""


def _copy(target: int, source: int, nbytes: int, kind: int, _stream: int = 0) -> None:
    assert kind in (1, 2)
    ctypes.memmove(target, source, nbytes)


class PlayedCupy(HostCupy):
    """As much of CuPy as a device uses."""

    ndarray = Array

    def __init__(self, total_bytes: int = 1 << 34) -> None:
        runtime = SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda _: {"name": b"played by this machine"},
            memGetInfo=lambda: (total_bytes, total_bytes),
            memcpy=_copy,
            memcpyAsync=_copy,
        )
        stream, self.pool = Stream(), Pool()
        self.cuda: Any = SimpleNamespace(
            **vars(HostCupy.cuda) | {"Device": Device},
            Event=Event,
            alloc_pinned_memory=bytearray,
            get_current_stream=lambda: stream,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=runtime,
        )

    def get_default_memory_pool(self) -> Pool:
        return self.pool

    def asarray(self, value: Any) -> Any:
        described = getattr(value, "__cuda_array_interface__", None)
        if described is None or isinstance(value, Array):
            return np.asarray(value).view(Array)
        here = SimpleNamespace(__array_interface__=described, keeps=value)
        return np.asarray(here).view(Array)

    def from_dlpack(self, value: Any) -> Any:
        assert value.__dlpack_device__()[0] == CUDA
        here = SimpleNamespace(
            __dlpack__=lambda **_: value.__dlpack__(), __dlpack_device__=lambda: (1, 0)
        )
        return np.from_dlpack(here).view(Array)

    def __getattr__(self, name: str) -> Any:
        return _played(getattr(np, name))


def _played(theirs: Any) -> Any:
    """Return one of NumPy's functions, or modules, for arrays that stand for CuPy's."""
    if isinstance(theirs, ModuleType):
        return _Functions(theirs)

    def call(*args: Any, **kwargs: Any) -> Any:
        found = theirs(*[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()})
        if isinstance(found, tuple):
            return tuple([np.asarray(each).view(Array) for each in found])
        return np.asarray(found).view(Array)

    return call


class _Functions:
    """Stands for a module of CuPy's."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _played(getattr(self._module, name))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_plain(v) for v in value])
    assert type(value) is not np.ndarray, "CuPy takes no array of NumPy's"
    return value.view(np.ndarray) if isinstance(value, Array) else value


def device_of_cupy(monkeypatch: pytest.MonkeyPatch, folder: Path) -> CupyDevice:
    """Return a device as CuPy would give it, until the test ends; kernels are kept in a folder."""
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(folder))
    played = PlayedCupy()
    extras = SimpleNamespace(errstate=lambda *, linalg: nullcontext(linalg))
    monkeypatch.setitem(sys.modules, "cupy", played)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "cupyx", extras)  # type: ignore[arg-type]
    monkeypatch.setattr(lowering, "_cupy", lambda: played)
    monkeypatch.setattr(lowering, "_functions", {})
    function = lowering._function

    def noted(xp: Any, launch: Launch) -> Any:
        played.kernels[launch.kernel.name] = launch.kernel
        return function(xp, launch)

    monkeypatch.setattr(lowering, "_function", noted)
    (found,) = cupy_device.found_devices()
    return found
