"""A phase that has machine code on disk is told by a name that is quick to find."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dnumpy.expr.expr import Const, leaf
from dnumpy.kernels import cached
from dnumpy.rewrite.phase import likeness
from tests.kernels import phases as p

if TYPE_CHECKING:
    from pathlib import Path

    from dnumpy.rewrite.phase import Phase


def phase_of(rows: int, dtype: str = "f8", name: str = "multiply", shift: float = 1.0) -> Phase:
    array = np.ones(rows, dtype)
    x = leaf(array, array.shape, array.dtype)
    (bound,) = p.bound([p.apply("subtract", p.apply(name, x, x), Const(shift))], 1 << 16)
    return bound.phase


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))


def test_phases_that_differ_in_extents_and_constants_are_known_by_one_name() -> None:
    name = likeness(phase_of(500))
    assert likeness(phase_of(700, shift=3.0)) == name
    others = [phase_of(500, "f4"), phase_of(500, name="add")]
    assert len({name, *map(likeness, others)}) == 3


def test_what_was_noted_is_known_and_nothing_else() -> None:
    assert not cached.is_known(phase_of(500))
    cached.note(phase_of(500))
    assert cached.is_known(phase_of(900))
    assert not cached.is_known(phase_of(900, "f4"))


def test_all_that_is_known_is_told_at_once() -> None:
    assert cached.known() == frozenset()
    phases = [phase_of(500, dtype) for dtype in ("f8", "f4")]
    for phase in phases:
        cached.note(phase)
    assert cached.known() == {likeness(phase) for phase in phases}
    assert all(map(cached.has, cached.known()))
    assert not cached.has("")


def test_hints_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder() -> Path:  # a kernel of an earlier test may be compiled, and noted, meanwhile
        here = threading.current_thread() is threading.main_thread()
        return tmp_path / ("here" if here else "elsewhere")

    monkeypatch.setattr(cached, "cache_root", folder)
    monkeypatch.setattr(cached, "MOST_HINTS", 2)
    phases = [phase_of(500, dtype) for dtype in ("f8", "f4", "i8")]
    for phase in phases:
        cached.note(phase)
    assert [cached.is_known(phase) for phase in phases] == [False, False, True]


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DNUMPY_CACHE_DIR", "/proc/nowhere")
    cached.note(phase_of(500))
    assert not cached.is_known(phase_of(500))
