from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES_MAX = 600
FOLDERS = ("dnumpy", "tests", "benchmarks", "examples")
FILES = sorted(
    path
    for folder in FOLDERS
    for kind in ("py", "c", "h")
    for path in (ROOT / folder).rglob(f"*.{kind}")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_below_the_limit_of_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize("package", ["plan", "cost"])
def test_plans_and_costs_read_no_settings(package: str) -> None:
    files = sorted((ROOT / "dnumpy" / package).rglob("*.py"))
    assert len(files) > 3
    for path in files:
        assert not re.search(r"\bconfig\b", path.read_text(encoding="utf-8")), path.name
