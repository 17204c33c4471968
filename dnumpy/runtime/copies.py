"""Copies: what was sent of arrays at home to workers, and stays there while it may be of use."""

from __future__ import annotations

import sys
from concurrent.futures import CancelledError, wait
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from dnumpy.runtime.dask_runs import WATCH_SECONDS
from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.graph import Segment
from dnumpy.runtime.waiters import Waiters

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping
    from concurrent.futures import Future as Job

    from distributed import Client, Future

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.dask_runs import Members
    from dnumpy.runtime.operands import Ref

SENDERS = 8  # workers that copies are sent to at the same time
EMBED_BYTES = 1 << 16  # smaller operands travel inside their task, as small results come home
_REFERENCES_WHEN_UNUSED = 3  # the tuple of its copies, the local name, the argument of the count


class Rows(NamedTuple):
    """Rows ``lo:hi`` of a home array, copied to a worker."""

    lo: int
    hi: int


def ref_of(future: Future[Any]) -> Ref:
    """Return what stands for a future's result in a graph."""
    return _ref_of(str(future.key))


def _ref_of(key: str) -> Ref:
    from dask._task_spec import TaskRef

    return TaskRef(key)


def _senders() -> Waiters:
    return Waiters(SENDERS, "dnumpy-send")


def forget_unused(copies: dict[int, tuple[Expr, Any]]) -> None:
    """Drop copies, kept with the array that they are of, where nothing but they refers to it."""
    for key in list(copies):
        owner = copies[key][0]
        if sys.getrefcount(owner) <= _REFERENCES_WHEN_UNUSED:
            del copies[key]


class Sent:
    """A copy on a worker, or on its way there: the ``job`` that sends it, then what holds it."""

    __slots__ = ("future", "job", "key", "node")

    def __init__(self, key: str, node: str, job: Job[Future[Any]]) -> None:
        self.key = key
        self.node = node
        self.job: Job[Future[Any]] | None = job
        self.future: Future[Any] | None = None

    def arrive(self) -> bool:
        """Say whether it has come to be there, and was not lost on the way, once that is known."""
        if self.job is not None:
            job, self.job = self.job, None
            if not job.done():  # its worker is gone
                return False
            try:
                self.future = job.result()
            except (OSError, TimeoutError, CancelledError):
                return False
        return self.is_there()

    def is_there(self) -> bool:
        """Say whether it is there, or on its way."""
        if self.job is not None:
            return True
        return self.future is not None and self.future.status == "finished"


class Copies:
    """Copies of home arrays on workers, by array: each is sent once in a loop.

    A copy refers to the array that it is of, which keeps that memory from being written in place.
    Copies go to several workers at the same time: tasks that read them are to be submitted once
    all have arrived (:meth:`arrive`). Those to a worker that is gone are given up: a message to it
    is tried for half a minute.
    """

    def __init__(self, client: Client, members: Members) -> None:
        self.client = client
        self.members = members
        self.of: dict[int, tuple[Expr, dict[Any, Sent]]] = {}
        self._direct: bool | None = None
        self._sending: list[Sent] = []
        self._threads = _senders()

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return the array itself when small, else the key of its copy on the worker.

        Copies are kept while anything else refers to the owner.
        """
        if array.nbytes <= EMBED_BYTES:
            return np.array(array, order="C")
        if owner is None:
            return self._scatter(array, node)
        return self._copy(owner, what, array, node)

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows ``lo:hi`` of a home array to a worker."""
        return Segment(
            lo, hi, node, self._copy(owner, Rows(lo, hi), owner.value[lo:hi], node), None
        )

    def arrive(self) -> None:
        """Return once all that was placed or sent has arrived; raises NodesLost of what has not."""
        self._wait({sent.job: sent.node for sent in self._sending if sent.job is not None})
        sending, self._sending = self._sending, []  # an interrupt has left them on their way
        lost = {sent.node for sent in sending if not sent.arrive()}
        if lost:
            raise NodesLost(frozenset(lost), 0)

    def _wait(self, jobs: Mapping[Job[Any], str]) -> None:
        """Return once all jobs are done but those that send to a worker which is gone."""
        left, looks = set(jobs), 0
        while left:
            wait(left, timeout=WATCH_SECONDS)
            left, looks = {job for job in left if not job.done()}, looks + 1
            lost = self.members.lost({jobs[job] for job in left}, looks) if left else ()
            if gone := {job for job in left if jobs[job] in lost}:
                # threads are busy with them yet: what waits for these has to be begun anew
                self._threads.leave(cancel=True)
                self._threads = _senders()
                left -= gone

    def rows(self, owner: Expr, alive: Collection[str]) -> list[Segment]:
        """Return the rows of a home array that were sent to workers which are still there."""
        _, copies = self.of.get(id(owner), (owner, {}))
        return [
            Segment(what.lo, what.hi, node, _ref_of(sent.key), None)
            for (what, node), sent in copies.items()
            if isinstance(what, Rows) and node in alive and sent.is_there()
        ]

    def everywhere(self, owner: Expr, alive: Collection[str]) -> bool:
        """Say whether every worker has a copy of all of a home array, or gets one in its tasks."""
        return owner.value.nbytes <= EMBED_BYTES or self.holders(owner, alive) == tuple(alive)

    def holders(self, owner: Expr, alive: Collection[str]) -> tuple[str, ...]:
        """Return the workers that have a copy of all of a home array."""
        _, copies = self.of.get(id(owner), (owner, {}))
        nodes = {node for what, node in copies if not isinstance(what, Rows)}
        return tuple([node for node in alive if node in nodes])

    def forget_unused(self) -> None:
        """Drop copies of arrays that nothing but they refer to."""
        forget_unused(self.of)

    def _copy(self, owner: Expr, what: Hashable, array: np.ndarray, node: str) -> Ref:
        _, copies = self.of.setdefault(id(owner), (owner, {}))
        found = copies.get((what, node))
        if found is None or not found.is_there():
            found = copies[what, node] = self._sent(array, node)
        return _ref_of(found.key)

    def _sent(self, array: np.ndarray, node: str) -> Sent:
        """Begin to send a copy."""
        direct = self._directly(node)
        key = f"ndarray-{uuid4().hex}"

        def send() -> Future[Any]:
            copy = {key: np.require(array, requirements="C")}
            found: dict[str, Future[Any]] = self.client.scatter(copy, workers=[node], direct=direct)
            return found[key]

        sent = Sent(key, node, self._threads.submit(send))
        self._sending.append(sent)
        return sent

    def _scatter(self, array: np.ndarray, node: str) -> Future[Any]:
        """Send what nobody keeps but the graph that reads it."""
        copy = np.require(array, requirements="C")
        how = {"workers": [node], "hash": False, "direct": self._directly(node)}
        try:
            return self.members.watched([node], partial(self.client.scatter, copy, **how))
        except (OSError, TimeoutError) as problem:
            raise NodesLost(frozenset({node}), 0) from problem

    def _directly(self, node: str) -> bool:
        if self._direct is None:
            self._direct = self._reachable(node)
        return self._direct

    def _reachable(self, node: str) -> bool:
        """Say whether this process can connect to workers without going through the scheduler."""
        try:
            self.client.scatter(b"", workers=[node], hash=False, direct=True, timeout=3)
        except (OSError, TimeoutError):
            return False
        return True
