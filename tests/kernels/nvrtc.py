"""NVIDIA's runtime compiler, which needs no GPU: is a text CUDA, for this architecture?

``python -m tests.kernels.nvrtc`` fails where it is not there.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dnumpy.kernels.cupy import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from dnumpy.kernels.cuda_emit import CudaKernel

CUPYS = ("--device-as-default-execution-space",)  # which CuPy adds
ARCHITECTURE = 80  # texts do not depend on it
READ_ONLY = ("-dlto",)  # no code is made for the device, which takes five times as long
_taken: set[str] = set()  # kernels that the compiler has taken, by name: equal texts have one


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiler's library, from its wheel or the machine's own, or None."""
    found = ctypes.util.find_library("nvrtc")
    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        spec = None
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        found = next(map(str, Path(folder, "lib").glob("libnvrtc.so*")), found)
    return ctypes.CDLL(found) if found else None


def complaints(source: str, architecture: int, options: tuple[str, ...] = ()) -> str:
    """Return what the compiler says of a text that it refuses, '' where it takes it."""
    nvrtc = library()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    given = [f"--gpu-architecture=compute_{architecture}", *OPTIONS, *CUPYS, *options]
    flags = (ctypes.c_char_p * len(given))(*[o.encode() for o in given])
    assert not nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
    )
    try:
        with ThreadPoolExecutor(1) as thread:  # NVRTC 12.4 leaves one with C's locale
            wrong = thread.submit(nvrtc.nvrtcCompileProgram, program, len(given), flags).result()
        if not wrong:
            return ""
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        return log.value.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def refusal(kernels: Collection[CudaKernel]) -> str:
    """Return what the compiler says of kernels that are no CUDA, '' where it takes them all.

    It reads them only. Those that it has taken before it is spared; where there is no compiler,
    nothing is said.
    """
    new = {k.name: k for k in kernels if k.name not in _taken}
    if not new or library() is None:
        return ""
    before = max((k.before for k in new.values()), key=len)
    source = "".join([before, *(k.text for k in new.values())])
    said = complaints(source, ARCHITECTURE, READ_ONLY)
    if not said:
        _taken.update(new)
    return said


if __name__ == "__main__":
    assert library() is not None, "NVRTC is needed here: the wheel nvidia-cuda-nvrtc-cu12 has it"
