"""The devices of this machine as nodes: its CPU and its GPUs, with rows for each by its rate.

The CPU reads home arrays where they lie; what a GPU reads of them is copied there once, and stays
while anything refers to the array. Results stay where they were computed until somebody looks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.cost.estimate import seconds as cost_seconds
from dnumpy.errors import WorkerLost
from dnumpy.kernels.lower import Unsupported
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.runtime import machine
from dnumpy.runtime.copies import Rows, forget_unused
from dnumpy.runtime.device_probe import HOST
from dnumpy.runtime.files import Identity
from dnumpy.runtime.graph import Segment
from dnumpy.runtime.measured import MeasuredNodes
from dnumpy.runtime.moving import MovesAtOnce
from dnumpy.runtime.on_device import Mirror, OnDevice, OnHost
from dnumpy.runtime.refused import plan_within

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from dnumpy.cost.links import Links
    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.kernels.device import Device
    from dnumpy.runtime.chunked import Chunked, Part
    from dnumpy.runtime.failures import NodesLost
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.sketch import Sketch
    from dnumpy.runtime.stored import Identified

HOME_BYTES = 1 << 16  # smaller results come home with the run
EMBED_BYTES = 1 << 14  # smaller operands are copied with each task that reads them
UNPLANNED_BYTES = 64 << 20  # scratch of kernels and libraries, of which plans know nothing
SUBMIT_SECONDS = 5e-4  # of a run besides its tasks, until runs have taught


class Devices(MovesAtOnce, MeasuredNodes):
    """The CPU of this machine, called ``cpu``, and devices with memory of their own.

    Parameters
    ----------
    devices : sequence of Device
    profiles : mapping
        Of ``cpu`` and of each device, by name; ``network_bytes_per_second`` of a device is the rate
        at which home arrays arrive there.
    links : Links
        Between them.
    """

    home_bytes = HOME_BYTES
    embed_bytes: float = EMBED_BYTES
    shared = True
    remote = True
    predicts = True
    gone = False

    def __init__(
        self, devices: Sequence[Device], profiles: Mapping[str, DeviceProfile], links: Links
    ) -> None:
        super().__init__(profiles)
        self.devices = {device.name: device for device in devices}
        self.links = links
        self.round_trip = SUBMIT_SECONDS
        self._alive = {name: profile.threads for name, profile in self.profiles.items()}
        self._host = OnHost(devices)
        self._on = {device.name: OnDevice(device, self._host) for device in devices}
        self._copies: dict[int, tuple[Expr, dict[tuple[Hashable, str], Any]]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._planned: dict[str, float] = {}  # bytes at the peak of the run that was planned last
        for name in self._alive:
            self._enter(name)

    def _calibrate_soon(self) -> None:
        """Do nothing: devices were measured whole before they were used."""

    def refresh(self) -> None:
        """Take in how much memory is free now, and let go of copies that nobody can use."""
        forget_unused(self._copies)
        for name, profile in self.profiles.items():
            device = self.devices.get(name)
            free = machine.free_bytes() if device is None else device.free_bytes()
            self.profiles[name] = replace(profile, free_bytes=float(free))

    def room(self) -> float:
        """Return what the plan may give the device with most free memory."""
        return MEMORY_SHARE * max(profile.free_bytes for profile in self.profiles.values())

    # the plan ----------------------------------------------------------------------------------

    def plan_run(self, sketch: Sketch) -> Joint | None:
        """Return who computes how many rows of all stages of a run, planned together."""
        from dnumpy.runtime.jointly import Place

        self._planned = {}
        if not sketch.demands:
            return None
        self._used += 1
        places = [Place(self.profiles[name], self.label(name)) for name in self._alive]
        ratings = [self._rating(demand.what, demand.work) for demand in sketch.demands]
        joint, self._refused = plan_within(sketch, places, self.links, ratings, self.epoch)
        if joint is not None:
            self._planned = dict(zip(self._alive, joint.peak_bytes, strict=True))
        return joint

    def plan_elsewhere(self, sketch: Sketch) -> None:
        """Return None: what lies on devices stays where it is."""

    def mirrored(self, owner: Expr) -> bool:
        """Say whether every device has a copy of all of a home array, or gets one in its tasks."""
        if owner.value.nbytes <= EMBED_BYTES:
            return True
        _, copies = self._copies.get(id(owner), (owner, {}))
        return {node for what, node in copies if not isinstance(what, Rows)}.issuperset(
            self.devices
        )

    def holders(self, owner: Expr) -> tuple[str, ...]:
        """Return the devices that have a copy of all of a home array."""
        _, copies = self._copies.get(id(owner), (owner, {}))
        nodes = {node for what, node in copies if not isinstance(what, Rows)}
        return tuple([device for device in self.devices if device in nodes])

    def sending_seconds(self, nbytes: float) -> float:
        """Return what it takes to send so much to the device that gets it soonest."""
        rates = [self.profiles[name].network_bytes_per_second for name in self.devices]
        return nbytes / max(rates, default=float("inf"))

    def here_and_there(self, works: Sequence[Work]) -> tuple[float, float]:
        """Return what the CPU takes, and the device that takes least."""
        found = {name: self._seconds(name, works) for name in self._alive}
        return found[HOST], min(found[name] for name in self.devices)

    def alone_seconds(self, node: str, works: Sequence[Work], owners: Sequence[Expr]) -> float:
        """Return what a node takes for works that read these arrays, and to get what it lacks."""
        rates = [self.profiles[name].network_bytes_per_second for name in self.devices]
        rate = self.profiles[node].network_bytes_per_second if node in self.devices else max(rates)
        lacking = sum(self._lacking_bytes(node, owner) for owner in owners)
        return self._seconds(node, works) + lacking / rate

    def _lacking_bytes(self, node: str, owner: Expr) -> int:
        parts = getattr(owner.value, "parts", None)
        if parts is not None:
            return sum(part.data.nbytes for part in parts if part.node != node)
        here = node not in self.devices or node in self.holders(owner)
        return 0 if here or owner.value is None else owner.nbytes

    def _seconds(self, node: str, works: Sequence[Work]) -> float:
        profile = self.profiles[node]
        return sum(
            cost_seconds(work, profile, work.rows / profile.threads, "numba") for work in works
        )

    # data --------------------------------------------------------------------------------------

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return the array itself for the CPU or when small, else with its copy on the device."""
        device = self.devices.get(node)
        if device is None or array.nbytes <= EMBED_BYTES:
            return array
        return self._mirrored(owner, what, array, device)

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows of a home array to a device; the CPU has them."""
        rows = owner.value[lo:hi]
        device = self.devices.get(node)
        if device is None:
            return Segment(lo, hi, node, rows, None)
        return Segment(lo, hi, node, self._mirrored(owner, Rows(lo, hi), rows, device), None)

    def copies(self, owner: Expr) -> list[Segment]:
        """Return the rows of a home array that lie on devices too, each once."""
        _, copies = self._copies.get(id(owner), (owner, {}))
        found: list[Segment] = []
        rows = [(what, node, a) for (what, node), a in copies.items() if isinstance(what, Rows)]
        for (lo, hi), node, array in sorted(rows, key=itemgetter(0)):
            if not found or lo >= found[-1].stop:
                found.append(Segment(lo, hi, node, Mirror(array, owner.value[lo:hi]), None))
        return found

    def _mirrored(
        self, owner: Expr | None, what: Hashable, array: np.ndarray, device: Device
    ) -> Ref:
        """Return a part of a home array with its copy, without where the device cannot hold it.

        Copies of other arrays make room for it.
        """
        key = what, device.name
        _, known = self._copies.get(id(owner), (owner, {}))
        made = known.get(key)
        if made is None:
            made = self._put(array, device)
            if made is None:  # the task will find out what to do
                return array
            if owner is not None:
                self._copies.setdefault(id(owner), (owner, {}))[1][key] = made
        return Mirror(made, array)

    def _put(self, array: np.ndarray, device: Device) -> Any:
        """Return a copy on the device, None where it cannot be there."""
        for again in (False, True):
            try:
                return device.put(array)
            except Unsupported:
                return None
            except device.exhausted:
                if again or not self._copies:
                    return None
                self._copies.clear()
                device.trim()
        return None

    def segment(self, part: Part) -> Segment | None:
        """Return the part as a segment."""
        return Segment(part.start, part.stop, part.node, part.data, part.item)

    def see(self, identity: Identified) -> bool:
        """Say whether it is no file: the map of that is memory of this process."""
        return type(identity) is not Identity

    # running -----------------------------------------------------------------------------------

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph, each device's tasks in one thread; return what comes home and stays.

        Meanwhile no device takes more than it holds now and the plan's peak: what is left is there
        for other programs.
        """
        planned, self._planned = self._planned, {}
        for name, size in planned.items():
            if name in self.devices:
                self.devices[name].allow(size + UNPLANNED_BYTES)
        try:
            return self._run(graph, home, stay)
        finally:
            for device in self.devices.values():
                device.allow(None)

    def _run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        from dask import threaded

        tasks = {
            key: graph.apart(key, self._runner(node), task.func, *task.args)
            for node, named in graph.tasks.items()
            for key, task in named.items()
        }
        coming = {ref.key for ref in home}
        keys = list(coming.union(ref.key for ref in stay))
        if len(tasks) == 1:
            (task,) = tasks.values()
            values = [task({})] if keys else []
        else:
            threads = sum(self._alive.values())
            if self._pool is None:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dnumpy-device")
            values = threaded.get(tasks, keys, pool=self._pool, num_workers=threads)
        return {
            key: self._host.brought(value) if key in coming else value
            for key, value in zip(keys, values, strict=True)
        }

    def _runner(self, node: str) -> Callable[..., Any]:
        return self._on.get(node, self._host)

    def plays(self, live_bytes: float, longest_seconds: float) -> bool:  # noqa: ARG002
        """Return False: runs of one process are no relays."""
        return False

    def recover(self, attempt: int, lost: NodesLost) -> None:
        """Raise WorkerLost: the devices of this machine live as long as it does."""
        msg = f"devices were lost in attempt {attempt + 1}: {lost}"
        raise WorkerLost(msg) from lost

    def bring_home(self, chunked: Chunked) -> np.ndarray:
        """Return all rows in one array of its own, which the caller may write to."""
        rows = [self._host.brought(part.data) for part in chunked.parts]
        alone = len(rows) == 1 and rows[0] is not chunked.parts[0].data
        whole = rows[0] if alone else np.concatenate(rows)
        return np.ascontiguousarray(whole).reshape(chunked.shape)
