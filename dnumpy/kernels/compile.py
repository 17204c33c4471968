"""Source text -> address of machine code, kept on disk.

A kernel is Python source that defines ``kernel(a, b, c)`` over three integers. It is written as
LLVM's own text (:mod:`~dnumpy.kernels.ir`), or by Numba should it say what is not in the language,
and LLVM makes an object file of it, which is stored under the user cache directory by a digest of
the text, the CPU and the versions. What is on disk is loaded in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.compiler_process import object_codes
from dnumpy.kernels.ir import module_text
from dnumpy.kernels.ir_values import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SYMBOL = "dnumpy_kernel"
_OLDEST_LLVM = 20
_FORMAT = 7  # changes with the primitives or the calling convention
_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
)

_lock = threading.RLock()
_elsewhere: dict[str, bytes] = {}  # made by the other process, not yet loaded
_engines: dict[str, Any] = {}  # keep the machine code alive


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
    path = cache_directory() / f"{digest}.o"
    with _lock:
        code = _elsewhere.pop(digest, None)
        from_disk = code is None
        code = code or _read(path)
        if code is not None:
            return Compiled(digest, _load(digest, code), from_disk=from_disk)
    code = compile_and_store(source)
    with _lock:
        return Compiled(digest, _load(digest, code), from_disk=False)


def compile_elsewhere(sources: Sequence[str]) -> None:
    """Have another process, if one can be had, compile the ``sources`` that the cache lacks."""
    missing = [s for s in sources if not is_cached(s)]
    if missing:
        codes = object_codes(missing)
        with _lock:
            _elsewhere.update(zip(map(digest_of, missing), codes, strict=False))


def compile_and_store(source: str) -> bytes:
    """Return the object code of ``source`` after keeping it on disk."""
    code = compile_source(source)
    _write(cache_directory() / f"{digest_of(source)}.o", code)
    return code


def is_cached(source: str) -> bool:
    """Say whether :func:`compiled` would find ``source`` on disk."""
    return (cache_directory() / f"{digest_of(source)}.o").exists()


def cache_directory() -> Path:
    """Return where object files are kept; ``DNUMPY_CACHE_DIR`` names another place."""
    import platformdirs

    root = os.environ.get("DNUMPY_CACHE_DIR") or platformdirs.user_cache_dir("dnumpy")
    return Path(root) / "kernels"


@lru_cache(maxsize=1)
def _platform() -> str:
    import llvmlite
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    from importlib.metadata import version

    versions = f"{version('numba')} {llvmlite.__version__} {np.__version__}"
    return f"{_FORMAT} {llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features} {versions}"


@lru_cache(maxsize=1)
def _fast_functions() -> str:
    """Return a digest of the arithmetic that kernels inline by name, and their text leaves out."""
    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("fast_*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body, seal = content[:-16], content[-16:]
    return body if blake2b(body, digest_size=16).digest() == seal else None


def _write(path: Path, code: bytes) -> None:
    """Store atomically; a directory that cannot be written costs the cache, not the kernel."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(code + blake2b(code, digest_size=16).digest())
        Path(name).replace(path)


@lru_cache(maxsize=1)
def _target_machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="default",
        jit=True,
    )


def _load(digest: str, code: bytes) -> int:
    import llvmlite.binding as llvm

    found = _engines.get(digest)
    if found is None:
        _target_machine()
        backing = llvm.parse_assembly("")
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(backing, machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        found = _engines[digest] = engine
    address: int = found.get_function_address(_SYMBOL)
    if not address:
        msg = f"the object file {digest} defines no {_SYMBOL}"
        raise RuntimeError(msg)
    return address


@lru_cache(maxsize=1)
def loop_of_kernels() -> int:
    """Return the address of a loop for ufuncs that calls a kernel, whose address is its data.

    The kernel is given the addresses of NumPy's arguments, extents and steps.
    """
    import llvmlite.binding as llvm
    from llvmlite import ir

    text, word = ir.IntType(8).as_pointer(), ir.IntType(64)
    kernel = ir.FunctionType(ir.IntType(32), [text.as_pointer()] * 2 + [word] * 3)
    module = ir.Module(_SYMBOL)
    module.triple = llvm.get_process_triple()
    loop = ir.Function(module, ir.FunctionType(ir.VoidType(), [word] * 3 + [text]), _SYMBOL)
    builder = ir.IRBuilder(loop.append_basic_block())
    results = [builder.alloca(text) for _ in range(2)]
    *given, data = loop.args
    builder.call(builder.bitcast(data, kernel.as_pointer()), [*results, *given])
    builder.ret_void()
    machine = _target_machine()
    return _load(_SYMBOL, machine.emit_object(llvm.parse_assembly(str(module))))


def compile_source(source: str) -> bytes:
    """Return an object file whose ``dnumpy_kernel`` has Numba's calling convention."""
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
    import llvmlite.binding as llvm

    if llvm.llvm_version_info[0] < _OLDEST_LLVM:
        msg = "pointers have types"
        raise Unknown(msg)
    machine = _target_machine()
    text = module_text(source, str(machine.target_data), llvm.get_process_triple())
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Unknown(str(error)) from error
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def compile_with_numba(source: str) -> bytes:
    """Return the object file that Numba makes of a kernel."""
    import llvmlite.binding as llvm
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
    module = llvm.parse_assembly(text.replace(f'"{name}"', _SYMBOL).replace(name, _SYMBOL))
    code: bytes = _target_machine().emit_object(module)
    return code
