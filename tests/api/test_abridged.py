"""Functions recorded in fewer steps than NumPy takes give what NumPy gives, and warn as it does."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS: dict[str, Callable[..., Any]] = {
    "nan_to_num": lambda xp, x: xp.nan_to_num(x),
    "of its own": lambda xp, x: xp.nan_to_num(x, nan=5, posinf=7.5, neginf=-2.0),
    "one infinity": lambda xp, x: xp.nan_to_num(x, neginf=-2.0),
    "no finite number": lambda xp, x: xp.nan_to_num(x, nan=xp.inf, posinf=xp.nan),
    "in place": lambda xp, x: (xp.nan_to_num(x, copy=False), x)[1],
    "norm of columns": lambda xp, x: xp.linalg.norm(x, axis=0),
    "norm": lambda xp, x: xp.linalg.norm(x, 2, axis=-1, keepdims=True),
    "no such axis": lambda xp, x: xp.linalg.norm(x, axis=9),
    "average": lambda xp, x: xp.average(x, weights=abs(x)),
    "no weights": lambda xp, x: xp.average(x, weights=xp.zeros_like(x)),
    "nanmean": lambda xp, x: xp.nanmean(x),
    "nanmean of columns": lambda xp, x: xp.nanmean(x, axis=0),
    "nanmean kept": lambda xp, x: xp.nanmean(x, axis=-1, keepdims=True),
    "nanvar": lambda xp, x: xp.nanvar(x, axis=0, ddof=1),
    "nanstd": lambda xp, x: xp.nanstd(x, ddof=2),
    "nanstd of rows": lambda xp, x: xp.nanstd(x, axis=-1, keepdims=True),
}
SHAPES = [(300_000,), (600, 500), (3, 400, 250)]


def outcome(call: Callable[..., Any], xp: Any, x: numpy.ndarray) -> Any:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = call(xp, xp.array(x))
        except Exception as error:  # noqa: BLE001 - compared
            return (type(error), str(error)), sorted(str(one.message) for one in said)
        plain = numpy.asarray(found)
    kind = type(found).__name__ if plain.ndim == 0 else "array"
    return (kind, plain), sorted(str(one.message) for one in said)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("special", ["none", "nan", "infinite", "empty lines"])
@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys(name: str, special: str, shape: tuple[int, ...]) -> None:
    draws = numpy.random.default_rng(11)
    x = draws.normal(size=shape) * 100
    if special != "none":
        x[draws.random(shape) < 0.1] = numpy.nan
    if special == "infinite":
        x[draws.random(shape) < 0.01] = numpy.inf
        x[draws.random(shape) < 0.01] = -numpy.inf
    if special == "empty lines" and x.ndim > 1:
        x[..., 3] = x[0] = numpy.nan
    (kind, found), said = outcome(CALLS[name], np, x)
    (numpys_kind, wanted), numpys_said = outcome(CALLS[name], numpy, x)
    assert said == numpys_said
    assert kind == numpys_kind
    if isinstance(wanted, str):
        assert found == wanted
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if name in ("nan_to_num", "of its own", "one infinity", "no finite number", "in place"):
        assert found.tobytes() == wanted.tobytes()
    else:
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("name", ["nan_to_num", "of its own", "nanmean of columns", "nanvar"])
def test_results_lie_as_numpys_do(name: str) -> None:
    base = numpy.random.default_rng(2).normal(size=(70, 80, 60))
    views: list[Callable[..., Any]] = [
        lambda xp, x: xp.broadcast_to(x, (2, 70, 80, 60)),
        lambda xp, x: xp.asfortranarray(x),
        lambda _xp, x: x.transpose(1, 0, 2),
        lambda _xp, x: x[::2, :, ::-1],
    ]
    for view in views:
        found = CALLS[name](np, view(np, np.array(base)))
        assert found.strides == CALLS[name](numpy, view(numpy, base)).strides


def test_warnings_are_told_at_the_line() -> None:
    x = np.array(numpy.full((600, 500), numpy.nan))
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as said:
        np.nanmean(x, axis=0)
    assert said[0].filename == __file__
