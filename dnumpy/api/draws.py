"""Which draws from a generator can be cut into row ranges, and how they are recorded.

The user's generator moves on at the call, so that the next draw is right; the values are made
later, by whoever owns the rows.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine
from dnumpy.api import record
from dnumpy.api.array import facts, from_expr, ndarray, wrap
from dnumpy.config import config, memory_limit_bytes
from dnumpy.expr.expr import Const, make
from dnumpy.expr.origin import here
from dnumpy.kernels.draws import fill_from
from dnumpy.ops.streams import Draw, Stream, Unit, ahead, stream_of
from dnumpy.ops.table import DRAW
from dnumpy.runtime.speculate import drawn_in_threads, piece_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.expr import Expr, Shape

Arguments = dict[str, Any]

RECORDED_BYTES = 8 << 20  # below this the threads that would share the work are not worth waking
SPECULATED_FROM = 1 << 19  # values from which a draw that may reject is shared by the threads
_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_WORD = Unit(64, 1)
_UNLIKELY = 2.0**-53  # that a double is exactly 0
_SCALARS = (int, float, np.integer, np.floating)


class Cut(NamedTuple):
    """A draw that takes one ``unit`` per value, but for rejected words (``rejection`` of them)."""

    method: str
    arguments: tuple[tuple[str, Any], ...]
    dtype: np.dtype
    unit: Unit
    rejection: float = 0.0


def recorded(bit_generator: Any, method: str, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Return the array that a large draw denotes; NotImplemented where NumPy must draw it now."""
    given = _bound(method, args, kwargs)
    if given is None:
        return NotImplemented
    target = given.pop("out", None)
    size = given.pop("size", None)
    shape = _target_shape(target, size) if target is not None else _shape(size)
    if not shape or not prod(shape) or prod(shape) < config.eager_below:
        return NotImplemented
    cut = _CUTS[method](given) if method in _CUTS else None
    if (
        cut is not None
        and _is_worth(prod(shape) * cut.dtype.itemsize)
        and (target is None or facts(target).dtype == cut.dtype)
    ):
        made = _numpys(bit_generator, cut, shape)
        if made is not None:
            return _delivered(made, target)
    in_order = cut is None or stream_of(bit_generator) is None
    if config.random == "parallel" and in_order and target is None:
        return _parallel(bit_generator, method, given, shape)
    return NotImplemented


def _is_worth(drawn_bytes: int) -> bool:
    """Say whether to draw later: not what is small, nor what NumPy refuses for its size."""
    if drawn_bytes > memory_limit_bytes() and not engine.makes_rows(drawn_bytes):
        return False
    return drawn_bytes >= RECORDED_BYTES or config.mode != "default"


def _delivered(made: Any, target: ndarray | None) -> Any:
    if target is None:
        return made
    record.write(target, record.content(made))
    return target


@lru_cache(maxsize=256)
def _signature(method: str) -> inspect.Signature:
    return inspect.signature(getattr(np.random.Generator, method))


def _bound(method: str, args: tuple[Any, ...], kwargs: Arguments) -> Arguments | None:
    try:
        bound = _signature(method).bind(None, *args, **kwargs)
    except TypeError:
        return None  # NumPy says what is wrong
    bound.apply_defaults()
    found = dict(bound.arguments)
    found.pop("self", None)
    return found


def _shape(size: Any) -> Shape | None:
    try:
        shape = tuple(map(index, size)) if type(size) in (tuple, list) else (index(size),)
    except TypeError:
        return None
    return shape if min(shape, default=0) >= 0 else None


def _target_shape(target: Any, size: Any) -> Shape | None:
    """Return the shape of an array that can be drawn into later, None if NumPy must look at it."""
    if type(target) is not ndarray or target._np is not None:
        return None
    if target._geo is not None or target._readonly or not target._buf.writeable:
        return None
    shape = facts(target).shape
    return shape if size is None or _shape(size) == shape else None


def _numpys(bit_generator: Any, cut: Cut, shape: Shape) -> Any:
    """Return NumPy's own values, to be drawn by rows; None where they cannot be."""
    count = prod(shape)
    piece = None
    if cut.rejection:
        piece = piece_size(cut.rejection) if count >= SPECULATED_FROM else None
        if piece is None:
            return None
    with bit_generator.lock:
        stream = stream_of(bit_generator)
        if stream is None or not _is_cut_so(cut):
            return None
        draw = Draw(stream, cut.method, cut.arguments, cut.unit)
        if piece is None:
            bit_generator.state = ahead(stream, cut.unit, count).state()
            return from_expr(_expr(draw, shape, cut.dtype))
        made, end = drawn_in_threads(draw, shape, cut.dtype, piece)
        bit_generator.state = end.state()
    return wrap(made)


def _expr(draw: Draw, shape: Shape, dtype: np.dtype) -> Expr:
    expr = make(DRAW, (Const(draw),), (), shape, dtype)
    if expr.origin is None:
        expr.origin = here()
    return expr


# ------------------------------------------------------------------ what takes fixed words


def _random(given: Arguments) -> Cut | None:
    try:
        dtype = np.dtype(given["dtype"])
    except TypeError:
        return None
    units = {_DOUBLE: _WORD, _SINGLE: Unit(32, 1)}
    return Cut("random", (), dtype, units[dtype]) if dtype in units else None


def _standard_exponential(given: Arguments) -> Cut | None:
    inverted = given.pop("method")
    cut = _random(given) if inverted == "inv" else None
    if cut is None:
        return None
    return cut._replace(method="standard_exponential", arguments=(("method", "inv"),))


def _floats(method: str, rejection: float = 0.0) -> Callable[[Arguments], Cut | None]:
    """Return the rule of a distribution that makes each value from one double."""

    def cut(given: Arguments) -> Cut | None:
        if not all(isinstance(value, _SCALARS) for value in given.values()):
            return None
        arguments = {name: float(value) for name, value in given.items()}
        if _drawn_none(method, arguments) is None:
            return None
        return Cut(method, tuple(arguments.items()), _DOUBLE, _WORD, rejection)

    return cut


def _integers(given: Arguments) -> Cut | None:
    low, high = given["low"], given["high"]
    if high is None:
        low, high = 0, low
    try:
        dtype = np.dtype(given["dtype"])
        low, high = index(low), index(high) - (not given["endpoint"])
    except TypeError:
        return None
    if dtype.char not in "?bBhHiIlLqQ" or not dtype.isnative:
        return None
    if not _fits(dtype, low, high):
        return None  # an error, or a constant
    span = high - low + 1
    unit, values = _integer_unit(dtype, span)
    rejection = values % span / values
    if rejection and unit.per > 1:
        return None
    arguments = (("low", low), ("high", high), ("dtype", dtype.type), ("endpoint", True))
    return Cut("integers", arguments, dtype, unit, rejection)


def _fits(dtype: np.dtype, low: int, high: int) -> bool:
    if dtype.kind == "b":
        return (low, high) == (0, 1)
    info = np.iinfo(dtype.type)
    return info.min <= low < high <= info.max


def _integer_unit(dtype: np.dtype, span: int) -> tuple[Unit, int]:
    """Return what a value takes, and how many values that can have."""
    if dtype.kind == "b":
        return Unit(32, 32), 2
    if dtype.itemsize == 8:
        bits = 32 if span <= 1 << 32 else 64
        return Unit(bits, 1), 1 << bits
    return Unit(32, 4 // dtype.itemsize), 1 << 8 * dtype.itemsize


def _choice(given: Arguments) -> Cut | None:
    if type(given["a"]) is not int or not given["replace"] or given["p"] is not None:
        return None
    return _integers({"low": 0, "high": given["a"], "dtype": np.int64, "endpoint": False})


_CUTS: dict[str, Callable[[Arguments], Cut | None]] = {
    "random": _random,
    "standard_exponential": _standard_exponential,
    "uniform": _floats("uniform"),
    "triangular": _floats("triangular"),
    "laplace": _floats("laplace", _UNLIKELY),
    "logistic": _floats("logistic", _UNLIKELY),
    "gumbel": _floats("gumbel", _UNLIKELY),
    "integers": _integers,
    "choice": _choice,
}

_PROBED = 1 << 8  # values, of which a part begins in the middle
_probes: dict[tuple[Any, ...], bool] = {}


def _is_cut_so(cut: Cut) -> bool:
    """Say whether this NumPy draws in units as assumed; it is tried once per kind of draw."""
    key = (cut.method, cut.dtype, cut.unit, cut.rejection > 0)
    found = _probes.get(key)
    if found is None:
        found = _probes[key] = _drawn_alike(cut)
    return found


def _drawn_alike(cut: Cut) -> bool:
    """Say whether values drawn in parts are those drawn at once, and end at the same place."""
    source = np.random.PCG64(1)
    generator = np.random.Generator(source)
    generator.random(1, dtype=np.float32)  # so that half a word is left
    stream = stream_of(source)
    assert stream is not None
    named = dict(cut.arguments)
    if cut.method in ("random", "standard_exponential"):
        named["dtype"] = cut.dtype
    whole = getattr(generator, cut.method)(**named, size=_PROBED)
    part = np.empty(_PROBED // 2, cut.dtype)
    fill_from(Draw(stream, cut.method, cut.arguments, cut.unit), part, _PROBED // 2)
    ends = stream_of(source) == ahead(stream, cut.unit, _PROBED)
    return bool(cut.rejection) or (ends and np.array_equal(whole[_PROBED // 2 :], part))


# ------------------------------------------------------------------ other values, on request


def _drawn_none(method: str, arguments: Arguments) -> np.ndarray | None:
    """Return no values of a distribution, None where NumPy objects to the arguments."""
    generator = np.random.Generator(np.random.PCG64(0))
    try:
        none = getattr(generator, method)(**arguments, size=0)
    except (TypeError, ValueError, OverflowError):
        return None
    return none if type(none) is np.ndarray and none.shape == (0,) else None


_ONE_BY_ONE = frozenset({
    "beta", "binomial", "chisquare", "exponential", "f", "gamma", "geometric", "gumbel",
    "hypergeometric", "integers", "laplace", "logistic", "lognormal", "logseries",
    "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal", "pareto", "poisson",
    "power", "random", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma",
    "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
})  # fmt: skip


def _parallel(bit_generator: Any, method: str, given: Arguments, shape: Shape) -> Any:
    """Return values from streams of their own, which take the generator's next words as seed."""
    plain = all(isinstance(value, (*_SCALARS, str, type, np.dtype)) for value in given.values())
    none = _drawn_none(method, given) if method in _ONE_BY_ONE and plain else None
    if not isinstance(bit_generator, np.random.BitGenerator) or none is None:
        return NotImplemented
    nbytes = prod(shape) * none.itemsize
    if nbytes > memory_limit_bytes() and not engine.makes_rows(nbytes):
        return NotImplemented
    if method == "integers" and none.dtype.itemsize < 4:
        return NotImplemented
    arguments = {name: v for name, v in given.items() if name != "dtype" or method == "integers"}
    # by itself behind the lock, which a thread can take but once before NumPy 2.4
    words = np.random.BitGenerator.random_raw(bit_generator, _SEED_WORDS)
    stream = stream_of(np.random.PCG64DXSM(words))
    assert isinstance(stream, Stream)
    draw = Draw(stream, method, tuple(arguments.items()), None)
    return from_expr(_expr(draw, shape, none.dtype))


_SEED_WORDS = 8
