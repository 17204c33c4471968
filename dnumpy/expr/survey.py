"""What an evaluation has to know of the pending Exprs before it, from one pass over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import live_among
from dnumpy.ops.families import Contraction
from dnumpy.ops.table import VIEW

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable, Sequence

    from dnumpy.expr.origin import Site

# the places that recorded the operations, each once; how many these are, views left out; the bytes
# that all of them and that the largest reads and writes; whether one is a product of matrices;
# whether each place recorded one large operation at most; whether all that is stored and read is an
# array of NumPy's; and the content of live Buffers
Survey = tuple[tuple["Site", ...], int, int, int, bool, bool, bool, list[Expr]]
LARGE_BYTES = 1 << 16  # read and written


def _survey(order: Sequence[Expr]) -> Survey:
    sites: dict[Site, bool] = {}  # whether it recorded a large operation
    total = most = exprs = 0
    multiplies, apart, home = False, True, True
    for expr in order:
        operands = expr.operands()
        home = home and all(a.value is None or type(a.value) is np.ndarray for a in operands)
        if expr.op is VIEW:
            continue
        if type(expr.op) is Contraction:
            multiplies = True
        nbytes = expr.nbytes + sum([arg.nbytes for arg in operands])
        large = nbytes >= LARGE_BYTES
        if expr.origin is not None:  # else it was put in by a rewrite, or is a part of another
            site = expr.origin.site
            apart = apart and not (large and sites.get(site, False))
            sites[site] = large or sites.get(site, False)
        elif large:
            apart = False
        total += nbytes
        exprs += 1
        most = max(most, nbytes)
    return tuple(sites), exprs, total, most, multiplies, apart, home, live_among(order)


def _waiting(owners: dict[int, weakref.ref[Any]]) -> list[Expr]:
    """Return the pending content of every owner that lives."""
    found = []
    for ref in list(owners.values()):
        owner = ref()
        if owner is not None and owner.expr is not None and owner.expr.value is None:
            found.append(owner.expr)
    return found


if native.built:
    native.take_ops(VIEW, Contraction)
# which of the two there are makes no difference but in time: see native/survey.c
survey: Callable[[Sequence[Expr]], Survey] = native.survey if native.built else _survey
waiting: Callable[[dict[int, weakref.ref[Any]]], list[Expr]] = (
    native.waiting if native.built else _waiting
)
