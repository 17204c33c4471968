"""What whole ops cost: by class, with logarithms where there are some, on any route."""

from __future__ import annotations

from dataclasses import replace
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import OP_CLASSES, Work
from dnumpy.cost.estimate import seconds
from dnumpy.expr.expr import make
from dnumpy.ops import gufuncs, indexing, scans, sorting, transforms  # noqa: F401 - fill the table
from dnumpy.ops.families import ROWS, Blocked, Fold, Random, Reduction, lookup, rowwise_of
from dnumpy.plan.work import kernel_name, op_loops, op_work, phase_work
from dnumpy.runtime import lowerings, works
from tests.cost.test_estimate import sample_profile

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.phase import Phase

DOUBLE = np.dtype(float)
FOLDS_COST_MOST = tuple((c, 100.0 if c == "fold" else 0.01) for c in OP_CLASSES)
SIZES = st.integers(64, 1 << 24)


def work_of(name: str, *shape: int) -> Work:
    work = op_work(lookup(name), shape, DOUBLE, [(shape, DOUBLE)])
    work.verify()
    return work


def test_every_cost_class_of_an_op_is_measured() -> None:
    costed = [op for op in ROWS.values() if isinstance(op, Blocked | Fold | Reduction | Random)]
    assert len(costed) > 50
    assert {op.loop for op in costed} <= set(OP_CLASSES)


@given(SIZES)
def test_sorting_takes_n_log_n_and_more_elements_never_take_less(count: int) -> None:
    ((op_class, per_row),) = work_of("sort_blocks", count).loops
    assert op_class == "sort"
    assert per_row * count == pytest.approx(count * log2(count))
    profile = sample_profile()
    once, twice = (work_of("sort_blocks", n) for n in (count, 2 * count))
    assert seconds(twice, profile, 2 * count) >= 2 * seconds(once, profile, count) * (1 - 1e-9) - (
        profile.launch_seconds
    )


@given(st.integers(1, 4096), st.integers(2, 4096))
def test_rows_sorted_or_transformed_each_for_itself_take_the_logarithm_of_their_length(
    rows: int, length: int
) -> None:
    for name, op_class in (("sort_rows", "sort"), ("transform.rows", "fft")):
        ((found, per_row),) = work_of(name, rows, length).loops
        assert found == op_class
        assert per_row == pytest.approx(length * max(1.0, log2(length)))


def test_writing_by_an_index_is_no_reading() -> None:
    assert dict(work_of("put", 100).loops).keys() == {"scatter"}
    assert dict(work_of("take", 100).loops).keys() == {"gather"}
    assert dict(work_of("scan.along", 10, 10).loops).keys() == {"scan"}


def test_blocks_of_a_scan_are_joined_while_in_cache_and_between_nodes_by_one_more_op() -> None:
    joined, alone = work_of("scan", 1000), work_of("scan.along", 1000)
    assert dict(joined.loops) == dict(alone.loops) == {"scan": 1.0}
    assert (joined.bytes_read, joined.bytes_written) == (alone.bytes_read, alone.bytes_written)
    scan = lookup("scan")
    assert isinstance(scan, Blocked)
    assert dict(op_loops(scan, 1.0, (1000,))) == {"scan": 1.0, "arith": 1.0}


@pytest.mark.parametrize(
    ("columns", "by_blas"), [((), ("vector",)), ((1,), ("vector",)), ((4,), ())]
)
def test_a_product_with_a_vector_costs_what_reading_the_matrix_in_cache_does(
    columns: tuple[int, ...], by_blas: tuple[str, ...]
) -> None:
    rows, inner = 1 << 16, 8
    left, right = (lowerings.stored(np.ones(s)) for s in ((rows, inner), (inner, *columns)))
    product = make(lookup("matmul"), (left, right), (), (rows, *columns), DOUBLE)
    follows = lowerings.applied("negative", product)  # what is alone is no phase
    phase = phase_of(follows)
    assert phase.multiplies
    loops = dict(phase_work(phase).loops)
    assert set(loops) == {"arith", *by_blas}
    assert loops.get("vector", inner) == inner


def test_the_order_of_an_array_costs_more_than_its_sorted_copy() -> None:
    (_, order), (_, copy) = (
        op_work(op, (100, 50), DOUBLE, [((100, 50), DOUBLE)]).loops[0]
        for op in (rowwise_of("numpy.argsort"), lookup("sort_rows"))
    )
    assert order > copy


@given(st.lists(st.integers(1, 64), min_size=1, max_size=3).map(tuple))
def test_what_is_laid_out_by_rows_costs_what_the_whole_call_does(shape: tuple[int, ...]) -> None:
    op = lookup("sort_rows")
    assert isinstance(op, Blocked)
    assert op_loops(op, prod(shape[1:]), shape) == work_of("sort_rows", *shape).loops


def phase_of(program: Expr) -> Phase:
    return lowerings.stage_of(program).phase


def long_chain(last: str, rows: int) -> Expr:
    x = lowerings.stored(np.ones((rows, 4)))
    chain = x
    for name in (*["multiply", "add"] * 6, last):
        chain = lowerings.applied(name, chain, x)
    return chain


def test_kernels_that_only_their_last_ops_tell_apart_have_names_of_their_own() -> None:
    first, second = (phase_of(long_chain(last, 64)) for last in ("hypot", "remainder"))
    assert first.title() == second.title()
    assert phase_work(first).loops == phase_work(second).loops
    names = {kernel_name(p.title(), phase_work(p), "tiled") for p in (first, second)}
    assert len(names) == 2


@given(st.integers(1, 500), st.integers(1, 500))
def test_a_kernels_name_is_the_same_for_any_number_of_rows(few: int, many: int) -> None:
    phases = [phase_of(long_chain("hypot", rows)) for rows in (few, many)]
    assert len({kernel_name(p.title(), phase_work(p), "tiled") for p in phases}) == 1


def test_an_operand_broadcast_within_a_row_begins_a_loop_for_each() -> None:
    x, column, line = (lowerings.stored(np.ones(s)) for s in ((64, 8), (64, 1), (8,)))
    for other, runs in ((column, 1.0), (line, 1.0), (x, None)):
        (step,) = phase_of(lowerings.applied("subtract", x, other)).steps
        assert step.shape == (64, 8)
        work = phase_work(phase_of(lowerings.applied("subtract", x, other)))
        assert dict(work.loops).get("run") == runs
        assert dict(work.loops)["arith"] == 8.0


def test_short_axes_that_are_folded_away_cost_lanes_when_compiled() -> None:
    points, centres = (lowerings.stored(np.ones(s)) for s in ((4096, 16, 4), (1, 16, 4)))
    away = lowerings.applied("subtract", points, centres)
    squares = lowerings.reduced("add.reduce", lowerings.applied("square", away), 2, DOUBLE)
    phase = phase_of(lowerings.reduced("argmin", squares, 1, np.dtype(np.intp)))
    work = works.phase_work(phase)
    tiled, compiled = (dict(work.loops_of(lowering)) for lowering in ("tiled", "numba"))
    assert tiled == dict(phase_work(phase).loops)
    assert tiled["fold"] == 16.0
    assert "fold" not in compiled
    assert compiled["arith"] >= tiled["arith"]
    profile = replace(sample_profile(), ns_per_element=(("tiled", FOLDS_COST_MOST),))
    assert seconds(work, profile, 4096, "numba") < seconds(work, profile, 4096) / 10
    alone = works.phase_work(phase_of(lowerings.applied("add", points, points)))
    both = work + replace(alone, rows=work.rows)
    assert dict(both.loops_of("numba"))["arith"] == compiled["arith"] + 64.0


def test_only_products_are_made_of_calls_that_cannot_be_longer() -> None:
    x = lowerings.stored(np.ones((4096, 8)))
    assert phase_work(phase_of(lowerings.applied("add", x, x))).calls == 0.0
