"""Functions that record alike what is called alike, which is then recorded again without asking.

What such a function records follows from the shapes, dtypes and memory order of its arrays, from
its plain arguments and from the settings: from no value of an array, and NumPy has no warning for
it. (``prod`` also looks for a cluster, and is none of them.) The second call of a kind shows the
operations that it is made of, and later ones record those on their own arrays
(``native/replay.c``; the idea is that of jax.jit's cache of jaxprs, for single calls and without
tracers). A call that is the first of its kind, reads memory of other code's, makes a view,
or computes at once is recorded by the function as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

functions: set[Callable[..., Any]] = set()

NAMES = (
    "all", "amax", "amin", "any", "argmax", "argmin", "around", "astype", "clip", "copy",
    "count_nonzero", "diff", "linalg.norm", "max", "mean", "min", "nan_to_num", "outer", "ptp",
    "roll", "round", "std", "sum", "var", "where",
)  # fmt: skip

# whose results are recorded, too, where a loop's operations on arrays of middling size wait: what
# they give has the same bits whoever computes it
MIDDLING = frozenset(("around", "clip", "roll", "round", "where"))


def add(found: Iterable[Callable[..., Any]]) -> None:
    """Let calls of functions be recorded again as they were."""
    functions.update(found)


def of(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return the function if its calls are; else None."""
    return function if function in functions else None
