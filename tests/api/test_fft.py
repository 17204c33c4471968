"""One sequence on nodes is transformed there: never whole in one place, and NumPy's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import fft
from dnumpy.ops.transforms import roots
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fft, "LEAST", 16)


_rng = np.random.default_rng(31)
LENGTHS = [36, 60, 64, 97, 101 * 2, 105, 128, 211, 315, 360]
FUNCTIONS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


def _sequence(length: int, kind: str = "D") -> np.ndarray:
    values = _rng.standard_normal(length) + 1j * _rng.standard_normal(length)
    return values.astype(kind) if np.dtype(kind).kind == "c" else values.real.astype(kind)


def _input_kind(function: str) -> str:
    return "d" if function in ("rfft", "ihfft") else "D"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_a_sequence_stays_on_its_nodes_and_gives_what_numpy_gives(
    function: str, length: int, norm: str | None
) -> None:
    values = _sequence(length, _input_kind(function))
    agrees(lambda xp, a: getattr(xp.fft, function)(a, norm=norm), values)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wanted", [16, 47, 100, 150, 151, 300])
def test_sequences_are_cut_and_filled_up_to_the_length_asked_for(
    function: str, wanted: int
) -> None:
    values = _sequence(101, _input_kind(function))
    agrees(lambda xp, a: getattr(xp.fft, function)(a, wanted), values)


def agrees(call: Callable[[Any, Any], Any], values: np.ndarray) -> None:
    """Raise unless dnumpy gathers nothing and gives what NumPy gives, to rounding."""
    expected = call(np, values)
    with spread_out() as meter:
        found = call(dnumpy, on_nodes(values))
        assert meter.most() <= 0.5 * max(values.nbytes, expected.nbytes), meter.gathered
        found = np.asarray(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = 32 * np.finfo(expected.dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["?", "b", "i", "e", "f", "d", "g", "F", "D", "G"])
@pytest.mark.parametrize("function", ["fft", "ifft", "irfft"])
def test_every_type_is_transformed_in_the_precision_that_numpy_has_for_it(
    kind: str, function: str
) -> None:
    values = (9 * _sequence(90)).astype(kind) if kind in "FDG" else _sequence(90).real.astype(kind)
    agrees(lambda xp, a: getattr(xp.fft, function)(a), values)


@pytest.mark.parametrize("kind", ["?", "b", "i", "e", "f", "d", "g"])
def test_real_types_keep_their_precision(kind: str) -> None:
    agrees(lambda xp, a: xp.fft.rfft(a), _sequence(90).real.astype(kind))


@pytest.mark.parametrize("axes", [None, (0,), (1, 0), (0, 1), (2, 0, 1)])
def test_axes_are_transformed_one_after_the_other(axes: tuple[int, ...] | None) -> None:
    values = _sequence(12 * 10 * 6).reshape(12, 10, 6)
    agrees(lambda xp, a: xp.fft.fftn(a, axes=axes), values)
    agrees(lambda xp, a: xp.fft.irfftn(a, axes=axes), values)


def test_results_are_written_where_they_are_wanted() -> None:
    values = _sequence(120)
    with spread_out():
        out = on_nodes(np.zeros(120, complex))
        found = dnumpy.fft.fft(on_nodes(values), out=out)
        assert found is out
        np.testing.assert_allclose(np.asarray(out), np.fft.fft(values), atol=1e-12)


def test_an_output_of_another_type_is_cast_as_numpy_casts_or_refused() -> None:
    values = _sequence(120)
    with spread_out():
        placed = on_nodes(values)
        with pytest.raises(TypeError, match="Cannot cast"):
            dnumpy.fft.fft(placed, out=on_nodes(np.zeros(120)))
        out = on_nodes(np.zeros(120, np.complex64))
        dnumpy.fft.fft(placed, out=out)
        np.testing.assert_array_equal(np.asarray(out), np.fft.fft(values).astype(np.complex64))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("count", [1, 2, 9, 50, 101])
def test_frequencies_are_numpys_and_made_where_they_lie(name: str, count: int) -> None:
    for step in (1.0, 0.1, np.float32(3), 2):
        expected = getattr(np.fft, name)(count, step)
        with spread_out() as meter:
            made = getattr(dnumpy.fft, name)(count, step)
            dnumpy.engine.compute([made._buf.expr])
            assert meter.most() < max(expected.nbytes / 2, 24)
            found = np.asarray(made)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
    with spread_out(), pytest.raises(ValueError, match="n should be an integer"):
        getattr(dnumpy.fft, name)(2.5)


def _exact(values: np.ndarray) -> np.ndarray:
    """Return the transform by its definition, in extended precision."""
    count = len(values)
    k = np.arange(count)
    factors = roots(-(k[:, None] * k % count), count, np.dtype(np.clongdouble))
    return factors @ values.astype(np.clongdouble)


@pytest.mark.parametrize("length", [64, 360, 211, 2 * 211, 509])
def test_the_error_is_a_small_multiple_of_numpys(length: int) -> None:
    values = _sequence(length)
    expected = _exact(values)
    with spread_out():
        found = np.asarray(dnumpy.fft.fft(on_nodes(values)))
    size = np.linalg.norm(expected.astype(complex))
    error = np.linalg.norm((found - expected).astype(complex)) / size
    numpys = np.linalg.norm((np.fft.fft(values) - expected).astype(complex)) / size
    assert error <= 4 * numpys + np.finfo(float).eps


@pytest.mark.parametrize("order", [1, 2, 3, 7, 8, 1000, 10**9 + 7, 2**52 + 1])
def test_roots_of_unity_are_right_to_the_last_place(order: int) -> None:
    exponents = np.unique(_rng.integers(-order, order + 1, 500))
    found = roots(exponents, order, np.dtype(complex))
    exact = roots(exponents, order, np.dtype(np.clongdouble))
    assert np.abs(found - exact).max() <= 1.5 * np.finfo(float).eps
    turns = roots(np.arange(4), 4, np.dtype(complex))
    np.testing.assert_array_equal(turns, [1, 1j, -1, -1j])


@pytest.mark.parametrize("length", [60, 97])
def test_the_bits_do_not_depend_on_the_partition(length: int) -> None:
    values = _sequence(length)
    results = []
    for speeds in [(1.0,), (1.0, 1.0), (5.0, 3.0, 2.0), (1.0, 4.0, 2.0, 1.0, 1.0, 2.0, 3.0)]:
        with spread_out(*speeds):
            results.append(np.asarray(dnumpy.fft.fft(on_nodes(values))))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
