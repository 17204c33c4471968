"""Errors that only running can find: kept apart from what does not depend on them, told in place.

One stage that fails takes nothing else of the evaluation with it: the others are run, and only
what depends on it stays pending. Looking at that raises the error, now and whenever it is looked
at again. The traceback ends in the line that recorded the operation, as if it had run there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.errors import PlanInfeasible
from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.stages import FusedStage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dnumpy.expr.origin import Origin
    from dnumpy.rewrite.stages import Stage

STEP = "dnumpy_step"  # attribute of an error: the number of the step that raised it, where known


class NodesLost(Exception):  # noqa: N818 - an event of the run, caught and answered by a new plan
    """Nodes went away while a graph ran on them."""

    def __init__(self, nodes: frozenset[str], graph_tasks: int) -> None:
        super().__init__(f"lost {sorted(nodes)} while running {graph_tasks} tasks")
        self.nodes = nodes


class Failure(NamedTuple):
    """An error and the Exprs that have no value because of it."""

    error: Exception
    exprs: tuple[Expr, ...]


def is_ready(stage: Stage) -> bool:
    """Say whether everything that the stage reads has a value."""
    read = stage.inputs if isinstance(stage, FusedStage) else stage.expr.args
    return all(_stored(arg) for arg in read)


def _stored(arg: Any) -> bool:
    while isinstance(arg, Expr) and arg.value is None and arg.op is VIEW:
        arg = arg.args[0]
    return not isinstance(arg, Expr) or arg.value is not None


def failure(stage: Stage, error: Exception) -> Failure:
    """Return what a stage's error leaves pending; the error now names the recording line."""
    guilty, left = _guilty_of(stage, getattr(error, STEP, None))
    if guilty.origin is not None:
        error.add_note(f"recorded as {guilty.op.name} at {guilty.origin.file}:{guilty.origin.line}")
        _end_in(error, _traceback_of(guilty.origin))
    return Failure(error, left)


def _guilty_of(stage: Stage, step: int | None) -> tuple[Expr, tuple[Expr, ...]]:
    """Return the Expr that raised, as far as it is known, and those left without a value."""
    if not isinstance(stage, FusedStage):
        return stage.expr, (stage.expr,)
    steps = stage.steps
    if step is not None and steps[step].origin is not None:
        return steps[step], stage.outputs
    return next((e for e in reversed(steps) if e.origin is not None), steps[-1]), stage.outputs


def raise_for(asked: Sequence[Expr], failures: Sequence[Failure]) -> None:
    """Raise the error that keeps one of the asked-for Exprs from having a value."""
    for root in asked:
        if root.value is None:
            needs = {id(e) for e in pending_in_order([root])}
            met = [f.error for f in failures if any(id(e) in needs for e in f.exprs)]
            error = met[0] if met else failures[0].error
            if isinstance(error, PlanInfeasible):
                error.tell()
            raise error


def _end_in(error: Exception, last: TracebackType) -> None:
    at = error.__traceback__
    if at is None:
        error.__traceback__ = last
        return
    while at.tb_next is not None:
        at = at.tb_next
    at.tb_next = last


class _Marker(Exception):  # noqa: N818 - raised for its traceback alone
    """Gives a traceback of one frame."""


def _traceback_of(origin: Origin) -> TracebackType:
    """Return a traceback whose one frame stands at the user's line."""
    code = compile("raise marker", origin.file, "exec")
    code = code.replace(co_firstlineno=max(origin.line, 1), co_name=origin.function)
    try:
        exec(code, {"marker": _Marker(), "__name__": origin.module})  # noqa: S102 - text above
    except _Marker:
        found = sys.exc_info()[2]
    assert found is not None
    assert found.tb_next is not None
    return found.tb_next
