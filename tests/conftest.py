"""What every test may ask for."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# nothing is measured behind a test's back, and no test reads or leaves what runs have taught
os.environ.setdefault("DNUMPY_CALIBRATE", "off")
os.environ.setdefault("DNUMPY_REMEMBER", "0")

from dnumpy.config import config
from dnumpy.expr import origin

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def settings_stay() -> Iterator[None]:
    """A test that leaves a setting changed fails itself, and not another one later."""
    before = dataclasses.replace(config)
    yield
    left, kept = dataclasses.replace(config), before
    for field in dataclasses.fields(config):
        setattr(config, field.name, getattr(kept, field.name))
    assert left == kept


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_line() -> None:
    """What lines that tests share did in other tests decides nothing in this one."""
    origin._known.clear()


@pytest.fixture
def managed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays go through the engine, and through several tiles, in every mode."""
    monkeypatch.setattr(config, "eager_below", min(config.eager_below, 8))
    monkeypatch.setattr(config, "tile_rows_max", min(config.tile_rows_max, 5))
