"""Lines of random programs about what comes before what: elements in turn, selections by masks."""

from __future__ import annotations

import numpy as np

from tests.choices import Choices
from tests.programs import run_line

IN_TURN = ("subtract", "floor_divide", "remainder", "fmod", "left_shift", "less", "copysign")


class Turns(Choices):
    """Adds lines about what comes before what."""

    def in_turn(self) -> None:
        """Add what goes through the elements one after the other."""
        a = self.any_array()
        shape = self.env[a].shape
        axis = self.rng.randint(0, max(len(shape) - 1, 0))
        b = self.any_array()
        ufunc = self.rng.choice(IN_TURN)
        self.new(
            self.rng.choice(
                (
                    f"np.{ufunc}.accumulate({a}, axis={axis})",
                    f"np.searchsorted(np.sort({b}, axis=None), {a})",
                    f"np.isin({a}, {b})",
                    f"np.unique(abs({a}), axis={axis})",
                    f"np.array([x for x in {a}.flat])",
                    f"np.array([x for _, x in np.ndenumerate({a})], {a}.dtype)",
                    f"np.array([x for x in {a}.reshape(-1)])",
                    f"np.array([x[()] for x in np.nditer({a}, ['zerosize_ok'])], {a}.dtype)",
                )
            )
        )

    def masked(self) -> None:
        """Add what is done to the elements that one mask shows."""
        rng = self.rng
        a = self.any_array(writable=True)
        value = self.env[a]
        mask = self.mask_of(value)
        fitting = [n for n in self.arrays() if self.env[n].shape == value.shape]
        b = rng.choice([a, *fitting])
        op, last = rng.choice(("+", "-", "*", "/")), rng.choice(("+", "*", "==", "-"))
        made = rng.choice((f"{a}[{mask}]", f"{a}[{mask}] {op} {b}[{mask}]"))
        made = f"({made} {last} {self.scalar()})"
        if run_line(f"probe_ = {made}", self.env) is not None:
            return
        probe = self.env.pop("probe_")
        match rng.randint(0, 3):
            case 0:
                self.new(made)
            case 1 if self.castable(probe, value.dtype):
                self.emit(f"{a}[{mask}] = {made}")
            case 2 if value.dtype.kind in "fc":
                self.emit(f"{a}[{mask}] {rng.choice('+-*/')}= {rng.choice((2, 0.5, 3, 0))}")
            case _:
                names = ["any()", "all()", "size", "shape[0]"]
                if probe.dtype.kind in "iub":
                    names += ["sum()", "max()", "min()", "prod()"]
                elif probe.dtype.kind == "f" and np.all(probe):
                    names += ["max()", "min()"]
                self.new(f"{made}.{rng.choice(names)}")

    def mask_of(self, value: np.ndarray) -> str:
        """Return a variable with a mask over all of ``value``."""
        masks = [
            n
            for n in self.arrays()
            if self.env[n].dtype == bool
            and self.env[n].shape == value.shape
            and not np.may_share_memory(self.env[n], value)
        ]
        if not masks or self.rng.random() < 0.3:
            self.new(f"np.array({self.fresh_data(value.shape, '?')})")
            return f"a{self.count}"
        return self.rng.choice(masks)
