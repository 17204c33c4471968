"""``np.testing`` compares arrays of ours as NumPy's compares its own."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dnumpy as np

pytestmark = pytest.mark.usefixtures("managed")

COMPARISONS: dict[str, tuple[Any, Any]] = {
    "assert_equal": ([1.0, 2.0], [1.0, 3.0]),
    "assert_array_equal": ([1.0, 2.0], [1.0, 3.0]),
    "assert_almost_equal": ([1.0, 2.0], [1.0, 2.1]),
    "assert_array_almost_equal": ([1.0, 2.0], [1.0, 2.1]),
    "assert_allclose": ([1.0, 2.0], [1.0, 2.1]),
    "assert_array_less": ([2.0, 3.0], [1.0, 4.0]),
    "assert_array_almost_equal_nulp": ([1.0, 2.0], [1.0, 2.1]),
    "assert_array_max_ulp": ([1.0, 2.0], [1.0, 2.1]),
}


def made(xp: Any, values: list[float]) -> Any:
    return xp.array(values) + xp.array([0.0, 0.0])


@pytest.mark.parametrize("name", COMPARISONS)
def test_what_differs_is_told_as_numpy_tells_it(name: str) -> None:
    left, right = COMPARISONS[name]
    with pytest.raises(AssertionError) as expected:
        getattr(numpy.testing, name)(made(numpy, left), made(numpy, right))
    with pytest.raises(AssertionError) as found:
        getattr(np.testing, name)(made(np, left), made(np, right))
    assert str(found.value) == str(expected.value)
    if name != "assert_array_less":
        getattr(np.testing, name)(made(np, left), made(np, left))


def test_arrays_inside_containers_are_compared() -> None:
    np.testing.assert_equal({"a": [made(np, [1, 2])]}, {"a": [made(np, [1, 2])]})
    with pytest.raises(AssertionError):
        np.testing.assert_equal([made(np, [1, 2]), 3], [made(np, [1, 2]), 4])


def test_what_calls_a_function_hands_our_arrays_on() -> None:
    def refuses(x: Any) -> None:
        assert type(x) is np.ndarray
        raise LookupError

    np.testing.assert_raises(LookupError, refuses, made(np, [1, 2]))


def test_the_module_is_one_and_has_numpys_names() -> None:
    import dnumpy.testing as imported

    assert imported is np.testing
    assert set(numpy.testing.__all__) <= set(dir(imported))
    assert imported.assert_equal.__doc__ == numpy.testing.assert_equal.__doc__
