"""What the tests of clusters share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dnumpy.runtime import returning, settling

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package", autouse=True)
def data_stays_on_workers() -> Iterator[None]:
    """A test on a slow machine would see its data come home (tests/runtime/test_returning.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(returning, "PATIENCE_SECONDS", float("inf"))
        yield


@pytest.fixture(autouse=True)
def rows_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they move is for what the runs of a test happen to take (test_settling*.py)."""
    monkeypatch.setattr(settling, "LEAST_PART", float("inf"))
