"""Stages found again: a loop body that was cut before is not cut a second time.

Two evaluations are alike when their Exprs have the same ops, parameters, shapes, dtypes and
pattern of sharing; which data the leaves hold and what the constants are does not matter. The
stages of the first then serve the others: their phases are the same objects, so that kernels are
found by identity. What was rewritten before the first was cut is rewritten again, as far as the
stages show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dnumpy import native
from dnumpy.expr.expr import Const, Expr, become
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.blocked import WRAP
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.forwarding import forward, has_updates
from dnumpy.rewrite.padding import has_rolls, is_held, share_padding
from dnumpy.rewrite.stages import FusedStage, Stage, WholeStage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.ops.families import Op
    from dnumpy.rewrite.phase import Phase

# what was made: op, the operands' numbers, parameters, shape, dtype, and whose origin it has
_Made = tuple[Any, tuple[int, ...], "Params", "Shape", Any, int | None]
_Changed = tuple[int, Any, tuple[int, ...], "Params"]  # the number, op, the operands', parameters


@dataclass(frozen=True, slots=True)
class _FusedTemplate:
    phase: Phase
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    placed: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]


_Template = _FusedTemplate | int
_MOST = 1024


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Stages by the numbers of what they read and give, once this has been made and changed."""

    stages: tuple[_Template, ...]
    made: tuple[_Made, ...] = ()
    changed: tuple[_Changed, ...] = ()


_remembered: dict[tuple[Any, ...], _Remembered] = {}
_phases: dict[Phase, Phase] = {}  # the one for all equal ones: to compare two takes 5 us


def cut_again(order: Sequence[Expr], wanted: Collection[Expr], grain: Grain) -> list[Stage]:
    """Return what :func:`~dnumpy.rewrite.cut.cut` returns, remembered if it was asked before."""
    shared, nodes = structure(order, wanted, WRAP)
    # the numbers themselves: a dataclass makes its hash anew each time
    key = (grain.min_size, grain.tile_bytes, grain.tile_rows_max, grain.numpys_below, shared)
    found = _remembered.get(key)
    if found is None:
        rewritten = has_rolls(order) or has_updates(order)
        stages, found = _cut(order, wanted, grain, nodes if rewritten else None)
        if found is None:
            found = _Remembered(_abstract(nodes, stages))
        if len(_remembered) >= _MOST:
            _remembered.clear()
            _phases.clear()
        _remembered[key] = found
        return stages
    if found.made or found.changed:
        rebuild(nodes, found.made, found.changed)
    return [_bind(template, nodes) for template in found.stages]


def _cut(
    order: Sequence[Expr],
    wanted: Collection[Expr],
    grain: Grain,
    nodes: list[Expr | Const] | None,
) -> tuple[list[Stage], _Remembered | None]:
    """Return the stages, and what to remember if the order was rewritten, which adds nodes."""
    if nodes is None or len(order) == 1:
        return cut(order, wanted, grain), None
    before = [(expr.op, expr.args) for expr in order]
    padded = share_padding(order, grain.min_size)
    if not forward(pending_in_order(wanted), wanted, grain) and not padded:
        return cut(order, wanted, grain), None
    known = {id(node) for node in nodes}
    fresh = [expr for expr in pending_in_order(order) if id(expr) not in known]
    nodes += fresh
    numbers = {id(node): k for k, node in enumerate(nodes)}
    origins = {id(e.origin): numbers[id(e)] for e in order}

    def numbers_of(expr: Expr) -> tuple[int, ...]:
        return tuple([numbers[id(arg)] for arg in expr.args])

    made = tuple(
        (e.op, numbers_of(e), e.params, e.shape, e.dtype, origins.get(id(e.origin))) for e in fresh
    )
    changed = tuple(
        (numbers[id(e)], e.op, numbers_of(e), e.params)
        for e, (op, args) in zip(order, before, strict=True)
        if e.op is not op or e.args is not args
    )
    stages = cut(pending_in_order(wanted), wanted, grain)
    return stages, _Remembered(_abstract(nodes, stages), made, changed)


def _structure(
    order: Sequence[Expr], wanted: Collection[Expr], rolls: Op
) -> tuple[tuple[Any, ...], list[Expr | Const]]:
    """Return what two evaluations share when the same stages compute them, and what is numbered.

    What somebody holds is told apart where there are ``rolls``, as it matters for rewriting them.
    """
    holders = any(expr.op is rolls for expr in order)
    numbers: dict[int, int] = {}
    nodes: list[Expr | Const] = []
    outputs = {id(e) for e in wanted}
    # one flat list: what an entry begins with, an op, a shape or None, says how long it is
    found: list[Any] = []
    for expr in order:
        args = []
        for arg in expr.args:
            key = id(arg)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(nodes)
                nodes.append(arg)
                # which operand is the constant matters: 2 - x is not x - 2
                if type(arg) is Expr:
                    dtype = arg.dtype
                    found += (arg.shape, dtype, dtype.num)
                else:
                    found.append(None)
            args.append(number)
        key = id(expr)
        numbers[key] = len(nodes)
        nodes.append(expr)
        dtype = expr.dtype
        role = 1 if key in outputs else 2 if holders and is_held(expr) else 0
        found += (
            expr.op,
            tuple(args),
            expr.params,
            expr.shape,
            dtype,
            dtype.num,  # int64 and longlong compare equal
            role,
        )
    return tuple(found), nodes


def _rebuild(nodes: list[Expr | Const], made: Sequence[_Made], changed: Sequence[_Changed]) -> None:
    """Make the Exprs that a rewrite made, adding them to the nodes; change those it changed."""
    for op, args, params, shape, dtype, whose in made:
        expr = Expr(op, tuple([nodes[k] for k in args]), params, shape, dtype)
        if whose is not None:
            expr.origin = nodes[whose].origin  # type: ignore[union-attr]
        nodes.append(expr)
    for number, op, args, params in changed:
        become(nodes[number], op, tuple([nodes[k] for k in args]), params)  # type: ignore[arg-type]


# which of the two there are makes no difference but in time: see native/walk.c
structure: Callable[..., tuple[tuple[Any, ...], list[Expr | Const]]] = (
    native.structure if native.built else _structure
)
rebuild: Callable[..., None] = native.rebuild if native.built else _rebuild


def _abstract(nodes: Sequence[Expr | Const], stages: Sequence[Stage]) -> tuple[_Template, ...]:
    number = {id(node): k for k, node in enumerate(nodes)}

    def template(stage: Stage) -> _Template:
        if isinstance(stage, WholeStage):
            return number[id(stage.expr)]
        return _FusedTemplate(
            _phases.setdefault(stage.phase, stage.phase),
            tuple(number[id(a)] for a in stage.inputs),
            tuple(number[id(e)] for e in stage.outputs),
            tuple((k, number[id(e)]) for k, e in stage.placed.items()),
            tuple(number[id(e)] for e in stage.steps),
        )

    return tuple(template(stage) for stage in stages)


def _picked(nodes: list[Any], numbers: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple([nodes[k] for k in numbers])


_numbered: Callable[..., tuple[Any, ...]] = native.numbered if native.built else _picked
_new: Callable[..., Any] = tuple.__new__


def _bind(template: _Template, nodes: list[Any]) -> Stage:
    if type(template) is int:
        return WholeStage(nodes[template])
    assert type(template) is _FusedTemplate
    placed = {k: nodes[update] for k, update in template.placed} if template.placed else {}
    bound = (
        template.phase,
        _numbered(nodes, template.inputs),
        _numbered(nodes, template.outputs),
        placed,
        _numbered(nodes, template.steps),
    )
    stage: FusedStage = _new(FusedStage, bound)  # what its class does takes twice as long
    return stage
