"""Which loops of which ops a CUDA kernel knows, and how they go wrong.

An op in the table is a function of :mod:`~dnumpy.kernels.cuda_header`. ``kinds`` are those of the
loop's first operand; ``pole`` is a function of the header that says of operands whether an infinite
result is a division by zero and no overflow. What is ``quiet`` raises nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnumpy.kernels.lower import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

CODES = frozenset(
    {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"}
)


class Word(NamedTuple):
    """What is known of an op; see the module docstring."""

    kinds: str
    quiet: bool = False
    pole: str = ""


_ARITHMETIC = Word("biufc")
_FLOAT = Word("f")
_FLOAT_OR_COMPLEX = Word("fc")
_QUIET = Word("biufc", quiet=True)
_BITS = Word("biu", quiet=True)
_INTEGERS = Word("iu", quiet=True)

WORDS: dict[str, Word] = {
    **dict.fromkeys(("add", "subtract", "multiply", "square", "absolute"), _ARITHMETIC),
    **dict.fromkeys(("negative", "positive", "conjugate"), _QUIET),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "clip"), _QUIET),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _QUIET),
    **dict.fromkeys(("equal", "not_equal", "isnan", "isinf", "isfinite"), _QUIET),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), _QUIET),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert"), _BITS),
    **dict.fromkeys(("left_shift", "right_shift", "bitwise_count", "gcd", "lcm"), _INTEGERS),
    **dict.fromkeys(("floor", "ceil", "trunc"), Word("biuf", quiet=True)),
    **dict.fromkeys(("fabs", "signbit", "copysign", "heaviside"), Word("f", quiet=True)),
    **dict.fromkeys(("frexp", "modf"), Word("f", quiet=True)),
    "rint": Word("fc", quiet=True),
    "sign": Word("iuf", quiet=True),
    "divide": Word("fc", pole="divide"),
    "reciprocal": Word("iufc", pole="reciprocal"),
    **dict.fromkeys(("floor_divide", "remainder", "fmod", "divmod"), Word("iuf", pole="divide")),
    "power": Word("iuf", pole="power"),
    "float_power": Word("f", pole="power"),
    **dict.fromkeys(
        ("sqrt", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh"), _FLOAT_OR_COMPLEX
    ),
    **dict.fromkeys(("log", "log2", "log10"), Word("fc", pole="always")),
    **dict.fromkeys(("log1p", "arctanh"), Word("f", pole="always")),
    **dict.fromkeys(("exp2", "expm1", "cbrt", "arcsin", "arccos", "arctan", "arcsinh"), _FLOAT),
    **dict.fromkeys(("arccosh", "arctan2", "hypot", "logaddexp", "logaddexp2", "ldexp"), _FLOAT),
    **dict.fromkeys(("degrees", "radians", "deg2rad", "rad2deg"), _FLOAT),
    **dict.fromkeys(("nextafter", "spacing"), _FLOAT),
}

_ORDERS = frozenset({"less", "less_equal", "greater", "greater_equal"})  # of NaN, for complex ones
_OWN_RULES = {
    "ldexp": "fault(false, {result}, {first})",
    "nextafter": "fault_next({result}, {first})",
    "spacing": "fault_spacing({result}, {first})",
    "logaddexp": "fault_log_sum({result}, {operands})",
    "logaddexp2": "fault_log_sum({result}, {operands})",
}


def code_of(dtype: np.dtype) -> str:
    """Return the short name of a native dtype that CUDA kernels handle."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if not dtype.isnative or code not in CODES:
        msg = f"dtype {dtype}"
        raise Unsupported(msg)
    return code


def function_of(name: str, types: Sequence[str], output: int) -> str:
    """Return the header's function that computes an output of NumPy's loop ``types`` of an op."""
    word = WORDS.get(name)
    if word is None or types[0][0] not in word.kinds:
        msg = f"{name} of {types[0]}"
        raise Unsupported(msg)
    return f"op_{name}_{output}" if output else f"op_{name}"


def cast(text: str, source: str, target: str) -> str:
    """Return the value ``text`` of type ``source`` as ``target``."""
    if source == target:
        return text
    if source[0] == "c" and target[0] != "c":
        return f"real_as<{target}>({text})"
    return f"as<{target}>::from({text})"


def cast_fault(text: str, source: str, target: str) -> str:
    """Return the faults of a cast, '' where there is none to be had."""
    if target in {source, "b1"} or source == "b1":
        return ""
    real = source.replace("c16", "f8").replace("c8", "f4")
    if target[0] in "iu":
        if real[0] != "f":
            return ""
        return f"fault_truncation<{target}>({cast(text, source, 'f8')})"
    size = {"c8": 4, "c16": 8}.get(target) or int(target[1:])
    if (real[0] == "f" and int(real[1:]) > size) or (real[0] in "iu" and size == 2):
        given = text if source[0] != "c" or target[0] == "c" else f"({text}).re"
        return f"fault(false, {cast(text, source, target)}, {given})"
    return ""


def op_fault(name: str, types: Sequence[str], result: str, args: Sequence[str], output: int) -> str:
    """Return the faults of an op's result, '' where there is none to be had."""
    word, kind, operands = WORDS[name], types[0][0], ", ".join(args)
    if kind == "c" and name in _ORDERS:
        return f"fault_order({operands})"
    if word.quiet or (name == "absolute" and kind == "f"):
        return ""
    if kind in "biu":
        return _integer_fault(name, operands, args)
    if name in _OWN_RULES:
        return _OWN_RULES[name].format(result=result, operands=operands, first=args[0])
    if name == "divmod" and output:  # NumPy computes both
        result = f"op_divmod({operands})"
    pole = f"pole_{word.pole}({operands})" if word.pole else "false"
    found = f"fault({pole}, {result}, {operands})"
    return f"fault_floor({found}, {args[0]})" if name in {"floor_divide", "divmod"} else found


def _integer_fault(name: str, operands: str, args: Sequence[str]) -> str:
    if name in {"floor_divide", "divmod"}:
        return f"fault_division({operands})"
    if name in {"remainder", "fmod"}:
        return f"fault_zero({args[-1]})"
    return f"fault_reciprocal({args[0]})" if name == "reciprocal" else ""
