"""The GPUs of this machine: found and measured once they might have paid.

Importing CuPy and measuring take about as long as a large program of NumPy's, so that both wait
until evaluations have taken as long here (:mod:`~dnumpy.runtime.sending`).
"""

from __future__ import annotations

import importlib.util
import os
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dnumpy.config import config, thread_count
from dnumpy.runtime import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.kernels.device import Device
    from dnumpy.runtime.device_probe import Way
    from dnumpy.runtime.devices import Devices

T = TypeVar("T")
SIGNS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")  # of a driver
_found: list[Devices | None] = []  # one entry once they have been looked for
_possible: list[bool] = []  # likewise, once somebody has looked whether there may be one
_lock = threading.Lock()


def might_be() -> bool:
    """Say whether there may be a GPU to use; nothing is imported for the question."""
    if config.device == "cpu" or config.mode != "default":
        return False
    if _found:
        return _found[0] is not None
    if not _possible:  # looking at files takes as long as a small evaluation
        _possible.append(_has_driver() and importlib.util.find_spec("cupy") is not None)
    return _possible[0]


def _has_driver() -> bool:
    return os.name == "nt" or any(Path(sign).exists() for sign in SIGNS)


def devices_here() -> Devices | None:
    """Return this machine's devices as nodes, measured the first time; None where there is no GPU.

    What is there and cannot be used warns, once.
    """
    if not might_be():
        return None
    with _lock:
        if not _found:
            _found.append(_of_gpus(lambda gpus: nodes_of(gpus) if gpus else None))
    return _found[0]


def device_of_worker() -> Device | None:
    """Return the GPU for the tasks of a worker: the first that its process sees, None without.

    Deployments that start a worker for each GPU let each process see another one first.
    """
    return _of_gpus(lambda gpus: next(iter(gpus), None)) if might_be() else None


def _of_gpus(made: Callable[[Sequence[Device]], T]) -> T | None:
    """Return what is made of this machine's GPUs; None, with a warning, where that fails."""
    try:
        from dnumpy.kernels.cupy_device import found_devices

        return made(found_devices())
    except Exception as problem:  # noqa: BLE001 - of CUDA, of its driver, of a half-installed CuPy
        warnings.warn(
            f"this machine's GPU cannot be used, and the CPU does the work: {problem}; "
            "pip install 'dnumpy[gpu-cuda12]' (drivers from 525 on) or 'dnumpy[gpu-cuda13]' (from "
            "580 on), one of the two; or set dnumpy.config.device = 'cpu'",
            RuntimeWarning,
            stacklevel=3,
        )
        return None


def nodes_of(gpus: Sequence[Device]) -> Devices:
    """Return the CPU and these devices as nodes, by kept profiles or new ones."""
    from dnumpy.runtime.device_probe import cpu_profile, links_of, way_to
    from dnumpy.runtime.devices import Devices
    from dnumpy.runtime.profiles import load_or_measure

    threads = thread_count()
    cpu = cpu_profile(load_or_measure(threads=threads))
    profiles, ways = {cpu.name: cpu}, {}
    for gpu in gpus:
        ways[gpu.name] = way_to(gpu)
        known = kept_or_measured(gpu, cpu, ways[gpu.name])
        profiles[gpu.name] = replace(known, name=gpu.name, free_bytes=float(gpu.free_bytes()))
    return Devices(gpus, profiles, links_of(ways))


def kept_or_measured(gpu: Device, cpu: DeviceProfile, way: Way | None = None) -> DeviceProfile:
    """Return the profile of a device beside this CPU, kept between processes.

    ``way`` has the seconds of messages to it and back, measured now where they are not known.
    """
    from dnumpy.runtime.device_probe import device_profile, way_to
    from dnumpy.runtime.profiles import read_profile, write_profile

    path = _path(gpu, cpu.threads)
    known = read_profile(path)
    if known is None:
        known = device_profile(gpu, cpu, way or way_to(gpu))
        write_profile(path, known)
    return known


def _path(gpu: Device, threads: int) -> Path:
    from hashlib import blake2b

    from dnumpy.runtime.profiles import default_cache_dir

    key = "\n".join((*machine.machine_key(threads), gpu.describes))
    digest = blake2b(key.encode(), digest_size=12).hexdigest()
    return default_cache_dir() / "profiles" / f"gpu-{digest}.json"


class Unmeasured:
    """Devices that nobody has looked at yet, as :mod:`~dnumpy.runtime.sending` sees them."""

    def here_and_there(self, works: Sequence[Work]) -> None:
        """Return None."""

    def sending_seconds(self, nbytes: float) -> float:  # noqa: ARG002 - likewise
        """Return no time: looking for them takes longer."""
        return 0.0

    def has(self, owner: Expr) -> bool:  # noqa: ARG002 - likewise
        """Return False: nothing was sent there."""
        return False


def known_or_unmeasured() -> Devices | Unmeasured:
    """Return the devices if they have been looked for."""
    known = _found[0] if _found else None
    return Unmeasured() if known is None else known
