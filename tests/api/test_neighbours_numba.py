from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("numba")

PROGRAM = """
import {xp} as np
from {xp} import add, linalg, sqrt
import numba
from numba import njit, prange, vectorize

TABLE = np.arange(300_000.0) * 1.0

@njit
def sines(x):
    out = np.empty_like(x)
    for k in range(x.size):
        out[k] = np.sin(x[k]) + np.pi
    return out.sum() + np.zeros(2, dtype=np.float64).sum()

@njit
def named(x):
    return sqrt(x) + add(x, x) + linalg.det(np.eye(2)) + np.linalg.norm(x) + TABLE[3]

def closed_over():
    table = np.arange(4.0)

    @njit
    def looked_up(k):
        return table[k] + table.sum()

    return looked_up

@njit(parallel=True)
def total(x):
    found = 0.0
    for k in prange(x.size):
        found += np.abs(x[k])
    return found

@njit(cache=True)
def product(x):
    return np.dot(x, x)

@njit
def drawn(n):
    np.random.seed(1)
    return np.random.rand(n).sum()

@vectorize
def sums(x, y):
    return np.sqrt(x) + y

@njit
def together(*arrays):
    return arrays[0].sum() + arrays[1].sum()

@numba.stencil
def beside(x):
    return x[-1] + x[1]

x = np.arange(5.0)
for _ in range(2):  # the second call finds what the first compiled
    print(sines(x), named(x).tolist(), closed_over()(2), total(TABLE), product(x), drawn(3))
    print(sums(x, x).tolist(), together(x, x), beside(x).tolist())
print(numba.typeof(x), numba.typed.List([x])[0].sum())
"""


def test_functions_that_numba_compiles_may_name_our_modules(tmp_path: Path) -> None:
    shown = []
    for xp in ("dnumpy", "numpy"):
        program = tmp_path / f"by_{xp}.py"  # a file, which numba's cache asks for
        program.write_text(PROGRAM.format(xp=xp))
        done = subprocess.run(
            [sys.executable, str(program)], check=True, capture_output=True, text=True
        )
        shown.append(done.stdout)
    assert shown[0] == shown[1]
