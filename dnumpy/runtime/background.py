"""What is measured while nothing else runs: after the first use, once, at low priority.

The thread is a daemon, so that it never keeps a process alive, and gives way to all others of its
process. It waits until nothing has run for ``IDLE_SECONDS``; what was measured while something ran
after all is thrown away and measured again. Nothing begins where ``config.calibrate`` is ``off``.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

IDLE_SECONDS = 1.0
LOOK_SECONDS = 0.1
GIVEN_UP_SECONDS = 600.0  # a process that is never idle for so long is left alone
TRIALS = 3
NICENESS = 15
THREAD = "dnumpy-calibrate"
T = TypeVar("T")
_begun: set[Hashable] = set()


class Busy(Exception):  # noqa: N818 - it is news, not a mistake
    """Nothing could be measured, as something ran all the time."""


class Idle:
    """Knows whether something runs: ``used()`` changes whenever it does."""

    def __init__(
        self, used: Callable[[], Any], idle_seconds: float = IDLE_SECONDS, trials: int = TRIALS
    ) -> None:
        self.used = used
        self.idle_seconds = idle_seconds
        self.trials = trials
        self.gives_up = time.monotonic() + GIVEN_UP_SECONDS

    def wait(self) -> None:
        """Return once nothing has run for a while; raises Busy when that does not come."""
        seen, since = self.used(), time.monotonic()
        while time.monotonic() - since < self.idle_seconds:
            if time.monotonic() > self.gives_up or not threading.main_thread().is_alive():
                raise Busy
            time.sleep(min(LOOK_SECONDS, self.idle_seconds))
            now = self.used()
            if now != seen:
                seen, since = now, time.monotonic()

    def undisturbed(self, measured: Callable[[], T]) -> T:
        """Return what was measured while nothing ran; raises Busy when something always did."""
        for _ in range(self.trials):
            self.wait()
            before = self.used()
            found = measured()
            if self.used() == before:
                return found
        raise Busy


def once_idle(key: Hashable, work: Callable[[Idle], object], used: Callable[[], Any]) -> bool:
    """Let ``work`` run in the background once nothing else does; say whether it was begun.

    Once for each key in a process. It is given the :class:`Idle` by which to measure.
    """
    if config.calibrate != "auto" or key in _begun:
        return False
    _begun.add(key)
    args = (work, Idle(used))
    threading.Thread(target=_run, args=args, name=THREAD, daemon=True).start()
    return True


def _run(work: Callable[[Idle], object], idle: Idle) -> None:
    with suppress(AttributeError, OSError):  # where threads have no priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    try:
        idle.wait()
        work(idle)
    except Busy:
        return  # the profile stays as it is: a later process will find the time
    except Exception as problem:  # noqa: BLE001 - nobody waits for it: whatever it is, say it
        if threading.main_thread().is_alive():
            warnings.warn(
                f"calibrating in the background failed ({problem!r}); plans go on by what is known",
                RuntimeWarning,
                stacklevel=1,
            )
