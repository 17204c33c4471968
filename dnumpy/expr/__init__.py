"""How a computation is written down: Expr, geometry of views, walks, origin.

Border types: :class:`~dnumpy.expr.expr.Expr` (immutable, interned),
:class:`~dnumpy.expr.geometry.Geometry`. Invariants: an Expr never changes its meaning; the value
that an evaluation leaves in ``Expr.value`` is what the Expr denotes; two live pending Exprs with
the same op, operands and parameters are one object; every walk is iterative, so a long chain never
meets the recursion limit.
"""

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import Geometry

__all__ = ["Const", "Expr", "Geometry", "leaf", "make"]
