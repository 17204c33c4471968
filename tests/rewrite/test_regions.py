"""Regions of one array that are written one after the other are computed by one phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import Geometry, lie_apart
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.table import UPDATE, VIEW
from dnumpy.rewrite.cut import REGIONS, Grain, cut
from dnumpy.rewrite.stages import FusedStage, WholeStage
from dnumpy.runtime import donation, local
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F8 = np.dtype("f8")
N = 200
GRAIN = Grain(1, 1 << 18, 1 << 62)


def column(k: int, width: int = 3) -> Geometry:
    return Geometry(8 * k, (N,), (8 * width,), F8)


def stored(*shape: int) -> Expr:
    values = np.random.default_rng(len(shape)).random(shape)
    return leaf(values, values.shape, F8)


def times(x: Expr, k: int) -> Expr:
    return make(elementwise_of(np.multiply), (x, Const(float(k))), (), x.shape, F8)


def updated(base: Expr, *parts: tuple[Expr, Geometry]) -> list[Expr]:
    """Return the array after each of the writes."""
    found = []
    for value, where in parts:
        base = make(UPDATE, (base, value), tuple(where), base.shape, F8)
        found.append(base)
    return found


def stages_of(*wanted: Expr) -> list[Any]:
    return cut(pending_in_order(wanted), wanted, GRAIN)


def placed_in(stages: Sequence[Any]) -> list[int]:
    return [len(s.placed) if isinstance(s, FusedStage) else 0 for s in stages]


def test_columns_written_in_turn_are_one_phase_and_one_array():
    x, base = stored(N), stored(N, 3)
    steps = updated(base, *[(times(x, k), column(k)) for k in (2, 0, 1)])
    phase, last = stages_of(steps[-1])
    assert isinstance(last, WholeStage)
    assert last.expr is steps[-1]
    assert list(phase.placed.values()) == steps
    assert phase.regions() == [[0, 1, 2]]
    assert phase.passes_on()
    assert phase.bases() == [base]
    kept = base.value.copy()
    local.execute([phase, last])
    for k in range(3):
        assert np.array_equal(steps[-1].value[:, k], x.value * k)
    assert np.array_equal(base.value, kept)


def _same_column(x: Expr, base: Expr) -> list[Expr]:
    return updated(base, (times(x, 2), column(0)), (times(x, 3), column(0)))


def _one_is_wanted(x: Expr, base: Expr) -> list[Expr]:
    return updated(base, (times(x, 2), column(0)), (times(x, 3), column(1)))[::-1]


def _one_is_read(x: Expr, base: Expr) -> list[Expr]:
    (first,) = updated(base, (times(x, 2), column(0)))
    seen = make(VIEW, (first,), tuple(column(0)), (N,), F8)
    return updated(first, (times(seen, 3), column(1)))


def _of_other_lengths(x: Expr, base: Expr) -> list[Expr]:
    short = make(VIEW, (x,), tuple(Geometry(0, (N // 2,), (8,), F8)), (N // 2,), F8)
    half = Geometry(8, (N // 2,), (24,), F8)
    return updated(base, (times(x, 2), column(0)), (times(short, 3), half))[-1:]


@pytest.mark.parametrize("make_", [_same_column, _one_is_wanted, _one_is_read, _of_other_lengths])
def test_what_is_seen_in_between_is_computed_in_between(
    make_: Callable[[Expr, Expr], list[Expr]],
) -> None:
    x, base = stored(N), stored(N, 3)
    wanted = make_(x, base)
    assert max(placed_in(stages_of(*wanted))) == 1


def test_a_phase_fills_so_many_regions_and_no_more():
    x, width = stored(N), 2 * REGIONS + 3
    base = stored(N, width)
    steps = updated(base, *[(times(x, k), column(k, width)) for k in range(width)])
    stages = stages_of(steps[-1])
    assert sorted(placed_in(stages), reverse=True)[:3] == [REGIONS, REGIONS, 3]
    expected = x.value[:, None] * np.arange(width)
    local.execute(stages)
    assert np.array_equal(steps[-1].value, expected)


def test_arrays_that_somebody_holds_are_not_written_over():
    x, values = stored(N), np.zeros((N, 3))
    for holds in (False, True):
        base = leaf(values, values.shape, F8)
        steps = updated(base, *[(times(x, k), column(k)) for k in range(3)])
        last = steps[-1]
        held = steps[0] if holds else None  # of whom a base is, though nobody asks for it now
        del steps, base
        stages = stages_of(last)
        local.execute(stages)
        assert (last.value is values) == (not holds)
        assert np.array_equal(last.value[:, 2], x.value * 2)
        if held is not None:
            local.execute(stages_of(held))
            assert np.array_equal(held.value[:, 0], x.value * 0)
            assert not held.value[:, 1:].any()
        values = np.zeros((N, 3))


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 4), st.integers(-30, 30)),
        min_size=2,
        max_size=2,
    )
)
def test_views_lie_apart_where_no_byte_is_in_both(given_views: list[tuple[int, int, int]]) -> None:
    memory = np.arange(400, dtype="u1")
    views = [
        Geometry(150 + offset, (count, 2), (step, 3), np.dtype("u2"))
        for offset, count, step in given_views
    ]
    bytes_of = [
        {
            g.offset + i * g.strides[0] + j * g.strides[1] + b
            for i in range(g.shape[0])
            for j in range(2)
            for b in range(2)
        }
        for g in views
    ]
    assert memory.size > max(max(x) for x in bytes_of)
    assert lie_apart(*views) == (not bytes_of[0] & bytes_of[1])


def turned(np_: Any, p: Any) -> Any:
    """Turn points in their own memory, three times."""
    p = p.copy()
    for angle in (0.3, 0.5, 0.7):
        x, y = p[:, 0], p[:, 1]
        p[:, 0], p[:, 1] = x * np_.cos(angle) - y * angle, x * angle + y * np_.cos(angle)
    return p


def shifted(np_: Any, p: Any) -> Any:
    """Read rows beside those that are written, in the memory that is written."""
    p = p.copy()
    upper, lower = p[2:, 0] + p[:-2, 1], p[2:, 1] * 0.5 - p[1:-1, 2]
    p[1:-1, 0] = upper
    p[1:-1, 1] = lower
    return p


def backwards(np_: Any, p: Any) -> Any:
    p = p.copy()
    first, second = p[::-1, 1] * 2.0, p[:, 0] + p[:, 2]
    p[:, 0] = first
    p[::-1, 1] = second
    return p


def filled(np_: Any, p: Any) -> Any:
    out = np_.ones((len(p), 4))
    x, y, z = p[:, 0], p[:, 1], p[:, 2]
    out[:, 2] = z * 0.5
    out[:, 0] = np_.where(x > y, x, -y)
    out[:, 1] = x - y
    out[:, 3] = 7
    return out


def joined(np_: Any, p: Any) -> Any:
    x, y, z = p[:, 0], p[:, 1], p[:, 2]
    tall = np_.stack([x - y, y - z, z - x], axis=1)
    beside = np_.column_stack([x * 2, y * 3])
    below = np_.stack([x + 1, z - 1])
    mixed = np_.hstack([(x * y)[:, None], p, (z * z)[:, None]])
    return np_.concatenate([tall, beside, below.T, mixed], axis=1)


def images(np_: Any, p: Any) -> Any:
    picture = p.reshape(10, -1, 3)
    r, g, b = picture[..., 0], picture[..., 1], picture[..., 2]
    return np_.dstack([0.3 * r + g, g * b, b.sum(axis=1, keepdims=True) + r])


def with_folds(np_: Any, p: Any) -> Any:
    out = np_.zeros((len(p), 4))
    out[:, 0] = p.mean(axis=1)
    out[:, 1] = p.max(axis=1) - p.min(axis=1)
    out[:, 2] = np_.sqrt((p * p).sum(axis=1))
    out[:, 3] = p[:, 0] / out[:, 2]
    total = out[:, 0].sum()
    out[:, 0] -= total
    return out


PROGRAMS = [turned, shifted, backwards, filled, joined, images, with_folds]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kernels", ["numba", "numpy"])
def test_programs_of_columns_are_numpys(
    program: Callable[[Any, Any], Any], kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "kernels", kernels)
    p = np.random.default_rng(8).random((3000, 3))
    for _ in range(2):
        found = np.asarray(program(dnumpy, dnumpy.array(p)))
        np.testing.assert_allclose(found, program(np, p), rtol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_columns_on_nodes_are_numpys(program: Callable[[Any, Any], Any]) -> None:
    p = np.random.default_rng(8).random((300, 3))
    with spread_out(3.0, 1.0, 2.0):
        found = np.asarray(program(dnumpy, on_nodes(p)))
        np.testing.assert_allclose(found, program(np, p), rtol=1e-13)


@st.composite
def writes(draw: st.DrawFn) -> list[tuple[int, int, int, bool, bool, bool]]:
    """Return columns written, of which they are made, whether backwards, in place and read."""
    entry = st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
    return draw(st.lists(entry, min_size=1, max_size=9))


@settings(
    deadline=None,
    derandomize=True,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(writes(), st.booleans())
def test_any_writes_to_columns_are_numpys(
    monkeypatch: pytest.MonkeyPatch, entries: list[Any], shared: bool
) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    start = np.arange(160.0).reshape(40, 4)

    def program(np_: Any) -> list[Any]:
        p = np_.array(start) if not shared else np_.array(start) * 1.0
        given_, kept = p.copy() if shared else p, []
        for to, one, other, turned_, in_place, read in entries:
            value = given_[:, one] * 0.5 + p[:, other]
            if turned_:
                value = value[::-1] + 1.0
            if in_place:
                p[:, to] += value
            else:
                p[:, to] = value
            if read:
                kept.append(p[:, one] * 2.0)
        return [p, *kept]

    for found, expected in zip(program(dnumpy), program(np), strict=True):
        assert np.array_equal(np.asarray(found), expected)


def test_what_a_phase_could_not_compute_is_computed_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "mode", "lazy")
    p = np.random.default_rng(9).random((500, 3))
    ours = dnumpy.array(p)
    made = turned(dnumpy, ours)

    def failing(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(local, "_run_rows", failing)
        with pytest.raises(MemoryError):
            np.asarray(made)
    assert np.array_equal(np.asarray(made), turned(np, p))
    assert np.array_equal(np.asarray(ours), p)


def test_memory_is_taken_where_only_the_stage_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "mode", "lazy")
    taken: list[int] = []

    def noting(stage: Any, updates: Any) -> Any:
        found = memory_of_base(stage, updates)
        taken.append(0 if found is None else len(updates))
        return found

    memory_of_base = donation.memory_of_base
    monkeypatch.setattr(donation, "memory_of_base", noting)
    p = np.random.default_rng(8).random((300, 3))
    found = np.asarray(turned(dnumpy, dnumpy.array(p)))
    assert np.array_equal(found, turned(np, p))
    assert taken == [2]  # what the first two turns would write is never seen
