"""The workers of the user's ``distributed.Client`` as nodes.

Each task is restricted to the worker that the plan names. A task whose worker is gone would wait
for it for ever, so this module watches the workers while it waits, and gives the run up as soon as
one is lost.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dnumpy.cost.alike import levelled
from dnumpy.cost.correction import Observation, OnlineCorrection
from dnumpy.cost.estimate import seconds as cost_seconds
from dnumpy.cost.links import Links
from dnumpy.errors import PlanInfeasible, WorkerLost
from dnumpy.plan.rates import MEMORY_SHARE, plan_work
from dnumpy.plan.work import kernel_name
from dnumpy.runtime.background import Busy, once_idle
from dnumpy.runtime.cluster import ATTEMPTS, NodesLost, heal
from dnumpy.runtime.copies import EMBED_BYTES, Copies, ref_of
from dnumpy.runtime.files import Seen
from dnumpy.runtime.graph import Range, Segment
from dnumpy.runtime.layout import cut_range
from dnumpy.runtime.links import LARGE, MIDDLE, SIZES, measure_links
from dnumpy.runtime.operands import Made
from dnumpy.runtime.probe import (
    calibrate_cluster,
    calibrate_idle_cluster,
    probe_cluster,
    with_free_memory,
)
from dnumpy.runtime.products import Party
from dnumpy.runtime.profiles import KEPT_SECONDS
from dnumpy.runtime.refused import NotTogether, cannot_stay, plan_within, takes_much
from dnumpy.runtime.taught import SAME_CLASS, Taught, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from distributed import Client, Future

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.background import Idle
    from dnumpy.runtime.chunked import Chunked, Part
    from dnumpy.runtime.files import Identity
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.jointly import Joint, Rating
    from dnumpy.runtime.layout import Placement
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.refused import Refusal
    from dnumpy.runtime.sketch import Sketch

HOME_BYTES = (
    1 << 16
)  # smaller results come home with the run: the round trip costs more than the bytes
CALIBRATED_LINKS_SECONDS = 10.0
LINKS_SECONDS = 1.0  # after which no further links are measured before the first run
LET_GO_SECONDS = 0.05  # until workers have let go of what nobody wants any more
MEMORY_SECONDS = 2.0  # how old what is known of free memory may be
ROUND_TRIP_SECONDS = 0.01  # of a run besides its tasks, until runs have taught
ROUND_TRIP_WEIGHT = 0.2  # of the last run in what is expected of the next one
WATCH_SECONDS = 0.5  # how often workers are looked at while a run goes on
SILENT_SECONDS = 60.0  # a worker that says nothing for so long, while others do, is lost
NEW_WORKER_SECONDS = 20.0  # how long to wait for a worker when none is left
LOOKS_PER_SILENCE_CHECK = 10
WIRE = 1e9  # bytes per second between workers, where no link has been measured
COMPILED = frozenset({"numba", "chain"})  # what tasks say of kernels that are machine code
T = TypeVar("T")


def _cancelled() -> tuple[type[BaseException], ...]:
    """Return the two errors that distributed raises for a cancelled future."""
    from asyncio import CancelledError

    return CancelledError, FutureCancelled


class DaskCluster:
    """The workers of a client, with their measured profiles."""

    home_bytes = HOME_BYTES
    embed_bytes: float = EMBED_BYTES
    remote = True
    predicts = True
    joint = True  # whether the stages of a run are planned together

    def __init__(self, client: Client, profiles: dict[str, DeviceProfile] | None = None) -> None:
        from dnumpy.runtime.node_setup import NodeSetup

        self.client = client
        self.profiles: dict[str, DeviceProfile] = dict(profiles or {})
        self.links = Links(SIZES)  # from worker to worker, where they have been measured
        self.correction = OnlineCorrection()
        self.round_trip = ROUND_TRIP_SECONDS
        self._taught = Taught(self.correction)
        self._used = 0  # grows with every plan and every run
        self._alive: dict[str, int] = {}
        self._classes: dict[str, str] = {}
        self._copies = Copies(client)
        self._mute: set[str] = set()
        self._files = Seen()
        self._memory_seen = float("-inf")
        self._tight = 0  # runs to come that are planned within what the workers find free just then
        self._refused: Refusal | None = None  # why the latest run was, where it was
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="dnumpy-gather")
        client.register_plugin(NodeSetup())

    # who is there ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Find out which workers there are, and measure those that are new.

        Waits a while for one where there is none; raises WorkerLost when none comes.
        """
        self._copies.forget_unused()
        deadline = time.monotonic() + NEW_WORKER_SECONDS
        self._alive = self._responsive()
        while not self._alive:
            if time.monotonic() > deadline:
                msg = (
                    f"the scheduler {self._scheduler().address} has no worker left: "
                    "start workers and compute again; arrays at home are intact"
                )
                raise WorkerLost(msg)
            time.sleep(WATCH_SECONDS)
            self._alive = self._responsive()
        self._measure_new()
        self._refresh_memory()
        for address in self._alive:
            label = self._classes.setdefault(address, self._class_of(address))
            self._taught.enter(label, self.profiles[address])

    def _measure_new(self) -> None:
        unknown = [address for address in self._alive if address not in self.profiles]
        if not unknown:
            return
        try:
            self._take_in(probe_cluster(self.client, workers=unknown))
            self._measure_links(MIDDLE, LINKS_SECONDS)
        except OSError as problem:  # one of them went away again
            raise NodesLost(frozenset(unknown), 0) from problem
        self._alive = {a: n for a, n in self._alive.items() if a in self.profiles}

    def _take_in(self, found: Mapping[str, DeviceProfile]) -> None:
        """Keep what was measured; nodes that are alike are as fast as the least hindered."""
        self.profiles.update(found)
        pairs = zip(self.profiles, levelled(self.profiles.values()), strict=True)
        self.profiles = dict(pairs)

    def calibrate(self) -> None:
        """Measure all that the first look left out, in at most 15 s for nodes and 10 s for links.

        The workers keep what they find, so that later clusters have it at once.
        """
        self.refresh()
        there = {address: self.profiles[address] for address in self._alive}
        self._take_in(calibrate_cluster(self.client, there))
        self._measure_links(LARGE, CALIBRATED_LINKS_SECONDS)

    def _measure_links(self, largest: int, seconds: float) -> None:
        """Measure the links between all workers."""
        there = [address for address in self._alive if address in self.profiles]
        if len(there) > 1:
            found = measure_links(self.client, there, largest=largest, budget_seconds=seconds)
            self.links = self.links.merged(found)

    def _refresh_memory(self) -> None:
        """Take in the free memory that the workers last reported, every few seconds."""
        now = time.monotonic()
        if not self._tight and now - self._memory_seen < MEMORY_SECONDS:
            return
        self._memory_seen = now
        try:
            if self._tight:
                self._measure_memory()
            else:
                self.profiles.update(with_free_memory(self.client, self.profiles))
        except OSError as problem:
            raise NodesLost(frozenset(), 0) from problem

    def _measure_memory(self) -> None:
        """Ask the workers themselves how much memory is free now."""
        from dnumpy.runtime.node_setup import free_now

        scarce = self._tight > 1
        if scarce:
            time.sleep(LET_GO_SECONDS)
        told = self.client.run(free_now, trim=scarce, workers=list(self._alive))
        for address, free in told.items():
            self.profiles[address] = replace(self.profiles[address], free_bytes=free)

    def nodes(self) -> tuple[str, ...]:
        """Return the workers' addresses, in the order in which row ranges follow one another."""
        return tuple(self._alive)

    def _responsive(self) -> dict[str, int]:
        """Return the workers' threads, without workers that were given up and are still silent."""
        workers = self._workers()
        self._mute &= set(workers)
        if self._mute:
            self._mute &= self._silent()
        return {address: n for address, n in workers.items() if address not in self._mute}

    def _workers(self) -> dict[str, int]:
        try:
            return dict(self.client.nthreads())
        except (OSError, RuntimeError) as problem:  # the comm is closed, or the client is
            msg = (
                f"the scheduler does not answer ({problem}): what lies on its workers is lost; "
                "connect a new Client and compute again from arrays at home or on disk"
            )
            raise WorkerLost(msg) from problem

    def _scheduler(self) -> Any:
        return self.client.scheduler

    def _silent(self) -> set[str]:
        """Return the workers that no longer send heartbeats."""
        info = self.client.sync(self._scheduler().identity)["workers"]
        seen = {address: worker["last_seen"] for address, worker in info.items()}
        latest = max([*seen.values(), time.time() if len(seen) == 1 else 0.0], default=0.0)
        return {address for address, at in seen.items() if latest - at > SILENT_SECONDS}

    def _class_of(self, address: str) -> str:
        """Return the letter of the device class: nodes of the same kind and about the same rate."""
        profile = self.profiles[address]
        for other, letter in self._classes.items():
            known = self.profiles[other]
            alike = abs(rate_of(known) - rate_of(profile)) < SAME_CLASS
            if known.kind == profile.kind and alike:
                return letter
        return profile.kind + chr(ord("a") + len(set(self._classes.values())) % 26)

    # the plan ----------------------------------------------------------------------------------

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,
        transfer_bytes_per_row: float,
        transfer_fixed_bytes: float = 0.0,
    ) -> Plan:
        """Return who computes how many rows, by measured profiles and what runs taught."""
        self._used += 1
        profiles = [self.profiles[address] for address in self._alive]
        rating = self._rating(name, work)
        try:
            return plan_work(
                name,
                work,
                profiles,
                granule=granule,
                current=current,
                lowering=rating.lowering,
                corrections=rating.factors,
                transfer_bytes_per_row=transfer_bytes_per_row,
                transfer_fixed_bytes=transfer_fixed_bytes,
            )
        except PlanInfeasible as alone:
            if self._refused is None:
                raise
            raise self._refused() from alone

    def plan_run(self, sketch: Sketch) -> Joint | None:
        """Return who computes how many rows of all stages of a run, planned together.

        None where a single stage is to be planned by itself.

        Raises
        ------
        dnumpy.errors.PlanInfeasible
            Where what is to stay on the workers is more than these have room for, and where stages
            have to be run one after another.
        """
        if not self.joint or not sketch.demands:
            return None
        from dnumpy.runtime.jointly import Place  # with all that it needs of plan/

        self._used += 1
        places = [Place(self.profiles[a], self.label(a)) for a in self._alive]
        if not self._tight and cannot_stay(sketch, places):  # by what was free some time ago
            self._tight = 2
            self._refresh_memory()
            places = [Place(self.profiles[a], self.label(a)) for a in self._alive]
        self._tight -= self._tight > 0
        ratings = [self._rating(demand.what, demand.work) for demand in sketch.demands]
        try:
            joint, self._refused = plan_within(sketch, places, self.links, ratings, self.epoch)
        except NotTogether:
            self._tight = len(sketch.demands) + len(set(sketch.stages))
            raise
        if joint is None or takes_much(joint, places):
            self._tight = max(self._tight, 1)
        return joint

    def _rating(self, what: str, work: Work) -> Rating:
        """Return how workers will run it, and how far off the model was for that."""
        from dnumpy.runtime.jointly import Rating

        lowering = self._taught.lowering(what, work)
        kernel = kernel_name(what, work, lowering)
        factors = (self.correction.factor(kernel, self.label(a), a, what) for a in self._alive)
        return Rating(lowering, tuple(factors))

    def mirrored(self, owner: Expr) -> bool:
        """Say whether every worker has a copy of all of a home array, or gets one in its tasks."""
        return self._copies.everywhere(owner, self._alive)

    def parties(self, dtype: np.dtype) -> list[Party]:
        """Return the workers' rates in products, and the rates at which bytes arrive."""
        found = []
        for node, threads in self._alive.items():
            profile = self.profiles[node]
            flops = profile.flops_per_second(dtype.name) * profile.speed * threads
            others = [other for other in self._alive if other != node]
            known = self.links.links and others
            rate = min(self.links.bytes_per_second(o, node) for o in others) if known else WIRE
            found.append(Party(node, flops / self.correction.node_factor(node), rate))
        return found

    def threads(self, node: str) -> int:
        """Return the worker's threads."""
        return self._alive[node]

    def fastest(self) -> str:
        """Return the worker on which elementwise work is fastest."""
        return min(self._alive, key=self._unit_seconds)

    def room(self) -> float:
        """Return what the plan may give the worker with most free memory."""
        self.refresh()
        return MEMORY_SHARE * max(self.profiles[address].free_bytes for address in self._alive)

    def _unit_seconds(self, node: str) -> float:
        profile = self.profiles[node]
        factor = self.correction.node_factor(node)
        return profile.ns_table("tiled")["arith"] / profile.speed * factor

    def label(self, node: str) -> str:
        """Return the device class of a worker."""
        return self._classes[node]

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:
        """Return ranges in proportion to the workers' rates."""
        rates = {node: self._alive[node] / self._unit_seconds(node) for node in self._alive}
        granules = -(-(hi - lo) // granule)
        ranges: list[Range] = []
        done, share = 0, 0.0
        for node, rate in rates.items():
            share += rate / sum(rates.values())
            upto = min(round(granules * share), granules)
            begin, end = lo + done * granule, min(lo + upto * granule, hi)
            ranges += cut_range(node, begin, end, granule, self._alive[node]) if end > begin else []
            done = upto
        return ranges

    def learn(self, what: str, work: Work, seen: list[tuple[Range, float, str]]) -> None:
        """Take in what each task took as it was run, against what is predicted for that."""
        self._used += 1
        observations = []
        for r, observed, ran_as in seen:
            lowering = "numba" if ran_as in COMPILED else "tiled"
            kernel = kernel_name(what, work, lowering)
            label, profile = self.label(r.node), self.profiles[r.node]
            factor = self.correction.factor(kernel, label, r.node, what)
            predicted = cost_seconds(work, profile, r.hi - r.lo, lowering, factor)
            predicted -= profile.launch_seconds
            observations.append(Observation(kernel, label, r.node, predicted, observed, what))
        self.correction.observe(observations)
        compiled = all(ran_as in COMPILED for *_, ran_as in seen)
        self._taught.note_ran(
            what, work, max((s for _, s, _ in seen), default=0.0), compiled=compiled
        )
        self._calibrate_soon()

    @property
    def epoch(self) -> int:
        """What plans depend on besides sizes: it grows when rates have changed for good."""
        return self.correction.epoch

    def _calibrate_soon(self) -> None:
        """Measure in the background what is not known of workers, or was measured long ago."""
        old = time.time() - KEPT_SECONDS
        stale = {
            address: self.profiles[address]
            for address in self._alive
            if not self.profiles[address].calibrated or self.profiles[address].measured_at < old
        }
        if not stale:
            return

        def calibrate(_: Idle) -> None:
            try:
                found = calibrate_idle_cluster(self.client, stale)
            except Exception as problem:
                if self.client.status == "running":
                    raise
                raise Busy from problem  # the client was closed meanwhile, at any point of this
            self._take_in({a: p for a, p in found.items() if a in self.profiles})
            self.correction.new_epoch()

        once_idle((id(self), frozenset(stale)), calibrate, lambda: self._used)

    def learn_round_trip(self, seconds: float) -> None:
        """Take in how much longer a run took than its tasks."""
        self.round_trip += ROUND_TRIP_WEIGHT * (seconds - self.round_trip)

    # data --------------------------------------------------------------------------------------

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return the array itself when small, else the key of its copy on the worker."""
        return self._copies.place(array, node, owner, what)

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows ``lo:hi`` of a home array to a worker, where they stay as copies do."""
        return self._copies.send(owner, lo, hi, node)

    def copies(self, owner: Expr) -> list[Segment]:
        """Return the rows of a home array that were sent to workers which are still there."""
        return self._copies.rows(owner, self._alive)

    def see(self, identity: Identity) -> bool:
        """Say whether every worker sees this very file."""
        try:
            return self._files.by_all(identity, self.client, self._alive)
        except OSError as problem:  # one of them went away
            raise NodesLost(frozenset(), 0) from problem

    def segment(self, part: Part) -> Segment | None:
        """Return where the part is; None when its worker is gone."""
        if part.node not in self._alive or part.data.status != "finished":
            return None
        return Segment(part.start, part.stop, part.node, ref_of(part.data), part.item)

    # running -----------------------------------------------------------------------------------

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph; return arrays for ``home`` and Futures for ``stay``, by key."""
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        layers = {
            node: MaterializedLayer(tasks, annotations={"workers": [node], "retries": 1})
            for node, tasks in graph.tasks.items()
        }
        wanted = list(dict.fromkeys(ref.key for ref in (*home, *stay)))
        high = HighLevelGraph(layers, {node: set() for node in layers})
        futures = dict(zip(wanted, self.client.get(high, wanted, sync=False), strict=True))
        nodes = frozenset(graph.tasks)
        try:
            self._wait(list(futures.values()), nodes)
            keys = [ref.key for ref in home]
            brought = self._brought([futures[key] for key in keys], nodes)
        except BaseException:
            self.client.cancel(list(futures.values()), force=True)
            raise
        return {**futures, **dict(zip(keys, brought, strict=True))}

    def _wait(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> None:
        """Return when all are done; raise the first task's error, or NodesLost."""
        from distributed import wait

        def attempt() -> bool:
            with self.client.as_current():
                wait(futures, timeout=WATCH_SECONDS)
            return True

        self._watched(attempt, futures, nodes)

    def _brought(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> list[Any]:
        """Return the futures' results."""
        if not futures:
            return []
        job = self._threads.submit(self.client.gather, list(futures))
        return self._watched(lambda: job.result(WATCH_SECONDS), futures, nodes)

    def _watched(
        self, attempt: Callable[[], T], futures: Sequence[Future[Any]], nodes: frozenset[str]
    ) -> T:
        """Try again until it does not time out, watching tasks and workers meanwhile."""
        rounds = 0
        while True:
            try:
                result = attempt()
            except TimeoutError:
                result = None
            except _cancelled() as problem:  # what a task needs was lost for good
                raise NodesLost(nodes - set(self._workers()), len(futures)) from problem
            except OSError:  # a connection broke: to a worker that is gone, or the error stands
                self._check(nodes, look_for_silent=False)
                raise
            self._raise_failed(futures, nodes)
            if result is not None:
                return result
            rounds += 1
            self._check(nodes, look_for_silent=rounds % LOOKS_PER_SILENCE_CHECK == 0)

    def _raise_failed(self, futures: Iterable[Future[Any]], nodes: frozenset[str]) -> None:
        from distributed.scheduler import KilledWorker

        states = {future.status: future for future in futures}
        if "error" in states:
            problem = states["error"].exception()
            if isinstance(problem, KilledWorker):
                raise NodesLost(nodes - set(self._workers()), 1) from problem
            raise problem.with_traceback(states["error"].traceback())
        if "cancelled" in states or "lost" in states:
            raise NodesLost(nodes - set(self._workers()), len(states))

    def _check(self, nodes: frozenset[str], *, look_for_silent: bool) -> None:
        lost = nodes - set(self._workers())
        if look_for_silent:
            self._mute |= nodes & self._silent()
            lost |= nodes & self._mute
        if lost:
            raise NodesLost(frozenset(lost), 0)

    def recover(self, attempt: int, lost: NodesLost) -> None:
        """Let the next attempt begin; raise WorkerLost when this was the last one."""
        if attempt + 1 >= ATTEMPTS:
            msg = (
                f"workers were lost in each of {ATTEMPTS} attempts, the last time "
                f"{sorted(lost.nodes) or 'one that came back'}: look into the workers' logs "
                "(memory limits are the usual cause), then compute again"
            )
            raise WorkerLost(msg) from lost

    def bring_home(self, chunked: Chunked) -> np.ndarray:
        """Return all rows as one array of its own, computing again what was lost."""
        for attempt in range(ATTEMPTS):
            try:
                self.refresh()
                heal(chunked, self)
                parts = chunked.parts
                nodes = frozenset(part.node for part in parts)
                arrays = self._brought([part.data for part in parts], nodes)
            except NodesLost as lost:
                self.recover(attempt, lost)
                continue
            rows = [_rows(array, part) for array, part in zip(arrays, parts, strict=True)]
            return np.ascontiguousarray(np.concatenate(rows))
        raise AssertionError  # recover raises WorkerLost on the last attempt


def _rows(value: Made | np.ndarray, part: Part) -> np.ndarray:
    if isinstance(value, Made):
        assert part.item is not None
        return value.rows[part.item]
    array: np.ndarray = value
    return array


_clusters: dict[Client, DaskCluster] = {}


def dask_cluster(client: Client) -> DaskCluster:
    """Return the one DaskCluster of this client."""
    for other in [c for c in _clusters if c.status in ("closing", "closed")]:
        del _clusters[other]
    if client not in _clusters:
        _clusters[client] = DaskCluster(client)
    return _clusters[client]


def adopt(cluster: DaskCluster) -> None:
    """Let this be the one DaskCluster of its client, in place of any other."""
    _clusters[cluster.client] = cluster


def current_client() -> Client | None:
    """Return the user's client, or None; distributed is not imported for the question.

    Inside a task of a worker there is none: waiting there for other tasks would block the worker.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    return client if client.status == "running" else None
