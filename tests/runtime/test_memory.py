"""The pool never hands out memory that a live array still uses."""

from __future__ import annotations

import gc
import mmap
import platform
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api.array import concrete
from dnumpy.config import config
from dnumpy.runtime import machine, memory, pages
from dnumpy.runtime.memory import HUGE_PAGE, SMALLEST, Pool

SIZES = (SMALLEST, SMALLEST * 2, SMALLEST * 3)
BYTE = np.dtype(np.uint8)


def address(array: np.ndarray) -> int:
    start: int = array.__array_interface__["data"][0]
    return start


def test_a_block_of_a_dead_array_is_used_again() -> None:
    pool = Pool()
    first = pool.empty((SMALLEST,), BYTE)
    where = address(first)
    del first
    assert address(pool.empty((SMALLEST // 8,), np.dtype(float))) == where


def test_a_block_of_just_the_size_is_had_again_in_few_steps_and_accounted_for() -> None:
    pool = Pool()
    assert pool.again(SMALLEST, (SMALLEST,), BYTE) is None
    first = pool.empty((SMALLEST,), BYTE)
    where, live = address(first), pool.live
    del first
    assert pool.again(SMALLEST // 2, (SMALLEST // 2,), BYTE) is None  # another would serve
    pool.forget_least_unused()
    second = pool.again(SMALLEST, (SMALLEST // 8,), np.dtype(float))
    assert second is not None
    assert (address(second), second.shape, second.dtype) == (where, (SMALLEST // 8,), float)
    assert (pool.live, pool.unused, pool.least_unused) == (live, 0, 0)
    assert pool.again(SMALLEST, (SMALLEST,), BYTE) is None
    del second
    assert (pool.live, pool.unused) == (0, SMALLEST)


def test_nothing_is_kept_by_a_process_that_holds_more_than_it_may() -> None:
    pool = Pool()
    first, second = pool.empty((SMALLEST,), BYTE), pool.empty((SMALLEST * 2,), BYTE)
    pool.most_resident = 1e18
    del first
    assert pool.unused == SMALLEST
    pool.most_resident = 0.0
    del second
    assert pool.unused == 0


def test_live_arrays_and_views_of_dead_ones_never_overlap() -> None:
    pool = Pool()
    draw = random.Random(0)
    alive: list[tuple[np.ndarray, int]] = []
    reused = 0
    seen: set[int] = set()
    for mark in range(400):
        made = pool.empty((draw.choice(SIZES),), BYTE)
        reused += address(made) in seen
        seen.add(address(made))
        made[:] = mark % 251
        alive.append((made[5:900:3] if draw.random() < 0.5 else made, mark % 251))
        del made
        if len(alive) > 6:
            alive.pop(draw.randrange(len(alive)))
        for array, value in alive:
            assert array[0] == value
            assert array[-1] == value
    assert reused > 100


def test_a_view_keeps_its_memory_after_the_array_died() -> None:
    pool = Pool()
    view = pool.empty((SMALLEST,), BYTE)[:10]
    view[:] = 7
    others = [pool.empty((SMALLEST,), BYTE) for _ in range(5)]
    for other in others:
        other[:] = 1
    assert (view == 7).all()


def test_small_arrays_and_objects_are_not_pooled() -> None:
    pool = Pool()
    assert pool.empty((3,), BYTE).base is None
    assert pool.empty((SMALLEST,), np.dtype(object)).base is None
    assert pool.empty((2, 3), np.dtype(float)).shape == (2, 3)


def test_no_more_is_kept_than_the_settings_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "pool_bytes", 3 * SMALLEST)
    pool = Pool()
    many = [pool.empty((SMALLEST,), BYTE) for _ in range(10)]
    del many
    gc.collect()
    assert pool._bytes == 3 * SMALLEST
    assert sum(b.nbytes for blocks in pool._free.values() for b in blocks) == 3 * SMALLEST
    assert pool.trim() == 3 * SMALLEST
    assert pool.trim() == 0


def test_a_slightly_larger_block_serves_and_a_much_larger_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "ALWAYS_KEPT", 0)
    pool = Pool()
    first = pool.empty((6 * SMALLEST,), BYTE)
    where = address(first)
    del first
    assert address(pool.empty((5 * SMALLEST,), BYTE)) == where
    assert pool._bytes == 6 * SMALLEST
    second = pool.empty((4 * SMALLEST,), BYTE)
    assert pool._bytes == 0  # given back, since both together would take more than ever lived
    assert pool._live == second.nbytes


@pytest.mark.parametrize("size", [SMALLEST, 2_000 * 2_000, 1_500 * 1_500 * 8])
def test_an_array_and_the_same_with_a_border_take_turns_in_one_block(size: int) -> None:
    pool = Pool()
    first = pool.empty((size,), BYTE)
    where = address(first)
    del first
    grown = size
    for more in (size // 500, size // 20, size // 100):
        bordered = pool.empty((size + more,), BYTE)
        assert address(bordered) == where
        bordered[:] = 3  # all of it can be written
        grown = max(grown, size + more)
        assert pool._live == grown
        del bordered
        assert pool.unused == pool._bytes >= size + more
    larger = pool.empty((size + size // 8,), BYTE)
    assert address(larger) != where


@pytest.mark.parametrize("kept", [0, 8 * SMALLEST])
def test_a_worker_keeps_memory_for_arrays_of_other_sizes(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(memory, "ALWAYS_KEPT", 0)
    pool = Pool()
    pool.always_kept = kept
    large = pool.empty((6 * SMALLEST,), BYTE)
    del large
    small = pool.empty((2 * SMALLEST,), BYTE)  # for which that block is too large
    assert pool._bytes == (6 * SMALLEST if kept else 0)
    del small
    assert pool._bytes == (8 * SMALLEST if kept else 2 * SMALLEST)


def test_a_loop_over_arrays_of_two_sizes_finds_its_memory_again() -> None:
    pool = Pool()
    seen: list[set[int]] = []
    for _ in range(5):
        large = pool.empty((9 * SMALLEST,), BYTE)
        where = {address(large)}
        del large
        where |= {address(x) for x in [pool.empty((SMALLEST,), BYTE) for _ in range(2)]}
        seen.append(where)
    assert len(set.union(*seen)) == 3


@pytest.mark.parametrize("more", [0, 4 * SMALLEST])
def test_what_is_kept_and_what_lives_never_take_more_than_what_lived_at_most(
    monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(memory, "ALWAYS_KEPT", more)
    pool = Pool()
    draw = random.Random(3)
    alive: list[np.ndarray] = []
    most = 0
    for _ in range(300):
        alive.append(pool.empty((draw.choice((2, 3, 5, 8)) * SMALLEST,), BYTE))
        most = max(most, pool._live)
        if draw.random() < 0.6:
            del alive[draw.randrange(len(alive)) :]
        assert pool._live >= sum(a.nbytes for a in alive)
        assert pool._live + pool._bytes <= most + more
        assert pool._bytes == sum(b.nbytes for blocks in pool._free.values() for b in blocks)
    alive.clear()
    assert not pool._live


def test_threads_never_get_the_same_block() -> None:
    pool = Pool()
    clashes: list[int] = []

    def work(mark: int) -> None:
        for _ in range(60):
            mine = pool.empty((SMALLEST,), BYTE)
            mine[:] = mark
            if not (mine == mark).all():
                clashes.append(mark)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes


def test_what_was_handed_out_as_numpy_keeps_its_values_after_our_array_died() -> None:
    made = dnumpy.full(SMALLEST, 3.0) + 1
    handed = np.asarray(made)
    part = concrete(made)[:50]
    del made
    for _ in range(5):
        concrete(dnumpy.full(SMALLEST, 9.0) * 2)
    assert (handed == 4).all()
    assert (part == 4).all()
    assert memory.pool._bytes <= config.pool_bytes


@pytest.mark.parametrize("size", [memory.HUGE_PAGE, 5_000_000, 2 * memory.HUGE_PAGE - 1000])
def test_large_memory_begins_with_a_huge_page_and_all_of_it_can_be_written(size: int) -> None:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        pytest.skip("the system has no huge pages to ask for")
    array = memory.Pool().empty((size,), np.dtype(np.uint8))
    assert not address(array) % memory.HUGE_PAGE
    array[:] = 7
    assert array.sum(dtype=np.int64) == 7 * size


def test_large_memory_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "pool_bytes", 1)
    before = machine.resident_bytes()
    pool = memory.Pool()
    for _ in range(4):
        pool.empty((1 << 26,), np.dtype(np.uint8)).fill(1)
    assert machine.resident_bytes() - before < 1 << 26


@pytest.mark.skipif(
    not native.built or platform.libc_ver()[0] != "glibc", reason="nobody here trims the heap"
)
def test_live_arrays_at_a_new_height_take_what_lay_free_in_the_heap() -> None:
    held = [bytearray(b"x" * 100_000) for _ in range(400)]
    del held[::2]  # 20 MB in holes that malloc keeps
    before = machine.resident_bytes()
    first = Pool().empty((64 << 20,), np.dtype(np.uint8))  # which nobody touches
    assert len(first) == 64 << 20
    assert machine.resident_bytes() < before - (10 << 20)
    assert len(held) == 200


@pytest.mark.skipif(
    not native.built or platform.libc_ver()[0] != "glibc", reason="nobody here trims the heap"
)
def test_what_lay_free_in_the_heap_makes_way_before_it_would_for_an_array() -> None:
    held = [bytearray(b"x" * 100_000) for _ in range(400)]
    del held[::2]
    before, pool = machine.resident_bytes(), Pool()
    pool.make_way(1 << 20)  # for which nothing would
    assert machine.resident_bytes() > before - (1 << 20)
    pool.make_way(64 << 20)
    assert machine.resident_bytes() < before - (10 << 20)
    assert pool.live == pool.unused == 0
    assert len(held) == 200


def test_too_much_memory_is_refused_as_numpy_refuses_it() -> None:
    pool = memory.Pool()
    with pytest.raises(MemoryError, match=r"Unable to allocate 512\. TiB for an array"):
        pool.empty((1 << 46,), np.dtype(np.float64))
    assert pool.live == 0
    assert pool._most == 0  # nothing more is kept for it


def test_an_array_may_go_after_the_names_of_modules_when_python_ends() -> None:
    program = """
import dnumpy, dnumpy.runtime.memory as memory
x = dnumpy.ones(10**6) * 2 + 1
float(x[0])
for name in [name for name in vars(memory) if not name.startswith("__")]:
    setattr(memory, name, None)
del x
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not ran.stderr


def collections_after(*before: str) -> list[str]:
    """Whether many objects are frozen, none are young, and garbage is collected after importing."""
    looks = "gc.get_freeze_count() > 5000, gc.get_count()[1:] == (0, 0), gc.isenabled()"
    script = "\n".join(("import gc", *before, "import dnumpy", f"print({looks})"))
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return ran.stdout.split()


def test_importing_first_sets_modules_apart_from_what_is_collected() -> None:
    assert collections_after("import os", "N = 3", "def f(): pass") == ["True", "True", "True"]
    assert collections_after("gc.disable()") == ["True", "True", "False"]


def test_importing_later_lets_be_what_the_program_made() -> None:
    assert collections_after("made = []") == ["False", "True", "True"]
    assert collections_after("made = open(0)") == ["False", "True", "True"]


def test_importing_lets_be_what_is_frozen() -> None:
    assert collections_after("gc.collect()", "gc.freeze()")[1:] == ["False", "True"]


def test_garbage_is_collected_after_an_import_that_fails() -> None:
    script = (
        "import gc, sys\n"
        "sys.modules['dnumpy.api.methods'] = None\n"
        "try: import dnumpy\n"
        "except ImportError: print(gc.isenabled())"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["True"]


moved = pytest.mark.skipif(not pages.can_move(), reason="the system does not move pages")


def resident() -> float:
    gc.collect()
    return machine.resident_bytes()


@moved
def test_an_array_of_another_size_lies_in_pages_that_dead_ones_had() -> None:
    pool = Pool()
    sizes = [40 << 20, (9 << 20) + 12_345, (23 << 20) + 1]
    held = [pool.empty((size,), BYTE) for size in sizes]
    for array in held:
        array[:] = 1
    before, unused = resident(), sum(sizes)
    del held, array
    assert pool.unused == unused
    made = pool.empty((64 << 20,), BYTE)
    made[:] = 2
    assert abs(resident() - before) < 4 * HUGE_PAGE  # none of it is new, and none of the old left
    assert pool.unused < unused - made.nbytes + HUGE_PAGE
    assert pool.live == made.nbytes


@moved
def test_what_a_block_keeps_of_its_pages_is_used_for_others() -> None:
    pool = Pool()
    first = pool.empty((64 << 20,), BYTE)
    first[:] = 1
    del first
    half = pool.empty((32 << 20,), BYTE)
    rest = pool.empty((32 << 20,), BYTE)
    assert pool.unused == 0
    half[:], rest[:] = 2, 3
    assert (half == 2).all()
    assert (rest == 3).all()


@moved
def test_small_arrays_take_no_pages_of_what_was_used_a_moment_ago() -> None:
    pool = Pool()
    first = pool.empty((32 << 20,), BYTE)
    where = address(first)
    del first
    small = pool.empty((4 << 20,), BYTE)
    assert address(pool.empty((32 << 20,), BYTE)) == where
    del small
    pool._now = lambda: memory.monotonic() - 1.0  # what is given back now lay a second
    first = pool.empty((32 << 20,), BYTE)
    del first
    before = pool.unused
    small = pool.empty((6 << 20,), BYTE)
    assert pool.unused == before - small.nbytes


def mapping_of(address: int) -> tuple[int, int]:
    """Return where the system's record begins and ends in which an address lies."""
    for line in Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        start, stop = (int(end, 16) for end in line.split()[0].split("-"))
        if start <= address < stop:
            return start, stop
    raise AssertionError(address)


@moved
@pytest.mark.parametrize("seed", range(3))
def test_no_array_sees_the_pages_of_another_whatever_moves(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool()
    moves = 0
    move = pages.move

    def moved_as_one(source: int, target: int, nbytes: int) -> bool:
        """Move what systems move at once that have one record of it only."""
        nonlocal moves
        moves += 1
        assert source + nbytes <= mapping_of(source)[1]
        return move(source, target, nbytes)

    monkeypatch.setattr(pages, "move", moved_as_one)
    pool._now = lambda: memory.monotonic() - 1.0  # any block may give pages
    draw = random.Random(seed)
    alive: list[tuple[np.ndarray, int]] = []
    for mark in range(200):
        made = pool.empty((draw.randrange(SMALLEST, 24 << 20),), BYTE)
        made[:] = mark
        alive.append((made, mark))
        del made
        while len(alive) > draw.randrange(2, 6):
            alive.pop(draw.randrange(len(alive)))
        for array, value in alive:
            assert array[0] == array[-1] == value
            assert (array[:: mmap.PAGESIZE] == value).all()
        live = sum(array.nbytes for array, _ in alive)
        assert live <= pool.live <= 1.25 * live
    assert moves > 20


@moved
def test_a_system_that_stops_moving_pages_gives_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    first = pool.empty((32 << 20,), BYTE)
    first[:] = 1
    del first
    monkeypatch.setattr(pages, "move", lambda *_: False)
    made = pool.empty((64 << 20,), BYTE)
    made[:] = 2
    assert (made == 2).all()
    assert pool.unused == 0


@moved
def test_moved_pages_are_empty_where_they_were() -> None:
    one, other = memory.fresh(HUGE_PAGE), memory.fresh(HUGE_PAGE)
    seen = [np.frombuffer(block.buffer, BYTE, HUGE_PAGE) for block in (one, other)]
    seen[0][:] = 7
    assert pages.move(one.address, other.address, HUGE_PAGE)
    assert not seen[0].any()
    assert (seen[1] == 7).all()
