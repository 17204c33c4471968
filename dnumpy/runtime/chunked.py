"""Chunked: an array whose rows lie on several nodes; Source: how an array came about."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dnumpy.config import memory_limit_bytes
from dnumpy.errors import GatherTooLarge
from dnumpy.expr.geometry import typed
from dnumpy.runtime.stored import StoredRows, unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr, Shape


LONGEST_LINEAGE = (
    64  # stages; older ones are forgotten, or an endless loop would remember all its steps
)


class Producer(Protocol):
    """Computes any rows of a stage's outputs; see :mod:`dnumpy.runtime.producers`."""

    def depth(self) -> int:
        """Return the number of stages that led here."""
        ...

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        ...

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        ...

    def build(
        self,
        graph: Any,
        ranges: Sequence[Any],
    ) -> list[tuple[Any, Any]]:
        """Add tasks to a :class:`~dnumpy.runtime.graph.Graph`, one for each of its ranges."""
        ...


class Source:
    """An array: at home, in pieces on nodes, or still to be made by a producer.

    ``expr`` holds the value of an array that is at home (holding the Expr keeps anyone from writing
    into its memory); ``producer`` made output ``position``; ``chunked`` refers weakly to the
    pieces.
    """

    __slots__ = (
        "__weakref__",
        "chunked",
        "depth",
        "dtype",
        "expr",
        "in_file",
        "position",
        "producer",
        "shape",
    )

    def __init__(
        self,
        shape: Shape,
        dtype: np.dtype,
        *,
        expr: Expr | None = None,
        producer: Producer | None = None,
        position: int = 0,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.expr = expr
        self.position = position
        self.in_file = False  # whether nodes read it from a file rather than from memory
        self.chunked: weakref.ref[Chunked] | None = None
        self.depth = 1 + producer.depth() if producer is not None else 0
        self.producer = producer if self.depth <= LONGEST_LINEAGE else None

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return prod(self.shape[1:]) * self.dtype.itemsize

    def at_home(self) -> np.ndarray | StoredRows | None:
        """Return the array if it is in this process, or stored where this process can read it."""
        return self.expr.value if self.expr is not None else None

    def is_here(self) -> bool:
        """Say whether the array is in the memory of this process."""
        stored = self.in_file or self.expr is None or isinstance(self.expr.value, StoredRows)
        return not stored

    def settle_home(self, expr: Expr) -> None:
        """Note that the array is now at home, as the value of ``expr``."""
        self.expr = expr
        self.producer = None
        self.depth = 0

    def pieces(self) -> Chunked | None:
        """Return the pieces if somebody still holds them."""
        return self.chunked() if self.chunked is not None else None


@dataclass(frozen=True, slots=True)
class Part:
    """Rows ``start:stop`` on one node.

    ``data`` is a NumPy array (a node of this process) or a Future pinned to the worker ``node``;
    with ``item`` the future's result is a :class:`~dnumpy.runtime.operands.Made` and that row
    output is meant.
    """

    node: str
    start: int
    stop: int
    data: Any
    item: int | None = None


account: list[Any] = [None]  # of the evaluation that is running


class Chunked:
    """An array cut into contiguous blocks of rows, of any sizes, each on one node.

    ``home`` is the :class:`~dnumpy.runtime.cluster.Cluster` of those nodes. What the array holds
    never changes; where its parts lie may, when a worker is lost and its rows are computed again
    elsewhere, or when it is read better somewhere else.
    """

    __slots__ = ("__weakref__", "account", "dtype", "home", "parts", "shape", "source", "stay")

    def __init__(
        self,
        shape: Shape,
        dtype: np.dtype,
        parts: tuple[Part, ...],
        source: Source,
        home: Any,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.parts = parts
        self.source = source
        self.home = home
        source.chunked = weakref.ref(self)
        self.account: Any = account[0]  # of what reading it costs: see runtime/returning.py
        self.stay: Any = None  # and of where it lies: see runtime/settling.py

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes on all nodes together."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def starts(self) -> tuple[int, ...]:
        """First row of every part."""
        return tuple(part.start for part in self.parts)

    def rows_per_node(self) -> tuple[tuple[str, int], ...]:
        """Return (node, rows), nodes in the order in which their rows follow one another."""
        rows: dict[str, int] = {}
        for part in self.parts:
            rows[part.node] = rows.get(part.node, 0) + part.stop - part.start
        return tuple(rows.items())

    def gather(self) -> np.ndarray:
        """Return all rows as one C-contiguous array in this process.

        Raises GatherTooLarge above ``config.memory_limit``, and WorkerLost where rows were lost
        that cannot be computed again.
        """
        refuse_above_limit(self.nbytes, f"an array of shape {self.shape} and dtype {self.dtype}")
        return typed(self.home.bring_home(self), self.dtype)

    def __repr__(self) -> str:
        """Return dtype, shape and rows per node."""
        where = ", ".join(f"{node}: {rows}" for node, rows in self.rows_per_node())
        return f"<Chunked {self.dtype}{list(self.shape)} on {where}>"


def gather(value: Chunked | StoredRows | np.ndarray) -> np.ndarray:
    """Return a stored value as one C-contiguous NumPy array in this process."""
    if isinstance(value, Chunked):
        return value.gather()
    if isinstance(value, StoredRows):
        refuse_above_limit(value.nbytes, f"a stored array of shape {value.shape}")
        return typed(value.rows(None), value.dtype)
    return np.ascontiguousarray(value) if value.ndim else value


def read(expr: Expr) -> np.ndarray:
    """Return the value of a leaf, which is in memory from now on."""
    found = expr.value = gather(expr.value)
    unread.discard(expr)
    return found


def refuse_above_limit(nbytes: int, what: str) -> None:
    """Raise GatherTooLarge unless ``nbytes`` may be brought together in one place."""
    limit = memory_limit_bytes()
    if nbytes > limit:
        msg = (
            f"{what} takes {nbytes} bytes in one place and config.memory_limit is {limit}: "
            "reduce or slice it first, or raise the limit"
        )
        raise GatherTooLarge(msg)
