"""A session in a process of its own: ``python -m benchmarks.worker PEER PROGRAM SCALE [loaded]``.

Parent and child exchange lines of JSON over the child's standard input and output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy

from benchmarks.measure import Local, agree_with, stored_parts
from benchmarks.peers import peer
from benchmarks.programs import Work, chosen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

ROOT = Path(__file__).parents[1]
LOADED = "loaded"  # what a process is told that is to run on little before it makes its data
# Threads that wait for work do not take the cores from the peer whose turn it is.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}


class PeerError(RuntimeError):
    """A peer cannot run the program; the text is the error's own."""


class NoVersion(Exception):  # noqa: N818 - an answer, not an error
    """The peer has no version of the program."""


class Remote:
    """A session in a child process; closing it ends the process."""

    def __init__(
        self,
        name: str,
        program: str,
        scale: float,
        environment: Mapping[str, str] | None = None,
        *,
        loaded: bool = False,
    ) -> None:
        self.name = name
        asked = [name, program, str(scale), *[LOADED] * loaded]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", *asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **PASSIVE, **(environment or {})},
        )
        try:
            ready = self._reply()
        except BaseException:
            self.close()
            raise
        self.import_seconds = float(ready["import_seconds"])
        self.work = Work(**ready["work"])
        self._tolerance = float(ready["tolerance"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError):
            self._process.communicate()

    def run(self) -> float:
        """Return the seconds of one run."""
        return float(self._ask("run"))

    def save(self, path: Path) -> None:
        """Store the result of the first run."""
        self._ask("save", str(path))

    def check(self, path: Path) -> None:
        """Raise PeerError unless the result of the first run is the stored one.

        They are compared here: what that takes would stay in the other process, and count as its.
        """
        own = path.with_name(f"{self.name}-{path.name}")
        self.save(own)
        got = [numpy.load(part) for part in stored_parts(own)]
        try:
            agree_with(path, got, self._tolerance)
        except AssertionError as error:
            msg = f"AssertionError: {error}"
            raise PeerError(msg) from error
        finally:
            shutil.rmtree(own)

    def settle(self) -> None:
        """Return when nothing is being compiled in the background."""
        self._ask("settle")

    def memory(self) -> int:
        """Return the bytes at the peak of any run so far, above what the data take."""
        return int(self._ask("memory"))

    def _ask(self, *question: str) -> Any:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the reply says what ended the process
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        return self._reply()["answer"]

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            msg = f"the process of {self.name} ended with status {self._process.wait()}"
            raise PeerError(msg)
        reply: dict[str, Any] = json.loads(line)
        if "no version" in reply:
            raise NoVersion
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply


def answer(session: Local, question: Sequence[str]) -> Any:
    """Return what the session says to one question."""
    match question:
        case ["run"]:
            return session.run()
        case ["save", path]:
            return session.save(Path(path))
        case ["settle"]:
            return session.settle()
        case ["memory"]:
            return session.memory()
        case _:
            msg = f"{question!r} is no question"
            raise ValueError(msg)


def serve(name: str, program_name: str, scale: float, *, loaded: bool = False) -> None:
    """Answer questions from standard input until it ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library prints is no reply
    try:
        started = time.perf_counter()
        found = peer(name)
        import_seconds = time.perf_counter() - started
        (program,) = chosen(program_name)
        if found.version(program) is None:
            replies.write(json.dumps({"no version": True}) + "\n")
            return
        session = Local(found, program, scale, loaded=loaded)
        ready = {
            "import_seconds": import_seconds,
            "work": asdict(session.work),
            "tolerance": session.tolerance,
        }
        replies.write(json.dumps(ready) + "\n")
        for line in sys.stdin:
            replies.write(json.dumps({"answer": answer(session, json.loads(line))}) + "\n")
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent tells it
        replies.write(json.dumps({"error": f"{type(error).__name__}: {error}".strip()}) + "\n")


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]), loaded=LOADED in sys.argv[4:])
