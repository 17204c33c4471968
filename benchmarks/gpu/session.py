"""Rivals on one device: the data there once, each rival's version, and what its results are."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

import dnumpy
from benchmarks.gpu import fused, jitted
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import gpus

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.gpu.programs import GpuProgram
    from dnumpy.kernels.device import Device

# attributes of CuPy that this package uses besides those of `fused`; a test sees that they exist
NAMES = (
    "abs", "asarray", "asnumpy", "copyto", "count_nonzero", "cuda.get_current_stream",
    "cuda.runtime.driverGetVersion", "cuda.runtime.getDeviceProperties", "cuda.runtime.memGetInfo",
    "cuda.runtime.runtimeGetVersion", "empty_like", "matmul", "ndarray", "ones",
)  # fmt: skip
SUBJECT = "dnumpy"
PEERS = ("numpy", "plain", "fused", "jax")
BLOCK = 1 << 24  # elements that are compared at a time
INSTALL = "pip install 'dnumpy[gpu-cuda12]' (drivers from 525 on) or 'dnumpy[gpu-cuda13]' (580)"


def refusal() -> str:
    """Return why nothing can be measured here, '' where there is a usable GPU."""
    if config.device == "cpu" or config.mode != "default":
        return "dnumpy is told to use no GPU: unset DNUMPY_DEVICE and DNUMPY_MODE"
    if os.name != "nt" and not any(Path(sign).exists() for sign in gpus.SIGNS):
        return "there is no GPU to measure: this machine has no NVIDIA driver"
    if find_spec("cupy") is None:
        return f"CuPy is not installed: {INSTALL}"
    if gpus.devices_here() is None:
        return f"CuPy and dnumpy find no GPU that they can use: {INSTALL}"
    return ""


def device_here() -> Device:
    """Return dnumpy's first GPU."""
    nodes = gpus.devices_here()
    assert nodes is not None, refusal()
    return nodes.devices["gpu-0"]


def described() -> dict[str, Any]:
    """Return the device and the versions that figures come from."""
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(0)
    found = {
        "device": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "device_bytes": int(runtime.memGetInfo()[1]),
        "driver": driver(),
        "cuda_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
        "numpy": numpy.__version__,
        "dnumpy": dnumpy.__version__,
        "python": platform.python_version(),
    }
    with suppress(PackageNotFoundError):
        found["jax"] = version("jax")
    return found


def driver() -> str:
    """Return what the driver says of itself, '' where it says nothing."""
    with suppress(OSError):
        return Path(gpus.SIGNS[0]).read_text(encoding="utf-8").splitlines()[0]
    return ""


@dataclass(frozen=True, slots=True)
class Rival:
    """A version of a program with its data: ``run`` starts it, ``finish`` waits for its result."""

    name: str
    run: Callable[[], Any]
    finish: Callable[[Any], object]


def on_device(program: GpuProgram, scale: float) -> tuple[Any, ...]:
    """Return a program's data as CuPy's arrays; one at a time lies in the host's memory."""
    import cupy

    return tuple(cupy.asarray(array) for array in program.make(scale))


def rival(name: str, program: GpuProgram, data: tuple[Any, ...]) -> Rival:
    """Return a rival on CuPy's arrays, which all but NumPy read where they are."""
    import cupy

    def wait(_: Any) -> None:
        cupy.cuda.get_current_stream().synchronize()

    if name == "plain":
        return Rival(name, lambda: program.run(cupy, data), wait)
    if name == "fused":
        by_hand = fused.PROGRAMS[program.name]
        return Rival(name, lambda: by_hand(*data), wait)
    if name == "jax":
        import jax

        compiled, theirs = jitted.version(program), jitted.arrays(data)
        return Rival(name, lambda: compiled(*theirs), jax.block_until_ready)
    if name == "numpy":
        home = tuple(cupy.asnumpy(array) for array in data)
        return Rival(name, lambda: program.run(numpy, home), lambda _: None)
    assert name == SUBJECT, name
    ours = tuple(dnumpy.at(array, dnumpy.GPU(0)) for array in data)
    return Rival(name, lambda: program.run(dnumpy, ours), computed)


def computed(_: Any) -> None:
    """Compute what is pending, and wait for the device."""
    engine.flush()
    device_here().wait()


def parts_of(found: Any) -> tuple[Any, ...]:
    """Return a result's arrays."""
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def as_cupy(array: Any) -> Any:
    """Return any rival's array as CuPy's: in the same memory where it lies on the device."""
    import cupy

    if isinstance(array, cupy.ndarray) or hasattr(array, "__cuda_array_interface__"):
        return cupy.asarray(array)
    return cupy.asarray(numpy.asarray(array))


def check(program: GpuProgram, xp: Any, got: Any, expected: Any) -> None:
    """Raise AssertionError unless two results, of arrays of ``xp``, are near enough."""
    pairs = zip(parts_of(got), parts_of(expected), strict=True)
    for number, (one, other) in enumerate(pairs):
        assert one.shape == other.shape, f"shape {one.shape} instead of {other.shape}"
        assert one.dtype == other.dtype, f"dtype {one.dtype} instead of {other.dtype}"
        far, worst = apart(xp, one.reshape(-1), other.reshape(-1), program.tolerance)
        assert far <= program.strays * one.size, (
            f"result {number}: {far} of {one.size} elements differ by up to {worst:.3g}, "
            f"as a share of the largest; {program.tolerance:g} is allowed"
        )


def apart(xp: Any, got: Any, expected: Any, tolerance: float) -> tuple[int, float]:
    """Return how many elements differ by too much, and by how much at most.

    A share of the largest element. NaN differs from all.
    """
    far, worst = 0, 0.0
    starts = range(0, len(got), BLOCK)
    largest = max((float(xp.abs(expected[k : k + BLOCK]).max()) for k in starts), default=0.0)
    for k in starts:
        differences = xp.abs(got[k : k + BLOCK] - expected[k : k + BLOCK])
        far += int(xp.count_nonzero(~(differences <= tolerance * largest)))
        worst = max(worst, float(differences.max()) / (largest or 1.0))
    return far, worst
