"""The list of filters keeps its first entry in front."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from dnumpy.expr.watch import Filters, watch

if TYPE_CHECKING:
    import pytest

FIRST: Any = ("ignore", None, ImportWarning, None, 0)


def test_what_programs_do_with_filters_leaves_the_first_one_in_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warnings, "filters", Filters([FIRST]))
    warnings.simplefilter("always")
    warnings.filterwarnings("error", "this", RuntimeWarning)
    assert [entry[0] for entry in warnings.filters] == ["ignore", "error", "always"]
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        assert [entry[0] for entry in warnings.filters] == ["ignore", "default", "error", "always"]
        warnings.resetwarnings()
        assert list(warnings.filters) == [FIRST]
    assert [entry[0] for entry in warnings.filters] == ["ignore", "error", "always"]
    assert warnings.filters[1:][0] == warnings.filters[1]


def test_a_filter_behind_the_first_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "filters", Filters([FIRST]))
    assert not watch().may_raise()
    warnings.simplefilter("ignore")
    assert not watch().may_raise()
    entry: Any = ("error", None, RuntimeWarning, None, 0)
    warnings.filters[1] = entry  # type: ignore[index]
    assert watch().may_raise()
    warnings.resetwarnings()
    assert not watch().may_raise()
