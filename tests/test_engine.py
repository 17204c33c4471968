"""When and how often things are computed, and what is said about them."""

from __future__ import annotations

import gc
import linecache
import math
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.api.array import concrete
from dnumpy.config import config
from dnumpy.expr.origin import Site
from dnumpy.kernels import at_hand, reference, tiled
from dnumpy.kernels.choose import kernel_for
from dnumpy.runtime import local, window

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr

pytestmark = pytest.mark.usefixtures("managed")


@pytest.fixture(autouse=True)
def _no_history() -> None:
    engine.history.clear()  # it is bounded, so that only its length before would not do


def pending(x: Any) -> bool:
    return bool(x._buf.pending)


# ---------------------------------------------------------------- how often


def ops_run(since: int) -> list[str]:
    """Return the names of the ops of the stages that ran since."""
    return [name for record in list(engine.history)[since:] for name in record.what.split("+")]


def test_nothing_is_computed_until_somebody_looks() -> None:
    ran = len(engine.history)
    x = dnumpy.arange(100.0)
    y = dnumpy.sqrt(x) + 1
    total = y.sum()
    assert pending(y)
    assert len(engine.history) == ran
    assert y.shape == (100,)
    assert float(total) == pytest.approx(np.sqrt(np.arange(100.0)).sum() + 100)
    assert len(engine.history) > ran


def test_what_is_shared_is_computed_once() -> None:
    x = dnumpy.arange(100.0) + 1
    concrete(x)
    ran = len(engine.history)
    root = dnumpy.sqrt(x)
    one, two, total = root + 1, root * 2, root.sum()
    del root
    concrete(one)
    concrete(two)
    float(total)
    assert ops_run(ran).count("sqrt") == 1


def test_an_array_that_is_alive_is_computed_along_and_never_again() -> None:
    x = dnumpy.arange(100.0) + 1
    concrete(x)
    ran = len(engine.history)
    root = dnumpy.sqrt(x)
    total = root.sum()
    float(total)
    assert not pending(root)
    before = ops_run(ran)
    concrete(root)
    concrete(root + 1)
    assert before.count("sqrt") == ops_run(ran).count("sqrt") == 1


def test_an_equal_expression_is_the_same_pending_one() -> None:
    x = dnumpy.arange(100.0) + 1
    concrete(x)
    ran = len(engine.history)
    one, two = dnumpy.exp(x), dnumpy.exp(x)
    np.testing.assert_array_equal(concrete(one), concrete(two))
    assert ops_run(ran).count("exp") == 1
    one[0] = -1
    assert two[0] != -1


def test_what_nobody_holds_is_never_computed() -> None:
    x = dnumpy.arange(100.0) + 1
    concrete(x)
    ran = len(engine.history)
    dead = dnumpy.log(x)
    del dead
    gc.collect()
    concrete(x + 1)
    engine.flush()
    assert "log" not in ops_run(ran)


def test_an_operand_dies_when_its_last_user_was_computed() -> None:
    x = dnumpy.arange(100.0) + 1
    expr = weakref.ref(x._buf.expr)
    y = dnumpy.sqrt(x)
    del x
    concrete(y)
    gc.collect()
    assert expr() is None


# ---------------------------------------------------------------- windows and long chains


def test_a_full_window_starts_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "window_exprs", 10)
    x = dnumpy.zeros(50)
    for _ in range(40):
        x = x + 1
    engine.flush()
    assert not pending(x)
    np.testing.assert_array_equal(concrete(x), np.full(50, 40.0))


@pytest.mark.skipif(config.mode == "split", reason="what lies on nodes keeps what it is made of")
def test_pending_work_holds_few_of_the_operands_that_were_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "HELD_BYTES", 1 << 18)
    monkeypatch.setattr(window, "LOOKED_BYTES", 1 << 16)
    monkeypatch.setattr(window, "LOOKED_ELEMENTS", 1 << 14)
    size = config.eager_below + (1 << 16)
    total = dnumpy.zeros(size)
    made: list[weakref.ref[Expr]] = []
    for k in range(12):
        chunk = dnumpy.array(np.full(size, float(k)))
        made.append(weakref.ref(chunk._buf.expr))
        total = total + chunk
        assert sum(ref() is not None for ref in made) <= 3
    np.testing.assert_array_equal(concrete(total), np.full(size, 66.0))


def test_a_long_chain_over_one_dropped_operand_stays_one_phase() -> None:
    size = config.eager_below + 50
    x = dnumpy.array(np.ones(size))
    for _ in range(30):
        x = x * 2.0 - 1.0
    assert pending(x)
    np.testing.assert_array_equal(concrete(x), np.ones(size))


def test_ten_thousand_operations_in_a_row_need_no_recursion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "window_exprs", 1 << 30)
    x = dnumpy.zeros(20)
    for _ in range(10_000):
        x = x + 1
    assert pending(x)
    assert x[3] == 10_000


def test_ten_thousand_writes_in_a_row_need_no_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "window_exprs", 1 << 30)
    x = dnumpy.zeros(50) + 0
    y = x[::2]
    for k in range(10_000):
        x[k % 50] += 1
    assert x.sum() == 10_000
    assert y.sum() == 5_000


def test_a_long_pending_chain_can_be_dropped() -> None:
    x = dnumpy.zeros(20)
    for _ in range(1_900):
        x = x * 1.5
    del x
    gc.collect()
    assert (dnumpy.zeros(20) + 1).sum() == 20


# ---------------------------------------------------------------- warnings


def warned(script: str, module: Any) -> list[tuple[str, str, int | None]]:
    """Return category, text and line of what ``script`` warns about, run as its own file.

    NumPy names a line of its own for what happens inside its Python functions: None here.
    """
    name = f"<script for {module.__name__}>"
    linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(compile(script, name, "exec"), {"np": module, "numpy": np})
    return [
        (w.category.__name__, str(w.message), w.lineno if w.filename == name else None)
        for w in seen
    ]


SCRIPTS = {
    "divide": "x = np.zeros(50)\ny = 1 / x\nz = y + 1\nprint(end=str(z[0])[:0])\n",
    "invalid": "x = np.zeros(50)\n\ny = np.sqrt(x - 1)\nz = y.sum()\nfloat(z)\n",
    "overflow": "x = np.full(50, 1e308)\ny = x * 10\ny[0]\n",
    "overflow in a sum": "x = np.full(50, 1e38, 'f4')\ny = x.sum()\nfloat(y)\n",
    "overflow in a half sum": "x = np.full(50, 6e4, 'f2')\ny = x.sum(axis=0)\nfloat(y)\n",
    "overflow in columns": "x = np.full((50, 2), 1e38, 'f4')\ny = np.sum(x, axis=0)\ny[0]\n",
    "log": "x = np.arange(50.0)\ny = np.log(x) + 1\ny[0]\n",
    "cast": "x = np.full(50, np.nan)\ny = x.astype(int)\ny[0]\n",
    "underflow is ignored": "x = np.full(50, 1e-300)\ny = x * x\ny[0]\n",
    "ignored when recorded": (
        "x = np.zeros(50)\nwith np.errstate(divide='ignore'):\n    y = 1 / x\ny[0]\n"
    ),
    "warned when recorded": (
        "x = np.zeros(50)\nwith np.errstate(divide='warn'):\n    y = 1 / x\n"
        "with np.errstate(divide='ignore'):\n    y[0]\n"
    ),
    "under asked for": (
        "x = np.full(50, 1e-300)\nwith np.errstate(under='warn'):\n    y = x * x\ny[0]\n"
    ),
    "integers": "x = np.arange(50)\ny = x // 0\ny[0]\n",
    "in place": "x = np.ones(50)\nx /= 0\nx[0]\n",
    "into a slice": "x = np.ones(50)\nx[3:40] /= 0\nx[0]\n",
    "nothing": "x = np.ones(50)\nx /= 2\nx[0]\n",
}


@pytest.mark.parametrize("script", [pytest.param(s, id=k) for k, s in SCRIPTS.items()])
def test_floating_point_warnings_are_numpys_at_the_line_that_recorded(script: str) -> None:
    ours, theirs = warned(script, dnumpy), warned(script, np)
    assert [w[:2] for w in ours] == [w[:2] for w in theirs]
    for (*_, line), (*_, expected) in zip(ours, theirs, strict=True):
        assert line == (expected if expected is not None else 2)  # where the scripts compute


def test_errstate_raise_raises_at_the_call() -> None:
    x = dnumpy.zeros(50)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        1 / x
    with dnumpy.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid value"):
        dnumpy.sqrt(x - 1)


def test_errstate_call_is_called_at_the_call() -> None:
    seen: list[str] = []
    x = dnumpy.zeros(50)
    with np.errstate(divide="call", call=lambda kind, _flag: seen.append(kind)):
        1 / x
    assert seen == ["divide by zero"]


# ---------------------------------------------------------------- errors while evaluating


def test_an_error_while_evaluating_leaves_arrays_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dnumpy.arange(100.0) + 1
    other = dnumpy.arange(100.0) * 2
    y = dnumpy.sqrt(x)

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        msg = "no memory for this"
        raise MemoryError(msg)

    with monkeypatch.context() as broken:
        broken.setattr(local, "_run_fused", fail)
        broken.setattr(reference, "apply", fail)
        broken.setattr(tiled.TiledKernel, "run", fail)
        if config.mode != "split":
            with pytest.raises(MemoryError, match="no memory for this"):
                concrete(y)
    np.testing.assert_array_equal(concrete(y), np.sqrt(np.arange(100.0) + 1))
    np.testing.assert_array_equal(concrete(other), np.arange(100.0) * 2)
    np.testing.assert_array_equal(concrete(x), np.arange(100.0) + 1)


def test_an_error_half_way_through_writes_leaves_all_of_them_to_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = dnumpy.zeros(100) + 0
    concrete(x)
    x[10:20] = dnumpy.arange(10.0) + 5
    x += dnumpy.cumsum(dnumpy.ones(100))
    x[::3] *= x[::-1][::3]
    expected = np.zeros(100)
    expected[10:20] = np.arange(10.0) + 5
    expected += np.cumsum(np.ones(100))
    expected[::3] *= expected[::-1][::3]
    for failing in range(4):
        calls = 0
        whole = local._run_fused

        def sometimes(stage: Any, whole: Any = whole, failing: int = failing) -> Any:
            nonlocal calls
            calls += 1
            if calls == failing + 1:
                raise MemoryError
            return whole(stage)

        with monkeypatch.context() as broken:
            broken.setattr(local, "_run_fused", sometimes)
            if config.mode != "split":
                try:
                    concrete(x)
                except MemoryError:
                    continue
    np.testing.assert_array_equal(concrete(x), expected)


# ---------------------------------------------------------------- the mode


def test_the_settings_of_the_mode_are_in_force() -> None:
    assert config.eager_below <= 8
    assert type(dnumpy.zeros(100)) is dnumpy.ndarray
    assert dnumpy.zeros(100)._np is None


def test_a_fold_of_a_view_that_does_not_wait_finds_the_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def known_to_be_alone(site: Site) -> None:
        site.alone, site.unread, site.race, site.recording = Site.SURE, 0, None, math.inf

    monkeypatch.setattr(Site, "__init__", known_to_be_alone)
    values = np.arange(60.0).reshape(12, 5) * (1 + 2j)
    x = dnumpy.array(values)
    found = np.add.reduce(dnumpy.multiply(x, x).imag, axis=0)
    np.testing.assert_array_equal(np.asarray(found), (values * values).imag.sum(axis=0))


@pytest.mark.modeless("what runs tiled is decided by this process")
def test_what_ran_tiled_since_a_time_is_weighed_as_if_it_had_run_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "kernels", "auto")
    x, y = (dnumpy.array(np.random.default_rng(k).random(300_000)) for k in range(2))
    for _ in range(6):  # a line that runs once is computed at once
        np.asarray((x - y) * 5.0 + y / 3.0 - 1.25)
    records = [r for r in engine.history if r.phase is not None and r.lowering == "tiled"]
    assert records
    assert records[-1].phase is not None
    kernel = kernel_for(records[-1].phase)
    spent = kernel._total
    engine.compile_since(time.perf_counter())  # nothing ran since
    assert kernel._total == spent
    engine.compile_since(records[-1].started)
    while working := [t for t in threading.enumerate() if t.name == "dnumpy-compile"]:
        working[0].join()
    assert kernel._total >= spent + at_hand.COMPILE_SECONDS
