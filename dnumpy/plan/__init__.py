"""Who computes which rows: phases and measured rates in, plans out. The only place for PuLP.

Border types: :class:`PhaseSpec` and :class:`NodeRate` in, :class:`Plan` out. Candidates (one node,
even split, water-filling, the partition that the data already has, a PuLP integer program) compete;
``simulate`` scores all of them in the same way and the best wins.

Invariants: a plan's row ranges are contiguous, in the order of the nodes, cut at whole granules,
and tile the rows exactly; no node holds more than its memory; what cannot fit raises
``errors.PlanInfeasible`` with the bytes missing. To add a constraint or an objective, touch
``program.py`` and ``verify.py``; to add a candidate, return it from ``candidates.py``.
"""

from __future__ import annotations

from dnumpy.plan.model import Candidate, NodeRate, PhaseSpec, Plan
from dnumpy.plan.phases import plan_phases
from dnumpy.plan.program import clear_plan_cache, plan_rows
from dnumpy.plan.rates import node_rate, phase_spec, plan_work

__all__ = [
    "Candidate",
    "NodeRate",
    "PhaseSpec",
    "Plan",
    "clear_plan_cache",
    "node_rate",
    "phase_spec",
    "plan_phases",
    "plan_rows",
    "plan_work",
]
