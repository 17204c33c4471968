"""Random streams: NumPy's own, so that a seed gives NumPy's values bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.dispatch import WRITING


def _drawing(name: str, base: type) -> Any:
    wrapped = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in WRITING:
            return _shuffle(self, wrapped, args, kwargs)
        return calls.run(wrapped, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"{base.__name__}.{name}"
    method.__doc__ = wrapped.__doc__
    return method


def _shuffle(self: Any, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0] if args else kwargs.pop("x")
    return wrapped(self, calls.for_writing(target), *[calls.unwrap(a) for a in args[1:]], **kwargs)


_STATE = frozenset({"get_state", "set_state", "spawn", "bit_generator", "seed"})


def _derived(base: type) -> type:
    drawn = [
        n
        for n in dir(base)
        if not n.startswith("_") and n not in _STATE and callable(getattr(base, n))
    ]
    namespace: dict[str, Any] = {n: _drawing(n, base) for n in drawn}
    namespace["__doc__"] = base.__doc__
    namespace["__module__"] = "dnumpy.random"
    return type(base.__name__, (base,), namespace)


Generator: Any = _derived(np.random.Generator)
RandomState: Any = _derived(np.random.RandomState)


def _spawn(self: Any, n_children: int) -> list[Any]:
    return [type(self)(g.bit_generator) for g in np.random.Generator.spawn(self, n_children)]


Generator.spawn = _spawn


def default_rng(seed: Any = None) -> Any:
    """Return a Generator; as ``numpy.random.default_rng``."""
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return Generator(seed._bit_generator)
    return Generator(np.random.default_rng(calls.unwrap(seed)).bit_generator)


OVERRIDES: dict[str, Any] = {
    "Generator": Generator,
    "RandomState": RandomState,
    "default_rng": default_rng,
}
