"""Random streams: NumPy's own, so that a seed gives NumPy's values bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.dispatch import WRITING
from dnumpy.api.locks import writing


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
    with writing(target):
        plain = [calls.unwrap(a) for a in args[1:]]
        return wrapped(self, calls.for_writing(target), *plain, **kwargs)


# what NumPy itself calls, and takes NumPy's own objects from
_NUMPYS_OWN = frozenset({"spawn", "bit_generator", "generate_state"})


class _Derived(type):
    """Makes NumPy's own instances count as instances of the class derived from theirs."""

    def __instancecheck__(cls, instance: object) -> bool:
        base: Any = cls.__base__
        return isinstance(instance, base)


def _derived(base: type) -> Any:
    """Return a subclass that takes our arrays and gives ours back."""
    drawn = [
        n
        for n in dir(base)
        if not n.startswith("_") and n not in _NUMPYS_OWN and callable(getattr(base, n))
    ]
    namespace: dict[str, Any] = {n: _drawing(n, base) for n in drawn}
    namespace["__doc__"] = base.__doc__
    namespace["__module__"] = "dnumpy.random"
    namespace["__init__"] = _initialiser(base)
    if base in _BY_BIT_GENERATOR:
        namespace["__reduce__"] = _reducer(base)
    return _Derived(base.__name__, (base,), namespace)


def _initialiser(base: type) -> Any:
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        named = {k: calls.unwrap(v) for k, v in kwargs.items()}
        base.__init__(self, *map(calls.unwrap, args), **named)  # type: ignore[misc]

    initialise.__wrapped__ = base.__init__  # type: ignore[misc]
    return initialise


_BY_BIT_GENERATOR = (np.random.Generator, np.random.RandomState)


def _reducer(base: Any) -> Any:
    def reduce(self: Any) -> Any:
        _, args, *state = base.__reduce__(self)
        return type(self), args, *state

    return reduce


Generator = _derived(np.random.Generator)
RandomState = _derived(np.random.RandomState)


def _spawn(self: Any, n_children: int) -> list[Any]:
    return [type(self)(g.bit_generator) for g in np.random.Generator.spawn(self, n_children)]


Generator.spawn = _spawn


def default_rng(seed: Any = None) -> Any:
    """Return a Generator; as ``numpy.random.default_rng``."""
    if type(seed) is Generator:
        return seed
    if isinstance(seed, np.random.Generator):
        return Generator(seed.bit_generator)
    if isinstance(seed, np.random.RandomState):
        return Generator(seed._bit_generator)
    if isinstance(seed, np.random.BitGenerator):
        return Generator(seed)
    return Generator(OVERRIDES["PCG64"](seed))


OVERRIDES: dict[str, Any] = {
    "Generator": Generator,
    "RandomState": RandomState,
    "default_rng": default_rng,
    **{
        kind.__name__: _derived(kind)
        for kind in (
            np.random.SeedSequence,
            np.random.BitGenerator,
            np.random.MT19937,
            np.random.PCG64,
            np.random.PCG64DXSM,
            np.random.Philox,
            np.random.SFC64,
        )
    },
}
