"""From Work and DeviceProfile to what the planner asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.cost.estimate import seconds
from dnumpy.plan.model import NodeRate, PhaseSpec
from dnumpy.plan.program import plan_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.plan.model import Plan

MEMORY_SHARE = 0.85  # of the free memory; the rest is for what no model sees
ROUNDS = 2  # speed depends on the size: rates at the even share, then at the planned share


def phase_spec(name: str, work: Work, live: str = "", resting: float = 0.0) -> PhaseSpec:
    """Return the phase that does this work; ``resting`` bytes of a row are read where they lie."""
    read = max(work.bytes_read - work.passing_bytes_per_row, 0.0)
    sizes = work.bytes_per_row, work.fixed_bytes
    return PhaseSpec(name, work.rows, *sizes, live, min(resting, read))


def node_rate(
    work: Work,
    profile: DeviceProfile,
    rows: float,
    *,
    lowering: str = "tiled",
    correction: float = 1.0,
    transfer_bytes_per_row: float = 0.0,
    transfer_fixed_bytes: float = 0.0,
) -> NodeRate:
    """Return what the device offers for about this many rows of the work.

    The rows are taken to run as one task per thread of the device, all at the same time.
    """
    per_task = max(rows, 1.0) / profile.threads
    total = seconds(work, profile, per_task, lowering, correction)
    per_row = (total - profile.launch_seconds) / max(rows, 1.0)
    arrival = transfer_fixed_bytes / profile.network_bytes_per_second
    if transfer_fixed_bytes or transfer_bytes_per_row:
        arrival += profile.network_latency_seconds
    return NodeRate(
        node=profile.name,
        seconds_per_row=per_row,
        fixed_seconds=profile.launch_seconds + arrival,
        transfer_seconds_per_row=transfer_bytes_per_row / profile.network_bytes_per_second,
        memory_bytes=MEMORY_SHARE * profile.free_bytes,
    )


def plan_work(
    name: str,
    work: Work,
    profiles: Sequence[DeviceProfile],
    *,
    granule: int = 1,
    current: Sequence[tuple[str, int]] | None = None,
    lowering: str = "tiled",
    corrections: Sequence[float] | None = None,
    transfer_bytes_per_row: float = 0.0,
    transfer_fixed_bytes: float = 0.0,
    resting_bytes_per_row: float = 0.0,
    live: str = "",
    solver_below_seconds: float | None = None,
) -> Plan:
    """Return the plan of one phase, with each node's rate taken at the rows that it is to get.

    ``corrections`` are factors on the predicted seconds, one per profile. Each node that takes part
    receives ``transfer_fixed_bytes`` whatever its rows: the operands that it reads whole. Of what
    a row reads, ``resting_bytes_per_row`` take no room while all rows stay where they are.
    """
    spec = phase_spec(name, work, live, resting_bytes_per_row)
    factors = corrections if corrections is not None else [1.0] * len(profiles)
    shares = [work.rows / len(profiles)] * len(profiles)
    for last in range(ROUNDS):
        nodes = [
            node_rate(
                work,
                profile,
                share,
                lowering=lowering,
                correction=factor,
                transfer_bytes_per_row=transfer_bytes_per_row,
                transfer_fixed_bytes=transfer_fixed_bytes,
            )
            for profile, share, factor in zip(profiles, shares, factors, strict=True)
        ]
        below = solver_below_seconds if last == ROUNDS - 1 else float("inf")
        plan = plan_rows(spec, nodes, granule, current, below)
        even = work.rows / len(profiles)
        shares = [float(n) if n else even for n in plan.row_counts]
    return plan
