"""Random NumPy programs, run on dnumpy and on NumPy side by side.

A program is a list of lines of Python over named variables. Both sides have ``np`` (dnumpy or
NumPy), ``numpy`` (NumPy itself, for exports and host arrays) and ``data`` (repeatable host arrays).
A line ``#look a3 tolist`` observes a variable; what is not looked at stays pending. After every
line errors, and shape, dtype, strides and writeability of every variable, must agree; at the end
all values must.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dnumpy
from dnumpy.api.array import concrete
from dnumpy.api.scalar import DeferredScalar

DTYPES = {
    "f8": 5, "i8": 4, "f4": 2, "?": 2, "c16": 1, "u1": 1, "i2": 1, "f2": 1, "g": 1, "c8": 1,
    "u8": 1, "i4": 1, "i1": 1,
}  # fmt: skip
LOOKS = ("concrete", "concrete", "asarray", "tolist", "repr", "copy", "item_by_item")


def data(seed: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return a host array that the arguments determine; a third of the float ones have specials."""
    draw = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return draw.random(shape) < 0.5
    values: Any = draw.integers(0 if kind == "u" else -9, 10, shape)
    if kind in "fc":
        values = values / 4
    if kind == "c":
        values = values + 1j * draw.integers(-9, 10, shape)
    made = np.array(values).astype(dtype)
    if kind == "f" and seed % 3 == 0 and made.size:
        specials = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
        spots = draw.integers(0, made.size, 1 + made.size // 6)
        made.reshape(-1)[spots] = specials[draw.integers(0, 5, spots.size)]
    return made


_BACKWARDS = re.compile(r":[^\[\],:]*:-\d|flip|rot90")


@dataclass
class Program:
    """Lines, and for each variable that holds inexact sums how far it may be off."""

    lines: list[str]
    slack: dict[str, float] = field(default_factory=dict)

    @property
    def reverses(self) -> bool:
        """Whether it reads memory backwards, where NumPy's last bits are other than forwards."""
        return _BACKWARDS.search(str(self)) is not None

    def __str__(self) -> str:
        """Return the lines as a script."""
        return "\n".join(self.lines)


class Mismatch(AssertionError):  # noqa: N818 - the name states the fact
    """dnumpy and NumPy disagree."""

    @classmethod
    def at(cls, where: str, what: str) -> Mismatch:
        return cls(f"{where}\n  {what}")


def environment(module: Any) -> dict[str, Any]:
    return {"np": module, "numpy": np, "data": data}


def run_line(line: str, env: dict[str, Any]) -> tuple[str, str] | None:
    """Execute one line; return the type and text of what it raised."""
    try:
        exec(line, env)
    except Exception as error:  # noqa: BLE001 - whatever is raised is compared
        # Python names the operator in place only where the scalar on the left has none of its own
        return type(error).__name__, str(error).replace("=: ", ": ")
    return None


def check(program: Program) -> None:
    """Raise Mismatch at the first line after which dnumpy and NumPy disagree."""
    ours, theirs = environment(dnumpy), environment(np)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(program.lines):
            where = f"after line {number}: {line}"
            if line.startswith("#look "):
                _, name, how = line.split()
                if name in theirs:
                    compare(name, ours[name], theirs[name], program, how, where)
                continue
            raised, expected = run_line(line, ours), run_line(line, theirs)
            if raised != expected:
                raise Mismatch.at(where, f"raised {raised}\n  NumPy {expected}")
            compare_facts(ours, theirs, where)
        for name in variables(theirs):
            compare(name, ours[name], theirs[name], program, "concrete", "at the end")


def variables(env: dict[str, Any]) -> list[str]:
    return [n for n in env if n[0] in "ahs" and n[1:].isdigit()]


def compare_facts(ours: dict[str, Any], theirs: dict[str, Any], where: str) -> None:
    """Compare what is known without computing."""
    if variables(ours) != variables(theirs):
        raise Mismatch.at(where, f"other variables: {variables(ours)}, {variables(theirs)}")
    for name in variables(theirs):
        x, y = ours[name], theirs[name]
        if isinstance(y, np.ndarray):
            got: Any = (x.shape, x.dtype, x.flags.writeable, seen_strides(x))
            want: Any = (y.shape, y.dtype, y.flags.writeable, seen_strides(y))
            kinds = (dnumpy.ndarray, np.ndarray) if name[0] == "a" else (np.ndarray,)
            if type(x) not in kinds:
                raise Mismatch.at(where, f"{name} is a {type(x)}")
        else:
            got, want = getattr(x, "dtype", type(x)), getattr(y, "dtype", type(y))
            if isinstance(x, dnumpy.ndarray):
                raise Mismatch.at(where, f"{name} is an array, NumPy has {type(y)}")
        if got != want:
            raise Mismatch.at(where, f"{name}: {got}, NumPy has {want}")


def seen_strides(x: Any) -> list[int]:
    """Return the strides that are walked along; NumPy itself does not care about the others."""
    return [s for n, s in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []


def compare(name: str, x: Any, y: Any, program: Program, how: str, where: str) -> None:
    """Compare one variable's values as ``how`` shows them."""
    slack = program.slack.get(name)
    if isinstance(x, DeferredScalar) or not isinstance(y, np.ndarray):
        seen = x.force() if isinstance(x, DeferredScalar) else x
        if type(seen) is not type(y):
            raise Mismatch.at(where, f"{name}: {type(seen)}, NumPy has {type(y)}")
        values, want = np.asarray(seen), np.asarray(y)
    else:
        values, want = looked_at(x, how), y
        printed = slack is None and not program.reverses
        if how == "repr" and printed and repr(x) != repr(y) and not y.size > 1000:
            raise Mismatch.at(where, f"{name} prints\n{x!r}\n  NumPy prints\n{y!r}")
    alike = values.dtype == want.dtype and values.shape == want.shape
    if not alike or not (
        same(values, want, slack) or (program.reverses and same_but_last_bits(values, want))
    ):
        raise Mismatch.at(where, f"{name} ({how}) is\n{values!r}\n  NumPy has\n{want!r}")


def looked_at(x: Any, how: str) -> np.ndarray:
    if type(x) is np.ndarray:
        return x
    match how:
        case "asarray":
            return np.asarray(x)
        case "tolist":
            return np.array(x.tolist(), dtype=x.dtype).reshape(x.shape)
        case "copy":
            return concrete(x.copy())
        case "item_by_item":
            found = np.empty(x.shape, x.dtype)
            for at in np.ndindex(x.shape):
                found[at] = x[at]
            return found
        case _:
            return concrete(x)


def same(x: np.ndarray, y: np.ndarray, slack: float | None) -> bool:
    """Say whether two arrays are equal, signs of zeros included, or within ``slack``."""
    if slack is not None:
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= slack
        return bool(np.all(near | (x == y) | ((x != x) & (y != y))))
    if x.dtype.kind == "c":
        return same(x.real, y.real, None) and same(x.imag, y.imag, None)
    if x.dtype.kind != "f":
        return bool(np.all(x == y))
    equal = (x == y) & ((np.signbit(x) == np.signbit(y)) | (x != 0))
    return bool(np.all(equal | (np.isnan(x) & np.isnan(y))))


def same_but_last_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Say whether floating-point numbers differ by two units in the last place at most."""
    if x.dtype.kind == "c":
        return same_but_last_bits(x.real, y.real) and same_but_last_bits(x.imag, y.imag)
    if x.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= 2 * np.spacing(np.abs(y))
    return bool(np.all(near | (x == y) | (np.isnan(x) & np.isnan(y))))


def shrink(program: Program) -> Program:
    """Return a program that still disagrees, of which no single line can be left out."""
    lines = list(program.lines)
    size = max(1, len(lines) // 2)
    while size:
        k = 0
        while k < len(lines):
            shorter = Program(lines[:k] + lines[k + size :], program.slack)
            if disagrees(shorter):
                lines = shorter.lines
            else:
                k += size
        size //= 2
    return Program(lines, program.slack)


def disagrees(program: Program) -> bool:
    try:
        check(program)
    except Mismatch:
        return True
    except Exception:  # noqa: BLE001 - an error from inside counts as well
        return True
    return False


def check_seed(seed: int) -> None:
    """Write the program of ``seed`` and check it; a failure shows the shortest form of it."""
    from tests.writer import Writer

    program = Writer(random.Random(seed)).program()
    try:
        check(program)
    except Exception:
        small = shrink(program)
        try:
            check(small)
        except Exception as error:
            msg = f"seed {seed}\n{small}\n\n{type(error).__name__}: {error}"
            raise Mismatch(msg) from error
        raise  # only the long program shows it
