"""Two workers of unequal speed: the kernel holds one of them to a quarter of a core."""

from __future__ import annotations

import pytest

from benchmarks.cluster import measure
from benchmarks.quota import why_no_quota
from dnumpy.config import config

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(200),
    pytest.mark.skipif(
        config.mode != "default", reason="speeds are not measured in tiles of five rows"
    ),
    pytest.mark.skipif(bool(why_no_quota()), reason=why_no_quota() or "quotas can be set"),
]


def test_rows_are_planned_in_the_ratio_of_measured_speeds():
    outcome = measure((1.0, 0.25), size=60_000_000, runs=3)
    assert sum(outcome.rows) == 60_000_000
    assert outcome.rows[0] > 2 * outcome.rows[1] > 0
    assert outcome.split_error < 0.15
