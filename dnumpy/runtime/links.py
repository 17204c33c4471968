"""The links between workers, measured from worker to worker, not through the client.

In a round each worker talks to one other, and all pairs do so at the same time, first in one
direction, then in the other: so a round takes as long as its slowest pair, and n workers need n
rounds. A message goes the way that a task's inputs go: one worker asks another, over the
connections that they keep, and gets an array.
"""

from __future__ import annotations

from time import perf_counter, time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.cost.links import Link, Links
from dnumpy.runtime import machine
from dnumpy.runtime.received import value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributed import Client, Worker

SMALL, MIDDLE, LARGE = 1_000, 1_000_000, 64_000_000
SIZES = (SMALL, MIDDLE, LARGE)
RUNS = {SMALL: 6, MIDDLE: 3, LARGE: 1}  # the best of so many
ENOUGH_SECONDS = 0.25  # of one size: no further run
LARGEST_SECONDS = 1.0  # a message that would take longer by the smaller one's time is left out
ANSWER_SECONDS = 30.0
MEMORY_SHARE = 1 / 8  # of what is free, for a message on its way
HANDLER = "dnumpy_bytes"


def rounds(nodes: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return rounds of pairs: each pair in one round, each node at most once in a round."""
    ring: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    found = []
    for _ in range(len(ring) - 1):
        facing = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
        found.append([(a, b) for a, b in facing if a is not None and b is not None])
        ring.insert(1, ring.pop())
    return found


def measure_links(
    client: Client, workers: Sequence[str], *, largest: int = LARGE, budget_seconds: float = 10.0
) -> Links:
    """Return the links between all workers, as far as there was time.

    Messages are at most ``largest`` bytes. When the budget is used up, no further round begins;
    of the pairs that are then missing, :meth:`Links.between` knows what their nodes have shown.
    Raises OSError when a worker goes away meanwhile.
    """
    sizes = [size for size in SIZES if size <= largest]
    found: list[Link] = []
    deadline = perf_counter() + budget_seconds
    try:
        client.run(_serve, largest, workers=list(workers))
        for pairs in rounds(workers):
            for asks in (dict(pairs), {b: a for a, b in pairs}):
                if perf_counter() < deadline:
                    times = client.run(_fetched_seconds, asks, sizes, workers=list(asks))
                    found += [Link(asks[a], a, times[a]) for a in asks]
    finally:
        client.run(_stop_serving, workers=list(workers), on_error="ignore")
    links = Links(tuple(map(float, SIZES)), tuple(found), time())
    links.verify()
    return links


async def _serve(largest: int, dask_worker: Worker) -> None:
    """Let the worker answer requests for bytes; random ones, as no link may compress them away."""
    from distributed.protocol.serialize import to_serialize

    block = np.frombuffer(np.random.default_rng(0).bytes(MIDDLE), np.uint8)
    size = _affordable(dask_worker, largest)
    payload = np.resize(block, size)

    def send(size: int) -> Any:
        return to_serialize(payload[:size])

    dask_worker.handlers[HANDLER] = send


async def _stop_serving(dask_worker: Worker) -> None:
    dask_worker.handlers.pop(HANDLER, None)


def _affordable(worker: Worker, size: int) -> int:
    """Return the bytes of a message that this worker's memory leaves room for."""
    free = machine.free_bytes(worker.memory_manager.memory_limit)
    return int(max(MIDDLE, min(size, MEMORY_SHARE * free)))


async def _fetched_seconds(
    asks: Mapping[str, str], sizes: Sequence[int], dask_worker: Worker
) -> tuple[float, ...]:
    """Return what messages from this worker's partner took, the small ones first."""
    partner = dask_worker.rpc(asks[dask_worker.address])
    await _fetch(partner, SMALL)  # opens the connection
    times: list[float] = []
    for before, size in zip((SMALL, *sizes), sizes, strict=False):
        too_slow = times and times[-1] * size / before > LARGEST_SECONDS and size > MIDDLE
        if too_slow or _affordable(dask_worker, size) < size:
            break
        seconds = await _best_fetch(partner, size)
        if seconds is None:
            break
        times.append(max([seconds, *times[-1:]]))  # noise must not make more bytes take less
    return tuple(times)


async def _best_fetch(partner: Any, size: int) -> float | None:
    """Return the shortest of several fetches; None where the partner cannot send so much."""
    best, spent = float("inf"), 0.0
    for _ in range(RUNS[size]):
        started = perf_counter()
        if await _fetch(partner, size) < size:
            return None
        best = min(best, perf_counter() - started)
        spent += perf_counter() - started
        if spent > ENOUGH_SECONDS:
            break
    return best


async def _fetch(partner: Any, size: int) -> int:
    import asyncio  # which takes as long as a quarter of this library

    received = await asyncio.wait_for(getattr(partner, HANDLER)(size=size), ANSWER_SECONDS)
    return int(value_of(received).nbytes)


def links_table(links: Links) -> list[dict[str, str]]:
    """Return a row for each measured link, units in the names."""
    rows = []
    for source, target, seconds in links.links:
        rates = [size / took / 1e6 for size, took in zip(links.sizes, seconds, strict=False)]
        rates += [float("nan")] * (len(links.sizes) - len(rates))
        rows.append(
            {
                "from": source,
                "to": target,
                "1 kB ms": f"{seconds[0] * 1e3:.2f}",
                "1 MB MB/s": f"{rates[1]:.0f}",
                "64 MB MB/s": f"{rates[2]:.0f}",
            }
        )
    return [{name: "-" if text == "nan" else text for name, text in row.items()} for row in rows]
