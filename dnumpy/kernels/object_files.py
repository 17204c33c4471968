"""Machine code in files, each made by one process while others that want it wait.

Processes that start together, as workers do, run the same phases and would compile the same
kernels. Whoever makes a file holds a lock on one byte of a file beside them, whose place is told by
the name of what is made; the system gives the lock back when its process ends, however it ends.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: each process makes its own
    _locking: Any = None
else:
    _locking = _fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_KEPT = 8192  # object files on disk, about 50 MB
WAIT_SECONDS = 30.0  # for another process, which may have been stopped
_PAUSE_SECONDS = 2e-3
_SEAL = 16  # bytes of a digest that end each file

_opened: dict[Path, int] = {}
_opening = threading.Lock()


def made_once(path: Path, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """Return what is stored at ``path``, and True; or else what ``make`` does, and False.

    What another process makes of the same name meanwhile is waited for. Threads of one process are
    not told apart, for which the caller has a lock of its own.
    """
    code = stored(path)
    if code is not None:
        return code, True
    with _turn(path):
        code = stored(path)
        if code is not None:
            return code, True
        code = make()
        store(path, code)
    return code, False


def stored(path: Path) -> bytes | None:
    """Return what :func:`store` has put there, None where that is not there or not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    with suppress(OSError):
        os.utime(path)  # what is used is kept
    body, seal = content[:-_SEAL], content[-_SEAL:]
    return body if blake2b(body, digest_size=_SEAL).digest() == seal else None


def store(path: Path, code: bytes) -> None:
    """Store atomically; a directory that cannot be written costs the cache, not the kernel."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(code + blake2b(code, digest_size=_SEAL).digest())
        Path(name).replace(path)
        _prune(path.parent)


@lru_cache(maxsize=8)  # once in a process
def _prune(folder: Path) -> None:
    """Delete what has not been used for longest, where too much is kept."""
    files = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder)]
    if len(files) > MOST_KEPT:
        for _, path in sorted(files)[: len(files) - MOST_KEPT // 2]:
            with suppress(OSError):  # another process was faster
                os.unlink(path)  # noqa: PTH108 - thousands of them


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold the lock for ``path``; without one where there are none, or after waiting too long."""
    file = _lock_file(path.parent.with_name("making"))
    place = int.from_bytes(blake2b(path.name.encode(), digest_size=7).digest())
    held = file is not None and _locked(file, place)
    try:
        yield
    finally:
        if held:
            _locking.lockf(file, _locking.LOCK_UN, 1, place)


def _locked(file: int, place: int) -> bool:
    """Lock a byte, waiting for whoever holds it; False where this file system has no locks."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            _locking.lockf(file, _locking.LOCK_EX | _locking.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # either, as POSIX has it, where it is held
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return False
        else:
            return True


def _lock_file(path: Path) -> int | None:
    """Return an open file, for good: closing one gives back all locks that this process has."""
    if _locking is None:
        return None
    with _opening:
        if path not in _opened:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                _opened[path] = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:  # nothing will be stored either
                return None
        return _opened[path]
