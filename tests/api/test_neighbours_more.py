from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    import types
    from collections.abc import Callable


def stored() -> Any:
    file = pytest.importorskip("h5py").File(io.BytesIO(), "w")
    return file.create_dataset("values", data=np.arange(20.0))


def written_by_mask(xp: types.ModuleType) -> Any:
    data = stored()
    data[xp.arange(20) > 10] = 0
    return data[:]


def read_directly(xp: types.ModuleType) -> Any:
    target = xp.zeros(20)
    stored().read_direct(target)
    return target


def written_directly(xp: types.ModuleType) -> Any:
    data = stored()
    data.write_direct(xp.arange(20.0) * 2)
    return data[:]


@pytest.mark.parametrize(
    "use",
    [
        lambda xp: stored()[xp.arange(20) > 3],
        lambda xp: stored()[xp.array([1, 3])],
        written_by_mask,
        read_directly,
        written_directly,
    ],
)
def test_files_are_read_and_written_by_our_arrays(use: Callable[[types.ModuleType], Any]) -> None:
    np.testing.assert_array_equal(np.asarray(use(dnumpy)), use(np))


def test_a_plot_takes_our_arrays() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    grid = dnumpy.ones((4, 4))
    figure, axes = plt.subplots(2)
    axes[0].streamplot(
        dnumpy.arange(4), dnumpy.arange(4), grid, grid, color=grid * 2, linewidth=grid
    )
    axes[1].plot([1, 2], marker=dnumpy.array([[0, 0], [1, 1], [1, 0]]))
    figure.colorbar(axes[1].imshow(grid), ax=dnumpy.array(axes))
    figure.savefig(io.BytesIO())
    plt.close(figure)


def test_a_pointer_is_made_of_our_array() -> None:
    values = dnumpy.arange(3.0)
    pointer = np.ctypeslib.ndpointer(float).from_param(values)
    assert pointer.data == values.ctypes.data


def test_our_module_of_draws_is_a_state_of_scikit_learns() -> None:
    utils = pytest.importorskip("sklearn.utils")
    assert utils.check_random_state(dnumpy.random) is utils.check_random_state(None)
    assert utils.check_random_state(seed=dnumpy.random) is utils.check_random_state(None)


def test_components_may_start_at_an_array_of_ours() -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    values = np.random.default_rng(0).random((30, 5))
    found = [
        neighbors.NeighborhoodComponentsAnalysis(init=xp.eye(5)[:2], max_iter=2, random_state=0)
        .fit(values, np.arange(30) % 2)
        .components_
        for xp in (dnumpy, np)
    ]
    np.testing.assert_array_equal(*found)


_STRICT = """
import numpy as np

class Length(np.ndarray):
    '''Lengths: NumPy's arrays and numbers are known, and no other class.'''

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if not all(type(x) in (Length, np.ndarray, float, int, np.float64) for x in inputs):
            return NotImplemented
        plain = [x.view(np.ndarray) if type(x) is Length else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs).view(Length)

class Table:
    '''No array, but with operators that are NumPy's ufuncs.'''

    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if not all(type(x) in (Table, np.ndarray) for x in inputs):
            return NotImplemented
        plain = [x.values if type(x) is Table else x for x in inputs]
        return Table(getattr(ufunc, method)(*plain, **kwargs))

    def __add__(self, other):
        return np.add(self, other)

    def __lt__(self, other):
        return np.less(self, other)
"""


def strict() -> SimpleNamespace:
    """Return classes of a module that knows NumPy alone."""
    space: dict[str, Any] = {"__name__": "of_others"}
    exec(compile(_STRICT, "of_others", "exec"), space)
    return SimpleNamespace(**space)


STRICT: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda first, y: first * y,
    "less": lambda first, y: first < y,
    "called": np.add,
    "pairs": np.add.outer,
    "second": lambda first, y: y - first,
}


@pytest.mark.parametrize("use", STRICT)
@pytest.mark.parametrize("size", [3, 30_000])
def test_a_class_that_knows_numpys_arrays_alone_is_given_those(use: str, size: int) -> None:
    values = np.arange(float(size))
    first = (values[:3] if use == "pairs" else values).view(strict().Length)
    expected = STRICT[use](first, values)
    found = STRICT[use](first, dnumpy.array(values))
    assert type(found).__name__ == "Length"
    np.testing.assert_array_equal(found.view(np.ndarray), expected.view(np.ndarray))


def test_a_class_that_is_no_array_and_knows_numpys_alone() -> None:
    kind = strict().Table
    first, y = kind(np.arange(3.0)), dnumpy.array([1.0, 2.0, 0.0])
    assert (first + y).values.tolist() == [1.0, 3.0, 2.0]
    assert (first < y).values.tolist() == [True, True, False]


def test_what_a_class_declines_of_numpys_too_is_a_type_error() -> None:
    kind = strict().Length
    with pytest.raises(TypeError, match="all returned NotImplemented"):
        np.add(np.arange(2.0).view(kind), dnumpy.array(["a", "b"]).view(dnumpy.recarray))


SYMBOLS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x * y,
    lambda x, y: x + y,
    lambda x, y: y - x,
    lambda x, y: x / y,
    lambda x, y: x**y,
    lambda x, y: [x * y[0], y[1] + x],
]


@pytest.mark.parametrize("use", SYMBOLS)
@pytest.mark.parametrize("first", ["x", "1/3"])
def test_symbols_meet_our_arrays(use: Callable[[Any, Any], Any], first: str) -> None:
    sympy = pytest.importorskip("sympy")
    x, y = sympy.sympify(first), np.array([1, 2, 4])
    assert repr(list(use(x, dnumpy.array(y)))) == repr(list(use(x, y)))


def test_matrices_of_symbols_from_our_arrays() -> None:
    sympy = pytest.importorskip("sympy")
    y = np.array([[1, 2], [3, 5]])
    assert sympy.Matrix(dnumpy.array(y)) == sympy.Matrix(y)
    x = sympy.Symbol("x")
    function = sympy.lambdify(x, x**2 + sympy.sin(x), "numpy")
    np.testing.assert_array_equal(function(dnumpy.array([1.0, 2.0])), function(np.array([1.0, 2])))
