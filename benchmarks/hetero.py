"""dnumpy on unequal nodes: against its own even split, ``dask.array``, and the lower bound.

``python -m benchmarks.hetero [programs ...] [--cluster "cpu=0.8/cpu=0.4" ...] [--repeats 5]`` makes
clusters of real nodes (:mod:`benchmarks.nodes`; needs root) and runs on each the programs of
:mod:`benchmarks.workloads`:

- *planned*: dnumpy as it is;
- *even*: the same engine with an equal share for every node;
- *dask*: ``dask.array`` in its best chunking of those tried (:func:`benchmarks.rivals.chunkings`);
- *bound*: total work over the sum of the measured rates (:mod:`benchmarks.bound`);
- *floor*: the bound with what has to cross the measured links, one round trip to the cluster, and
  the memory that the nodes share, as they are on one machine (:mod:`benchmarks.shared_memory`).

The data lie in the cluster beforehand: generated there by dnumpy where its plan (or the even split)
puts them, and persisted by Dask where its scheduler puts them. The clock runs from the first
operation until the result is complete, in the cluster where it is as large as the data, else at
home. Every rival's first run is not timed, and its result is compared with NumPy's; then they run
in turn. The nodes are calibrated beforehand, and not during the race, and no data come home to be
computed there. dnumpy keeps programs that read less than 16 MB in the client's process, so a small
``--scale`` measures another thing.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

import numpy
from distributed import Client
from rich.console import Console

from benchmarks.bound import bound, bound_over_links, speed_ratio
from benchmarks.cluster import ended
from benchmarks.contest import FixedCluster, chosen
from benchmarks.machine import machine
from benchmarks.nodes import NodeSpec, reap, unequal_nodes, why_no_nodes
from benchmarks.rivals import Dask, Dnumpy, Reference, searched
from benchmarks.shared_memory import left_share, sharing
from benchmarks.standings import Race, Result, lines, summary, table
from benchmarks.workloads import WORKLOADS
from dnumpy.config import config
from dnumpy.runtime import returning
from dnumpy.runtime.dask_cluster import DaskCluster, adopt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.rivals import Rival
    from benchmarks.workloads import Field, Workload
    from dnumpy.cost.links import Links
    from dnumpy.cost.profile import DeviceProfile

REPEATS = 5
TRIPS = 10
SETTLE_SECONDS = 0.1  # in which workers let go of the result before
CLUSTERS = (
    "cpu=0.8,mem=6G,net=1gbit/cpu=0.4,mem=6G,net=1gbit",
    "cpu=0.8,mem=6G,net=1gbit/cpu=0.2,mem=4G,net=1gbit/cpu=0.2,mem=4G,net=1gbit",
    (
        "cpu=0.54,mem=5G,net=1gbit/cpu=0.54,mem=5G,net=1gbit"
        "/cpu=0.27,mem=4G,net=300mbit/cpu=0.09,mem=3G,net=100mbit"
    ),
)


class Track:
    """A cluster with the three rivals on it, each with a client of its own."""

    def __init__(
        self,
        client: Client,
        others: Sequence[Client],
        known: Mapping[str, DeviceProfile],
        *,
        calibrate: bool,
    ) -> None:
        planned = DaskCluster(client, dict(known))
        planned.refresh()
        if calibrate:
            planned.calibrate()
        even = FixedCluster(others[0], planned.profiles)
        even.shares = (1.0,) * len(planned.nodes())
        adopt(planned)
        adopt(even)
        self.planned, self.even = Dnumpy(planned), Dnumpy(even)
        self.client = others[1]
        self.threads = sum(planned.threads(node) for node in planned.nodes())
        self.profiles = [planned.profiles[node] for node in planned.nodes()]
        self.links = fastest_links(planned.links, planned.nodes())
        self.left = left_share(client, planned.nodes())
        self.crowded = [sharing(profile, self.left) for profile in self.profiles]
        self.trip = round_trip(client)

    def run(
        self,
        workload: Workload,
        fields: Sequence[Field],
        expected: list[Any],
        repeats: int,
        *,
        dask: bool = True,
    ) -> Result:
        """Return what the rivals took, running in turn."""
        steps = workload.steps(*fields)
        result = Result(
            workload.name,
            workload.title,
            bound(steps, self.profiles),
            bound_over_links(steps, self.crowded, self.links) + self.trip,
            speed_ratio(steps, self.profiles),
        )
        rivals: dict[str, Rival] = {"planned": self.planned, "even": self.even}
        if dask:
            found = searched(self.client, workload, fields, self.threads)
            result.chunks, result.searched, result.not_run = found.name, found.seconds, found.failed
            rivals["dask"] = Dask(self.client, found.chunks)
        in_turn(workload, fields, expected, rivals, result, repeats)
        result.rows = {"planned": self.planned.rows, "even": self.even.rows}
        result.graphs, result.home_bytes = self.planned.graphs, self.planned.home_bytes
        return result


def fastest_links(links: Links, nodes: Sequence[str]) -> list[float]:
    """Return the rate of the fastest link of each node in B/s; infinite if none was measured."""
    if not links.links:
        return [float("inf")] * len(nodes)
    return [
        max(
            (
                links.bytes_per_second(*pair)
                for other in nodes
                for pair in ((node, other), (other, node))
                if other != node
            ),
            default=float("inf"),
        )
        for node in nodes
    ]


def round_trip(client: Client) -> float:
    """Return the median seconds of a task that does nothing, until its result is here."""
    seconds = []
    for _ in range(TRIPS):
        started = perf_counter()
        client.submit(int, pure=False).result()
        seconds.append(perf_counter() - started)
    return median(seconds)


def in_turn(
    workload: Workload,
    fields: Sequence[Field],
    expected: list[Any],
    rivals: Mapping[str, Rival],
    result: Result,
    repeats: int,
) -> None:
    """Run each rival once to compare its result with NumPy's, then all of them in turn."""
    ready: dict[str, Any] = {}
    for name, rival in rivals.items():
        try:
            arrays = rival.prepare(workload, fields)
            _, got = rival.run(workload, arrays)
            compare(workload, rival.sample(workload, got), expected)
            del got  # its memory is for the runs that count
            ready[name] = arrays
        except Exception as problem:  # noqa: BLE001 - a rival that fails is part of the result
            result.entries[name].failed = f"{type(problem).__name__}: {problem}"
    for count in range(repeats):
        turn = count % max(len(ready), 1)  # nobody always runs after the same rival
        for name, arrays in [*ready.items()][turn:] + [*ready.items()][:turn]:
            sleep(SETTLE_SECONDS)
            try:
                result.entries[name].seconds.append(rivals[name].run(workload, arrays)[0])
            except Exception as problem:  # noqa: BLE001 - likewise
                result.entries[name].failed = f"{type(problem).__name__}: {problem}"
                del ready[name]


def compare(workload: Workload, got: list[Any], expected: list[Any]) -> None:
    """Raise AssertionError unless this is NumPy's result, within the tolerance."""
    for mine, theirs in zip(got, expected, strict=True):
        least = workload.rtol * max(float(numpy.abs(theirs).max()), 1.0) * max(mine.size, 1) ** 0.5
        if mine.shape != theirs.shape or not numpy.allclose(mine, theirs, workload.rtol, least):
            off = numpy.abs(mine - theirs).max() if mine.shape == theirs.shape else mine.shape
            msg = f"{workload.name}: not NumPy's result, off by {off}"
            raise AssertionError(msg)


class Expected:
    """NumPy's results, computed once for all clusters."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.known: dict[str, list[Any]] = {}

    def of(self, workload: Workload) -> list[Any]:
        """Return the part of NumPy's result that is compared, and its sum."""
        if workload.name not in self.known:
            numpy_itself = Reference()
            arrays = numpy_itself.prepare(workload, workload.fields(self.scale))
            _, result = numpy_itself.run(workload, arrays)
            self.known[workload.name] = [
                numpy.array(part) for part in numpy_itself.sample(workload, result)
            ]
        return self.known[workload.name]


def race(
    client: Client,
    specs: Sequence[NodeSpec],
    workloads: Sequence[Workload],
    expected: Expected,
    *,
    repeats: int = REPEATS,
    profiles: Mapping[str, DeviceProfile] | None = None,
    calibrate: bool = True,
    dask: bool = True,
) -> Iterator[Race]:
    """Yield the race after each program; the same object, with one result more.

    Parameters
    ----------
    client : Client
        Of the cluster.
    profiles : mapping, optional
        The nodes' profiles by address, where they are known; measured otherwise.
    calibrate : bool
        Whether to measure the nodes fully beforehand; nothing is measured during the race.
    dask : bool
        Whether ``dask.array`` runs too, which takes most of the time.
    """
    server = client.scheduler.address  # type: ignore[union-attr]
    with (
        Client(server, set_as_default=False) as second,  # type: ignore[no-untyped-call]
        Client(server, set_as_default=False) as third,  # type: ignore[no-untyped-call]
    ):
        track = Track(client, (second, third), profiles or {}, calibrate=calibrate)
        run = Race(tuple(specs), track.profiles, track.trip, left=track.left)
        for workload in workloads:
            fields = workload.fields(expected.scale)
            numpys = expected.of(workload)
            run.results.append(track.run(workload, fields, numpys, repeats, dask=dask))
            yield run


def specs_of(text: str) -> list[NodeSpec]:
    """Return the nodes of a cluster, separated by ``/``."""
    try:
        return [NodeSpec.parse(one) for one in text.split("/")]
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hetero",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(workload.name for workload in WORKLOADS)
    parser.add_argument("programs", nargs="*", help=f"of {names}; all by default")
    parser.add_argument(
        "--cluster",
        action="append",
        type=specs_of,
        metavar="NODE/NODE/...",
        help="nodes as cpu=SHARE,mem=SIZE,net=RATE; may be given again (by default three clusters)",
    )
    parser.add_argument("--repeats", type=int, default=REPEATS, help="timed runs of each")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the elements")
    parser.add_argument("--no-dask", action="store_true", help="leave dask.array out")
    parser.add_argument("--quick", action="store_true", help="leave the full calibration out")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    options = parser.parse_args(argv)
    options.cluster = options.cluster or [specs_of(text) for text in CLUSTERS]
    try:
        options.programs = chosen(options.programs, WORKLOADS)
    except ValueError as problem:
        parser.error(str(problem))
    return options


def stored(path: Path, options: argparse.Namespace, races: Sequence[Race]) -> None:
    """Write what is known until now."""
    record = {
        "machine": machine(),
        "scale": options.scale,
        "repeats": options.repeats,
        "clusters": [one.to_dict() for one in races],
        "summary": summary(races),
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    """Run, print and store; the status is 1 where no nodes can be made or dnumpy failed."""
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 190, highlight=False)
    reason = why_no_nodes()
    if reason:
        console.print(f"cannot make unequal nodes: {reason}")
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    reap()
    config.calibrate = "off"  # it would run beside what is timed
    returning.PATIENCE_SECONDS = inf  # this process is no node, and would be the fastest
    expected = Expected(options.scale)
    races: list[Race] = []
    for specs in options.cluster:
        with unequal_nodes(specs) as running:
            going = race(
                running.client,
                specs,
                options.programs,
                expected,
                repeats=options.repeats,
                calibrate=not options.quick,
                dask=not options.no_dask,
            )
            for count, one in enumerate(going):
                races[:] = [*races[: len(races) - (count > 0)], one]
                told = one.results[-1]
                console.print(
                    f"{told.program}: "
                    + "; ".join(f"{name} {entry}" for name, entry in told.entries.items())
                    + f"; bound {told.bound:.3f}"
                )
                if options.json:
                    stored(options.json, options, races)
        console.print(table(races[-1]))
    for line in lines(races):
        console.print(line)
    failed = [r for one in races for r in one.results if r.entries["planned"].failed]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
