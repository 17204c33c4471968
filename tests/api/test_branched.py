"""``select`` and ``piecewise`` choose in one pass what NumPy copies under one mask at a time."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE = (40, 30)


@pytest.fixture(autouse=True)
def _everything_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnumpy.config, "mode", "lazy")
    monkeypatch.setattr(dnumpy.config, "eager_below", 1)


def drawn(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape)
    values.reshape(-1)[:3] = np.nan, np.inf, -0.0
    return values


def made(xp: Any, program: Callable[[Any], Any]) -> Any:
    """Return what a program gives, or the error and what it says."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = np.asarray(program(xp))
        except Exception as error:  # noqa: BLE001 - compared with NumPy's
            return type(error), str(error)
    content = found.tolist() if found.dtype == object else found.tobytes()
    return found.dtype, found.shape, found.strides, content, [str(w.message) for w in told]


DTYPES = ("f8", "f4", "i4", "u1", "c16", "?")
DEFAULTS: tuple[Any, ...] = (0, 2.5, -1, True, np.float32(0.1), 1e300, float("nan"), 1 << 60, 300)


@pytest.mark.parametrize("default", DEFAULTS, ids=repr)
@pytest.mark.parametrize("dtypes", itertools.combinations_with_replacement(DTYPES, 2))
def test_what_is_selected_is_numpys(dtypes: tuple[str, str], default: Any) -> None:
    def program(xp: Any) -> Any:
        x = xp.asarray(drawn(0))
        with np.errstate(all="ignore"):
            a, b = (xp.asarray(np.nan_to_num(drawn(k)).astype(t)) for k, t in enumerate(dtypes))
        return xp.select([x < -0.5, x < 0.5], [a, b], default)

    assert made(dnumpy, program) == made(np, program)


SELECTED: dict[str, Callable[[Any, Any], Any]] = {
    "numbers": lambda xp, x: xp.select([x < 0, x > 1], [1, 2.5], -1),
    "one": lambda xp, x: xp.select([x < 0], [x]),
    "overlapping": lambda xp, x: xp.select([x < 1, x < 0, x < 2], [x, x * 2, x * 3], 7),
    "rows": lambda xp, x: xp.select([x < 0, (x > 1)[:1]], [x[0], x[:, :1]], x[:1]),
    "a default of more axes": lambda xp, x: xp.select([x[0] < 0], [x[0]], x),
    "turned": lambda xp, x: xp.select([x.T < 0, x.T > 1], [x.T, -x.T]),
    "tuples": lambda xp, x: xp.select((x < 0, x > 1), (x, -x), 3),
    "a list for an array": lambda xp, x: xp.select([x < 0], [[1.0] * 30], 3),
    "no masks": lambda xp, x: xp.select([x], [x]),
    "of other lengths": lambda xp, x: xp.select([x < 0], [x, x]),
    "of none": lambda xp, _x: xp.select([], []),
    "shapes that do not fit": lambda xp, x: xp.select([x < 0], [x[:, :7]]),
    "text": lambda xp, x: xp.select([x < 0], ["a"], "b"),
    "none": lambda xp, x: xp.select([x < 0], [x], None),
    "no common dtype": lambda xp, x: xp.select([x < 0], [np.zeros(SHAPE, "M8[s]")], 1.5),
    "dates": lambda xp, x: xp.select([x < 0], [np.zeros(SHAPE, "m8[s]")], 1),
    "a host mask": lambda xp, x: xp.select([np.ones(SHAPE, bool), x > 1], [x, -x]),
}
PIECES: dict[str, Callable[[Any, Any], Any]] = {
    "numbers": lambda xp, x: xp.piecewise(x, [x < 0, x > 1], [1, 2.5]),
    "otherwise": lambda xp, x: xp.piecewise(x, [x < 0, x > 1], [1, 2.5, -3]),
    "overlapping": lambda xp, x: xp.piecewise(x, [x < 1, x < 0], [1, 2]),
    "whole numbers": lambda xp, x: xp.piecewise(x.astype("i4"), [x < 0], [2.7, 1]),
    "too large": lambda xp, x: xp.piecewise(xp.abs(x).astype("u1"), [x < 0], [300, 1]),
    "none for a whole number": lambda xp, x: xp.piecewise(x.astype("i4"), [x < 0], [np.nan, 1]),
    "booleans": lambda xp, x: xp.piecewise(x > 0, [x < 1], [False, True]),
    "a function": lambda xp, x: xp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 4]),
    "arguments": lambda xp, x: xp.piecewise(x, [x < 0], [lambda v, k: v * k, 4], 3),
    "one mask": lambda xp, x: xp.piecewise(x, x < 0, [1, 2]),
    "turned": lambda xp, x: xp.piecewise(x.T, [x.T < 0], [1, 2]),
    "too few": lambda xp, x: xp.piecewise(x, [x < 0, x > 1, x > 2], [1]),
    "a row": lambda xp, x: xp.piecewise(x, [x[0] < 0], [1, 2]),
}


@pytest.mark.parametrize("name", SELECTED)
def test_selections_of_all_kinds_are_numpys(name: str) -> None:
    program = SELECTED[name]
    run = lambda xp: program(xp, xp.asarray(drawn(1)))  # noqa: E731 - as short as it is
    assert made(dnumpy, run) == made(np, run)


@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_all_kinds_are_numpys(name: str) -> None:
    program = PIECES[name]
    run = lambda xp: program(xp, xp.asarray(drawn(1)))  # noqa: E731 - as short as it is
    assert made(dnumpy, run) == made(np, run)


def test_what_is_chosen_waits() -> None:
    x = dnumpy.asarray(drawn(2)) * 2
    for found in (
        dnumpy.select([x < 0, x > 1], [x, -x], 2.0),
        dnumpy.piecewise(x, [x < 0], [1.5, 2]),
    ):
        assert found._buf.pending


def test_later_writes_do_not_change_what_was_chosen() -> None:
    x = dnumpy.asarray(drawn(3)).copy()
    expected = np.select([np.asarray(x) < 0], [np.asarray(x).copy()], 5.0)
    found = dnumpy.select([x < 0], [x], 5.0)
    x[...] = 0
    assert np.asarray(found).tobytes() == expected.tobytes()
