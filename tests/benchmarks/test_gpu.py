from __future__ import annotations

import functools
import importlib.util
import io
import json
import math
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from rich.console import Console

import dnumpy
from benchmarks.gpu import fused, jitted, kernels, measure, session
from benchmarks.gpu.__main__ import main, parse
from benchmarks.gpu.measure import LINE, Launch, Row, Small, Timing, noted_launches
from benchmarks.gpu.programs import PROGRAMS, GpuProgram, chosen
from benchmarks.gpu.report import Record, aimed, aims, costs, scaled_down, speeds
from benchmarks.gpu.session import apart, check, parts_of
from benchmarks.machine import Limits
from benchmarks.programs import Work
from dnumpy.kernels.cupy import CupyKernel, device_count
from dnumpy.runtime import gpus
from tests.benchmarks import gpu_on_host as host
from tests.kernels import nvrtc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCALE = 3e-6
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
in_default_mode = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default", reason="devices are the default mode's"
)
needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="there is no g++")
needs_nvrtc = pytest.mark.skipif(nvrtc.library() is None, reason="there is no NVRTC")
needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="CuPy is not installed"
)
needs_device = pytest.mark.skipif(not device_count(), reason="there is no GPU")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this machine play the device; what dnumpy puts there lies at home."""
    for function in (fused.compiled, fused.filling):
        function.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", host.HostCupy())
    monkeypatch.setattr(session, "refusal", lambda: "")
    for module in (session, measure):
        monkeypatch.setattr(module, "device_here", host.HostDevice)
    monkeypatch.setattr(dnumpy, "at", lambda x, place: dnumpy.array(x))
    yield
    for function in (fused.compiled, fused.filling):
        function.cache_clear()


# ---------------------------------------------------------------- programs and rivals


def data_of(program: GpuProgram) -> tuple[numpy.ndarray, ...]:
    return tuple(program.make(SCALE))


@programs
def test_a_program_gives_the_answer_of_numpy(program: GpuProgram) -> None:
    data = data_of(program)
    got = program.run(dnumpy, tuple(map(dnumpy.array, data)))
    home = tuple(numpy.asarray(part) for part in parts_of(got))
    check(program, numpy, home, program.run(numpy, data))


@programs
@needs_compiler
def test_a_program_by_hand_gives_the_answer_of_numpy(program: GpuProgram, played: None) -> None:
    data = data_of(program)
    before = [array.copy() for array in data]
    got = fused.PROGRAMS[program.name](*data)
    assert all(map(numpy.array_equal, before, data)), "the data were written to"
    check(program, numpy, got, program.run(numpy, data))


@needs_compiler
def test_a_kernel_by_hand_does_every_size(played: None) -> None:
    rng = numpy.random.default_rng(3)
    for dtype in (numpy.float32, numpy.float64):
        for size in (1, 3, 4, 255, 257, 5_000):
            a, b, c = (rng.random(size, dtype) + dtype(0.5) for _ in range(3))
            numpy.testing.assert_allclose(fused.fma_sum(a, b, c), (a * b + c).sum(), rtol=1e-5)
            call, _ = fused.black_scholes(a, b, c)
            expected = PROGRAMS[0].run(numpy, (a, b, c))[0]
            numpy.testing.assert_allclose(call, expected, rtol=1e-4, atol=1e-5)
    for shape in ((3, 3), (17, 300), (40, 5)):
        plate = rng.random(shape)
        assert numpy.array_equal(fused.jacobi(plate), PROGRAMS[4].run(numpy, (plate,)))
        rows = fused.by_rows("softmax")(plate)
        numpy.testing.assert_allclose(rows.sum(axis=1), 1.0)


@programs
def test_a_program_under_jit_gives_the_answer_of_numpy(program: GpuProgram) -> None:
    jnp = pytest.importorskip("jax.numpy")
    data = data_of(program)
    compiled = jitted.version(program)
    got = compiled(*map(jnp.asarray, data))
    home = tuple(numpy.asarray(part) for part in parts_of(got))
    check(program, numpy, home, program.run(numpy, data))


@programs
def test_what_is_timed_is_computed(program: GpuProgram, played: None) -> None:
    data = tuple(program.make(1e-3))
    one = session.rival("dnumpy", program, data)
    found = one.run()
    one.finish(found)
    for part in parts_of(found):
        if type(part) is dnumpy.ndarray:
            assert part._np is not None or part._buf.expr.value is not None
        else:
            pending = getattr(part, "expr", None)  # a scalar that is known has none
            assert pending is None or pending.value is not None


def test_a_wrong_answer_is_told() -> None:
    program = replace(PROGRAMS[0], tolerance=1e-6, strays=0.0)
    right = numpy.linspace(-2.0, 1.0, 50)
    wrong = right.copy()
    wrong[7] += 1e-3
    check(program, numpy, right, right.copy())
    for found in (wrong, numpy.where(right > 0.9, numpy.nan, right)):
        with pytest.raises(AssertionError, match="of 50 elements differ"):
            check(program, numpy, found, right)
    check(replace(program, strays=0.02), numpy, wrong, right)
    with pytest.raises(AssertionError, match="shape"):
        check(program, numpy, right[1:], right)
    with pytest.raises(AssertionError, match="dtype"):
        check(program, numpy, right.astype("f4"), right)


def test_results_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BLOCK", 7)
    expected = numpy.arange(40)
    got = expected + (expected % 13 == 0)
    far, worst = apart(numpy, got, expected, 0.0)
    assert far == 4
    assert worst == pytest.approx(1 / 39)


def test_a_program_is_scaled_to_the_memory_that_is_free() -> None:
    program = PROGRAMS[0]
    assert program.fitting(1.0, 10 * program.device_bytes) == 1.0
    assert program.fitting(0.1, program.device_bytes) == 0.1
    assert program.fitting(1.0, program.device_bytes / 4) == pytest.approx(0.2)


@programs
def test_a_program_needs_more_memory_than_its_data(program: GpuProgram) -> None:
    small = sum(array.nbytes for array in program.make(1e-3))
    assert program.device_bytes > small / 1e-3 * 0.2


# ---------------------------------------------------------------- kernels' texts, CuPy's names


@needs_nvrtc
@pytest.mark.modeless("a compiler reads no settings")
@pytest.mark.parametrize("source", [*kernels.SOURCES, LINE], ids=lambda s: s.names[0])
def test_a_kernel_by_hand_compiles_for_every_device(source: kernels.Source) -> None:
    options = tuple(option for option in source.options if option not in nvrtc.OPTIONS)
    for architecture in (70, 80, 90):
        assert nvrtc.complaints(source.text, architecture, options) == ""


@needs_cupy
def test_the_names_that_are_used_exist() -> None:
    cupy = pytest.importorskip("cupy")
    for name in (*fused.NAMES, *session.NAMES):
        functools.reduce(getattr, name.split("."), cupy)


# ---------------------------------------------------------------- options and refusals


def test_options_are_read() -> None:
    options = parse(["--programs", "sort,fft,sort", "--peers", "plain,numpy", "--scale", "0.5"])
    assert [program.name for program in options.programs] == ["sort", "fft"]
    assert options.peers == ("plain", "numpy")
    assert (options.scale, options.repeats, options.json) == (0.5, 5, None)
    assert parse([]).programs == PROGRAMS


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--programs", "srot"], "no program srot; there are all, black_scholes_f32"),
        (["--peers", "numba"], "no peer numba; there are numpy, plain"),
        (["--repeats", "0"], "must be above 0"),
    ],
)
def test_what_does_not_exist_ends_with_status_2(argv, said, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_every_program_has_a_version_by_hand_and_a_name_of_its_own() -> None:
    assert [program.name for program in PROGRAMS] == list(fused.PROGRAMS)
    assert set(jitted.IN_OTHER_WORDS) < set(fused.PROGRAMS)
    with pytest.raises(ValueError, match="no program x"):
        chosen("x")


@in_default_mode
def test_without_a_driver_or_cupy_a_sentence_says_so(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(gpus, "SIGNS", (str(tmp_path / "none"),))
    assert main([]) == 1
    assert "no NVIDIA driver" in capsys.readouterr().out
    monkeypatch.setattr(gpus, "SIGNS", (str(tmp_path),))
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    assert main(["--programs", "sort"]) == 1
    assert "CuPy is not installed: pip install 'dnumpy[gpu-cuda12]'" in capsys.readouterr().out
    monkeypatch.setattr(session, "find_spec", lambda name: name)
    monkeypatch.setattr(gpus, "devices_here", lambda: None)
    assert main([]) == 1
    assert "find no GPU" in capsys.readouterr().out


def test_with_devices_switched_off_a_sentence_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(dnumpy.config, "device", "cpu")
    assert main([]) == 1
    assert "told to use no GPU" in capsys.readouterr().out


# ---------------------------------------------------------------- a whole run, the device played


@in_default_mode
@needs_compiler
def test_a_run_measures_compares_and_stores(played, monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(measure, "COPY_BYTES", 1e5)
    monkeypatch.setattr(measure, "PRODUCT_EDGE", 20)
    monkeypatch.setattr(measure, "LAUNCH_ELEMENTS", 512)
    monkeypatch.setattr(measure, "LAUNCHES", 10)
    monkeypatch.setattr(measure, "SMALL_SECONDS", 1e-4)
    monkeypatch.setattr(jitted, "missing", lambda: "jax has no GPU here")
    path = tmp_path / "results" / "gpu.json"
    asked = ["--scale", "1e-5", "--repeats", "2", "--warmups", "1", "--json", str(path)]
    assert main([*asked, "--programs", "fma_sum", "--peers", "numpy,plain,fused,jax"]) == 0
    assert main([*asked, "--programs", "sort", "--peers", "plain,fused", "--keep"]) == 0
    out = capsys.readouterr().out
    assert "jax has no GPU here: skipped" in out
    assert "ran elsewhere" in out
    record = Record.read(path)
    assert [row.program for row in record.rows] == ["fma_sum", "sort"]
    first, second = record.rows
    assert {name: len(t.seconds) for name, t in first.timings.items()} == {
        "plain": 2,
        "fused": 2,
        "numpy": 1,
        "dnumpy": 2,
    }
    assert list(second.timings) == ["plain", "fused", "dnumpy"]
    assert record.machine["device"] == "this machine"
    assert record.launch is not None
    assert len(record.small) == len(measure.SMALL) * len(measure.SMALL_SIZES)


@in_default_mode
def test_a_rival_that_is_wrong_or_fails_has_no_times(played, monkeypatch, capsys) -> None:
    def fails(*_: Any) -> Any:
        msg = "out of luck"
        raise RuntimeError(msg)

    monkeypatch.setitem(fused.PROGRAMS, "sort", lambda x: x.copy())
    monkeypatch.setitem(fused.PROGRAMS, "fft", fails)
    asked = {"scale": 1e-5, "repeats": 1, "warmups": 0}
    for name, said in (("sort", "elements differ"), ("fft", "out of luck")):
        (program,) = chosen(name)
        row = measure.compare(program, ("plain", "fused"), **asked)
        assert list(row.timings) == ["plain", "dnumpy"]
        assert said in row.errors["fused"]


def test_a_rival_that_fails_later_loses_its_times(played) -> None:
    left = [2, 0]

    def run() -> None:
        left[0] -= 1
        if not left[0]:
            msg = "no memory"
            raise MemoryError(msg)

    row = Row("p", "p", 1.0, timings={"plain": Timing(1.0), "numpy": Timing(1.0, [1.0])})
    rivals = [session.Rival(name, run, lambda _: None) for name in row.timings]
    measure.alternate(rivals, row, warmups=1, repeats=3)
    assert row.errors == {"plain": "MemoryError: no memory"}
    assert list(row.timings) == ["numpy"]


def test_launches_are_noted(monkeypatch) -> None:
    monkeypatch.setattr(CupyKernel, "launch", lambda self, *args: args)
    with noted_launches() as seconds:
        kernel = CupyKernel.__new__(CupyKernel)
        assert kernel.launch(1, 2) == (1, 2)
        kernel.launch()
    kernel.launch()
    assert len(seconds) == 2


# ---------------------------------------------------------------- tables, aims, the record


def made_up() -> Record:
    def timing(*seconds: float) -> Timing:
        return Timing(0.5, list(seconds))

    rows = (
        Row(
            "black_scholes_f64",
            "Black-Scholes",
            0.25,
            fused=True,
            elementwise=True,
            work=Work(4e9),
            timings={
                "plain": timing(0.008, 0.009, 0.01),
                "fused": timing(0.002, 0.002, 0.0021),
                "dnumpy": timing(0.002, 0.0025, 0.003),
            },
        ),
        Row(
            "mlp",
            "MLP layer",
            1.0,
            work=Work(1e8, 2e10, "float32"),
            timings={"plain": timing(0.002), "dnumpy": timing(0.001)},
            errors={"fused": "RuntimeError: no"},
        ),
        Row("sort", "sort", 1.0, errors={"data": "MemoryError: no"}),
    )
    limits = Limits(2e12, {"float32": 4e13, "float64": 3e13})
    small = (Small("a + b", 1_000, 1e-6, 2e-6), Small("a + b", 100_000, 3e-5, 1e-5))
    launch = Launch(2.5e-5, 1e-4, 2e-5, 1e-5)
    peers = ("plain", "fused")
    return Record({"device": "X"}, "2026-01-01", 1.0, peers, limits, rows, launch, small)


def printed(*tables: Any) -> str:
    console = Console(width=200, file=io.StringIO())
    for table in tables:
        console.print(table)
    return console.file.getvalue()


def test_tables_show_times_ratios_shares_and_what_misses_its_aim() -> None:
    text = printed(speeds(made_up()), costs(made_up()), aimed(made_up()))
    line = next(line for line in text.splitlines() if "Black-Scholes" in line)
    for part in ("0.25", "2 ms / 2.5 ms", "8 ms / 9 ms", "3.6", "0.80*", "80%*", "100%"):
        assert part in line, part
    line = next(line for line in text.splitlines() if "MLP layer" in line)
    assert "!" in line
    assert "50%" in line
    assert "a + b, 1,000 at home" in text
    assert "25 us" in text
    assert scaled_down(made_up(), 1.0) == [
        "Black-Scholes: at 0.25 of its size, which is what the device has memory for"
    ]


def test_aims_are_met_or_not_or_without_figures() -> None:
    found = {aim.what: aim for aim in aims(made_up())}
    assert [aim.met for aim in found.values()] == [False, True, False, True, False]
    assert [aim.measured for aim in found.values()] == ["0.80", "3.60", "0.80", "25 us", "2.00"]
    nothing = Record({}, "", 1.0, (), made_up().limits, ())
    assert {aim.met for aim in aims(nothing)} == {None}
    assert "aims" in printed(speeds(nothing), costs(nothing), aimed(nothing))


def test_a_record_is_stored_with_every_figure_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "gpu.json"
    made_up().write(path)
    assert Record.read(path) == made_up()
    plain = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert plain["date"] == "2026-01-01"
    assert plain["rows"][0]["speed"] == pytest.approx({"plain": 3.6, "fused": 0.8})
    assert plain["rows"][0]["timings"]["plain"]["seconds"] == [0.008, 0.009, 0.01]
    assert [aim["met"] for aim in plain["aims"]] == [False, True, False, True, False]


def test_older_rows_stay_where_the_device_is_the_same() -> None:
    older = made_up()
    again = Row("mlp", "MLP layer", 1.0, timings={"dnumpy": Timing(1.0, [2.0])})
    newer = replace(older, rows=(again,), launch=None, small=(), peers=("jax",))
    joined = newer.onto(older)
    assert [row.program for row in joined.rows] == ["black_scholes_f64", "mlp", "sort"]
    assert joined.rows[1] is again
    assert joined.launch == older.launch
    assert joined.peers == ("plain", "fused", "jax")
    with pytest.raises(ValueError, match="not comparable"):
        newer.onto(replace(older, machine={"device": "Y"}))


def test_a_peer_without_times_has_no_speed() -> None:
    assert math.isnan(Row("p", "p", 1.0).speed("plain"))


# ---------------------------------------------------------------- on a device


@pytest.mark.gpu
@needs_device
@in_default_mode
@programs
def test_every_rival_agrees_with_numpy_on_a_device(program: GpuProgram) -> None:
    row = measure.compare(program, ("plain", "fused"), scale=1e-3, repeats=1, warmups=0)
    assert row.errors == {}
    assert list(row.timings) == ["plain", "fused", "dnumpy"]


@pytest.mark.gpu
@needs_device
@in_default_mode
def test_launches_are_seen_on_a_device(monkeypatch) -> None:
    monkeypatch.setattr(measure, "LAUNCHES", 20)
    found = measure.launch_costs()
    assert found.launch is not None
    assert 0 < found.launch < found.evaluation
