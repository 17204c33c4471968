"""Lines of random programs that go through elements one after the other, or in their order."""

from __future__ import annotations

from tests.choices import Choices

IN_TURN = ("subtract", "floor_divide", "remainder", "fmod", "left_shift", "less", "copysign")


class Turns(Choices):
    """Adds lines about what comes before what."""

    def in_turn(self) -> None:
        """Add running folds that do not fold in blocks."""
        a = self.any_array()
        shape = self.env[a].shape
        axis = self.rng.randint(0, max(len(shape) - 1, 0))
        self.new(f"np.{self.rng.choice(IN_TURN)}.accumulate({a}, axis={axis})")
