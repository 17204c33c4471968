"""Random programs over memory that other code writes to wherever it runs.

What is written there changes what is computed from then on, and nothing that was computed before.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

import dnumpy
from dnumpy.api import calls

ROWS, COLUMNS = 40, 12
HELPERS = '''
class Box:
    """Runs other code wherever it is met."""

    __array_ufunc__ = None

    def __init__(self, poke):
        self.poke = poke

    @property
    def two(self):
        self.poke()
        return 2.0

    def __mul__(self, other):
        self.poke()
        return other * 3.0

    __rmul__ = __mul__

    def __add__(self, other):
        self.poke()
        return other + 1.0

    __radd__ = __add__

    def get(self, x):
        self.poke()
        return x


class twisted:
    @staticmethod
    def twist(a):
        return a * 2.0 - a

    @staticmethod
    def turn(poke, a):
        b = a * 2.0
        poke(2)
        return b - a


def plain(a, b):
    c = a * b
    return c + a


def named(np, a):
    return np.sqrt(np.abs(a)) - 1.0


def pair(a, b):
    return a + b, a - b


def same(a):
    return a


def view(a):
    b = a * 2.0
    return b[1:]


def deep(np, a, b):
    c = plain(a, b)
    d = named(np, c)
    return d - c


def branch(a, b):
    if a.shape[0] > 3:
        return a * 2.0
    return b


def twice(a, b):
    return plain(a, b) * plain(b, a)


def some(poke, a):
    b = a * 2.0
    yield b + a
    poke(1)
    yield b


def tried(a, b, poke):
    try:
        c = plain(a, b)
        return tripped(c, b)
    except ValueError:
        poke(0)
        return c - 1.0


def tripped(a, b):
    d = a * b
    return d + b[:3]


def refused(np, a, b, poke):
    c = a * 2.0
    try:
        d = c + b
        e = -(d > 0.5)
    except TypeError:
        poke(1)
        return d - c


def folded_wrongly(np, a, b):
    d = a - b
    e = d.sum(7)
    return e


def looked_into(np, a, b, poke):
    c = a * 2.0
    d = c
    try:
        d = c * b
        d = folded_wrongly(np, d, c * 2.0)
    except Exception:
        poke(0)
    return d - c


def keyed(a, b=1.0):
    return a * b


def starred(*a):
    return a[0] - a[1]


def middle(np, a):
    b = a * 2.0 + 1.0
    return np.sum(b * a)


def program(np, x0, x1, x2, y0, short, poke, kept, held, copied, box, raw, shown, out, plus):
'''


class Writer:
    """Writes the lines of one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._names = ["x0", "x1", "x2", "y0", "shown"]

    def program(self) -> str:
        """Return the text, which defines ``program``."""
        lines = self._lines(0) + self._lines(0) + [f"middle(np, {self._name()})"] + self._lines(0)
        body = "".join(f"    {line}\n" for line in lines)
        return f"{HELPERS}{body}    return [{', '.join(sorted(set(self._names)))}]\n"

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _name(self) -> str:
        return self._random.choice(self._names)

    def _atom(self) -> str:
        return self._name() if self._random.random() < 0.8 else f"{self._number():.2f}"

    def _number(self) -> float:
        return self._random.uniform(0.5, 1.5)

    def _expression(self, depth: int = 0) -> str:
        which = self._random.random()
        if depth > 2 or which < 0.15:
            return self._name()
        first = self._expression(depth + 1)
        if which < 0.5:
            other = self._atom() if self._random.random() < 0.5 else self._expression(depth + 1)
            return f"({first} {self._random.choice('+-*')} {other})"
        second = self._expression(depth + 1)
        name = self._name()
        return self._random.choice([
            f"({self._atom()} - {first})", f"np.sin({first})", f"np.abs({first})",
            f"np.where({first} > 0.5, {second}, {self._atom()})", f"({first} - {name}.mean())",
            f"({first} - {second}.mean(axis=0))", f"plain({first}, {name})",
            f"deep(np, {first}, {name})", f"named(np, {first})", f"same({first})",
            f"twice({first}, {name})", f"branch({first}, {name})", f"(-{first})",
            f"box.get({first})", f"({name} * box.two)", f"np.clip({first}, -2.0, 2.0)",
            f"(lambda q: q * 2.0)({first})", f"{first}.reshape(-1).reshape({ROWS}, {COLUMNS})",
            f"({first} * 2.0).T.copy().T", f"np.concatenate(({first}, {name}))[:{ROWS}]",
            f"np.concatenate([{first}[:7], {name}[7:]], axis=0)", f"np.maximum({first}, {name})",
            "np.exp(-abs(raw))", f"(np.sqrt(raw) * {first})", f"({first} + raw)",
            f"np.sum({first}, axis=0, keepdims=True) * {name}",
            f"({first} - {second}.min(axis=1)[:, None])", f"({first} / (1.0 + {second}.std()))",
            f"out({first})", f"({first} + {name}[0])", f"({first} + {name}[::-1])",
            f"({first} + {name}[3, 4])", f"np.roll({first}, 3, axis=0)",
            f"(np.add({first}, 1.0, out=np.empty(({ROWS}, {COLUMNS}))) * {name})",
            f"np.where({first} > {name}, {name}, {second})", f"twisted.twist({first})",
            f"twisted.turn(poke, {first})", f"(lambda q=({first}): q + y0)()",
            f"[q * 1.5 for q in ({first}, {name})][0]", f"next(some(poke, {first}))",
            f"(plus + {first})", f"({first} * plus)", f"({name} > 0.5) * {first}",
            f"np.cumsum({first}, axis=1)", f"tried({first}, {name}, poke)",
            f"refused(np, {first}, {name}, poke)", f"looked_into(np, {first}, {name}, poke)",
            f"np.zeros_like({name}) + {first}", f"np.stack(({first}, {name})).sum(axis=0)",
            f"getattr(np, 'sin')({first})", f"np.mean(a={first}) * {name}",
            f"keyed({first}, b={name})", f"starred(*({first}, {name}))",
            f"{name}[{name} > 0.5].sum() * {self._name()}", f"({name}.shape[0] * {first})",
            f"np.max({first}) * {name}", f"({first}.T * 2.0).T",
        ])  # fmt: skip

    def _lines(self, depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(self._random.randint(2, 6)):
            found += self._line(depth)
        return found

    def _line(self, depth: int) -> list[str]:  # noqa: C901, PLR0912 - a table of kinds
        which = self._random.random()
        value, name, poke = self._expression(), self._name(), self._random.randrange(4)
        if which < 0.52:
            return [f"{self._named()} = {value}"]
        if which < 0.58:
            return self._chosen(value)
        if which < 0.66:
            return [f"poke({poke})"]
        if which < 0.7:
            return [f"kept.append(copied({name}))", f"held.append({value})"]
        if which < 0.74:
            return [f"{name}[{self._random.randrange(6)}:9] = {self._number():.3f}"]
        if which < 0.76:
            return [f"{name} += {value}"]
        if which < 0.80:
            new = self._new()
            wrong = self._random.choice(["short", "x0", "y0", "missing"])
            return [
                "try:", f"    {new} = {value}", f"    {new} = {new} + {wrong}",
                f"    {new} = {new} * 2.0", "except (ValueError, NameError):",
                f"    poke({poke})", f"    kept.append(copied({name}))",
            ]  # fmt: skip
        if which < 0.83 and depth < 1:
            return ["for i in range(2):", *[f"    {line}" for line in self._lines(depth + 1)]]
        if which < 0.87:
            first, second = self._new(), self._new()
            self._names += [first, second]
            return [f"{first}, {second} = pair({value}, {name})"]
        if which < 0.89:
            return [f"kept.append(float({value}.sum()))"]
        if which < 0.92:
            return [f"{self._named()} = {name} * box", f"{self._named()} = box + {value}"]
        if which < 0.95:
            return [f"if {value}.max() > 0.7:", "    poke(1)"]
        if which < 0.97:
            new = self._new()
            return [f"{new} = view({value})", f"held.append({new}[:3] * 2.0)", f"poke({poke})"]
        other = self._name()
        new = self._named()
        return [f"{new} = {name}", f"{name} = {other} * {new}", f"{other} = {name} - {new}"]

    def _chosen(self, value: str) -> list[str]:
        """Return lines with selections by one mask."""
        mask, kept = self._new(), self._new()
        into, first, second = self._name(), self._name(), self._name()
        use = self._random.choice([
            f"{into}[{mask}] = {into}[{mask}] * 2.0 + {first}[{mask}]",
            f"{into}[{mask}] = {first}[{mask}] * 1.5", f"{into}[{mask}] += {first}[{mask}]",
            f"held.append({first}[{mask}] * {second}[{mask}])", f"{into}[{mask}] = 0.25",
            f"kept.append(({first}[{mask}] + {second}[{mask}]).sum())",
            f"{into}[3:9] = {value}[3:9]",
            f"{kept} = {first}[{mask}]; {into}[{mask}] = {kept} * 2.0; held.append({kept})",
            f"{kept} = {first}[{mask}]; poke(0); held.append({kept})", f"{into}[...] = {value}",
            f"{into}[{mask}] = box.get({first}[{mask}])", f"held.append(len({first}[{mask}]))",
        ])  # fmt: skip
        return [f"{mask} = {value} > 0.5", use]

    def _named(self) -> str:
        new = self._new()
        self._names.append(new)
        return new


def run(np: Any, text: str, seed: int) -> tuple[list[numpy.ndarray], str]:
    """Return all that a program returned or kept, and the error that ended it."""
    rng = numpy.random.default_rng(seed)
    memory = [rng.random((ROWS, COLUMNS)) for _ in range(3)]
    ours = np.array(memory[0] * 1.0)
    memory.append(numpy.asarray(ours))  # which is handed out
    kept: list[Any] = []
    held: list[Any] = []

    def alone() -> None:
        assert not calls.waiting, "something waits while other code runs"

    def poke(which: int) -> None:
        alone()
        memory[which][which:30] *= 1.01
        memory[which][which:30] += 0.01

    def copied(x: Any) -> Any:
        alone()
        return numpy.array(x)

    def out(x: Any) -> Any:
        alone()
        shown = numpy.asarray(x)
        memory.append(shown)
        shown[0, 0] = 5.0
        return x

    class Plus(numpy.lib.mixins.NDArrayOperatorsMixin):
        def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Any:
            poke(0)
            plain = [2.0 if isinstance(x, Plus) else x for x in given]
            return getattr(ufunc, method)(*plain, **named)

    scope: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), scope)
    given = [np.asarray(x) for x in memory[:3]]
    steady, short = np.array(numpy.full((ROWS, COLUMNS), 0.3)), np.asarray(numpy.ones(7))
    told, found = "", []
    try:
        found = scope["program"](
            np, *given, steady, short, poke, kept, held, copied, scope["Box"](lambda: poke(0)),
            memory[2], ours, out, Plus(),
        )  # fmt: skip
    except (ValueError, TypeError, numpy.exceptions.AxisError) as problem:
        told = f"{type(problem).__name__}: {problem}"
    for x in memory:
        numpy.multiply(x, 1.7, out=x)  # what still waited would see it
    return [numpy.array(x) for x in (*found, *kept, *held)], told


def check_seed(seed: int) -> None:
    """Raise AssertionError unless a program gives what NumPy gives."""
    text = Writer(seed).program()
    expected, told = run(numpy, text, seed)
    found, said = run(dnumpy, text, seed)
    assert (said, len(found)) == (told, len(expected)), f"seed {seed}:\n{text}"
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(
            one, other, rtol=1e-8, atol=1e-8, err_msg=f"seed {seed}:\n{text}"
        )
