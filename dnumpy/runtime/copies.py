"""Copies: what was sent of arrays at home to workers, and stays there while it may be of use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.graph import Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from distributed import Client, Future

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.operands import Ref

EMBED_BYTES = 1 << 16  # smaller operands travel inside their task, as small results come home
_REFERENCES_WHEN_UNUSED = 3  # the tuple of its copies, the local name, the argument of the count


class Rows(NamedTuple):
    """Rows ``lo:hi`` of a home array, copied to a worker."""

    lo: int
    hi: int


def ref_of(future: Future[Any]) -> Ref:
    """Return what stands for a future's result in a graph."""
    from dask._task_spec import TaskRef

    return TaskRef(future.key)


def forget_unused(copies: dict[int, tuple[Expr, Any]]) -> None:
    """Drop copies, kept with the array that they are of, where nothing but they refers to it."""
    for key in list(copies):
        owner = copies[key][0]
        if sys.getrefcount(owner) <= _REFERENCES_WHEN_UNUSED:
            del copies[key]


class Copies:
    """Copies of home arrays on workers, by array: each is sent once in a loop.

    A copy refers to the array that it is of, which keeps that memory from being written in place.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.of: dict[int, tuple[Expr, dict[Any, Future[Any]]]] = {}
        self._direct: bool | None = None

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return the array itself when small, else the key of its copy on the worker.

        Copies are kept while anything else refers to the owner.
        """
        if array.nbytes <= EMBED_BYTES:
            return np.array(array, order="C")
        if owner is None:
            return self._scatter(np.require(array, requirements="C"), node)
        return ref_of(self._copy(owner, what, array, node))

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows ``lo:hi`` of a home array to a worker."""
        future = self._copy(owner, Rows(lo, hi), owner.value[lo:hi], node)
        return Segment(lo, hi, node, ref_of(future), None)

    def rows(self, owner: Expr, alive: Collection[str]) -> list[Segment]:
        """Return the rows of a home array that were sent to workers which are still there."""
        _, copies = self.of.get(id(owner), (owner, {}))
        return [
            Segment(what.lo, what.hi, node, ref_of(future), None)
            for (what, node), future in copies.items()
            if isinstance(what, Rows) and node in alive and future.status == "finished"
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

    def _copy(self, owner: Expr, what: Hashable, array: np.ndarray, node: str) -> Future[Any]:
        _, copies = self.of.setdefault(id(owner), (owner, {}))
        found = copies.get((what, node))
        if found is None or found.status != "finished":
            found = copies[what, node] = self._scatter(np.require(array, requirements="C"), node)
        return found

    def _scatter(self, array: np.ndarray, node: str) -> Future[Any]:
        if self._direct is None:
            self._direct = self._reachable(node)
        try:
            return self.client.scatter(array, workers=[node], hash=False, direct=self._direct)
        except (OSError, TimeoutError) as problem:
            raise NodesLost(frozenset({node}), 0) from problem

    def _reachable(self, node: str) -> bool:
        """Say whether this process can connect to workers without going through the scheduler."""
        try:
            self.client.scatter(b"", workers=[node], hash=False, direct=True, timeout=3)
        except (OSError, TimeoutError):
            return False
        return True
