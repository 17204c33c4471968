from __future__ import annotations

import io
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
