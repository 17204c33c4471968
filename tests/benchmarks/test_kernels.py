from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from benchmarks.kernels import ROOT, differences, main, recorded
from benchmarks.recorder import ADDRESS, NAMES, plain

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default",
    reason="the recorder sets its own mode",
)


@pytest.fixture(scope="module")
def here() -> dict[str, list[str]]:
    return recorded(ROOT, ["chain", "softmax", "matrix product"])


def test_a_tree_makes_the_same_kernels_every_time(here) -> None:
    assert recorded(ROOT, list(here)) == here
    assert list(differences(here, here, ("a", "b"))) == []


def test_phases_schedules_and_sources_are_recorded(here) -> None:
    text = "\n".join(here["softmax"])
    for part in ("phase over 60 rows", "maximum.reduce", "tiled, scratch", "def kernel", "layouts"):
        assert part in text, part
    assert all(texts for texts in here.values())


def test_no_address_is_recorded() -> None:
    assert plain([1, ADDRESS, {"a": ADDRESS + 5}]) == "[1, <address>, {'a': <address>}]"


def test_a_changed_emitter_shows_in_the_kernels_it_changes(here, tmp_path) -> None:
    shutil.copytree(
        ROOT / "dnumpy", tmp_path / "dnumpy", ignore=shutil.ignore_patterns("__pycache__")
    )
    emitter = tmp_path / "dnumpy" / "kernels" / "emit.py"
    text = emitter.read_text(encoding="utf-8")
    assert "CHUNK = 1024" in text
    emitter.write_text(text.replace("CHUNK = 1024", "CHUNK = 512"), encoding="utf-8")
    lines = list(differences(here, recorded(tmp_path, ["softmax"]) | here, ("a", "b")))
    assert lines == []
    lines = list(differences(here, here | recorded(tmp_path, ["softmax"]), ("a", "b")))
    assert any(x.startswith("-") and "1024" in x for x in lines)
    assert any(x.startswith("+") and "512" in x for x in lines)
    assert lines[:2] == ["--- softmax (a)", "+++ softmax (b)"]


def test_a_revision_differs_from_itself_in_nothing(capsys) -> None:
    git = shutil.which("git")
    asked = [git or "git", "rev-parse", "HEAD"]
    if git is None or subprocess.run(asked, cwd=ROOT, check=False, capture_output=True).returncode:
        pytest.skip("the sources are no git repository")
    assert main(["--diff", "HEAD", "HEAD", "--programs", "sum"]) == 0
    assert "make the same 2 kernels" in capsys.readouterr().out


def test_an_unknown_revision_or_program_ends_with_status_2(capsys) -> None:
    for wrong in (["--diff", "no-such-revision"], ["--diff", "HEAD", "--programs", "lfie"]):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 2
    assert "lfie" in capsys.readouterr().err
    assert len(NAMES) > 40
