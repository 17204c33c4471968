"""Threads that write to one array lose none of each other's writes."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("managed")
ROUNDS = 60
BLOCK = 40


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    kept = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(kept)


def element(part: Any, k: int, value: float) -> None:
    part[k] = value


def recorded(part: Any, k: int, value: float) -> None:
    part[k : k + 1] = dnumpy.full(20, value)[:1] * 1.0


def by_list(part: Any, k: int, value: float) -> None:
    part[[k]] = value


def by_mask(part: Any, k: int, value: float) -> None:
    part[np.arange(BLOCK) == k] = value


def by_out(part: Any, k: int, value: float) -> None:
    np.add(value, 0.0, out=np.empty(()))
    dnumpy.add(np.full(1, value), 0.0, out=part[k : k + 1])


def by_put(part: Any, k: int, value: float) -> None:
    part.put(k, value)


def by_fill(part: Any, k: int, value: float) -> None:
    part[k : k + 1].fill(value)


def by_at(part: Any, k: int, value: float) -> None:
    dnumpy.add.at(part, [k], value)


def by_copyto(part: Any, k: int, value: float) -> None:
    dnumpy.copyto(part[k : k + 1], value)


WAYS: list[Callable[[Any, int, float], None]] = [
    element, recorded, by_list, by_mask, by_out, by_put, by_fill, by_at, by_copyto,
]  # fmt: skip


def run(jobs: list[Callable[[], None]]) -> None:
    problems: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as problem:  # noqa: BLE001 - handed to the test's own thread
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "the threads wait for each other"
    if problems:
        raise problems[0]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_write_is_lost(way: Callable[[Any, int, float], None]) -> None:
    for _ in range(3):
        shared = dnumpy.arange(4.0 * BLOCK) * 0
        np.asarray(shared)
        done = threading.Event()

        def write(number: int, shared: Any = shared) -> None:
            part = shared[number * BLOCK : (number + 1) * BLOCK]
            for k in range(BLOCK):
                way(part, k, number * BLOCK + k + 1.0)

        def read(shared: Any = shared, done: Any = done) -> None:
            pending = []
            while not done.is_set():
                pending.append(shared + 1)  # a reader for which a direct write must copy
                if len(pending) > 5:
                    float(pending.pop(0)[0])
                    pending.clear()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            run([lambda n=n: write(n) for n in range(4)])  # type: ignore[misc]
        finally:
            done.set()
            reader.join(60)
        np.testing.assert_array_equal(np.asarray(shared), np.arange(4.0 * BLOCK) + 1)


def test_results_written_to_two_arrays_in_either_order_do_not_block() -> None:
    first, second = (dnumpy.arange(float(BLOCK)) * 0 for _ in range(2))

    def divide(one: Any, other: Any) -> None:
        for _ in range(ROUNDS):
            dnumpy.divmod(np.arange(float(BLOCK)), 7.0, out=(one, other))

    run([lambda: divide(first, second), lambda: divide(second, first)])
    quotient, rest = np.divmod(np.arange(float(BLOCK)), 7.0)
    for found in (np.asarray(first), np.asarray(second)):
        assert np.array_equal(found, quotient) or np.array_equal(found, rest)


def test_threads_may_compute_while_others_write() -> None:
    shared = dnumpy.arange(4.0 * BLOCK)

    def compute() -> None:
        for k in range(ROUNDS):
            assert float((dnumpy.arange(float(BLOCK)) + k).sum()) == 780.0 + k * BLOCK

    def write(number: int) -> None:
        for k in range(ROUNDS):
            shared[number::4] = dnumpy.arange(float(BLOCK)) + k

    run([compute, compute, *[lambda n=n: write(n) for n in range(4)]])  # type: ignore[misc]
    expected = np.repeat(np.arange(float(BLOCK)) + ROUNDS - 1, 4)
    np.testing.assert_array_equal(np.asarray(shared), expected)
