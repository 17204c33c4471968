"""The faster lowering runs, nothing is compiled twice, and a failure costs nothing but speed."""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.expr.expr import Const, leaf
from dnumpy.kernels import at_hand, cached, choose, codes, preparing, rates
from dnumpy.kernels import compile as compiler
from dnumpy.kernels.choose import compiled_kernels, kernel_for
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p

compile_for_later = choose._compile_for_later


def program(rows: int, shift: float) -> p.Bound:
    """Return exp(x * x) - shift over some rows, in a phase that is alone of its kind."""
    array = np.linspace(0.0, 1.0, rows)
    x = leaf(array, array.shape, array.dtype)
    root = p.apply("subtract", p.apply("exp", p.apply("multiply", x, x)), Const(shift))
    (found,) = p.bound([root], 1 << 16)
    return found


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    """Forget what other tests have compiled, and find every program worth compiling at once."""
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    at_hand.is_known.cache_clear()
    monkeypatch.setattr(config, "kernels", "auto")
    monkeypatch.setattr(choose, "_kernels", {})
    monkeypatch.setattr(preparing, "records", {})
    monkeypatch.setattr(choose, "LOWER_AFTER", 0.0)
    monkeypatch.setattr(preparing, "LOAD_AFTER", 0.0)
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(choose, "_compile_for_later", lambda *_: None)
    monkeypatch.setattr(preparing, "costs", [])


def run_until(bound: p.Bound, done) -> list[bytes]:
    """Run until ``done()``, at most a minute; return the distinct results."""
    seen, limit = set(), time.monotonic() + 60
    while not done():
        assert time.monotonic() < limit
        seen.add(bound.run(kernel_for(bound.phase))[0].tobytes())
    seen.add(bound.run(kernel_for(bound.phase))[0].tobytes())
    return sorted(seen)


def wait_for_compilers() -> None:
    """Return when no thread compiles, nor one that it has begun."""
    while working := [t for t in threading.enumerate() if t.name == "dnumpy-compile"]:
        working[0].join()


def states() -> set[str]:
    return {r.state for r in preparing.records.values()}


def test_the_setting_decides(monkeypatch):
    bound = program(3000, 1.0)
    for name in ("tiled", "numba"):
        monkeypatch.setattr(config, "kernels", name)
        bound.run(kernel_for(bound.phase))
        assert kernel_for(bound.phase).lowering == name


def test_equal_phases_share_one_kernel():
    assert kernel_for(program(500, 2.0).phase) is kernel_for(program(500, 3.0).phase)
    assert kernel_for(program(500, 2.0).phase) is not kernel_for(program(501, 2.0).phase)


def test_a_program_that_keeps_running_is_compiled_and_the_bits_stay():
    bound = program(20_000, 0.5)
    assert len(run_until(bound, lambda: "ready" in states())) == 1
    (report,) = compiled_kernels()
    assert report.digest == compiler.digest_of(next(iter(preparing.records)))
    assert report.tiled_seconds > 0


def test_threads_start_one_compilation_of_a_program(monkeypatch):
    made = []
    real = codes.machine_code

    def counted(source):
        made.append(source)
        time.sleep(0.05)
        return real(source)

    monkeypatch.setattr(codes, "machine_code", counted)
    bounds = [program(rows, 0.25) for rows in (4000, 5000, 6000)]
    threads = [
        threading.Thread(target=lambda b=b: [b.run(kernel_for(b.phase)) for _ in range(20)])
        for b in bounds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_until(bounds[0], lambda: "ready" in states())
    assert len(preparing.records) == 1
    background = [s for s in made if s in preparing.records]
    assert (
        1 <= len(background) <= 1 + len(bounds)
    )  # once in the background, once to bind each phase


def test_what_does_not_compile_warns_once_and_runs_tiled(monkeypatch):
    def refuse(_source):
        msg = "no"
        raise RuntimeError(msg)

    monkeypatch.setattr(codes, "machine_code", refuse)
    bound = program(7000, 0.125)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = run_until(bound, lambda: "failed" in states())
        for _ in range(5):
            bound.run(kernel_for(bound.phase))
    assert len(results) == 1
    assert kernel_for(bound.phase).lowering == "tiled"
    assert [str(w.message) for w in caught if "does not compile" in str(w.message)] == [
        "a kernel stays with NumPy, since it does not compile: no"
    ]


def test_the_slower_lowering_is_left_and_looked_at_again():
    record = rates.Record("")
    for _ in range(rates.TRIALS):
        record.tiled.observe(1.0, 1)
        record.numba.observe(2.0, 1)
    tried = [record.prefers_numba() for _ in range(2 * rates.RETIMED)]
    assert sum(tried) == 2
    record.numba.observe(0.5, 1)
    assert record.prefers_numba()


def test_one_op_alone_stays_tiled():
    array = np.arange(9000.0)
    x = leaf(array, array.shape, array.dtype)
    (bound,) = p.bound([p.apply("exp", x)], 1 << 16)
    for _ in range(3):
        bound.run(kernel_for(bound.phase))
    assert not preparing.records


def test_one_busy_moment_does_not_decide_and_slow_times_do_in_the_end() -> None:
    rate = rates.Rate()
    for seconds in (1.0, 1.1, 1000.0, 1.2):
        rate.observe(seconds, 1)
    assert rate.value is not None
    assert rate.value < 1.1
    for _ in range(60):
        rate.observe(8.0, 1)
    assert rate.value > 7.0
    rate.observe(2.0, 1)
    assert rate.value == 2.0


@pytest.fixture
def imports(monkeypatch):
    """Return a list that grows when what writes kernels would be imported; nothing is."""
    begun: list[bool] = []
    monkeypatch.setattr(at_hand, "_imported", threading.Event())
    monkeypatch.setattr(at_hand, "_importing", threading.Lock())
    monkeypatch.setattr(at_hand, "import_lowerings", lambda: begun.append(True))
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 0.2)
    monkeypatch.setattr(at_hand, "_tiled_seconds", [0.0])
    return begun


def asked(phase, *, spent: float, run: float) -> None:
    at_hand._tiled_seconds[0] = spent
    assert not at_hand.lowerings_at_hand(phase, run)
    wait_for_compilers()


@pytest.mark.parametrize(
    ("spent", "run"),
    [(at_hand.IMPORT_AFTER, 0.0), (0.0, at_hand.AHEAD * 0.2)],
    ids=["spent", "run"],
)
def test_a_short_program_imports_nothing_that_writes_kernels_and_a_long_one_does(
    imports, spent, run
):
    phase = program(2000, 1.5).phase
    asked(phase, spent=0.9 * spent, run=0.9 * run)
    assert not imports
    asked(phase, spent=spent, run=run)
    assert imports == [True]


@pytest.mark.parametrize("spent", [True, False])
def test_a_kernel_on_disk_is_loaded_early(imports, spent):
    bound = program(2100, 1.25)
    seconds = {"spent": at_hand.KNOWN_AFTER if spent else 0.0, "run": at_hand.KNOWN_AFTER}
    asked(bound.phase, **seconds)
    assert not imports
    cached.note(bound.phase)
    at_hand.is_known.cache_clear()
    asked(bound.phase, **seconds)
    assert imports == [True]


def test_what_is_about_to_run_for_long_is_loaded_ahead(imports):
    """Where there is machine code for it; the program waits, in its own thread."""
    long = replace(program(2100, 1.25).phase, rows=10**9)
    short = replace(long, rows=2100)
    at_hand.load_ahead([long, long])
    assert not imports
    cached.note(long)
    at_hand.is_known.cache_clear()
    at_hand.load_ahead([short])
    assert not imports
    at_hand.load_ahead([short, long])
    assert imports == [True]
    at_hand.load_ahead([long])  # which somebody has begun to
    assert imports == [True]


def test_the_first_rows_of_a_run_do_not_tell_how_long_it_takes(imports):
    """What they take is in part what all others find there: then it is no long run."""
    bound = program(2450, 1.25)
    kernel, rows = kernel_for(bound.phase), 49
    long = at_hand.AHEAD * at_hand.COMPILE_SECONDS
    for seconds in [1.5 * long, 0.9 * long, 1.1 * long]:
        share = seconds * rows / bound.phase.rows
        kernel._ran_early((), (), (share, share), rows)
        asked(bound.phase, spent=0.0, run=kernel._expected)
    assert not imports
    assert kernel._expected == pytest.approx(0.92 * long)
    kernel = choose.AdaptiveKernel(bound.phase)
    kernel._ran_early((), (), (1.1 * long, 1.1 * long), bound.phase.rows)  # all of them at once
    assert not at_hand.lowerings_at_hand(bound.phase, kernel._expected)
    assert imports == [True]


def test_a_long_phase_that_is_on_disk_never_runs_tiled(monkeypatch):
    monkeypatch.setattr(codes, "_codes", {})
    first = program(2100, 1.25)
    run_until(first, lambda: cached.is_known(first.phase))
    monkeypatch.setattr(choose, "_kernels", {})
    monkeypatch.setattr(preparing, "records", {})
    at_hand.is_known.cache_clear()
    monkeypatch.setattr(choose, "LOWER_AFTER", 1e9)
    bound = program(2100, 1.25)
    kernel = kernel_for(bound.phase)
    given = bound.run(kernel)[0].tobytes()
    assert kernel.lowering == "numba"
    assert given == first.run(TiledKernel(first.phase))[0].tobytes()


def test_what_ran_long_once_is_compiled_for_later_processes(monkeypatch):
    monkeypatch.setattr(choose, "_compile_for_later", compile_for_later)
    monkeypatch.setattr(choose, "LOWER_AFTER", 1e9)
    bound = program(2400, 1.0)
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 1e9)
    bound.run(kernel_for(bound.phase))
    assert not preparing.records
    monkeypatch.setattr(choose, "_kernels", {})
    bound = program(2400, 1.0)
    monkeypatch.setattr(at_hand, "COMPILE_SECONDS", 0.0)
    bound.run(kernel_for(bound.phase))
    wait_for_compilers()
    assert states() == {"ready"}
    assert cached.is_known(bound.phase)


def test_what_was_compiled_is_known_to_later_processes():
    bound = program(2200, 1.75)
    assert not cached.is_known(bound.phase)
    run_until(bound, lambda: cached.is_known(bound.phase))
    assert "ready" in states()


def test_tiled_seconds_before_there_was_a_record_count(monkeypatch):
    bound = program(2300, 1.125)
    kernel = kernel_for(bound.phase)
    monkeypatch.setattr(choose, "LOWER_AFTER", 1e9)
    bound.run(kernel)
    spent = kernel._total
    assert spent > 0
    monkeypatch.setattr(choose, "LOWER_AFTER", 0.0)
    monkeypatch.setattr(preparing, "LOAD_AFTER", 1e9)
    run_until(bound, lambda: preparing.records)
    (record,) = preparing.records.values()
    assert record.tiled_total > spent
