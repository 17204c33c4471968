"""Whether compilers are at work in this process: they take memory that is no program's."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Compilers:
    """Counts how often compilers began, and those that have not ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begun = 0
        self.at_work = 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Note that the block imports compilers, or compiles."""
        with self._lock:
            self.begun += 1
            self.at_work += 1
        try:
            yield
        finally:
            with self._lock:
                self.at_work -= 1


compilers = Compilers()
