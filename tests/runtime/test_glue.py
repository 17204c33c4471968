"""Small work is part of the task that it waits for, and what it gives is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy as dnp
from dnumpy import engine
from dnumpy.api import blocks
from dnumpy.config import config
from dnumpy.runtime import cluster
from dnumpy.runtime import glue as module
from dnumpy.runtime.glue import run_steps
from dnumpy.runtime.graph import Graph, Outputs
from dnumpy.runtime.virtual import VirtualCluster

SPEEDS = (2.0, 1.0, 1.0)


class Remote(VirtualCluster):
    """Nodes of this process to which small results are as dear as to workers."""

    home_bytes = 1 << 12
    remote = True

    def __init__(self) -> None:
        super().__init__(SPEEDS)
        self.graphs: list[Graph] = []

    def run(self, graph: Graph, home: Any, stay: Any) -> dict[str, Any]:
        self.graphs.append(graph)
        return super().run(graph, home, stay)

    def tasks(self) -> list[str]:
        """Return a word for each task that ran."""
        return [key.split("-")[1] for graph in self.graphs for key in graph.node_of]


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Remote:
    remote = Remote()
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(engine, "cluster_for", lambda *_, **__: remote)
    return remote


def steps(np_: Any, x: Any, y: Any, count: int) -> Any:
    """Return weights after some steps of least squares."""
    w = np_.zeros(x.shape[1])
    for _ in range(count):
        error = x @ w - y
        w = w - 0.1 * (x.T @ error) / len(y)
    return w


def test_a_step_of_a_loop_is_a_task_per_node_and_one_that_folds(
    nodes: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "may_be_copied", lambda *_: False)  # the folds would be nowhere
    x = np.random.default_rng(0).normal(size=(6_000, 5))
    y = x @ np.arange(5.0)
    ours = steps(dnp, dnp.array(x), dnp.array(y), 4)
    engine.compute([ours._buf.expr])
    assert np.allclose(np.asarray(ours), steps(np, x, y, 4), rtol=1e-12)
    words = nodes.tasks()
    assert words.count("fold") == 4
    assert len(words) <= 4 * (len(SPEEDS) + len(SPEEDS)), words  # rows, and what nodes add up
    glued = [
        t
        for g in nodes.graphs
        for ts in g.tasks.values()
        for t in ts.values()
        if t.func is run_steps
    ]
    assert glued


def test_several_folds_and_what_is_made_of_all_of_them(nodes: Remote) -> None:
    x = np.random.default_rng(0).normal(size=(6_000, 5))
    a = dnp.array(x)
    low, high, mean = a.min(axis=0), a.max(axis=0), a.mean(axis=0)
    scale = (high - low) / (1 + dnp.abs(mean))
    ours = (dnp.stack([low / scale, high / scale, mean]) * 2).sum(axis=1) + scale[0]
    mean_ = x.mean(axis=0)
    scale_ = (x.max(axis=0) - x.min(axis=0)) / (1 + np.abs(mean_))
    rows = np.stack([x.min(axis=0) / scale_, x.max(axis=0) / scale_, mean_])
    theirs = (rows * 2).sum(axis=1) + scale_[0]
    assert np.allclose(np.asarray(ours), theirs, rtol=1e-12)


def test_a_fault_of_a_glued_step_is_told_at_the_users_line(nodes: Remote) -> None:
    a = dnp.array(np.zeros((6_000, 5)))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        found = np.asarray(a.sum(axis=0) / a.sum(axis=0))
    assert np.isnan(found).all()


def test_what_reads_little_that_is_here_is_computed_here(nodes: Remote) -> None:
    columns = dnp.array(np.arange(5.0))
    a = dnp.array(np.ones((6_000, 5)))
    ours = a * (columns * 2 + 1)
    engine.compute([ours._buf.expr])
    assert len(nodes.tasks()) <= 2 * len(SPEEDS), nodes.tasks()
    assert np.array_equal(np.asarray(ours), np.ones((6_000, 5)) * (np.arange(5.0) * 2 + 1))


def test_tasks_that_would_wait_for_one_another_are_not_glued() -> None:
    graph = Graph(Remote())
    made = graph.add("fold", "node-0", dict)
    graph.light[made.key] = Outputs(1, 0)
    away = graph.add("rows", "node-1", dict, made)
    both = graph.add("light", "node-0", dict, made, away)
    graph.light[both.key] = Outputs(1, 0)
    assert module.glue(graph, both) is None
    alone = graph.add("light", "node-0", dict, made)
    graph.light[alone.key] = Outputs(1, 0)
    found = module.glue(graph, alone)
    assert found is not None
    assert found.ref is made
    assert alone.key not in graph.node_of


def test_much_that_is_made_of_nothing_and_summed_up_is_no_light_work(nodes: Remote) -> None:
    rows = 2_000_000
    total = (dnp.arange(rows) * 0.5).sum()
    assert float(total) == 0.5 * (np.arange(rows)).sum()
    assert len([word for word in nodes.tasks() if word == "rows"]) == len(SPEEDS)


def test_counts_and_weighted_counts_of_one_labelling_are_one_stage(
    nodes: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).normal(size=(60_000, 4))
    theirs = np.abs(x).argmax(axis=1)
    points = dnp.array(x)
    labels = dnp.abs(points).argmax(axis=1)
    monkeypatch.setattr(blocks, "spread", lambda *_: True)
    counts = dnp.bincount(labels, minlength=4)
    sums = [dnp.bincount(labels, weights=points[:, k], minlength=4) / counts for k in range(4)]
    ours = np.asarray(dnp.stack(sums))
    expected = [
        np.bincount(theirs, x[:, k], 4) / np.bincount(theirs, minlength=4) for k in range(4)
    ]
    assert np.allclose(ours, np.stack(expected), rtol=1e-12)
    assert len([word for word in nodes.tasks() if word == "folds"]) <= 2 * len(SPEEDS)
    assert "bincount" not in nodes.tasks()
