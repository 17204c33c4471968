"""Every dtype through the everyday operations: values, dtypes and errors are NumPy's."""

# ruff: noqa: B008 - rows of a table have one signature, and bind the name of their row

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import dnumpy

pytestmark = pytest.mark.usefixtures("managed")

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
COUNT = 24


def numbers(dtype: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([3, 1, 2, 0, 5, 4, 7, 6] * 3).astype(dtype)


def moments(dtype: str) -> np.ndarray:
    made = np.array([3, 1, 2, 0, 5, 4, 7, 6] * 3).astype(dtype)
    made[5] = "NaT"
    return made


def words(dtype: Any) -> np.ndarray:
    return np.array(["pear", "fig", "", "apple", "kiwi", "plum", "date", "lime"] * 3).astype(dtype)


def records(dtype: Any) -> np.ndarray:
    return np.zeros(COUNT, dtype)


NUMERIC = "?bhilqBHILQefdgFDG"
SAMPLES: dict[str, np.ndarray] = {
    **{code: numbers(code) for code in NUMERIC},
    **{code: numbers(code) for code in (">i2", ">i4", ">u8", ">f4", ">f8", ">c16")},
    **{f"M8[{unit}]": moments(f"M8[{unit}]") for unit in UNITS},
    **{f"m8[{unit}]": moments(f"m8[{unit}]") for unit in UNITS},
    "M8": np.array(["NaT"] * COUNT, "M8"),
    "m8": moments("m8"),
    "M8[25s]": moments("M8[25s]"),
    "S": words("S5"),
    "U": words("U5"),
    ">U": words(">U5"),
    "T": words(np.dtypes.StringDType()),
    "O": np.array([3, 1.5, 2, 0, 5, 4, 7, 6] * 3, object),
    "O of words": words(object),
    "V": records("V4"),
    "record": records([("a", "i4"), ("b", "f8")]),
    "record of a subarray": records([("a", "f4", (2, 2)), ("b", "S3")]),
    "nested record": records([("a", [("x", "i2"), ("y", "M8[s]")]), ("b", "?")]),
    "aligned record": records(np.dtype([("a", "i1"), ("b", "f8")], align=True)),
}
Operation = Callable[[Any, Any], Any]
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor", "lshift")
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATIONS: dict[str, Operation] = {
    **{name: lambda xp, x, f=getattr(operator, name): f(x, x) for name in (*BINARY, *COMPARED)},
    **{f"{name} 2": lambda xp, x, f=getattr(operator, name): f(x, 2) for name in BINARY},
    **{f"2 {name}": lambda xp, x, f=getattr(operator, name): f(2, x) for name in BINARY},
    **{f"{name} a row": lambda xp, x, f=getattr(operator, name): f(x, x[1]) for name in COMPARED},
    **{f"{name} 1.5": lambda xp, x, f=getattr(operator, name): f(x, 1.5) for name in BINARY[:4]},
    "negative": lambda xp, x: -x,
    "absolute": lambda xp, x: abs(x),
    "invert": lambda xp, x: ~x,
    "power": lambda xp, x: x**2,
    "isnan": lambda xp, x: xp.isnan(x),
    "isnat": lambda xp, x: xp.isnat(x),
    "sqrt": lambda xp, x: xp.sqrt(x),
    "sum": lambda xp, x: x.sum(),
    "prod": lambda xp, x: x.prod(),
    "max": lambda xp, x: x.max(),
    "min of rows": lambda xp, x: x.reshape(6, 4).min(axis=1),
    "sum of columns": lambda xp, x: x.reshape(6, 4).sum(axis=0),
    "mean": lambda xp, x: x.mean(),
    "std": lambda xp, x: x.std(),
    "any": lambda xp, x: x.any(),
    "all": lambda xp, x: x.all(),
    "argmax": lambda xp, x: x.argmax(),
    "cumsum": lambda xp, x: x.cumsum(),
    "ptp": lambda xp, x: xp.ptp(x),
    "sort": lambda xp, x: xp.sort(x),
    "argsort": lambda xp, x: xp.argsort(x, kind="stable"),
    "unique": lambda xp, x: xp.unique(x),
    "median": lambda xp, x: xp.median(x),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x), x),
    "one": lambda xp, x: x[3],
    "slice": lambda xp, x: x[2:20:3],
    "backwards": lambda xp, x: x[::-1],
    "by index": lambda xp, x: x[[3, 1, -1]],
    "by mask": lambda xp, x: x[np.arange(COUNT) % 2 == 0],
    "reshape": lambda xp, x: x.reshape(4, 6).T,
    "concatenate": lambda xp, x: xp.concatenate([x, x[:3]]),
    "with numbers": lambda xp, x: xp.concatenate([x, xp.arange(3)]),
    "stack": lambda xp, x: xp.stack([x, x]),
    "where": lambda xp, x: xp.where(np.arange(COUNT) % 3 == 0, x, x[::-1]),
    "tile": lambda xp, x: xp.tile(x, 2),
    "repeat": lambda xp, x: xp.repeat(x, 2),
    "roll": lambda xp, x: xp.roll(x, 5),
    "take": lambda xp, x: xp.take(x, [1, 5, 2]),
    "clip": lambda xp, x: xp.clip(x, x[3], x[0]),
    "diff": lambda xp, x: xp.diff(x),
    "nonzero": lambda xp, x: xp.nonzero(x),
    "dot": lambda xp, x: x @ x,
    "copy": lambda xp, x: x.copy(),
    "bytes": lambda xp, x: x.tobytes() if x.dtype.kind not in "OT" else None,
    "list": lambda xp, x: x.tolist(),
    "repr": lambda xp, x: repr(x),
    "str": lambda xp, x: str(x),
    "like": lambda xp, x: xp.zeros_like(x),
    "full like": lambda xp, x: xp.full_like(x, x[1]),
    "equal arrays": lambda xp, x: xp.array_equal(x, x),
    "newbyteorder": lambda xp, x: x.astype(x.dtype.newbyteorder()),
    **{f"to {to}": lambda xp, x, to=to: x.astype(to) for to in ("f8", "i4", "?", "U9", "S9", "O")},
    **{f"to {to}": lambda xp, x, to=to: x.astype(to) for to in ("M8[s]", "m8[ms]", "F", "e", "T")},
    "same kind only": lambda xp, x: x.astype("i2", casting="same_kind"),
    "result type": lambda xp, x: xp.result_type(x, np.float32, 1),
}
WRITES: dict[str, Callable[[Any, Any], None]] = {
    "one": lambda xp, x: operator.setitem(x, 3, x[0]),
    "slice": lambda xp, x: operator.setitem(x, slice(2, 5), x[7:10]),
    "overlapping": lambda xp, x: operator.setitem(x, slice(1, None), x[:-1]),
    "mask": lambda xp, x: operator.setitem(x, np.arange(COUNT) > 7, x[1]),
    "index": lambda xp, x: operator.setitem(x, [3, 3, 1], x[:3]),
    "number": lambda xp, x: operator.setitem(x, slice(4), 1),
    "float": lambda xp, x: operator.setitem(x, slice(4), 1.75),
    "word": lambda xp, x: operator.setitem(x, slice(4), "1"),
    "None": lambda xp, x: operator.setitem(x, slice(4), None),
    "in place": lambda xp, x: operator.iadd(x, x[::-1]),
    "in place with a float": lambda xp, x: operator.imul(x, 1.5),
    "sort": lambda xp, x: x.sort(),
    "fill": lambda xp, x: x.fill(x[1]),
    "out": lambda xp, x: xp.multiply(x, 2, out=x),
}


def outcome(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return described(function())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            return type(error).__name__, str(error)


def described(x: Any) -> Any:
    """Return what an outcome is compared by: type, dtype, shape, values."""
    if isinstance(x, tuple | list):
        return type(x), [described(e) for e in x]
    if isinstance(x, (dnumpy.ndarray, np.generic)):
        plain = np.asarray(x)
        kind = np.ndarray if isinstance(x, dnumpy.ndarray) else x.__class__
        return kind, plain.dtype, plain.dtype.char, plain.shape, [repr(e) for e in plain.ravel()]
    return type(x), repr(x)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_dtype_gives_what_it_gives_in_numpy(operation: str) -> None:
    differing = {}
    for name, sample in SAMPLES.items():
        given = dnumpy.array(sample)
        found = outcome(lambda given=given: OPERATIONS[operation](dnumpy, given))
        expected = outcome(lambda sample=sample: OPERATIONS[operation](np, sample.copy()))
        if found != expected:
            differing[name] = found, expected
    assert not differing


def writes_past_the_end() -> bool:
    """Say whether NumPy, as 2.2 does, repeats a text into memory that has no room for it."""
    memory = np.array(["ab", "", "", ""])
    with suppress(TypeError, ValueError):
        np.multiply(memory[:1], 2, out=memory[:1])
    return bool(memory[1])


@pytest.mark.parametrize("write", WRITES)
def test_every_dtype_is_written_to_as_in_numpy(write: str) -> None:
    differing = {}
    for name, sample in SAMPLES.items():
        if write == "out" and sample.dtype.kind in "SU" and writes_past_the_end():
            continue  # and what lies there would be another's
        ours, theirs = dnumpy.array(sample), sample.copy()
        found = outcome(lambda x=ours: WRITES[write](dnumpy, x)), described(ours)
        expected = outcome(lambda x=theirs: WRITES[write](np, x)), described(theirs)
        if found != expected:
            differing[name] = found, expected
    assert not differing
