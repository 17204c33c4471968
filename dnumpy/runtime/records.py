"""What a stage did: the measured side of every prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dnumpy.rewrite.phase import Phase


class Record(NamedTuple):
    """One stage that ran.

    ``where`` lists (node, rows); ``seconds`` is wall time; ``node_seconds`` the time inside each
    node's task; predictions are None where nothing was predicted; ``phase`` is what ran, None for
    a single op. ``nbytes`` is what the stage reads and writes.
    """

    what: str
    where: tuple[tuple[str, int], ...]
    seconds: float
    nbytes: int
    lowering: str = "tiled"
    node_seconds: tuple[float, ...] = ()
    predicted_seconds: float | None = None
    predicted_node_seconds: tuple[float, ...] = ()
    predicted_peak_bytes: tuple[int, ...] = ()
    phase: Phase | None = None
