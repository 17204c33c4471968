"""vectorize equals NumPy's, whose class it is derived from."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dnumpy
from tests.comparison import assert_as_numpy, grid
from tests.gathering import on_nodes, spread_out

pytestmark = pytest.mark.usefixtures("managed")


def doubled(x: float, y: float = 1.0) -> float:
    return 2 * x + y


def twins(x: float) -> tuple[float, float]:
    return x, -x


def refusing(x: float) -> float:
    if x > 5:
        msg = f"{x} is too large"
        raise OverflowError(msg)
    return x


PROGRAMS: dict[str, Any] = {
    "one": lambda xp, a: xp.vectorize(doubled)(a),
    "broadcast": lambda xp, a: xp.vectorize(doubled)(a, a[0]),
    "scalar": lambda xp, a: xp.vectorize(doubled)(a, 3),
    "keyword": lambda xp, a: xp.vectorize(doubled)(a, y=4),
    "excluded": lambda xp, a: xp.vectorize(doubled, excluded={1})(a, 3.0),
    "otypes": lambda xp, a: xp.vectorize(doubled, otypes=["f4"])(a),
    "first decides": lambda xp, a: xp.vectorize(lambda x: 1 if x < 1 else 2.5)(a),
    "two results": lambda xp, a: list(xp.vectorize(twins)(a)),
    "signature": lambda xp, a: xp.vectorize(np.sum, signature="(n)->()")(a),
    "empty": lambda xp, a: xp.vectorize(doubled, otypes="d")(a[:0]),
    "empty, no type": lambda xp, a: xp.vectorize(doubled)(a[:0]),
    "raises": lambda xp, a: xp.vectorize(refusing)(a),
    "strings": lambda xp, a: xp.vectorize(str)(a),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_vectorized_function_equals_numpys(name: str) -> None:
    assert_as_numpy(lambda xp: PROGRAMS[name](xp, grid(xp)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_nodes_it_equals_numpys_too(name: str) -> None:
    with spread_out():
        assert_as_numpy(
            lambda xp: PROGRAMS[name](xp, on_nodes(grid(np)) if xp is dnumpy else grid(np))
        )


def test_results_are_ours_and_the_class_is_numpys() -> None:
    function = dnumpy.vectorize(doubled)
    assert isinstance(function, np.vectorize)
    assert type(function(dnumpy.arange(9.0))) is dnumpy.ndarray
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(again([1.0, 2.0]), [3.0, 5.0])


def test_with_a_cache_each_element_is_seen_once() -> None:
    seen = []

    def square(x: float) -> float:
        seen.append(x)
        return x**2

    function = dnumpy.vectorize(square, cache=True)
    with spread_out():
        found = function(on_nodes(np.arange(30.0)))
        np.testing.assert_array_equal(np.asarray(found), np.arange(30.0) ** 2)
    assert sorted(seen) == list(range(30))
