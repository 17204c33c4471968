"""Kernels are placed in memory without a compiler, and do what LLVM's loader makes of them."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dnumpy.kernels import llvm, objects
from dnumpy.kernels.compile import Compiled, compile_source, digest_of

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="another kind of object file"
)

TEXTS = {
    "constants": """\
def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 1.7 + 0.3, 1, 2)
""",
    "the C library": """\
def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, fast_sin_f8_anywhere(load_f8(p, i, 0, 2)), 1, 2)
""",
    "zeros": """\
def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, 0.0, 1, 2)
    store_f8(out, 0, load_f8(p, 0, 0, 2), 1, 2)
""",
    "branches": """\
def kernel(p, n, out):
    for i in range(n):
        x = load_f8(p, i, 0, 2)
        if x < 0.25:
            x = x + 7.5
        elif x < 0.5:
            x = sqrt(x) * 3.25
        else:
            x = 1.0 / (x - 11.0)
        store_f8(out, i, x, 1, 2)
""",
}


def run(address: int, given: np.ndarray) -> np.ndarray:
    out = np.full_like(given, -1.0)
    Compiled("", address, from_disk=False)(given.ctypes.data, given.size, out.ctypes.data)
    return out


@pytest.mark.parametrize("what", TEXTS)
def test_a_placed_kernel_does_what_a_loaded_one_does(what: str) -> None:
    code = compile_source(TEXTS[what])
    given = np.linspace(-2.0, 2.0, 101)
    given[:3] = 1e300, -1e18, 1e12  # beyond what the fast sine is made for
    placed = run(objects.placed(code, llvm.SYMBOL), given)
    loaded = run(llvm.loaded(f"{digest_of(TEXTS[what])} again", code), given)
    assert placed.tobytes() == loaded.tobytes()
    if what == "the C library":
        assert placed[0] == math.sin(1e300)


@pytest.mark.parametrize("cut", [0, 20, 64, 200])
def test_what_is_no_object_file_is_left_to_llvm(cut: int) -> None:
    code = compile_source(TEXTS["constants"])
    with pytest.raises(objects.Unplaceable):
        objects.placed(code[:cut], llvm.SYMBOL)
    with pytest.raises(objects.Unplaceable):
        objects.placed(code, "another_name")


def test_memory_that_holds_code_is_not_writeable() -> None:
    address = objects.placed(compile_source(TEXTS["zeros"]), llvm.SYMBOL)
    maps = Path("/proc/self/maps").read_text(encoding="ascii").splitlines()
    (line,) = (
        line
        for line in maps
        if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)
    )
    assert line.split()[1] == "r-xp"


def test_what_is_on_disk_is_used_without_importing_the_compiler(tmp_path: Path) -> None:
    program = f"""
import sys
from dnumpy.kernels import llvm_apart
from dnumpy.kernels.compile import compiled
found = compiled({TEXTS["constants"]!r})
print(found.from_disk, llvm_apart.apart.began, "llvmlite" in sys.modules)
"""
    environment = {
        **os.environ,
        "DNUMPY_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["False", "1", "False"], ["True", "0", "False"]]
