"""The flat iterator reads and writes its array in C order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy
from tests.comparison import assert_as_numpy, grid
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

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


OVERLAPS: dict[str, Callable[[Any], Any]] = {
    "forwards": lambda a: a.flat.__setitem__(slice(1, None), a[:-1]),
    "backwards": lambda a: a.flat.__setitem__(slice(None), a[::-1]),
    "all at once": lambda a: setattr(a, "flat", a.ravel()[::-1]),
    "few, over and over": lambda a: a.flat.__setitem__(slice(3, None), a[:4]),
    "by index": lambda a: a.flat.__setitem__([3, 1, 2], a[:3]),
}


@pytest.mark.parametrize("shape", [(40,), (8, 5)])
@pytest.mark.parametrize("name", OVERLAPS)
def test_flat_reads_what_it_has_written_as_numpy_does(name: str, shape: tuple[int, ...]) -> None:
    expected = numpy.arange(40.0).reshape(shape)
    OVERLAPS[name](expected)
    with spread_out(3.0, 2.0):
        found = on_nodes(numpy.arange(40.0).reshape(shape)) + 0
        OVERLAPS[name](found)
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


@pytest.mark.parametrize("index", [[0, 45, 3], [5, 6, -41], [99]])
@pytest.mark.parametrize("values", [[7, 8, 9], 5.0])
def test_put_writes_what_comes_before_an_index_out_of_bounds(index: Any, values: Any) -> None:
    expected = numpy.ones(40)
    with pytest.raises(IndexError) as theirs:
        numpy.put(expected, index, values)
    with spread_out(3.0, 2.0):
        found = on_nodes(numpy.ones(40)) + 0
        with pytest.raises(IndexError) as ours:
            dnumpy.put(found, index, values)
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    assert str(ours.value) == str(theirs.value)


def test_elements_that_are_looked_up_leave_the_memory_to_this_library() -> None:
    a = dnumpy.ones((4, 5)) * 3.0
    dnumpy.sum(a)  # pending until here
    numpy.asarray(a[0, 0])
    assert a.flat[7] == a.item(7) == a.item(1, 2) == 3.0
    assert not a._buf.shared  # nobody was handed what they could write to
    a.flat[7] = 5.0
    a[1, 3] = 6.0
    assert (a.item(7), a.flat[8], a.flat[-1]) == (5.0, 6.0, 3.0)


def test_an_iteration_goes_on_over_what_was_written_meanwhile() -> None:
    def program(xp: Any) -> Any:
        a = grid(xp) + 1
        elements = a.flat
        first = next(elements)
        a[0, 1] = 40
        a += 1
        return first, next(elements), elements[0], elements.index, next(elements)

    assert_as_numpy(program)
