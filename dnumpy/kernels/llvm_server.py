"""Compiles texts of LLVM's for another process: run as a script, it imports nothing of dnumpy.

``python -I -S llvm_server.py FOLDER`` takes llvmlite from a folder, and answers requests on its
standard input until that ends. A request is eight bytes with its
length and the text of a module without its heading; an answer is a :data:`HEAD` and what it tells
of: an object file (status 0), or what was wrong with the text (1).
"""

from __future__ import annotations

import signal
import struct
import sys
import time
from functools import cache
from typing import Any, BinaryIO

UNTYPED = 20  # of LLVM's versions that llvmlite has had, the first in which no pointer has a type
SIZE = struct.Struct("<q")
# of an answer: status, length, and CPU seconds of starting this process and of compiling
HEAD = struct.Struct("<Bqdd")


def machine_of(llvm: Any) -> Any:
    """Return the machine that is compiled for: this one.

    AMD's reads scattered elements faster one by one than by the instruction for it: of rows of
    10 doubles, three of each took 1.75 ns a row instead of 6.5 (one core of a Zen 4).
    """
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if cpu.startswith("znver"):
        features += ",+prefer-no-gather,+prefer-no-scatter"
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu,
        features=features,
        opt=3,
        reloc="pic",
        codemodel="default",
        jit=True,
    )


def heading(llvm: Any, machine: Any) -> str:
    """Return the first lines of a text: for what system it is, and how numbers lie there."""
    layout, triple = machine.target_data, llvm.get_process_triple()
    return f'target datalayout = "{layout}"\ntarget triple = "{triple}"\n'


def parsed(llvm: Any, text: str) -> Any:
    """Return the module of a text in which pointers have no types.

    Raises
    ------
    RuntimeError
        LLVM does not take the text for one of its own.
    """
    if llvm.llvm_version_info[0] >= UNTYPED:
        return llvm.parse_assembly(text)
    older = text.replace("memory(none)", "readnone")  # as LLVM 15 says it
    return llvm.parse_assembly(older, context=_untyped(llvm))


@cache
def _untyped(llvm: Any) -> Any:
    """Return a context in which pointers have no types, for which LLVM 15 has to be asked."""
    try:
        made = llvm.ffi.lib.LLVMPY_ContextCreate(True)
    except (AttributeError, TypeError) as error:
        msg = "pointers have types"
        raise RuntimeError(msg) from error
    return llvm.context.ContextRef(made)


def optimise(llvm: Any, machine: Any, module: Any) -> None:
    """Vectorise the loops of a module."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    tuning.loop_interleaving = False  # vectors of short rows would be left to the loop's tail
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def object_code(llvm: Any, machine: Any, text: str) -> bytes:
    """Return the object file of a module; RuntimeError where LLVM does not take the text."""
    module = parsed(llvm, heading(llvm, machine) + text)
    module.verify()
    optimise(llvm, machine, module)
    code: bytes = machine.emit_object(module)
    module.close()
    return code


def received(source: BinaryIO) -> str | None:
    """Return the next request; None where there is none any more."""
    size = source.read(SIZE.size)
    if len(size) < SIZE.size:
        return None
    (count,) = SIZE.unpack(size)
    text = source.read(count)
    return text.decode() if len(text) == count else None


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until they end."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = machine_of(llvm)
    starting = time.process_time()
    while (text := received(source)) is not None:
        began = time.process_time()
        try:
            status, found = 0, object_code(llvm, machine, text)
        except RuntimeError as error:
            status, found = 1, str(error).encode()
        worked = time.process_time() - began
        answers.write(HEAD.pack(status, len(found), starting, worked) + found)
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # is meant for the process that asks
    sys.path.insert(0, sys.argv[1])
    serve(sys.stdin.buffer, sys.stdout.buffer)
