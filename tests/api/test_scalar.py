"""Deferred scalars behave as the NumPy scalars that they will be."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.scalar import DeferredScalar
from tests.programs import Program, check

pytestmark = pytest.mark.usefixtures("managed")


def total(dtype: str = "f8") -> Any:
    made = dnumpy.arange(40, dtype=dtype).sum()
    assert type(made) is DeferredScalar
    return made


VALUES = {
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "str": str,
    "repr": repr,
    "hash": hash,
    "round": round,
    "round to digits": lambda s: round(s, 2),
    "format": "{:.3f}".format,
    "percent": lambda s: f"{s:%}",
    "old format": lambda s: "%.2f %d" % (s, s),  # noqa: UP031 - old programs format like this
    "floor": math.floor,
    "sqrt": math.sqrt,
    "abs": abs,
    "negative": lambda s: -s,
    "sum with a number": lambda s: s + 1.5,
    "reflected": lambda s: 2 - s,
    "divided": lambda s: 1 / s,
    "power": lambda s: s**2,
    "divmod": lambda s: divmod(s, 7),
    "floor division": lambda s: s // 7,
    "compared": lambda s: (s < 3, s == 780, s != 780, s >= 780),
    "of its own": lambda s: s + s * s,
    "as an item": lambda s: s.item(),
    "real and imag": lambda s: (s.real, s.imag),
    "is integer": lambda s: s.is_integer(),
    "astype": lambda s: s.astype("f4"),
    "bytes": lambda s: s.tobytes(),
    "max": lambda s: max(s, 3),
    "in a list": lambda s: [s, s].index(s),
    "in a dict": lambda s: {s: 1}[780.0],
    "in a set": lambda s: s in {1.0, 780.0},
    "truth": lambda s: "yes" if s else "no",
    "dtype": lambda s: (s.dtype, s.shape, s.ndim, s.size),
    "tolist": lambda s: s.tolist(),
    "squeezed": lambda s: s.squeeze(),
    "reduced": lambda s: s.sum(),
    "np function": np.sqrt,
    "np.float64": np.float64,
    "np.isfinite": np.isfinite,
    "np.isscalar": np.isscalar,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
    "type names": lambda s: (
        isinstance(s, float),
        isinstance(s, np.floating),
        isinstance(s, np.generic),
    ),
    "indexed": lambda s: s[()],
    "indexed wrongly": lambda s: s[0],
    "iterated": lambda s: hasattr(s, "__len__") or isinstance(s, Iterable),
    "written": lambda s: s.__setitem__((), 3),
    "an attribute that is not there": lambda s: s.no_such_thing,
}


def outcome(function: Any, given: Any) -> Any:
    try:
        found = function(given)
    except Exception as error:  # noqa: BLE001 - whatever is raised is compared
        return type(error), str(error)
    if type(found) is tuple:
        return [outcome(lambda x: x, e) for e in found]
    found = found.force() if type(found) is DeferredScalar else found
    return type(found), repr(found)


@pytest.mark.parametrize("function", VALUES.values(), ids=VALUES)
def test_what_is_done_with_a_deferred_scalar_gives_what_numpy_gives(function: Any) -> None:
    assert outcome(function, total()) == outcome(function, np.arange(40.0).sum())


@pytest.mark.parametrize("dtype", ["i8", "f4", "u8", "c16", "?", "f2", "i1"])
@pytest.mark.parametrize(
    "name", ["float", "complex", "hash", "of its own", "power", "dtype", "repr", "reflected"]
)
def test_deferred_scalars_of_every_kind_equal_numpys(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.arange(40).astype(dtype)
        ours = dnumpy.array(x).max() if dtype != "c16" else dnumpy.array(x).sum()
        theirs = x.max() if dtype != "c16" else x.sum()
        assert outcome(VALUES[name], ours) == outcome(VALUES[name], theirs)


PROGRAMS = {
    "immutable": ["a1 = np.arange(40)", "s2 = a1.sum()", "s3 = s2", "s3 += 1", "s4 = s2 * s3"],
    "an index": [
        "a1 = np.arange(40)",
        "s2 = a1[a1.argmax()]",
        "a1[a1.argmin()] = 9",
        "a3 = a1[:a1.argmax()]",
        "s4 = range(50)[a1.max()]",
    ],
    "an operand": [
        "a1 = np.arange(40.0)",
        "a2 = (a1 - a1.mean()) / a1.std()",
        "a2 *= a1.max()",
        "a3 = a1.max() - a1",
    ],
    "a value": [
        "a1 = np.zeros(40)",
        "a1[3] = a1.sum() + 5",
        "a1[5:9] = a1.max()",
        "a1[a1 > 2] = a1.min()",
        "a1.fill(a1.max())",
    ],
    "a shape": [
        "a1 = np.arange(40)",
        "a2 = np.zeros(a1.max())",
        "a3 = np.arange(a1.sum())",
        "a4 = a1.reshape(a1[1:9].argmax() + 1, -1)",
    ],
    "a list of them": [
        "a1 = np.arange(40.0)",
        "a2 = np.array([a1.sum(), a1.mean(), 3])",
        "a3 = np.array([[k.sum()] for k in a1.reshape(5, 8)])",
    ],
    "a condition": [
        "a1 = np.arange(40.0)",
        "while a1.max() > 3: a1 /= 2",
        "s2 = np.float64(1 if a1.sum() else 2)",
    ],
    "in NumPy's functions": [
        "a1 = np.arange(40.0)",
        "s2 = np.sqrt(a1.sum())",
        "s3 = np.maximum(a1.min(), 3)",
        "a4 = np.full(9, a1.max())",
        "a5 = np.where(a1 > a1.mean(), a1.max(), 0)",
        "a6 = np.linspace(a1.min(), a1.max(), 9)",
    ],
    "NEP 50": [
        "a1 = np.ones(40, 'f4')",
        "a2 = a1 + a1.sum()",
        "a3 = a1 + np.arange(40.0).sum()",
        "a4 = np.arange(40, dtype='i1') + np.arange(40).sum()",
    ],
    "NaN to an integer": [
        "a1 = np.arange(40)",
        "a1[0] = np.full(40, np.nan).sum()",
        "a1[:] = np.full(40, np.inf).max()",
    ],
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_scalars_equals_numpys(lines: list[str]) -> None:
    check(Program(lines))


def test_a_deferred_scalar_cannot_be_iterated_over() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(total())


def test_arithmetic_of_deferred_scalars_is_not_computed() -> None:
    s = total()
    t = s * 2 + s
    assert type(t) is DeferredScalar
    assert t.expr is not None
    assert s.expr is not None
    assert t == 780 * 3
    assert s == 780
