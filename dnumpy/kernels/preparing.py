"""Programs that have run tiled for as long as their machine code is worth are given it, in threads.

One record stands for all phases that differ in extents and constants alone.
"""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING

from dnumpy.kernels import at_hand, cached
from dnumpy.kernels.rates import Record

if TYPE_CHECKING:
    from dnumpy.kernels.chain import Chain
    from dnumpy.kernels.numba import Variant
    from dnumpy.kernels.staged import Staged
    from dnumpy.rewrite.phase import Phase

LOAD_AFTER = 3e-3  # seconds of tiled time that loading from disk is worth

records: dict[str, Record] = {}
_lock = threading.Lock()
costs: list[float] = []  # seconds of compiling


def record_of(variant: Variant | Staged | Chain) -> Record:
    """Return what is known of a program, the same for all that run its text."""
    record = records.get(variant.key)
    if record is None:
        with _lock:
            record = records.setdefault(variant.key, Record(variant.source, variant.helpers))
    return record


def consider(record: Record, phase: Phase, run: float) -> None:
    """Start loading or compiling when the tiled time so far makes it worth its cost.

    Or when the ``run`` of which this was a part takes so many seconds that the rest is worth it.
    """
    if record.state != "tiled" or record.tiled_total < LOAD_AFTER:
        return
    # what a busy machine took longer for is not worth more
    cost = min([*costs[-1:], at_hand.COMPILE_SECONDS]) * at_hand.length(phase)
    worth = record.tiled_total >= cost or run >= at_hand.AHEAD * cost
    if (not worth and record.digest) or not begins(record):
        return
    threading.Thread(
        target=prepare,
        args=(record, phase),
        kwargs={"worth": worth},
        name="dnumpy-compile",
        daemon=True,
    ).start()


def begins(record: Record) -> bool:
    """Say whether the caller is to make the machine code, which nobody does yet."""
    with record.lock:
        if record.state != "tiled":
            return False
        record.state = "compiling"
    return True


def prepare(record: Record, phase: Phase, *, worth: bool) -> None:
    """Make the machine code of ``record`` available, if it is on disk or worth compiling.

    A later process is to know that there is some for the ``phase``.
    """
    from dnumpy.kernels import compile as compiler
    from dnumpy.kernels import llvm_apart
    from dnumpy.kernels.codes import machine_code

    started = time.perf_counter()
    try:
        with at_hand.giving_way():
            record.digest = compiler.digest_of(record.source)
            texts = record.source, *record.helpers
            if not worth and not all(map(compiler.is_cached, texts)):
                record.state = "tiled"
                return
            for helper in record.helpers:
                machine_code(helper)
            code = machine_code(record.source)
    except llvm_apart.Unavailable:  # this process is about to end, which is nothing to warn of
        record.state = "tiled"
        return
    except Exception as error:  # noqa: BLE001 - whatever the compiler objects to, NumPy still runs it
        record.state = "failed"
        warnings.warn(
            f"a kernel stays with NumPy, since it does not compile: {error}", stacklevel=1
        )
        return
    record.compile_seconds = time.perf_counter() - started
    record.from_disk = code.from_disk
    if not code.from_disk:
        costs.append(record.compile_seconds)
    record.state = "ready"
    cached.note(phase)
