"""LLVM works beside the program, in another process or in this one, which may end or fork."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from dnumpy.kernels import llvm, llvm_apart
from dnumpy.kernels.compile import compile_source, compiled
from dnumpy.kernels.ir import module_text

_BEGIN = """
import os, signal, threading
signal.alarm(40)
from dnumpy.kernels import llvm, llvm_apart, preparing, rates
from dnumpy.kernels.compile import compiled

APART = %s
if not APART:
    def refused():
        raise llvm_apart.Unavailable("as the test wants it")
    llvm_apart._started = refused
text = '''def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 2.0, 1, 2)
'''
at_work = threading.Event()
place, name = (llvm_apart, "_answer_of") if APART else (llvm, "_optimise")
def note(*given, real=getattr(place, name)):
    at_work.set()
    return real(*given)
setattr(place, name, note)
record = rates.Record(text)
preparing.cached.note = lambda phase: None  # there is no phase that a later process might meet
compiling = {"target": preparing.prepare, "args": (record, None), "kwargs": {"worth": True}}
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


@pytest.mark.parametrize("apart", [True, False])
def test_a_program_that_ends_while_kernels_compile_is_silent(tmp_path, apart):
    for k in range(3):
        assert said(_BEGIN % apart, tmp_path / str(k)) == ("", "")


def test_a_program_that_takes_long_to_end_is_silent_about_what_it_compiled(tmp_path):
    # what is registered first runs last: the threads see that the compiler is gone meanwhile
    slow = "import atexit, time\natexit.register(time.sleep, 0.5)\n"
    assert said(slow + _BEGIN % True, tmp_path) == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("apart", [True, False])
def test_a_child_that_is_forked_while_kernels_compile_compiles_too(tmp_path, apart):
    assert said(_BEGIN % apart + _FORK, tmp_path)[0].split() == ["7", "ready"]


def test_what_is_no_kernel_is_refused_in_the_compilers_own_words(tmp_path, monkeypatch):
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    with pytest.raises(Exception, match="no_such_name"):
        compiled("def kernel(a, b, c):\n    no_such_name(a)\n")
    for object_code in (llvm.object_code, llvm_apart.Apart().object_code):
        with pytest.raises(RuntimeError, match="parsing"):
            object_code("no text of LLVM's")


def test_a_kernel_is_made_once_and_then_read(tmp_path, monkeypatch):
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    source = "def kernel(a, b, c):\n    store_i8(a, 0, b + c + 41, 0, 0)\n"
    for from_disk in (False, True):
        code, out = compiled(source), np.zeros(1, np.int64)
        assert code.from_disk == from_disk
        code(out.ctypes.data, 1, 2)
        assert out[0] == 44


SOURCE = """def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 2.0, 1, 2)
"""


@pytest.fixture
def apart(monkeypatch):
    found = llvm_apart.Apart()
    monkeypatch.setattr(llvm_apart, "apart", found)
    yield found
    found._end()


def test_code_is_the_same_whoever_compiles(apart):
    text = module_text(SOURCE)
    assert apart.object_code(text) == llvm.kernel_code(text) == compile_source(SOURCE)
    assert apart.began == 1


def test_it_says_how_long_it_took_to_start_and_to_compile(apart):
    assert not apart.is_running()
    apart.object_code(module_text(SOURCE))
    assert apart.is_running()
    once, starting = apart.worked_seconds, apart.starting_seconds
    assert 0 < once < starting  # which imports LLVM
    apart.object_code(module_text(SOURCE))
    assert once < apart.worked_seconds < 3 * once + starting
    assert apart.starting_seconds == starting


def test_a_process_that_was_killed_is_started_again(apart):
    text = module_text(SOURCE)
    code = apart.object_code(text)
    apart._process.kill()
    apart._process.wait()
    assert apart.object_code(text) == code
    assert apart.began == 2


def test_one_that_ends_while_it_compiles_is_done_without(apart, monkeypatch):
    code = compile_source(SOURCE)
    ask = llvm_apart._answer_of

    def killed(process, text):
        process.kill()
        process.wait()
        return ask(process, text)

    monkeypatch.setattr(llvm_apart, "_answer_of", killed)
    with pytest.raises(llvm_apart.Unavailable, match="ended"):
        apart.object_code(module_text(SOURCE))
    assert compile_source(SOURCE) == code


def test_one_that_nobody_asks_ends(apart, monkeypatch):
    monkeypatch.setattr(llvm_apart, "IDLE_SECONDS", 0.05)
    apart.object_code(module_text(SOURCE))
    process, deadline = apart._process, time.monotonic() + 20
    while apart._process is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.wait(timeout=20) is not None
    assert apart.object_code(module_text(SOURCE))


def test_it_ends_with_the_process_that_asked(tmp_path):
    program = (
        "import os\n"
        "from dnumpy.kernels import llvm_apart\n"
        "from dnumpy.kernels.ir import module_text\n"
        f"llvm_apart.apart.object_code(module_text({SOURCE!r}))\n"
        "print(llvm_apart.apart._process.pid, flush=True)\n"
        "os._exit(0)\n"  # not even asking to be cleaned up after
    )
    pid = int(said(program, tmp_path)[0])
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_llvm_is_not_loaded_into_the_process_that_asks(tmp_path):
    program = (
        "import sys\n"
        "from dnumpy.kernels.compile import compiled\n"
        f"compiled({SOURCE!r})\n"
        "print('llvmlite.binding' in sys.modules)\n"
    )
    assert said(program, tmp_path)[0].split() == ["False"]


@pytest.mark.parametrize("executable", [None, "/usr/bin/some-server"])
def test_what_is_no_interpreter_is_not_started(apart, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(llvm_apart.Unavailable):
        apart.object_code(module_text(SOURCE))
    assert compile_source(SOURCE)
