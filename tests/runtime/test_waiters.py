"""Calls that may never return are made by threads that no program waits for."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import CancelledError, wait
from typing import Any

import pytest

from dnumpy.runtime.waiters import Waiters

pytestmark = [pytest.mark.timeout(60), pytest.mark.modeless("no array is in it")]
NEVER = """
import threading
from dnumpy.runtime.waiters import Waiters
waiters = Waiters(2, "dnumpy-test")
jobs = [waiters.submit(threading.Event().wait) for _ in range(3)]
print(waiters._threads[0].name)
"""


def divided(by: int) -> float:
    return 6 / by


def test_a_call_gives_what_it_returns_or_raises() -> None:
    waiters = Waiters(2, "dnumpy-test")
    assert [waiters.submit(divided, k).result(10) for k in (1, 2, 3)] == [6.0, 3.0, 2.0]
    with pytest.raises(ZeroDivisionError):
        waiters.submit(divided, 0).result(10)
    assert waiters.submit(divided, 2).result(10) == 3.0


def test_so_many_calls_are_made_at_the_same_time_and_no_more() -> None:
    waiters, most, lock, inside = Waiters(3, "dnumpy-test"), [0], threading.Lock(), [0]
    together = threading.Barrier(3)

    def count() -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        together.wait(10)
        with lock:
            inside[0] -= 1

    assert not wait([waiters.submit(count) for _ in range(9)], timeout=30).not_done
    assert most[0] == 3
    assert len(waiters._threads) == 3


def test_a_thread_that_is_idle_is_used_again() -> None:
    waiters = Waiters(8, "dnumpy-test")
    for k in range(1, 20):
        assert waiters.submit(divided, k).result(10) == 6 / k
    assert len(waiters._threads) < 8


@pytest.mark.parametrize("cancel", [True, False])
def test_what_has_not_begun_is_cancelled_where_that_is_asked_and_threads_end(cancel: bool) -> None:
    waiters, begun, go_on = Waiters(1, "dnumpy-test"), threading.Event(), threading.Event()

    def first() -> int:
        begun.set()
        go_on.wait(10)
        return 1

    jobs = [waiters.submit(first), waiters.submit(divided, 2)]
    assert begun.wait(10)
    waiters.leave(cancel=cancel)
    if cancel:
        with pytest.raises(CancelledError):
            jobs[1].result(10)
    go_on.set()
    assert jobs[0].result(10) == 1
    assert cancel or jobs[1].result(10) == 3.0
    (thread,) = waiters._threads
    thread.join(10)
    assert not thread.is_alive()


def test_threads_hold_nothing_and_end_with_what_started_them() -> None:
    class Thing:
        pass

    waiters, thing = Waiters(1, "dnumpy-test"), Thing()
    job: Any = waiters.submit(lambda given: given, thing)
    assert job.result(10) is thing
    (thread,), seen = waiters._threads, weakref.ref(thing)
    waiters.submit(int).result(10)
    del thing, job, waiters
    gc.collect()
    assert seen() is None
    thread.join(10)
    assert not thread.is_alive()


def test_a_program_ends_while_they_wait() -> None:
    """A pool of Python's would be waited for without end."""
    ran = subprocess.run(
        [sys.executable, "-c", NEVER], capture_output=True, text=True, check=True, timeout=50
    )
    assert ran.stdout == "dnumpy-test\n"
