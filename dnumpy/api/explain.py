"""``explain``: what predicts and draws is imported once somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from dnumpy.api.explanation import Explanation


def explain(x: Any) -> Explanation:
    """Say what computing ``x`` would do, or what it did.

    Parameters
    ----------
    x : ndarray or deferred scalar
        Nothing is computed.

    Returns
    -------
    Explanation
        Prints as a table of phases: ops, kernel, rows per node, predicted seconds and peak bytes,
        and the measured seconds beside them once ``x`` is computed. ``to_dict()`` gives plain
        data, ``svg()`` a picture, ``trace()`` what Perfetto opens; ``save`` writes any of them.

    Notes
    -----
    The first call in a process measures this machine (about 2 seconds) unless a recent profile is
    kept.
    """
    from dnumpy.api.explanation import Explanation, computed, of

    if type(x) is DeferredScalar:
        return of(x.expr, x) if x.expr is not None else computed(x)
    if type(x) is not ndarray or x._np is not None:
        return Explanation("small: runs at once in NumPy")
    return Explanation("computed", []) if x._buf.unmade else of(x._buf.expr, x._buf)
