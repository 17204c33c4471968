"""The sizes that shape stages, from the settings."""

from __future__ import annotations

from dnumpy.config import EAGER_BELOW, config
from dnumpy.rewrite.cut import Grain

SMALLEST = 16_384  # elements of what is computed by tiles, at least
_known: list[tuple[int, Grain]] = []  # as of how many changes of the settings


def grain() -> Grain:
    """Return the sizes that shape stages, from the settings."""
    if not _known or _known[0][0] != config.changes:
        _known[:] = [(config.changes, _of_settings())]
    return _known[0][1]


def _of_settings() -> Grain:
    default = config.mode == "default"
    smallest = min(config.eager_below, SMALLEST) if default else 1
    numpys = config.eager_below if default and config.eager_below == EAGER_BELOW else 0
    return Grain(max(smallest, 1), config.tile_bytes, config.tile_rows_max, numpys)
