"""What runs taught is the same in the next process; a damaged file breaks nothing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.cost import Observation, OnlineCorrection, Work
from dnumpy.kernels.at_hand import IMPORT_AFTER
from dnumpy.runtime import kept, learnt
from dnumpy.runtime.taught import Taught
from tests.cost.test_estimate import sample_profile

if TYPE_CHECKING:
    from pathlib import Path

numbers = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=4).map(tuple)


@pytest.fixture(autouse=True)
def remembering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "remember", True)
    monkeypatch.setattr(kept, "default_cache_dir", lambda: tmp_path)
    monkeypatch.setattr(kept.atexit, "register", lambda _: None)


def table(found: dict[str, tuple[float, ...]], where: Path) -> kept.Kept:
    return kept.Kept("runs", 2, lambda: found, where)


@given(st.dictionaries(st.text(max_size=20), numbers, min_size=1, max_size=20))
def test_what_was_written_is_read_in_the_next_process(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, tuple[float, ...]]
) -> None:
    where = tmp_path_factory.mktemp("kept")
    table(found, where).write()
    read = table({}, where).read()
    assert {name: figure.values for name, figure in read.items()} == found
    assert not list(where.rglob("*.part"))


def test_two_processes_add_to_one_file_and_its_size_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table({"a": (1.0,)}, tmp_path).write()
    table({"b": (2.0,)}, tmp_path).write()
    assert set(table({}, tmp_path).read()) == {"a", "b"}
    monkeypatch.setattr(kept, "MOST_KEPT", 3)
    table({f"c{k}": (1.0,) for k in range(3)}, tmp_path).write()
    assert set(table({}, tmp_path).read()) == {"c0", "c1", "c2"}


@pytest.mark.parametrize("age", [kept.KEPT_SECONDS + 60.0, -60.0])
def test_what_is_too_old_or_from_the_future_is_left_out(tmp_path: Path, age: float) -> None:
    told = table({}, tmp_path)
    kept.write_figures(told.path, [kept.Figure("a", (1.0,), time() - age)])
    assert told.read() == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[[1,2,3]]", b'{"a": 3}', b"\xff\xfe\x00"])
def test_a_damaged_file_warns_once_and_is_written_anew(tmp_path: Path, content: bytes) -> None:
    path = table({}, tmp_path).path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="learning it again"):
        assert table({}, tmp_path).read() == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table({"a": (1.0,)}, tmp_path).write()
        assert set(table({}, tmp_path).read()) == {"a"}


def test_nothing_is_read_or_written_where_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table({"a": (1.0,)}, tmp_path).write()
    monkeypatch.setattr(config, "remember", False)
    table({"b": (1.0,)}, tmp_path).write()
    assert table({}, tmp_path).read() == {}
    monkeypatch.setattr(config, "remember", True)
    assert set(table({}, tmp_path).read()) == {"a"}


def test_a_folder_that_cannot_be_written_to_warns_once(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    told = table({"a": (1.0,)}, blocked)
    with pytest.warns(RuntimeWarning):
        told.write()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told.write()


def observed(correction: OnlineCorrection) -> None:
    for _ in range(10):
        predicted = correction.factor("k", "cpua", "n", "sums")
        correction.observe([Observation("k", "cpua", "n", predicted, 3.0, "sums")])


def test_corrections_of_a_device_class_are_the_same_in_the_next_process() -> None:
    first, profile = OnlineCorrection(), sample_profile()
    teacher = Taught(first)
    teacher.enter("cpua", profile)
    observed(first)
    teacher.kept.write()
    slower = replace(
        profile,
        ns_per_element=tuple(
            (lowering, tuple((op_class, 2 * ns) for op_class, ns in table))
            for lowering, table in profile.ns_per_element
        ),
    )
    quota = profile.with_speed(0.25)  # of the same processor: the kernels take what they take
    for other, known in ((profile, True), (quota, True), (slower, False)):
        second = OnlineCorrection()
        Taught(second).enter("cpub", other)
        expected = first.factor("k", "cpua", None, "sums") if known else 1.0
        assert second.factor("k", "cpub") == pytest.approx(expected)
        assert (second.factor("new", "cpub", family="sums") != 1.0) == known


def test_figures_that_make_no_sense_are_not_taken_in() -> None:
    correction = OnlineCorrection()
    teacher = Taught(correction)
    now = time()
    odd = [("kernel\tcpu\tk", (0.0,)), ("kernel\tcpu", (0.0, 0.0, 1.0)), ("x", (1.0, 2.0, 3.0))]
    kept.write_figures(teacher.kept.path, [kept.Figure(n, v, now) for n, v in odd])
    teacher.enter("cpua", sample_profile())
    assert not correction.kernels


def runs() -> learnt.Runs:
    found = learnt.Runs()
    found.kept = kept.Kept("runs", 2, found.collected)
    return found


def test_the_first_and_the_later_runs_are_expected_as_they_were_in_an_earlier_process() -> None:
    profile, kind = sample_profile(), learnt.Kind("key", "what", "tiled", None)
    teacher = runs()
    for seconds in (0.5, 0.02, 0.02):
        teacher._remember(kind, seconds)
    assert teacher.kept is not None
    teacher.kept.write()
    later = runs()
    first = later.expect(kind, profile)
    later._remember(kind, 0.4)
    warm = later.expect(kind._replace(lowering="numba"), profile)
    assert first is not None
    assert (first.seconds, first.basis) == (0.5, "runs")
    assert warm is None  # it never ran compiled
    assert later.expect(kind, profile) is not None
    assert later.expect(kind._replace(key="other"), profile) is None


def test_factors_are_the_same_in_the_next_process() -> None:
    teacher, name = runs(), ("profile", "tiled", "memory")
    for _ in range(5):
        teacher.factors.setdefault(name, learnt.LogAverage()).move_by(0.5)
    assert teacher.kept is not None
    teacher.kept.write()
    later = runs()
    later.take_in([], sample_profile())
    assert later.factors[name].value == pytest.approx(teacher.factors[name].value)


def test_a_kernel_is_taken_to_be_compiled_once_it_has_run_for_as_long_as_that_takes() -> None:
    teacher = Taught(OnlineCorrection())
    work, sort = (Work(10, loops=((c, 1.0),)) for c in ("arith", "sort"))
    assert teacher.lowering("sum", work) == "tiled"
    for _ in range(2):
        teacher.note_ran("sum", work, max(IMPORT_AFTER, teacher.compile_seconds))
        teacher.note_ran("sort", sort, 100.0)
    assert teacher.lowering("sum", work) == "numba"
    assert teacher.lowering("sum", replace(work, rows=99)) == "numba"
    assert teacher.lowering("other", work) == teacher.lowering("sort", sort) == "tiled"
