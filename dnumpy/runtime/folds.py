"""Folds over nodes: each node folds what its own tasks made, and one result of it travels.

The nodes' results meet in groups of ``FAN_IN``, in the order of the rows. All folds of a stage go
this way together, and how its tasks went comes along.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels import reference
from dnumpy.kernels.partials import fold_tiles, join_neighbours
from dnumpy.runtime.branches import Branches, grown
from dnumpy.runtime.graph import Outputs
from dnumpy.runtime.operands import Made
from dnumpy.runtime.tasks import Report, add_each, added_up, noted, report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.ops.families import Fold
    from dnumpy.rewrite.phase import Step
    from dnumpy.runtime.branches import Join
    from dnumpy.runtime.graph import Graph, Range
    from dnumpy.runtime.operands import Ref

FAN_IN = 8  # results of nodes that meet in one task
COPIED_BYTES = 1 << 13  # of results that every reader may make for itself


class StepFold(NamedTuple):
    """Folds what the tiles of a phase leave behind; its faults are those of step ``number``."""

    step: Step
    number: int

    @property
    def adds(self) -> bool:
        """Return False: what tiles leave behind are branches."""
        return False

    def join(self) -> Join:
        """Return how neighbours meet."""
        return partial(join_neighbours, self.step)

    def result(self, found: Any) -> np.ndarray:
        """Return the step's result."""
        return fold_tiles(self.step, found.root())


class BlockFold(NamedTuple):
    """Folds what a fold makes of blocks of rows: branches where it adds, else a list.

    Its faults are those of step ``number``.
    """

    op: Fold
    params: Params
    shape: Shape
    dtype: np.dtype
    number: int = 0

    @property
    def adds(self) -> bool:
        """Say whether blocks that are no branches may be added up in any order."""
        return self.op.adds

    def join(self) -> Join:
        """Return how neighbours meet."""
        return add_each

    def result(self, found: Any) -> np.ndarray:
        """Return the fold's result."""
        blocks = found.root() if isinstance(found, Branches) else found
        merged = blocks[0] if self.op.adds else self.op.merge(blocks, self.params)
        return reference.result_of_merge(merged, self.shape, self.dtype)


class SumFold(NamedTuple):
    """Adds up the products of granules."""

    shape: Shape

    @property
    def number(self) -> int:
        """The step whose faults its faults are."""
        return 0

    @property
    def adds(self) -> bool:
        """Return True: products may be added up in any order unless they are branches."""
        return True

    def join(self) -> Join:
        """Return how neighbours meet."""
        return np.add

    def result(self, found: Any) -> np.ndarray:
        """Return the sum."""
        total: np.ndarray = (found.root() if isinstance(found, Branches) else found)[0]
        return total


AnyFold = StepFold | BlockFold | SumFold


class Gathered(NamedTuple):
    """What some tasks left behind, folded as far as it may be, and how they went."""

    partials: tuple[Any, ...]
    reports: tuple[Report, ...]
    faults: frozenset[tuple[int, str]]


def gathered(folds: Sequence[AnyFold], *given: Made | Gathered) -> Gathered:
    """Return what tasks whose rows follow one another left behind."""
    faults: set[tuple[int, str]] = set()
    partials: list[Any] = []
    for k, fold in enumerate(folds):
        raised = noted(lambda fold=fold, k=k: partials.append(_together(fold, k, given)))  # type: ignore[misc]
        faults |= {(fold.number, kind) for _, kind in raised}
    reports = tuple(r for one in given for r in _reports(one))
    for one in given:
        faults |= one.faults if isinstance(one, Gathered) else frozenset()
    return Gathered(tuple(partials), reports, frozenset(faults))


def _together(fold: AnyFold, k: int, given: Sequence[Made | Gathered]) -> Any:
    runs = [one.partials[k] for one in given]
    if isinstance(runs[0], Branches):
        return grown(fold.join(), runs)
    blocks = [block for run in runs for block in run]
    return [added_up(blocks)] if fold.adds else blocks


def _reports(one: Made | Gathered) -> tuple[Report, ...]:
    return one.reports if isinstance(one, Gathered) else (report_of(one),)


def folded(folds: Sequence[AnyFold], *given: Made | Gathered) -> Made:
    """Return a result for each fold, and as partial outputs how all the tasks went."""
    started = time.perf_counter()
    every = gathered(folds, *given)
    faults = set(every.faults)
    rows: list[np.ndarray] = []
    for fold, found in zip(folds, every.partials, strict=True):
        raised = noted(lambda fold=fold, found=found: rows.append(fold.result(found)))  # type: ignore[misc]
        faults |= {(fold.number, kind) for _, kind in raised}
    return Made(tuple(rows), every.reports, time.perf_counter() - started, frozenset(faults))


def add_fold(
    graph: Graph,
    folds: Sequence[AnyFold],
    made: Sequence[tuple[Range, Ref]],
    row_outputs: int,
    *,
    copied: bool,
) -> tuple[str, Ref]:
    """Add the tasks that fold what a stage's tasks left behind; return the last, and its node.

    With ``copied``, what it reads on its own node may travel as well.
    """
    root = made[0][0].node
    groups: list[tuple[str, list[Ref]]] = []
    for node, tasks in groupby(sorted(made, key=lambda m: m[0].lo), key=lambda m: m[0].node):
        refs = [ref for _, ref in tasks]
        alone = len(refs) == 1 and not row_outputs
        if not alone and (node != root or copied):
            refs = [graph.add("partial", node, gathered, tuple(folds), *refs)]
        groups.append((node, refs))
    while len(groups) > FAN_IN:
        groups = [_met(graph, folds, groups[k : k + FAN_IN]) for k in range(0, len(groups), FAN_IN)]
    whole = graph.add("fold", root, folded, tuple(folds), *(r for _, refs in groups for r in refs))
    graph.light[whole.key] = Outputs(len(folds), len(made))
    return root, whole


def _met(
    graph: Graph, folds: Sequence[AnyFold], groups: Sequence[tuple[str, list[Ref]]]
) -> tuple[str, list[Ref]]:
    """Return what groups meet in, on the node of the first."""
    node = groups[0][0]
    refs = [ref for _, some in groups for ref in some]
    return node, [graph.add("partial", node, gathered, tuple(folds), *refs)]


def may_be_copied(folds: Sequence[AnyFold], row_outputs: int, nbytes: int) -> bool:
    """Say whether what folds read is about as small as the ``nbytes`` that they give."""
    lists = [fold for fold in folds if isinstance(fold, BlockFold) and not fold.adds]
    return not lists and not row_outputs and nbytes <= COPIED_BYTES


def reports_of(*made: Made) -> tuple[Report, ...]:
    """Return how tasks went."""
    return tuple(report_of(one) for one in made)


class Told(NamedTuple):
    """Where it comes home how a task went: a Made itself, or an entry of what ``ref`` gives."""

    ref: Ref
    number: int | None = None

    def report(self, results: dict[str, Any]) -> Made | Report:
        """Return how the task went."""
        found: Any = results[self.ref.key]
        if self.number is None:
            return found
        return (found.partials if isinstance(found, Made) else found)[self.number]


def told_by_fold(whole: Ref, made: Sequence[tuple[Range, Ref]]) -> list[Told]:
    """Return where a stage's fold says how its tasks went, in their order."""
    order = sorted(range(len(made)), key=lambda k: made[k][0].lo)
    places = {k: number for number, k in enumerate(order)}
    return [Told(whole, places[k]) for k in range(len(made))]


def told_by_nodes(graph: Graph, made: Sequence[tuple[Range, Ref]]) -> list[Told]:
    """Add a task on each node that says how its tasks went; return where, in their order."""
    by_node: dict[str, list[Ref]] = {}
    places = []
    for r, ref in made:
        refs = by_node.setdefault(r.node, [])
        places.append((r.node, len(refs)))
        refs.append(ref)
    sent = {node: graph.add("report", node, reports_of, *refs) for node, refs in by_node.items()}
    return [Told(sent[node], number) for node, number in places]
