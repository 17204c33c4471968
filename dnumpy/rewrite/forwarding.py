"""Regions of one array that are written in turn and read in between, without what lies in between.

``p[:, 0] = f(p[:, 0]); p[:, 1] = g(p[:, 1])`` reads the second column of an array in which the
first one is replaced, where it is what it was before. So it may be read before anything is written,
and one phase writes both columns. A region that is written again, as by
``p[:, 0] = x; p[:, 0] += y``, need not be written first: what is read of it is what was to go
there. Compilers call that forwarding from stores to loads, and elimination of dead stores.

It is done where one phase may then compute all the regions, see
:func:`~dnumpy.rewrite.cut.cut`: elsewhere the array would be read after it was written over, and
would have to be copied.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.expr.expr import Expr, become
from dnumpy.expr.geometry import Geometry, contiguous_strides, lie_apart
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.families import Elementwise
from dnumpy.ops.table import CAST, UPDATE, VIEW
from dnumpy.rewrite.cut import REGIONS, is_update_by_all, row_space

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.rewrite.cut import Grain


def has_updates(order: Sequence[Expr]) -> bool:
    """Say whether there are several arrays with a region replaced."""
    found = 0
    for expr in order:
        if expr.op is UPDATE:
            found += 1
    return found > 1


def forward(order: Sequence[Expr], wanted: Collection[Expr], grain: Grain) -> bool:
    """Let what is read between updates be read before them, where all are one phase; say if any is.

    Exprs that nothing reads any more are left in ``order``.
    """
    changed = _compute_copies(order, grain)
    if changed:
        order = pending_in_order(wanted)
    state = _State(_readers(order), {id(e) for e in wanted}, grain)
    done: set[int] = set()
    for expr in reversed(order):
        if expr.op is UPDATE and id(expr) not in done:
            updates = _run_until(state, expr)
            done.update(map(id, updates))
            changed |= len(updates) > 1 and _rewrite(state, updates)
    return changed


def _readers(order: Sequence[Expr]) -> dict[int, list[Expr]]:
    readers: dict[int, list[Expr]] = defaultdict(list)
    for expr in order:
        for arg in expr.operands():
            readers[id(arg)].append(expr)
    return readers


def _compute_copies(order: Sequence[Expr], grain: Grain) -> bool:
    """Let what is copied into a region be computed beside what goes into others; say if any is.

    A region that lies in one piece is copied faster than it is computed.
    """
    found = []
    for expr in order:
        if expr.op is UPDATE:
            before = expr.operands()[0]
            if before.op is UPDATE and before.value is None and _are_beside(before, expr):
                found += [before, expr]
    copies = {id(e): e for e in found if _is_copied(e, grain)}
    for update in copies.values():
        base, value = update.operands()
        copy = Expr(CAST, (value,), (), value.shape, value.dtype)
        copy.origin = update.origin
        become(update, UPDATE, (base, copy), update.params)
    return bool(copies)


def _are_beside(update: Expr, other: Expr) -> bool:
    """Say whether what two updates write is alike, and lies apart."""
    mine, theirs = update.args[1], other.args[1]
    if not isinstance(mine, Expr) or not isinstance(theirs, Expr):
        return False
    return mine.shape == theirs.shape and mine.dtype == theirs.dtype and _apart(update, other)


def _is_copied(update: Expr, grain: Grain) -> bool:
    value, region = update.operands()[1], Geometry(*update.params)
    return (
        (value.value is not None or value.op is VIEW)
        and bool(value.shape)
        and value.size >= max(grain.min_size, 1)
        and (region.shape, region.dtype) == (value.shape, value.dtype)
        and region.strides != contiguous_strides(region.shape, region.dtype.itemsize)
    )


class _State(NamedTuple):
    readers: dict[int, list[Expr]]
    wanted: set[int]
    grain: Grain


def _run_until(state: _State, last: Expr) -> list[Expr]:
    """Return updates of one array that end with ``last``, the first one first."""
    found = [last] if _is_computed(state, last) else []
    while found and len(found) < REGIONS:
        update = found[-1].operands()[0]
        if not _is_computed(state, update) or id(update) in state.wanted:
            break
        mine, others = update.operands()[1], found[-1].operands()[1]
        if mine.shape != others.shape or mine.dtype != others.dtype:
            break
        if not all(update.params == u.params or _apart(update, u) for u in found):
            break
        longer = [update, *found[::-1]]
        if not all(_is_seen_through(state, longer, k) for k in range(len(longer) - 1)):
            break
        found.append(update)
    return found[::-1]


def _is_computed(state: _State, update: Expr) -> bool:
    """Say whether a phase may compute what goes into the region."""
    if not is_update_by_all(update):
        return False
    value = update.operands()[1]
    return (
        isinstance(value.op, Elementwise)
        and row_space(value, state.grain) is not None
        and id(value) not in state.wanted
        and len(state.readers[id(value)]) == 1
    )


def _apart(first: Expr, second: Expr) -> bool:
    return lie_apart(Geometry(*first.params), Geometry(*second.params))


def _is_seen_through(state: _State, updates: Sequence[Expr], number: int) -> bool:
    """Say whether what reads an update but the next one may read something from before."""
    for reader in state.readers[id(updates[number])]:
        if reader is updates[number + 1]:
            if reader.args[1] is updates[number]:
                return False
            continue
        if reader.op is not VIEW or id(reader) in state.wanted:
            return False
        made = _made_of(reader, updates, number)
        if made is None or not _goes_into(state, reader, updates):
            return False
        if isinstance(made, int) and not _is_written_again(updates, made):
            return False
        below = made is updates[0].args[0]
        if below and not all(_steps_alike(reader, update) for update in updates):
            return False
    return True


def _made_of(view: Expr, updates: Sequence[Expr], number: int) -> Expr | int | None:
    """Return the number of the update that wrote all that a view of one shows, or their base."""
    for k in range(number, -1, -1):
        if view.params == updates[k].params:
            return k
        if not _apart(view, updates[k]):
            return None
    return updates[0].operands()[0]


def _is_written_again(updates: Sequence[Expr], number: int) -> bool:
    return any(update.params == updates[number].params for update in updates[number + 1 :])


def _steps_alike(view: Expr, update: Expr) -> bool:
    """Say whether rows of a view are so many below those of a region, or above."""
    base = update.operands()[0]
    read, written = (Geometry(*e.params).row_map(base.shape, base.dtype) for e in (view, update))
    return read is not None and written is not None and read.step == written.step > 0


def _goes_into(state: _State, expr: Expr, updates: Sequence[Expr]) -> bool:
    """Say whether all that an Expr is read for is what goes into the regions, by rows."""
    values = {id(update.args[1]) for update in updates}
    waiting, seen = [expr], {id(expr)}
    while waiting:
        for reader in state.readers[id(waiting.pop())]:
            if id(reader) in seen or id(reader) in values:
                continue
            if not isinstance(reader.op, Elementwise) or id(reader) in state.wanted:
                return False
            if reader.shape != updates[0].operands()[1].shape:
                return False
            seen.add(id(reader))
            waiting.append(reader)
    return True


def _rewrite(state: _State, updates: Sequence[Expr]) -> bool:
    """Let all that reads an update in between read what was before; leave out what is not read."""
    changed = False
    base = updates[0].operands()[0]
    for number, update in enumerate(updates[:-1]):
        for reader in state.readers[id(update)]:
            if reader is updates[number + 1]:
                continue
            made = _made_of(reader, updates, number)
            if isinstance(made, int):
                _read_instead(state, reader, updates[made].operands()[1])
            else:
                become(reader, VIEW, (base,), reader.params)
            changed = True
    before = base
    for number, update in enumerate(updates):
        if update.args[0] is not before:
            become(update, UPDATE, (before, update.args[1]), update.params)
            changed = True
        if not _is_written_again(updates, number):
            before = update
    return changed


def _read_instead(state: _State, view: Expr, value: Expr) -> None:
    """Let what reads a view read what it shows."""
    for reader in state.readers[id(view)]:
        args = tuple([value if arg is view else arg for arg in reader.args])
        become(reader, reader.op, args, reader.params)
