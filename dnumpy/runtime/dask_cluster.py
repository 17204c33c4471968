"""The workers of the user's ``distributed.Client`` as nodes.

Each task is restricted to the worker that the plan names (:mod:`dnumpy.runtime.dask_runs`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.errors import WorkerLost
from dnumpy.kernels import cached
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.runtime import on_worker
from dnumpy.runtime.background import Busy, once_idle
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.cluster import ATTEMPTS, heal
from dnumpy.runtime.copies import EMBED_BYTES, Copies, ref_of
from dnumpy.runtime.dask_runs import Members, Runs
from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.first_runs import Worker, beginning
from dnumpy.runtime.graph import Segment
from dnumpy.runtime.links import LARGE, MIDDLE, measure_links
from dnumpy.runtime.measured import MeasuredNodes
from dnumpy.runtime.moving import Moves
from dnumpy.runtime.operands import Made
from dnumpy.runtime.probe import (
    calibrate_cluster,
    calibrate_idle_cluster,
    probe_cluster,
    with_free_memory,
)
from dnumpy.runtime.profiles import KEPT_SECONDS
from dnumpy.runtime.refused import NotTogether, cannot_stay, plan_within, takes_much
from dnumpy.runtime.relay import step_seconds
from dnumpy.runtime.relayed import is_in_bounds, is_worth_it, legs_of, relayed
from dnumpy.runtime.stored import Seen
from dnumpy.runtime.told import Listener
from dnumpy.runtime.trial import Trial, trial

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence
    from contextlib import AbstractContextManager

    from distributed import Client

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.answers import Elsewhere
    from dnumpy.runtime.background import Idle
    from dnumpy.runtime.chunked import Part
    from dnumpy.runtime.demands import Demand
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.jointly import Joint, Place, Rating
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.relay import Legs
    from dnumpy.runtime.sketch import Sketch
    from dnumpy.runtime.stored import Identified

HOME_BYTES = (
    1 << 16
)  # smaller results come home with the run: the round trip costs more than the bytes
CALIBRATED_LINKS_SECONDS = 10.0
LINKS_SECONDS = 1.0  # after which no further links are measured before the first run
LET_GO_SECONDS = 0.05  # until workers have let go of what nobody wants any more
REFRESH_SECONDS = 0.5  # how old what is known of who is there may be
MEMORY_SECONDS = 2.0  # how old what is known of free memory may be
LEAST_TRIP = 1e-3  # seconds of a run besides its tasks
RELAY_SHARE = 0.2  # of the free memory of a node, for what all legs of a relay hold at once
RELAY_PAUSE_SECONDS = 60.0  # after a relay was broken, in which graphs are run task by task


class DaskCluster(MeasuredNodes):
    """The workers of a client, with their measured profiles."""

    home_bytes = HOME_BYTES
    embed_bytes: float = EMBED_BYTES
    shared = False
    remote = True
    predicts = True
    joint = True  # whether the stages of a run are planned together

    def __init__(self, client: Client, profiles: dict[str, DeviceProfile] | None = None) -> None:
        super().__init__(profiles or {})
        self.client = client
        self._members = Members(client)
        self._copies = Copies(client, self._members)
        self._runs = Runs(client, self._members)
        self._listener = Listener(client, self._members.watched)
        self._relays_again = self._refreshed = float("-inf")
        self._steps: dict[str, float] = {}  # seconds that a step of a relay takes besides its work
        self._trial: Trial | None = None
        self._known: dict[str, frozenset[str]] = {}  # phases of which workers have machine code
        self._relay_links = self.links  # as results of a relay's steps go along them
        self._files = Seen()
        self._moves = Moves()
        self._memory_seen = float("-inf")
        self._tight = 0  # runs to come that are planned within what the workers find free just then
        self._is_set_up = False

    # who is there ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Find out which workers there are, and measure those that are new.

        Waits a while for one where there is none; raises WorkerLost when none comes, and
        WorkersDiffer where none can run this process's tasks. What was found a moment ago holds: a
        worker lost since then is found by those who wait for it.
        """
        self._copies.forget_unused()
        self._moves.take_in()
        if time.monotonic() - self._refreshed < REFRESH_SECONDS and self.client.status == "running":
            return
        for attempt in range(ATTEMPTS):
            try:
                self._look_again()
            except NodesLost as lost:  # while it was looked at
                self.recover(attempt, lost)
            else:
                return

    def _look_again(self) -> None:
        now = time.monotonic()
        try:
            self._alive = self._members.responsive()
        except OSError as problem:
            raise NodesLost(frozenset(), 0) from problem
        self._set_up()
        self._measure_new()
        self._refresh_memory()
        for address in self._alive:
            self._enter(address)
        self._refreshed = now

    def _set_up(self) -> None:
        """Let the workers, and those to come, load dnumpy: 0.3 s, when they are first needed."""
        from dnumpy.runtime.node_setup import NodeSetup

        if not self._is_set_up:
            try:
                self.client.register_plugin(NodeSetup())
            except (ImportError, AttributeError):
                if not self._members.unfit:  # which need not load it
                    raise
            self._is_set_up = True

    def _measure_new(self) -> None:
        unknown = [address for address in self._alive if address not in self.profiles]
        if not unknown:
            return
        try:
            probe = partial(probe_cluster, self.client, workers=unknown)
            self._take_in(self._members.watched(unknown, probe))
            self._known.update(self._members.ask(cached.known, workers=unknown))
            self._steps.update(self._runs.on_each(step_seconds, unknown))
            self._measure_links(MIDDLE, LINKS_SECONDS)
            self._try_relays()
        except OSError as problem:  # one of them went away again
            raise NodesLost(frozenset(unknown), 0) from problem
        self._alive = {a: n for a, n in self._alive.items() if a in self.profiles}

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
            found = self._members.watched(
                there,
                lambda: measure_links(self.client, there, largest=largest, budget_seconds=seconds),
            )
            self.links = self.links.merged(found)
            hops = {} if self._trial is None else self._trial.hops
            self._relay_links = self.links.later_by(hops)

    def _try_relays(self) -> None:
        """Find out what runs take besides their tasks; what was learnt of the way there stays."""
        there = [address for address in self._alive if address in self.profiles]
        there.sort(key=lambda address: -self.profiles[address].speed)
        first, self._trial = self._trial is None, trial(self, there)
        self._relay_links = self.links.later_by(self._trial.hops)
        if first:
            launch = min(self.profiles[address].launch_seconds for address in there)
            self.round_trip = max(self._trial.trip - launch, LEAST_TRIP)

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
        told = self._members.ask(free_now, trim=scarce, workers=list(self._alive))
        for address, free in told.items():
            self.profiles[address] = replace(self.profiles[address], free_bytes=free)

    # the plan ----------------------------------------------------------------------------------

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
        self._used += 1
        places = self._places(sketch)
        if not self._tight and cannot_stay(sketch, places):  # by what was free some time ago
            self._tight = 2
            self._refresh_memory()
            places = self._places(sketch)
        self._tight -= self._tight > 0
        ratings = self._ratings(sketch.demands)
        try:
            links = self._relay_links if self._may_relay(sketch) else self.links
            joint, self._refused = plan_within(sketch, places, links, ratings, self.epoch)
        except NotTogether:
            self._tight = len(sketch.demands) + len(set(sketch.stages))
            raise
        if joint is None or takes_much(joint, places):
            self._tight = max(self._tight, 1)
        return joint

    def plan_elsewhere(self, sketch: Sketch) -> Elsewhere | None:
        """Return where a run that was planned would have its arrays lie; None if where they do."""
        from dnumpy.runtime.jointly import plan_elsewhere  # with all that it needs of plan/

        links = self._relay_links if self._may_relay(sketch) else self.links
        ratings = self._ratings(sketch.demands)
        return plan_elsewhere(sketch, self._places(sketch), links, ratings, self.epoch)

    def _ratings(self, demands: Sequence[Demand]) -> list[Rating]:
        """Return how the workers will run each demand, first runs of kernels among them."""
        ratings = [self._rating(demand.what, demand.work) for demand in demands]
        workers = [Worker(self.profiles[a], self._known.get(a, ())) for a in self._alive]
        compiled = partial(self._rating, lowering="numba")
        return beginning(demands, ratings, workers, self._taught.has_run, compiled)

    def _places(self, sketch: Sketch) -> list[Place]:
        """Return the workers as they are to this run: tasks of a relay begin sooner than others."""
        from dnumpy.runtime.jointly import Place

        profiles = [self.profiles[address] for address in self._alive]
        if self._may_relay(sketch):
            count = len(sketch.demands)
            steps = map(self._steps.get, self._alive)
            profiles = [_in_relay(p, s, count) for p, s in zip(profiles, steps, strict=True)]
        hops = {} if self._trial is None else self._trial.hops
        return [
            Place(profile, self.label(address), hops.get(address, 0.0))
            for profile, address in zip(profiles, self._alive, strict=True)
        ]

    def _may_relay(self, sketch: Sketch) -> bool:
        """Say whether what a run asks is little enough for a relay, and takes several stages."""
        return len(sketch.demands) > 1 and sketch.live_bytes() <= self._relay_room()

    def _relay_room(self) -> float:
        """Return the bytes that the tasks of a relay may hold; none after one was broken."""
        if time.monotonic() < self._relays_again:
            return -1.0
        return RELAY_SHARE * min(self.profiles[node].free_bytes for node in self._alive)

    def mirrored(self, owner: Expr) -> bool:
        """Say whether every worker has a copy of all of a home array, or gets one in its tasks."""
        return self._copies.everywhere(owner, self._alive)

    def holders(self, owner: Expr) -> tuple[str, ...]:
        """Return the workers that have a copy of all of a home array."""
        return self._copies.holders(owner, self._alive)

    def room(self) -> float:
        """Return what the plan may give the worker with most free memory."""
        self.refresh()
        return MEMORY_SHARE * max(self.profiles[address].free_bytes for address in self._alive)

    def sending_seconds(self, nbytes: float) -> float:
        """Return what it takes to send so much to the workers, one after the other."""
        rates = [self.profiles[a].network_bytes_per_second for a in self._alive]
        return nbytes / max(rates, default=float("inf"))

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

        def calibrate(_: Idle) -> bool:
            try:
                found = calibrate_idle_cluster(self.client, stale)
            except Exception as problem:
                if self.client.status == "running":
                    raise
                raise Busy from problem  # the client was closed meanwhile, at any point of this
            found = {a: p for a, p in found.items() if a in self.profiles}
            if found:
                self._take_in(found)
                self.correction.new_epoch()
            return all(a in found and found[a].calibrated for a in stale if a in self._alive)

        once_idle((id(self), frozenset(stale)), calibrate, lambda: self._used)

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

    def see(self, identity: Identified) -> bool:
        """Say whether every worker sees this very file or store."""
        try:
            return self._files.by_all(identity, self._members.ask, self._alive)
        except OSError as problem:  # one of them went away
            raise NodesLost(frozenset(), 0) from problem

    def segment(self, part: Part) -> Segment | None:
        """Return where the part is; None when its worker is gone."""
        if part.node not in self._alive or not self._moves.is_there(part.data):
            return None
        return Segment(part.start, part.stop, part.node, ref_of(part.data), part.item)

    # running -----------------------------------------------------------------------------------

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph; return arrays for ``home`` and Futures for ``stay``, by key."""
        self._copies.arrive()
        staying = dict.fromkeys(ref.key for ref in stay)
        coming = dict.fromkeys(ref.key for ref in home)
        nodes = frozenset(graph.tasks)
        self._on_devices(graph)
        if not self._relays(graph, staying.keys() | coming.keys()):
            futures, brought = self._runs.results(
                graph.tasks, [*coming], [*staying], nodes, retries=1, urgent=graph.urgent
            )
            return {**futures, **dict(zip(coming, brought, strict=True))}
        legs, external = graph.relay = legs_of(graph, coming, staying)
        return self.play(legs, graph.run, external)

    def move(
        self, graph: Graph, array: Chunked, segments: Sequence[Segment], stay: list[Ref]
    ) -> None:
        """Begin to move an array to where these segments will be: a later run finds it there."""
        self._copies.arrive()
        self._on_devices(graph)
        futures = self._runs.beside(graph.tasks, [ref.key for ref in stay])
        self._moves.begin(array, segments, futures)

    def arrive(self, read: Callable[[], Collection[Expr]]) -> None:
        """Wait until those arrays that are read have arrived that are on their way."""
        if not self._moves:
            return
        arrays = _chunked(read())
        self._runs.wait_for(self._moves.futures_of(arrays), frozenset(self._alive))
        self._moves.take_in()

    def arrived(self, read: Collection[Expr]) -> AbstractContextManager[float]:
        """Let those arrays lie where they are on their way to, for a look; give what is left."""
        return self._moves.arrived(_chunked(read))

    def _on_devices(self, graph: Graph) -> None:
        """Let the tasks of workers that have a GPU run there."""
        for node, tasks in graph.tasks.items():
            if self.profiles[node].kind == "gpu":
                for key, task in tasks.items():
                    tasks[key] = graph.apart(key, on_worker.run, task.func, *task.args)

    def play(self, legs: Legs, run: str, external: Sequence[Sequence[Ref]]) -> dict[str, Any]:
        """Run legs under this run's name; return what ``run`` does, by the legs' own keys."""
        self._copies.arrive()
        relay = relayed(legs, run, external, self._listener.topic)
        telling = [leg for leg in legs.nodes if leg.coming]
        awaited = self._listener.expect(run, [leg.node for leg in telling])
        try:
            stay = list(relay.stay.values())
            futures = self._runs.relayed(relay.tasks, stay, list(relay.others), awaited)
            values = self._listener.values(awaited, [leg.node for leg in telling])
            lost = [leg.node for leg, told in zip(telling, values, strict=True) if told is None]
            if lost:
                raise NodesLost(frozenset(lost), 0)  # noqa: TRY301 - as one that was lost before
        except NodesLost:
            self._relays_again = time.monotonic() + RELAY_PAUSE_SECONDS
            raise
        finally:
            self._listener.forget(awaited)
        results: dict[str, Any] = {key: futures[kept] for key, kept in relay.stay.items()}
        for leg, told in zip(telling, values, strict=True):
            results.update(zip(leg.coming, told or (), strict=True))
        return results

    def plays(self, live_bytes: float, longest_seconds: float) -> bool:
        """Say whether what was run as a relay is to be run as one again."""
        return is_in_bounds(live_bytes, longest_seconds, self._relay_room())

    def _relays(self, graph: Graph, wanted: set[str]) -> bool:
        """Say whether a graph is run as a relay, which takes less waiting and more memory."""
        if any(self.profiles[node].kind == "gpu" for node in graph.tasks):
            return False  # whose tasks are wrapped one by one
        return is_worth_it(graph, wanted, self._relay_room())

    def recover(self, attempt: int, lost: NodesLost) -> None:
        """Let the next attempt begin; raise WorkerLost when this was the last one."""
        self._refreshed = float("-inf")
        if attempt + 1 >= ATTEMPTS:
            msg = (
                f"workers were lost in each of {ATTEMPTS} attempts, the last time "
                f"{sorted(lost.nodes) or 'one that came back'}: look into the workers' logs "
                "(memory limits are the usual cause), then compute again"
            )
            raise WorkerLost(msg) from lost

    @property
    def gone(self) -> bool:
        """Whether the client is closed, and what its workers held with it."""
        return self.client.status in ("closing", "closed")

    def bring_home(self, chunked: Chunked) -> np.ndarray:
        """Return all rows as one array of its own, computing again what was lost."""
        if self.gone:
            from dnumpy.runtime.survivor import remade

            return remade(chunked)
        for attempt in range(ATTEMPTS):
            try:
                self.refresh()
                heal(chunked, self)
                parts = chunked.parts
                nodes = frozenset(part.node for part in parts)
                arrays = self._runs.brought([part.data for part in parts], nodes)
            except NodesLost as lost:
                self.recover(attempt, lost)
                continue
            rows = [_rows(array, part) for array, part in zip(arrays, parts, strict=True)]
            return np.ascontiguousarray(np.concatenate(rows))
        raise AssertionError  # recover raises WorkerLost on the last attempt


def _in_relay(profile: DeviceProfile, step: float | None, steps: int) -> DeviceProfile:
    """Return a worker's profile as the steps of a relay see it.

    A ``step`` is work of the interpreter's, of which a worker with a part of a CPU does as much
    less; and the one task that they all are of begins once, which each has its part in.
    """
    if step is None:
        return profile
    begins = profile.launch_seconds / steps
    return replace(profile, launch_seconds=step / min(profile.speed, 1.0) + begins)


def _chunked(read: Collection[Expr]) -> list[Chunked]:
    return [owner.value for owner in read if isinstance(owner.value, Chunked)]


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
