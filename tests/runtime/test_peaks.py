"""What tasks took at the peak is theirs: what compilers take meanwhile is not told as such."""

from __future__ import annotations

import multiprocessing
import os
import threading

import numpy as np
import pytest

from dnumpy.kernels.compilers import compilers
from dnumpy.runtime import peaks
from dnumpy.runtime.peaks import CLEAR, Taken, peak_of, watched

pytestmark = pytest.mark.skipif(not CLEAR.exists(), reason="the system does not tell")
LARGE = 64 << 20  # bytes
COUNTED = 0.98  # of them: the system counts pages in batches


@pytest.fixture(autouse=True)
def watching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks.watch, "on", True)


@pytest.mark.alone
def test_a_task_is_told_what_it_held_at_its_most() -> None:
    seen: list[Taken] = []
    with watched(seen):
        np.ones(LARGE // 8).sum()
    assert peak_of(seen) >= COUNTED * LARGE


def test_what_a_task_took_while_something_was_compiled_is_not_told() -> None:
    seen: list[Taken] = []
    with watched(seen), compilers.working():
        pass
    assert not seen
    with compilers.working(), watched(seen):
        pass
    assert not seen
    with watched(seen):
        pass
    assert len(seen) == 1


def test_compilers_on_another_thread_count() -> None:
    seen: list[Taken] = []
    begun, ended = threading.Event(), threading.Event()

    def compiling() -> None:
        with compilers.working():
            begun.set()
            ended.wait()

    thread = threading.Thread(target=compiling)
    with watched(seen):
        thread.start()
        begun.wait()
    ended.set()
    thread.join()
    assert not seen


@pytest.mark.modeless("it looks at this process alone")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_process_that_is_forked_off_looks_at_itself() -> None:
    peaks._held()  # the files are open from now on
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()

    def tell() -> None:
        kept = np.ones(LARGE // 8)
        told.put((peaks._held()[0], kept.nbytes))

    before = peaks._held()[0]
    other = context.Process(target=tell)
    other.start()
    held, nbytes = told.get()
    other.join()
    assert nbytes == LARGE
    assert held >= COUNTED * LARGE
    assert peaks._held()[0] < before + LARGE // 2
