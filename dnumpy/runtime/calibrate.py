"""The full measurement of a node: what plans can begin without, in up to 15 s.

The rates are best of several in CPU time, as in :mod:`~dnumpy.runtime.measure`, except where a
thread waits for a device: disks are timed by the clock on the wall.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from dataclasses import replace
from functools import partial
from math import log2
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels import at_hand
from dnumpy.kernels import compile as compiler
from dnumpy.runtime import lowerings, machine, measure, streamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.runtime.background import Idle

CALIBRATION_SECONDS = 14.0
SORTED = 1 << 18
TRANSFORMED = 1 << 16
SCATTERED = 1 << 17
SERIALISED_BYTES = 1 << 24
FILE_BYTES = 1 << 25
BLOCK_BYTES = 1 << 20
PASSES = 3  # over what a neighbour disturbs most
AFFORDED = 1 / 2  # of the free memory, that a step may take: what lies there is not to be spilled
PRODUCT_SECONDS = 0.02  # of CPU time a thread, for each dtype
GEMM_DTYPES = ("float32", "float64", "complex64", "complex128")


class Step(NamedTuple):
    """What is measured, in so many seconds of CPU time and with so many bytes.

    Bytes of what adapts itself to the free memory are the least that it needs.
    """

    measured: Callable[[DeviceProfile], dict[str, Any]]
    cpu_seconds: float
    nbytes: int

    def within(self, profile: DeviceProfile, free: Callable[[], float]) -> dict[str, Any] | None:
        """Return what is found; None, without a look, where too little memory is free."""
        room = free()
        if self.nbytes > AFFORDED * room:
            return None
        return {"free_bytes": room, **self.measured(replace(profile, free_bytes=room))}


def calibrated(
    profile: DeviceProfile,
    now: float = 0.0,
    idle: Idle | None = None,
    free: Callable[[], float] = machine.free_bytes,
) -> DeviceProfile:
    """Return the profile with everything measured that a node can tell of itself.

    Where a quota leaves so little that a step would not end in time, its old value stays; so it
    does where a step would take more than half of what is ``free``, and the profile then does not
    count as calibrated: memory comes back. With ``idle`` each step waits until nothing else runs,
    which raises Busy when that does not come.
    """
    share = measure.allowed_share(profile.threads)
    spent, all_of_it = 0.0, True
    for step in STEPS:
        if spent + step.cpu_seconds / share < CALIBRATION_SECONDS:
            started = perf_counter()
            look = partial(step.within, profile, free)
            found = look() if idle is None else idle.undisturbed(look)
            spent += perf_counter() - started if idle is None else step.cpu_seconds / share
            profile = replace(profile, **(found or {}))
            all_of_it = all_of_it and found is not None
    profile = replace(profile, calibrated=all_of_it, measured_at=now or profile.measured_at)
    profile.verify()
    return profile


def _memory(profile: DeviceProfile) -> dict[str, Any]:
    passes = [measure.bandwidth(profile.threads, profile.free_bytes) for _ in range(PASSES)]
    points = measure.quickest(passes)
    return {"bandwidth": points, "gather_ns": measure.gather_ns()}


def _products(profile: DeviceProfile) -> dict[str, Any]:
    return {
        "gemm_flops_per_second": measure.gemm_rates(profile.threads, GEMM_DTYPES, PRODUCT_SECONDS)
    }


def _lowerings(profile: DeviceProfile) -> dict[str, Any]:
    at_hand.import_lowerings()
    compiled, seconds = lowerings.compiled_ns()
    tables = dict(profile.ns_per_element)
    tables["numba"] = compiled
    return {
        "ns_per_element": tuple(tables.items()),
        "compile_seconds": seconds,
        "lowering_seconds": streamed.lowering_seconds(profile.threads, profile.free_bytes),
        "importing_seconds": at_hand.import_seconds() or profile.importing_seconds,
        "starting_seconds": compiler.starting_seconds(),
    }


def _phases(profile: DeviceProfile) -> dict[str, Any]:
    tables = dict(profile.ns_per_element)
    tables[streamed.PHASES] = streamed.phases_ns(profile)
    waits = streamed.call_seconds(profile.threads, profile.free_bytes)
    return {"ns_per_element": tuple(tables.items()), "call_seconds": waits}


def _irregular(profile: DeviceProfile) -> dict[str, Any]:  # noqa: ARG001 - one of the steps
    return {"sort_ns": sort_ns(), "fft_ns": fft_ns(), "scatter_ns": scatter_ns()}


def _messages(profile: DeviceProfile) -> dict[str, Any]:  # noqa: ARG001 - likewise
    return {"serialise_bytes_per_second": serialise_rate()}


def _disk(profile: DeviceProfile) -> dict[str, Any]:  # noqa: ARG001 - likewise
    read, write = disk_rates()
    return {"disk_read_bytes_per_second": read, "disk_write_bytes_per_second": write}


STEPS = (
    Step(_products, 0.2, 1 << 23),
    Step(_irregular, 0.2, 5 << 24),
    Step(_messages, 0.1, 3 << 24),
    Step(_disk, 0.1, 1 << 22),
    Step(_memory, 1.0, 1 << 27),
    Step(_phases, 1.0, 1 << 24),
    Step(_lowerings, 1.0, machine.COMPILERS_BYTES),  # half of the time for importing the compiler
)


def sort_ns() -> float:
    """Return ns per element and binary logarithm of the length of sorting random float64."""
    source = np.random.default_rng(0).random(SORTED)
    work = np.empty_like(source)

    def sort() -> None:
        np.copyto(work, source)  # a tenth of the whole: sorted input would be another matter
        work.sort()

    return measure.best_seconds(sort) / (SORTED * log2(SORTED)) * 1e9


def fft_ns() -> float:
    """Return ns per element and binary logarithm of the length of a complex transform."""
    source = np.ones(TRANSFORMED, complex)
    seconds = measure.best_seconds(lambda: np.fft.fft(source))
    return seconds / (TRANSFORMED * log2(TRANSFORMED)) * 1e9


def scatter_ns() -> float:
    """Return ns per element written at random into a table larger than the caches."""
    elements = measure.GATHER_BYTES // 8
    table = np.ones(elements)
    where = np.random.default_rng(0).integers(0, elements, SCATTERED)
    values = np.ones(SCATTERED)

    def scatter() -> None:
        table[where] = values

    return measure.best_seconds(scatter) / SCATTERED * 1e9


def serialise_rate() -> float:
    """Return bytes per second of an array made into a message and read from it again.

    As it arrives: in memory that is the receiver's own, so that the bytes are copied once.
    """
    array = np.ones(SERIALISED_BYTES // 8)

    def there_and_back() -> None:
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
        arrived = [bytearray(buffer.raw()) for buffer in buffers]
        pickle.loads(text, buffers=arrived)  # noqa: S301 - made a line above

    return SERIALISED_BYTES / measure.best_seconds(there_and_back)


def disk_rates(folder: str | None = None) -> tuple[float, float]:
    """Return bytes per second (read, written and flushed) of a file in the temporary folder.

    The file is dropped from the page cache before it is read, where the system takes such advice;
    both are 0 where no file can be written.
    """
    block = np.random.default_rng(0).bytes(BLOCK_BYTES)
    count = FILE_BYTES // BLOCK_BYTES
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            started = perf_counter()
            for _ in range(count):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            written = perf_counter() - started
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(0)
            started = perf_counter()
            while file.read(BLOCK_BYTES):
                pass
            read = perf_counter() - started
    except OSError:  # no room, or no right to write: nothing can be kept there either
        return 0.0, 0.0
    return FILE_BYTES / max(read, 1e-9), FILE_BYTES / max(written, 1e-9)
