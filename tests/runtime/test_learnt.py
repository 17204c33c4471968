"""What a first run is expected to take: tiled, with a kernel being made, in memory that is new."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import Work
from dnumpy.cost.correction import MOST_FIRST, STEADY_WEIGHT
from dnumpy.kernels.at_hand import AHEAD, COMPILE_SECONDS
from dnumpy.kernels.pieces import LONG_SECONDS
from dnumpy.runtime import learnt
from dnumpy.runtime.fresh import Fresh
from tests.cost.test_estimate import sample_profile

PROFILE = replace(sample_profile(), threads=4, lowering_seconds=3e-3, call_seconds=1e-3)


@pytest.fixture(autouse=True)
def all_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnt, "lowerings_wait", lambda _run: 0.0)


def work(rows: int) -> Work:
    return Work(rows=rows, loops=(("arith", 1000.0),))


def first_and_tiled(rows: int) -> tuple[float, float]:
    begins = learnt.Kind("key", "what", "tiled", work(rows), begins=True, drawn=True)
    seconds = []
    for kind in (begins, begins._replace(begins=False)):
        found = learnt.Runs().expect(kind, PROFILE)
        assert found is not None
        assert found.basis == "profile"
        seconds.append(found.seconds)
    return seconds[0], seconds[1]


@given(st.integers(1, 10_000_000))
def test_a_first_run_takes_no_more_than_tiled_and_making_its_kernel(rows: int) -> None:
    first, tiled = first_and_tiled(rows)
    assert (
        first
        <= tiled + PROFILE.lowering_seconds + PROFILE.compile_seconds + PROFILE.starting_seconds
    )
    if tiled * PROFILE.threads < COMPILE_SECONDS:
        assert first == tiled


def test_the_first_run_that_is_lowered_imports_what_does_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = replace(PROFILE, importing_seconds=0.5)
    kind = learnt.Kind("key", "what", "tiled", work(100_000), begins=True, drawn=True)
    monkeypatch.setattr(learnt, "lowerings_wait", lambda _run: 0.0)
    took = {}
    for imported in (True, False):
        monkeypatch.setattr(learnt, "is_imported", lambda imported=imported: imported)
        took[imported] = learnt.Runs().expect(kind, slow)
    assert took[False].seconds == pytest.approx(took[True].seconds + 0.5)
    kind = kind._replace(work=work(1))  # which is over before
    assert learnt.Runs().expect(kind, slow).seconds < 0.5


def test_a_first_run_is_over_before_what_writes_kernels_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = 100_000  # long enough to be lowered, if it could be
    first, tiled = first_and_tiled(rows)
    assert first > tiled
    monkeypatch.setattr(learnt, "lowerings_wait", lambda _run: 1.0)
    first, tiled = first_and_tiled(rows)
    assert first == tiled


@given(st.integers(1, 100_000_000))
def test_nobody_asks_for_a_kernel_in_the_midst_of_a_short_run_without_the_interpreter(
    rows: int,
) -> None:
    begins = learnt.Kind("key", "what", "tiled", work(rows), begins=True)
    first = learnt.Runs().expect(begins, PROFILE)
    tiled = learnt.Runs().expect(begins._replace(begins=False), PROFILE)
    assert first is not None
    assert tiled is not None
    if tiled.seconds < LONG_SECONDS:
        assert first == tiled
    else:
        compiled = learnt.profile_seconds(work(rows), PROFILE, "numba")
        assert compiled < first.seconds < tiled.seconds


@given(st.lists(st.floats(0.05, 20.0), min_size=1, max_size=5))
def test_a_first_run_says_little_of_runs_alike(times: list[float]) -> None:
    known = learnt.Runs()
    alike = [learnt.Kind(k, f"op {k}", "tiled", work(100_000)) for k in range(len(times))]
    expected = known.expect(alike[0], PROFILE)
    assert expected is not None
    for kind, longer in zip(alike, times, strict=True):
        known._correct(kind, longer * expected.seconds, PROFILE, once=True)
    another = known.expect(learnt.Kind("new", "new", "tiled", work(100_000)), PROFILE)
    assert another is not None
    most = MOST_FIRST * STEADY_WEIGHT * len(times)
    assert abs(log(another.seconds / expected.seconds)) <= most + 1e-9
    itself = known.expect(alike[-1], PROFILE)
    assert itself is not None
    assert itself.seconds == pytest.approx(expected.seconds * times[-1] ** (1 / 1.25))


def test_what_later_runs_take_says_nothing_of_first_ones() -> None:
    known = learnt.Runs()
    later = learnt.Kind("key", "op", "tiled", work(100_000))
    first = learnt.Kind("new", "new", "tiled", work(100_000), begins=True, drawn=True)
    before = known.expect(first, PROFILE)
    for _ in range(5):
        known._correct(later, 1e-3, PROFILE, once=False)
    assert known.expect(first, PROFILE) == before
    known._correct(first._replace(key="other", what="other"), 1e-3, PROFILE, once=True)
    assert known.expect(first, PROFILE) != before


def test_a_phase_that_has_machine_code_on_disk_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnt, "is_imported", lambda: True)
    kind = learnt.Kind("key", "what", "tiled", work(100_000), begins=True, drawn=True)
    took = {}
    for there in (False, True):
        monkeypatch.setattr(learnt.cached, "has", lambda _likeness, there=there: there)
        took[there] = learnt.Runs().expect(kind, PROFILE).seconds
    assert took[True] < took[False]


def test_a_long_first_run_gains_what_compiled_code_does() -> None:
    rows = 10_000_000
    first, tiled = first_and_tiled(rows)
    assert tiled * PROFILE.threads > AHEAD * COMPILE_SECONDS
    compiled = learnt.profile_seconds(work(rows), PROFILE, "numba")
    assert compiled < first < tiled


@given(st.integers(1, 1_000_000), st.floats(0, 1))
def test_threads_that_wait_for_each_other_take_no_longer_than_one_that_does_all(
    rows: int, calls: float
) -> None:
    alone = learnt.profile_seconds(work(rows), replace(PROFILE, threads=1, call_seconds=0.0))
    found = learnt.profile_seconds(replace(work(rows), calls=calls), PROFILE)
    assert found <= alone * (1 + 1e-9)
    assert found >= learnt.profile_seconds(work(rows), PROFILE) * (1 - 1e-9)


def test_new_memory_costs_its_first_touch_and_no_more_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learnt, "new_memory", Fresh(ns=2.0, known_at=float("inf")))
    kind = learnt.Kind("key", "what", "tiled", work(1000))
    grown = learnt.Runs().expect(kind._replace(grows=1e9), PROFILE)
    same = learnt.Runs().expect(kind, PROFILE)
    assert grown is not None
    assert same is not None
    beyond = (2.0 - PROFILE.page_ns_per_byte) / PROFILE.threads  # each touches its share
    assert grown.seconds - same.seconds == pytest.approx(beyond)
