"""Two workers of unequal speed: the kernel holds one of them to a quarter of a core."""

from __future__ import annotations

import pytest

from benchmarks.cluster import measure
from benchmarks.quota import why_no_quota
from dnumpy.config import config

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.timeout(200),
    pytest.mark.skipif(
        config.mode != "default", reason="speeds are not measured in tiles of five rows"
    ),
    pytest.mark.skipif(bool(why_no_quota()), reason=why_no_quota() or "quotas can be set"),
]


def test_a_worker_held_to_a_quarter_of_a_core_gets_less_than_half_of_the_others_rows():
    outcome = measure((1.0, 0.25), size=60_000_000, runs=3)
    assert sum(outcome.rows) == 60_000_000
    assert outcome.rows[0] > 2 * outcome.rows[1] > 0
    # how near the split comes to the speeds is timed by `python -m benchmarks.cluster`
