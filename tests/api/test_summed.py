"""Sums and variances of large arrays that lie here: the same bits however they come to be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import short_rows, summed
from dnumpy.api.array import small
from dnumpy.config import config

in_one_mode = pytest.mark.skipif(config.mode != "default", reason="all waits elsewhere")
SIZE = config.eager_below + 3_000 if config.mode == "default" else 3_000
ROUNDS = 8  # the first are recorded, then sums are made where they are looked at


def shapes() -> Any:
    widths = st.sampled_from((1, 2, 5, 16, 100, 511, 512, 513, 1500))
    flat = st.just((SIZE,))
    deep = st.just((SIZE // 1_000 + 1, 10, 100))
    return st.one_of(flat, deep, widths.map(lambda n: (SIZE // n + 1, n)))


VIEWS = {
    "all": lambda x: x,
    "every second": lambda x: x[..., ::2],
    "every third row": lambda x: x[::3],
    "backwards": lambda x: x[::-1, ..., ::-1] if x.ndim > 1 else x[::-1],
    "a part": lambda x: x[1:-1, ..., :-1] if x.ndim > 1 else x[1:-1],
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
}


@settings(deadline=None, max_examples=80)
@given(
    shapes(),
    st.sampled_from("fd"),
    st.sampled_from((None, 0, -1, "middle", "first two", "ends", "last two")),
    st.booleans(),
    st.sampled_from(sorted(VIEWS)),
)
def test_sums_have_the_same_bits_in_every_round(shape, kind, axis, keepdims, view):
    size = tuple(3 * n if k == 0 else n + 1 for k, n in enumerate(shape))
    theirs = VIEWS[view](np.random.default_rng(len(shape)).normal(size=size).astype(kind))
    x = VIEWS[view](dnumpy.array(np.random.default_rng(len(shape)).normal(size=size).astype(kind)))
    several = {"first two": (0, 1), "ends": (-1, 0), "last two": (-2, -1)}
    axis = theirs.ndim // 2 if axis == "middle" else several.get(axis, axis)
    if type(axis) is tuple and theirs.ndim < 2:
        axis = (0,)
    shape = theirs.shape
    found = {name: set() for name in ("sum", "mean", "var", "std")}
    for _ in range(ROUNDS):
        for name, seen in found.items():
            seen.add(np.asarray(getattr(x, name)(axis=axis, keepdims=keepdims)).tobytes())
    for name, seen in found.items():
        expected = getattr(theirs, name)(axis=axis, keepdims=keepdims)
        ours = getattr(x, name)(axis=axis, keepdims=keepdims)
        assert len(seen) == 1, name
        assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(np.asarray(ours), expected, rtol=1e-4, atol=1e-2)


FOLDS = ("sum", "mean", "var", "std", "max", "min", "prod", "argmax", "cumsum", "ptp")


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(FOLDS), st.sampled_from((None, 0, -1))), min_size=2,
                max_size=4), st.booleans())  # fmt: skip
def test_folds_of_folds_are_numpys_in_every_round(folds, looks):
    theirs = np.random.default_rng(len(folds)).random((SIZE // 600 + 1, 600)) + 0.5
    x = dnumpy.array(theirs)

    def program(np: Any, found: Any) -> list[Any]:
        seen = []
        for name, axis in folds:
            found = getattr(np, name)(found, axis=axis if np.ndim(found) > 1 else None)
            seen.append(found)
            if looks:
                float(np.ravel(found)[0])
        return seen

    for _ in range(ROUNDS):
        expected, found = program(np, theirs), program(dnumpy, x)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(SIZE // 600 + 1, 600), (SIZE // 5 + 1, 5)])
def test_a_fold_of_a_sum_that_is_still_pending(shape):
    theirs = np.random.default_rng(0).random(shape)
    x = dnumpy.array(theirs)
    for _ in range(2 * ROUNDS):
        wide = x.var(axis=1, ddof=1)
        total = x.sum(axis=0)
        found = float(1 - wide.sum() / total.var(ddof=1))
        expected = 1 - theirs.var(axis=1, ddof=1).sum() / theirs.sum(axis=0).var(ddof=1)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@in_one_mode
def test_a_line_that_looks_at_each_sum_records_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = summed._summed
    monkeypatch.setattr(summed, "_summed", lambda *a, **k: made.append(a) or real(*a, **k))
    x = dnumpy.array(np.ones(SIZE))
    for _ in range(ROUNDS):
        assert x.sum() == SIZE
    assert made


@in_one_mode
@pytest.mark.parametrize("value", [np.inf, 1e308])
def test_faults_are_told_at_the_users_line(value: float) -> None:
    values = np.full(SIZE, value)
    values[1::2] = -np.inf if value == np.inf else value
    x = dnumpy.array(values)
    for _ in range(ROUNDS):
        with pytest.warns(RuntimeWarning, match="invalid|overflow") as told:
            found = np.asarray(x.sum())
        assert not np.isfinite(found)
        assert {w.filename for w in told} == {__file__}
        with pytest.warns(RuntimeWarning, match="invalid|overflow"):
            np.asarray(x.var())


@pytest.mark.parametrize("axis", [2, -3, 1.5, "x"])
def test_axes_that_are_none_are_numpys_errors(axis: Any) -> None:
    theirs = np.ones((SIZE // 10, 10))
    x = dnumpy.array(theirs)
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        theirs.sum(axis=axis)
    for name in ("sum", "var"):
        for _ in range(3):
            for array in (x, x.T):
                with pytest.raises(type(expected.value)):
                    getattr(array, name)(axis=axis)


def test_what_is_not_there_is_zero_and_never_less() -> None:
    x = dnumpy.array(np.full(SIZE, -0.0))
    for _ in range(ROUNDS):
        assert not np.signbit(np.asarray(x.sum()))


@settings(deadline=None, max_examples=20)
@given(
    st.sampled_from((2, 16, 512, 600)),
    st.sampled_from("fd"),
    st.sampled_from((None, 0, 1, -1, -2)),
    st.booleans(),
)
def test_a_transpose_is_summed_as_its_matrix_is(width, kind, axis, keepdims):
    theirs = np.random.default_rng(width).normal(size=(SIZE // width + 1, width)).astype(kind)
    x = dnumpy.array(theirs)
    along = None if axis is None else 1 - axis % 2
    for name in ("sum", "mean", "var", "std"):
        expected = np.asarray(getattr(x, name)(axis=along, keepdims=keepdims)).T
        for _ in range(ROUNDS):
            ours = np.asarray(getattr(x.T, name)(axis=axis, keepdims=keepdims))
            assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
            assert ours.tobytes() == expected.tobytes(), name


@in_one_mode
@pytest.mark.parametrize("keepdims", [False, True])
def test_what_a_matrix_was_folded_to_is_restored_where_it_is_small(keepdims: bool) -> None:
    """Else NumPy computes all of it again."""
    for folded in (small(np.arange(4.0)), dnumpy.array(np.arange(4.0)) + 0):
        found = short_rows.restored(folded, (20, 30, 4), (0, 1), keepdims=keepdims)
        assert found is not NotImplemented
        assert found.shape == ((1, 1, 4) if keepdims else (4,))
        assert np.asarray(found).ravel().tolist() == [0.0, 1.0, 2.0, 3.0]
