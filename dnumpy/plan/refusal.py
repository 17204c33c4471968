"""What is told of a program that fits in no placement.

The phase at which most is alive, what is alive then, what each node would hold of what it offers,
what is missing, and what would make it fit.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.relief import nearest, options

if TYPE_CHECKING:
    from dnumpy.plan.dag import Program
    from dnumpy.plan.search import Found

SECONDS = 0.03  # of search for each question
NAMED = 8  # nodes, and arrays


class Crowded(NamedTuple):
    """The phase at which most bytes are alive over all nodes, what is alive then, and how much."""

    phase: str
    live: tuple[tuple[str, float], ...]
    nbytes: float


def crowded(program: Program) -> Crowded:
    """Return where most is alive; what was there before the program began is not counted."""
    last = program.last_readers()
    sizes = [0.0 if ask.pinned else ask.rows * ask.bytes_per_row for ask in program.asks]
    found: Crowded | None = None
    for v, ask in enumerate(program.asks):
        live = tuple(
            (program.asks[u].name, sizes[u])
            for u in range(v + 1)
            if sizes[u] and (program.asks[u].kept or last[u] == u or last[u] >= v)
        )
        work = ask.rows * ask.work_bytes_per_row + ask.work_fixed_bytes
        total = sum(size for _, size in live) + work
        if found is None or total > found.nbytes:
            found = Crowded(ask.name, live, total)
    assert found is not None
    return found


def refusal(program: Program, seconds: float = SECONDS, *, doubles: bool = False) -> PlanInfeasible:
    """Return the error that tells why a program is refused, and what would make it fit.

    Parameters
    ----------
    program : Program
    seconds : float
        How long to search for each option.
    doubles : bool
        Whether the elements are such as could have half the bytes.
    """
    least = nearest(program, seconds)
    found = options(program, seconds, doubles=doubles)
    error = PlanInfeasible("\n".join([_sentence(program, least), *(f"  - {o}" for o in found)]))
    error.options = found
    return error


def _sentence(program: Program, least: Found) -> str:
    at = crowded(program)
    live = ", ".join(f"{name} {readable_bytes(size)}" for name, size in at.live[-NAMED:])
    offered = sum(n.memory_bytes for n in program.nodes if not isinf(n.memory_bytes))
    needs = [
        f"{node.name} would hold {readable_bytes(peak)} of {readable_bytes(node.memory_bytes)}"
        for node, peak in zip(program.nodes, least.timeline.peak_bytes, strict=True)
        if not isinf(node.memory_bytes)
    ]
    rest = f" and {len(needs) - NAMED} nodes more" if len(needs) > NAMED else ""
    short = least.score[0]
    return (
        f"phase {at.phase} needs {readable_bytes(at.nbytes)}, with {live or 'nothing'} alive; "
        f"the nodes offer {readable_bytes(offered)}. At best {'; '.join(needs[:NAMED])}{rest}. "
        f"Short by {readable_bytes(short)} ({short:.0f} bytes). It would fit if you:"
    )
