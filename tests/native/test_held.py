"""Handles over what NumPy has just made, and views made before their base was computed."""

from __future__ import annotations

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api.array import ndarray, wrap

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")
LARGE = (700, 900)


def drawn(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(LARGE)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_new_array_of_either_order_is_held_as_it_lies(order: str) -> None:
    theirs = np.array(drawn(), order=order)
    held = wrap(theirs.copy(order="K"))
    assert type(held) is ndarray
    assert (held.shape, held.strides, held.base) == (theirs.shape, theirs.strides, None)
    assert held.flags.c_contiguous is theirs.flags.c_contiguous
    assert held.flags.writeable
    np.testing.assert_array_equal(np.asarray(held), theirs)
    for again in (
        dnumpy.require(held, None, [order]),
        dnumpy.asanyarray(held, order=order),
        dnumpy.array(held, copy=None, order=order),
        dnumpy.asarray(held, held.dtype, order="K"),
    ):
        assert again is held
    assert dnumpy.shares_memory(held.T, held)
    view, seen = held[3:, ::2], theirs[3:, ::2]
    held += 1
    theirs += 1
    held[5, 6] = theirs[5, 6] = 7
    held[:, 4] = theirs[:, 4] = 8
    np.testing.assert_array_equal(np.asarray(view), seen)
    np.testing.assert_allclose(np.asarray(held.T @ held), theirs.T @ theirs, rtol=1e-13)
    np.testing.assert_allclose(held.sum(), theirs.sum(), rtol=1e-13)


def test_what_numpy_makes_of_a_transpose_has_its_order() -> None:
    theirs = drawn()
    ours = dnumpy.asarray(theirs.copy())
    for _ in range(20):
        found, expected = ours.T + 1, theirs.T + 1
        assert found.strides == expected.strides
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("dtype", ["i2", "i8", "f4", "c16", "?"])
def test_a_view_of_what_was_pending_shows_what_was_computed(dtype: str) -> None:
    theirs = (drawn() * 9).astype("i4").astype(dtype)
    base = (dnumpy.asarray(drawn()) * 9).astype("i4").astype(dtype)
    keys = (np.s_[:50, :60], np.s_[::-9, 3], np.s_[5], np.s_[:0], np.s_[2:9, None, ::-1])
    views = [base[key] for key in keys]
    np.testing.assert_array_equal(np.asarray(base), theirs)
    for view, key in zip(views, keys, strict=True):
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(view + view), theirs[key] + theirs[key])
        assert view.strides == theirs[key].strides
    base[0, 0] = theirs[0, 0] = 1
    base *= True
    views[0][1, 1] = theirs[1, 1] = 0
    for view, key in zip(views, keys, strict=True):
        np.testing.assert_array_equal(np.asarray(view), theirs[key])
        np.testing.assert_array_equal(np.asarray(view * 1), theirs[key] * 1)
    np.testing.assert_array_equal(np.asarray(base), theirs)


def test_a_view_of_a_view_is_one_of_the_base() -> None:
    ours = dnumpy.asarray(drawn())
    part = ours[:20, :30]
    for function in (dnumpy.real, dnumpy.squeeze, dnumpy.atleast_2d):
        shown = function(part)
        assert dnumpy.shares_memory(shown, ours)
    dnumpy.real(part)[1, 2] = 5
    assert ours[1, 2] == 5
    np.add(part, 1)


def test_memory_is_handed_on_by_dlpack() -> None:
    for array in (dnumpy.arange(12.0), dnumpy.asarray(drawn()), dnumpy.asarray(drawn())[:3]):
        taken = dnumpy.from_dlpack(array)
        assert type(taken) is ndarray
        assert array.__dlpack_device__() == np.empty(0).__dlpack_device__()
        np.testing.assert_array_equal(np.asarray(taken), np.asarray(array))
        np.testing.assert_array_equal(np.from_dlpack(array), np.asarray(array))
        array[...] = 3
        np.testing.assert_array_equal(np.asarray(taken), np.asarray(array))


def test_where_a_result_goes_may_be_said_in_a_tuple() -> None:
    for a, out in ((dnumpy.ones(()), dnumpy.zeros(())), (dnumpy.ones(9), dnumpy.zeros(9))):
        assert dnumpy.add(a, a, out=(out,)) is out
        assert np.asarray(out).tolist() == (np.ones(a.shape) * 2).tolist()
    total = dnumpy.zeros(())
    assert dnumpy.add.reduce(dnumpy.arange(5.0), 0, None, total) is total
    assert total == 10
    assert dnumpy.add.reduce(dnumpy.arange(6.0), axis=0, out=total) is total
    assert total == 15


def test_fields_are_read_and_written_by_name() -> None:
    theirs = np.zeros(5, [("a", "f8"), ("b", "i4", 3)])
    ours = dnumpy.asarray(theirs.copy())
    field = ours["a"]
    assert field.base is ours
    for x in (theirs, ours):
        x["a"] = np.arange(5.0)
        x["b"][:, 1] = 7
    field[0] = theirs["a"][0] = 9
    assert np.asarray(ours).tobytes() == theirs.tobytes()
    with pytest.raises(ValueError, match="no field of name c"):
        ours["c"]
    with pytest.raises(IndexError, match="only integers"):
        dnumpy.ones(3)["a"]
