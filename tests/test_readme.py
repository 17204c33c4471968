from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_programs_differ_in_the_import_alone() -> None:
    ours, theirs = blocks("python")[1], blocks("python")[0]
    assert "import numpy as np" in theirs
    assert ours == theirs.replace("import numpy as np", "import dnumpy as np")


@pytest.mark.parametrize("index", [0, 1], ids=["numpy", "dnumpy"])
def test_a_program_prints_what_the_readme_shows(index: int) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks("python")[index], {})
    assert printed.getvalue() == blocks("text")[0]


def test_the_commands_name_extras_and_files_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = "\n".join(blocks("console"))
    extras = re.findall(r"\.\[(\w+)\]", commands)
    assert {"examples", "test", "dev"} <= set(extras) <= set(project["optional-dependencies"])
    files = re.findall(r"[\w.]+/[\w.]+", README)
    assert "examples/flights.py" in files
    assert all((ROOT / name).exists() for name in files)
