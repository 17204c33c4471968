"""Who runs the programs of :mod:`benchmarks.workloads` on a cluster: dnumpy, and ``dask.array``.

Each brings the data into the cluster once (:meth:`Dnumpy.prepare`, :meth:`Dask.prepare`), where it
stays, and then runs on it. A run ends when the result is complete: in the cluster where it stays
there, at home where it is small.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import dask.array as da
import numpy

import dnumpy
from benchmarks.contest import longest_rows
from benchmarks.workloads import sizes_of
from dnumpy import engine
from dnumpy.api.array import expr_of
from dnumpy.api.array import ndarray as Lazy  # noqa: N812 - beside NumPy's and Dask's
from dnumpy.config import config
from dnumpy.runtime.records import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from distributed import Client

    from benchmarks.workloads import Field, Workload
    from dnumpy.runtime.dask_cluster import DaskCluster

SAMPLE_BYTES = 1 << 20  # of a result that stays in the cluster, to compare it with NumPy's
DASK_SECONDS = 120.0  # after which a run of Dask counts as failed
HOPELESS = 2.0  # a chunking whose first run takes so many times the best's is not run again
Arrays = tuple[Any, ...]


class Rival(Protocol):
    """One way of running programs on the cluster."""

    def prepare(self, workload: Workload, fields: Sequence[Field]) -> Arrays:
        """Return the program's arrays, lying in the cluster."""
        ...

    def run(self, workload: Workload, arrays: Arrays) -> tuple[float, Any]:
        """Return the seconds of one run, and its result."""
        ...

    def sample(self, workload: Workload, result: Any) -> list[numpy.ndarray]:
        """Return the part of the result that is compared, and the sum of all of it."""
        ...


def stride(shape: tuple[int, ...]) -> int:
    """Return the step between rows of a sample."""
    nbytes = int(numpy.prod(shape)) * 8
    return max(nbytes // SAMPLE_BYTES, 1)


@dataclass
class Reference:
    """NumPy in this process."""

    def prepare(self, workload: Workload, fields: Sequence[Field]) -> Arrays:
        """Return NumPy's arrays."""
        return (*(each.made(numpy) for each in fields), *workload.small())

    def run(self, workload: Workload, arrays: Arrays) -> tuple[float, Any]:
        """Return the seconds of one run, and its result."""
        started = perf_counter()
        result = workload.run(numpy, *arrays)
        return perf_counter() - started, result

    def sample(self, workload: Workload, result: Any) -> list[numpy.ndarray]:
        """Return the part that is compared, and the sum."""
        if not workload.stays:
            return [numpy.asarray(result)]
        return [result[:: stride(result.shape)], numpy.asarray(result.sum())]


@dataclass
class Dnumpy:
    """The engine on a cluster that plans, or that splits evenly.

    ``rows`` are those of each node in the last run's longest stage, ``graphs`` how often the last
    run went to the cluster, ``home_bytes`` what its stages in this process read and wrote.
    """

    cluster: DaskCluster
    rows: tuple[int, ...] = ()
    graphs: int = 0
    home_bytes: int = 0

    def prepare(self, workload: Workload, fields: Sequence[Field]) -> Arrays:
        """Return arrays that were computed where this cluster's split puts them."""
        with self.cluster.client.as_current(), recorded():
            arrays = [each.made(dnumpy) for each in fields]
            keep(arrays)
        return (*arrays, *(dnumpy.array(each) for each in workload.small()))

    def run(self, workload: Workload, arrays: Arrays) -> tuple[float, Any]:
        """Return the seconds of one run, and its result."""
        engine.history.clear()
        with self.cluster.client.as_current():
            started = perf_counter()
            result = self.finished(workload, workload.run(dnumpy, *arrays))
            seconds = perf_counter() - started
        self._note()
        return seconds, result

    def finished(self, workload: Workload, pending: Any) -> Any:
        """Return the result, complete."""
        if not workload.stays:
            return numpy.asarray(pending)
        keep([pending])
        return pending

    def sample(self, workload: Workload, result: Any) -> list[numpy.ndarray]:
        """Return the part that is compared, and the sum."""
        if not workload.stays:
            return [result]
        with self.cluster.client.as_current():
            total = numpy.asarray(result.sum())
            # a new array, made in the cluster: looking at a view brings home what it is a view of
            part = numpy.asarray(result[:: stride(result.shape)] * 1.0)
            return [part, total]

    def _note(self) -> None:
        records = list(engine.history)
        self.rows = longest_rows(records, self.cluster.nodes())
        here = [r for r in records if {node for node, _ in r.where} <= {HERE}]
        self.graphs = len({r.started for r in records if r not in here})
        self.home_bytes = sum(r.nbytes for r in here)


@contextmanager
def recorded() -> Iterator[None]:
    """Let nothing be computed as it is written: sums of two short axes would be made at home."""
    before = config.eager_below
    config.eager_below = 0
    try:
        yield
    finally:
        config.eager_below = before


def keep(arrays: Sequence[Any]) -> None:
    """Compute these arrays where their rows are planned to be; nothing comes home."""
    lazy = [each for each in arrays if type(each) is Lazy and each._np is None]  # noqa: SLF001 - NumPy has small ones
    engine.compute([expr_of(each) for each in lazy])


@dataclass
class Dask:
    """``dask.array`` in one chunking."""

    client: Client
    chunks: Callable[[Field], Any] = field(default=lambda _: "auto")

    def prepare(self, workload: Workload, fields: Sequence[Field]) -> Arrays:
        """Return arrays persisted where Dask's scheduler put them."""
        chunked = [each.chunked(self.chunks(each)) for each in fields]
        small = [
            da.from_array(each, chunks=-1)  # type: ignore[no-untyped-call]
            for each in workload.small()
        ]
        return tuple(self._kept(each) for each in (*chunked, *small))

    def run(self, workload: Workload, arrays: Arrays) -> tuple[float, Any]:
        """Return the seconds of one run, and its result."""
        with self.client.as_current():
            started = perf_counter()
            result = workload.dask(*arrays)
            result = self._kept(result) if workload.stays else result
            return perf_counter() - started, result

    def _kept(self, array: Any) -> Any:
        from distributed import wait

        with self.client.as_current():
            (kept,) = self.client.persist([array])  # type: ignore[no-untyped-call]
            wait(kept, timeout=DASK_SECONDS)  # type: ignore[no-untyped-call]
            futures = self.client.futures_of(kept)  # type: ignore[no-untyped-call]
            failed = [future for future in futures if future.status != "finished"]
            if failed:
                failed[0].result()
            return kept

    def sample(self, workload: Workload, result: Any) -> list[numpy.ndarray]:
        """Return the part that is compared, and the sum."""
        if not workload.stays:
            return [numpy.asarray(result)]
        with self.client.as_current():
            wanted = result[:: stride(result.shape)], result.sum()
            part, total = da.compute(*wanted)  # type: ignore[no-untyped-call]
            return [part, numpy.asarray(total)]


def blocks(count: int) -> Callable[[Field], Any]:
    """Return what cuts a field into so many blocks of whole rows."""

    def chunks(each: Field) -> Any:
        return (max(-(-each.shape[0] // count), 1), *each.shape[1:])

    return chunks


def squares(count: int) -> Callable[[Field], Any]:
    """Return what cuts both axes of a field into so many parts, where they are long."""

    def chunks(each: Field) -> Any:
        return tuple(-(-n // count) if n > 4 * count * count else n for n in each.shape)

    return chunks


def chunkings(threads: int) -> dict[str, Callable[[Field], Any]]:
    """Return what to try, for a cluster of so many threads."""
    return {
        "4 per thread": blocks(4 * threads),
        "1 per thread": blocks(threads),
        "16 per thread": blocks(16 * threads),
        "squares": squares(2 * threads),
        "auto": lambda _: "auto",
    }


@dataclass
class Found:
    """The chunking that was fastest, and the seconds of each that ran (of its best run)."""

    name: str
    chunks: Callable[[Field], Any]
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def search(
    run: Callable[[Callable[[Field], Any]], tuple[float, ...]],
    fields: Sequence[Field],
    candidates: dict[str, Callable[[Field], Any]],
    least_chunks: int = 1,
) -> Found:
    """Return the chunking whose run took least.

    Parameters
    ----------
    run : callable
        ``run(chunks)`` returns the seconds of runs in that chunking. What it raises counts against
        that chunking alone.
    fields : sequence of Field
        Candidates that cut them alike are run once.
    candidates : dict
        By name; the first is taken where none can be run.
    least_chunks : int
        Candidates that cut every field into fewer would leave threads idle, and are not run.
    """
    name, chunks = next(iter(candidates.items()))
    found = Found(name, chunks)
    known: set[tuple[Any, ...]] = set()
    for name, chunks in candidates.items():
        cut = tuple(sizes_of(chunks(each), each) for each in fields)
        if cut in known or max(prod(map(len, axes)) for axes in cut) < least_chunks:
            continue
        known.add(cut)
        try:
            found.seconds[name] = min(run(chunks))
        except Exception as problem:  # noqa: BLE001 - whatever it is, another chunking may do
            found.failed[name] = f"{type(problem).__name__}: {problem}"
            continue
        if found.seconds[name] <= min(found.seconds.values()):
            found.name, found.chunks = name, chunks
    return found


def searched(client: Client, workload: Workload, fields: Sequence[Field], threads: int) -> Found:
    """Return the fastest chunking of a program, after a run of each that is not counted."""
    best = float("inf")

    def run(chunks: Callable[[Field], Any]) -> tuple[float, ...]:
        nonlocal best
        rival = Dask(client, chunks)
        arrays = rival.prepare(workload, fields)
        first = rival.run(workload, arrays)[0]  # a result that is held would be given again
        if first > HOPELESS * best:
            return (first,)
        second = rival.run(workload, arrays)[0]
        best = min(best, second)
        return (first, second)

    candidates = chunkings(threads)
    cut = candidates.get("squares", blocks(1))
    if not any(len(axis) > 1 for each in fields for axis in sizes_of(cut(each), each)[1:]):
        candidates.pop("squares", None)  # they are blocks of rows
    return search(run, fields, candidates, threads)
