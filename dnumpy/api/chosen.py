"""``a[mask]`` without counting: a selection stays two expressions until its form is needed.

NumPy counts a mask and copies what it shows, at once. Here ``a[mask]`` records the *domain* (all of
``a``) and the mask; both are immutable, so that what is written to either later changes nothing.
The array's Buffer is a :class:`Chosen`, which becomes an ordinary :class:`Buffer` as soon as
anything asks for its content: code that knows nothing of selections is right as it stands.

Arithmetic with scalars, and between selections by the same mask, is recorded over the whole
domain; so is ``a[mask] = selection``, as a ``where``; reductions fold the domain with the neutral
element in place of what the mask leaves out. All of it fuses.

What the mask leaves out is computed, too, and thrown away: it must not be told of. An op that may
raise a floating-point fault has the mask as its last operand (parameter ``chosen``). Its lowering
runs it on everything, which is the fastest loop there is, and only where that met a fault runs it
again under the mask, for the faults alone. Nothing needs to be replaced beforehand, and the
elements that the mask shows have the bits of NumPy's loop.

When a selection is made compact instead: always before functions that cost more than moving an
element does (exp, power, ...); when it is known to keep few elements (a quarter, or half where it
was folded before), when it was folded three times, or when what it is made of would be computed
again at a price.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks
from dnumpy.api.array import expr_of, facts, is_managed_dtype, managed, ndarray
from dnumpy.api.buffer import Buffer, refuse_copies
from dnumpy.api.record import Unmanaged, broadcast, cast, operand, record, resolve, where, write
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, leaf
from dnumpy.expr.geometry import Geometry, same_dtype
from dnumpy.expr.origin import told_at_once
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.blocked import COMPRESS, CompressParams
from dnumpy.ops.families import Elementwise, elementwise_of, reduction_of
from dnumpy.ops.table import CHOSEN, VIEW, WHERE
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime import masks

if TYPE_CHECKING:
    from collections.abc import Iterable

INTP = np.dtype(np.intp)
_BOOL = np.dtype(bool)
_CHEAP = frozenset({"arith", "compare", "div", "sqrt", "select", "cast"})  # cost classes of ops
_FEW = 4  # a known selection of less than one in so many is compact from the start
_DEEPEST = 64  # steps over the domain, so that a loop's chain ends
_MOST_FOLDS = 3  # over the whole domain
_SHORT = 16  # pending steps that may be computed again
_SCALARS = (int, float, complex, bool)


@dataclass(slots=True)
class Selection:
    """What a :class:`Chosen` stands for: the elements of ``domain`` where ``mask`` holds."""

    domain: Expr
    mask: Expr
    count: int | None = None
    ghost: np.ndarray | None = None
    handle: weakref.ref[ndarray] | None = None
    depth: int = 0
    folds: int = 0
    totals: dict[np.dtype, Any] = field(default_factory=dict)  # sums by dtype

    def keeps_few(self, share: int) -> bool:
        """Say whether less than one element in ``share`` is known to be kept."""
        return self.count is not None and share * self.count < self.mask.size


_EXPR, _SHAPE, _GHOST = (Buffer.__dict__[name] for name in ("expr", "shape", "ghost"))


class Chosen(Buffer):
    """A Buffer whose content is a selection not made yet; it becomes a Buffer when looked at.

    It has no slot of its own, so that its class can be changed: ``_home`` holds the Selection,
    None from when it is made.
    """

    __slots__ = ()

    @property
    def expr(self) -> Expr:  # type: ignore[override]
        """The compact content, made now."""
        become(self)
        found: Expr = _EXPR.__get__(self)
        return found

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of elements kept, counted now."""
        chosen = selection(self)
        if chosen is None:
            found: tuple[int, ...] = _SHAPE.__get__(self)
            return found
        return (counted(chosen),)

    @property
    def ghost(self) -> np.ndarray | None:
        """A stand-in of the right shape, as in a Buffer."""
        chosen = selection(self)
        return _GHOST.__get__(self) if chosen is None else chosen.ghost

    @ghost.setter
    def ghost(self, made: np.ndarray | None) -> None:
        chosen = selection(self)
        if chosen is None:
            _GHOST.__set__(self, made)
        else:
            chosen.ghost = made

    def set(self, expr: Expr) -> None:
        """Make ``expr`` the content."""
        become(self)
        Buffer.set(self, expr)


def selection(buffer: Buffer) -> Selection | None:
    """Return what a Chosen stands for; None once it is an ordinary Buffer."""
    found: Any = buffer._home
    return found if type(found) is Selection else None


def chosen_by(x: Any) -> Selection | None:
    """Return the selection that ``x`` is and that is not made yet, else None."""
    if type(x) is not ndarray or x._np is not None or type(x._buf) is not Chosen:
        return None
    return selection(x._buf) if x._place is None and not x._readonly else None


def _deferred(chosen: Selection) -> ndarray:
    """Return a fresh array that is a selection."""
    buffer = object.__new__(Chosen)
    buffer.dtype = chosen.domain.dtype
    buffer.writeable = True
    buffer.foreign = False
    buffer._export = None
    buffer._home = chosen  # type: ignore[assignment]
    made = managed(buffer, None)
    chosen.handle = weakref.ref(made)
    return made


# ---------------------------------------------------------------- the compact form


def forget(buffer: Chosen) -> None:
    """Let go of what a selection is made of, that nobody will look at."""
    with buffer.lock:
        buffer._home = None
        buffer.__class__ = Buffer  # type: ignore[assignment]
        _SHAPE.__set__(buffer, (0,))
        _GHOST.__set__(buffer, None)


def become(buffer: Chosen) -> None:
    """Make a Chosen the ordinary Buffer that it stands for."""
    chosen = selection(buffer)
    if chosen is None:
        with buffer.lock:  # whoever makes it is about to be done
            return
    expr = _compact(chosen)
    with buffer.lock:
        if selection(buffer) is None:
            return
        _SHAPE.__set__(buffer, expr.shape)
        _GHOST.__set__(buffer, None)
        buffer._home = None
        buffer.__class__ = Buffer  # type: ignore[assignment]
        Buffer.set(buffer, expr)
    handle = chosen.handle() if chosen.handle is not None else None
    memory = expr.value
    if handle is not None and type(memory) is np.ndarray and memory.size < config.eager_below:
        handle._seen = (memory, memory)  # small: NumPy takes it at once from now on


def _compact(chosen: Selection) -> Expr:
    """Return the elements that a selection keeps, in C order."""
    domain, mask = chosen.domain, chosen.mask
    if engine.spreads(_base(domain)):
        return _compact_there(chosen)
    engine.compute([_base(domain), _base(mask)])
    values, shown = _at_home(domain), _at_home(mask)
    picked = masks.take(values, shown) if masks.applies(values, shown) else values[shown]
    return leaf(picked, picked.shape, domain.dtype)


def _compact_there(chosen: Selection) -> Expr:
    domain, mask = chosen.domain, chosen.mask
    params = blocks.counted(mask)
    shape = (params.starts[-1],)
    if not shape[0]:
        return leaf(np.empty(shape, domain.dtype), shape, domain.dtype)
    plain = CompressParams(params.block, params.starts)
    return blocks.record(COMPRESS, [domain, mask], plain, shape, domain.dtype)


def _base(expr: Expr) -> Expr:
    while expr.op is VIEW and expr.value is None:
        expr = expr.operands()[0]
    return expr


def _at_home(expr: Expr) -> np.ndarray:
    """Return the computed content; of a view, in the memory of its base."""
    if expr.op is VIEW and expr.value is None:
        return Geometry(*expr.params).over(_at_home(expr.operands()[0]))
    return engine.gather(expr.value)


def counted(chosen: Selection) -> int:
    """Return how many elements a selection keeps, counted the first time."""
    if chosen.count is None:
        engine_wants = count_of(chosen)
        roots = [engine_wants] if chosen.mask.op is VIEW else [engine_wants, chosen.mask]
        engine.compute(roots)  # the mask is kept: the elements are about to be picked
        chosen.count = int(engine_wants.value[()])
    return chosen.count


def count_of(chosen: Selection) -> Expr:
    """Return the Expr of how many elements a selection keeps."""
    return folded(np.add, chosen.mask, INTP, INTP)


def folded(wrapped: np.ufunc, expr: Expr, asked: np.dtype | None, dtype: np.dtype) -> Expr:
    """Return the fold of all of ``expr``."""
    params = ReduceParams(tuple(range(expr.ndim)), False, asked, None, masked=False)
    return record(reduction_of(wrapped), [expr], params, (), dtype)


# ---------------------------------------------------------------- recording


def select(array: ndarray, key: Any) -> ndarray | None:
    """Return ``array[key]`` as a selection; None where the index must be answered at once."""
    if not _covers(array, key) or told_at_once():
        return None
    try:
        mask = operand(key)
        domain = operand(array)
    except Unmanaged:
        return None
    assert isinstance(mask, Expr)
    assert isinstance(domain, Expr)
    chosen = Selection(domain, mask)
    if type(mask.value) is np.ndarray:
        chosen.count = int(np.count_nonzero(mask.value))
    return None if chosen.keeps_few(_FEW) else _deferred(chosen)


def _covers(array: ndarray, key: Any) -> bool:
    """Say whether ``key`` is a mask over all of a large array, and both can be deferred."""
    if type(key) is not ndarray or key._np is not None:
        return False
    buffer, mask = array._buf, key._buf
    if type(buffer) is Chosen or type(mask) is Chosen:
        return False
    if buffer.shared or mask.shared:
        refuse_copies(prod(facts(array).shape) * facts(array).dtype.itemsize)
        return False
    shape, dtype = facts(array)
    if facts(key) != (shape, _BOOL):
        return False
    size = 1
    for extent in shape:
        size *= extent
    return bool(shape and size and size >= config.eager_below and is_managed_dtype(dtype))


def store(array: ndarray, key: Any, value: Any) -> bool:
    """Record ``array[key] = value`` for a selection by the same mask; False if it is none."""
    chosen = chosen_by(value)
    if chosen is None or array._readonly or not _covers(array, key) or told_at_once():
        return False
    if expr_of(key) is not chosen.mask:
        return False
    dtype = facts(array).dtype
    if not np.can_cast(chosen.domain.dtype, dtype, "safe"):
        return False
    new = cast(chosen.domain, dtype, chosen.domain.shape)
    args = [chosen.mask, new, expr_of(array)]
    write(array, record(WHERE, args, (), new.shape, dtype, waits=True))
    return True


def call(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a ufunc of selections by one mask over their domain, else NotImplemented."""
    into = _into(kwargs) if kwargs else None
    if len(args) != wrapped.nin or wrapped.nout != 1 or (kwargs and into is None):
        return NotImplemented
    found = _met(args)
    op = elementwise_of(wrapped)
    if found is None or op.loop not in _CHEAP or wrapped.signature is not None or told_at_once():
        return NotImplemented
    chosen, operands = found
    if any(x.depth >= _DEEPEST or x.keeps_few(2) for x in chosen):
        return NotImplemented
    if into is not None and chosen_by(into) is not chosen[0]:
        return NotImplemented
    expr = _over_domain(op, operands, chosen[0].mask)
    if expr is None:
        return NotImplemented
    depth = 1 + max(x.depth for x in chosen)
    if into is None:
        return _deferred(Selection(expr, chosen[0].mask, chosen[0].count, depth=depth))
    return _replaced(into, chosen[0], expr, depth)


def _into(kwargs: dict[str, Any]) -> Any:
    """Return the one output that a call names, None if it asks for anything else."""
    if len(kwargs) > 1 or "out" not in kwargs:
        return None
    out = kwargs["out"]
    out = out[0] if type(out) is tuple and len(out) == 1 else out
    return out if type(out) is ndarray else None


def _met(args: Iterable[Any]) -> tuple[list[Selection], list[Expr | Const]] | None:
    """Return the selections among the operands, and all operands; None if something else is."""
    chosen: list[Selection] = []
    operands: list[Expr | Const] = []
    for x in args:
        found = chosen_by(x)
        if found is not None:
            if chosen and found.mask is not chosen[0].mask:
                return None
            chosen.append(found)
            operands.append(found.domain)
        elif type(x) in _SCALARS or type(x) is DeferredScalar or isinstance(x, np.generic):
            operands.append(operand(x))
        else:
            return None
    return (chosen, operands) if chosen else None


def _over_domain(op: Elementwise, operands: list[Expr | Const], mask: Expr) -> Expr | None:
    assert op.ufunc is not None
    (dtype,) = resolve(op.ufunc, operands)
    if not is_managed_dtype(dtype):
        return None
    shape = broadcast(op.ufunc, operands)
    if op.loop == "compare" or (op.loop == "arith" and dtype.kind in "biu"):  # raises no fault
        return record(op, operands, (), shape, dtype, waits=True)
    return record(op, [*operands, mask], CHOSEN, shape, dtype, waits=True)


def _replaced(into: ndarray, chosen: Selection, expr: Expr, depth: int) -> Any:
    """Make ``expr`` what a selection shows, for an operator in place."""
    if not same_dtype(expr.dtype, chosen.domain.dtype):
        return NotImplemented
    with into._buf.lock:
        if selection(into._buf) is not chosen:
            return NotImplemented
        new = Selection(expr, chosen.mask, chosen.count, chosen.ghost, chosen.handle, depth)
        into._buf._home = new  # type: ignore[assignment]
    return into


# ---------------------------------------------------------------- folding


def may_fold(chosen: Selection) -> bool:
    """Say whether one more fold should go over the domain, and count it."""
    if told_at_once() or chosen.folds >= _MOST_FOLDS or chosen.keeps_few(_FEW):
        return False
    if chosen.folds and (chosen.keeps_few(2) or not _cheap_again(chosen)):
        return False
    chosen.folds += 1
    return True


def _cheap_again(chosen: Selection) -> bool:
    """Say whether what a selection is made of may be computed a second time."""
    pending = pending_in_order([chosen.domain, chosen.mask])
    return len(pending) <= _SHORT and all(getattr(e.op, "loop", "cast") in _CHEAP for e in pending)


def filled(expr: Expr, mask: Expr, filler: Any) -> Expr:
    """Return ``expr`` with ``filler`` in place of what the mask leaves out."""
    cell = np.empty((), expr.dtype)
    cell[...] = filler
    return where(mask, expr, Const(cell[()]))
