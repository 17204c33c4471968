"""Calls that are recorded again as they were give what NumPy gives, each with its own arrays."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.api import replays
from dnumpy.api.native import NATIVE
from dnumpy.api.scalar import DeferredScalar
from tests.native.waits import lines_wait

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.usefixtures("arrays_wait"),
]

ROUNDS = 6  # the second shows what is recorded, the later ones record it again

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "all": lambda np, x, m: np.all(x, axis=0),
    "amax": lambda np, x, m: np.amax(x, 1),
    "amin": lambda np, x, m: np.amin(x, axis=-1, keepdims=True),
    "any": lambda np, x, m: np.any(m, axis=0),
    "argmax": lambda np, x, m: np.argmax(x, axis=0),
    "argmin": lambda np, x, m: np.argmin(x, 1),
    "around": lambda np, x, m: np.around(x, 1),
    "astype": lambda np, x, m: np.astype(x, np.float32),
    "astype by name": lambda np, x, m: x.astype("i4"),
    "astype by dtype": lambda np, x, m: x.astype(np.dtype(np.int64)),
    "clip": lambda np, x, m: np.clip(x, 1.0, 2.0),
    "clip below": lambda np, x, m: np.clip(x, None, 2),
    "copy": lambda np, x, m: np.copy(x),
    "copy method": lambda np, x, m: x.copy(),
    "copy in order": lambda np, x, m: x.copy("C"),
    "count_nonzero": lambda np, x, m: np.count_nonzero(m, axis=1),
    "diff": lambda np, x, m: np.diff(x),
    "diff of rows": lambda np, x, m: np.diff(x, axis=0),
    "max": lambda np, x, m: np.max(x, axis=0),
    "mean": lambda np, x, m: np.mean(x, axis=0),
    "mean in single": lambda np, x, m: np.mean(x, axis=1, dtype=np.float32),
    "min": lambda np, x, m: x.min(axis=0),
    "outer": lambda np, x, m: np.outer(x[0] + 1, x[1] + 1),
    "ptp": lambda np, x, m: np.ptp(x, axis=0),
    "roll": lambda np, x, m: np.roll(x, 1, 0),
    "roll both": lambda np, x, m: np.roll(x, (1, -2), axis=(0, 1)),
    "sum of all axes": lambda np, x, m: np.sum(x, axis=(0, 1), keepdims=True),
    "round": lambda np, x, m: np.round(x),
    "all of all": lambda np, x, m: np.all(m),
    "max of all": lambda np, x, m: x.max(),
    "mean of all": lambda np, x, m: np.mean(x),
    "norm": lambda np, x, m: np.linalg.norm(x),
    "sum of all": lambda np, x, m: np.sum(x),
    "place of all": lambda np, x, m: np.argmax(x),
    "var of all": lambda np, x, m: x.var(),
    "std": lambda np, x, m: np.std(x, axis=0),
    "sum": lambda np, x, m: np.sum(x, axis=1, keepdims=True),
    "sum method": lambda np, x, m: x.sum(0),
    "var": lambda np, x, m: x.var(axis=1),
    "where": lambda np, x, m: np.where(m, x, 0.0),
    "where alike": lambda np, x, m: np.where(m, x, x),
    "where turned": lambda np, x, m: np.where(m, x[::-1], x),
}


def data(shape: tuple[int, ...] = (32, 64)) -> np.ndarray:
    """Return numbers whose sums, means and variances are exact, however they are added up."""
    return np.random.default_rng(5).integers(-256, 256, shape) / 64


def same(found: Any, expected: Any) -> None:
    assert type(found) is not np.ndarray
    found = np.asarray(found)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


def told(lines: list[warnings.WarningMessage]) -> list[tuple[str, int, str]]:
    return [(w.filename, w.lineno, str(w.message)) for w in lines]


def templates() -> int:
    return native.count_templates()[1]


def test_the_names_are_functions_that_are_known() -> None:
    assert all(NATIVE[name] in replays.functions for name in replays.NAMES)


@pytest.mark.parametrize("name", CALLS)
def test_calls_met_again_give_what_numpy_gives(name: str) -> None:
    values = data()
    base = dnumpy.array(values)
    for k in range(ROUNDS):
        x = base * float(k + 1)
        kept = CALLS[name](dnumpy, x, x > 0.5)
        lines_wait()
        mine = values * float(k + 1)
        same(kept, CALLS[name](np, mine, mine > 0.5))
    assert templates() > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x, k: np.roll(x, -3),  # a view
        lambda np, x, k: np.sum(x) if k % 2 else float(np.sum(x)),  # a scalar, now and then at once
        lambda np, x, k: np.diff(x[k:], axis=0),  # of a view, of another length each time
        lambda np, x, k: np.where(x > 0, x, np.zeros((32, 64))),  # makes its own zeros
        lambda np, x, k: np.std(x, axis=0, ddof=31 + k % 3),  # warns
    ],
)
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value", "ignore:divide by")
def test_other_calls_are_recorded_anew(call: Callable[[Any, Any, int], Any]) -> None:
    values = data()
    base = dnumpy.array(values)
    for k in range(ROUNDS):
        found = call(dnumpy, base * float(k + 1), k)
        lines_wait()
        same(found, call(np, values * float(k + 1), k))


def test_a_call_met_again_is_not_recorded_by_the_function() -> None:
    asked: list[tuple[str, str]] = []
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        x = x + 1.0
        sys.setprofile(lambda frame, event, _: asked.append((event, frame.f_code.co_name)))
        x = dnumpy.roll(x, 7, 1)
        sys.setprofile(None)
        lines_wait()
    assert 2 <= asked.count(("call", "roll")) < ROUNDS


def test_scalars_that_are_recorded_again_wait_and_are_computed_with_the_rest() -> None:
    base, values = dnumpy.array(data()), data()
    for k in range(ROUNDS):
        x = base * float(k + 1)
        total, least = x.sum(), x.min()
        kinds = type(total), type(least)
        assert kinds == (DeferredScalar, DeferredScalar)
        assert total.is_pending
        assert total == (values * (k + 1)).sum()
        assert not least.is_pending
        assert isinstance(least, np.float64)
        assert np.asarray(x - least).min() == 0
    assert templates() > 0


numbers = st.sampled_from(
    [0.0, -0.0, 0, 1, True, 1.0, False, 2.5, np.float32(1), np.int8(1), -1, 300]
)


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, st.booleans(), st.booleans()), min_size=4, max_size=12))
def test_constants_that_are_equal_are_told_apart(
    drawn: list[tuple[Any, bool, bool]],
) -> None:
    values = data()
    base = dnumpy.array(values)
    for k, (number, single, twice) in enumerate(drawn):
        mine = (values * (k + 1.0)).astype(np.float32 if single else np.float64)
        x = (base * (k + 1.0)).astype(np.float32 if single else np.float64)
        for _ in range(1 + twice):
            found = dnumpy.where(x > 0, number, x)
            expected = np.where(mine > 0, number, mine)
            lines_wait()
            same(found, expected)


@pytest.mark.parametrize("source", ["stored", "made"])
def test_views_that_begin_elsewhere_are_read_where_they_begin(source: str) -> None:
    values = np.arange(5000.0) ** 2
    for k in range(1, ROUNDS):
        if source == "stored":
            x = dnumpy.array(values) + 0.5
            found, expected = dnumpy.diff(x[k : k + 4000]), np.diff((values + 0.5)[k : k + 4000])
        else:
            found = dnumpy.diff((dnumpy.arange(5000.0) ** 2)[k : k + 4000])
            expected = np.diff(values[k : k + 4000])
        lines_wait()
        same(found, expected)


def test_other_shapes_dtypes_and_orders_are_other_calls() -> None:
    for k in range(3):
        for shape in ((40, 50), (50, 40), (2000,)):
            for dtype in (np.float32, np.float64, np.int16, np.complex128):
                for order in ("C", "F"):
                    mine = np.asarray((data(shape) + k).astype(dtype), order=order)
                    x = dnumpy.array(mine, order=order) + dtype(1)
                    found = (dnumpy.sum(x, axis=0), dnumpy.roll(x, 1), x.copy())
                    mine = mine + dtype(1)
                    expected = (np.sum(mine, axis=0), np.roll(mine, 1), mine.copy())
                    lines_wait()
                    for f, e in zip(found, expected, strict=True):
                        same(f, e)
                        assert f.strides == e.strides


@pytest.mark.parametrize("name", ["var", "sum", "mean"])
def test_faults_are_told_at_the_line_of_each_call(name: str) -> None:
    values = np.full((40, 50), 1e300)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        for k in range(ROUNDS):
            x = dnumpy.array(values) * (k + 1.0)
            found = getattr(dnumpy, name)(x * 1e8, axis=0)
            lines_wait()
            same(found, getattr(np, name)(values * (k + 1.0) * 1e8, axis=0))
    mine = [w for w in ours if "overflow" in str(w.message) or "invalid" in str(w.message)]
    assert len({w.lineno for w in mine}) >= 1
    assert told(mine)[-2:] == told(mine)[-4:-2] or len(mine) >= ROUNDS


def test_what_numpy_warns_of_each_time_is_warned_of_each_time() -> None:
    x = dnumpy.array(np.ones((40, 50), complex))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(ROUNDS):
            x = x + 1j
            made = x.astype(np.float64)
            lines_wait()
            assert made.dtype == np.float64
    assert [w.category for w in seen] == [np.exceptions.ComplexWarning] * ROUNDS


def test_wrong_arguments_raise_numpys_error_each_time() -> None:
    x = dnumpy.array(np.ones((40, 50)))
    for _ in range(ROUNDS):
        x = x + 1.0
        lines_wait()
        with pytest.raises(np.exceptions.AxisError):
            dnumpy.sum(x, axis=5)
        with pytest.raises(TypeError):
            dnumpy.roll(x, 1, nothing=2)


def test_an_error_of_what_was_pending_is_raised_where_it_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        x = dnumpy.roll(x + 1.0, 7, 1)
        lines_wait()
    monkeypatch.setattr(dnumpy.config, "window_exprs", 1)  # which all that was met is forgotten for

    def again(x: Any) -> Any:
        return dnumpy.roll(x, 7, 1)

    def fails(*_: Any, **__: Any) -> None:
        msg = "no room"
        raise MemoryError(msg)

    for _ in range(3):
        again(x + 1.0)
        lines_wait()
    monkeypatch.setattr(dnumpy.engine, "compute", fails)
    monkeypatch.setattr(dnumpy.engine, "_evaluate", fails)
    y = dnumpy.array(data())
    with pytest.raises(MemoryError, match="no room"):
        again(y)


def test_a_setting_that_changes_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dnumpy.array(np.full((40, 50), 0.5))
    for _ in range(ROUNDS):
        x = dnumpy.roll(x + 1.0, 7, 1)
        lines_wait()
    assert templates() > 0
    monkeypatch.setattr(dnumpy.config, "tile_bytes", dnumpy.config.tile_bytes)
    dnumpy.roll(x + 1.0, 7, 1)
    assert templates() == 0


def test_results_that_others_hold_are_theirs() -> None:
    values = data()
    base = dnumpy.array(values) + 1.0
    kept = []
    for _ in range(ROUNDS):
        found = dnumpy.where(base > 0.0, base, 0.0)
        lines_wait()
        kept.append(found)
    kept[0][0] = 7.0
    expected = np.where(values + 1.0 > 0.0, values + 1.0, 0.0)
    for found in kept[1:]:
        same(found, expected)
    assert (np.asarray(kept[0])[0] == 7.0).all()
