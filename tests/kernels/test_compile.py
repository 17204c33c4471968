"""Object files are kept on disk: what is used, and not without end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dnumpy.kernels import compile as compiler
from dnumpy.kernels import object_files
from dnumpy.kernels.cached import cache_directory

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * {factor}, 1, 2)
"""


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    object_files._prune.cache_clear()


def test_what_was_used_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "MOST_KEPT", 4)
    texts = [TEXT.format(factor=k + 0.5) for k in range(6)]
    for age, text in enumerate(texts[:5]):
        compiler.compiled(text)
        path = cache_directory() / f"{compiler.digest_of(text)}.o"
        os.utime(path, (1000.0 - age, 1000.0 - age))
    assert compiler.compiled(texts[3]).from_disk  # which makes it young
    object_files._prune.cache_clear()
    compiler.compiled(texts[5])
    assert [compiler.is_cached(text) for text in texts] == [False] * 3 + [True, False, True]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"x" * 5000])
def test_a_damaged_file_is_compiled_again(content: bytes) -> None:
    text = TEXT.format(factor=77.0)
    compiler.compiled(text)
    path = cache_directory() / f"{compiler.digest_of(text)}.o"
    good = path.read_bytes()
    path.write_bytes(content)
    assert not compiler.compiled(text).from_disk
    assert path.read_bytes() == good
    assert compiler.compiled(text).from_disk


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DNUMPY_CACHE_DIR", "/proc/nowhere")
    assert not compiler.compiled(TEXT.format(factor=5.0)).from_disk
    assert not compiler.is_cached(TEXT.format(factor=5.0))
