"""Tasks on a Dask worker that has a GPU: they run there, and what they make stays there.

What leaves the worker does so as NumPy's arrays: no other worker needs CuPy, or a GPU.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.lower import Unsupported
from dnumpy.runtime import gpus
from dnumpy.runtime.on_device import Afar, OnDevice, OnHost
from dnumpy.runtime.operands import AHEAD, Made, aligned

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.kernels.device import Device

KEPT_BYTES = 1 << 20  # arrays of the worker's memory as large as this are copied once


class Resident(Afar):
    """A result in the memory of the worker's device, which leaves the worker as a NumPy array."""

    __slots__ = ("__weakref__",)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return int(self.array.nbytes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a NumPy array, which lies aligned where it arrives."""
        return _arrived, (AHEAD, self.here())


def _arrived(_: np.ndarray, array: np.ndarray) -> np.ndarray:
    return aligned((array,))[0]


class OnWorker:
    """Runs tasks on this worker's device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._run = OnDevice(device, OnHost((device,)))
        self._copies: dict[int, tuple[weakref.ref[np.ndarray], Any]] = {}
        self._lock = threading.Lock()

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a task."""
        return self._left(self._run(function, *[self._entered(a) for a in args]))

    def _entered(self, value: Any) -> Any:
        """Return an argument with what lies on the device as the device's own arrays."""
        kind = type(value)
        if kind is Resident:
            return value.array
        if kind is Made:
            return Made(tuple([self._entered(rows) for rows in value.rows]), *value[1:])
        if kind is np.ndarray and value.nbytes >= KEPT_BYTES:
            return self._copied(value)
        return value

    def _copied(self, array: np.ndarray) -> Any:
        """Return the copy of what lies in the worker's memory, made once; itself without room."""
        key = id(array)
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known[0]() is array:
                return known[1]
        no_room: tuple[type[Exception], ...] = (*self.device.exhausted, Unsupported)
        try:
            made = self.device.put(array)
        except no_room:
            return array
        with self._lock:
            self._copies[key] = weakref.ref(array, lambda _: self._copies.pop(key, None)), made
        return made

    def _left(self, value: Any) -> Any:
        """Return a result whose arrays on the device can leave the worker."""
        if type(value) is Made:
            return Made(tuple([self._left(rows) for rows in value.rows]), *value[1:])
        return Resident(value, self.device) if self.device.holds(value) else value


_runner: OnWorker | None = None  # of this process


def set_up(device: Device | None) -> None:
    """Let this process's tasks run on a device; on its CPU where there is none."""
    global _runner  # noqa: PLW0603 - one device for each worker process
    _runner = OnWorker(device) if device is not None else None


def device() -> Device | None:
    """Return the device that this process's tasks run on."""
    return _runner.device if _runner is not None else None


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Run a task of a graph on this worker's device."""
    return function(*args) if _runner is None else _runner(function, *args)


def profile_of_device(cpu: DeviceProfile) -> DeviceProfile:
    """Return what this worker can do: its device, where it has one, in place of its CPU.

    The tasks of a worker share its device, so that each has its part of it.
    """
    mine = device()
    if mine is None:
        return cpu
    known = gpus.kept_or_measured(mine, cpu)
    return replace(
        known,
        name=cpu.name,
        threads=cpu.threads,
        speed=1.0 / max(cpu.threads, 1),
        network_bytes_per_second=cpu.network_bytes_per_second,
        network_latency_seconds=cpu.network_latency_seconds,
        serialise_bytes_per_second=cpu.serialise_bytes_per_second,
        calibrated=cpu.calibrated,
        free_bytes=float(mine.free_bytes()),
    )
