"""Programs on a cluster of unequal nodes: rows as planned against the same engine's even split.

Each is an ordinary program of the module that it is given, and makes its data where they are used:
what crosses the links is what the engine moves. It is observed by one number, which has to be
NumPy's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import isclose
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy
from distributed import Client
from rich.table import Table

import dnumpy
from dnumpy import engine
from dnumpy.plan.model import Candidate
from dnumpy.plan.program import judged
from dnumpy.plan.rates import node_rate, phase_spec
from dnumpy.runtime.dask_cluster import DaskCluster, adopt
from dnumpy.runtime.layout import cut_range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.nodes import NodeSpec
    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.demands import Placement
    from dnumpy.runtime.graph import Range
    from dnumpy.runtime.records import Record

RUNS = 5
WARM_UPS = 2  # kernels are compiled meanwhile, and what they cost is learnt
RTOL = 1e-9  # sums are added up in another order than NumPy's


class FixedCluster(DaskCluster):
    """The same engine with shares that are given instead of planned."""

    shares: tuple[float, ...] = ()
    joint = False

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,  # noqa: ARG002 - decided already
        transfer_bytes_per_row: float,  # noqa: ARG002 - likewise
        transfer_fixed_bytes: float = 0.0,  # noqa: ARG002 - likewise
        resting_bytes_per_row: float = 0.0,  # noqa: ARG002 - likewise
    ) -> Plan:
        """Return rows in proportion to the shares."""
        rows = self._rows(work.rows, granule)
        rates = [
            node_rate(work, self.profiles[a], n) for a, n in zip(self.nodes(), rows, strict=True)
        ]
        return judged(Candidate("even", tuple(rows)), phase_spec(name, work), rates, None)

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:
        """Return ranges in proportion to the shares."""
        ranges: list[Range] = []
        for node, rows in zip(self.nodes(), self._rows(hi - lo, granule), strict=True):
            ranges += cut_range(node, lo, lo + rows, granule, self.threads(node)) if rows else []
            lo += rows
        return ranges

    def _rows(self, rows: int, granule: int) -> list[int]:
        """Return each node's rows, in whole granules but for the last."""
        granules = -(-rows // granule)
        stops, total = [0], 0.0
        for share in self.shares:
            total += share
            stops.append(min(round(granules * total / sum(self.shares)) * granule, rows))
        return [stop - start for start, stop in pairwise(stops)]


@dataclass(frozen=True, slots=True)
class Program:
    """A program of any array module; ``run(np, rows)`` returns one number."""

    name: str
    title: str
    rows: int
    run: Callable[[Any, int], float]


def normalise(np: Any, rows: int) -> float:
    """Give every row mean 0 and standard deviation 1; the largest element."""
    x = np.random.default_rng(20).random((rows, 1_000))
    centred = x - x.mean(axis=1, keepdims=True)
    return float((centred / x.std(axis=1, keepdims=True)).max())


def fma_sum(np: Any, rows: int) -> float:
    """Sum a product and an addend."""
    a, b, c = (np.random.default_rng(seed).random(rows) for seed in (40, 41, 42))
    return float((a * b + c).sum())


def sort(np: Any, rows: int) -> float:
    """Sort a vector; the element in the middle."""
    return float(np.sort(np.random.default_rng(60).random(rows))[rows // 2])


def product(np: Any, rows: int) -> float:
    """Multiply a tall matrix with a square one; the largest element."""
    a = np.random.default_rng(80).random((rows, 1_000))
    b = np.random.default_rng(81).random((1_000, 1_000))
    return float((a @ b).max())


PROGRAMS = (
    Program("normalise", "row normalisation, 8,000 x 1,000", 8_000, normalise),
    Program("fma_sum", "(a*b+c).sum(), 8M", 8_000_000, fma_sum),
    Program("sort", "sort, 4M", 4_000_000, sort),
    Program("matmul", "matrix product, 4,000 x 1,000 x 1,000", 4_000, product),
)


@dataclass(slots=True)
class Timing:
    """Seconds of each run, and the rows that each node had in the last one's longest stage."""

    seconds: list[float] = field(default_factory=list)
    rows: tuple[int, ...] = ()


@dataclass(slots=True)
class Result:
    """One program under the two splits."""

    program: Program
    planned: Timing = field(default_factory=Timing)
    even: Timing = field(default_factory=Timing)

    @property
    def gain(self) -> float:
        """How many times faster than the even split, by medians."""
        return median(self.even.seconds) / median(self.planned.seconds)


class Named(Protocol):
    """What is chosen by its name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


Chosen = TypeVar("Chosen", bound=Named)


def chosen(names: Sequence[str], among: Sequence[Chosen]) -> list[Chosen]:
    """Return the programs of these names, all where there are none.

    Raises
    ------
    ValueError
        No program has one of the names.
    """
    by_name = {program.name: program for program in among}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        msg = f"no program {', '.join(unknown)}; there are {', '.join(by_name)}"
        raise ValueError(msg)
    return [by_name[name] for name in names] or list(among)


def compete(
    client: Client,
    programs: Sequence[Program],
    *,
    scale: float = 1.0,
    runs: int = RUNS,
    profiles: Mapping[str, DeviceProfile] | None = None,
) -> list[Result]:
    """Run each program planned and evenly split in turn.

    Parameters
    ----------
    client : Client
        Of the cluster.
    programs : sequence of Program
    scale : float
        Multiplies the rows.
    runs : int
        Timed runs of each, after the warm-ups.
    profiles : mapping, optional
        The nodes' profiles by address, where they are known; measured otherwise.

    Raises
    ------
    AssertionError
        A result is not NumPy's.
    """
    with Client(client.scheduler.address, set_as_default=False) as other:  # type: ignore[no-untyped-call, union-attr]
        planned = DaskCluster(client, dict(profiles or {}))
        planned.refresh()
        even = FixedCluster(other, planned.profiles)
        even.shares = (1.0,) * len(planned.nodes())
        adopt(planned)
        adopt(even)
        return [_contest(planned, even, program, scale, runs) for program in programs]


def _contest(
    planned: DaskCluster, even: FixedCluster, program: Program, scale: float, runs: int
) -> Result:
    rows = max(int(program.rows * scale), 1)
    expected = program.run(numpy, rows)
    result = Result(program)
    for count in range(WARM_UPS + runs):
        for cluster, timing in ((planned, result.planned), (even, result.even)):
            seconds, value = _timed(cluster, program, rows, timing)
            if not isclose(value, expected, rel_tol=RTOL):
                msg = f"{program.name}: {value!r} instead of NumPy's {expected!r}"
                raise AssertionError(msg)
            if count >= WARM_UPS:
                timing.seconds.append(seconds)
    return result


def _timed(
    cluster: DaskCluster, program: Program, rows: int, timing: Timing
) -> tuple[float, float]:
    """Return the seconds of one run and its result, and note who had which rows."""
    engine.history.clear()
    with cluster.client.as_current():
        started = perf_counter()
        value = program.run(dnumpy, rows)
        seconds = perf_counter() - started
    timing.rows = longest_rows(list(engine.history), cluster.nodes())
    return seconds, value


def longest_rows(records: Sequence[Record], nodes: Sequence[str]) -> tuple[int, ...]:
    """Return each node's rows in the stage that took longest; none where no node ran any."""
    remote = [record for record in records if {node for node, _ in record.where} & set(nodes)]
    if not remote:
        return (0,) * len(nodes)
    where = max(remote, key=lambda record: max(record.node_seconds, default=0.0)).where
    return tuple(sum(rows for node, rows in where if node == one) for one in nodes)


def table(specs: Sequence[NodeSpec], results: Sequence[Result]) -> Table:
    """Return the results as a table."""
    made = Table(
        title="; ".join(f"node {k}: {spec}" for k, spec in enumerate(specs)),
        caption="rows: of nodes 0, 1, ... in the stage that took longest",
        title_justify="left",
        caption_justify="left",
    )
    made.add_column("program")
    for split in ("planned", "even"):
        made.add_column(f"{split}: best, median", justify="right")
        made.add_column("rows", justify="right")
    made.add_column("even / planned", justify="right")
    for result in results:
        cells = [cell for timing in (result.planned, result.even) for cell in _cells(timing)]
        made.add_row(result.program.title, *cells, f"{result.gain:.2f}")
    return made


def _cells(timing: Timing) -> tuple[str, str]:
    best, middle = min(timing.seconds), median(timing.seconds)
    return f"{best:.3f}, {middle:.3f} s", "\n".join(f"{n:,}" for n in timing.rows)
