"""The patterns of benchmarks.fusion are computed in few stages, and give what NumPy gives."""

from __future__ import annotations

import pytest

import dnumpy
from benchmarks import fusion

ONE_STAGE = set(fusion.PATTERNS) - {
    "bincount", "variance of columns", "standardise", "stencil in place"
}  # fmt: skip


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", 1000)


@pytest.mark.parametrize("name", fusion.PATTERNS)
def test_a_pattern_is_what_numpy_gives_in_as_many_stages_as_are_known(name: str) -> None:
    found = fusion.measured(name, 400_000, 1)
    assert found.seconds > 0
    assert found.numpy_seconds > 0
    if name in ONE_STAGE:
        assert found.stages == 1


def test_what_is_pending_stays_pending_while_stages_are_counted() -> None:
    x = dnumpy.array([1.0] * 5000) + 1.0
    assert len(fusion.pending([x])) == 1
    assert len(fusion.pending([x])) == 1


def test_the_table_has_a_row_for_each_pattern() -> None:
    row = fusion.Found("chain", 1, 100, 0.5, 1.0, 0, 10)
    assert row.ratio == 2.0
    assert row.passes(200.0) == 1.0
    assert row.passes(200.0, of_numpy=True) == 2.0
    assert fusion.table([row, row], 1.0).row_count == 2
