"""What a random program may be made of: variables, shapes, operands and indices that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.programs import DTYPES, Program, environment, run_line, variables

if TYPE_CHECKING:
    import random

SCALARS = (
    "2",
    "-1",
    "0",
    "0.5",
    "-3.0",
    "True",
    "1j",
    "np.float32(1.5)",
    "np.int8(3)",
    "300",
    "np.uint8(7)",
)


class Choices:
    """One program in the making; NumPy runs each line as it is written."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.env = environment(np)
        self.made = Program([])
        self.count = 0

    def create(self) -> None:
        """Add a line that makes an array."""
        raise TypeError(type(self))

    def emit(self, line: str, slack: float | None = None) -> bool:
        """Add a line; say whether NumPy ran it without an error."""
        self.made.lines.append(line)
        failed = run_line(line, self.env) is not None
        name = line.split(" = ", maxsplit=1)[0]
        if slack is not None and not failed:
            for part in name.split(", "):
                self.made.slack[part] = slack
        return not failed

    def new(self, expression: str, *parents: str) -> bool:
        """Add ``aN = expression`` (``sN`` where NumPy gives a scalar)."""
        self.count += 1
        probe = run_line(f"probe_ = {expression}", self.env)
        value = self.env.pop("probe_", None)
        if probe is None and (not isinstance(value, (np.ndarray, np.generic)) or value.size > 5000):
            return False
        if probe is None and value.dtype.kind not in "biufc":
            return False
        letter = "s" if isinstance(value, np.generic) else "a"
        slacks = [self.made.slack[p] for p in parents if p in self.made.slack]
        return self.emit(f"{letter}{self.count} = {expression}", max(slacks) if slacks else None)

    def arrays(self, *, exact: bool = True, writable: bool = False) -> list[str]:
        return [
            n
            for n in variables(self.env)
            if n[0] == "a"
            and isinstance(self.env[n], np.ndarray)
            and not (exact and n in self.made.slack)
            and not (writable and not self.env[n].flags.writeable)
        ]

    def any_array(self, **which: bool) -> str:
        found = self.arrays(**which)
        if not found:
            self.create()
            found = self.arrays(**which) or self.arrays()
        # recent variables more often, so that chains get long
        return found[-1 - min(int(self.rng.expovariate(0.35)), len(found) - 1)]

    def shape(self) -> tuple[int, ...]:
        rng = self.rng
        ndim = rng.choices((0, 1, 2, 3, 4), (1, 8, 10, 4, 1))[0]
        longest = {0: 1, 1: 40, 2: 13, 3: 7, 4: 4}[ndim]
        return tuple(
            rng.choices((0, 1, rng.randint(2, longest)), (1, 4, 30))[0] for _ in range(ndim)
        )

    def dtype(self) -> str:
        return self.rng.choices(list(DTYPES), list(DTYPES.values()))[0]

    def fresh_data(self, shape: tuple[int, ...], dtype: str | None = None) -> str:
        return f"data({self.rng.randint(0, 999)}, {shape}, '{dtype or self.dtype()}')"

    def scalar(self) -> str:
        scalars = [n for n in variables(self.env) if n[0] == "s" and n not in self.made.slack]
        if scalars and self.rng.random() < 0.3:
            return self.rng.choice(scalars)
        return self.rng.choice(SCALARS)

    def like(self, shape: tuple[int, ...]) -> str:
        """Return an operand that broadcasts with ``shape``, most of the time."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.25:
            return self.scalar()
        if roll < 0.3:
            return self.any_array()
        fitting = [n for n in self.arrays() if _fits(self.env[n].shape, shape)]
        if fitting and roll < 0.85:
            return rng.choice(fitting[-4:])
        inner = tuple(1 if rng.random() < 0.2 else n for n in shape)[rng.choice((0, 0, 0, 1)) :]
        made = self.fresh_data(inner)
        if rng.random() < 0.1:
            return f"{made}.tolist()"
        return made if rng.random() < 0.3 else f"np.array({made})"

    def key(self, shape: tuple[int, ...]) -> str:
        """Return a basic index."""
        rng = self.rng
        parts: list[str] = []
        for extent in shape[: rng.randint(0, len(shape)) if rng.random() < 0.3 else len(shape)]:
            if rng.random() < 0.05:
                parts.append("None")
            parts.append(self.slice_of(extent) if rng.random() < 0.8 else self.position(extent))
        if rng.random() < 0.1:
            parts.insert(rng.randint(0, len(parts)), "...")
        return ", ".join(parts) or "..."

    def position(self, extent: int) -> str:
        if self.rng.random() < 0.03 or not extent:
            return str(extent + 1)
        at = self.rng.randint(-extent, extent - 1)
        return f"np.int64({at})" if self.rng.random() < 0.1 else str(at)

    def slice_of(self, extent: int) -> str:
        rng = self.rng
        if rng.random() < 0.25:
            return rng.choice((":", "::-1", "::2", "1::2", "1:", ":-1", "-2::-2"))
        lo, hi = sorted((rng.randint(0, extent), rng.randint(0, extent)))
        step = rng.choice((1, 1, 1, 2, 3))
        if rng.random() < 0.3:
            return f"{hi}:{lo or ''}:{-step}"
        return f"{lo}:{hi}:{step}" if step > 1 else f"{lo}:{hi}"

    def indices(self, shape: tuple[int, ...]) -> str:
        """Return an advanced index: a mask, or index lists with duplicates."""
        rng = self.rng
        if rng.random() < 0.4:
            masks = [
                n for n in self.arrays() if self.env[n].dtype == bool and self.env[n].shape == shape
            ]
            if masks and rng.random() < 0.8:
                return rng.choice(masks)
            made = self.fresh_data(shape, "?")
            return made if rng.random() < 0.4 else f"np.array({made})"
        if not shape or not shape[0]:
            return "..."
        picked = [rng.randint(-shape[0], shape[0] - 1) for _ in range(rng.randint(1, 6))]
        first = rng.choice((f"{picked}", f"np.array({picked})", f"numpy.array({picked})"))
        if len(shape) > 1 and shape[1] and rng.random() < 0.4:
            second = [rng.randint(0, shape[1] - 1) for _ in picked]
            return f"{first}, {rng.choice((str(second), ':', '0', '::-1'))}"
        return first

    def axis(self, ndim: int) -> str:
        rng = self.rng
        if not ndim or rng.random() < 0.3:
            return "None"
        picked = (
            rng.sample(range(-ndim, ndim), rng.randint(1, ndim))
            if rng.random() < 0.4
            else [rng.randint(-ndim, ndim - 1)]
        )
        return str(tuple(picked)) if len(picked) > 1 else str(picked[0])

    def options(self, value: np.ndarray, *, masks: bool = True) -> str:
        rng = self.rng
        text = f"axis={self.axis(value.ndim)}"
        if rng.random() < 0.3:
            text += ", keepdims=True"
        if masks and rng.random() < 0.2:
            text += f", initial={rng.choice((0, 1, 2.5, -3))}"
            if rng.random() < 0.5:
                text += f", where=np.array({self.fresh_data(value.shape, '?')})"
        return text

    def has_negative_zero(self, expression: str) -> bool:
        if run_line(f"probe_ = numpy.asarray({expression})", self.env) is not None:
            return False
        value = self.env.pop("probe_")
        parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
        return value.dtype.kind in "fc" and any(bool(np.signbit(p[p == 0]).any()) for p in parts)

    def castable(self, value: Any, dtype: np.dtype) -> bool:
        """Say whether C defines the conversion of every element."""
        value = np.asarray(value)
        if value.dtype.kind not in "fc" or dtype.kind in "fcb":
            return True
        low, high = (0, 100) if dtype.kind == "u" else (-100, 100)
        with np.errstate(all="ignore"):
            return bool(np.all((value.real >= low) & (value.real <= high)))


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
