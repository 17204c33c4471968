"""Shares to whole numbers."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from dnumpy.plan.rounding import largest_remainder

shares_of = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@given(shares_of, st.integers(0, 10**9))
def test_without_caps_every_number_is_its_quota_rounded_down_or_up(
    shares: list[float], total: int
) -> None:
    assume(sum(shares) > 1e-3)
    n = len(shares)
    counts = largest_remainder(shares, total, [total] * n, [1.0] * n)
    assert counts is not None
    assert sum(counts) == total
    for count, share in zip(counts, shares, strict=True):
        assert abs(count - share / sum(shares) * total) < 1 + 1e-6 * max(total, 1) / 1e3


@given(st.data(), shares_of)
def test_caps_hold_and_the_total_is_met(data: st.DataObject, shares: list[float]) -> None:
    n = len(shares)
    caps = data.draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n))
    total = data.draw(st.integers(0, sum(caps)))
    counts = largest_remainder(shares, total, caps, [1.0] * n)
    assert counts is not None
    assert sum(counts) == total
    assert all(0 <= count <= cap for count, cap in zip(counts, caps, strict=True))


def test_the_rest_goes_to_the_largest_remainder_and_among_equals_to_the_fastest() -> None:
    assert largest_remainder([0.5, 0.3, 0.2], 4, [4, 4, 4], [1, 1, 1]) == [2, 1, 1]
    assert largest_remainder([1, 1, 1], 4, [4, 4, 4], [1, 3, 2]) == [1, 2, 1]


@given(st.data(), shares_of)
def test_the_total_is_met_or_the_caps_do_not_hold_it(
    data: st.DataObject, shares: list[float]
) -> None:
    n = len(shares)
    caps = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    total = data.draw(st.integers(0, 4 * n))
    counts = largest_remainder(shares, total, caps, [1.0] * n)
    assert (counts is None) == (sum(caps) < total)
    assert counts is None or sum(counts) == total
