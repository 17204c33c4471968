"""Shares to whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME_REMAINDER = 9  # decimals: below this a remainder is the solver's noise, not a preference


def largest_remainder(
    shares: Sequence[float], total: int, caps: Sequence[int], speeds: Sequence[float]
) -> list[int] | None:
    """Return whole numbers that add up to ``total``, each at most its cap and near its share.

    None where the caps do not hold the total, as they may where room is cut down to whole granules.

    ``shares`` are not negative and need not add up to 1. Where no cap binds, each number is the
    exact quota rounded down or up; units left over go to the largest remainders first, equal ones
    to the higher speed.
    """
    if sum(caps) < total:
        return None
    whole = sum(shares)
    quotas = [share / whole * total for share in shares] if whole > 0 else [0.0] * len(shares)
    counts = [min(int(q + 1e-9), cap) for q, cap in zip(quotas, caps, strict=True)]
    _take_back(counts, total)
    left = total - sum(counts)
    while left:
        open_slots = [i for i, cap in enumerate(caps) if counts[i] < cap]
        wanted = [i for i in open_slots if shares[i] > 0] or open_slots
        wanted.sort(key=lambda i: (-round(quotas[i] - counts[i], SAME_REMAINDER), -speeds[i], i))
        each = max(1, left // len(wanted))
        for i in wanted[:left]:
            counts[i] += min(each, caps[i] - counts[i])
        left = total - sum(counts)
    return counts


def _take_back(counts: list[int], total: int) -> None:
    """Undo an excess of a few units that rounding noise in the quotas may give."""
    while sum(counts) > total:
        counts[counts.index(max(counts))] -= 1
