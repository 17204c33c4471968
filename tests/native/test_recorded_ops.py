"""Functions recorded by the module in C are those that Python would record."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api import calls, lending, overrides, record
from dnumpy.api.stored import with_stored
from tests.native.waits import lines_wait

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.usefixtures("arrays_wait"),
]

ROUNDS = 3


def data() -> np.ndarray:
    return np.random.default_rng(3).uniform(0.5, 5.5, size=(60, 80))


class Overriding:
    """Asks to be called."""

    def __array_function__(self, *_: Any) -> str:
        return "asked"


def arguments() -> dict[str, Any]:
    """Return an argument of each kind."""
    values = data()
    stored = dnumpy.array(values)
    exported = dnumpy.array(values)
    seen = np.asarray(exported)
    assert np.shares_memory(seen, np.asarray(exported))
    return {
        "waits": stored + 1.0,
        "stored": stored,
        "seen": exported,
        "seen by": seen,
        "adopted": dnumpy.asarray(values),
        "a view": stored[1:],
        "a view of what waits": (stored * 3.0)[::2],
        "unmade": dnumpy.zeros((60, 80)),
        "small": dnumpy.array([1.0, 2.0]),
        "deferred": stored.sum(),
        "selected": stored[stored > 2.0],
        "of NumPy's": values,
        "an int": 1,
        "a tuple of ints": (1, 2),
        "a list of arrays": [stored, stored],
        "a tuple of arrays": (stored, stored),
        "a tuple that asks": (Overriding(),),
        "what asks": Overriding(),
        "a text": "clip",
        "None": None,
        "a dtype": np.dtype("f4"),
    }


def test_nothing_is_to_be_asked_where_all_wait() -> None:
    kinds = arguments()
    found = set()
    for one, other, named in itertools.product(kinds, kinds, [None, *kinds]):
        args = kinds[one], kinds[other]
        kwargs = {} if named is None else {"named": kinds[named]}
        if native.all_wait(args, kwargs):
            found.add((one, other, named))
            assert with_stored(args) is args
            assert not overrides.overridden((*args, *kwargs.values()), "__array_function__")
            assert lending.asks_engine(args, kwargs)
            assert not lending._any_shared(args)
            assert not lending._any_shared(kwargs.values())
    assert {
        ("waits", "a tuple of ints", None),
        ("waits", "stored", "a tuple of ints"),
        ("a view of what waits", "None", "a text"),
        ("stored", "a dtype", None),
        ("waits", "waits", "an int"),
    } <= found
    of = {name for key in found for name in key}
    assert not of & {"seen", "small", "what asks", "a tuple that asks", "of NumPy's"}
    assert ("waits", "a view", None) in found
    assert ("a view", "an int", None) not in found


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda np, x: np.roll(x, (1, -2), axis=(0, 1)),
    "roll, all axes": lambda np, x: np.roll(x, 3),
    "astype": lambda np, x: x.astype("f4"),
    "astype, another name": lambda np, x: x.astype(dtype=np.int32, copy=False),
    "sum": lambda np, x: np.sum(x, axis=0),
    "sum of rows": lambda np, x: x.sum(axis=1, keepdims=True),
    "mean": lambda np, x: x.mean(axis=0),
    "var": lambda np, x: np.var(x, axis=1, ddof=1),
    "clip": lambda np, x: np.clip(x, 1.0, 2.0),
    "where": lambda np, x: np.where(x > 2.0, x, 0.0),
    "cumsum": lambda np, x: np.cumsum(x, axis=1),
    "argmax": lambda np, x: np.argmax(x, axis=1),
    "transpose": lambda np, x: np.transpose(x, (1, 0)) + 1.0,
    "diff": lambda np, x: np.diff(x, axis=0),
    "dot": lambda np, x: np.dot(x, np.ones(80)),
    "stack": lambda np, x: np.stack([x, x]),
    "round": lambda np, x: np.round(x, 1),
    "pad": lambda np, x: np.pad(x, 1),
}


def recorded(name: str) -> list[Any]:
    """Return what is recorded for a function in every round, and the results."""
    noted: list[Any] = []
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        lines_wait()
        waiting = x * 2.0
        found = FUNCTIONS[name](dnumpy, waiting)
        buffer = getattr(found, "_buf", None)
        expr = getattr(buffer, "expr", None)
        if expr is not None:
            place = expr.origin
            noted.append((repr(expr), place and (place.line, place.function, place.told_as)))
        noted.append((found.dtype, np.asarray(found + 1).tobytes()))
    return noted


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_c_records_is_what_python_records(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setattr(native, "record", lambda *_: None)
        without.setattr(native, "hold", lambda _: None)
        without.setattr(native, "all_wait", lambda *_: False)
        by_python = recorded(name)
    assert recorded(name) == by_python


def test_the_way_by_c_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is compared above are two ways."""
    by_python: list[Any] = []
    made = record.make
    monkeypatch.setattr(record, "make", lambda op, *args: by_python.append(op) or made(op, *args))
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        by_python.clear()
        lines_wait()
        rolled = dnumpy.roll(x * 2.0, 1, axis=0)
        assert np.asarray(rolled + 1).tobytes() == (np.roll(data() * 2.0, 1, axis=0) + 1).tobytes()
        del rolled
    assert not by_python


def test_faults_are_told_under_the_name_that_numpy_gives_them() -> None:
    values = data() * 1e200
    x = dnumpy.array(values)
    for _ in range(ROUNDS):
        with pytest.warns(RuntimeWarning, match=r"overflow encountered in (square|multiply)"):
            np.asarray(dnumpy.var(x * 2.0, axis=0) + 1.0)


def test_the_same_recorded_twice_is_one_and_knows_both_lines() -> None:
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        one = dnumpy.roll(x, 1, axis=0)
        two = dnumpy.roll(x, 1, axis=0)
        expected = np.roll(data(), 1, axis=0)
        one += 1.0  # which the other one must not see
        np.testing.assert_array_equal(two, expected)
        np.testing.assert_array_equal(one, expected + 1.0)
        del one, two


def test_arguments_that_are_none_raise_type_error() -> None:
    with pytest.raises(TypeError, match="by position and by name"):
        native.all_wait(())
    with pytest.raises(TypeError):
        native.all_wait([], {})


def test_what_waits_over_lent_memory_takes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dnumpy.array(data()) + 1.0
    assert lending.recorded_at_once(lambda a: "ours", (x,), {}) == "ours"
    monkeypatch.setattr(calls, "waiting", {0: object()})
    assert lending.recorded_at_once(lambda a: "ours", (x,), {}) is NotImplemented
