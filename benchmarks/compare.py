"""One program under several peers, each in a process of its own, alternately."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Row, Timing, alternate
from benchmarks.worker import NoVersion, PeerError, Remote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.programs import Program

SUBJECT = "dnumpy"
FILLING = 4, 40  # runs after which what pays is compiled: at least, and at most
FILLING_SECONDS = 3.0  # of short runs
HOLDING = 4  # runs whose memory is looked at


def compare(
    program: Program,
    peers: Sequence[str],
    *,
    scale: float,
    repeats: int,
    warmups: int,
    cold: bool,
) -> Row:
    """Return what NumPy and the peers took, every result compared with NumPy's.

    The first call of each peer is its first in a fresh process; warm-ups follow, then the repeats,
    in turn. With ``cold``, another process of dnumpy comes first, which starts with an empty kernel
    cache and leaves it filled.
    """
    row = Row(program.name, program.title)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        expected = folder / "expected"
        numpy = stack.enter_context(Remote("numpy", program.name, scale))
        row.work = numpy.work
        row.timings["numpy"] = Timing(first=numpy.run(), import_seconds=numpy.import_seconds)
        numpy.save(expected)
        running = [(numpy, row.timings["numpy"])]
        for name in peers:
            own = own_cache(folder, name, cold)
            try:
                timing = Timing()
                if own:
                    timing.first_empty = filled(name, program, scale, own, expected)
                session = stack.enter_context(Remote(name, program.name, scale, own))
                timing.import_seconds = session.import_seconds
                timing.first = session.run()
                session.check(expected)
            except NoVersion:
                continue
            except PeerError as error:
                row.errors[name] = str(error)
                continue
            row.timings[name] = timing
            running.append((session, timing))
        alternate(running, warmups=warmups, repeats=repeats)
        for name in {"numpy", SUBJECT} & set(row.timings):
            row.timings[name].data_bytes = held(name, program, scale, own_cache(folder, name, cold))
    return row


def own_cache(folder: Path, name: str, cold: bool) -> dict[str, str]:
    """Return where a peer keeps its kernels, if not where it always does."""
    return {"DNUMPY_CACHE_DIR": str(folder)} if cold and name == SUBJECT else {}


def held(name: str, program: Program, scale: float, environment: Mapping[str, str]) -> int:
    """Return the bytes at the peak of a few runs above what the data and loaded code take."""
    with Remote(name, program.name, scale, environment, loaded=True) as session:
        for _ in range(HOLDING):
            session.run()
            session.settle()
        return session.memory()


def filled(
    name: str, program: Program, scale: float, environment: Mapping[str, str], expected: Path
) -> float:
    """Return the seconds of the first call with an empty cache, which is filled afterwards."""
    with Remote(name, program.name, scale, environment) as session:
        first = session.run()
        session.check(expected)
        spent = 0.0
        for done in range(FILLING[1]):
            if done >= FILLING[0] and spent > FILLING_SECONDS:
                break
            spent += session.run()
            session.settle()
    return first
