"""Calls run at the same time, each once, and none is waited for in vain."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest

from dnumpy.runtime.threads import in_threads


def test_calls_run_at_the_same_time_and_return_in_order() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def call(k: int) -> int:
        meeting.wait()  # passes only if three threads are here
        return k * k

    assert in_threads([lambda k=k: call(k) for k in range(3)]) == [0, 1, 4]


def test_every_call_is_made_once() -> None:
    made: list[int] = []
    for _ in range(200):
        made.clear()
        in_threads([lambda k=k: made.append(k) for k in range(4)])
        assert sorted(made) == [0, 1, 2, 3]


def test_calls_from_inside_calls_do_not_wait_for_each_other() -> None:
    def outer(k: int) -> list[int]:
        return in_threads([lambda j=j: 10 * k + j for j in range(4)])

    found = in_threads([lambda k=k: outer(k) for k in range(4)])
    assert found == [[10 * k + j for j in range(4)] for k in range(4)]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_is_raised_when_no_call_runs_any_longer(failing: int) -> None:
    running: list[int] = []

    def call(k: int) -> None:
        running.append(k)
        try:
            if k == failing:
                msg = f"of call {k}"
                raise ArithmeticError(msg)
        finally:
            running.remove(k)

    for _ in range(50):
        with pytest.raises(ArithmeticError, match=f"of call {failing}"):
            in_threads([lambda k=k: call(k) for k in range(3)])
        assert not running


def test_what_a_call_holds_is_let_go_of() -> None:
    class Held:
        pass

    for _ in range(5):
        held = Held()
        refs = weakref.ref(held)
        in_threads([lambda held=held: None for _ in range(3)])
        del held
        gc.collect()
        assert refs() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_has_threads_of_its_own() -> None:
    in_threads([lambda: None] * 2)
    child = os.fork()
    if not child:
        meeting = threading.Barrier(2, timeout=30)
        done = 1
        try:
            in_threads([meeting.wait] * 2)
            done = 0
        finally:
            os._exit(done)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
