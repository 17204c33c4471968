"""Meters what is brought together in one place, so that tests can say what must not be."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import bind, chunked

if TYPE_CHECKING:
    from collections.abc import Iterator


class Meter:
    """The bytes of every array that was brought to one place, home or a node."""

    def __init__(self) -> None:
        self.gathered: list[int] = []

    def most(self) -> int:
        """Return the bytes of the largest."""
        return max(self.gathered, default=0)


@contextmanager
def spread_out(*speeds: float, tile_rows: int = 5) -> Iterator[Meter]:
    """Cut every array unevenly over in-process nodes, and meter what leaves them whole."""
    kept = config.mode, config.eager_below, config.tile_rows_max, config.split_rows
    refuse = chunked.refuse_above_limit
    meter = Meter()

    def note(nbytes: int, what: str) -> None:
        meter.gathered.append(nbytes)
        refuse(nbytes, what)

    config.mode, config.eager_below, config.tile_rows_max = "split", 0, tile_rows
    config.split_rows = speeds or config.split_rows
    chunked.refuse_above_limit = bind.refuse_above_limit = note
    try:
        yield meter
    finally:
        chunked.refuse_above_limit = bind.refuse_above_limit = refuse
        config.mode, config.eager_below, config.tile_rows_max, config.split_rows = kept


def on_nodes(values: Any) -> Any:
    """Return an array of dnumpy whose rows lie on the nodes already, and are written to by none."""
    array = dnumpy.array(np.asarray(values))
    placed = array.copy() if array._np is None else array
    if placed._np is None:
        engine.compute([placed._buf.expr])
        for part in getattr(placed._buf.expr.value, "parts", ()):
            part.data.flags.writeable = False
    return placed


def computed(found: Any) -> Any:
    """Return results, computed where they are to lie."""
    for one in found if isinstance(found, tuple | list) else (found,):
        if type(one) is dnumpy.ndarray and one._np is None:
            engine.compute([one._buf.expr])
    return found
