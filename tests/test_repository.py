from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES_MAX = 600
FOLDERS = ("dnumpy", "tests", "benchmarks", "examples")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_below_the_limit_of_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_MAX
