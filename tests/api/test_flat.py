"""The flat iterator reads and writes its array in C order."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dnumpy
from tests.comparison import assert_as_numpy, grid

pytestmark = pytest.mark.usefixtures("managed")


def test_flat_reads_as_numpy() -> None:
    def program(xp: Any) -> Any:
        flat = grid(xp).T.flat
        first = [next(flat), next(flat)]
        place = flat.index, flat.coords
        mask = xp.arange(12) > 7
        return first, place, len(flat), flat[5], flat[2:9:3], flat[[0, 3]], flat[mask], flat == 3

    assert_as_numpy(program)


def test_flat_writes_to_the_array_and_to_no_pending_reader() -> None:
    def program(xp: Any) -> Any:
        a = grid(xp)
        reader = a + 1
        a.T.flat[xp.array([1, 2])] = xp.array([50.0, 60.0])
        a.flat[-1] = 70
        return a, reader, list(a.flat), a.flat.copy(), xp.array(a.flat), xp.sort(a.flat)

    assert_as_numpy(program)


def test_flat_belongs_to_its_array() -> None:
    a = grid(dnumpy)
    assert a.flat.base is a
    assert isinstance(a.flat, dnumpy.flatiter)
    assert isinstance(numpy.arange(3).flat, dnumpy.flatiter)


def test_flat_refuses_what_numpy_refuses() -> None:
    assert_as_numpy(lambda xp: grid(xp).flat[99])
    with pytest.raises(TypeError):
        del grid(dnumpy).flat[0]


def test_so_many_axes_as_numpy_refuses_are_refused() -> None:
    with pytest.raises(RuntimeError) as expected:
        numpy.ones((1,) * 64).flat  # noqa: B018 - the attribute raises
    with pytest.raises(RuntimeError) as found:
        (dnumpy.ones((1,) * 64) + 1).flat  # noqa: B018 - likewise
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("make", ["array", "asarray", "asanyarray"])
def test_an_array_of_a_flat_iterator_is_a_view_where_the_elements_lie_in_order(make: str) -> None:
    def program(xp: Any) -> Any:
        a = grid(xp)
        whole, cast, column = (
            getattr(xp, make)(*given) for given in ((a.flat,), (a.flat, complex), (a[:, 1].flat,))
        )
        reader = whole + 1
        a[0, :3] = -1
        whole[-1] = -2
        return a, whole, cast, column, reader, whole.flags.owndata, cast.flags.owndata

    assert_as_numpy(program)
