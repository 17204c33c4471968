"""Lines of a program whose results wait."""

from __future__ import annotations

from dnumpy.expr import origin


def lines_wait() -> None:
    """Let all lines that are known be known to wait."""
    for known in [found[3] for found in origin.sites.values()]:
        known.site.alone = 0
