"""As much of CuPy as ``benchmarks.gpu`` uses, on NumPy's arrays, where there is no GPU.

The hand-fused kernels are compiled for this machine, by the shim that generated kernels are tested
with (:mod:`tests.kernels.cuda_on_host`), here with a second grid axis, shuffles and atomic sums.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.kernels.cuda_on_host import COMPILER, SHIM

if TYPE_CHECKING:
    from benchmarks.gpu.kernels import Source

MORE = r"""
#include <algorithm>
#include <functional>
#include <tuple>
#define __align__(n) alignas(n)
using std::exp; using std::fabs; using std::log; using std::min; using std::sqrt;
struct double2 { double x, y; };
static double memory[1 << 13];
template <class T> static void atomicAdd(T* at, T more) { *at += more; }
template <class T> static T exchanged(T x, unsigned from) {
  static T given[1024];
  given[threadIdx.x] = x;
  __syncthreads();
  T found = given[from];
  __syncthreads();
  return found;
}
template <class T> static T __shfl_down_sync(unsigned, T x, unsigned by) {
  return exchanged(x, threadIdx.x % 32 + by < 32 ? threadIdx.x + by : threadIdx.x);
}
template <class T> static T __shfl_xor_sync(unsigned, T x, unsigned by) {
  return exchanged(x, threadIdx.x ^ by);
}
static std::function<void()> task;
template <class... A>
static void enter(void (*kernel)(A...), void** args, unsigned x, unsigned y, unsigned threads) {
  int k = 0;
  std::tuple<A...> given{*(A*)args[k++]...};
  task = [&] { std::apply(kernel, given); };
  body = [] { task(); };
  blockDim = {threads, 1}; gridDim = {x, y};
  const size_t size = 1 << 16;
  std::vector<char> stacks(threads * size);
  for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++) run_block(threads, stacks.data(), size);
}
"""
OPTIONS = ("-O1", "-ffp-contract=off", "-shared", "-fPIC", "-w")


@cache
def library(source: Source) -> ctypes.CDLL:
    """Return a text's kernels as functions of this machine."""
    text = source.text.replace("extern __shared__ double memory[];", "")
    shim = SHIM.replace("struct dim { unsigned x; };", "struct dim { unsigned x, y; };")
    entries = [
        f'extern "C" void run_{name}(void** a, unsigned x, unsigned y, unsigned t) '
        f"{{ enter({name}, a, x, y, t); }}"
        for name in source.names
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, made = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        path.write_text("\n".join([shim, MORE, text, *entries]))
        assert COMPILER is not None
        command = [COMPILER, *source.options, *OPTIONS, str(path), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(made))


class HostModule:
    """Stands for ``cupy.RawModule``."""

    def __init__(self, code: str, options: tuple[str, ...], backend: str) -> None:
        from benchmarks.gpu.kernels import SOURCES
        from benchmarks.gpu.measure import LINE

        assert backend == "nvrtc"
        (found,) = (s for s in (*SOURCES, LINE) if (s.text, s.options) == (code, options))
        self.library = library(found)

    def get_function(self, name: str) -> Any:
        run = getattr(self.library, f"run_{name}")

        def start(
            grid: tuple[int, ...], block: tuple[int], args: tuple[Any, ...], shared_mem: int
        ) -> None:
            assert shared_mem <= 48 << 10, "a kernel must ask for more than that"
            assert block[0] <= 1024
            held = []
            for value in args:
                assert isinstance(value, np.ndarray | np.generic), "a size that CuPy would guess"
                array = isinstance(value, np.ndarray)
                assert not array or value.flags.c_contiguous
                held.append(np.array(value.ctypes.data if array else value))
            places = (ctypes.c_void_p * len(held))(*[one.ctypes.data for one in held])
            run(places, grid[0], (*grid, 1)[1], block[0])

        return start


class HostCupy:
    """Stands for the module; what is not here is NumPy's."""

    __version__ = "0 on the host"
    ndarray = np.ndarray
    RawModule = HostModule
    asnumpy = staticmethod(np.array)
    cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(id=0),
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        runtime=SimpleNamespace(
            deviceGetAttribute=lambda which, device: 2,
            driverGetVersion=lambda: 12090,
            getDeviceProperties=lambda device: {"name": b"this machine", "major": 0, "minor": 1},
            memGetInfo=lambda: (1 << 30, 1 << 31),
            runtimeGetVersion=lambda: 12080,
        ),
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class HostDevice:
    """Stands for dnumpy's own device."""

    def wait(self) -> None:
        pass

    def trim(self) -> None:
        pass

    def free_bytes(self) -> int:
        return 1 << 30
