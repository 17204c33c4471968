"""``numpy.testing`` for arrays of ours: what compares values is given NumPy's arrays."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from dnumpy.api import calls

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLERS = frozenset({
    "assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings",
    "assert_no_gc_cycles",
})  # fmt: skip


def counterpart(name: str, value: Any) -> Any:
    """Return what stands for a name of ``numpy.testing``.

    What calls a function of the user's passes arguments on as they are; what compares arrays asks
    which are NumPy's.
    """
    if not name.startswith("assert_") or name in _CALLERS or isinstance(value, type):
        return value
    return _comparing(value)


def _comparing(assertion: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(assertion)
    def compare(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return assertion(
            *map(calls.unwrap, args), **{k: calls.unwrap(v) for k, v in kwargs.items()}
        )

    return compare
