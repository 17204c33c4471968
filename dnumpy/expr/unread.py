"""Which live arrays need not be computed along with what is asked for, because nobody reads them.

When a result is asked for, whatever else live arrays wait for is computed along: what they share is
then read once. But many of them are local variables on their way out, such as the centred rows of a
normalisation whose quotient is asked for, and to store them costs as much as to compute them. As a
processor predicts branches, so this predicts reads: where what one place of the program records
was computed along and died unread, it stays pending the next time. Should it be read after all, it
is computed then, and that place is never trusted again. To wait for a second time would mean to
compile a kernel that is not used for long.

Only memory and time are at stake, never a result.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from dnumpy.expr.expr import Expr
from dnumpy.expr.living import Living

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnumpy.expr.origin import Site


class _Watched(weakref.ref[Expr]):
    """A reference that knows where its Expr was recorded."""

    __slots__ = ("key", "site")

    key: int
    site: Site


watched: dict[int, _Watched] = {}  # by id: what was computed along, and nobody has read yet
left = Living()  # what was left pending


def watch(exprs: Iterable[Expr]) -> None:
    """Notice whether these, computed though nobody asked for them, are read before they die."""
    for expr in exprs:
        if expr.origin is not None:
            ref = _Watched(expr, _died)
            ref.key = id(expr)
            ref.site = expr.origin.site
            watched[ref.key] = ref


def _died(ref: _Watched) -> None:
    if watched.get(ref.key) is ref:
        del watched[ref.key]
        ref.site.died_unread()


def note_read(expr: Expr) -> None:
    """Note that somebody reads the computed content of ``expr``."""
    ref = watched.pop(id(expr), None)
    if ref is not None:
        ref.site.was_read()


def note_operands(order: Sequence[Expr]) -> None:
    """Note what the pending operations read."""
    for expr in order:
        for arg in expr.args:
            if id(arg) in watched:
                note_read(arg)  # type: ignore[arg-type]


def is_expected(expr: Expr) -> bool:
    """Say whether ``expr`` will die unread, as far as can be known."""
    return expr.origin is not None and expr.origin.site.dies_unread()


def leave(exprs: Iterable[Expr]) -> None:
    """Remember that these were left pending."""
    for expr in exprs:
        left.add(expr)


def note_wanted(order: Sequence[Expr]) -> list[Expr]:
    """Return those that were left pending before and are needed now, a mistake not made again."""
    found = [expr for expr in order if left.has(expr)]
    for expr in found:
        left.discard(expr)
        assert expr.origin is not None
        expr.origin.site.is_needed()
    return found
