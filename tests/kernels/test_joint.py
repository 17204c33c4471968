"""Rows that threads of the module in C draw have the bits and the faults of those one runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.expr.expr import Const
from dnumpy.kernels.joint import run_jointly
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p
from tests.kernels.test_numba import compiling, only, stored

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")


def jointly(bound, threads, batch_tiles, told=()):
    """Return the outputs of a joint run, None where it cannot be, and what it says."""
    phase = bound.phase
    outs = bound.allocate()
    variant = NumbaKernel(phase).variant_for(bound.values, outs)
    if type(variant) is not Variant or not variant.plain:
        return None, None
    variant.compile()
    rows = phase.rows, batch_tiles * phase.tile_rows, phase.tile_rows
    done = run_jointly(variant, bound.values, outs, rows, threads, told)
    return (outs if done else None), done


@settings(compiling, max_examples=60)
@given(p.programs(), st.sampled_from((1, 4096)), st.integers(1, 5), st.integers(1, 3))
def test_a_joint_run_has_the_bits_of_the_tiled_one(roots, tile_bytes, threads, batch_tiles):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            found, _ = jointly(bound, threads, batch_tiles)
            if found is not None:
                tiled = bound.run(TiledKernel(bound.phase))
                assert [p.bits(x) for x in found] == [p.bits(x) for x in tiled], bound.phase


@pytest.mark.parametrize("number", [2.5, 3, True, np.float32(0.1), 1 << 62])
def test_each_thread_is_told_of_every_number_and_every_operand(number):
    rng = np.random.default_rng(0)
    wide, row = stored(rng.random((4000, 30))[:, 3:12]), stored(rng.random(9))
    roots = p.apply("add", p.apply("multiply", wide, Const(number)), row)
    bound = only(roots, 4096)
    kernel = TiledKernel(bound.phase)
    for threads in (1, 2, 4):
        found, done = jointly(bound, threads, 1)
        assert done
        assert [p.bits(x) for x in found] == [p.bits(x) for x in bound.run(kernel)]


def test_what_is_to_be_told_is_computed_otherwise():
    bound = only(p.apply("divide", stored(np.ones(4000)), stored(np.arange(4000.0))), 4096)
    assert jointly(bound, 3, 1, ("divide",)) == (None, False)
    found, done = jointly(bound, 3, 1, ("invalid",))
    assert done
    assert found[0][0] == np.inf


def test_what_shares_memory_with_a_result_is_computed_otherwise():
    memory = np.arange(5000.0)
    bound = only(p.apply("add", stored(memory[:4000]), Const(1.0)), 4096)
    outs = [memory[500:4500]]
    variant = NumbaKernel(bound.phase).variant_for(bound.values, outs)
    variant.compile()
    tile = bound.phase.tile_rows
    assert run_jointly(variant, bound.values, outs, (4000, tile, tile), 2, ()) is None
    assert np.array_equal(memory, np.arange(5000.0))


def test_callers_at_the_same_time_all_get_their_results():
    rng = np.random.default_rng(1)
    a, b = rng.random(300_000), rng.random(300_000)
    bound = only(p.apply("add", p.apply("multiply", stored(a), Const(2.0)), stored(b)), 1 << 14)
    expected = a * 2.0 + b
    wrong: list[int] = []

    def call(number):
        for _ in range(30):
            found, done = jointly(bound, 3, 1)
            if not done or not np.array_equal(found[0], expected):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


@p.with_timer
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_does_not_wait_for_the_last_batch(threads):
    bound = p.long_work()
    outs, phase = bound.allocate(), bound.phase
    variant = NumbaKernel(phase).variant_for(bound.values, outs)
    variant.compile()
    untouched = outs[0][-1]
    with p.interrupted():
        run_jointly(variant, bound.values, outs, (phase.rows, 4, phase.tile_rows), threads, ())
    assert outs[0][-1] == untouched
    assert outs[0][0] != untouched


@pytest.mark.modeless("a place's runs are shared out by this process alone")
def test_a_program_is_told_of_faults_once_and_at_its_line(monkeypatch):
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(config, "kernels", "numba")
    a, b = dnumpy.arange(1_000_000.0), dnumpy.arange(1_000_000.0)
    for _ in range(8):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            total = float((a / b + 1.0).sum())
        assert np.isnan(total)
        assert [str(w.message) for w in told] == ["invalid value encountered in divide"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_has_threads_of_its_own():
    text = """
        import os
        import sys
        import numpy as np
        from dnumpy import native

        x = np.arange(200_000.0)
        mask = x % 3 == 0
        expected = x[mask]
        for _ in range(3):
            assert np.array_equal(native.take_by_mask(x, mask, np.empty, 3), expected)
        child = os.fork()
        for _ in range(3):
            assert np.array_equal(native.take_by_mask(x, mask, np.empty, 3), expected)
        if child == 0:
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))
    """
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)], timeout=60, check=False
    )
    assert found.returncode == 0
