"""What each node can do, measured on the node itself: here, or on every worker of a cluster."""

from __future__ import annotations

import platform
import threading
from dataclasses import replace
from functools import partial
from time import monotonic, perf_counter, sleep, time
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from dnumpy.config import thread_count
from dnumpy.cost.profile import DeviceProfile
from dnumpy.runtime import machine, measure
from dnumpy.runtime.background import Busy, Idle
from dnumpy.runtime.links import links_table, measure_links
from dnumpy.runtime.on_worker import profile_of_device
from dnumpy.runtime.profiles import kept_or_calibrated, kept_or_new, load_or_measure

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from distributed import Client, Worker

ECHO_BYTES = (1 << 18, 4 << 20)
ENOUGH_SECONDS = 0.02  # of a message: larger ones would tell no more
CHAIN_TASKS = 8
LEAST_CHAIN_SECONDS = 1e-3  # what longer chains are taken to cost where noise says less
WORKER_IDLE_SECONDS = 0.2
ASKED_SECONDS = 0.5
CALIBRATION_SECONDS = 60.0  # for which a worker may wait until it has nothing to do

__all__ = [
    "calibrate_cluster",
    "calibrate_idle_cluster",
    "load_or_measure",
    "measure_here",
    "probe_cluster",
    "probe_tables",
    "with_free_memory",
]


def measure_here(name: str = "local", threads: int | None = None) -> DeviceProfile:
    """Return a fresh profile of this process, in about a second.

    Rates are those of one thread while ``threads`` (by default those of the embedded scheduler)
    are busy.
    """
    threads = threads or thread_count()
    return replace(measure.measure(name, threads, now=time()), speed=measure.speed(threads))


async def _measured_on_worker(cache_dir: str | None, dask_worker: Worker) -> bytes:
    return await _in_thread(kept_or_new, cache_dir, dask_worker)


async def _calibrated_on_worker(cache_dir: str | None, dask_worker: Worker) -> bytes:
    return await _in_thread(kept_or_calibrated, cache_dir, dask_worker)


_found_when_idle: dict[str, bytes | None] = {}  # by address of a worker of this process


def _calibrate_when_idle(cache_dir: str | None, dask_worker: Worker) -> None:
    """Measure while the worker has no task, in a thread that no process waits for to end."""
    tasks = dask_worker.state

    def used() -> tuple[int, int]:
        return tasks.executing_count, len(tasks.ready)

    def measured() -> None:
        idle = Idle(used, idle_seconds=WORKER_IDLE_SECONDS)
        idle.gives_up = monotonic() + CALIBRATION_SECONDS
        found = None
        try:
            found = _on_worker(partial(kept_or_calibrated, idle=idle), cache_dir, dask_worker)
        except Busy:
            pass  # the worker always had something to do
        finally:
            _found_when_idle[dask_worker.address] = found

    _found_when_idle.pop(dask_worker.address, None)
    threading.Thread(target=measured, name="dnumpy-calibrate", daemon=True).start()


def _found(dask_worker: Worker) -> tuple[bool, bytes | None]:
    """Return whether the worker has measured, and its profile, None where it was always busy."""
    address = dask_worker.address
    return address in _found_when_idle, _found_when_idle.get(address)


async def _in_thread(
    measured: Callable[..., DeviceProfile], cache_dir: str | None, dask_worker: Worker
) -> bytes:
    """Measure in a thread, so that the worker's event loop stays alive."""
    import asyncio

    return await asyncio.to_thread(_on_worker, measured, cache_dir, dask_worker)


def _on_worker(
    measured: Callable[..., DeviceProfile], cache_dir: str | None, dask_worker: Worker
) -> bytes:
    profile = measured(
        cache_dir,
        name=dask_worker.address,
        threads=dask_worker.state.nthreads,
        worker_limit=dask_worker.memory_manager.memory_limit,
    )
    return profile_of_device(profile).to_json()


class Delivered(NamedTuple):
    """What the threads of a worker get of the CPUs of its host."""

    speed: float  # each of them
    threads: int
    host: str
    cpus: int


async def _delivered_on_worker(dask_worker: Worker) -> Delivered:
    import asyncio

    threads = dask_worker.state.nthreads
    speed = await asyncio.to_thread(measure.speed, threads)
    return Delivered(speed, threads, platform.node(), machine.usable_cpus())


def fair_speeds(found: Mapping[str, Delivered]) -> dict[str, float]:
    """Return each worker's speed when all of a host's workers are busy.

    A host's CPUs are shared as its kernel does: equally among the threads that want more than that,
    while those that get less by a quota keep it. The measured speed is what a thread wants.
    """
    speeds = {}
    for host in {worker.host for worker in found.values()}:
        here = {a: worker for a, worker in found.items() if worker.host == host}
        left = float(max(worker.cpus for worker in here.values()))
        waiting = sum(worker.threads for worker in here.values())
        for address, worker in sorted(here.items(), key=lambda item: item[1].speed):
            speeds[address] = min(worker.speed, left / waiting)
            left -= speeds[address] * worker.threads
            waiting -= worker.threads
    return speeds


def _echo(payload: bytes) -> bytes:
    return payload


def _next(count: int) -> int:
    return count + 1


def probe_cluster(
    client: Client,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: Sequence[str] | None = None,
) -> dict[str, DeviceProfile]:
    """Return a profile per worker, all measured at the same time on the workers themselves.

    Workers that share a machine are thus measured while they share it, as they will run. Rates
    come from each worker's cache where they still hold; speed, memory, network and launch times
    are always new.
    """
    where = None if cache_dir is None else str(cache_dir)
    asked = None if workers is None else list(workers)
    texts = client.run(_measured_on_worker, where, workers=asked)
    addresses = sorted(texts)
    found = client.run(_delivered_on_worker, workers=addresses)  # all at once, as they will run
    speeds = fair_speeds(found)
    launch = _launch_seconds(client, addresses)
    profiles = {}
    for address in addresses:
        bytes_per_second, latency = _network(client, address)
        profiles[address] = replace(
            DeviceProfile.from_json(texts[address]),
            network_bytes_per_second=bytes_per_second,
            network_latency_seconds=latency,
            launch_seconds=launch,
            speed=speeds[address],
        )
    return profiles


def calibrate_cluster(
    client: Client,
    profiles: Mapping[str, DeviceProfile],
    cache_dir: str | os.PathLike[str] | None = None,
) -> dict[str, DeviceProfile]:
    """Return the profiles with all that each worker can tell of itself, measured by all at once.

    At most 15 s where it was not kept. What :func:`probe_cluster` found stays: speed, network and
    launch times.
    """
    where = None if cache_dir is None else str(cache_dir)
    texts = client.run(_calibrated_on_worker, where, workers=list(profiles))
    return _known_again(texts, profiles)


def calibrate_idle_cluster(
    client: Client,
    profiles: Mapping[str, DeviceProfile],
    cache_dir: str | os.PathLike[str] | None = None,
) -> dict[str, DeviceProfile]:
    """Return what :func:`calibrate_cluster` does, of those workers that have no task meanwhile.

    The workers are asked now and then whether they have measured: an answer that is long in coming
    would be told as an error by a scheduler that is closed meanwhile.
    """
    where = None if cache_dir is None else str(cache_dir)
    client.run(_calibrate_when_idle, where, workers=list(profiles))
    texts: dict[str, bytes | None] = {}
    until = monotonic() + 2 * CALIBRATION_SECONDS
    while len(texts) < len(profiles) and monotonic() < until:
        sleep(ASKED_SECONDS)
        asked = client.run(_found, workers=[a for a in profiles if a not in texts])
        texts |= {a: text for a, (done, text) in asked.items() if done}
    return _known_again(texts, profiles)


def _known_again(
    texts: Mapping[str, bytes | None], profiles: Mapping[str, DeviceProfile]
) -> dict[str, DeviceProfile]:
    """Return what workers measured of themselves, with what was measured from here."""
    return {
        address: replace(
            DeviceProfile.from_json(text),
            launch_seconds=profiles[address].launch_seconds,
            network_bytes_per_second=profiles[address].network_bytes_per_second,
            network_latency_seconds=profiles[address].network_latency_seconds,
            speed=profiles[address].speed,
        )
        for address, text in texts.items()
        if text is not None
    }


def _network(client: Client, address: str) -> tuple[float, float]:
    """Return (bytes per second, seconds of an empty message) of a round trip to the worker."""
    latency = _echo_seconds(client, address, b"")
    rate = 0.0
    for size in ECHO_BYTES:
        busy = max(_echo_seconds(client, address, bytes(size)) - latency, 1e-6)
        rate = 2 * size / busy
        if busy > ENOUGH_SECONDS:
            break
    return rate, latency / 2


def _echo_seconds(client: Client, address: str, payload: bytes) -> float:
    return measure.best_seconds(
        lambda: client.run(_echo, payload, workers=[address]),
        budget_seconds=0.0,
        clock=perf_counter,
    )


def _launch_seconds(client: Client, addresses: Sequence[str]) -> float:
    """Return the time that one more task in a chain takes while all workers have such chains.

    Chains go out as one graph each time, as runs do; what a graph costs whatever its tasks is the
    same for a short and a long one.
    """
    _run_chains(client, addresses, 1)
    started = perf_counter()
    _run_chains(client, addresses, 1)
    alone = perf_counter() - started
    started = perf_counter()
    _run_chains(client, addresses, 1 + CHAIN_TASKS)
    return max(perf_counter() - started - alone, LEAST_CHAIN_SECONDS) / CHAIN_TASKS


def _run_chains(client: Client, addresses: Sequence[str], tasks: int) -> None:
    from dask._task_spec import Task, TaskRef
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    run = uuid4().hex
    layers, ends = {}, []
    for number, address in enumerate(addresses):
        keys = [f"dnumpy-probe-{run}-{number}-{k}" for k in range(tasks)]
        links: list[Any] = [0, *(TaskRef(key) for key in keys[:-1])]
        chain = {key: Task(key, _next, link) for key, link in zip(keys, links, strict=True)}
        layers[address] = MaterializedLayer(chain, annotations={"workers": [address]})
        ends.append(keys[-1])
    graph = HighLevelGraph(layers, {address: set() for address in layers})
    client.get(graph, ends)


def with_free_memory(
    client: Client, profiles: Mapping[str, DeviceProfile]
) -> dict[str, DeviceProfile]:
    """Return the profiles of the workers that are there, with the memory that they last reported.

    Asks the scheduler only; the workers tell it every second or so.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {
        address: replace(profile, free_bytes=_free_of(workers[address], profile.free_bytes))
        for address, profile in profiles.items()
        if address in workers
    }


def _free_of(worker: Mapping[str, Any], otherwise: float) -> float:
    """Return what the worker itself found, else limit less use, else what was measured on it."""
    limit, metrics = worker["memory_limit"], worker["metrics"]
    if machine.FREE_METRIC in metrics:
        return float(metrics[machine.FREE_METRIC])
    return max(0.0, float(limit - metrics["memory"])) if limit else otherwise


def table_row(profile: DeviceProfile) -> dict[str, str]:
    """Return what a reader wants to know of a profile, units in the names."""
    gemm = dict(profile.gemm_flops_per_second)
    ns = profile.ns_table("tiled")
    return {
        "node": profile.name,
        "kind": profile.kind,
        "threads": str(profile.threads),
        "speed": f"{profile.speed:.2f}",
        "memory GB/s": f"{profile.bandwidth[-1][1] / 1e9:.1f}",
        "cache GB/s": f"{profile.bandwidth[0][1] / 1e9:.1f}",
        "float32 GFLOP/s": f"{gemm['float32'] / 1e9:.0f}",
        "float64 GFLOP/s": f"{gemm['float64'] / 1e9:.0f}",
        "arith ns": f"{ns['arith']:.2f}",
        "exp ns": f"{ns['exp']:.2f}",
        "gather ns": f"{profile.gather_ns:.2f}",
        "launch ms": f"{profile.launch_seconds * 1e3:.2f}",
        "network MB/s": f"{profile.network_bytes_per_second / 1e6:.0f}",
        "free GB": f"{profile.free_bytes / 1e9:.1f}",
    }


def calibration_row(profile: DeviceProfile) -> dict[str, str]:
    """Return what only the full measurement tells; ``-`` for what it had no time for."""
    gemm = dict(profile.gemm_flops_per_second)
    compiled = dict(dict(profile.ns_per_element).get("numba", ()))
    found = {
        "scatter ns": (profile.scatter_ns, 1.0),
        "sort ns/log2": (profile.sort_ns, 1.0),
        "fft ns/log2": (profile.fft_ns, 1.0),
        "compiled arith ns": (compiled.get("arith", 0.0), 1.0),
        "compiled exp ns": (compiled.get("exp", 0.0), 1.0),
        "compile ms": (profile.compile_seconds, 1e3),
        "complex128 GFLOP/s": (gemm.get("complex128", 0.0), 1e-9),
        "messages MB/s": (profile.serialise_bytes_per_second, 1e-6),
        "disk read MB/s": (profile.disk_read_bytes_per_second, 1e-6),
        "disk write MB/s": (profile.disk_write_bytes_per_second, 1e-6),
        "idle MB": (profile.idle_bytes, 1e-6),
    }
    row = {"node": profile.name}
    for name, (value, scale) in found.items():
        row[name] = f"{value * scale:.3g}" if value else "-"
    return row


def probe_tables(scheduler: str | None = None) -> dict[str, list[dict[str, str]]]:
    """Return tables by title: the workers of the cluster at this address, and their links.

    Without an address, the table of this machine.
    """
    if scheduler is None:
        here = load_or_measure(threads=thread_count())
        full = replace(kept_or_calibrated(threads=thread_count()), speed=here.speed)
        return _tables([full])
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        profiles = calibrate_cluster(client, probe_cluster(client))
        tables = _tables(list(profiles.values()))
        if len(profiles) > 1:
            tables["Links between workers"] = links_table(measure_links(client, list(profiles)))
    return tables


def _tables(profiles: Sequence[DeviceProfile]) -> dict[str, list[dict[str, str]]]:
    return {
        "Measured capability": [table_row(profile) for profile in profiles],
        "Calibration": [calibration_row(profile) for profile in profiles],
    }
