"""Laws of rows that follow one another: the bits are NumPy's, whatever the partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.ops.scans import RUN, RunParams
from dnumpy.runtime.chains import ChainedRows
from dnumpy.runtime.graph import Graph, Range
from dnumpy.runtime.virtual import VirtualCluster
from tests.gathering import computed, on_nodes, spread_out
from tests.runtime import programs as p

_rng = np.random.default_rng(8)
_floats = _rng.random((57, 3)) * 1.5 + 0.1
_whole = _rng.integers(1, 5, (57, 3))
RUNS = {
    "subtract": _floats,
    "divide": _whole,
    "power": _floats,
    "float_power": _floats.astype("f4"),
    "floor_divide": _whole,
    "remainder": _floats,
    "arctan2": _floats.astype("f4"),
    "less": _whole > 2,
    "equal": _whole > 2,
    "left_shift": _whole.astype("i1"),
    "copysign": _floats - 1,
    "nextafter": _floats,
    "lcm": _whole,
    "heaviside": np.where(_floats > 1, np.nan, _floats),
}


@pytest.mark.parametrize("name", sorted(RUNS))
@pytest.mark.parametrize("speeds", [(5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)])
def test_folds_row_after_row_are_numpys_bit_for_bit(name: str, speeds: tuple[float, ...]) -> None:
    for values in (RUNS[name], RUNS[name][:, 0].copy(), RUNS[name][:11], RUNS[name][:1]):
        for turn in (lambda a: a, lambda a: a[::-1], lambda a: a.T):
            with spread_out(*speeds) as meter, np.errstate(all="ignore"):
                expected = getattr(np, name).accumulate(turn(values), axis=0)
                placed = on_nodes(values)
                found = computed(getattr(dnumpy, name).accumulate(turn(placed), axis=0))
                assert meter.most() < max(values.nbytes / 2, 100), meter.gathered
                assert found.strides == expected.strides
                assert found.dtype == expected.dtype
                assert np.asarray(found).tobytes() == expected.tobytes()


def test_rows_that_were_lost_are_folded_again_from_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    cluster = VirtualCluster((3.0, 1.0, 2.0))
    values = _floats[:, :2].copy()
    params = RunParams((True,), "subtract", values.dtype)
    expr = make(RUN, (p.data(values),), params, values.shape, values.dtype)
    p.run([expr], cluster)
    stored: Any = expr.value
    producer = stored.source.producer
    assert isinstance(producer, ChainedRows)
    graph = Graph(cluster)
    (_, first), (_, second) = producer.build(
        graph, [Range("node-1", 15, 20), Range("node-0", 40, 57)]
    )
    made = cluster.run(graph, [], [first, second])
    expected = np.subtract.accumulate(values, axis=0)
    np.testing.assert_array_equal(made[first.key].rows[0], expected[15:20])
    np.testing.assert_array_equal(made[second.key].rows[0], expected[40:])


def test_folds_are_written_to_out_and_cast_as_numpy_casts() -> None:
    values = _whole
    with spread_out() as meter:
        placed = on_nodes(values)
        out = dnumpy.zeros(values.shape, "f4")
        found = dnumpy.divide.accumulate(placed, dtype="f4", out=out)
        assert found is out
        computed(out)
        assert meter.most() < values.nbytes / 2, meter.gathered
    np.testing.assert_array_equal(np.asarray(out), np.divide.accumulate(values, dtype="f4"))


def test_folds_row_after_row_warn_as_numpys() -> None:
    values = np.where(np.arange(60) == 33, 0, 2)
    with spread_out(), np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="divide by"):
        np.asarray(dnumpy.floor_divide.accumulate(on_nodes(values)))
