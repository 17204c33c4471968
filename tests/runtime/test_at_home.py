"""At home, data several times larger than the limit passes in blocks, or is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from dnumpy.errors import PlanInfeasible
from dnumpy.runtime.at_home import limited_home
from dnumpy.runtime.memory import pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 48 << 20
TIMES = 6
ROWS, COLUMNS = TIMES * LIMIT // (8 * 4_096), 4_096

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import dnumpy
from dnumpy.config import config

config.memory_limit, config.cluster = 4 << 20, "off"
config.kernels = "tiled"  # the compilers take 100 MB, whatever the data

def held(name):
    return next(int(l.split()[1]) << 10 for l in Path("/proc/self/status").open()
                if l.startswith(name))

def totals(x):
    y = x / x.sum(axis=1, keepdims=True)
    return np.asarray(y.sum(axis=0)), np.asarray(((x - x.mean(axis=0)) ** 2).sum(axis=0))

some = dnumpy.asarray(np.ones((500, 600)))
totals(some), np.asarray(some @ np.ones((600, 2)))  # imports and makes what it needs
config.memory_limit = int(sys.argv[2])
x = dnumpy.load(sys.argv[1], mmap_mode="r")
Path("/proc/self/clear_refs").write_text("5")
before = held("VmRSS")
found = totals(x)
grown = held("VmHWM") - before
product = np.asarray(x @ np.ones((x.shape[1], 2)))
grown = max(grown, held("VmHWM") - before)
np.save(sys.argv[3], np.stack(found))
assert (product[:, 0] == np.arange(len(x)) % 7 + 1 + np.arange(len(x)) % 5).all()
print(grown)
"""


pytestmark = pytest.mark.modeless("limits are kept in the default mode, which the tests set")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("home") / "x.npy"
    start = np.lib.format.open_memmap(file, "w+", "f8", (ROWS, COLUMNS)).offset
    with file.open("r+b") as rows:  # two columns, and holes
        for k in range(ROWS):
            pair = np.array([k % 7 + 1.0, k % 5])
            os.pwrite(rows.fileno(), pair.tobytes(), start + (k * COLUMNS + 3) * 8)
    yield file
    file.unlink()


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "memory_limit", LIMIT)


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_a_file_of_several_times_the_limit_passes_below_it(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.npy"
    args = [sys.executable, "-c", PROGRAM, str(path), str(LIMIT), str(out)]
    env = {**os.environ, "DNUMPY_MODE": "default"}
    ran = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert ran.returncode == 0, ran.stderr
    assert 0 < int(ran.stdout) < LIMIT
    normalised, spread = np.load(out)
    x = np.load(path)
    assert x.nbytes >= TIMES * LIMIT
    x /= x.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(normalised, x.sum(axis=0), rtol=1e-12)
    x = np.load(path)
    x -= x.mean(axis=0)
    np.testing.assert_allclose(spread, np.einsum("ij,ij->j", x, x), rtol=1e-9)


@pytest.mark.usefixtures("limited")
def test_a_result_that_cannot_be_held_is_refused_with_options(path: Path) -> None:
    x = dnumpy.load(path, mmap_mode="r")
    y = x * 2.0
    with pytest.raises(MemoryError, match="phase multiply needs") as caught:
        np.asarray(y)
    error = caught.value
    assert isinstance(error, PlanInfeasible)
    assert "this process would hold" in str(error)
    assert {"blocks", "memory"} <= {option.kind for option in error.options}
    assert all(option.predicted_seconds > 0 for option in error.options)
    assert any("memory_limit" in note for note in error.__notes__)
    before = pool.live
    total = np.asarray(y.sum(axis=0))  # reads what cannot be held, and does not hold it
    np.testing.assert_array_equal(total[3], 2.0 * (np.arange(ROWS) % 7 + 1).sum())
    assert pool.live < before + LIMIT


@pytest.mark.usefixtures("limited")
def test_only_what_is_large_for_the_limit_passes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    home = limited_home(LIMIT)
    assert home is not None
    assert limited_home(LIMIT) is home
    assert limited_home(LIMIT // 4) is None
    monkeypatch.setattr(config, "memory_limit", 0)
    assert limited_home(1 << 50) is None
