"""Seconds and bytes of a Work on a DeviceProfile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work

OVERLAP = {  # exponent of the norm over memory, BLAS, loops: 1 adds, infinity takes the largest
    "tiled": 2.0,  # stretches of a tile are read while those before them are computed, in part
    "numpy": 2.0,  # an op on whole operands makes one pass, or a few
}
FULL_OVERLAP = 4.0  # one loop that loads, computes and stores
VECTOR_CLASSES = frozenset({"arith", "div", "sqrt", "exp", "compare", "cast", "reduce", "vector"})
DTYPE_SCALE = {
    "bool": 0.5,
    "int8": 0.5,
    "uint8": 0.5,
    "int16": 0.5,
    "uint16": 0.5,
    "float16": 4.0,  # converted to float32 and back, element by element
    "int32": 0.5,
    "uint32": 0.5,
    "float32": 0.5,
    "complex64": 1.0,
    "complex128": 2.0,
    "longdouble": 4.0,
}


def smooth_max(parts: Sequence[float], exponent: float) -> float:
    """Return the norm of the parts: the sum for exponent 1, near the maximum for a large one."""
    largest = max(parts)
    if largest == 0.0:
        return 0.0
    return largest * math.pow(sum(math.pow(p / largest, exponent) for p in parts), 1 / exponent)


def other_part(whole: float, part: float, exponent: float) -> float:
    """Return what has this norm with a part that is known, 0 where that is the whole by itself."""
    if part >= whole:
        return 0.0
    return whole * math.pow(1.0 - math.pow(part / whole, exponent), 1 / exponent)


def loop_seconds_per_row(work: Work, profile: DeviceProfile, lowering: str) -> float:
    """Return the seconds that the element loops of one row take, without waiting for memory."""
    table, loops = profile.ns_table(lowering), work.loops_of(lowering)
    if any(op_class in ("gather", "scatter") for op_class, _ in loops):
        # read from an operand that the node holds whole, if there is one
        size = max(work.fixed_bytes, work.bytes_per_row)
        at = {"gather": profile.gather_ns_at(size), "scatter": profile.scatter_ns_at(size)}
        table = {**table, **at}
    scale = DTYPE_SCALE.get(work.dtype, 1.0)
    nanoseconds = sum(
        elements * table[op_class] * (scale if op_class in VECTOR_CLASSES else 1.0)
        for op_class, elements in loops
    )
    return nanoseconds * 1e-9


def seconds(
    work: Work,
    profile: DeviceProfile,
    rows: float,
    lowering: str = "tiled",
    correction: float = 1.0,
    *,
    together: bool = True,
) -> float:
    """Return the predicted seconds of one task doing ``rows`` rows of the work on one thread.

    Grows with rows; ``correction`` is what :class:`OnlineCorrection` learnt. No rows take no time.
    Unless ``together``, no other thread of the device is as busy.
    """
    if rows <= 0:
        return 0.0
    moved = rows * work.bytes_moved + work.fixed_bytes
    parts = (
        moved / profile.bandwidth_at(moved),
        rows * work.flops / profile.flops_per_second(work.dtype),
        rows * loop_seconds_per_row(work, profile, lowering),
    )
    busy = smooth_max(parts, OVERLAP.get(lowering, FULL_OVERLAP))
    busy += rows * work.bytes_fresh * profile.page_ns_per_byte * 1e-9
    if lowering == "tiled" and together:
        busy += rows * work.calls * profile.call_seconds
    reading = _reading_seconds(work, profile, rows)
    return profile.launch_seconds + (busy / profile.speed + reading) * correction


def _reading_seconds(work: Work, profile: DeviceProfile, rows: float) -> float:
    """Return the seconds in which a task's share of a file comes from the disk, 0 if unknown.

    The threads of a device wait for the same disk, each for what all of them read.
    """
    if not (work.passing_bytes_per_row and profile.disk_read_bytes_per_second):
        return 0.0
    together = rows * work.passing_bytes_per_row * profile.threads
    return together / profile.disk_read_bytes_per_second


def seconds_per_row(
    work: Work,
    profile: DeviceProfile,
    rows: float,
    lowering: str = "tiled",
    correction: float = 1.0,
) -> float:
    """Return the seconds that each of ``rows`` rows adds to the fixed cost, near that many rows."""
    rows = max(rows, 1.0)
    total = seconds(work, profile, rows, lowering, correction)
    return (total - profile.launch_seconds) / rows


class FirstRun(NamedTuple):
    """A run beside which its kernel is compiled: what it takes, and how far that has come then.

    Of its own each thread ``ran`` tiled for so many seconds; of compiling so many are ``left``.
    """

    seconds: float
    ran: float
    left: float


def first_run(
    tiled: float, compiled: float, begins: float, compiling: float, threads: int
) -> FirstRun:
    """Return what a run takes that goes on compiled once its kernel is there.

    ``tiled`` and ``compiled`` are what it would take one way alone; once each of its threads ran
    for ``begins`` seconds, one more compiles for ``compiling`` seconds of its own, on their
    processors: while it does, each of them does as much.
    """
    beside = min(compiling, max(tiled - begins, 0.0))
    left = compiling - beside
    ran = tiled if left else min(begins + beside, tiled)
    rest = 1.0 - ran / tiled if tiled else 0.0
    return FirstRun(ran + beside / threads + rest * min(compiled, tiled), ran, left)


def compile_seconds(work: Work, profile: DeviceProfile, *, starts: bool) -> float:
    """Return the CPU time of making machine code of a kernel.

    The process that does so ``starts`` with the first one, and the first after a while.
    """
    return profile.compile_seconds * work.code + (profile.starting_seconds if starts else 0.0)


def peak_bytes(work: Work, rows: float) -> float:
    """Return the bytes that a node holds while it does ``rows`` rows of the work."""
    if rows <= 0:
        return 0.0
    return rows * work.bytes_per_row + work.fixed_bytes
