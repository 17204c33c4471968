"""Loops found again in recorded operations, and complex numbers as two real ones: NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.kernels import choose, numba, parts
from dnumpy.kernels.rolled import roll

SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308])


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs compiled, at once."""
    monkeypatch.setattr(config, "kernels", "numba")
    monkeypatch.setattr(config, "eager_below", 0)


def numbers(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return complex numbers, a few of them special."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(2, *shape))
    spots = draw.random((2, *shape)) < 0.1
    values[spots] = draw.choice(SPECIAL, int(spots.sum()))
    return values[0] + 1j * values[1]


def bits(x: Any) -> Any:
    """Return what two arrays with the same values share; NaN are all alike."""
    x = np.asarray(x)
    flat = x.view(np.float64) if x.dtype.kind == "c" else x
    return np.where(np.isnan(flat), np.nan, flat).tobytes(), x.dtype, x.shape


def kernels_with_loops(seen: list[Any]) -> list[int]:
    """Return how often the loops of what was lowered go around."""
    return [r.count for r in seen if r is not None]


@pytest.fixture
def rolls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What ``roll`` returned so far; nothing is remembered from other tests."""
    seen: list[Any] = []

    def noting(program: Any) -> Any:
        seen.append(roll(program))
        return seen[-1]

    monkeypatch.setattr(numba, "roll", noting)
    monkeypatch.setattr(choose, "_kernels", {})
    return seen


COMPLEX = {
    "product": lambda np, x, y, m: x * y + x,
    "square": lambda np, x, y, m: np.square(x) - y,
    "real part": lambda np, x, y, m: (x + y).real * 2,
    "both parts": lambda np, x, y, m: (x * y).real ** 2 + (x * y).imag ** 2,
    "choice": lambda np, x, y, m: np.where(m, x * 2, -y),
    "choice beside a real number": lambda np, x, y, m: np.where(m, x - 1, 0.5) + 1,
    "a complex constant": lambda np, x, y, m: (x + 1j) * (2 - 1j) + y,
    "a real operand": lambda np, x, y, m: x * y.real.copy() + x,
    "a function of a part": lambda np, x, y, m: np.exp(np.negative(x + y).real) + 1,
    "conjugates": lambda np, x, y, m: np.conjugate(x + y) * x,
    "absolute value": lambda np, x, y, m: np.abs(x * 2 + y) + 1,
    "absolute value where a mask says": lambda np, x, y, m: np.where(m, np.abs(x + y), y.real),
    "a real operand that all rows read": lambda np, x, y, m: (x * 1j + m[-1]) * y - y.real[-1] * x,
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("shape", [(701,), (40, 33), (30, 30)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_arithmetic_is_bit_equal_to_numpys(name: str, shape: tuple[int, ...]) -> None:
    x, y, mask = numbers(1, shape), numbers(2, shape), numbers(3, shape).real > 0
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = np.where(finite, x, 1), np.where(finite, y, 1 - 1j)
    expected = COMPLEX[name](np, x, y, mask)
    found = COMPLEX[name](dnumpy, *map(dnumpy.array, (x, y, mask)))
    assert bits(found) == bits(expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_of_specials_are_numpys_but_for_the_sign_of_nan() -> None:
    grid = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
    x, y = (g.ravel().copy() for g in np.meshgrid(grid, grid))
    found, expected = dnumpy.array(x) * dnumpy.array(y) + 1, x * y + 1
    assert bits(found) == bits(expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_absolute_values_of_specials_are_numpys() -> None:
    grid = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
    assert bits(np.abs(-grid)) == bits(dnumpy.abs(dnumpy.negative(dnumpy.array(grid))))


def test_this_machine_multiplies_in_a_known_way() -> None:
    assert parts.fuses() is not None
    assert parts.fuses_modulus() is not None


def escape(np: Any, c: Any, rounds: int) -> Any:
    """Iterate what has not escaped."""
    z = np.zeros_like(c)
    times = np.zeros(c.shape, np.int64)
    alive = np.ones(c.shape, bool)
    for _ in range(rounds):
        z[alive] = z[alive] ** 2 + c[alive]
        alive &= z.real**2 + z.imag**2 <= 4.0
        times[alive] += 1
    return z, times, alive


def julia(np: Any, z: Any, rounds: int) -> Any:
    """Iterate what is still near."""
    times = np.zeros(z.shape, int)
    for _ in range(rounds):
        near = np.abs(z) < 2
        z[near] = z[near] ** 2 + (-0.8 + 0.156j)
        times += near
    return z, times


@pytest.mark.parametrize("rounds", [2, 12])
def test_loops_with_absolute_values_are_loops(rounds: int, rolls: list[Any]) -> None:
    draw = np.random.default_rng(rounds)
    z = draw.uniform(-1.5, 1.5, (37, 29)) + 1j * draw.uniform(-1.5, 1.5, (37, 29))
    expected = julia(np, z.copy(), rounds)
    found = julia(dnumpy, dnumpy.array(z), rounds)
    for x, y in zip(found, expected, strict=True):
        assert bits(x) == bits(y)
    if rounds > 8 and config.mode != "split":
        assert any(kernels_with_loops(rolls))


@pytest.mark.parametrize("rounds", [1, 3, 9, 26])
def test_escape_times_are_numpys_however_long_the_loop(rounds: int, rolls: list[Any]) -> None:
    draw = np.random.default_rng(rounds)
    c = draw.uniform(-2, 1, (37, 29)) + 1j * draw.uniform(-1.5, 1.5, (37, 29))
    expected = escape(np, c, rounds)
    found = escape(dnumpy, dnumpy.array(c), rounds)
    for x, y in zip(found, expected, strict=True):
        assert bits(x) == bits(y)
    if rounds > 8 and config.mode != "split":
        assert kernels_with_loops(rolls) == [rounds - 2] * len(rolls) != []


STEPS = (
    "x = x * a + y",
    "y = y - x * 0.5",
    "x = np.maximum(x, b)",
    "y = np.where(x > y, a, y) + 1",
    "x, y = y, x",
    "n = n + (x > b)",
    "n = n * 3 - 1",
    "x = x + n",
)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS), min_size=2, max_size=6),
    st.integers(1, 12),
    st.booleans(),
)
def test_any_loop_gives_what_numpy_gives(steps: list[str], rounds: int, matrix: bool) -> None:
    draw = np.random.default_rng(rounds)
    shape = (23, 31) if matrix else (1300,)
    a, b = draw.uniform(-1, 1, (2, *shape))

    def run(np: Any, a: Any, b: Any) -> Any:
        env = {"np": np, "a": a, "b": b, "x": a, "y": b, "n": np.zeros(shape, np.int64)}
        for _ in range(rounds):
            for line in steps:
                exec(line, env)
        return env["x"], env["y"], env["n"]

    with np.errstate(all="ignore"):
        expected = run(np, a, b)
        found = run(dnumpy, dnumpy.array(a), dnumpy.array(b))
        for x, y in zip(found, expected, strict=True):
            assert bits(x) == bits(y)


def test_a_kernel_of_few_operations_is_no_loop(rolls: list[Any]) -> None:
    x = dnumpy.array(np.arange(100.0))
    np.testing.assert_array_equal(np.asarray(x * 2 + 1), np.arange(100.0) * 2 + 1)
    assert kernels_with_loops(rolls) == []
