"""Source text -> address of machine code, kept on disk.

A kernel is Python source that defines ``kernel(a, b, c)`` over three integers. It is written as
LLVM's own text (:mod:`~dnumpy.kernels.ir`), or by Numba should it say what is not in the language,
and LLVM makes an object file of it, which is stored under the user cache directory by a digest of
the text, the CPU and the versions. What is on disk is loaded in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import platform
import time
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels import llvm, llvm_apart, objects
from dnumpy.kernels.cached import cache_directory
from dnumpy.kernels.compilers import compilers
from dnumpy.kernels.object_files import made_once

if TYPE_CHECKING:
    from collections.abc import Callable

_LASTING = frozenset({"vendor_id", "cpu family", "model", "model name", "stepping", "flags"})
_FORMAT = 13  # changes with the primitives or the calling convention
_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
)


class Compiled:
    """Machine code of one kernel; calling it releases the GIL."""

    __slots__ = ("_call", "_error", "_result", "address", "digest", "from_disk")

    def __init__(self, digest: str, address: int, *, from_disk: bool) -> None:
        self.digest = digest
        self.address = address
        self.from_disk = from_disk
        self._call = _PROTOTYPE(address)

    def __call__(self, a: int, b: int, c: int) -> None:
        """Run; generated kernels raise nothing."""
        out = (ctypes.c_void_p * 2)()
        at = ctypes.addressof(out)
        self._call(at, at + ctypes.sizeof(ctypes.c_void_p), a, b, c)


def digest_of(source: str) -> str:
    """Return the name under which the machine code of ``source`` is kept on this CPU."""
    inlined = _fast_functions() if "fast_" in source else ""
    return blake2b(f"{_platform()}{inlined}\n{source}".encode(), digest_size=16).hexdigest()


def compiled(source: str) -> Compiled:
    """Return the machine code of ``source``: loaded from the cache, or else compiled and stored."""
    digest = digest_of(source)
    code, from_disk = made_once(_path_of(digest), partial(_compiled_now, source))
    try:
        address = objects.placed(code, llvm.SYMBOL)
    except objects.Unplaceable:
        address = llvm.loaded(digest, code)
    return Compiled(digest, address, from_disk=from_disk)


def is_cached(source: str) -> bool:
    """Say whether :func:`compiled` would find ``source`` on disk."""
    return _path_of(digest_of(source)).exists()


def _path_of(digest: str) -> Path:
    return cache_directory() / f"{digest}.o"


def _compiled_now(source: str) -> bytes:
    with compilers.working():
        return compile_source(source)


@lru_cache(maxsize=1)
def _platform() -> str:
    """Return what machine code depends on, without importing LLVM where the system tells."""
    return " ".join([str(_FORMAT), *(_described() or llvm.about()), np.__version__])


def _described() -> tuple[str, ...]:
    """Return the compiler's version, and the first processor as Linux describes it, or nothing."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return ()
    try:
        version = Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return ()
    lines = [line for line in first.splitlines() if line.split("\t")[0] in _LASTING]
    return (version, platform.machine(), *lines) if lines else ()


@lru_cache(maxsize=1)
def _reads_by_short_loads() -> bool:
    """Say whether this processor reads memory faster by several short loads of each line.

    On Zen 4, loads of whole lines that begin where the lines do take up to a third longer; on
    Sapphire Rapids, loads of a quarter of a line a tenth. What LLVM calls the one is said by
    Linux as the maker of the other.
    """
    return any(word in _platform() for word in ("AuthenticAMD", "znver"))


@lru_cache(maxsize=1)
def _fast_functions() -> str:
    """Return a digest of the arithmetic that kernels inline by name, and their text leaves out."""
    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("fast_*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cpu_seconds() -> float:
    """Return the CPU time of this thread and of all compiling in the other process so far."""
    return time.thread_time() + llvm_apart.apart.worked_seconds


def starting_seconds() -> float:
    """Return the CPU time that starting the process that compiles takes; 0 where there is none."""
    return llvm_apart.apart.starting_seconds


def compile_source(source: str) -> bytes:
    """Return an object file whose ``dnumpy_kernel`` has Numba's calling convention."""
    from dnumpy.kernels.ir_values import Unknown  # not needed to load what is on disk

    try:
        return compile_directly(source)
    except Unknown:
        return compile_with_numba(source)


def compile_directly(source: str) -> bytes:
    """Return the object file that LLVM makes of a kernel.

    Raises
    ------
    Unknown
        The kernel says what only Numba understands.
    """
    from dnumpy.kernels.ir import SHORT, WIDE, module_text
    from dnumpy.kernels.ir_values import Unknown

    text = module_text(source, load_bytes=SHORT if _reads_by_short_loads() else WIDE)
    try:
        return _code_of(text)
    except RuntimeError as error:
        raise Unknown(str(error)) from error


def _code_of(text: str) -> bytes:
    """Return what LLVM makes of a text, in another process where there can be one."""
    try:
        return llvm_apart.apart.object_code(text)
    except llvm_apart.Unavailable:
        if llvm_apart.apart.has_ended:
            raise
        return llvm.kernel_code(text)


def compile_with_numba(source: str) -> bytes:
    """Return the object file that Numba makes of a kernel."""
    import numba

    from dnumpy.kernels.primitives import namespace

    names = namespace()
    exec(compile(source, "<dnumpy kernel>", "exec"), names)
    function: Callable[..., Any] = names["kernel"]
    signature = numba.void(numba.int64, numba.int64, numba.int64)
    jit: Any = numba.njit  # its annotations leave out the last two options
    dispatcher = jit(
        signature,
        nogil=True,
        error_model="numpy",
        boundscheck=False,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    (result,) = dispatcher.overloads.values()
    text = str(result.library._final_module)  # noqa: SLF001 - the optimised module
    name = result.fndesc.llvm_func_name
    text = text.replace(f'"{name}"', llvm.SYMBOL).replace(name, llvm.SYMBOL)
    return llvm.object_code(text, optimised=True)
