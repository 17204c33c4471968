"""Functions written over recorded operations equal NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTHS = [0, 2, (1, 3), ((1, 2),), ((0, 1), (2, 0))]


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
@pytest.mark.parametrize("fill", [0, 7, True])
def test_padding_with_a_constant_is_numpys(width: object, dtype: str, fill: object) -> None:
    values = (numpy.arange(12).reshape(3, 4) % 5).astype(dtype)
    found = np.pad(np.array(values) + np.array(values), width, constant_values=fill)
    expected = numpy.pad(values + values, width, constant_values=fill)
    assert found.dtype == expected.dtype
    assert numpy.array_equal(numpy.asarray(found), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_of_a_small_imaginary_part_cannot_be_written_to(order: str) -> None:
    part = np.ones(300_000)[:6].imag
    numpy.asarray(part)
    assert not part.reshape((2, 3), order=order).flags.writeable
    assert not part.reshape(6, order=order).flags.writeable
    nothing = part[:0]
    assert not nothing.reshape((2, 0), order=order).flags.writeable
    assert not np.expand_dims(nothing, 0).flags.writeable
    assert not nothing.view().flags.writeable


@pytest.mark.usefixtures("managed")
def test_what_is_padded_is_a_copy() -> None:
    array = np.array(numpy.ones((3, 4)))
    padded = np.pad(array, 1)
    array[...] = 5
    assert float(padded.sum()) == 12.0


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap", "linear_ramp", "mean"])
def test_other_modes_are_numpys(mode: str) -> None:
    values = numpy.arange(12.0).reshape(3, 4)
    assert numpy.array_equal(
        numpy.asarray(np.pad(np.array(values), 2, mode)), numpy.pad(values, 2, mode)
    )


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("width", [-1, (1, 2, 3), "a"])
def test_a_bad_width_is_numpys_error(width: object) -> None:
    values = numpy.ones((3, 4))
    with pytest.raises(Exception) as expected:  # noqa: PT011 - the same type and text are asked for
        numpy.pad(values, width)
    with pytest.raises(type(expected.value)) as found:
        np.pad(np.array(values), width)
    assert str(found.value) == str(expected.value)


@pytest.mark.usefixtures("managed")
def test_an_array_without_axes_is_padded_as_numpy_does() -> None:
    assert np.pad(np.array(3.0), 1).shape == numpy.pad(numpy.array(3.0), 1).shape


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "i1", "?"])
@pytest.mark.parametrize("decimals", [0, 1, 2, -1, 400])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, ::2].T,
        lambda a: a[::-1, 1:],
        lambda a: a.reshape(2, 2, 6).transpose(0, 2, 1),
        lambda a: a[:0],
        lambda a: a[2:3, 3:4].reshape(()),
    ],
)
def test_rounding_has_numpys_values_and_memory_order(
    dtype: str, decimals: int, view: Callable[[Any], Any]
) -> None:
    values = (numpy.arange(24).reshape(4, 6) * 37.377 % 101).astype(dtype)
    ours = view(np.array(values) + np.array(values))
    theirs = view(values + values)
    with numpy.errstate(all="ignore"):
        expected = outcome(numpy.round, theirs, decimals)
        found = outcome(np.round, ours, decimals)
    if isinstance(expected, TypeError):
        assert str(found) == str(expected)
        return
    assert found.dtype == expected.dtype
    assert isinstance(found, numpy.generic) == isinstance(expected, numpy.generic)
    assert found.strides == expected.strides or not expected.size
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or the TypeError that it raises."""
    try:
        return function(*args)
    except TypeError as error:
        return error


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[:, ::2]])
def test_the_imaginary_part_is_numpys(dtype: str, view: Callable[[Any], Any]) -> None:
    values = numpy.arange(12).reshape(3, 4).astype(dtype)
    found, expected = view(np.array(values)).imag, view(values).imag
    assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
    assert found.flags.writeable == expected.flags.writeable
    assert numpy.array_equal(numpy.asarray(found), expected)
