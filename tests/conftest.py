"""What every test may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture
def managed() -> Iterator[None]:
    """Small arrays go through the engine, and through several tiles, in every mode."""
    kept = (config.eager_below, config.tile_rows_max, config.tile_bytes)
    config.eager_below = min(config.eager_below, 8)
    config.tile_rows_max = min(config.tile_rows_max, 5)
    yield
    config.eager_below, config.tile_rows_max, config.tile_bytes = kept
