"""Arrays are Dask collections, and travel as recipes."""

from __future__ import annotations

import pickle

import dask
import dask.array
import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.api.array import expr_of
from dnumpy.api.collection import evaluate
from dnumpy.config import config

SIZE = 300_000 if config.mode == "default" else 3_000  # managed in every mode


def _chain() -> tuple[np.ndarray, numpy.ndarray]:
    values = numpy.arange(float(SIZE))
    return np.sqrt(np.array(values) * 2)[::3] + 1, numpy.sqrt(values * 2)[::3] + 1


def test_dask_computes_an_array_to_numpys() -> None:
    array, expected = _chain()
    (found,) = dask.compute(array)
    assert type(found) is numpy.ndarray
    assert (found == expected).all()


def test_a_view_is_a_collection_of_what_it_shows() -> None:
    array, expected = _chain()
    (found,) = dask.compute(array[5:50:7])
    assert (found == expected[5:50:7]).all()


def test_an_array_computes_beside_a_dask_array_and_inside_delayed() -> None:
    array, expected = _chain()
    found, ones = dask.compute(array, dask.array.ones(5))
    assert (found == expected).all()
    assert ones.tolist() == [1.0] * 5
    assert dask.delayed(len)(array).compute() == len(expected)


def test_persisting_gives_an_array_of_ours() -> None:
    array, expected = _chain()
    (kept,) = dask.persist(array)
    assert type(kept) is np.ndarray
    assert (numpy.asarray(kept) == expected).all()


def test_to_and_from_dask_array_keep_the_values() -> None:
    array, expected = _chain()
    there = np.to_dask_array(array, chunks=10_000)
    assert (there.compute() == expected).all()
    back = np.from_dask(there + 1)
    assert type(back) is np.ndarray
    assert (numpy.asarray(back) == expected + 1).all()


def test_a_recipe_gives_the_same_after_a_journey() -> None:
    array, expected = _chain()
    recipe = pickle.loads(pickle.dumps(engine.recipe(expr_of(array))))
    assert (evaluate(recipe) == expected).all()


def test_a_recipe_of_a_long_chain_is_flat() -> None:
    array = np.array(numpy.zeros(SIZE))
    for _ in range(1_500):
        array = array + 1
    recipe = pickle.loads(pickle.dumps(engine.recipe(expr_of(array))))
    assert evaluate(recipe)[0] == 1_500


@pytest.mark.parametrize("values", [[1.0, 2.0], ["a", "b"]])
def test_a_small_array_is_plain_data(values: list[object]) -> None:
    small = np.array(values)
    if small._np is None:
        pytest.skip("in this mode every numeric array is managed")
    assert small.__dask_graph__() is None
