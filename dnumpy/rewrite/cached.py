"""Stages found again: a loop body that was cut before is not cut a second time.

Two evaluations are alike when their Exprs have the same ops, parameters, shapes, dtypes and
pattern of sharing; which data the leaves hold and what the constants are does not matter. The
stages of the first then serve the others: their phases are the same objects, so that kernels are
found by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dnumpy.expr.expr import Const, Expr
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.stages import FusedStage, Stage, WholeStage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.rewrite.phase import Phase

Place = tuple[int, int]  # (number of an Expr in order, position among its operands)


@dataclass(frozen=True, slots=True)
class _FusedTemplate:
    phase: Phase
    inputs: tuple[Place, ...]
    outputs: tuple[int, ...]
    placed: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]


_Template = _FusedTemplate | int
_MOST = 1024
_templates: dict[tuple[Any, ...], tuple[_Template, ...]] = {}
_phases: dict[Phase, Phase] = {}  # the one for all equal ones: to compare two takes 5 us


def cut_again(order: Sequence[Expr], wanted: Collection[Expr], grain: Grain) -> list[Stage]:
    """Return what :func:`~dnumpy.rewrite.cut.cut` returns, remembered if it was asked before."""
    # the numbers themselves: a dataclass makes its hash anew each time
    key = (grain.min_size, grain.tile_bytes, grain.tile_rows_max, structure(order, wanted))
    found = _templates.get(key)
    if found is None:
        stages = cut(order, wanted, grain)
        if len(_templates) >= _MOST:
            _templates.clear()
            _phases.clear()
        _templates[key] = _abstract(order, stages)
        return stages
    return [_bind(template, order) for template in found]


def structure(order: Sequence[Expr], wanted: Collection[Expr]) -> tuple[Any, ...]:
    """Return what two evaluations share when the same stages compute them."""
    numbers: dict[int, int] = {}
    outputs = {id(e) for e in wanted}
    # one flat list: what an entry begins with, an op, a shape or None, says how long it is
    found: list[Any] = []
    for expr in order:
        args = []
        for arg in expr.args:
            key = id(arg)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(numbers)
                # which operand is the constant matters: 2 - x is not x - 2
                if type(arg) is Expr:
                    dtype = arg.dtype
                    found += (arg.shape, dtype, dtype.num)
                else:
                    found.append(None)
            args.append(number)
        key = id(expr)
        numbers[key] = len(numbers)
        dtype = expr.dtype
        found += (
            expr.op,
            tuple(args),
            expr.params,
            expr.shape,
            dtype,
            dtype.num,  # int64 and longlong compare equal
            key in outputs,
        )
    return tuple(found)


def _abstract(order: Sequence[Expr], stages: Sequence[Stage]) -> tuple[_Template, ...]:
    number = {id(e): k for k, e in enumerate(order)}
    places: dict[int, Place] = {}
    for k, expr in enumerate(order):
        for position, arg in enumerate(expr.args):
            places.setdefault(id(arg), (k, position))

    def template(stage: Stage) -> _Template:
        if isinstance(stage, WholeStage):
            return number[id(stage.expr)]
        return _FusedTemplate(
            _phases.setdefault(stage.phase, stage.phase),
            tuple(places[id(a)] for a in stage.inputs),
            tuple(number[id(e)] for e in stage.outputs),
            tuple((k, number[id(e)]) for k, e in stage.placed.items()),
            tuple(number[id(e)] for e in stage.steps),
        )

    return tuple(template(stage) for stage in stages)


def _bind(template: _Template, order: Sequence[Expr]) -> Stage:
    if isinstance(template, int):
        return WholeStage(order[template])
    inputs: list[Expr | Const] = [order[k].args[position] for k, position in template.inputs]
    return FusedStage(
        template.phase,
        tuple(inputs),
        tuple([order[k] for k in template.outputs]),
        {k: order[update] for k, update in template.placed} if template.placed else {},
        tuple([order[k] for k in template.steps]),
    )
