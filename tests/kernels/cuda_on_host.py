"""CUDA kernels compiled for this machine: the same text, its threads run as fibers of one thread.

A block's threads take turns from barrier to barrier; blocks run one after the other. So a kernel's
index arithmetic, its folds and its faults are tested where there is no GPU. What is compiled for
this machine is given to NVIDIA's compiler too, meanwhile, where that is there.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.kernels.cuda_launch import Launcher, Look, check_constants, faults_of, lie_aligned
from dnumpy.kernels.loops import kinds_of
from dnumpy.kernels.numba import TOLD
from tests.kernels import nvrtc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dnumpy.kernels.cuda_emit import CudaKernel
    from dnumpy.rewrite.phase import Phase

COMPILER = shutil.which("g++")

SHIM = r"""
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>
#include <ucontext.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static
#define FN_MEMBER inline
#define FN_SPECIAL inline
struct dim { unsigned x; };
static dim threadIdx, blockIdx, blockDim, gridDim;
static void atomicOr(unsigned* at, unsigned bits) { *at |= bits; }
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<char> finished;
static void __syncthreads() {
  unsigned me = threadIdx.x;
  swapcontext(&fibers[me], &scheduler);
  threadIdx.x = me;
}
static void (*body)();
static void fiber() { body(); finished[threadIdx.x] = 1; }
static void run_block(unsigned threads, char* stacks, size_t size) {
  fibers.resize(threads); finished.assign(threads, 0);
  for (unsigned k = 0; k < threads; k++) {
    getcontext(&fibers[k]);
    fibers[k].uc_stack.ss_sp = stacks + k * size; fibers[k].uc_stack.ss_size = size;
    fibers[k].uc_link = &scheduler;
    makecontext(&fibers[k], fiber, 0);
  }
  for (unsigned left = threads; left;) {
    unsigned done = 0;
    for (unsigned k = 0; k < threads; k++) {
      if (!finished[k]) { threadIdx.x = k; swapcontext(&scheduler, &fibers[k]); }
      done += finished[k];
    }
    left = threads - done;
  }
}
template <class W, void (*K)(W)> struct entry {
  static W words;
  static void call() { K(words); }
};
template <class W, void (*K)(W)> W entry<W, K>::words;
template <class W, void (*K)(W)>
static void launch(const void* words, unsigned blocks, unsigned threads, int meets) {
  memcpy(&entry<W, K>::words, words, sizeof(W));
  body = entry<W, K>::call; blockDim.x = threads; gridDim.x = blocks;
  const size_t size = 1 << 16;
  std::unique_ptr<char[]> stacks(new char[meets ? threads * size : 1]);
  for (unsigned b = 0; b < blocks; b++) {
    blockIdx.x = b;
    if (meets) run_block(threads, stacks.get(), size);
    else for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) body();
  }
}
"""
OPTIONS = ("-std=c++17", "-O0", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-w")


def compiled(kernels: Iterable[CudaKernel]) -> ctypes.CDLL:
    """Return a library that has an entry ``run_NAME`` for each kernel, all of which are CUDA."""
    found = {kernel.name: kernel for kernel in kernels}
    with ThreadPoolExecutor(1) as thread:
        refused = thread.submit(nvrtc.refusal, found.values())
        library = _compiled(found)
    assert not refused.result(), refused.result()[:4000]
    return library


def _compiled(found: Mapping[str, CudaKernel]) -> ctypes.CDLL:
    before = max((k.before for k in found.values()), key=len)
    texts = [SHIM, before]
    for name, kernel in found.items():
        texts += [
            kernel.text,
            f'extern "C" void run_{name}(const void* w, unsigned b, unsigned t) '
            f"{{ launch<const {name}_words, {name}>(w, b, t, {int(kernel.blocks)}); }}".replace(
                "launch<const ", "launch<"
            ),
        ]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        source.write_text("\n".join(texts))
        assert COMPILER is not None
        done = subprocess.run(
            [COMPILER, *OPTIONS, str(source), "-o", str(library)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(library))


def look(value: Any) -> Look | None:
    if not isinstance(value, np.ndarray | np.generic):
        return None
    value = np.asarray(value)
    return Look(value.shape, value.strides, value.flags.c_contiguous)


class HostKernel:
    """A phase for some values, to be compiled with others and then run as kernels are."""

    def __init__(self, phase: Phase, values: Sequence[Any]) -> None:
        self.phase = phase
        self.launcher = Launcher(phase, kinds_of(phase, values))
        self.library: ctypes.CDLL | None = None
        self.wanted: dict[str, CudaKernel] = {}

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> set[tuple[int, str]]:
        """Compute rows ``lo:hi``; before there is a library, only note which kernel that takes."""
        check_constants(self.launcher.lowered, values)
        held = [np.asarray(v) if isinstance(v, np.generic) else v for v in values]
        aligned = lie_aligned(self.phase, held, outs, address_of, lo - origin)
        looks = ([look(v) for v in values], [look(o) for o in outs])
        launch = self.launcher.launch(looks, hi - lo, told, aligned)
        if self.library is None:
            self.wanted[launch.kernel.name] = launch.kernel
            return set()
        flags = np.zeros(self.launcher.fault_words, np.uint32)
        blocks = launch.blocks(hi - lo)
        scratch = np.full(max(1, launch.scratch * blocks), 0xA5, np.uint8)
        places = (address_of(flags), address_of(scratch))
        words = launch.filled(held, address_of, outs, (lo, hi, origin), places)
        run = getattr(self.library, f"run_{launch.kernel.name}")
        run(ctypes.c_void_p(address_of(words)), blocks, launch.threads)
        return faults_of(flags)


class Pointer:
    """Where an array lies, as CuPy tells it."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class DeviceArray(np.ndarray):
    """An array that stands for one of CuPy's."""

    @property
    def data(self) -> Pointer:
        return Pointer(address_of(self))

    def get(self) -> np.ndarray:
        return np.asarray(self)


def on_device(value: Any) -> Any:
    """Return an array as one of the device that this machine plays; scalars stay."""
    return np.array(value).view(DeviceArray) if isinstance(value, np.ndarray) else value


class HostModule:
    """Stands for ``cupy.cuda.function.Module``."""

    def load(self, code: bytes) -> None:
        self.code = code.decode()

    def get_function(self, name: str) -> Any:
        kernel = HostCupy.kernels[name]
        assert kernel.source == self.code
        run = getattr(compiled([kernel]), f"run_{name}")

        def start(grid: tuple[int], block: tuple[int], args: tuple[np.ndarray]) -> None:
            (words,) = args
            assert words.size == 1, "CuPy passes no other array by value"
            run(ctypes.c_void_p(address_of(words)), grid[0], block[0])

        return start


def compile_using_nvrtc(
    source: str, options: tuple[str, ...], architecture: str, filename: str
) -> tuple[bytes, None]:
    """Return the text itself, which stands for machine code."""
    assert {"--fmad=false", "--ftz=false"} <= set(options)
    assert filename.endswith(".cu")
    HostCupy.compiled.append(architecture)
    return source.encode(), None


class HostDevice:
    """Stands for ``cupy.cuda.Device``."""

    id = 0
    compute_capability = "80"


class HostCupy:
    """As much of CuPy as the lowering uses, on NumPy's arrays."""

    ndarray = DeviceArray
    kernels: dict[str, CudaKernel] = {}  # noqa: RUF012 - all that were launched
    compiled: list[str] = []  # noqa: RUF012 - the architectures of all that were compiled
    cuda = SimpleNamespace(
        Device=HostDevice,
        function=SimpleNamespace(Module=HostModule),
        compiler=SimpleNamespace(compile_using_nvrtc=compile_using_nvrtc),
        nvrtc=SimpleNamespace(getVersion=lambda: (12, 9)),
    )

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        return lambda *args, **kwargs: np.asarray(function(*args, **kwargs)).view(DeviceArray)
