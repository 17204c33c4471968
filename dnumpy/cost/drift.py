"""Has a rate changed for good: CUSUM on what predictions leave unexplained.

The residual ``r = ln(observed / predicted)`` of a steady node scatters around 0. Its size is
learnt as it comes, by a running mean of ``|r|`` in which one accident counts little. Two sums, of
what lies above and of what lies below, grow only by what exceeds half a deviation, and one of them
passing the limit is the alarm: a factor of 2 shows in a handful of runs, while on steady noise
there is about one false alarm in some thousand runs.
"""

from __future__ import annotations

from dataclasses import dataclass

ALLOWANCE = 0.5  # deviations
LIMIT = 8.0  # deviations
MOST = 4.0  # deviations that one run counts: no alarm is one accident's doing
PRIOR_DEVIATION = 0.15
LEAST_DEVIATION = 0.05
DEVIATION_WEIGHT = 0.05
SETTLED = 3  # runs in which the average that is watched still comes to rest
_PER_MEAN = 1.2533  # of a normal variable: deviations in the mean of its absolute values


@dataclass(slots=True)
class Cusum:
    """Both sums, in deviations, and the deviation itself."""

    above: float = 0.0
    below: float = 0.0
    mean: float = PRIOR_DEVIATION / _PER_MEAN
    count: int = 0

    @property
    def deviation(self) -> float:
        """What the residuals of a steady node have been seen to scatter by."""
        return max(LEAST_DEVIATION, self.mean * _PER_MEAN)

    def clipped(self, residual: float) -> float:
        """Return the residual, at most three deviations: what an average may move by."""
        most = 3 * self.deviation
        return min(max(residual, -most), most) if self.count >= SETTLED else residual

    def observe(self, residual: float) -> bool:
        """Take in one run; return True where the rate has changed, and begin anew."""
        self.count += 1
        if self.count <= SETTLED:
            return False
        deviation = self.deviation
        z = min(max(residual / deviation, -MOST), MOST)
        self.mean += DEVIATION_WEIGHT * (min(abs(residual), 3 * deviation) - self.mean)
        self.above = max(0.0, self.above + z - ALLOWANCE)
        self.below = max(0.0, self.below - z - ALLOWANCE)
        if max(self.above, self.below) < LIMIT:
            return False
        self.above = self.below = 0.0
        self.count = 0
        return True
