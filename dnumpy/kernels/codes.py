"""The machine code of this process, each text compiled once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dnumpy.kernels.compile import compiled

if TYPE_CHECKING:
    from dnumpy.kernels.compile import Compiled

_codes: dict[str, Compiled] = {}
_code_locks: dict[str, threading.Lock] = {}
_registry_lock = threading.Lock()


def machine_code(source: str) -> Compiled:
    """Return the machine code of ``source``; threads that ask for it wait for one compile."""
    with _registry_lock:
        lock = _code_locks.setdefault(source, threading.Lock())
    with lock:
        found = _codes.get(source)
        if found is None:
            found = _codes[source] = compiled(source)
    return found
