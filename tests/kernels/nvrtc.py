"""NVIDIA's runtime compiler, which needs no GPU: is a text CUDA, for this architecture?"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from dnumpy.kernels.cupy import OPTIONS

CUPYS = ("--device-as-default-execution-space",)  # which CuPy adds


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
