"""Writes random NumPy programs; NumPy runs each line as it is written, so that shapes are known."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tests.programs import LOOKS, Program, run_line, variables
from tests.turns import Turns

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

UNARY = (
    "sqrt", "exp", "sin", "log", "absolute", "negative", "floor", "rint", "sign", "square", "isnan",
    "isfinite", "conjugate", "tanh", "trunc", "ceil", "logical_not", "positive", "invert", "expm1",
    "spacing", "cbrt", "log1p", "deg2rad",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum",
    "fmax", "fmin", "arctan2", "hypot", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and",
    "logical_or", "equal", "less", "greater_equal", "not_equal", "left_shift", "fmod", "power",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "==", "<", ">=", "**", "<<")
IN_PLACE = ("+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "**=")


class Writer(Turns):
    """Adds random lines to a program."""

    # ------------------------------------------------------------ the whole

    def program(self) -> Program:
        """Return a program of 8 to 40 lines."""
        rng = self.rng
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(rng.randint(2, 4)):
                self.create()
            for _ in range(rng.randint(6, 36)):
                kinds, weights = zip(*KINDS.items(), strict=True)
                rng.choices(kinds, weights)[0](self)
                if len(self.arrays()) < 2:
                    self.create()
        return self.made

    # ------------------------------------------------------------ lines that make

    def create(self) -> None:
        rng = self.rng
        shape, dtype = self.shape(), self.dtype()
        self.new(
            rng.choices(
                (
                    f"np.array({self.fresh_data(shape, dtype)})",
                    f"np.zeros({shape}, '{dtype}')",
                    f"np.ones({shape}, '{dtype}')",
                    f"np.full({shape}, {rng.randint(0, 9)}, '{dtype}')",
                    f"np.arange({rng.randint(1, 40)}, dtype='{dtype if dtype != '?' else 'i8'}')",
                    f"np.linspace(0, 1, {rng.randint(1, 30)})",
                    f"np.eye({rng.randint(1, 7)}, dtype='{dtype}')",
                ),
                (10, 3, 2, 1, 3, 1, 1),
            )[0]
        )

    def create_like(self) -> None:
        a = self.any_array()
        self.new(
            self.rng.choice((f"np.zeros_like({a})", f"np.ones_like({a})", f"np.full_like({a}, 3)"))
        )

    def view(self) -> None:
        a = self.any_array(exact=False)
        value = self.env[a]
        n = value.ndim
        rng = self.rng
        choices = [f"{a}[{self.key(value.shape)}]"] * 6 + [
            f"{a}.T", f"{a}.ravel()", f"{a}.reshape(-1)", f"np.squeeze({a})", f"{a}[None]",
            f"{a}[...]", f"np.expand_dims({a}, {rng.randint(0, n)})", f"np.flip({a})",
            f"{a}.real", f"{a}.imag",
            f"np.broadcast_to({a}, {(2, *value.shape)})", f"np.atleast_2d({a})",
            f"{a}.reshape({_regrouped(rng, value.shape)})", f"np.transpose({a})",
            f"{a}.reshape({_regrouped(rng, value.shape)}, order='F')",
        ]  # fmt: skip
        if n >= 2:
            i, j = rng.sample(range(n), 2)
            axes = rng.sample(range(n), n)
            choices += [
                f"{a}.swapaxes({i}, {j})", f"np.moveaxis({a}, {i}, {j})", f"{a}.transpose({axes})",
                f"np.diagonal({a}, {rng.randint(-1, 1)}, {i}, {j})", f"np.rot90({a})",
                f"{a}.diagonal()", f"np.flip({a}, {i})", f"np.fliplr({a})",
            ]  # fmt: skip
        exact = a not in self.made.slack
        if exact and (
            value.dtype.kind in "iu" or (value.dtype.char in "fd" and not np.isnan(value).any())
        ):
            other = {8: "i8", 4: "u4", 2: "i2", 1: "i1"}[value.dtype.itemsize]
            choices += [f"{a}.view('{other}')"]
            if value.dtype.kind in "iu":
                choices += [f"{a}.view('u1')"]
        self.new(rng.choice(choices), a)

    def unary(self) -> None:
        a = self.any_array()
        name = self.rng.choice(UNARY)
        if name == "cbrt" and self.env[a].dtype.char == "g":
            return
        self.new(f"np.{name}({a})")

    def binary(self) -> None:
        a = self.any_array()
        b = self.like(self.env[a].shape)
        if self.rng.random() < 0.2:
            a, b = b, a
        if self.rng.random() < 0.5:
            name = self.rng.choice(BINARY)
            if name in _EXTREMES and (self.has_negative_zero(a) or self.has_negative_zero(b)):
                return  # which zero NumPy's loop picks depends on where it stands
            self.new(f"np.{name}({a}, {b})")
        else:
            self.new(f"{a} {self.rng.choice(OPERATORS)} {b}")

    def two_outputs(self) -> None:
        a = self.any_array()
        value = self.env[a]
        if value.dtype.kind not in "iuf" or not value.ndim:
            return
        self.count += 2
        names = f"a{self.count - 1}, a{self.count}"
        call = (
            f"np.divmod({a}, {self.like(value.shape)})"
            if self.rng.random() < 0.5
            else f"np.modf({a})"
        )
        probe = run_line(f"probe_ = {call}", self.env)
        found = self.env.pop("probe_", ())
        if probe is not None or all(isinstance(x, np.ndarray) for x in found):
            self.emit(f"{names} = {call}")

    def fused(self) -> None:
        """A long elementwise chain in one line."""
        a = self.any_array()
        shape = self.env[a].shape
        self.new(f"({a} * {self.like(shape)} + {self.like(shape)}) - {self.like(shape)} * {a}")

    def cast(self) -> None:
        a = self.any_array()
        wanted = self.dtype()
        if self.castable(self.env[a], np.dtype(wanted)):
            self.new(f"{a}.astype('{wanted}')")

    def copy(self) -> None:
        a = self.any_array(exact=False)
        how = (
            f"{a}.copy()",
            f"np.array({a})",
            f"{a}.flatten()",
            f"np.copy({a})",
            f"+{a}",
            f"np.ascontiguousarray({a})",
        )
        if self.env[a].dtype == bool:
            how = how[:4]
        self.new(self.rng.choice(how), a)

    def join(self) -> None:
        rng = self.rng
        a = self.any_array()
        shape = self.env[a].shape
        same = [n for n in self.arrays() if self.env[n].shape == shape]
        b, c = rng.choice(same), rng.choice(same)
        axis = rng.randint(0, max(len(shape) - 1, 0))
        line = rng.choice(
            (
                f"np.concatenate([{a}, {b}, {c}], axis={axis})",
                f"np.stack([{a}, {b}], axis={axis})",
                f"np.vstack([{a}, {b}])",
                f"np.hstack([{a}, {b}])",
                f"np.roll({a}, {rng.randint(-5, 5)}, axis={axis})",
                f"np.roll({a}, {rng.randint(-5, 5)})",
                f"np.roll({a}, ({rng.randint(-2, 2)}, {rng.randint(-1, 1)}), axis=({axis}, 0))",
                f"np.roll({a}, 1, {axis}) + np.roll({a}, -1, {axis}) + np.roll({a}, 1, 0)",
                f"np.where({a} > {b}, {a}, {c})",
                f"np.where({a}, {b}, {self.scalar()})",
                f"np.diff({a}, axis={axis})",
                f"np.clip({a}, {rng.choice((-1, 0))}, {rng.choice((1, 2.5))})",
                f"np.round({a}, {rng.choice((0, 1))})",
                f"np.pad({a}, 1)",
                f"np.tile({a}, 2)",
                f"np.repeat({a}, 2, axis={axis})",
                f"np.cumsum({a}, axis={axis})"
                if self.env[a].dtype.kind in "iu"
                else f"np.sort({a}) + 0",
                f"np.outer({a}, [1, 2, 3])",
                f"np.add.outer({a}, np.array([1, 2]))",
                f"np.minimum.accumulate({a}, axis={axis})",
            )
        )
        if not line.startswith(("np.clip", "np.minimum")) or not self.has_negative_zero(a):
            self.new(line)

    def gather(self) -> None:
        a = self.any_array()
        shape = self.env[a].shape
        self.new(f"{a}[{self.indices(shape)}]")

    def take(self) -> None:
        a = self.any_array()
        shape = self.env[a].shape
        if shape and shape[0]:
            self.new(f"np.take({a}, [0, -1, {shape[0] - 1}], axis=0)")
        if shape and 0 not in shape:
            rng, axis = self.rng, self.rng.randrange(len(shape))
            n = shape[axis]
            mask = f"np.array({self.fresh_data(shape, '?')})"
            few = [rng.randint(-n, n - 1) for _ in range(rng.randint(1, 5))]
            self.new(
                rng.choice(
                    (
                        f"np.take({a}, np.array({few}), axis={axis}, mode='wrap')",
                        f"np.compress([True, False] * {n // 2}, {a}, axis={axis})",
                        f"np.extract({mask}, {a})",
                        f"np.flatnonzero({mask})",
                        f"np.argwhere({mask}).sum(axis=0)",
                        f"np.repeat({a}, {[abs(k) % 3 for k in few]}[:1] * {n}, axis={axis})",
                        f"np.choose(np.array({self.fresh_data(shape, '?')}), [{a}, 3])",
                        f"{a}.flat[{rng.randint(0, 3)}::{rng.randint(1, 4)}]",
                        f"{a}.flat[np.array({few}) % {n}]",
                        f"np.delete({a}, {few}, axis={axis})",
                        f"np.insert({a}, {few[0]}, 1, axis={axis})",
                    )
                )
            )

    # ------------------------------------------------------------ reductions

    def reduce_exactly(self) -> None:
        a = self.any_array()
        value = self.env[a]
        names = ["any", "all"]
        if value.dtype.kind in "biu":
            names += ["sum", "prod", "max", "min", "sum", "argmax", "argmin", "ptp"]
            if not value.size or value.dtype.itemsize < 8 or np.abs(value).max() < 1e9:
                names += ["mean"]  # of an exact sum
        elif value.dtype.kind == "f" and not self.has_negative_zero(a):
            names += ["max", "min", "argmax", "argmin", "max", "min"]
        name = self.rng.choice(names)
        options = self.options(value, masks=name in {"sum", "prod", "max", "min"})
        if name in {"argmax", "argmin"}:
            options = f"axis={self.rng.choice(('None', *map(str, range(value.ndim))))}"
        self.new(
            f"{a}.{name}({options})"
            if self.rng.random() < 0.5 and name != "ptp"
            else f"np.{name}({a}, {options})"
        )

    def sum_exactly(self) -> None:
        """A float sum of small whole numbers, the same in any order."""
        a = self.any_array()
        if self.env[a].dtype.kind == "f":
            inner = f"np.rint(np.clip(np.nan_to_num({a}), -9, 9)) + 0.0"
            name = self.rng.choice(("sum", "mean", "sum", "count_nonzero"))
            self.new(f"np.{name}({inner}, axis={self.axis(self.env[a].ndim)})")

    def sum_nearly(self) -> None:
        """A float sum, equal within the rounding of its terms."""
        a = self.any_array()
        value = self.env[a]
        if value.dtype.kind not in "fc" or not np.isfinite(value).all() or not value.size:
            return
        largest = float(np.abs(value).max()) + 1e-30
        if largest > 1e3 or value.dtype == np.float16:
            return
        eps = float(np.finfo(value.dtype).eps)
        name = self.rng.choice(("sum", "mean", "var", "std"))
        spread = largest**2 if name in {"var", "std"} else largest
        slack = 16 * eps * value.size * spread
        if name == "std":
            slack = slack**0.5
        ddof = f", ddof={self.rng.choice((0, 1))}" if name in {"var", "std"} else ""
        self.count += 1
        expression = f"np.{name}({a}, {self.options(value, masks=False)}{ddof})"
        if run_line(f"probe_ = {expression}", self.env) is None:
            letter = "a" if isinstance(self.env["probe_"], np.ndarray) else "s"
            self.emit(f"{letter}{self.count} = {expression}", slack)

    def contract(self) -> None:
        a = self.any_array()
        value = self.env[a]
        if not value.ndim or value.dtype.char in "gG" or value.dtype == np.float16:
            return
        with np.errstate(all="ignore"):
            calm_values = not value.size or (np.isfinite(value).all() and np.abs(value).max() < 1e3)
        if not calm_values:
            return
        if not value.flags.c_contiguous:
            return
        inner = value.shape[-1]
        columns, dtype = self.rng.randint(1, 4), self.rng.choice(("f8", "i8", "f4"))
        calm = f"numpy.nan_to_num({self.fresh_data((inner, columns), dtype)}, posinf=3, neginf=-3)"
        other = f"np.array({calm})"
        choices = [
            f"{a} @ {other}", f"np.dot({a}, {other})", f"np.einsum('...i,ij->...j', {a}, {other})",
            f"np.tensordot({a}, {other}, 1)", f"np.matmul({a}, {other})",
            f"({a} @ {other}) * 2 + 1", f"np.abs({a} @ {other}).sum(-1)",
        ]  # fmt: skip
        if value.dtype.kind in "iufc":
            choices += [f"{a}.T @ {a}", f"{a}.T @ np.tanh({a})"]
            choices += [f"np.einsum('i...,i...->...', {a}, {a})"]
        expression = self.rng.choice(choices)
        eps = float(np.finfo(value.dtype).eps) if value.dtype.kind in "fc" else 1e-7
        self.count += 1
        if run_line(f"probe_ = {expression}", self.env) is not None:
            self.emit(f"a{self.count} = {expression}")
        elif isinstance(self.env["probe_"], np.ndarray):
            scale = 1 + (float(np.abs(value).max()) if value.size else 0)
            if expression.count(a) > 1:  # times itself
                scale *= scale * len(value)
            self.emit(f"a{self.count} = {expression}", max(eps, 2e-7) * inner * 100 * scale)

    # ------------------------------------------------------------ lines that write

    def assign(self) -> None:
        a = self.any_array(writable=True)
        value = self.env[a]
        key = self.key(value.shape)
        run_line(f"probe_ = {a}[{key}]", self.env)
        target = np.shape(self.env.pop("probe_", ()))
        given = self.like(target)
        run_line(f"probe_ = {given}", self.env)
        if not self.castable(self.env.pop("probe_", 0), value.dtype):
            return
        line = f"{a}[{key}] = {given}"
        if "tolist" not in given or run_line(f"numpy.array({given}, {a}.dtype)", self.env) is None:
            self.emit(line)  # NumPy leaves a list written half way when an element does not fit

    def overlap(self) -> None:
        a = self.any_array(writable=True)
        shape = self.env[a].shape
        if shape:
            lead = ":, " * self.rng.randint(0, len(shape) - 1)
            to, source = self.rng.choice(
                (("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), (":", "::-1"), ("2:", ":-2"))
            )
            op = self.rng.choice(("=", "=", "+=", "-="))
            if self.env[a].dtype == bool:
                op = "="
            self.emit(f"{a}[{lead}{to}] {op} {a}[{lead}{source}]")

    def assign_in_place(self) -> None:
        a = self.any_array(writable=True)
        key = self.key(self.env[a].shape)
        run_line(f"probe_ = {a}[{key}]", self.env)
        target = np.shape(self.env.pop("probe_", ()))
        self.guarded(f"{a}[{key}] {self.rng.choice(IN_PLACE)} {self.like(target)}", a)

    def in_place(self) -> None:
        a = self.any_array(writable=True)
        self.guarded(f"{a} {self.rng.choice(IN_PLACE)} {self.like(self.env[a].shape)}", a)

    def guarded(self, line: str, target: str) -> None:
        """Add a line unless it may convert floats that C does not define to integers."""
        if self.env[target].dtype.kind in "iu" and "1j" in line:
            return
        left, _, right = line.partition(" **= ")
        if run_line(f"{left} ** ({right})" if right else "0", self.env) is not None:
            return  # NumPy leaves garbage in an array whose power raised half way
        self.emit(line)

    def assign_advanced(self) -> None:
        a = self.any_array(writable=True)
        value = self.env[a]
        index = self.indices(value.shape)
        if index in self.env and np.may_share_memory(self.env[index], value):
            return  # NumPy reads such a mask while it writes to it
        if run_line(f"probe_ = {a}[{index}]", self.env) is not None:
            self.emit(f"{a}[{index}] = 1")
            return
        shape = self.env["probe_"].shape
        given = self.rng.choice(
            (self.scalar(), f"np.array({self.fresh_data(shape)})", self.fresh_data(shape))
        )
        run_line(f"probe_ = {given}", self.env)
        if self.castable(self.env.pop("probe_", 0), value.dtype):
            op = self.rng.choice(("=", "=", "=", "+=", "*="))
            self.emit(f"{a}[{index}] {op} {given}")

    def write_by_function(self) -> None:
        a = self.any_array(writable=True)
        value = self.env[a]
        rng = self.rng
        fitting = [n for n in self.arrays() if self.env[n].shape == value.shape]
        b = rng.choice(fitting)
        mask = f"np.array({self.fresh_data(value.shape, '?')})"
        lines = [
            f"{a}.fill({rng.randint(0, 5)})", f"np.copyto({a}, {b}, casting='same_kind')",
            f"np.add({a}, {b}, out={a})", f"np.subtract({b}, {a}, out={a})",
            f"np.multiply({a}, {b}, out={a}, where={mask})", f"np.maximum({b}, {a}, {a})",
            f"np.negative({b}, out={a})", f"np.copyto({a}, {rng.randint(0, 5)}, where={mask})",
            f"np.putmask({a}, {mask}, {rng.randint(0, 5)})",
        ]  # fmt: skip
        if value.ndim and value.size:
            # equal values may come in any order: zeros of either sign are made alike
            alike = f"{a} += {a}.dtype.type(0)"
            lines += [
                f"{a}.sort(); {alike}",
                f"np.put({a}, [0, -1], [1, 2])",
                f"np.add.at({a}, [0, 0], 1)",
            ]
            total = (
                f"np.sum({a}, axis=0, out={a}[0])"
                if value.dtype.kind in "iu"
                else f"{a}.sort(axis=0); {alike}"
            )
            lines += [
                total,
                f"np.place({a}, {mask}, [1, 2, 3])",
                f"np.put({a}, np.array([0, -1, 0]), [1, 2, 3])",
                f"{a}.flat[::{rng.randint(1, 4)}] = [1, 2, 3]",
                f"{a}.flat = {rng.randint(0, 5)}",
                f"{a}.T[{rng.randint(0, 1)}:] = {rng.randint(0, 5)}",
            ]
        line = rng.choice(lines)
        if "np.maximum" not in line or not (self.has_negative_zero(a) or self.has_negative_zero(b)):
            self.emit(line)

    def part(self) -> None:
        """Write through ``.real`` and ``.imag``."""
        a = self.any_array(writable=True)
        if self.env[a].dtype.kind in "fc":
            name = "imag" if self.env[a].dtype.kind == "c" and self.rng.random() < 0.5 else "real"
            given = self.rng.choice(("2", "0.5", self.fresh_data(self.env[a].shape, "f4")))
            self.emit(f"{a}.{name} = {given}")

    # ------------------------------------------------------------ the rest of life

    def forget(self) -> None:
        if len(self.arrays()) > 3:
            self.emit(f"del {self.any_array(exact=False)}")

    def look(self) -> None:
        names = variables(self.env)
        if names:
            self.made.lines.append(f"#look {self.rng.choice(names)} {self.rng.choice(LOOKS)}")

    def host(self) -> None:
        """Host arrays: aliased, used as operands, and changed after they were used."""
        rng = self.rng
        hosts = [n for n in variables(self.env) if n[0] == "h"]
        if not hosts or rng.random() < 0.3:
            self.count += 1
            self.emit(f"h{self.count} = {self.fresh_data(self.shape())}")
            return
        h = rng.choice(hosts)
        if rng.random() < 0.5 and self.env[h].flags.writeable:
            self.emit(f"{h}[...] = {rng.randint(0, 5)}")
        elif rng.random() < 0.5:
            self.new(f"np.asarray({h})")
        elif self.arrays():
            a = self.any_array()
            self.new(f"{a} + {h}")

    def export(self) -> None:
        a = self.any_array()
        self.count += 1
        self.emit(f"h{self.count} = numpy.asarray({a})")

    def scalar_life(self) -> None:
        rng = self.rng
        scalars = [n for n in variables(self.env) if n[0] == "s" and n not in self.made.slack]
        if not scalars:
            return self.reduce_exactly()
        s = rng.choice(scalars)
        self.count += 1
        value = self.env[s]
        if not isinstance(value, np.generic):
            return None
        a = self.any_array(writable=True)
        extent = (self.env[a].shape or (0,))[0]
        if value.dtype.kind in "iu" and extent and rng.random() < 0.4:
            self.emit(f"{a}[{s} % {extent}] = 1")
        elif rng.random() < 0.5:
            self.new(
                f"{s} {rng.choice(('+', '*', '-', '<', '=='))} {rng.choice(('1', '2.5', *scalars))}"
            )
        else:
            self.emit(
                f"s{self.count} = {s}; {s} += 1" if value.dtype != bool else f"s{self.count} = {s}"
            )
        return None


_EXTREMES = frozenset({"maximum", "minimum", "fmax", "fmin"})


def _regrouped(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return another shape of the same size (now and then one that does not fit)."""
    if rng.random() < 0.03:
        return (*shape, 2)
    if not shape:
        return (1, 1)
    k = rng.randint(0, len(shape) - 1)
    if len(shape) > 1 and rng.random() < 0.5:
        k = min(k, len(shape) - 2)
        return (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :])
    divisors = [d for d in range(1, shape[k] + 1) if shape[k] % d == 0] or [1]
    d = rng.choice(divisors)
    return (*shape[:k], d, shape[k] // d if d else 0, *shape[k + 1 :])


KINDS: dict[Callable[[Writer], None], int] = {
    Writer.create: 3, Writer.create_like: 1, Writer.view: 14, Writer.unary: 5, Writer.binary: 9,
    Writer.two_outputs: 1, Writer.fused: 4, Writer.cast: 2, Writer.copy: 2, Writer.join: 4,
    Writer.gather: 2, Writer.take: 1, Writer.reduce_exactly: 5, Writer.sum_exactly: 2,
    Writer.sum_nearly: 2, Writer.contract: 2, Writer.assign: 9, Writer.overlap: 4,
    Writer.assign_in_place: 6, Writer.in_place: 6, Writer.assign_advanced: 4,
    Writer.write_by_function: 4, Writer.part: 1, Writer.forget: 3, Writer.look: 6, Writer.host: 3,
    Writer.export: 2, Writer.scalar_life: 3, Writer.in_turn: 2,
    Writer.masked: 5,
}  # fmt: skip
