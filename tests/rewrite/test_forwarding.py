"""What is read between writes to regions of one array is read before them, in one phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import donation, local
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is recorded, and computed in this process."""
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "mode", "lazy")


def scaled(np_: Any, p: Any) -> Any:
    """Scale each column by itself, in the memory of all."""
    p = p.copy()
    for k in range(3):
        p[:, k] = (p[:, k] - 0.5) / (k + 2.0)
    return p


def added_up(np_: Any, p: Any) -> Any:
    out = np_.empty_like(p)
    x, y, z = p[:, 0], p[:, 1], p[:, 2]
    out[:, 0] = x * y
    out[:, 0] += z
    out[:, 1] = y * z
    out[:, 1] *= x
    out[:, 1] -= x
    out[:, 2] = z / y
    return out


def crossed(np_: Any, p: Any) -> Any:
    return np_.cross(p, p[::-1])


def upper_rows(np_: Any, p: Any) -> Any:
    p = p.copy()
    p[1:, 0] = p[:-1, 1] * 2.0
    p[1:, 2] = p[1:, 1] - p[:-1, 1]
    return p


def one_again(np_: Any, p: Any) -> Any:
    p = p.copy()
    p[:, 1] = p[:, 0] * 2.0
    p[:, 1] = p[:, 1] + p[:, 2]
    return p


def swapped(np_: Any, p: Any) -> Any:
    q = p.copy()
    q[:, 0], q[:, 1] = p[:, 1], p[:, 0]
    return q


def swapped_in_place(np_: Any, p: Any) -> Any:
    p = p.copy()
    p[:, 0], p[:, 1] = p[:, 1].copy(), p[:, 0].copy()
    return p


def turned_about_an_axis(np_: Any, p: Any) -> Any:
    out = np_.empty_like(p)
    out[:, 0] = p[:, 0] * 0.8 - p[:, 1] * 0.6
    out[:, 2] = p[:, 2]
    out[:, 1] = p[:, 0] * 0.6 + p[:, 1] * 0.8
    return out


def joined(np_: Any, p: Any) -> Any:
    return np_.stack([p[:, 2], p[:, 0], np_.ascontiguousarray(p[:, 1])], axis=1)


TOGETHER: list[tuple[Callable[[Any, Any], Any], int]] = [
    (scaled, 3),
    (added_up, 3),
    (crossed, 3),
    (upper_rows, 2),
    (one_again, 1),
    (swapped, 2),
    (swapped_in_place, 2),
    (turned_about_an_axis, 3),
    (joined, 3),
]


def in_turn(np_: Any, p: Any) -> Any:
    """Read a column that was written, and is seen."""
    p = p.copy()
    p[:, 0] = p[:, 1] * 2.0
    p[:, 1] = p[:, 0] + p[:, 2]
    return p


def by_their_sum(np_: Any, p: Any) -> Any:
    """Read a column that no phase knows before all of it is there."""
    p = p * 1.0
    p[:, 0] = p[:, 0] / p[:, 0].sum()
    p[:, 1] = p[:, 1] / p[:, 1].sum()
    return p


def kept(np_: Any, p: Any) -> Any:
    """Keep what was read between two writes, and what was there."""
    p = p * 1.0
    before = p[:, 1] * 3.0
    p[:, 0] = p[:, 0] + 1.0
    between = p[:, 1] * 2.0
    p[:, 1] = between + p[:, 0] * 0.5
    p[:, 2] = before - p[:, 2]
    return np_.concatenate([p, between[:, None], before[:, None]], axis=1)


def overlapping(np_: Any, p: Any) -> Any:
    p = p * 1.0
    p[:, :2] = p[:, 1:] * 2.0
    p[:, 1:] = p[:, :2] + 1.0
    p[:, :2] += p[:, 1:]
    return p


def backwards(np_: Any, p: Any) -> Any:
    p = p * 1.0
    p[:, 0] = p[::-1, 1] * 2.0
    p[:, 2] = p[::-1, 1] - p[:, 1]
    p[::-1, 1] = p[:, 1] * 0.5
    return p


def rows(np_: Any, p: Any) -> Any:
    p = p * 1.0
    for k in range(1, 9):
        p[k] = p[k - 1] * 0.5 + p[k]
        p[k] += p[k + 1]
    return p


def halves(np_: Any, p: Any) -> Any:
    p = p * 1.0
    n = len(p) // 2
    p[:n] = p[:n] * 2.0
    p[n : 2 * n] = p[n : 2 * n] - 1.0
    p[:n] += p[n : 2 * n]
    return p


def swapped_wrongly(np_: Any, p: Any) -> Any:
    """Read a column that is overwritten before, as who forgets that views are views."""
    p = p.copy()
    p[:, 0], p[:, 1] = p[:, 1], p[:, 0]
    p[:, 2] = p[::-1, 2]
    return p


def pieces(np_: Any, p: Any) -> Any:
    n = len(p) // 2
    tall = np_.concatenate([p[:n], p[n : 2 * n]])
    return np_.stack([tall[:, 0], tall[:, 1] * 2.0, tall[:, 2]])


APART = [in_turn, by_their_sum, kept, overlapping, backwards, rows, halves, swapped_wrongly, pieces]
PROGRAMS = [program for program, _ in TOGETHER] + APART


def points(count: int) -> np.ndarray:
    return np.random.default_rng(5).random((count, 3)) + 0.1


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kernels", ["numba", "numpy"])
def test_programs_are_numpys_each_time(
    program: Callable[[Any, Any], Any], kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "kernels", kernels)
    for seed in range(3):
        p = points(2001) + seed
        ours = dnumpy.array(p)
        found = np.asarray(program(dnumpy, ours))
        np.testing.assert_allclose(found, program(np, p), rtol=1e-13)
        assert np.array_equal(np.asarray(ours), p)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_on_nodes_are_numpys(program: Callable[[Any, Any], Any]) -> None:
    p = points(301)
    with spread_out(3.0, 1.0, 2.0):
        for _ in range(2):
            found = np.asarray(program(dnumpy, on_nodes(p)))
            np.testing.assert_allclose(found, program(np, p), rtol=1e-13)


@pytest.mark.parametrize(("program", "regions"), TOGETHER)
def test_one_phase_writes_all_regions_once(
    program: Callable[[Any, Any], Any], regions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    copied: list[bool] = []

    def noting(stage: Any, updates: Any) -> Any:
        found = memory_of_base(stage, updates)
        taken.append(len(updates))
        return found

    def updating(updates: Any, readers: Any) -> Any:
        before = updates[0].args[0].value
        memory = updated_memory(updates, readers)
        copied.append(memory is not before)
        return memory

    memory_of_base, updated_memory = donation.memory_of_base, local._updated_memory
    monkeypatch.setattr(donation, "memory_of_base", noting)
    monkeypatch.setattr(local, "_updated_memory", updating)
    p = points(200_000)
    for _ in range(2):
        taken.clear()
        engine.history.clear()
        found = np.asarray(program(dnumpy, dnumpy.array(p)))
        np.testing.assert_allclose(found, program(np, p), rtol=1e-13)
        assert taken == [regions]
        assert not any(copied)


def test_what_is_held_in_between_keeps_what_it_saw() -> None:
    p = points(400)
    ours = dnumpy.array(p) * 1.0
    ours[:, 0] = ours[:, 0] * 2.0
    seen = ours[:, 1] + ours[:, 0]
    ours[:, 1] = ours[:, 1] * 3.0
    ours[:, 0] = ours[:, 2] - 1.0
    assert np.array_equal(np.asarray(ours), np.stack([p[:, 2] - 1.0, p[:, 1] * 3.0, p[:, 2]], 1))
    assert np.array_equal(np.asarray(seen), p[:, 1] + p[:, 0] * 2.0)


@st.composite
def statements(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Return what is written to which columns or rows of an array, of which others of it."""
    entry = st.tuples(
        st.sampled_from(("column", "columns", "row", "part")),
        *[st.integers(0, 3) for _ in range(3)],
        st.sampled_from(("=", "+=", "*=")),
        st.booleans(),
    )
    return draw(st.lists(entry, min_size=2, max_size=8))


def region(kind: str, k: int) -> Any:
    return {
        "column": np.s_[:, k],
        "columns": np.s_[:, k : k + 1],
        "row": np.s_[5 * k],
        "part": np.s_[k : 20 + k, k],
    }[kind]


@settings(
    deadline=None,
    derandomize=True,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(statements())
def test_any_statements_are_numpys(entries: list[Any]) -> None:
    start = np.arange(120.0).reshape(30, 4)

    def program(np_: Any) -> list[Any]:
        p = np_.array(start) * 1.0
        seen = []
        for kind, to, one, other, sign, keeps in entries:
            value = p[region(kind, one)] * 0.5 + p[region(kind, other)]
            where = region(kind, to)
            if sign == "=":
                p[where] = value
            elif sign == "+=":
                p[where] += value
            else:
                p[where] *= p[region(kind, one)] + 1.0
            if keeps:
                seen.append(p[where] - 1.0)
        return [p, *seen]

    for found, expected in zip(program(dnumpy), program(np), strict=True):
        assert np.array_equal(np.asarray(found), expected)
