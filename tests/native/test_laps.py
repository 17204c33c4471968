"""Arrays of middling size wait where they are told to, and are NumPy's in every other respect."""

from __future__ import annotations

import operator
import random
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api import quick
from dnumpy.api.array import concrete
from dnumpy.config import EAGER_BELOW
from dnumpy.expr import origin
from tests.programs import check
from tests.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

BETWEEN = 100_000
MANY = 1 << 40  # laps


def wait_from(least: int) -> None:
    """Let operations on so many elements wait, whatever is faster."""
    native.bind_laps(
        least=least,
        most=EAGER_BELOW,
        ended=lambda: (True, MANY),
        begins=lambda _code, _instruction: (True, MANY),
        site_here=origin.here,
        compute=concrete,
    )


@pytest.fixture
def arrays_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)
    wait_from(1 << 16)
    yield wait_from
    quick.bind_laps()


def drawn(seed: int = 0, count: int = BETWEEN) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count) * 3


def waits(x: Any) -> bool:
    return x._np is None and x._buf.pending


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "two arrays": lambda x: x + x,
    "a number after": lambda x: x * 2.5,
    "a number before": lambda x: 2 - x,
    "one operand": lambda x: -x,
    "a comparison": lambda x: x > 0,
    "a ufunc": lambda x: dnumpy.sqrt(x) if type(x) is dnumpy.ndarray else np.sqrt(x),
    "a ufunc of two": lambda x: (dnumpy if type(x) is dnumpy.ndarray else np).maximum(x, 0.5),
    "into the array": lambda x: operator.iadd(x, 1.5),
    "beside a little one": lambda x: x.reshape(-1, 1)[:, :] + x[:1],
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.usefixtures("arrays_wait")
def test_an_operation_waits_and_gives_numpys_bits(name: str) -> None:
    operation = OPERATIONS[name]
    ours = dnumpy.array(np.abs(drawn()))
    found = operation(ours)
    assert waits(found) or name == "beside a little one"
    assert np.asarray(found).tobytes() == operation(np.abs(drawn())).tobytes()
    assert (
        np.asarray(ours).tobytes()
        == (np.asarray(found) if found is ours else np.abs(drawn())).tobytes()
    )


@pytest.mark.usefixtures("arrays_wait")
def test_memory_is_handed_over_and_not_copied() -> None:
    x = dnumpy.array(drawn())
    address = x._np.__array_interface__["data"][0]
    found = x + 1
    assert x._np is None
    assert x._buf.expr.value.__array_interface__["data"][0] == address
    assert np.asarray(found).tobytes() == (drawn() + 1).tobytes()


KEEPERS: dict[str, Callable[[Any], Any]] = {
    "a view": lambda x: x[1:],
    "an array of NumPy's": np.asarray,
    "a buffer": memoryview,
    "an address": lambda x: x.ctypes.data,
    "an interface": lambda x: x.__array_interface__["data"],
}


@pytest.mark.parametrize("name", KEEPERS)
@pytest.mark.usefixtures("arrays_wait")
def test_memory_that_somebody_else_may_see_stays_where_it_is(name: str) -> None:
    x = dnumpy.array(drawn())
    kept = KEEPERS[name](x)
    memory = x._np
    found = x + 1
    assert x._np is memory
    assert not waits(found)
    x += 1
    assert x._np is memory
    if name in {"a view", "an array of NumPy's", "a buffer"}:
        assert np.asarray(kept)[-1] == drawn()[-1] + 1


@pytest.mark.usefixtures("arrays_wait")
def test_an_address_of_a_view_keeps_the_array_in_place() -> None:
    x = dnumpy.array(drawn())
    address = x[1:].ctypes.data
    x += 1
    assert x._np.ctypes.data + 8 == address


@pytest.mark.parametrize("kind", ["locked", "columns first", "objects", "a mapped file"])
@pytest.mark.usefixtures("arrays_wait")
def test_what_the_engine_does_not_hold_is_numpys(kind: str, tmp_path: Any) -> None:
    x = dnumpy.array(
        drawn(count=70_000).reshape(2, -1), order="F" if kind == "columns first" else "C"
    )
    if kind == "locked":
        x.flags.writeable = False
    elif kind == "objects":
        x = x.astype(object)
    elif kind == "a mapped file":
        x.tofile(tmp_path / "values")
        x = dnumpy.asarray(np.memmap(tmp_path / "values", "f8", "r+", shape=x.shape))
    found = x * 2
    assert not waits(found)
    assert found.flags.f_contiguous == (kind == "columns first")
    assert np.array_equal(np.asarray(found), drawn(count=70_000).reshape(2, -1) * 2)


@pytest.mark.usefixtures("arrays_wait")
def test_beside_an_array_of_numpys_it_is_numpys_turn() -> None:
    outside = drawn(1)
    x = dnumpy.array(drawn()) + 1
    assert waits(x)
    found = x * outside
    assert not waits(x)
    assert not waits(found)
    outside[...] = 0
    assert np.asarray(found).tobytes() == ((drawn() + 1) * drawn(1)).tobytes()


@pytest.mark.usefixtures("arrays_wait")
def test_another_thread_does_not_wait() -> None:
    x = dnumpy.array(drawn())
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(x + 1))
    thread.start()
    thread.join()
    assert not waits(found[0])
    assert waits(x + 1)


@pytest.mark.usefixtures("arrays_wait")
def test_writes_and_views_before_and_after_are_seen_by_each_other() -> None:
    def program(library: Any) -> list[np.ndarray]:
        x = library.array(drawn())
        y = x * 2
        x += y
        part = x[10:-10]
        z = part + 1
        x[5:50] = 7
        y -= x
        part *= 2
        return [np.asarray(a) for a in (x, y, part, z)]

    for found, expected in zip(program(dnumpy), program(np), strict=True):
        assert found.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("arrays_wait")
def test_a_fault_is_told_at_the_line() -> None:
    x = dnumpy.array(drawn())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = np.asarray(dnumpy.sqrt(x) + 1)
    assert [w.filename for w in caught] == [__file__]
    assert "invalid value encountered in sqrt" in str(caught[0].message)
    with np.errstate(invalid="ignore"):
        assert found.tobytes() == (np.sqrt(drawn()) + 1).tobytes()
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        dnumpy.sqrt(x)


ROUNDED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, x, m: x.sum(),
    "mean": lambda np, x, m: x.mean(),
    "std": lambda np, x, m: x.std(),
    "prod": lambda np, x, m: (x / 3).prod(),
    "sums of rows": lambda np, x, m: m.sum(1),
    "sums of columns": lambda np, x, m: m.sum(0),
    "variances": lambda np, x, m: m.var(0),
    "a product of vectors": lambda np, x, m: x @ x,
    "a product of a matrix": lambda np, x, m: m @ m[0],
    "a product of matrices": lambda np, x, m: m.T @ m,
    "einsum": lambda np, x, m: np.einsum("ij,ij->i", m, m),
    "a norm": lambda np, x, m: np.linalg.norm(m, axis=1),
    "a running sum": lambda np, x, m: np.cumsum(m, 1),
    "covariances": lambda np, x, m: np.cov(m[:20]),
    "a transform": lambda np, x, m: np.fft.fft(x),
    "a softmax": lambda np, x, m: np.exp(m - m.max(1, keepdims=True)).sum(1),
    "of a part": lambda np, x, m: m[1:-1, 1:-1].sum(1),
    "of a transpose": lambda np, x, m: (m.T + 1).sum(0),
    "of what a mask picks": lambda np, x, m: x[x > 0].sum(),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.usefixtures("arrays_wait")
def test_what_is_made_of_what_waits_has_numpys_bits(name: str, dtype: str) -> None:
    def program(library: Any) -> np.ndarray:
        x = library.array(drawn().astype(dtype)) + 1
        m = library.array(drawn(1).astype(dtype).reshape(250, -1)) * 2
        with np.errstate(all="ignore"):
            return np.asarray(ROUNDED[name](library, x, m))

    found, expected = program(dnumpy), program(np)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_of_waiting_arrays(seed: int, arrays_wait: Callable[[int], None]) -> None:
    arrays_wait(1)
    check(Writer(random.Random(seed)).program())


def test_a_loop_that_gains_by_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)
    monkeypatch.setattr(dnumpy.config, "middling", "wait")
    quick.bind_laps()
    x = dnumpy.array(drawn())
    assert waits(x * 2 + 1)
    monkeypatch.setattr(dnumpy.config, "middling", "now")
    quick.bind_laps()
    assert not waits(x * 2 + 1)
    quick.bind_laps()
