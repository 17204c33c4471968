"""What runs taught, kept between processes: one JSON file per machine and kind of table.

Beside the profiles in the user's cache directory. A file holds at most ``MOST_KEPT`` figures, each
with the time at which it was last seen; what is older than ``KEPT_SECONDS`` is left out on reading.
A file that cannot be read warns once and counts as none; a reader sees the old file or the new
one. Nothing is read or written where ``config.remember`` is off.
"""

from __future__ import annotations

import atexit
import warnings
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isfinite
from time import monotonic, time
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.config import config
from dnumpy.runtime import machine
from dnumpy.runtime.profiles import default_cache_dir, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEPT_SECONDS = 30 * 24 * 3600.0
MOST_KEPT = 2048
WRITE_SECONDS = 30.0  # between two writes of one file
_warned: set[Path] = set()


class Figure(NamedTuple):
    """Numbers under a name: what they are is the writer's to know."""

    name: str
    values: tuple[float, ...]
    seen_at: float


@dataclass(slots=True)
class Kept:
    """The figures of one file: read when first asked for, written now and then and at the end."""

    kind: str
    threads: int
    collect: Callable[[], dict[str, tuple[float, ...]]]  # what there is to keep now
    cache_dir: Path | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    was_read: bool = False
    _written_at: float = field(default_factory=monotonic)

    @property
    def path(self) -> Path:
        """Where the figures are kept."""
        key = "\n".join((self.kind, *machine.machine_key(self.threads)))
        digest = blake2b(key.encode(), digest_size=12).hexdigest()
        return (self.cache_dir or default_cache_dir()) / "learnt" / f"{self.kind}-{digest}.json"

    def read(self) -> dict[str, Figure]:
        """Return what earlier processes kept; reads the file once."""
        if not self.was_read:
            self.was_read = True
            if config.remember:
                self.figures = {f.name: f for f in read_figures(self.path)}
                atexit.register(self.write)
        return self.figures

    def write_sometimes(self) -> None:
        """Write what there is, if the last time was long ago."""
        if monotonic() - self._written_at >= WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write what there is, and of what was read as much as fits beside it."""
        self._written_at = monotonic()
        found = self.collect() if config.remember else {}
        if not found:
            return
        now = time()
        fresh = {name: Figure(name, values, now) for name, values in found.items()}
        latest = sorted({**self.read(), **fresh}.values(), key=lambda f: -f.seen_at)
        self.figures = {f.name: f for f in latest[:MOST_KEPT]}
        write_figures(self.path, list(self.figures.values()))


def read_figures(path: Path) -> list[Figure]:
    """Return what the file holds and is not too old; nothing where there is no such file.

    A file that is there and is no table of figures warns, once.
    """
    import msgspec

    try:
        figures = msgspec.json.decode(path.read_bytes(), type=list[Figure])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as problem:  # msgspec's errors are ValueErrors
        _warn_once(
            path, f"what runs taught cannot be read from {path} ({problem}); learning it again"
        )
        return []
    now = time()
    return [
        f
        for f in figures
        if 0 <= now - f.seen_at < KEPT_SECONDS and f.values and all(map(isfinite, f.values))
    ]


def write_figures(path: Path, figures: list[Figure]) -> None:
    """Write the figures in one go; a folder that cannot be written to warns, once."""
    import msgspec

    try:
        write_whole(path, msgspec.json.encode(figures))
    except OSError as problem:
        _warn_once(path, f"what runs taught could not be kept ({problem}); it will be learnt again")


def _warn_once(path: Path, text: str) -> None:
    if path not in _warned:
        _warned.add(path)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def digest_of(text: str) -> str:
    """Return a short name for a long text, the same in every process."""
    return blake2b(text.encode(), digest_size=12).hexdigest()
