from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\bnan\b|\binf\b")

# Small enough that the modes which cut every array into tiles of a few rows take seconds.
SMALL = {
    "black_scholes": ["--size", "2000"],
    "flights": ["--size", "5000"],
    "heat": ["--size", "40", "--steps", "30"],
    "kmeans": ["--size", "600", "--clusters", "4", "--steps", "4"],
    "life": ["--size", "40", "--steps", "12"],
    "logistic": ["--size", "400", "--features", "6", "--steps", "30"],
    "mandelbrot": ["--size", "80", "--steps", "20"],
}
IN_DEFAULT_MODE = os.environ.get("DNUMPY_MODE", "default") == "default"


def output_of(*command: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return done.stdout


def split_output(text: str) -> tuple[list[str], list[float]]:
    """Return the lines with their numbers taken out, and the numbers."""
    numbers = [float(number) for number in NUMBER.findall(text)]
    # A number of other length moves its neighbours: spaces count only in lines without numbers.
    lines = [
        " ".join(NUMBER.sub("#", line).split()) if NUMBER.search(line) else line
        for line in text.splitlines()
    ]
    return lines, numbers


def assert_same_answer(got: str, expected: str) -> None:
    got_lines, got_numbers = split_output(got)
    expected_lines, expected_numbers = split_output(expected)
    assert got_lines == expected_lines
    assert len(expected_numbers) > 3
    for ours, numpys in zip(got_numbers, expected_numbers, strict=True):
        assert ours == pytest.approx(numpys, rel=1e-9, abs=1e-12, nan_ok=True)


def test_every_example_is_compared() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SMALL, "cluster"}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_an_example_imports_numpy_and_nothing_of_dnumpy(name: str) -> None:
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert "import numpy as np\n" in source
    assert "dnumpy" not in source


@pytest.mark.parametrize("name", sorted(SMALL))
def test_an_example_gives_the_answer_of_numpy(name: str) -> None:
    path = str(EXAMPLES / f"{name}.py")
    swapped = output_of("-m", "dnumpy", path, *SMALL[name])
    assert_same_answer(swapped, output_of(path, *SMALL[name]))


@pytest.mark.skipif(not IN_DEFAULT_MODE, reason="full sizes take minutes in tiles of five rows")
@pytest.mark.parametrize("name", sorted(SMALL))
def test_an_example_of_full_size_gives_the_answer_of_numpy(name: str) -> None:
    path = str(EXAMPLES / f"{name}.py")
    assert_same_answer(output_of("-m", "dnumpy", path), output_of(path))


@pytest.mark.cluster
def test_the_cluster_example_prints_its_plan_and_the_prices_of_numpy() -> None:
    size = 300_000
    printed = output_of(str(EXAMPLES / "cluster.py"), "--size", str(size), "--rivals", "1")
    (prices,) = re.findall(r"^calls: .*$", printed, flags=re.MULTILINE)
    before, after = printed.split(prices)
    assert before.strip()
    assert after.strip()
    source = (EXAMPLES / "cluster.py").read_text(encoding="utf-8")
    under_numpy: dict[str, Any] = {"__name__": "cluster"}
    exec(source.replace("import dnumpy as np", "import numpy as np"), under_numpy)
    call = under_numpy["call_prices"](*under_numpy["option_book"](size))
    assert type(call) is np.ndarray
    assert split_output(prices)[1] == pytest.approx([call.mean(), call.max()], rel=1e-9)


def test_a_different_number_word_or_picture_is_noticed() -> None:
    text = "mean 1.5, 2 of 3\n  .#.\n-4 nan"
    assert_same_answer(text.replace("1.5", "1.5000000000001"), text)
    with pytest.raises(AssertionError):
        assert_same_answer(text.replace("1.5", "1.50000001"), text)
    with pytest.raises(AssertionError):
        assert_same_answer(text.replace("mean", "median"), text)
    with pytest.raises(AssertionError):
        assert_same_answer(text.replace("  .#.", " .#. "), text)
    with pytest.raises(AssertionError):
        assert_same_answer(text + "\n5", text)
