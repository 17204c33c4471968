from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from benchmarks.everyday import programs as everyday
from benchmarks.everyday.__main__ import main
from benchmarks.everyday.measure import Standing, agree, parts, summary
from benchmarks.everyday.programs import PROGRAMS, TOPICS, chosen

if TYPE_CHECKING:
    from pathlib import Path

SMALL = 0.1
TIES = {"byte_counts"}  # equal counts stand in the order that an unstable sort left them in
IN_SPLIT_MODE = os.environ.get("DNUMPY_MODE") == "split"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_answer_of_numpy(name: str) -> None:
    if name in TIES and IN_SPLIT_MODE:
        pytest.skip("cut over nodes, equal values need not stand in NumPy's order")
    program = PROGRAMS[name]
    agree(parts(program(dnumpy, SMALL)), parts(program(np, SMALL)))


def test_no_two_programs_have_one_name() -> None:
    assert len(PROGRAMS) == sum(len(topic.PROGRAMS) for topic in TOPICS)


def test_an_unknown_program_is_named_with_those_that_exist() -> None:
    assert list(chosen(["pca", "fdtd", "pca"])) == ["pca", "fdtd"]
    assert chosen([]) == PROGRAMS
    with pytest.raises(ValueError, match=r"no program pac; there are .*pca"):
        chosen(["fdtd", "pac"])


@pytest.mark.parametrize(
    ("got", "why"),
    [
        ((np.ones(3), np.arange(2)), "2 results instead of 1"),
        (np.ones(3, "f4"), "float32 instead of float64"),
        (np.ones((3, 1)), "shape"),
        (np.ones(3) + 1e-6, "Not equal to tolerance"),
    ],
)
def test_another_result_is_told(got: Any, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        agree(parts(got), parts(np.ones(3)))


def test_what_is_slow_by_the_best_runs_alone_is_not_counted() -> None:
    slow, unsure = Standing("a", 1.0, 1.0, 1.0, 2.0, 2.0), Standing("b", 1.0, 4.0, 1.0, 2.0, 2.0)
    assert [slow.slow, unsure.slow] == [True, False]
    assert summary([slow, unsure]) == "2 measured: geometric mean 1.00, 1 below 0.95"


def test_the_figures_are_printed_and_stored(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "figures.json"
    assert main(["sieve", "--scale", "0.1", "0.2", "--seconds", "0", "--json", str(file)]) == 0
    assert "sieve" in capsys.readouterr().out
    stored = json.loads(file.read_text(encoding="utf-8"))["programs"]
    assert [each["scale"] for each in stored] == [0.1, 0.2]


def test_a_result_that_differs_fails_the_run(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(everyday.PROGRAMS, "sieve", lambda np_, _: float(np_ is np))
    assert main(["sieve", "--scale", "0.1", "--seconds", "0"]) == 1
    assert "AssertionError" in capsys.readouterr().out
