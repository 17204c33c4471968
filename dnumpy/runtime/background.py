"""What is measured while nothing else runs: after the first use, until it is done, at low priority.

The thread is a daemon, so that it never keeps a process alive, and gives way to all others of its
process. It waits until nothing has run for ``IDLE_SECONDS``; what was measured while something ran
after all is thrown away and measured again. What came to nothing is tried again a minute later, and
then after twice as long each time. Nothing begins where ``config.calibrate`` is ``off``.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
AGAIN_SECONDS = 60.0  # until what came to nothing once is tried again
MOST_AGAIN_SECONDS = 3600.0


class _Trials(NamedTuple):
    """How often something came to nothing in a row, and when it may be tried again."""

    failed: int
    again: float  # by the monotonic clock; infinity while it runs, and when it is done


_begun: dict[Hashable, _Trials] = {}


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

    Once for each key in a process, unless it came to nothing: then a later call begins it again, a
    minute later or more. It is given the :class:`Idle` by which to measure, and returns False where
    anything is left to be measured.
    """
    known = _begun.get(key, _Trials(0, 0.0))
    if config.calibrate != "auto" or time.monotonic() < known.again:
        return False
    _begun[key] = known._replace(again=inf)
    args = (key, work, Idle(used))
    threading.Thread(target=_run, args=args, name=THREAD, daemon=True).start()
    return True


def _run(key: Hashable, work: Callable[[Idle], object], idle: Idle) -> None:
    if not _done(work, idle):
        failed = _begun[key].failed if key in _begun else 0
        waits = min(AGAIN_SECONDS * 2**failed, MOST_AGAIN_SECONDS)
        _begun[key] = _Trials(failed + 1, time.monotonic() + waits)


def _done(work: Callable[[Idle], object], idle: Idle) -> bool:
    """Say whether nothing is left to be measured."""
    with suppress(AttributeError, OSError):  # where threads have no priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    try:
        idle.wait()
        return work(idle) is not False
    except Busy:
        return False  # the profile stays as it is
    except Exception as problem:  # noqa: BLE001 - nobody waits for it: whatever it is, say it
        if threading.main_thread().is_alive():
            warnings.warn(
                f"calibrating in the background failed ({problem!r}); plans go on by what is known",
                RuntimeWarning,
                stacklevel=1,
            )
        return False
