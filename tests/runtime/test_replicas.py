"""Small work is done by everybody who reads it, with the same bits, and tasks nobody reads go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import cluster as cluster_module
from dnumpy.runtime.folds import COPIED_BYTES
from dnumpy.runtime.replicas import run_after
from tests.runtime.test_glue import SPEEDS, Remote, steps

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 600


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Remote:
    return nodes_with(monkeypatch)


def nodes_with(monkeypatch: pytest.MonkeyPatch) -> Remote:
    remote = Remote()
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 32)
    monkeypatch.setattr(engine, "cluster_for", lambda *_, **__: remote)
    return remote


def data(columns: int = 5) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, columns))


def test_a_loop_is_a_task_per_node_and_step_and_nothing_else(nodes: Remote) -> None:
    x = data()
    y = x @ np.arange(5.0)
    ours = steps(dnp, dnp.array(x), dnp.array(y), 6)
    engine.compute([ours._buf.expr])
    assert np.allclose(np.asarray(ours), steps(np, x, y, 6), rtol=1e-12)
    (graph,) = nodes.graphs
    assert nodes.tasks() == ["rows"] * 6 * len(SPEEDS)
    after = [task for tasks in graph.tasks.values() for task in tasks.values()]
    assert sum(task.func is run_after for task in after) == 5 * len(SPEEDS)


def least_squares(x: Any) -> Any:
    return steps(dnp, x, x[:, 0] * 2, 4)


def whitened(x: Any) -> Any:
    """Two reductions after one another, each read by all rows."""
    centred = x - x.mean(axis=0)
    return (centred / dnp.sqrt((centred * centred).mean(axis=0))).sum(axis=1)


def power(x: Any) -> Any:
    """Every step reads two earlier results."""
    v = dnp.ones(x.shape[1])
    before = v
    for _ in range(4):
        v, before = x.T @ (x @ v) / dnp.sqrt((before * before).sum()), v
    return v + before


def looked_at_later(x: Any) -> Any:
    """What is read on, is read again when other work has begun to wait for it."""
    total = x.sum(axis=0)
    rows = (x * total).sum(axis=1)
    scaled = total / (1 + dnp.abs(total))
    return (rows[:, None] * scaled).max(axis=0) + scaled


PROGRAMS: list[Callable[[Any], Any]] = [least_squares, whitened, power, looked_at_later]


@given(program=st.sampled_from(PROGRAMS), columns=st.integers(1, 7), seed=st.integers(0, 99))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replicas_change_no_bit(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[Any], Any], columns: int, seed: int
) -> None:
    x = np.random.default_rng(seed).normal(size=(ROWS, columns))
    found = []
    for copied in (True, False):
        with monkeypatch.context() as patched:
            nodes_with(patched)
            if not copied:
                patched.setattr(cluster_module, "may_be_copied", lambda *_: False)
            found.append(np.asarray(program(dnp.array(x))))
    assert np.array_equal(*found)


def test_results_that_are_large_stay_on_one_node(nodes: Remote) -> None:
    x = data(COPIED_BYTES // 8 + 1)
    ours = dnp.array(x) - dnp.array(x).mean(axis=0)
    assert np.allclose(np.asarray(ours), x - x.mean(axis=0), rtol=1e-12)
    assert nodes.tasks().count("fold") == 1


def test_a_fault_of_what_everybody_does_is_told_once(nodes: Remote) -> None:
    a = dnp.array(np.zeros((ROWS, 5)))
    with pytest.warns(RuntimeWarning, match="invalid value") as told:
        ours = np.asarray((a + a.sum(axis=0) / a.sum(axis=0)).sum(axis=1))
    assert np.isnan(ours).all()
    assert len(told) == 1
    assert "fold" not in nodes.tasks()
