"""Runs of graphs on the workers of a client, which are watched meanwhile.

A task whose worker is gone would wait for it for ever: what is waited for here is given up as soon
as a worker is lost.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dnumpy.errors import WorkerLost
from dnumpy.runtime.cluster import NodesLost
from dnumpy.runtime.relay import RelayBroken

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from distributed import Client, Future

WATCH_SECONDS = 0.5  # how often workers are looked at while a run goes on
SILENT_SECONDS = 60.0  # a worker that says nothing for so long, while others do, is lost
LOOKS_PER_SILENCE_CHECK = 10
MEASURE_SECONDS = 1.0  # for a look at a worker
T = TypeVar("T")


def _cancelled() -> tuple[type[BaseException], ...]:
    """Return the two errors that distributed raises for a cancelled future."""
    from asyncio import CancelledError

    return CancelledError, FutureCancelled


def _let_go(problem: BaseException | None) -> None:
    """Let an error, which distributed keeps in a cycle, hold no frame: they hold results."""
    while problem is not None:
        problem.__traceback__ = None
        problem = problem.__cause__ or problem.__context__


def _unreachable(problem: object) -> str:
    return (
        f"the scheduler does not answer ({problem}): what lies on its workers is lost; "
        "connect a new Client and compute again from arrays at home or on disk"
    )


class Members:
    """The workers of a client; ``mute`` are those that were given up as they fell silent."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.mute: set[str] = set()

    def responsive(self) -> dict[str, int]:
        """Return the workers' threads, without workers that were given up and are still silent."""
        workers = self.workers()
        self.mute &= set(workers)
        if self.mute:
            self.mute &= self.silent()
        return {address: n for address, n in workers.items() if address not in self.mute}

    def workers(self) -> dict[str, int]:
        """Return the threads of the workers that the scheduler knows."""
        if self.client.scheduler is None:
            raise WorkerLost(_unreachable("the client is closed"))
        try:
            return dict(self.client.nthreads())
        except (OSError, RuntimeError) as problem:  # the comm is closed, or the client is
            raise WorkerLost(_unreachable(problem)) from problem

    def scheduler(self) -> Any:
        """Return the connection to the scheduler."""
        return self.client.scheduler

    def silent(self) -> set[str]:
        """Return the workers that no longer send heartbeats."""
        info = self.client.sync(self.scheduler().identity)["workers"]
        seen = {address: worker["last_seen"] for address, worker in info.items()}
        latest = max([*seen.values(), time.time() if len(seen) == 1 else 0.0], default=0.0)
        return {address for address, at in seen.items() if latest - at > SILENT_SECONDS}


class Runs:
    """Runs tasks on workers."""

    def __init__(self, client: Client, members: Members) -> None:
        self.client = client
        self.members = members
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="dnumpy-gather")

    def results(
        self,
        tasks: Mapping[str, dict[str, Any]],
        home: list[str],
        stay: list[str],
        nodes: frozenset[str],
        *,
        retries: int,
        urgent: Collection[str] = (),
    ) -> tuple[dict[str, Future[Any]], list[Any]]:
        """Run tasks, by node; return Futures of what is to stay, and the values that come home.

        A worker runs ``urgent`` ones before others, as soon as they are ready.
        """
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        layers: dict[str, MaterializedLayer] = {}
        for node, own in tasks.items():
            for priority in (0, 1):
                some = {key: task for key, task in own.items() if (key in urgent) == priority}
                how = {"workers": [node], "retries": retries, "priority": priority}
                if some:
                    layers[f"{node}-{priority}"] = MaterializedLayer(some, annotations=how)
        wanted = list(dict.fromkeys([*home, *stay]))
        high = HighLevelGraph(layers, {node: set() for node in layers})
        futures = dict(zip(wanted, self.client.get(high, wanted, sync=False), strict=True))
        try:
            self._wait(list(futures.values()), nodes)
            brought = self.brought([futures[key] for key in home], nodes)
        except BaseException:
            self.client.cancel(list(futures.values()), force=True)
            raise
        return {key: futures[key] for key in stay}, brought

    def on_each(self, measure: Callable[[], float], workers: Sequence[str]) -> dict[str, float]:
        """Return what a task finds on each worker; nothing of those that are too busy for it."""
        from distributed import wait

        asked = {a: self.client.submit(measure, workers=[a], pure=False) for a in workers}
        with suppress(TimeoutError), self.client.as_current():
            wait(list(asked.values()), timeout=MEASURE_SECONDS)
        done = {a: future for a, future in asked.items() if future.status == "finished"}
        self.client.cancel([f for a, f in asked.items() if a not in done], force=True)
        return dict(zip(done, self.client.gather(list(done.values())), strict=True))

    def _wait(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> None:
        """Return when all are done; raise the first task's error, or NodesLost."""
        from distributed import wait

        def attempt() -> bool:
            with self.client.as_current():
                wait(futures, timeout=WATCH_SECONDS)
            return True

        self._watched(attempt, futures, nodes)

    def brought(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> list[Any]:
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
            except TimeoutError as late:
                _let_go(late)
                result = None
            except _cancelled() as problem:  # what a task needs was lost for good
                raise NodesLost(nodes - set(self.members.workers()), len(futures)) from problem
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
            failed = [future for future in futures if future.status == "error"]
            problems = [future.exception() for future in failed]
            for future, problem in zip(failed, problems, strict=True):
                if not isinstance(problem, (KilledWorker, RelayBroken)):
                    raise problem.with_traceback(future.traceback())
            raise NodesLost(nodes - set(self.members.workers()), 1) from problems[0]
        if "cancelled" in states or "lost" in states:
            raise NodesLost(nodes - set(self.members.workers()), len(states))

    def _check(self, nodes: frozenset[str], *, look_for_silent: bool) -> None:
        lost = nodes - set(self.members.workers())
        if look_for_silent:
            self.members.mute |= nodes & self.members.silent()
            lost |= nodes & self.members.mute
        if lost:
            raise NodesLost(frozenset(lost), 0)
