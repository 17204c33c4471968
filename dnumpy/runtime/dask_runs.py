"""Runs of graphs on the workers of a client, which are watched meanwhile.

A task whose worker is gone would wait for it for ever: what is waited for here is given up as soon
as a worker is lost.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import wait as wait_for_jobs
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dnumpy.errors import ClusterWarning, WorkerLost, WorkersDiffer
from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.relay import RelayBroken
from dnumpy.runtime.versions import unfit_workers
from dnumpy.runtime.waiters import Waiters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from distributed import Client, Future

    from dnumpy.runtime.told import Awaited

WATCH_SECONDS = 0.5  # how often workers are looked at while a run goes on
SILENT_SECONDS = 30.0  # a worker that says nothing for so long, while others do, is lost
LOOKS_PER_SILENCE_CHECK = 10
NEW_WORKER_SECONDS = 20.0  # how long to wait for a worker when none is left
STARTING_SECONDS = 300.0  # likewise, where a cluster starts workers as they are needed
SEND_SECONDS = 1e-3  # of gathering messages to the scheduler
MEASURE_SECONDS = 1.0  # for a look at a worker
ASKERS = 4  # threads that wait for answers, some of which may never come
GATHERERS = 2  # likewise, for results
T = TypeVar("T")


def _cancelled() -> tuple[type[BaseException], ...]:
    """Return the two errors that distributed raises for a cancelled future."""
    from asyncio import CancelledError

    return CancelledError, FutureCancelled


def _hasten(client: Client) -> None:
    """Let the client's messages wait for others no longer than a worker's do.

    It gathers them for 10 ms: where the last run's results were let go of just before, as in a loop
    that looks at each step's, the next run's tasks would wait for so long.
    """
    comm = client.scheduler_comm
    if comm is not None and getattr(comm, "interval", 0.0) > SEND_SECONDS:
        comm.interval = SEND_SECONDS


def _let_go(problem: BaseException | None) -> None:
    """Let an error, which distributed keeps in a cycle, hold no frame: they hold results."""
    while problem is not None:
        problem.__traceback__ = None
        problem = problem.__cause__ or problem.__context__


def give_up(futures: Iterable[Future[Any]]) -> None:
    """Let go of what tasks give that nobody waits for any more: those that have not begun never do.

    ``Client.cancel`` is no way to do so. Where a task reads what is cancelled whose own result
    nobody has asked for, as between the stages of a run, an assertion fails in the scheduler, which
    then drops the client and all that it holds (distributed 2026.8, ``stimulus_cancel``).
    """
    for future in futures:
        future.release()


def _let_end(_: Future[Any]) -> None:
    """Hold a Future until its task has ended, as callbacks do."""


def _unreachable(problem: object) -> str:
    return (
        f"the scheduler does not answer ({problem}): what lies on its workers is lost; "
        "connect a new Client and compute again from arrays at home or on disk"
    )


def _askers() -> Waiters:
    return Waiters(ASKERS, "dnumpy-ask")


def _told(unfit: Mapping[str, str]) -> str:
    """Return which workers cannot be used, and why."""
    each = "; ".join(f"{address}: {why}" for address, why in sorted(unfit.items()))
    return f"workers that cannot be used ({each}): install the same versions there"


class Members:
    """The workers of a client; ``mute`` are those that were given up as they fell silent.

    Some are ``unfit`` to run this process's tasks, for the reason told.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.mute: set[str] = set()
        self.unfit: dict[str, str] = {}
        self._fit: set[str] = set()
        self._work: Any = None
        self._threads = _askers()

    def watched(self, workers: Collection[str], call: Callable[[], T]) -> T:
        """Return what a call gives that waits for answers of workers.

        Raises OSError as soon as one of them is gone, as a message to it is tried for half a
        minute, or has fallen silent.
        """
        job, looks = self._threads.submit(call), 0
        while not wait_for_jobs([job], timeout=WATCH_SECONDS).done:
            looks += 1
            gone = self.lost(workers, looks)
            if gone and not job.done():
                self._threads.leave()
                self._threads = _askers()
                msg = f"workers went away before they answered: {sorted(gone)}"
                raise ConnectionError(msg)
        return job.result()

    def lost(self, among: Collection[str], looks: int) -> set[str]:
        """Return which of the workers are gone, or have fallen silent, at the n-th look at them."""
        nodes = set(among)
        if looks % LOOKS_PER_SILENCE_CHECK == 0:
            self.mute |= nodes & self.silent()
        return (nodes - set(self.workers())) | (nodes & self.mute)

    def ask(self, function: Callable[..., T], *args: Any, workers: list[str], **how: Any) -> Any:
        """Return what the function gives on each worker; raises OSError of one that is gone."""
        call = partial(self.client.run, function, *args, workers=workers, **how)
        return self.watched(workers, call)

    def responsive(self) -> dict[str, int]:
        """Return the workers' threads, without those that are unfit, or given up and still silent.

        Waits a while for a worker where there is none: a cluster that starts workers where there
        is work is given some, whose result keeps a worker from being ended before it is used.

        Raises
        ------
        dnumpy.errors.WorkerLost
            None came.
        dnumpy.errors.WorkersDiffer
            All of them are unfit.
        """
        found = self._responsive()
        if found:
            self._work = None
            return found
        deadline = time.monotonic() + self._patience()
        self._work = self.client.submit(int, pure=False)
        while not found:
            if time.monotonic() > deadline:
                self._work = None
                msg = (
                    f"the scheduler {self.scheduler().address} has no worker left: "
                    "start workers and compute again; arrays at home are intact"
                )
                raise WorkerLost(msg)
            time.sleep(WATCH_SECONDS)
            found = self._responsive()
        return found

    def _patience(self) -> float:
        """Return how long to wait for a worker: longer where the cluster is about to start some."""
        adapts = getattr(self.client.cluster, "_adaptive", None) is not None
        return STARTING_SECONDS if adapts else NEW_WORKER_SECONDS

    def _responsive(self) -> dict[str, int]:
        workers = self.workers()
        self.mute &= set(workers)
        if self.mute:
            self.mute &= self.silent()
        there = {address: n for address, n in workers.items() if address not in self.mute}
        return self._without_unfit(there)

    def _without_unfit(self, there: dict[str, int]) -> dict[str, int]:
        """Return the workers that can run this process's tasks; warn of others, once."""
        self._fit &= set(there)
        self.unfit = {address: why for address, why in self.unfit.items() if address in there}
        unknown = set(there) - self._fit - set(self.unfit)
        if unknown:
            found = self.watched(unknown, partial(unfit_workers, self.client, unknown))
            self.unfit.update(found)
            self._fit |= unknown - set(found)
            if self._fit and found:
                warnings.warn(_told(found), ClusterWarning, stacklevel=2)
        if self.unfit and not self._fit:
            msg = f"no worker can run tasks of this process: {_told(self.unfit)}"
            raise WorkersDiffer(msg)
        return {address: n for address, n in there.items() if address in self._fit}

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
        self._threads = Waiters(GATHERERS, "dnumpy-gather")

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
        wanted = list(dict.fromkeys([*home, *stay]))
        futures = self._begun(tasks, wanted, retries=retries, urgent=urgent)
        try:
            self._wait(list(futures.values()), nodes)
            brought = self.brought([futures[key] for key in home], nodes)
        except BaseException:
            give_up(futures.values())
            raise
        return {key: futures[key] for key in stay}, brought

    def relayed(
        self, tasks: Mapping[str, dict[str, Any]], stay: list[str], others: list[str], run: Awaited
    ) -> dict[str, Future[Any]]:
        """Run the tasks of a relay; return Futures of what stays once all that is awaited was told.

        What the other tasks give is of no use: that they have ended is not waited for.
        """
        nodes = frozenset(tasks)
        futures = self._begun(tasks, [*stay, *others], retries=0)
        everything = list(futures.values())
        kept = {key: futures[key] for key in stay}

        def told() -> bool:
            if run.wait(WATCH_SECONDS) or {f.status for f in everything} == {"finished"}:
                return True  # what was lost on the way can be asked for
            raise TimeoutError

        try:
            self._watched(told, everything, nodes)
            self._wait(list(kept.values()), nodes)
        except BaseException:
            give_up(everything)
            raise
        for key in others:  # which are about to end, and are not to be cancelled
            if futures[key].status == "pending":
                futures[key].add_done_callback(_let_end)
        return kept

    def beside(
        self, tasks: Mapping[str, dict[str, Any]], stay: list[str]
    ) -> dict[str, Future[Any]]:
        """Let tasks run after all others that are ready; return Futures, of which none is done."""
        return self._begun(tasks, stay, retries=0, least=-1)

    def wait_for(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> None:
        """Return when all have ended somehow; where workers were lost, they are given up."""
        try:
            self._wait(futures, nodes)
        except NodesLost:
            give_up(futures)
        except Exception as problem:  # noqa: BLE001 - whoever looks at the futures meets it
            _let_go(problem)

    def _begun(
        self,
        tasks: Mapping[str, dict[str, Any]],
        wanted: list[str],
        *,
        retries: int,
        urgent: Collection[str] = (),
        least: int = 0,
    ) -> dict[str, Future[Any]]:
        """Let tasks run, each on its node; return the Futures of those that are wanted.

        ``least`` is the priority of those that are not urgent.
        """
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        layers: dict[str, MaterializedLayer] = {}
        for node, own in tasks.items():
            for priority in (0, 1):
                some = {key: task for key, task in own.items() if (key in urgent) == priority}
                how = {"workers": [node], "retries": retries, "priority": least + priority}
                if some:
                    layers[f"{node}-{priority}"] = MaterializedLayer(some, annotations=how)
        high = HighLevelGraph(layers, {node: set() for node in layers})
        _hasten(self.client)
        return dict(zip(wanted, self.client.get(high, wanted, sync=False), strict=True))

    def on_each(self, measure: Callable[[], float], workers: Sequence[str]) -> dict[str, float]:
        """Return what a task finds on each worker; nothing of those that are too busy for it."""
        from distributed import wait

        asked = {a: self.client.submit(measure, workers=[a], pure=False) for a in workers}
        with suppress(TimeoutError), self.client.as_current():
            wait(list(asked.values()), timeout=MEASURE_SECONDS)
        done = {a: future for a, future in asked.items() if future.status == "finished"}
        give_up(future for a, future in asked.items() if a not in done)
        return dict(zip(done, self.client.gather(list(done.values())), strict=True))

    def _wait(self, futures: Sequence[Future[Any]], nodes: frozenset[str]) -> None:
        """Return when all are done; raise the first task's error, or NodesLost."""
        from distributed import wait

        if not futures:
            return

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
        try:
            return self._watched(lambda: job.result(WATCH_SECONDS), futures, nodes)
        except NodesLost:
            self._threads.leave()  # one of them still waits for what was lost
            self._threads = Waiters(GATHERERS, "dnumpy-gather")
            raise

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
                self._check(nodes, rounds + 1)
                raise
            self._raise_failed(futures, nodes)
            if result is not None:
                return result
            rounds += 1
            self._check(nodes, rounds)

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

    def _check(self, nodes: frozenset[str], looks: int) -> None:
        lost = self.members.lost(nodes, looks)
        if lost:
            raise NodesLost(frozenset(lost), 0)
