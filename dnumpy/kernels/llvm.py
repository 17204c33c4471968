"""LLVM in this process: its text -> object code -> addresses.

LLVM does not hold the GIL while it works, so that a thread beside the program's own can compile.
One thread uses it at a time. A process that ends, or forks, waits until LLVM is at rest: a step
takes a tenth of a second at most.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dnumpy.kernels import llvm_server

if TYPE_CHECKING:
    from collections.abc import Iterator

SYMBOL = "dnumpy_kernel"

_lock = threading.RLock()
_engines: dict[str, Any] = {}  # keep the machine code alive

_LOOP = f"""\
define void @{SYMBOL}(i64 %args, i64 %dims, i64 %steps, ptr %kernel) nounwind {{
  %result = alloca ptr
  %error = alloca ptr
  call i32 %kernel(ptr %result, ptr %error, i64 %args, i64 %dims, i64 %steps)
  ret void
}}
"""


@contextmanager
def using() -> Iterator[Any]:
    """Yield LLVM, which no other thread uses meanwhile."""
    with _lock:
        yield _started()


@lru_cache(maxsize=1)
def _started() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    atexit.register(_lock.acquire)  # a library must not be torn down at work
    if hasattr(os, "register_at_fork"):  # its own lock must not be inherited closed
        os.register_at_fork(
            before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
        )
    return llvm


@lru_cache(maxsize=1)
def about() -> tuple[str, str, str, str]:
    """Return what machine code depends on: the compiler, the system, the CPU and its features."""
    import llvmlite

    with using() as llvm:
        features = llvm.get_host_cpu_features().flatten()
        triple, name = llvm.get_process_triple(), llvm.get_host_cpu_name()
        return llvmlite.__version__, triple, name, features


@lru_cache(maxsize=1)
def _machine() -> Any:
    with using() as llvm:
        return llvm_server.machine_of(llvm)


def kernel_code(text: str) -> bytes:
    """Return the object file of a kernel, whose text is without a heading.

    Raises
    ------
    RuntimeError
        LLVM does not take the text for one of its own.
    """
    with using() as llvm:
        head = llvm_server.heading(llvm, _machine())
    return object_code(head + text)


def object_code(text: str, *, optimised: bool = False) -> bytes:
    """Return the object file of the module that a text describes; its loops are vectorised first.

    A text that is ``optimised`` is Numba's, which spells pointers as its LLVM does. Other threads
    may use LLVM between the two steps.

    Raises
    ------
    RuntimeError
        LLVM does not take the text for one of its own.
    """
    with using() as llvm:
        module = _parsed(llvm, text, by_numba=optimised)
        if not optimised:
            _optimise(llvm, module)
    with using():
        return _emitted(module)


# What is made here is freed here, too: before another thread uses LLVM, or the process forks.


def _parsed(llvm: Any, text: str, *, by_numba: bool) -> Any:
    module = llvm.parse_assembly(text) if by_numba else llvm_server.parsed(llvm, text)
    module.verify()
    return module


def _optimise(llvm: Any, module: Any) -> None:
    llvm_server.optimise(llvm, _machine(), module)


def _emitted(module: Any) -> bytes:
    code: bytes = _machine().emit_object(module)
    module.close()
    return code


def loaded(name: str, code: bytes) -> int:
    """Return the address of the kernel in an object file; ``name`` is given to no other one."""
    with using() as llvm:
        engine = _engines.get(name)
        if engine is None:
            engine = _engines[name] = _engine(llvm, code)
        address: int = engine.get_function_address(SYMBOL)
    if not address:
        msg = f"the object file {name} defines no {SYMBOL}"
        raise RuntimeError(msg)
    return address


def _engine(llvm: Any, code: bytes) -> Any:
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


@lru_cache(maxsize=1)
def loop_of_kernels() -> int:
    """Return the address of a loop for ufuncs that calls a kernel, whose address is its data.

    The kernel is given the addresses of NumPy's arguments, extents and steps.
    """
    return loaded(SYMBOL, object_code(_LOOP))
