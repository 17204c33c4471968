"""LLVM works beside the program, and is at rest when the process ends or forks."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dnumpy.kernels import llvm
from dnumpy.kernels.compile import compiled

_BEGIN = """
import os, signal, threading
signal.alarm(40)
from dnumpy.kernels import choose, llvm
from dnumpy.kernels.compile import compiled

text = '''def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 2.0, 1, 2)
'''
at_work = threading.Event()
def note(*given, real=llvm._optimise):
    at_work.set()
    return real(*given)
llvm._optimise = note
record = choose._Record(text)
compiling = {"target": choose._prepare, "args": (record, None), "kwargs": {"worth": True}}
threads = [threading.Thread(**compiling, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
at_work.wait()
"""
_FORK = """
child = os.fork()
if child == 0:
    signal.alarm(20)
    compiled(text.replace("2.0", "3.0"))
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for thread in threads:
    thread.join()
print(record.state)
"""


def said(program: str, cache: object) -> tuple[str, str]:
    """Return what a program prints, and its complaints; it ends well."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={**os.environ, "DNUMPY_CACHE_DIR": str(cache), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr


def test_a_program_that_ends_while_kernels_compile_is_silent(tmp_path):
    for k in range(3):
        assert said(_BEGIN, tmp_path / str(k)) == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_while_kernels_compile_compiles_too(tmp_path):
    assert said(_BEGIN + _FORK, tmp_path)[0].split() == ["7", "ready"]


def test_what_is_no_kernel_is_refused_in_the_compilers_own_words(tmp_path, monkeypatch):
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    with pytest.raises(Exception, match="no_such_name"):
        compiled("def kernel(a, b, c):\n    no_such_name(a)\n")
    with pytest.raises(RuntimeError, match="parsing"):
        llvm.object_code("no text of LLVM's")


def test_a_kernel_is_made_once_and_then_read(tmp_path, monkeypatch):
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    source = "def kernel(a, b, c):\n    store_i8(a, 0, b + c + 41, 0, 0)\n"
    for from_disk in (False, True):
        code, out = compiled(source), np.zeros(1, np.int64)
        assert code.from_disk == from_disk
        code(out.ctypes.data, 1, 2)
        assert out[0] == 44
