"""LLVM in a process of its own: it takes 75 MB, which are no program's.

The process is started when something is to be compiled, and ended when nothing was for a while.
Where there can be none, LLVM is used in this process (:mod:`dnumpy.kernels.llvm`).
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dnumpy.kernels import llvm_server

if TYPE_CHECKING:
    from subprocess import Popen

IDLE_SECONDS = 10.0


class Unavailable(OSError):  # noqa: N818 - control flow, not an error
    """There is no other process; the text says why."""


class Apart:
    """A process that compiles, one text at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: Popen[bytes] | None = None
        self._used = 0.0
        self._waiter: threading.Timer | None = None
        self.has_ended = False  # with this process, which is about to end
        self.began = 0
        self.starting_seconds = 0.0  # of CPU time, that the process took until it was ready
        self.worked_seconds = 0.0  # likewise, that it has compiled for

    def object_code(self, text: str) -> bytes:
        """Return the object file of a module, whose text is without a heading.

        Raises
        ------
        RuntimeError
            LLVM does not take the text for one of its own.
        Unavailable
            The process cannot be started, or ends before it has answered.
        """
        with self._lock:
            process = self._running()
            try:
                code, starting, worked = _answer_of(process, text.encode())
            except OSError as error:
                self._end()
                msg = f"the process that compiles ended: {error}"
                raise Unavailable(msg) from error
            finally:
                self._used = time.monotonic()
            self.starting_seconds = starting
            self.worked_seconds += worked
            return code

    def is_running(self) -> bool:
        """Say whether there is a process that need not be started."""
        return self._process is not None

    def _running(self) -> Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        if self.has_ended:
            msg = "this process is about to end"
            raise Unavailable(msg)
        if not self.began:
            atexit.register(self._end_with_us)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(
                    before=self._lock.acquire,
                    after_in_parent=self._lock.release,
                    after_in_child=self._leave,
                )
        self.began += 1
        self._process = _started()
        self._wait(IDLE_SECONDS)
        return self._process

    def _wait(self, seconds: float) -> None:
        """Look after so many seconds whether nothing was compiled meanwhile."""
        self._waiter = threading.Timer(seconds, self._end_if_idle)
        self._waiter.daemon = True
        self._waiter.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            left = self._used + IDLE_SECONDS - time.monotonic()
            if self._process is not None and left > 0:
                self._wait(left)
            else:
                self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _end_with_us(self) -> None:
        """End it now, whatever it is doing: whoever waits for that ends too."""
        self.has_ended = True
        process = self._process
        if process is not None:
            process.kill()
            process.wait()

    def _leave(self) -> None:
        """Leave the process to the one that this one was forked from."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # as far as this process is concerned
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        os.close(pipe.fileno())
        self._lock.release()


def _started() -> Popen[bytes]:
    import subprocess  # 2 ms and 0.5 MB that a program does without whose kernels are on disk

    spec = find_spec("llvmlite")
    name = Path(sys.executable or "").name
    if os.name != "posix" or spec is None or spec.origin is None or not name.startswith("python"):
        msg = f"{sys.executable or 'this program'} cannot be started to compile"
        raise Unavailable(msg)
    folder = str(Path(spec.origin).parent.parent)
    command = [sys.executable, "-I", "-S", llvm_server.__file__, folder]
    try:
        return subprocess.Popen(  # noqa: S603 - this very interpreter, and our file
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        msg = f"no process can be started: {error}"
        raise Unavailable(msg) from error


def _answer_of(process: Popen[bytes], text: bytes) -> tuple[bytes, float, float]:
    """Return what the process makes of a text, and what it took to start, and for this.

    OSError where it ends meanwhile.
    """
    size, answer = llvm_server.SIZE, llvm_server.HEAD
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(size.pack(len(text)) + text)
    process.stdin.flush()
    head = process.stdout.read(answer.size)
    if len(head) < answer.size:
        msg = f"status {process.poll()}"
        raise OSError(msg)
    status, count, starting, worked = answer.unpack(head)
    found = process.stdout.read(count)
    if len(found) < count:
        msg = f"status {process.poll()}"
        raise OSError(msg)
    if status:
        raise RuntimeError(found.decode())
    return found, starting, worked


apart = Apart()
