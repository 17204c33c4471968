"""Who computes which rows: phases and measured rates in, plans out. The only place for PuLP.

Border types: :class:`PhaseSpec` and :class:`NodeRate` in, :class:`Plan` out. Candidates (one node,
even split, water-filling, the partition that the data already has, a PuLP integer program) compete;
``simulate`` scores all of them in the same way and the best wins.

A whole program is a DAG of phases: :class:`Program` (``Ask`` and ``Edge``) in, :class:`ProgramPlan`
out. ``plan_program`` places all phases together: ``templates`` proposes placements, ``structure``
picks among them (model W), ``rows`` says how many rows each node gets (model R), ``classes`` plans
and simulates nearly equal nodes in groups, ``search`` moves from one plan to a better one,
``reshard`` knows which bytes travel, and ``events`` simulates every plan; the best one wins.
``pieces`` cuts long programs, ``throughput`` is the other objective, ``known`` finds plans made
before, ``watchdog`` ends what takes too long, and ``relief`` says what would make a program fit:
``options(program)``.

The runtime asks ``plan_program`` for all stages of a run on a cluster (``runtime.jointly`` makes
the program), and ``plan_rows`` for one stage where stages are planned one by one. Long programs are
cut into ``pieces``; ``known`` finds plans again; ``watchdog`` ends solves that outlast their time;
``throughput`` is the other objective; ``relief`` tells what makes an infeasible program fit, and
``refusal`` puts it into the error.

Invariants: a plan's row ranges are contiguous, in the order of the nodes, cut at whole granules,
and tile the rows exactly; no node holds more than its memory; what cannot fit raises
``errors.PlanInfeasible`` with the bytes missing. To add a constraint or an objective, touch
``program.py`` and ``verify.py``; to add a candidate, return it from ``candidates.py``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dnumpy.plan.model import Candidate, NodeRate, PhaseSpec, Plan
from dnumpy.plan.program import clear_plan_cache, plan_rows
from dnumpy.plan.rates import node_rate, phase_spec, plan_work

if TYPE_CHECKING:
    from dnumpy.plan.dag import Ask, Edge, Network, Node, Objective, Placement, Program, ProgramPlan
    from dnumpy.plan.events import Timeline, simulate_program
    from dnumpy.plan.joint import clear_program_cache, plan_program
    from dnumpy.plan.relief import Option, options

__all__ = [
    "Ask",
    "Candidate",
    "Edge",
    "Network",
    "Node",
    "NodeRate",
    "Objective",
    "Option",
    "PhaseSpec",
    "Placement",
    "Plan",
    "Program",
    "ProgramPlan",
    "Timeline",
    "clear_plan_cache",
    "clear_program_cache",
    "node_rate",
    "options",
    "phase_spec",
    "plan_program",
    "plan_rows",
    "plan_work",
    "simulate_program",
]

# what the runtime does not use is imported when somebody asks for it
_LATER = {
    **dict.fromkeys(
        ("Ask", "Edge", "Network", "Node", "Objective", "Placement", "Program", "ProgramPlan"),
        "dag",
    ),
    **dict.fromkeys(("Timeline", "simulate_program"), "events"),
    **dict.fromkeys(("clear_program_cache", "plan_program"), "joint"),
    **dict.fromkeys(("Option", "options"), "relief"),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
