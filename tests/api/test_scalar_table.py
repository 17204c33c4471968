"""Everything that a NumPy scalar has and can do, a deferred one has and does alike.

What Python asks of an object's own type is left out: ``type(s)``, the class's name in the text of
an error of the interpreter, and C code that wants an instance of ``float`` itself (``json``,
``datetime.timedelta``, the comparison of a complex number with a float64), which for NumPy is
float64 alone; ``float(s)`` and ``s.item()`` serve there.
"""

from __future__ import annotations

import copy
import math
import numbers
import operator
import pickle
import re
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("managed")

VALUES = {"?": True, "i1": -5, "u1": 7, "i4": -7, "i8": 7, "u8": 9, "q": 3, "e": 2.5, "f": 4.5}
VALUES |= {"d": -4.25, "F": 3 - 4j, "D": 3 + 4j}
OTHERS: dict[str, Any] = {
    "int": 3, "negative": -1, "large": 2**70, "float": 2.5, "bool": True, "complex": 1j,
    "float32": np.float32(1.5), "int8": np.int8(3), "uint64": np.uint64(3),
    "float64": np.float64(0.5), "None": None, "str": "a", "list": [1, 2], "tuple": (1, 2),
    "array": np.arange(3.0), "timedelta": np.timedelta64(3, "s"), "Fraction": Fraction(1, 2),
}  # fmt: skip
BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "eq", "ne", "lt", "le", "gt", "ge", "matmul",
)  # fmt: skip
_OF_THE_TYPE = {
    "__class__", "__doc__", "__init_subclass__", "__subclasshook__", "__new__", "__init__",
    "__dir__", "__sizeof__", "__getattribute__", "__setattr__", "__delattr__", "__getstate__",
    "__array_interface__", "__array_struct__", "__class_getitem__", "__array_namespace__",
    "__reduce__", "__reduce_ex__", "__getnewargs__", "__getformat__", "data", "base",
}  # fmt: skip

USES: dict[str, Callable[[Any], Any]] = {
    **{f.__name__: f for f in (bool, int, float, complex, str, repr, hash, abs, round, bytes)},
    **{f.__name__: f for f in (math.floor, math.ceil, math.trunc, math.sqrt, math.isnan)},
    **{f.__name__: f for f in (operator.neg, operator.pos, operator.invert, operator.not_)},
    "round to one": lambda x: round(x, 1),
    "round to none": lambda x: round(x, None),
    "power with modulus": lambda x: pow(x, 2, 5),
    "index": operator.index,
    "range": lambda x: list(range(x)) if x.dtype.kind in "iu" else None,
    "item of a list": lambda x: list(range(50))[x] if x.dtype.kind in "iu" else None,
    "format": lambda x: f"{x:>10}|{x!r}|{x!s}|{x}",
    "format as number": lambda x: f"{x:.3e}",
    "format as integer": lambda x: f"{x:d}",
    "percent": lambda x: "%s %r %5.1f" % (x, x, x.real),  # noqa: UP031 - as old programs do
    "is scalar": lambda x: (np.isscalar(x), dnumpy.isscalar(x), np.ndim(x), np.shape(x)),
    "class": lambda x: (x.__class__, issubclass(x.__class__, np.generic)),
    "numbers": lambda x: [
        isinstance(x, getattr(numbers, n)) for n in ("Number", "Complex", "Real", "Integral")
    ],
    "abstract types": lambda x: [
        isinstance(x, t)
        for t in (np.generic, np.number, np.floating, np.integer, np.complexfloating, float, int)
    ],
    "strong in promotion": lambda x: [
        xp.result_type(x, other) for xp in (np, dnumpy) for other in (np.float16, 1.0, np.int8, 3)
    ],
    "smallest type": dnumpy.min_scalar_type,
    "copied": lambda x: (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))),
    "indexed": lambda x: (x[()], x[...], x[None], x[..., None]),
    "wrongly indexed": lambda x: x[0],
    "sum": lambda x: sum([x, x]),
    "sorted": lambda x: sorted([x, x]) if x.dtype.kind != "c" else None,
    "in containers": lambda x: (x in {x, 77}, x in [x, 77], {x: 1}[x]),
    "array": lambda x: (np.array(x), np.asarray([x, x]), dnumpy.asarray(x), dnumpy.array([x, 1])),
    "other scalar types": lambda x: [t(x) for t in (np.float64, dnumpy.complex64, np.bool_)],
    "NumPy's functions": lambda x: (np.sin(x), np.add(x, np.arange(3)), np.maximum(x, 2)),
    "our functions": lambda x: (dnumpy.full(2, x), dnumpy.dot(x, 2), dnumpy.array_equal(x, x)),
    "matched": lambda x: (matched(x),),
    "truth of a comparison": lambda x: "yes" if x == x else "no",
}


def matched(x: Any) -> str:
    match x:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case complex():
            return "complex"
        case np.generic():
            return "generic"
    return "none"


def deferred(code: str) -> Any:
    value = np.dtype(code).type(VALUES[code])
    several = dnumpy.full(80, value)
    made = several.sum() / np.complex128(80) if code == "D" else None
    if code == "F":
        made = several.sum() / np.complex64(80)
    elif code == "?":
        made = several.all()
    elif made is None:
        made = several.max()
    assert type(made) is DeferredScalar
    assert made.dtype == np.dtype(code)
    return made


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return described(function(x))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            return type(error), str(error).replace("DeferredScalar", type(x).__name__)


def described(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x), [described(e) for e in x]
    if type(x) is dnumpy.ndarray:
        x = np.asarray(x)
    if type(x) is DeferredScalar:
        x = x.force()
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tobytes()
    if callable(x) and not isinstance(x, type):
        return type(x), "callable"
    return type(x), re.sub(r" at 0x[0-9a-f]+", "", repr(x))  # two objects lie apart, mostly


def compare(rows: dict[str, Callable[[Any], Any]], code: str) -> None:
    known = np.dtype(code).type(VALUES[code])
    differing = {}
    for name, function in rows.items():
        found, expected = outcome(function, deferred(code)), outcome(function, known)
        if found != expected:
            differing[name] = found, expected
    assert not differing


codes = pytest.mark.parametrize("code", VALUES)


@codes
def test_attributes_are_numpys(code: str) -> None:
    known = np.dtype(code).type(VALUES[code])
    names = [n for n in dir(known) if n not in _OF_THE_TYPE]
    assert len(names) > 100
    rows: dict[str, Callable[[Any], Any]] = {
        name: lambda x, name=name: described(getattr(x, name))[1] for name in names
    }
    rows |= {
        f"{name}()": lambda x, name=name: getattr(x, name)()
        for name in names
        if callable(getattr(known, name, None)) and not name.startswith("__")
    }
    compare(rows, code)


def differs_from_the_left(code: str, operation: str, left: Any) -> bool:
    """Say whether what stands on the left decides alone: NumPy's scalars then call the ufunc."""
    if isinstance(left, np.generic):
        return code == "q" or (code in "FD" and operation in ("floordiv", "mod", "divmod"))
    return isinstance(left, complex) and code == "d" and operation in ("eq", "ne")


@codes
@pytest.mark.parametrize("operation", [*BINARY, "divmod"])
def test_operators_are_numpys(code: str, operation: str) -> None:
    f = divmod if operation == "divmod" else getattr(operator, operation)
    rows: dict[str, Callable[[Any], Any]] = {"itself": lambda x: f(x, x)}
    for name, y in OTHERS.items():
        rows[f"x . {name}"] = lambda x, y=y: f(x, y)
        if not differs_from_the_left(code, operation, y):
            rows[f"{name} . x"] = lambda x, y=y: f(y, x)
    compare(rows, code)


@codes
def test_uses_are_numpys(code: str) -> None:
    compare(USES, code)
