"""The vectorised functions of our own: how far off they may be, and when they are used."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.kernels import fast
from tests.gathering import computed, on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ULPS = {"fast_sin": 0.95, "fast_cos": 0.95, "fast_hypot": 1.25}
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, 1e-310, 1.0])


@pytest.fixture
def asked() -> Iterator[None]:
    config.accuracy = "fast"
    yield
    config.accuracy = "exact"


def ulps(name: str, *operands: np.ndarray) -> Any:
    """Return the errors against extended precision, in units of the last place."""
    plain = getattr(np, name.removeprefix("fast_"))
    exact = plain(*[x.astype(np.longdouble) for x in operands])
    with np.errstate(all="raise", under="ignore"):
        found = fast.made(name)(*operands)
    apart = np.abs(found - exact)
    return apart / np.spacing(np.abs(exact.astype(float)))


@pytest.mark.parametrize("name", ["fast_sin", "fast_cos"])
@pytest.mark.parametrize("reach", [1.0, 30.0, 1e4, 1.6e6, 1e15, 1e300])
def test_waves_are_within_their_error_at_any_size(name: str, reach: float) -> None:
    x = np.random.default_rng(2).uniform(-reach, reach, 40_000)
    assert ulps(name, x).max() <= MOST_ULPS[name]


@pytest.mark.parametrize("name", ["fast_sin", "fast_cos"])
def test_waves_are_within_their_error_near_multiples_of_a_quarter(name: str) -> None:
    x = np.arange(-400_000, 400_000, 7) * (np.pi / 2)
    for near in (x, np.nextafter(x, np.inf), x * (1 + 1e-13)):
        assert ulps(name, near).max() <= MOST_ULPS[name]


@given(st.floats(1e-300, 1e300), st.floats(1e-9, 1e9))
def test_lengths_are_within_their_error(x: float, ratio: float) -> None:
    y = min(max(x * ratio, 1e-300), 1e300)
    found = ulps("fast_hypot", np.array([x] * 3), np.array([y] * 3))
    assert found.max() <= MOST_ULPS["fast_hypot"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_are_numpys() -> None:
    for name in ("fast_sin", "fast_cos"):
        expected = getattr(np, name.removeprefix("fast_"))(SPECIAL)
        np.testing.assert_allclose(fast.made(name)(SPECIAL), expected, rtol=3e-16, atol=0)
    found = fast.made("fast_hypot").outer(SPECIAL, SPECIAL)
    np.testing.assert_allclose(found, np.hypot.outer(SPECIAL, SPECIAL), rtol=4e-16, atol=0)


def test_no_flag_but_underflow_is_raised_that_numpy_does_not_raise() -> None:
    with np.errstate(all="raise", under="ignore"):
        for name in ("fast_sin", "fast_cos"):
            fast.made(name)(np.array([1e300, 1e-300, 5e-324, 0.0, np.nan, 3.0]))
            with pytest.raises(FloatingPointError):
                fast.made(name)(np.array([np.inf, 1.0]))


@given(st.integers(0, 600), st.sampled_from([1, 2, -1, -3]))
def test_strides_and_places_do_not_matter(count: int, step: int) -> None:
    x = np.random.default_rng(count).uniform(-9, 9, 600)[:count]
    x[::50] = 1e9
    wave = fast.made("fast_sin")
    whole = wave(x)
    np.testing.assert_array_equal(wave(x[::step]), whole[::step])
    again = x.copy()
    wave(again, out=again)
    np.testing.assert_array_equal(again, whole)


def test_it_is_found_again_by_its_name() -> None:
    wave = fast.made("fast_sin")
    assert pickle.loads(pickle.dumps(wave)) is wave


@pytest.mark.usefixtures("managed", "asked")
def test_only_float64_in_the_engine_is_computed_so() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 2000)
    found = np.asarray(dnumpy.sin(dnumpy.array(values)))
    np.testing.assert_array_equal(found, fast.made("fast_sin")(values))
    assert (found != np.sin(values)).any()
    for dtype in ("f4", "D", "f2"):
        narrow = values.astype(dtype)
        np.testing.assert_array_equal(np.asarray(dnumpy.sin(dnumpy.array(narrow))), np.sin(narrow))


@pytest.mark.usefixtures("asked")
def test_nodes_compute_the_same() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 200)
    with spread_out():
        found = computed(dnumpy.hypot(dnumpy.cos(on_nodes(values)), 2.0))
        expected = fast.made("fast_hypot")(fast.made("fast_cos")(values), 2.0)
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.usefixtures("managed")
def test_numpys_bits_unless_asked() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 2000)
    np.testing.assert_array_equal(np.asarray(dnumpy.sin(dnumpy.array(values))), np.sin(values))


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="accuracy = 'quick'"):
        config.accuracy = "quick"
    with pytest.raises(ValueError, match="reproducible"):
        config.reproducible = "yes"  # type: ignore[assignment]
    assert (config.accuracy, config.reproducible) == ("exact", False)
