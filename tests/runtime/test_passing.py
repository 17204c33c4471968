"""Rows that nobody keeps pass in blocks, where there is no room for them, and mean the same."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.errors import PlanInfeasible
from dnumpy.runtime import cluster
from dnumpy.runtime.refused import NotTogether
from tests.runtime.passing_programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnumpy.runtime.faults import StepFault

LIMIT = 48 << 20
ROWS, COLUMNS = 4 * LIMIT // (8 * 256), 256

pytestmark = pytest.mark.modeless("limits are kept in the default mode, which the tests set")

CHILD = """
import sys
from contextlib import suppress
from pathlib import Path
import numpy as np
import dnumpy
from dnumpy.config import config
from tests.runtime.passing_programs import PROGRAMS

config.mode, config.cluster, config.memory_limit = "default", "off", 4 << 20
config.kernels = "tiled"  # the compilers take 100 MB, whatever the data

def held(name):
    return next(int(l.split()[1]) << 10 for l in Path("/proc/self/status").open()
                if l.startswith(name))

folder, limit = Path(sys.argv[1]), int(sys.argv[2])
some = dnumpy.load(folder / "small.npy", mmap_mode="r")
for program in PROGRAMS.values():  # imports and makes what it needs
    with suppress(MemoryError):
        np.asarray(program(dnumpy, some.reshape(-1), some))
config.memory_limit = limit
matrix = dnumpy.load(folder / "matrix.npy", mmap_mode="r")
line = dnumpy.load(folder / "line.npy", mmap_mode="r")
for name, program in PROGRAMS.items():
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS")
    found = np.asarray(program(dnumpy, line, matrix))
    with (folder / "peaks.txt").open("a") as file:
        file.write(f"{name} {held('VmHWM') - before}\\n")
    np.save(folder / f"{name}.npy", found)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("passing")
    matrix = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    np.save(path / "matrix.npy", matrix)
    np.save(path / "line.npy", matrix.reshape(-1))
    np.save(path / "small.npy", matrix[:2048])
    yield path
    for file in path.iterdir():
        file.unlink()


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "memory_limit", LIMIT)


def opened(folder: Path) -> tuple[Any, Any]:
    return tuple(dnumpy.load(folder / f"{name}.npy", mmap_mode="r") for name in ("line", "matrix"))


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.timeout(180)
def test_four_times_the_limit_passes_below_it_through_several_stages(folder: Path) -> None:
    args = [sys.executable, "-c", CHILD, str(folder), str(LIMIT)]
    env = {**os.environ, "DNUMPY_MODE": "default"}
    ran = subprocess.run(args, capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 0, ran.stderr
    assert not ran.stdout
    told = (folder / "peaks.txt").read_text().splitlines()
    peaks = {name: int(peak) for name, peak in map(str.split, told)}
    assert peaks.keys() == PROGRAMS.keys()
    assert {name: peak for name, peak in peaks.items() if peak >= LIMIT} == {}
    line, matrix = np.load(folder / "line.npy"), np.load(folder / "matrix.npy")
    for name, program in PROGRAMS.items():
        expected = program(np, line, matrix)
        found = np.load(folder / f"{name}.npy")
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.usefixtures("limited")
def test_faults_in_rows_that_pass_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[StepFault] = []
    monkeypatch.setattr(engine.fp_faults, "tell", told.extend)
    _, x = opened(folder)
    logs = dnumpy.log(x - 9.0)  # of what is negative
    found = np.asarray(dnumpy.sort(logs, axis=1).sum(axis=0))
    assert np.isnan(found).all()
    assert {fault.text for fault in told} == {"invalid value encountered in log"}
    assert {fault.origin for fault in told} == {logs._buf.expr.origin}


@pytest.mark.usefixtures("limited")
def test_rows_that_somebody_keeps_are_made_again_and_stay_pending(folder: Path) -> None:
    _, x = opened(folder)
    centred = x - x.mean(axis=0)
    expected = np.load(folder / "matrix.npy")
    expected -= expected.mean(axis=0)
    found = np.asarray(dnumpy.sort(centred, axis=1).sum(axis=0))
    np.testing.assert_allclose(found, np.sort(expected, axis=1).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(float((centred**2).sum()), (expected**2).sum())
    with pytest.raises(PlanInfeasible, match="subtract needs"):
        np.asarray(centred)


@pytest.mark.usefixtures("limited")
def test_a_whole_line_is_not_sorted_where_it_cannot_be_held(folder: Path) -> None:
    line, _ = opened(folder)
    with pytest.raises(PlanInfeasible, match="phase sort") as caught:
        dnumpy.sort(line)[:10].sum().item()
    assert caught.value.options


@pytest.mark.usefixtures("limited")
def test_a_forecast_passes_rows_as_the_run_does(folder: Path) -> None:
    _, x = opened(folder)
    total = dnumpy.sort(x, axis=1).sum(axis=0)
    told = dnumpy.explain(total)
    sorts, sums = told.stages
    assert sorts["passes"]
    assert not sorts["where"]
    assert sums["blocks"] > 4  # the data is four times the limit
    assert 0 < sum(sums["predicted_bytes"]) < LIMIT
    assert f"in {sums['blocks']} blocks" in str(told)
    assert 0 < total.predict().seconds < 60
    assert told.svg()
    assert told.html()
    with pytest.raises(PlanInfeasible, match="sort_rows"):
        dnumpy.explain(dnumpy.sort(x, axis=1))


@pytest.mark.usefixtures("limited")
def test_every_program_that_passes_is_foreseen(folder: Path) -> None:
    line, x = opened(folder)
    for name, program in PROGRAMS.items():
        found = program(dnumpy, line, x)
        stages = dnumpy.explain(found).to_dict()["stages"]
        held = [sum(stage["predicted_bytes"]) for stage in stages]
        assert max(held, default=0) < LIMIT, name


@pytest.mark.usefixtures("limited")
def test_what_cannot_be_held_waits_for_its_fold_where_warnings_are_collected(folder: Path) -> None:
    _, x = opened(folder)
    with np.errstate(invalid="ignore"):
        expected = np.log(np.load(folder / "matrix.npy") ** 2 - 1e-3).sum(axis=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        logs = dnumpy.log(x**2 - 1e-3)  # four times the limit
        found = np.asarray(logs.sum(axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert {str(one.message) for one in told} == {"invalid value encountered in log"}
    assert {one.filename for one in told} == {__file__}


@pytest.mark.usefixtures("limited")
def test_what_may_raise_at_its_line_is_refused_there(folder: Path) -> None:
    _, x = opened(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PlanInfeasible, match="log"):
            dnumpy.log(x)


@pytest.mark.usefixtures("limited")
def test_what_is_refused_one_after_another_passes_before_anybody_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = cluster._attempt
    tried: list[tuple[int, bool]] = []

    def not_together(stages: Any, where: Any, wanted: Any, passing: Any = ()) -> Any:
        tried.append((len(stages), bool(passing)))
        if len(stages) > 1 and not passing:
            error = NotTogether("asked for together")
            error.offered_bytes = 1e12  # beside which each result is small
            raise error
        return attempt(stages, where, wanted, passing)

    monkeypatch.setattr(cluster, "_attempt", not_together)
    _, x = opened(folder)
    found = np.asarray(dnumpy.sort(x, axis=1).sum(axis=0))
    expected = np.sort(np.load(folder / "matrix.npy"), axis=1).sum(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert tried == [(2, False), (1, False), (2, True)]
