"""What a device has no memory for at once is computed in pieces, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.errors import DeviceMemoryWarning
from dnumpy.expr.expr import make
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.families import RowParams, lookup, rowwise_of
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime import tasks
from dnumpy.runtime.devices import Devices
from dnumpy.runtime.on_device import OnDevice, OnHost
from dnumpy.runtime.operands import Bindings, Read, Take
from tests.runtime import programs as p
from tests.runtime.paper_device import PaperDevice
from tests.runtime.test_devices import made_of

pytestmark = pytest.mark.modeless("the nodes are given")
AMPLE = 1 << 30


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(Devices, "home_bytes", 0)
    monkeypatch.setattr("dnumpy.runtime.devices.EMBED_BYTES", 0)


def reduced(name: str, operand: Any, dtype: Any) -> Any:
    """Return the pending reduction of all rows."""
    params = ReduceParams((0,), False, None, None, False)
    return make(lookup(name), (operand,), params, operand.shape[1:], np.dtype(dtype))


@pytest.mark.filterwarnings("ignore::dnumpy.errors.DeviceMemoryWarning")
@pytest.mark.parametrize(
    ("name", "dtype"), [("add.reduce", "f8"), ("maximum.reduce", "f8"), ("argmax", "i8")]
)
def test_reductions_have_the_same_bits_in_pieces(name, dtype):
    values = np.random.default_rng(3).normal(size=(413, 3)) * np.logspace(-8, 8, 413)[:, None]

    def found(room):
        gpu = PaperDevice(room=room)
        x = p.data(values)
        pair = p.call("multiply", p.view(x, lambda a: a[1:]), p.view(x, lambda a: a[:-1]))
        roots = [reduced(name, pair, dtype), p.call("negative", pair)]
        p.run(roots, made_of(gpu))
        return p.values(roots), gpu

    whole, ample = found(AMPLE)
    pieces, scarce = found(1500)
    for got, want in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(got, want)
    assert max(scarce.sent) <= 1500 < max(ample.sent)
    assert scarce.phases


def divided(gpu: PaperDevice, values: np.ndarray) -> Any:
    """Return what a task on the device makes of ones divided by the values."""
    x = p.call("divide", p.data(np.ones(len(values))), p.data(values))
    (stage,) = cut(pending_in_order([x]), [x], Grain(1, 1 << 18, 5))
    bindings = Bindings(((Take(0, None, None),), (Take(1, None, None),)), (Read(0), Read(1)))
    job = tasks.RowJob(stage.phase, 0, len(values), ((0, len(values), bindings),))
    run = OnDevice(gpu, OnHost((gpu,)))
    return run(tasks.run_rows, job, np.ones(len(values)), values)


@pytest.mark.filterwarnings("ignore::dnumpy.errors.DeviceMemoryWarning")
def test_pieces_meet_the_faults_of_the_whole():
    values = np.ones(400)
    values[[20, 290]] = 0.0
    whole, pieces = (divided(PaperDevice(room=room), values) for room in (AMPLE, 700))
    assert whole.faults == pieces.faults == {(0, "divide by zero")}
    np.testing.assert_array_equal(pieces.rows[0], whole.rows[0]._own)


def test_a_cap_that_was_too_low_is_lifted_before_anything_is_cut():
    gpu = PaperDevice()
    gpu.full_once = True
    made = divided(gpu, np.arange(1.0, 401.0))
    assert gpu.holds(made.rows[0])
    assert (gpu.allowed, gpu.trims) == ([None], 1)


def test_blocks_that_do_not_fit_together_are_computed_one_after_the_other():
    values = np.random.default_rng(4).normal(size=(60, 3, 3))
    blocks = tuple(
        (lo, lo + 10, Bindings(((Take(0, None, slice(lo, lo + 10)),),), (Read(0),)))
        for lo in range(0, 60, 10)
    )
    op = rowwise_of("numpy.linalg.inv")
    job = tasks.BlockJob(op, RowParams((True,)), values.shape, values.dtype, 0, blocks)
    gpu = PaperDevice(room=1000)
    run = OnDevice(gpu, OnHost((gpu,)))
    with pytest.warns(DeviceMemoryWarning, match="piece by piece"):
        made = run(tasks.run_blocks, job, values)
    np.testing.assert_array_equal(made.rows[0], np.linalg.inv(values))
    assert len(gpu.fetched) == len(blocks)
