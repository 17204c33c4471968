"""Arrays that are stored where nobody changes them, of which rows are read when they are wanted.

A :class:`StoredRows` is such an array: read-only memory maps of files
(:mod:`~dnumpy.runtime.files`) and of Zarr stores (:mod:`~dnumpy.runtime.zarrs`) are. It may be the
value of a leaf: nodes that see the store read the rows that they want, block by block; what is
computed by the threads of this process, without a limit, reads all of it once, as NumPy does.

To add a kind: derive from StoredRows, and from what tells its state on two nodes apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from dnumpy.expr.expr import Expr, leaf
from dnumpy.expr.living import Living
from dnumpy.expr.walk import base_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    import numpy as np

    from dnumpy.expr.expr import Shape


class Identified(Protocol):
    """What tells that two nodes see one stored array in one state; hashable, and it pickles."""

    def holds(self) -> bool:
        """Say whether this node sees the same array in the same state."""
        ...

    def __hash__(self) -> int: ...


class StoredRows(ABC):
    """An array of at least one axis whose rows are read when they are wanted; it pickles."""

    __slots__ = ()

    identity: Any  # an Identified; what fields are declared, the kinds say
    shape: Shape
    dtype: np.dtype

    @abstractmethod
    def rows(self, rows: slice | None) -> np.ndarray:
        """Return these rows, all for None, C-contiguous in memory of their own.

        ``rows`` goes forwards. Raises OSError where they cannot be read any more.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of the array in memory."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in memory."""
        return prod(self.shape[1:]) * self.dtype.itemsize

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return these rows."""
        return self.rows(rows)


def sees(identity: Identified) -> bool:
    """Say whether this node sees the same array in the same state."""
    return identity.holds()


class Seen:
    """Which workers see which stored arrays; each is asked once for each state of one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Identified], bool] = {}

    def by_all(
        self, identity: Identified, ask: Callable[..., dict[str, bool]], workers: Collection[str]
    ) -> bool:
        """Say whether all of these workers see this very array; ``ask`` runs something on some."""
        unknown = [w for w in workers if (w, identity) not in self._known]
        if unknown:
            told = ask(sees, identity, workers=unknown)
            self._known |= {(worker, identity): seen for worker, seen in told.items()}
        return all(self._known.get((w, identity), False) for w in workers)


unread = Living()  # leaves whose value is not in memory


def leaf_of(stored: StoredRows) -> Expr:
    """Return a leaf whose rows are read when they are wanted."""
    expr = leaf(stored, stored.shape, stored.dtype)
    unread.add(expr)
    return expr


def unread_among(args: Iterable[Any]) -> list[Expr]:
    """Return the leaves under these operands that are not in memory."""
    bases = [base_of(arg) for arg in args if type(arg) is Expr]
    return [base for base in bases if isinstance(base.value, StoredRows)]
