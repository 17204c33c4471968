"""Lines of random programs that go through elements one after the other, or in their order."""

from __future__ import annotations

from tests.choices import Choices

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
