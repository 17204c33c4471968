"""What is handed to a Dask client for its workers: arrays of ours are brought here before.

The client pickles what it scatters and what it runs everywhere in its event loop, which nothing
that lies on workers can reach meanwhile.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from dnumpy.api.array import concrete, ndarray
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = ("scatter", "run", "run_on_scheduler")


def teach() -> None:
    """Let clients find in what they are handed that is ours what they can pickle at once."""
    client = sys.modules["distributed.client"].Client
    for name in METHODS:
        setattr(client, name, _bringing(vars(client)[name]))


def _bringing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def handed(*args: Any, **kwargs: Any) -> Any:
        for x in (*args[1:], *kwargs.values()):
            _bring(x)
        return method(*args, **kwargs)

    return handed


def _bring(x: Any) -> None:
    """Compute what is ours in an argument, or in the containers that it is made of."""
    if type(x) is ndarray:
        concrete(x)
    elif type(x) is DeferredScalar:
        x.force()
    elif type(x) in {list, tuple, set, frozenset}:
        for item in x:
            _bring(item)
    elif type(x) is dict:
        for item in x.values():
            _bring(item)
