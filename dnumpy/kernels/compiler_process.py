"""A process beside this one that turns kernel source into object code.

Numba compiles in Python: in a thread of this process it would hold the GIL, and the tiled
lowering that runs meanwhile would wait 5 ms for every ufunc. The process starts when it is first
needed, ends when nothing has been asked for a while, is started again when needed, and is ended,
whatever it does, when this process ends.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import select
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

IDLE_SECONDS = 30.0
_PROGRAM = (
    "from dnumpy.kernels.compile import compile_and_store\n"
    "from dnumpy.kernels.compiler_process import serve\n"
    "serve(compile_and_store)"
)

_lock = threading.Lock()
_running: dict[
    int, subprocess.Popen[str]
] = {}  # by the process that started it: forks start their own
_ending = threading.Event()


class Ending(Exception):  # noqa: N818 - nobody's error
    """Nothing is compiled any more, since this process is about to end."""


class NotCompiled(Exception):  # noqa: N818 - it carries the compiler's own message
    """The compiler refused the source; the text is its message."""


def object_codes(sources: Sequence[str]) -> list[bytes]:
    """Return what the other process makes of ``sources``, nothing when none can be had.

    Raises NotCompiled when the compiler refuses one of them, Ending when this process ends.
    """
    with _lock:
        for _attempt in range(2):  # again, when the process had just gone idle
            process = _process()
            if process is None:
                return []
            reply = _ask(process, sources)
            if _ending.is_set():
                raise Ending
            if reply is not None:
                break
            _running.pop(os.getpid(), None)
        else:
            return []
    if "error" in reply:
        raise NotCompiled(reply["error"])
    return [base64.b64decode(code) for code in reply["codes"]]


def _process() -> subprocess.Popen[str] | None:
    if _ending.is_set():
        raise Ending
    found = _running.get(os.getpid())
    if found is not None and found.poll() is None:
        return found
    if not sys.executable:
        return None
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path)  # noqa: PTH100 - '' is the current one
    try:
        found = subprocess.Popen(  # noqa: S603 - this interpreter, our own program
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt at the terminal is not for the compiler
        )
    except OSError:
        return None
    _running[os.getpid()] = found
    atexit.register(_end, found)
    if _ending.is_set():  # since it was looked at above: the handler may have run already
        found.kill()
    return found


def _end(process: subprocess.Popen[str]) -> None:
    """End the process; whoever waits for its answer is then told.

    Nothing on disk is left half written: object files are put in place whole.
    """
    _ending.set()
    process.kill()
    process.wait()
    if _lock.acquire(timeout=1.0):  # whoever reads the answer has now met its end
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # a request that was not sent
                assert stream is not None
                stream.close()
        _lock.release()


def _ask(process: subprocess.Popen[str], sources: Sequence[str]) -> dict[str, Any] | None:
    """Return the answer, or None if the process is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(list(sources)) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        return None
    answer: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
    return answer


def serve(compile_and_store: Callable[[str], bytes]) -> None:
    """Answer requests on standard input until it closes or nothing has come for a while."""
    answers: IO[str] = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    while select.select([0], [], [], IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        try:
            codes = [compile_and_store(source) for source in json.loads(line)]
            answer: dict[str, Any] = {"codes": [base64.b64encode(c).decode() for c in codes]}
        except Exception as error:  # noqa: BLE001 - it goes back to whoever asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
