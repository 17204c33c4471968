"""Processes that want the same machine code at the same time make it once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from dnumpy.kernels import object_files
from dnumpy.kernels.object_files import made_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(object_files._locking is None, reason="the system has no locks")

# tells when it begins to make something, and makes it once it is told to go on
MAKER = """
import sys
from pathlib import Path
from dnumpy.kernels.object_files import made_once

def make():
    print("making", flush=True)
    assert sys.stdin.readline() == "go on\\n"
    return b"made by another"

print(*made_once(Path(sys.argv[1]), make), flush=True)
"""

# two programs of one line, and what compiled them here
PROGRAM = """
import sys
from dnumpy.config import config
from dnumpy.kernels import compile as compiler
import numpy, dnumpy as np

compiled = []
real = compiler.compile_source
compiler.compile_source = lambda text: (compiled.append(text), real(text))[1]
config.kernels = "numba"
x = np.linspace(0.0, 1.0, 300_000)
print("ready", flush=True)
sys.stdin.readline()
for k in range(1, 5):
    y = np.exp(x * x) - k
    for _ in range(k):
        y = y * x + 1.0
    numpy.asarray(y)
print(*sorted(compiler.digest_of(text) for text in compiled), flush=True)
"""


@contextmanager
def process(text: str, *args: object, **env: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program that is spoken to; it is ended with the block."""
    command = [sys.executable, "-c", text, *map(str, args)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, bufsize=1, env={**os.environ, **env}
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def say(running: subprocess.Popen[str], line: str) -> None:
    assert running.stdin is not None
    running.stdin.write(f"{line}\n")
    running.stdin.flush()


def line_of(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().rstrip("\n")


@contextmanager
def asked(path: Path) -> Iterator[list[tuple[bytes, bool]]]:
    """Ask for what is at a path in a thread; leave the answer once the block has ended."""
    answer: list[tuple[bytes, bool]] = []
    thread = threading.Thread(target=lambda: answer.append(made_once(path, lambda: b"made here")))
    thread.start()
    try:
        thread.join(0.1)
        yield answer
    finally:
        thread.join()


def test_what_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "kernels" / "code.o"
    with process(MAKER, path) as other:
        assert line_of(other) == "making"
        assert made_once(path.with_name("other.o"), lambda: b"other") == (b"other", False)
        with asked(path) as answer:
            assert not answer
            say(other, "go on")
        assert answer == [(b"made by another", True)]
        assert line_of(other) == "b'made by another' False"


def test_what_a_process_leaves_unmade_is_made_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "kernels" / "code.o"
    with process(MAKER, path) as other:
        assert line_of(other) == "making"
        with asked(path) as answer:
            assert not answer
            other.kill()
        assert answer == [(b"made here", False)]


def test_a_process_that_has_been_stopped_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kernels" / "code.o"
    monkeypatch.setattr(object_files, "WAIT_SECONDS", 0.05)
    with process(MAKER, path) as other:
        assert line_of(other) == "making"
        assert made_once(path, lambda: b"made here") == (b"made here", False)


def test_what_fails_gives_the_turn_back(tmp_path: Path) -> None:
    path = tmp_path / "kernels" / "code.o"
    with pytest.raises(ZeroDivisionError):
        made_once(path, lambda: b"x" * (1 // 0))
    with process(MAKER, path) as other:
        assert line_of(other) == "making"
        say(other, "go on")
        assert line_of(other) == "b'made by another' False"


def test_a_file_system_without_locks_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(object_files._locking, "lockf", refuse)
    path = tmp_path / "kernels" / "code.o"
    assert made_once(path, lambda: b"code") == (b"code", False)
    assert made_once(path, lambda: b"other") == (b"code", True)


def test_processes_that_start_together_compile_each_kernel_once(tmp_path: Path) -> None:
    with (
        process(PROGRAM, DNUMPY_CACHE_DIR=str(tmp_path)) as one,
        process(PROGRAM, DNUMPY_CACHE_DIR=str(tmp_path)) as other,
    ):
        assert line_of(one) == line_of(other) == "ready"
        say(one, "go")
        say(other, "go")
        made = [*line_of(one).split(), *line_of(other).split()]
    kept = sorted(path.stem for path in (tmp_path / "kernels").glob("*.o"))
    assert len(kept) >= 4
    assert sorted(made) == kept
