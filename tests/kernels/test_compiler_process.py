"""The compiler's process serves and goes away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import threading, time
from dnumpy.kernels import choose, compiler_process
source = '''def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 2.0, 1, 2)
'''
record = choose._Record(source)
compiling = {"target": choose._prepare, "args": (record,), "kwargs": {"worth": True}}
threading.Thread(**compiling, daemon=True).start()
while not compiler_process._running:
    time.sleep(0.001)
(process,) = compiler_process._running.values()
print(process.pid)
"""


def test_a_program_that_ends_while_a_kernel_compiles_is_silent_and_leaves_no_process(tmp_path):
    env = {**os.environ, "DNUMPY_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", _PROGRAM],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
    assert not list(tmp_path.glob("kernels/*.o"))
