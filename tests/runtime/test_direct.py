"""One operation by itself runs as NumPy would run it; a line that is always so does not wait."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config
from dnumpy.expr.origin import Site
from dnumpy.runtime import direct

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.random.default_rng(3).random((40, 6))
Y = np.random.default_rng(4).random((40, 6)) - 0.5
MASK = Y > 0

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "two arrays": lambda _np, x, y, _m: x + y,
    "a scalar": lambda _np, x, _y, _m: 2 - x,
    "a comparison": lambda _np, x, y, _m: x > y,
    "a choice": lambda np_, x, y, m: np_.where(m, x, y),
    "a choice of a scalar": lambda np_, x, _y, m: np_.where(m, x, 0.0),
    "a choice of other dtypes": lambda np_, x, _y, m: np_.where(m, x, m),
    "a cast": lambda _np, x, _y, _m: x.astype("f4"),
    "a cast that loses": lambda _np, _x, y, _m: (y * 1e3).astype("i2"),
    "views": lambda _np, x, y, _m: x[::2, 1:] * y[::-2, :-1],
    "rows broadcast": lambda _np, x, y, _m: x - y[3],
    "a column broadcast": lambda _np, x, y, _m: x - y[:, :1],
    "reversed columns": lambda np_, x, _y, _m: np_.exp(x[:, ::-1]),
    "a mask": lambda _np, _x, _y, m: ~m,
    "a sum": lambda _np, x, _y, _m: (x * 0 + 0.5).sum(),
    "a fold of rows": lambda _np, x, _y, _m: x.max(axis=1),
}


@pytest.fixture(autouse=True)
def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)


def managed(values: np.ndarray) -> Any:
    made = dnumpy.array(values)
    assert made._np is None
    return made


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_look_gives_what_numpy_gives(name: str) -> None:
    call = CALLS[name]
    expected = call(np, X, Y, MASK)
    x, y, m = managed(X), managed(Y), managed(MASK)
    for _ in range(3 * Site.PROBED):  # first waiting, then at once, then again waiting
        found = np.asarray(call(dnumpy, x, y, m))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_what_waits_by_itself_needs_no_phase_and_what_is_dear_or_large_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = managed(X)
    np.asarray(x + 1)
    assert engine.history[-1].lowering == "numpy"
    np.asarray((x + 1) * 2)
    assert engine.history[-1].lowering == "tiled"
    np.asarray(dnumpy.exp(x))
    assert engine.history[-1].lowering == "tiled"
    monkeypatch.setattr(direct, "MOST_BYTES", X.nbytes)
    np.asarray(x + 2)
    assert engine.history[-1].lowering == "tiled"


def looked(x: Any, *, look: bool = True) -> Any:
    found = x + 1
    if look:
        np.asarray(found)
    return found


def test_a_line_looked_at_by_itself_stops_waiting_until_it_is_used_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct, "LITTLE_BYTES", 0)
    x = managed(X)
    assert looked(x, look=False)._buf.pending
    for _ in range(Site.SURE):
        looked(x)
    assert not looked(x, look=False)._buf.pending
    waited = 0
    for _ in range(2 * Site.PROBED):
        kept = looked(x, look=False)
        waited += kept._buf.pending
        np.testing.assert_array_equal(np.asarray(kept * 2), (X + 1) * 2)
    # the first that waited was used by what came next, and so have all after it
    assert waited > Site.PROBED
    assert looked(x, look=False)._buf.pending


def test_a_few_small_operations_looked_at_together_do_not_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "EAGER_BELOW", 0)
    x = managed(X)
    waited = 0
    for _ in range(2 * Site.PROBED):
        kept = looked(x, look=False)
        waited += kept._buf.pending
        np.testing.assert_array_equal(np.asarray(kept * 2), (X + 1) * 2)
    assert waited < Site.PROBED


def first_and_second(x: Any) -> list[bool]:
    made = []
    for _ in range(2):
        found = x * 3
        made.append(found._buf.pending)
        total = found.max()
        made.append(type(total) is DeferredScalar)
        assert total == (X * 3).max()
    return made


def test_what_a_line_records_first_does_not_wait_unless_small_arrays_are_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert first_and_second(managed(X)) == [True] * 4
    monkeypatch.setattr(engine, "EAGER_BELOW", 0)

    def again(x: Any) -> list[bool]:
        made = []
        for _ in range(2):
            found = x * 3
            made.append(found._buf.pending)
            np.testing.assert_array_equal(np.asarray(found), X * 3)
        return made

    assert again(managed(X)) == [False, True]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "mean"])
def test_folds_that_do_not_wait_have_the_bits_of_those_that_do(
    name: str, axis: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "EAGER_BELOW", 0)
    values = (np.random.default_rng(8).random((301, 70)) * 9).astype(dtype)
    x = managed(values)
    found = [np.asarray(getattr(x, name)(axis=axis)) for _ in range(3)]
    assert len({(each.tobytes(), each.dtype) for each in found}) == 1
    np.testing.assert_allclose(found[0], getattr(values, name)(axis=axis), rtol=1e-5)


def test_what_is_computed_at_once_is_not_what_is_written_to_later() -> None:
    for _ in range(2 * Site.PROBED):
        x = managed(X)
        found = x + 1
        x[0] = -1
        np.testing.assert_array_equal(np.asarray(found), X + 1)
        found[0] = 7
        assert x[0, 0] == -1


def divided(x: Any, by: Any) -> Any:
    return x / by


def test_faults_are_warned_of_at_the_users_line_each_time() -> None:
    x, zero = managed(X), managed(np.zeros_like(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(Site.SURE):
            np.asarray(divided(x, x))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as seen:
        np.asarray(divided(x, zero))
    assert {one.filename for one in seen} == {__file__}
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        divided(x, zero)
    with np.errstate(divide="ignore"):
        assert np.all(np.isinf(np.asarray(divided(x, zero))))


def test_an_error_leaves_the_operands_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    x = managed(X)

    def fails(*_: Any) -> None:
        msg = "none left"
        raise MemoryError(msg)

    with monkeypatch.context() as patched:
        patched.setattr(direct.pool, "empty", fails)
        found = x + 1
        with pytest.raises(MemoryError, match="none left"):
            np.asarray(found)
    np.testing.assert_array_equal(np.asarray(found), X + 1)
