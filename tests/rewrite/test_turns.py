"""Stages follow what they read, and little is held between a stage and those that read it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import base_of, pending_in_order
from dnumpy.ops.families import elementwise_of, reduction_of
from dnumpy.ops.table import FULL, UPDATE
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.rewrite.stages import FusedStage, Stage
from tests.strategies import programs

GRAIN = Grain(1, 1 << 10, 1 << 62)
F8 = np.dtype("f8")
N = 1000
TOTAL = ReduceParams((0,), keepdims=False, dtype=F8, initial=None, masked=False)


def results_of(stage: Stage) -> list[Expr]:
    return list(stage.outputs) if isinstance(stage, FusedStage) else [stage.expr]


def operands_of(stage: Stage) -> list[Expr]:
    found = stage.inputs if isinstance(stage, FusedStage) else stage.expr.args
    return [base_of(x) for x in found if isinstance(x, Expr)]


@settings(max_examples=200)
@given(programs(), st.data())
def test_no_stage_precedes_what_it_reads(exprs: list[Expr], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(exprs), min_size=1, max_size=4, unique_by=id))
    stages = cut(pending_in_order(wanted), [e for e in wanted if e.value is None], GRAIN)
    given = {id(e) for stage in stages for e in results_of(stage)}
    made: set[int] = set()
    for stage in stages:
        for operand in operands_of(stage):
            assert operand.value is not None or id(operand) in made or id(operand) not in given
        made |= {id(e) for e in results_of(stage)}
    assert made == given


def part(number: int) -> Expr:
    """Return the mean square distance from a mean: two passes over an array that is made here."""
    made = make(FULL, (Const(float(number)),), (), (N,), F8)
    values = make(elementwise_of(np.exp), (made,), (), (N,), F8)
    total = make(reduction_of(np.add), (values,), TOTAL, (), F8)
    apart = make(elementwise_of(np.subtract), (values, total), (), (N,), F8)
    return make(reduction_of(np.add), (apart,), TOTAL, (), F8)


def most_held(stages: list[Stage]) -> int:
    """Return the most elements that are held between two stages."""
    last = {id(e): k for k, stage in enumerate(stages) for e in operands_of(stage)}
    held: dict[int, int] = {}
    most = 0
    for k, stage in enumerate(stages):
        held |= {id(e): e.size for e in results_of(stage)}
        most = max(most, sum(held.values()))
        held = {key: size for key, size in held.items() if last.get(key, k) > k or size == 1}
    return most


def test_parts_that_have_nothing_in_common_run_one_after_the_other() -> None:
    wanted = [part(k) for k in range(12)]
    stages = cut(pending_in_order(wanted), wanted, GRAIN)
    assert len(stages) >= 2 * len(wanted)
    assert most_held(stages) < 2 * N + 100


def test_what_is_written_over_is_read_before() -> None:
    base = leaf(np.arange(float(N)), (N,), F8)
    start = make(elementwise_of(np.exp), (base,), (), (N,), F8)
    seen = make(reduction_of(np.add), (start,), TOTAL, (), F8)
    region = (0, (N // 2,), (8,), F8)
    value = make(
        elementwise_of(np.sqrt), (leaf(np.ones(N // 2), (N // 2,), F8),), (), (N // 2,), F8
    )
    whole = make(UPDATE, (start, value), region, (N,), F8)
    for wanted in ([whole, seen], [seen, whole]):
        stages = cut(pending_in_order(wanted), wanted, GRAIN)
        results = [id(e) for stage in stages for e in results_of(stage)]
        assert results.index(id(seen)) < results.index(id(whole))
