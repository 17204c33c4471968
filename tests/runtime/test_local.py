"""Stages on the threads of this process: donated memory and inputs."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels.choose import AdaptiveKernel
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.gufuncs import GUFUNC, GufuncParams
from dnumpy.ops.table import UPDATE, VIEW
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.runtime import local

FLOAT = np.dtype(float)
REGION = (80, (20,), (8,), FLOAT)
GRAIN = Grain(1, 128, 1 << 40)


def stored(values: np.ndarray) -> Expr:
    return leaf(values, values.shape, values.dtype)


def run(*roots: Expr) -> None:
    local.execute(cut(pending_in_order(roots), roots, GRAIN))


def update_of(base: Expr, value: Expr | Const) -> Expr:
    return make(UPDATE, (base, value), REGION, base.shape, base.dtype)


def test_memory_that_nobody_else_sees_is_written_in_place() -> None:
    memory = np.zeros(50)
    updated = update_of(stored(memory), Const(1.0))
    run(updated)
    assert updated.value is memory
    assert memory[10:30].all()


@pytest.mark.parametrize("value", [Const(1.0), None], ids=["constant", "computed into place"])
def test_memory_that_somebody_else_sees_is_copied(value: Const | None) -> None:
    memory = np.zeros(50)
    base = stored(memory)
    given = value or make(elementwise_of(np.cos), (stored(np.zeros(20)),), (), (20,), FLOAT)
    updated = update_of(base, given)
    run(updated)
    assert updated.value is not memory
    assert not memory.any()
    np.testing.assert_array_equal(updated.value, np.r_[np.zeros(10), np.ones(20), np.zeros(20)])


def test_a_region_computed_from_its_own_base_reads_the_old_content() -> None:
    memory = np.arange(50.0)
    expected = memory.copy()
    expected[10:30] = expected[11:31] * 2

    def shifted(base: Expr) -> Expr:
        view = make(VIEW, (base,), (88, (20,), (8,), FLOAT), (20,), FLOAT)
        twice = make(elementwise_of(np.multiply), (view, Const(2.0)), (), (20,), FLOAT)
        return update_of(base, twice)

    updated = shifted(stored(memory))
    run(updated)
    np.testing.assert_array_equal(updated.value, expected)


def test_a_pending_reader_that_is_not_computed_now_still_reads_the_old_content() -> None:
    memory = np.arange(50.0)
    base = stored(memory)
    reader = make(elementwise_of(np.negative), (base,), (), (50,), FLOAT)
    updated = update_of(base, Const(-1.0))
    del base
    run(updated)
    run(reader)
    np.testing.assert_array_equal(reader.value, -np.arange(50.0))


def test_a_value_placed_for_one_run_can_still_be_asked_for() -> None:
    value = make(elementwise_of(np.sqrt), (stored(np.arange(20.0)),), (), (20,), FLOAT)
    updated = update_of(stored(np.zeros(50)), value)
    run(updated)
    later = make(elementwise_of(np.negative), (value,), (), (20,), FLOAT)
    run(later)
    np.testing.assert_array_equal(later.value, -np.sqrt(np.arange(20.0)))


def test_what_was_computed_lets_go_of_its_operands() -> None:
    x = stored(np.arange(50.0))
    y = make(elementwise_of(np.sqrt), (x,), (), (50,), FLOAT)
    run(y)
    assert y.args == ()


def test_tasks_of_one_stage_run_on_threads_and_return_in_order() -> None:
    assert local.in_threads([lambda k=k: k * k for k in range(5)]) == [0, 1, 4, 9, 16]


def test_threads_that_crowd_leave_the_rest_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "INLINE_BYTES", 0)
    monkeypatch.setattr(config, "threads", 2)
    ran: list[str] = []

    class Crowding(AdaptiveKernel):
        crowded, joins = False, False

        def run(self, values: Any, outs: Any, lo: int, hi: int, *rest: Any, **named: Any) -> Any:
            if ran:
                time.sleep(0.01)  # so that the other thread draws, too, if it is let
            ran.append(threading.current_thread().name)
            self.crowded = True
            return super().run(values, outs, lo, hi, *rest, **named)

    monkeypatch.setattr(local, "kernel_for", Crowding)
    values = np.arange(500.0)
    y = make(elementwise_of(np.sqrt), (stored(values),), (), (500,), FLOAT)
    run(y)
    np.testing.assert_array_equal(y.value, np.sqrt(values))
    here = threading.current_thread().name
    assert len(ran) > 3
    assert len([name for name in ran if name != here]) <= 1


def test_an_error_on_a_thread_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "INLINE_BYTES", 0)
    monkeypatch.setattr(config, "threads", 2)

    class Failing(AdaptiveKernel):
        at_once, crowded, joins, stays_tiled = 1, False, False, False

        def run(self, *_args: Any, **_kwargs: Any) -> Any:
            msg = "from a thread"
            raise ArithmeticError(msg)

    monkeypatch.setattr(local, "kernel_for", Failing)
    y = make(elementwise_of(np.sqrt), (stored(np.arange(500.0)),), (), (500,), FLOAT)
    *_, failures = local.execute(cut(pending_in_order([y]), [y], GRAIN))
    assert [(repr(f.error), f.exprs) for f in failures] == [
        ("ArithmeticError('from a thread')", (y,))
    ]
    assert y.value is None
    assert y.value is None
    monkeypatch.undo()
    run(y)
    np.testing.assert_array_equal(y.value, np.sqrt(np.arange(500.0)))


@pytest.mark.parametrize("in_the_way", [True, False])
def test_whether_threads_get_in_each_others_way_is_found_out_at_once(
    monkeypatch: pytest.MonkeyPatch, in_the_way: bool
) -> None:
    """Calls of LAPACK for small matrices may take turns: a run looks at both ways itself."""
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(local, "_sharings", {})
    rows_by_thread: dict[str, int] = {}
    compute, running = local.compute_rows, [0]

    def slow(op: Any, args: Any, params: Any, out: Any, rows: tuple[int, int, int]) -> None:
        running[0] += 1
        time.sleep((rows[1] - rows[0]) * 1e-5)
        if in_the_way and running[0] > 1:
            time.sleep((rows[1] - rows[0]) * 3e-5)
        compute(op, args, params, out, rows)
        running[0] -= 1
        name = threading.current_thread().name
        rows_by_thread[name] = rows_by_thread.get(name, 0) + rows[1] - rows[0]

    monkeypatch.setattr(local, "compute_rows", slow)
    matrices = np.random.default_rng(0).random((16_000, 3, 3))
    params = GufuncParams((True,), "numpy.linalg._umath_linalg.det", (), False, (), ())
    root = make(GUFUNC, (stored(matrices),), params, (len(matrices),), FLOAT)
    run(root)
    assert np.array_equal(root.value, np.linalg.det(matrices))
    assert sum(rows_by_thread.values()) == len(matrices)
    part = len(matrices) // (2 * local.TRIED)
    here = rows_by_thread.pop(threading.current_thread().name)
    assert here >= len(matrices) - 2 * part if in_the_way else here < len(matrices) - 2 * part
