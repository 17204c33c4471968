"""``config.accuracy = "fast"`` against NumPy, alternately in one run, with the errors it makes.

For each function: the largest error, in units of the last place of the exact result, over a dense
sample of all operands (random bits, so that every exponent is met; the range where the function is
used; the neighbourhoods of what is special to it), and where it lies; then the speed of NumPy's
loop over ours, for the loops alone and inside a fused loop, ``f(x * a) * b + c``, where ours is
inlined. Extended precision is the reference for float64, float64 for float32.

On a CPU that has AVX-512, for which NumPy has loops of its own, all is measured again in a process
that does without it, as most CPUs must: NumPy's loops are then those for AVX2, ours have vectors
of 256 bits.

Run as ``python -m benchmarks.accuracy [--names exp_f8 ...] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numpy as np

from benchmarks.machine import machine
from dnumpy.expr.expr import Const, leaf, make
from dnumpy.kernels import fast
from dnumpy.kernels.numba import NumbaKernel
from dnumpy.ops.families import lookup
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.stages import FusedStage

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 1_000_000  # elements: as many as are worth a compiled loop
REPEATS = 15
TILE_BYTES = 1 << 18

USED = {  # where the functions are used most, and are timed
    "exp": (-20, 20), "exp2": (-20, 20), "expm1": (-3, 3), "log": (1e-3, 1e3),
    "log2": (1e-3, 1e3), "log10": (1e-3, 1e3), "log1p": (-0.9, 10), "sin": (-100, 100),
    "cos": (-100, 100), "tan": (-100, 100), "sinh": (-9, 9), "cosh": (-9, 9), "tanh": (-3, 3),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-9, 9), "cbrt": (-9, 9), "hypot": (-9, 9),
    "arctan2": (-9, 9), "power": (0.1, 9),
}  # fmt: skip
_EDGES: tuple[float, ...] = (
    745.14,
    709.79,
    708.4,
    710.476,
    1024.0,
    1075.0,
    103.98,
    88.73,
    89.416,
    128.0,
    150.0,
    20.0,
)
_EDGES += (0.5, 1.0, 0.41421356, 2.41421356, 0.70710678, 1.41421356, 0.34657359, 2.0**30, 9.02)


def plain_of(name: str) -> np.ufunc:
    """Return NumPy's function for which ``name`` stands."""
    found: np.ufunc = getattr(np, name.split("_")[1])
    return found


def dtype_of(name: str) -> np.dtype:
    """Return the dtype of the operands of the function called ``name``."""
    return np.dtype(name.split("_")[2])


def sample(name: str, count: int, seed: int = 1) -> np.ndarray:
    """Return operands of one argument from everywhere, about eight times ``count`` of them."""
    dtype, rng = dtype_of(name), np.random.default_rng(seed)
    size = dtype.itemsize
    most = (1 << 8 * size) - 1
    step = most // (2 * count)  # all bits, by strides
    words = np.arange(2 * count, dtype=np.uint64) * step + rng.integers(step, dtype=np.uint64)
    words = words.astype(f"u{size}")
    low, high = USED[name.split("_")[1]]
    quarters = np.rint(rng.uniform(-1e3, 1e3, count // 2) ** 3) * (np.pi / 2)
    edges = np.array([*_EDGES, *[-e for e in _EDGES]])
    apart = rng.normal(0, 1, (edges.size, count // 16)) * 10.0 ** rng.uniform(-8, -1, count // 16)
    parts = [
        words.view(dtype),
        rng.uniform(low, high, 2 * count),
        np.exp(rng.uniform(-40, 7, count)) * rng.choice([-1.0, 1.0], count),
        quarters * (1 + rng.normal(0, 1e-13, quarters.size)),
        quarters,
        (edges[:, None] * (1 + apart)).ravel(),
        rng.uniform(-750, 750, count),
        1 + rng.normal(0, 1e-3, count),
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([p.astype(dtype) for p in parts])


def operands(name: str, count: int, seed: int = 1) -> list[np.ndarray]:
    """Return operands from everywhere; those of two arguments are often of like size."""
    first = sample(name, count, seed)
    if fast.FUNCTIONS[name].inputs == 1:
        return [first]
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        near = first * np.exp(rng.uniform(-3, 3, first.size)).astype(first.dtype)
    return [first, np.where(rng.random(first.size) < 0.6, near, rng.permutation(first))]


def errors(name: str, given: list[np.ndarray]) -> np.ndarray:
    """Return the error for each element, in units of the last place of the exact result.

    What has no finite exact result in range must be NumPy's, and counts as infinitely far off
    if it is not; a result too large by rounding alone counts as the largest number there is.
    """
    wider = np.longdouble if dtype_of(name) == np.float64 else np.float64
    with np.errstate(all="ignore"):
        exact = plain_of(name)(*[x.astype(wider) for x in given])
        found = fast.made(name)(*given)
        rounded = exact.astype(found.dtype)
        unit = np.spacing(np.minimum(np.abs(rounded), np.finfo(found.dtype).max))
        off = np.abs(found.astype(wider) - exact) / unit.astype(wider)
        same = (found == rounded) | ((found != found) & (rounded != rounded))  # noqa: PLR0124
        most = np.finfo(found.dtype).max
        endless = np.abs(found) == np.inf
        off = np.where(endless, np.abs(np.abs(exact) - most) / np.spacing(most), off)
        off = np.where(np.isfinite(rounded) & np.isfinite(off), off, np.where(same, 0, np.inf))
        return np.where(same & ~np.isfinite(rounded), 0, off).astype(float)


def worst(name: str, count: int) -> tuple[float, list[float]]:
    """Return the largest error over a sample, and the operands that make it."""
    given = operands(name, count)
    off = errors(name, given)
    at = int(off.argmax())
    return float(off[at]), [float(x[at]) for x in given]


def fused(op: str, given: list[np.ndarray]) -> Callable[[], object]:
    """Return a run of ``op(x * 0.9, ...) * 0.5 + 0.25`` over ``given`` as one compiled loop."""
    shape, dtype = given[0].shape, given[0].dtype

    def arithmetic(name: str, x: Any, number: float) -> Any:
        return make(lookup(name), (x, Const(number)), (), shape, dtype)

    leaves = [leaf(x, shape, dtype) for x in given]
    scaled = [arithmetic("multiply", x, 0.9) for x in leaves]
    result = make(lookup(op), tuple(scaled), (), shape, dtype)
    last = arithmetic("add", arithmetic("multiply", result, 0.5), 0.25)
    exprs = [*scaled, result, *last.args[:1], last]
    stages = cut(exprs, [last], Grain(1, TILE_BYTES, 1 << 62))
    (stage,) = (s for s in stages if isinstance(s, FusedStage))
    kernel, out = NumbaKernel(stage.phase), np.empty(shape, dtype)
    values = [e.value for e in stage.inputs]
    return lambda: kernel.run(values, [out], 0, shape[0], 0)


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def race(numpys: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float]:
    """Return the least seconds of both, run alternately after a first time."""
    pairs = [(seconds(numpys), seconds(ours)) for _ in range(REPEATS)][1:]
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


def measure(name: str) -> dict[str, Any]:
    """Return times per element of NumPy's loop and ours, alone and fused, and the worst error."""
    quick, plain, dtype = fast.made(name), plain_of(name), dtype_of(name)
    rng = np.random.default_rng(1)
    inputs = fast.FUNCTIONS[name].inputs
    given = [rng.uniform(*USED[plain.__name__], COUNT).astype(dtype) for _ in range(inputs)]
    out = np.empty(COUNT, dtype)
    alone = race(lambda: plain(*given, out=out), lambda: quick(*given, out=out))
    inlined = race(fused(plain.__name__, given), fused(name, given))
    error, where = worst(name, 200_000)
    return {
        "used_here": fast.instead(plain, dtype) is quick,
        "largest_error_ulp": error,
        "stated_ulp": fast.FUNCTIONS[name].ulps,
        "at": where,
        "loop_ns": [s / COUNT * 1e9 for s in alone],
        "loop_ratio": alone[0] / alone[1],
        "fused_ns": [s / COUNT * 1e9 for s in inlined],
        "fused_ratio": inlined[0] / inlined[1],
    }


def narrow() -> dict[str, str] | None:
    """Return the environment of a process without AVX-512, None where it is so already."""
    core: Any = vars(import_module("numpy._core._multiarray_umath"))
    wide = [
        name
        for name in core["__cpu_dispatch__"]
        if name.startswith(("AVX512", "X86_V4")) and core["__cpu_features__"].get(name)
    ]
    if not wide:
        return None
    features = llvm.get_host_cpu_features().items()
    kept = [f"{'+' if has and not n.startswith('avx512') else '-'}{n}" for n, has in features]
    return {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": " ".join(wide),
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": ",".join(kept),
    }


def report(found: dict[str, dict[str, Any]]) -> None:
    """Print a line for each function."""
    for name, row in found.items():
        where = ", ".join(f"{x:.9g}" for x in row["at"])
        print(  # noqa: T201 - what the command is for
            f"{name:16} {row['fused_ratio']:5.1f} times NumPy's speed fused, "
            f"{row['loop_ratio']:5.1f} alone; {row['largest_error_ulp']:.2f} ulp off at {where}"
            f"{'' if row['used_here'] else ' (not used on this CPU)'}"
        )


def main() -> None:
    """Print a line for each function; store them where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--names", nargs="*")
    arguments = parser.parse_args()
    names = [f"fast_{n}" for n in arguments.names] if arguments.names else list(fast.FUNCTIONS)
    found = {"machine": machine(), "functions": {name: measure(name) for name in names}}
    report(found["functions"])
    environment = narrow()
    if environment is not None:
        with TemporaryDirectory() as folder:
            environment["DNUMPY_CACHE_DIR"] = folder  # kernels of the other kind of CPU
            target = Path(folder) / "found.json"
            command = [sys.executable, "-m", "benchmarks.accuracy", "--json", str(target)]
            plain = [name.removeprefix("fast_") for name in names]
            print("without AVX-512:", flush=True)  # noqa: T201
            subprocess.run([*command, "--names", *plain], env=environment, check=True)
            found["without_avx512"] = json.loads(target.read_text("utf-8"))["functions"]
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
