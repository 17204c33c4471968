"""The families of ops, as frozen rows of data.

What is neither elementwise nor a ufunc's fold is told by *which rows of the operands it reads* for
rows ``lo:hi`` of its result (:class:`Blocked`), or by what it makes of each block of rows and how
that is merged (:class:`Fold`). One executor per kind of node then runs every such row: the threads
of this process, virtual nodes, or the workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
class Movement(Op):
    """``view``: other strides over the same memory. ``update``: a copy with one region replaced."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contraction(Op):
    """Sums of products over shared axes; with ``folds``, over the rows of both operands.

    Where it ``writes``, the call takes ``out``, contiguous and of the operands' one dtype.
    """

    call: Callable[..., Any] | None = None
    folds: bool = False
    writes: bool = False


class Piece(NamedTuple):
    """What a block reads of one operand: all of it, or rows ``first:stop``.

    ``inner`` holds (start, stop) for each of the next axes, to be cut out where the rows lie.
    """

    operand: int
    first: int | None = None
    stop: int | None = None
    inner: tuple[tuple[int, int], ...] = ()

    def of(self, array: Any) -> Any:
        """Return the piece of a whole operand that is at hand."""
        if self.first is None:
            return array
        return array[(slice(self.first, self.stop), *(slice(*ends) for ends in self.inner))]


Shapes = tuple[tuple[int, ...], ...]  # of the operands; () for a scalar


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blocked(Op):
    """Rows of the result from stated rows of the operands.

    ``reads(shapes, params, lo, hi)`` returns the :class:`Piece` s that rows ``lo:hi`` need;
    ``call(pieces, params, lo, hi, out)`` computes them into ``out``. ``rows(shapes, params)`` is
    the grid on which blocks must lie for the same bits on any partition; None where any cut gives
    the same bits. What ``shares`` its work among threads in C is called once for all rows.
    """

    reads: Callable[[Shapes, Any, int, int], tuple[Piece, ...]]
    call: Callable[[Sequence[Any], Any, int, int, Any], None]
    rows: Callable[[Shapes, Any], int] | None = None
    loop: str = "other"
    flops: float = 1.0
    shares: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Blocked):
    """Running folds along an axis.

    ``join(before, params, out)`` joins, in place, a block's running folds with the last one
    before it. A call without a second operand for what goes before is one run over all blocks.
    Unless ``rounds(params)``, the folds have the same bits whatever the blocks are.
    ``jointly(rows, params, out, block, state)`` makes all of them together with other threads that
    call it at the same time, with a ``state`` of as many zeros as there are blocks, and one more;
    it says whether it could.
    """

    join: Callable[[Any, Any, Any], None] | None = None
    rounds: Callable[[Any], bool] = lambda _params: True
    jointly: Callable[[Any, Any, Any, int, Any], bool] = lambda *_given: False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Indexing(Blocked):
    """Gathers and scatters by index arrays and masks."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sorting(Blocked):
    """Reorders elements by value."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rowwise(Blocked):
    """A NumPy function, named by its path, on each block of rows; see :func:`rowwise_of`."""

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[Any, ...]]:
        """Pickle by the function's name."""
        return rowwise_of, (self.name,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fold(Op):
    """What ``merge(partials, params)`` makes of ``call(pieces, params, lo, hi)`` of all blocks.

    Blocks are of rows of the first operand; the others are read by rows where ``params[0]`` says
    so, else whole. A result of unknown size is an object array without axes that holds it.

    With ``adds``, the merge is their sum up a binary tree over the blocks, the odd one out going up
    unchanged, so that any node may add up what is its own.
    """

    call: Callable[[Sequence[Any], Any, int, int], Any]
    merge: Callable[[Sequence[Any], Any], Any]
    rows: Callable[[Shapes, Any], int] | None = None
    loop: str = "other"
    flops: float = 1.0
    adds: bool = False


def added_pairwise(partials: Sequence[Any], _params: Any) -> Any:
    """Return the sum of all partial results, up a binary tree over the blocks."""
    level = list(partials)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [x + y for x, y in zip(level[::2], level[1::2], strict=False)] + odd
    return level[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Random(Op):
    """Draws from a stream: the one operand is a Draw, and rows are made from their index."""

    loop: str = "exp"


def folds_rows(op: Op, params: Any) -> bool:
    """Say whether ``op`` folds axis 0 of its operands away: its result is no row value."""
    if isinstance(op, Reduction):
        return 0 in params.axis
    return isinstance(op, Contraction) and op.folds


OpT = TypeVar("OpT", bound=Op)

ROWS: dict[str, Op] = {}
KNOWN_ROWWISE = {  # path -> cost class and operations per element
    "numpy.copy": ("cast", 1.0),
    "numpy.argsort": ("sort", 2.5),
    "numpy.argpartition": ("sort", 0.4),
    "numpy.take_along_axis": ("gather", 4.0),
}
LATE: dict[str, str] = {}  # rows made when they are first asked for: name -> module that has them
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
    if name not in ROWS and name in LATE:
        getattr(import_module(LATE[name]), name)
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


class RowParams(NamedTuple):
    """Parameters of a :class:`Rowwise` or :class:`Fold` row.

    ``by_rows`` says of each operand whether it is read by rows or whole; ``kwargs`` are the
    function's own.
    """

    by_rows: tuple[bool, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


def named(path: str) -> Any:
    """Return the function called ``package.module.name``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def read_by_rows(_shapes: Shapes, params: Any, lo: int, hi: int) -> tuple[Piece, ...]:
    """Return rows ``lo:hi`` of the operands that ``params[0]`` says go by rows, others whole."""
    return tuple(Piece(k, lo, hi) if by_rows else Piece(k) for k, by_rows in enumerate(params[0]))


def rowwise_of(path: str) -> Rowwise:
    """Return the row that calls the function ``path`` on blocks of rows.

    Row ``i`` of its result must depend on row ``i`` of the operands that go by rows and on the
    other operands whole. Its parameters are a :class:`RowParams`.
    """
    known = ROWS.get(path)
    if isinstance(known, Rowwise):
        return known
    function = named(path)

    def call(pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: Any) -> None:
        out[...] = function(*pieces, **dict(params.kwargs))

    loop, flops = KNOWN_ROWWISE.get(path, ("other", 1.0))
    made = ROWS.setdefault(path, Rowwise(path, read_by_rows, call, None, loop, flops))
    assert isinstance(made, Rowwise)
    return made
