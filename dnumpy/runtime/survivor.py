"""What lay on the workers of a cluster that is gone, computed again in this process.

A program that has closed its client goes on with its arrays, as NumPy's would. What they were made
of is known as far as it is for a worker that was lost: draws, arrays at home and files, through the
last stages that led to them; it runs on nodes of this process, bit by bit alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import thread_count
from dnumpy.errors import WorkerLost
from dnumpy.runtime import machine
from dnumpy.runtime.cluster import heal
from dnumpy.runtime.virtual import VirtualCluster

if TYPE_CHECKING:
    from dnumpy.runtime.chunked import Chunked, Part
    from dnumpy.runtime.graph import Segment


class Survivor(VirtualCluster):
    """Nodes of this process, to which all is lost that is not in its memory."""

    def __init__(self) -> None:
        super().__init__((1.0,) * thread_count())

    def segment(self, part: Part) -> Segment | None:
        """Return the part as a segment; None where it lay on a worker."""
        return super().segment(part) if isinstance(part.data, np.ndarray) else None


def remade(chunked: Chunked) -> np.ndarray:
    """Return all rows of an array whose cluster is gone, computed again.

    Arrays that it was made of, and that somebody still holds, lie here from then on too.

    Raises
    ------
    dnumpy.errors.WorkerLost
        It is not known any more what it was made of, or it has no room here.
    """
    room = machine.free_bytes()
    if chunked.nbytes > room:
        msg = (
            f"the cluster is gone on whose workers an array of shape {chunked.shape} lay, and of "
            f"its {chunked.nbytes} bytes only {room} are free here to compute it again: "
            "connect a new Client and compute it again from its inputs"
        )
        raise WorkerLost(msg)
    cluster = Survivor()
    for each in heal(chunked, cluster):
        each.home = cluster
    chunked.home = cluster
    return cluster.bring_home(chunked)
