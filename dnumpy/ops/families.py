"""The nine families of ops, as frozen rows of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """A primitive: its ``name`` is unique in the table."""

    name: str

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        """Pickle by name, so that identity survives a trip to a worker."""
        return lookup, (self.name,)

    def __repr__(self) -> str:
        """Return the family and the name."""
        return f"{type(self).__name__}({self.name})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaf(Op):
    """No operands: data that exists (``leaf``), or rows made from their index."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elementwise(Op):
    """One output element per broadcast element; ``ufunc`` is None for ``where`` and ``cast``.

    ``loop`` is the cost class, ``flops`` the operations per element, ``scalar`` the Python
    expression over ``{0}``, ``{1}``, ... that equals the ufunc bit for bit on floats ('' when
    there is none).
    """

    ufunc: np.ufunc | None = None
    loop: str = "arith"
    flops: float = 1.0
    scalar: str = ""

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[Any, ...]]:
        """Rows made for ufuncs from elsewhere (scipy.special) travel with their ufunc."""
        if self.name in ROWS:
            return lookup, (self.name,)
        return elementwise_of, (self.ufunc,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduction(Op):
    """Folds axes away by ``ufunc``, which folds partial results too, or else by ``call``."""

    ufunc: np.ufunc | None = None
    call: Callable[..., Any] | None = None
    loop: str = "reduce"
    flops: float = 1.0

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[Any, ...]]:
        """Rows made for ufuncs from elsewhere travel with their ufunc."""
        if self.name in ROWS:
            return lookup, (self.name,)
        return reduction_of, (self.ufunc,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Op):
    """Running folds along an axis."""

    call: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Movement(Op):
    """``view``: other strides over the same memory. ``update``: a copy with one region replaced."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Indexing(Op):
    """Gathers and scatters by index arrays."""

    call: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contraction(Op):
    """Sums of products over shared axes."""

    call: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sorting(Op):
    """Reorders elements by value."""

    call: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Random(Op):
    """Draws from a stream: the one operand is a Draw, and rows are made from their index."""

    loop: str = "exp"


OpT = TypeVar("OpT", bound=Op)

ROWS: dict[str, Op] = {}
_FOREIGN: dict[tuple[str, int], Op] = {}


def row(op: OpT) -> OpT:
    """Enter ``op`` in the table and return it; a name that is taken raises ValueError."""
    if op.name in ROWS:
        msg = f"op {op.name!r} stands twice in the table"
        raise ValueError(msg)
    ROWS[op.name] = op
    return op


def lookup(name: str) -> Op:
    """Return the row called ``name``."""
    return ROWS[name]


def elementwise_of(ufunc: np.ufunc) -> Elementwise:
    """Return the row of ``ufunc``, made on the spot for a ufunc that is not NumPy's."""
    known = ROWS.get(ufunc.__name__)
    if isinstance(known, Elementwise) and known.ufunc is ufunc:
        return known
    made = _FOREIGN.setdefault(
        ("e", id(ufunc)),
        Elementwise(f"foreign.{ufunc.__name__}.{id(ufunc)}", ufunc=ufunc, loop="other"),
    )
    assert isinstance(made, Elementwise)
    return made


def reduction_of(ufunc: np.ufunc) -> Reduction:
    """Return the row that folds with ``ufunc``."""
    known = ROWS.get(f"{ufunc.__name__}.reduce")
    if isinstance(known, Reduction) and known.ufunc is ufunc:
        return known
    made = _FOREIGN.setdefault(
        ("r", id(ufunc)), Reduction(f"foreign.{ufunc.__name__}.reduce.{id(ufunc)}", ufunc=ufunc)
    )
    assert isinstance(made, Reduction)
    return made
