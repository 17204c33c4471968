"""Timing: several peers alternately on one program, so that all of them see the same machine."""

from __future__ import annotations

import ctypes
import gc
import statistics
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy

from benchmarks.programs import Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.peers import Peer
    from benchmarks.programs import Program

CLEAR_REFS = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")
PEER_TOLERANCE = 1e-7  # other libraries' exp and log are not NumPy's bit for bit
COMPILER = "dnumpy-compile"  # how the threads are named in which kernels are compiled
COMPILER_SECONDS = 30.0
# Threads of OpenBLAS, NumPy's and ours, turn idly on their cores for 0.1 s after a product, while
# whoever comes next is timed: logistic regression took us 125 ms after NumPy's turn, and 80 later.
SETTLE_SECONDS = 0.15
LOADED_SHARE, LOADED_RUNS = 0.2, 4  # of the data, and on these, for which what is needed is loaded


@dataclass(slots=True)
class Timing:
    """What one peer took on one program.

    Attributes
    ----------
    seconds : list of float
        Of each repeat, warm.
    first : float
        Seconds of the first call in the fresh process whose repeats these are.
    first_empty : float or None
        Seconds of the first call in a fresh process with an empty kernel cache; None where the peer
        keeps no cache, so that ``first`` is that.
    import_seconds : float
        Seconds to import the peer.
    peak_bytes : int
        Bytes resident at the peak of any run, above what was resident when the data were made; 0
        where the system does not say. What the peer loads at its first call is among them.
    data_bytes : int
        The same in a process of its own, in which the program ran on little before the data were
        made: what was loaded for that is not counted.
    """

    seconds: list[float] = field(default_factory=list)
    first: float = 0.0
    first_empty: float | None = None
    import_seconds: float = 0.0
    peak_bytes: int = 0
    data_bytes: int = 0

    @property
    def best(self) -> float:
        """Seconds of the fastest repeat."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return statistics.median(self.seconds)

    @property
    def cold(self) -> float:
        """Seconds of the first call of all, nothing compiled."""
        return self.first if self.first_empty is None else self.first_empty


@dataclass(slots=True)
class Row:
    """One program: what each peer took, and why those in ``errors`` have no figures.

    A peer in neither has no version of the program.
    """

    program: str
    title: str
    work: Work = field(default_factory=Work)
    timings: dict[str, Timing] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def speed(self, peer: str, what: str = "median") -> float:
        """Return NumPy's ``best``, ``median``, ``first`` or ``cold`` over the peer's."""
        return float(getattr(self.timings["numpy"], what) / getattr(self.timings[peer], what))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, the speeds by median included."""
        speeds = {peer: self.speed(peer) for peer in self.timings if "numpy" in self.timings}
        return {**asdict(self), "speed": speeds}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Row:
        """Return the row that :meth:`as_dict` wrote."""
        timings = {peer: Timing(**timing) for peer, timing in stored["timings"].items()}
        work = Work(**stored["work"])
        return cls(stored["program"], stored["title"], work, timings, dict(stored["errors"]))


class Session(Protocol):
    """One peer with the data of one program, here or in a process of its own."""

    def run(self) -> float:
        """Return the seconds of one run."""
        ...

    def save(self, path: Path) -> None:
        """Store the result of the first run."""
        ...

    def check(self, path: Path) -> None:
        """Raise AssertionError unless the result of the first run is the stored one."""
        ...

    def settle(self) -> None:
        """Return when nothing is being compiled in the background."""
        ...

    def memory(self) -> int:
        """Return the bytes at the peak of any run so far, above what the data take."""
        ...


class Local:
    """A session in this process."""

    def __init__(self, peer: Peer, program: Program, scale: float, *, loaded: bool = False) -> None:
        self._program = program
        if loaded:
            load(peer, program, scale * LOADED_SHARE)
        self.tolerance = program.rtol if peer.exact else max(program.rtol, PEER_TOLERANCE)
        host = program.make(scale)
        self.work = program.work(*host)
        run = peer.version(program)
        if run is None:
            msg = f"{peer.name} has no version of {program.name}"
            raise ValueError(msg)
        self._run = run
        self._data = peer.arrays(host)
        self._answer: Any = None
        self._ran = loaded  # whose memory is looked at keeps no result
        del host
        self._before = resident_bytes("VmRSS")
        self._peak = 0

    def run(self) -> float:
        """Return the seconds of one run; the first keeps its result."""
        gc.collect()
        reset_peak()
        started = time.perf_counter()
        answer = self._run(self._data)
        seconds = time.perf_counter() - started
        self._peak = max(self._peak, resident_bytes("VmHWM") - self._before)
        if not self._ran:
            self._answer, self._ran = answer, True
        return seconds

    def save(self, path: Path) -> None:
        """Store the result of the first run in a folder, and forget it.

        Each part straight from its memory: an archive would copy it, and what that leaves in the
        heap would be counted as the program's.
        """
        path.mkdir(exist_ok=True)
        for old in stored_parts(path):
            old.unlink()
        for k, part in enumerate(parts_of(self._answer)):
            numpy.save(path / f"{k}.npy", part)
        self._answer = None

    def check(self, path: Path) -> None:
        """Raise AssertionError unless the result of the first run is the stored one; forget it."""
        got, self._answer = parts_of(self._answer), None
        agree_with(path, got, self.tolerance)

    def settle(self) -> None:
        """Return when nothing is being compiled in the background."""
        settle()

    def memory(self) -> int:
        """Return the bytes at the peak of any run so far, above what the data take."""
        return self._peak


def settle() -> None:
    """Return when nothing is being compiled in the background."""
    for thread in threading.enumerate():
        if thread.name.startswith(COMPILER):
            thread.join(COMPILER_SECONDS)


def load(peer: Peer, program: Program, scale: float) -> None:
    """Let a peer load what it needs for a program, and give back all memory of its data."""
    run = peer.version(program)
    assert run is not None
    data = peer.arrays(program.make(scale))
    for _ in range(LOADED_RUNS):
        run(data)
        settle()
    del data
    peer.forget()
    gc.collect()
    with suppress(AttributeError):  # which other C libraries than GNU's lack
        ctypes.CDLL(None).malloc_trim(0)


def agree_with(path: Path, got: Sequence[numpy.ndarray], tolerance: float) -> None:
    """Raise AssertionError unless the results are the stored ones within a relative tolerance."""
    stored = stored_parts(path)
    assert len(got) == len(stored), f"{len(got)} results instead of {len(stored)}"
    for one, expected in zip(got, stored, strict=True):
        agree(one, numpy.load(expected), tolerance)


def stored_parts(path: Path) -> list[Path]:
    """Return the files of the parts of a stored result, in order."""
    return sorted(path.glob("*.npy"), key=lambda part: int(part.stem))


def agree(got: numpy.ndarray, expected: numpy.ndarray, tolerance: float) -> None:
    """Raise AssertionError unless shapes are equal, and elements within the tolerance."""
    assert got.shape == expected.shape, f"shape {got.shape} instead of {expected.shape}"
    numpy.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def parts_of(answer: Any) -> list[numpy.ndarray]:
    """Return a result as arrays: its parts where it is a tuple."""
    return [numpy.asarray(part) for part in (answer if isinstance(answer, tuple) else (answer,))]


def alternate(sessions: Iterable[tuple[Session, Timing]], *, warmups: int, repeats: int) -> None:
    """Run the sessions in turn; the timings have the seconds of what follows the warm-ups.

    Each begins when the one before has been idle for a while.
    """
    pairs = list(sessions)
    for count in range(warmups + repeats):
        for session, timing in pairs:
            time.sleep(SETTLE_SECONDS)
            seconds = session.run()
            if count >= warmups:
                timing.seconds.append(seconds)
    for session, timing in pairs:
        timing.peak_bytes = session.memory()


def reset_peak() -> None:
    """Make the peak of resident memory start from now, where the system can do that."""
    with suppress(OSError):
        CLEAR_REFS.write_text("5", encoding="ascii")


def resident_bytes(which: str) -> int:
    """Return ``VmRSS`` (resident now) or ``VmHWM`` (at the peak); 0 where there is neither."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{which}:"):
                return int(line.split()[1]) * 1024
    return 0
