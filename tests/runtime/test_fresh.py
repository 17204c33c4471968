"""What is asked of memory that nobody has written to, and what is not."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

from dnumpy.runtime import fresh, measure

LARGE = 1 << 26


def test_memory_is_new_until_it_is_written_to() -> None:
    if fresh._mincore() is None or sys.platform != "linux":
        pytest.skip("the system does not say which pages there are")
    block = np.frombuffer(mmap.mmap(-1, LARGE), np.uint8)
    assert fresh._untouched(block) == LARGE
    block[: LARGE // 2] = 1
    assert LARGE // 4 <= fresh._untouched(block) <= LARGE // 2
    block[:] = 1
    assert fresh._untouched(block) == 0


def test_all_is_new_where_nobody_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "_mincore", lambda: None)
    assert fresh.untouched_bytes([1000, LARGE]) == 1000 + LARGE


def test_no_sizes_are_no_new_memory() -> None:
    assert fresh.untouched_bytes([]) == 0.0


def test_little_memory_is_not_probed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "touched_ns", lambda *_: pytest.fail("measured"))
    assert fresh.Fresh().touch_ns(1 << 20, 7.0) == 7.0


def test_what_is_held_to_find_out_is_a_small_part_of_what_is_foretold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def touched(size: int, _clock: object) -> tuple[float, np.ndarray]:
        taken.append(size)
        return [5.0, 1.0, 2.0][len(taken) % 3], np.empty(size, np.uint8)

    monkeypatch.setattr(measure, "touched_ns", touched)
    known = fresh.Fresh()
    for _ in range(2):  # the second time it is still known
        assert known.touch_ns(LARGE, 7.0) == 2.0
    assert sum(taken) == sum(block.nbytes for block in known.held) <= LARGE * fresh.PROBED_SHARE
    monkeypatch.setattr(fresh, "HOLDS_SECONDS", -1.0)
    known.touch_ns(LARGE, 7.0)
    assert sum(block.nbytes for block in known.held) == sum(taken) / 2
