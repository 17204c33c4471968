"""What nodes on one machine take from each other: the memory that they read from.

Nodes that are processes of one machine have CPU time, memory and links of their own
(:mod:`benchmarks.nodes`), but one set of memory channels: what each is measured to stream is not
what all of them stream at the same time. Machines of a real cluster have it. Each node streams
alone, and then all of them do, in the same process and for as long; the share that is left to them
is a property of the machine, and no plan can get it back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dnumpy.runtime.measure import PRIVATE_BYTES, adding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client

    from dnumpy.cost.profile import DeviceProfile

STREAMED_BYTES = 192_000_000  # of three arrays together, beyond all caches
PIECES = 64
AHEAD_SECONDS = 0.5  # until which all nodes have their arrays
WINDOW_SECONDS = 0.4  # many periods of a quota


def streamed(begins: float, seconds: float = WINDOW_SECONDS) -> float:
    """Return the bytes a second that this process adds up from this moment on (``time.time``)."""
    add = adding(STREAMED_BYTES // PIECES, STREAMED_BYTES)
    time.sleep(max(0.0, begins - time.time()))
    started, calls, took = time.perf_counter(), 0, 0.0
    while took < seconds:
        add()
        calls, took = calls + 1, time.perf_counter() - started
    return calls * STREAMED_BYTES / took


def left_share(client: Client, nodes: Sequence[str]) -> float:
    """Return what is left of the nodes' rates where all of them stream, at most 1."""
    alone = [_run(client, [node])[0] for node in nodes]
    return min(1.0, sum(_run(client, nodes)) / sum(alone))


def _run(client: Client, nodes: Sequence[str]) -> list[float]:
    begins = time.time() + AHEAD_SECONDS
    futures = [client.submit(streamed, begins, workers=[node], pure=False) for node in nodes]
    rates: list[float] = client.gather(futures)  # type: ignore[no-untyped-call]
    return rates


def sharing(profile: DeviceProfile, share: float) -> DeviceProfile:
    """Return the profile with so much of its bandwidth beyond what a core keeps for itself."""
    points = tuple(
        (size, rate * share if size > PRIVATE_BYTES else rate) for size, rate in profile.bandwidth
    )
    return replace(profile, bandwidth=points)
