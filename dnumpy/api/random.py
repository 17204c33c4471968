"""Random streams: NumPy's own, so that a seed gives NumPy's values bit for bit."""

from __future__ import annotations

import inspect
from math import prod
from typing import Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls, draws, extensions
from dnumpy.api.array import bare, ndarray, wrap
from dnumpy.api.dispatch import WRITING
from dnumpy.api.locks import writing
from dnumpy.config import config

_np_array = np.ndarray


def _calling(name: str, base: type) -> Any:
    """Return a method that gives NumPy's plain operands and wraps what it returns."""
    wrapped = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in WRITING:
            return _shuffle(self, wrapped, args, kwargs)
        return calls.run(wrapped, (self, *args), kwargs)

    return _described(method, wrapped, base, name)


def _drawing(name: str, base: type) -> Any:  # noqa: C901 - every path of a call, inline for speed
    """Return a method that draws: a Generator's large draws are recorded where they can be cut."""
    records = base is np.random.Generator
    wrapped = getattr(base, name)
    parameters = list(inspect.signature(wrapped).parameters)[1:]  # without self
    size_at = parameters.index("size") if "size" in parameters else len(parameters)

    def general(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        size = args[size_at] if len(args) > size_at else kwargs.get("size")
        large = (size is not None and _is_large(size)) or ("out" in kwargs and _is_managed(kwargs))
        if records and large:
            found = draws.recorded(self.bit_generator, name, args, kwargs)
            if found is not NotImplemented:
                return found
        plain = self._plain or self
        for a in (*args, *kwargs.values()):
            if type(a) not in calls.PLAIN and not _is_shape(a):
                return calls.run(wrapped, (plain, *args), kwargs)
        return _own(wrapped(plain, *args, **kwargs))

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return general(self, args, kwargs)
        for a in args:
            kind = type(a)
            if kind is int:
                if a >= config.eager_below:  # maybe the size
                    return general(self, args, kwargs)
            elif kind not in calls.PLAIN or isinstance(a, np.integer):
                return general(self, args, kwargs)
        drawn = wrapped(self._plain or self, *args)
        return drawn if type(drawn) is float else _own(drawn)

    return native.method(_described(method, wrapped, base, name), wrapped, "stream", arrays=0)


def _own(drawn: Any) -> Any:
    """Return what was just drawn as ours."""
    if type(drawn) is not _np_array:
        return calls.wrap_result(drawn)
    if drawn.size >= config.eager_below:
        return wrap(drawn)
    own = bare()
    own._np = drawn
    return own


def _is_shape(a: Any) -> bool:
    return type(a) is tuple and all(type(e) is int for e in a)


def _is_large(size: Any) -> bool:
    kind = type(size)
    if kind is int or isinstance(size, np.integer):
        return bool(size >= config.eager_below)
    try:
        return (kind is tuple or kind is list) and bool(prod(size) >= config.eager_below)
    except TypeError:
        return False


def _is_managed(kwargs: dict[str, Any]) -> bool:
    out = kwargs["out"]
    return type(out) is ndarray and out._np is None


def _described(method: Any, wrapped: Any, base: type, name: str) -> Any:
    method.__name__ = name
    method.__qualname__ = f"{base.__name__}.{name}"
    method.__doc__ = wrapped.__doc__
    method.__wrapped__ = wrapped
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
    draws_values = base in _BY_BIT_GENERATOR
    namespace: dict[str, Any] = {
        n: (_drawing if draws_values and n not in WRITING else _calling)(n, base) for n in drawn
    }
    namespace["__doc__"] = base.__doc__
    namespace["__module__"] = "dnumpy.random"
    namespace["__init__"] = _initialiser(base)
    namespace["_plain"] = None
    namespace["__getattr__"] = _lacking(base)
    if base in _BY_BIT_GENERATOR:
        namespace["__reduce__"] = _reducer(base)
    return _Derived(base.__name__, (base,), namespace)


def _lacking(base: type) -> Any:
    def get(self: Any, name: str) -> Any:
        msg = f"'{base.__module__}.{base.__name__}' object has no attribute {name!r}"
        raise AttributeError(msg, name=name, obj=self)

    return get


def _initialiser(base: type) -> Any:
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        named = {k: calls.unwrap(v) for k, v in kwargs.items()}
        base.__init__(self, *map(calls.unwrap, args), **named)  # type: ignore[misc]
        if base is np.random.Generator and type(self) is Generator:
            # what NumPy's methods call of themselves then gives them NumPy's arrays
            self._plain = np.random.Generator(self.bit_generator)

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
extensions.also(Generator, lambda stream: stream._plain or stream)  # none while it is made


def _multivariate_normal(self: Any, *args: Any, **kwargs: Any) -> Any:
    # NumPy multiplies what it draws by a method of its own: of ours, whose product may be cut
    # otherwise. The stream is shared; the normal number left over is the twin's until it is done.
    twin = np.random.RandomState(self._bit_generator)
    twin.set_state(self.get_state(legacy=False))
    try:
        return calls.run(np.random.RandomState.multivariate_normal, (twin, *args), kwargs)
    finally:
        self.set_state(twin.get_state(legacy=False))


RandomState.multivariate_normal = _described(
    _multivariate_normal,
    np.random.RandomState.multivariate_normal,
    np.random.RandomState,
    "multivariate_normal",
)


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
