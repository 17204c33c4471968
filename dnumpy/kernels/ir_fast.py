"""The fast functions by name, as kernels inline them; read from their text, without Numba."""

from __future__ import annotations

import ast
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.ir_memory import absolute, cast_to, fma, sqrt
from dnumpy.kernels.ir_values import TYPES, Unknown, Value, Writer, constant
from dnumpy.kernels.ir_words import Inlined, parsed

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULES = {
    "f8": ("fast_double", "fast_circle", "fast_roots"),
    "f4": ("fast_single", "fast_single_circle"),
}
_SAME_WIDTH = {"f8": "u8", "f4": "u4", "u8": "f8", "u4": "f4"}
_ANYWHERE = """\
def anywhere(x):
    far = beyond(x)
    near = fast(choose(far, x - x, x))
    return library(x) if far else near
"""


# ---------------------------------------------------------------- what they are written in


def _choose(w: Writer, condition: Value, this: Value, other: Value) -> Value:
    """Return ``this`` where ``condition`` holds, ``other`` elsewhere; both have been computed."""
    return w.select(w.truth(condition), this, w.cast(other, this.code))


def _reinterpreted(w: Writer, x: Value) -> Value:
    """Return the bits of a number, or the number with these bits."""
    if x.code not in _SAME_WIDTH:
        msg = f"the bits of {x.code}"
        raise Unknown(msg)
    code = _SAME_WIDTH[x.code]
    return w.make(code, f"bitcast {x.typed} to {TYPES[code]}")


def _signed(w: Writer, size: Value, sign: Value) -> Value:
    """Return ``size`` with the sign of ``sign``."""
    return w.intrinsic("copysign", size, w.cast(sign, size.code))


def _is_or_nan(w: Writer, x: Value, other: Value) -> Value:
    """Say whether ``x`` equals ``other`` or is NaN; no flag is raised."""
    return w.make("b1", f"fcmp ueq {x.typed}, {w.cast(other, x.code).text}")


def _lesser(w: Writer, one: Value, other: Value) -> Value:
    """Return the lesser of two unsigned numbers."""
    other = w.cast(other, one.code)
    return w.select(w.compare("<", one, other), one, other)


def _at_most(w: Writer, size: Value, limit: Value) -> Value:
    """Return what is less of a number that is not negative and one of these bits; so too for NaN.

    Compared as an integer, since vectors of floats are compared with a flag for NaN.
    """
    return _reinterpreted(w, _lesser(w, _reinterpreted(w, size), limit))


def _polynomial(*coefficients: float) -> Callable[[Writer, Value], Value]:
    """Return the polynomial with these coefficients, the constant one first, by Horner's rule."""

    def evaluate(w: Writer, x: Value) -> Value:
        *rest, value = [constant(c, x.code) for c in coefficients]
        for factor in reversed(rest):
            value = w.intrinsic("fma", value, x, factor)
        return value

    return evaluate


def _bits_of(number: float, kind: str = "f8") -> Any:
    return np.array(number, kind).view(f"u{kind[1]}")[()]


def _cast(code: str) -> Callable[[Writer, Value], Value]:
    return lambda w, x: cast_to(code, w, x)


def _library(name: str, code: str) -> Callable[[Writer, Value], Value]:
    """Return the C library's function."""
    if name != "tan":
        return lambda w, x: w.intrinsic(name, x)
    symbol = name if code == "f8" else f"{name}f"
    pure = " nounwind willreturn memory(none)"
    return lambda w, x: w.external(symbol, TYPES[code], [x], pure)


_WRITERS: dict[str, Any] = {
    "abs": absolute,
    "at_most": _at_most,
    "bits": _reinterpreted,
    "bool": _cast("b1"),
    "choose": _choose,
    "f": _cast("f4"),
    "fma": fma,
    "is_or_nan": _is_or_nan,
    "lesser": _lesser,
    "math.sqrt": sqrt,
    "np.float64": _cast("f8"),
    "np.sqrt": sqrt,
    "real": _reinterpreted,
    "signed": _signed,
    "u": _cast("u4"),
}
# what computes their constants
_NUMBERS = {
    "bits_of": _bits_of,
    "math": math,
    "np": np,
    "polynomial": _polynomial,
    "word": np.uint64,
}


# ---------------------------------------------------------------- the functions


@lru_cache(maxsize=1)
def functions() -> dict[str, Any]:
    """Return all of them; ``anywhere`` stands after the names of those that have no bound."""
    found: dict[str, Any] = {}
    for code, modules in _MODULES.items():
        for module in modules:
            text = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
            for name, value in _names(text).items():
                if isinstance(value, Inlined):
                    found[f"fast_{name}_{code}"] = value
    (anywhere,) = parsed(_ANYWHERE).body
    assert isinstance(anywhere, ast.FunctionDef)
    for code in _MODULES:
        for name in ("sin", "cos", "tan"):
            own = {
                "beyond": found[f"fast_beyond_{code}"],
                "fast": found[f"fast_{name}_{code}"],
                "choose": _choose,
                "library": _library(name, code),
            }
            found[f"fast_{name}_{code}_anywhere"] = Inlined(anywhere, own)
    return found


def _names(text: str) -> dict[str, Any]:
    """Return the global names of a module of fast functions."""
    numbers: dict[str, Any] = dict(_NUMBERS)
    made: dict[str, Any] = {}
    for node in parsed(text).body:
        if isinstance(node, ast.FunctionDef):
            made[node.name] = Inlined(node, made)
        elif isinstance(node, ast.Assign):
            exec(compile(ast.Module([node], []), "<fast>", "exec"), numbers)
    numbers.pop("__builtins__", None)
    made |= numbers | _WRITERS  # in place: the functions see what is entered after them
    return made
