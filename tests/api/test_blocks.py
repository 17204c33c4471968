"""Laws of the exchanges and choices that many functions are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.api import blocks, take
from tests.gathering import on_nodes, spread_out

SHAPES = st.lists(st.sampled_from([1, 1, 2, 3, 7, 12]), min_size=1, max_size=4)


def numbered(shape: Any) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


@given(SHAPES, st.randoms(use_true_random=False))
def test_an_exchange_is_a_transposition(shape: list[int], random: Any) -> None:
    axes = list(range(len(shape)))
    random.shuffle(axes)
    values = numbered(shape)
    with spread_out():
        found = blocks.permuted(on_nodes(values), tuple(axes))
        np.testing.assert_array_equal(np.asarray(found), values.transpose(axes))
        np.testing.assert_array_equal(
            np.asarray(on_nodes(values).transpose(axes) + 1), values.transpose(axes) + 1
        )


@given(SHAPES, st.randoms(use_true_random=False))
def test_writes_through_any_order_of_axes_are_numpys(shape: list[int], random: Any) -> None:
    axes = list(range(len(shape)))
    random.shuffle(axes)
    reverse = tuple(slice(None, None, random.choice((1, -1))) for _ in shape)
    rows = [random.randrange(shape[axes[0]]) for _ in range(3)]
    ours, theirs = None, numbered(shape)
    with spread_out():
        ours = on_nodes(theirs)
        for array in (ours, theirs):
            view = array.transpose(axes)[reverse]
            view[np.array(rows)] = -1.0
            view[0] += 5
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_chosen_rows_stay_in_order(mask: list[bool]) -> None:
    values = numbered((len(mask), 2))
    with spread_out() as meter:
        chosen = take.compressed(on_nodes(values), on_nodes(np.array(mask)))
        assert meter.most() < values.nbytes
        np.testing.assert_array_equal(np.asarray(chosen), values[np.array(mask)])


@pytest.mark.parametrize("speeds", [(1.0,), (1.0, 3.0), (5.0, 3.0, 2.0)])
def test_what_lies_on_nodes_is_said_to(speeds: tuple[float, ...]) -> None:
    with spread_out(*speeds):
        assert blocks.spread(on_nodes(numbered((9, 2))))
        assert not blocks.spread(numbered((9, 2)), 3.0, None)
