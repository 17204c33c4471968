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
from dnumpy.api import lone, quick
from dnumpy.api.array import concrete
from dnumpy.config import EAGER_BELOW
from dnumpy.expr import origin
from dnumpy.expr.laps import AS_EVER, AT_ONCE, WAITING
from dnumpy.runtime import direct
from tests.programs import check
from tests.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

BETWEEN = 100_000
MANY = 1 << 40  # laps


def go(way: int, least: int, most: int = EAGER_BELOW) -> None:
    """Let operations on so many elements go one way, whatever is faster."""
    dnumpy.engine.window.at_once = MANY if way == AT_ONCE else 0
    native.bind_laps(
        least=least,
        most=most,
        ended=lambda *_: (way, MANY),
        begins=lambda _code, _instruction, _elements: (way, MANY),
        site_here=origin.here,
        compute=concrete,
    )


def wait_from(least: int) -> None:
    """Let operations on so many elements wait."""
    go(WAITING, least)


@pytest.fixture
def arrays_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)
    wait_from(1 << 16)
    yield wait_from
    quick.bind_laps()


@pytest.fixture
def all_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have all computed at once, as where that is faster."""
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)
    go(AT_ONCE, 1 << 16)
    yield
    go(AS_EVER, 1 << 16)
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


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "where": lambda xp, x: xp.where(x > 1, x, -x),
    "where by numbers": lambda xp, x: xp.where(x > 1, 2.5, 0),
    "roll": lambda xp, x: xp.roll(x, 3, 1),
    "rolls": lambda xp, x: xp.roll(xp.roll(x, -1, 0), 1, axis=1),
    "clip": lambda xp, x: xp.clip(x, 0.5, 2),
    "round": lambda xp, x: xp.round(x, 2),
    "around": lambda xp, x: xp.around(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("arrays_wait")
def test_a_function_waits_where_operators_do(name: str) -> None:
    values = np.abs(drawn()).reshape(-1, 100)
    ours = dnumpy.array(values)
    assert waits(ours + 1)  # the loop's own
    for _ in range(3):  # the third is recorded as the second was
        found = FUNCTIONS[name](dnumpy, ours)
        assert waits(found)
        assert np.asarray(found).tobytes() == FUNCTIONS[name](np, values).tobytes()


@pytest.mark.usefixtures("arrays_wait")
def test_a_function_waits_nowhere_else() -> None:
    values = drawn().reshape(-1, 100)
    x = dnumpy.array(values)
    assert waits(dnumpy.array(values) + 1)
    kept = np.asarray(x)  # whose memory stays where it is
    for function in FUNCTIONS.values():
        assert not waits(function(dnumpy, dnumpy.array(values[:10])))
        assert np.asarray(function(dnumpy, x)).tobytes() == function(np, values).tobytes()
    out = dnumpy.zeros(values.shape)
    assert np.asarray(dnumpy.clip(x, 0, 1, out=out)).tobytes() == values.clip(0, 1).tobytes()
    assert np.asarray(out).tobytes() == values.clip(0, 1).tobytes()
    assert kept.tobytes() == values.tobytes()
    go(AS_EVER, 1 << 16)
    assert not waits(dnumpy.where(x > 0, x, 0))


@pytest.mark.parametrize("dtype", ["u1", "i1", "?"])
@pytest.mark.usefixtures("arrays_wait")
def test_so_do_more_booleans_and_bytes(dtype: str) -> None:
    grid = (drawn(count=640_000) > 1).astype(dtype).reshape(800, 800)
    ours = dnumpy.array(grid)

    def neighbours(xp: Any, x: Any) -> Any:
        some = x ^ xp.roll(xp.roll(x, 1, 0), -1, 1)
        return (some | x) & (x[::-1] == 1)

    expected = neighbours(np, grid)
    found = neighbours(dnumpy, ours)
    assert waits(found)
    assert np.asarray(found).tobytes() == expected.tobytes()
    go(AS_EVER, 1 << 16)
    assert not waits(neighbours(dnumpy, dnumpy.array(grid)))


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


def begun() -> None:
    """Have a loop that waits: the way is told where an operation of it is met."""
    assert waits(dnumpy.array(drawn()) + 1)


VIEWS: dict[str, Any] = {
    "a slice": slice(1, -1),
    "slices": np.s_[1:-1, 2:],
    "a column": np.s_[:, 3],
    "every other": np.s_[::2],
    "a new axis": np.s_[None],
    "all": np.s_[...],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.usefixtures("arrays_wait")
def test_an_array_is_handed_over_where_a_view_is_taken(name: str) -> None:
    def program(library: Any) -> list[Any]:
        x = library.array(drawn().reshape(-1, 10))
        part = x[VIEWS[name]]
        y = part * 2
        part += 1
        x[3:9] = 4
        y = y + part
        part[...] = y
        return [x, part, y]

    begun()
    ours = program(dnumpy)
    assert ours[0]._np is None
    for found, expected in zip(ours, program(np), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("name", KEEPERS)
@pytest.mark.usefixtures("arrays_wait")
def test_a_view_of_memory_that_somebody_else_may_see_is_numpys(name: str) -> None:
    x = dnumpy.array(drawn())
    kept = KEEPERS[name](x)
    memory = x._np
    begun()
    part = x[1:]
    assert x._np is memory
    part += 1
    if name in {"a view", "an array of NumPy's", "a buffer"}:
        assert np.asarray(kept)[-1] == drawn()[-1] + 1


@pytest.mark.usefixtures("arrays_wait")
def test_an_element_and_a_row_leave_the_array_with_numpy() -> None:
    x = dnumpy.array(drawn().reshape(-1, 10))
    begun()
    assert x[0, 0] == drawn()[0]
    assert x[3].shape == (10,)
    assert x._np is not None


@pytest.mark.usefixtures("arrays_wait")
def test_a_stencil_waits() -> None:
    def program(library: Any) -> Any:
        u = library.array(drawn().reshape(250, -1))
        for _ in range(5):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u[1:-1, 1:-1] += 0.1 * (around - 4 * u[1:-1, 1:-1])
            u[0] = u[1]
            u[:, -1] = 0.0
        return u

    begun()
    ours = program(dnumpy)
    assert waits(ours)
    assert np.asarray(ours).tobytes() == program(np).tobytes()


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


PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "of rows": lambda np, tall, y: tall.T @ y,
    "of rows first": lambda np, tall, y: y @ tall,
    "dot": lambda np, tall, y: np.dot(y, tall),
    "the method": lambda np, tall, y: y.dot(tall),
    "of a sum": lambda np, tall, y: tall.T @ (y + 1),
    "tensordot": lambda np, tall, y: np.tensordot(tall, y, ((0,), (0,))),
    "einsum": lambda np, tall, y: np.einsum("ij,i->j", tall, y),
    "matmul": lambda np, tall, y: np.matmul(y, tall),
    "of what large ones give": lambda np, tall, y: tall.T @ (tall @ np.ones(9) - y),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_product_with_a_large_array_has_the_same_bits_either_way(
    name: str, dtype: str, arrays_wait: Callable[[int], None]
) -> None:
    def program() -> bytes:
        tall = dnumpy.array(drawn(count=9 * BETWEEN).astype(dtype).reshape(-1, 9))
        y = dnumpy.array(drawn(1).astype(dtype)) * 2
        return np.asarray(PRODUCTS[name](dnumpy, tall, y)).tobytes()

    waited = [program() for _ in range(3)]
    go(AS_EVER, 1 << 16)
    assert [program() for _ in range(3)] == waited


LARGE = 400_000


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.usefixtures("all_at_once")
def test_a_large_operation_is_computed_at_once_and_gives_numpys_bits(name: str) -> None:
    values = np.abs(drawn(count=LARGE))
    operation = OPERATIONS[name]
    for _ in range(3):  # by the second of which the line is known
        ours = dnumpy.array(values)
        found = operation(ours)
        assert not waits(found)
        assert np.asarray(found).tobytes() == operation(values.copy()).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("name", [name for name in ROUNDED if "product" not in name])
def test_what_is_computed_at_once_has_the_bits_of_what_waits(
    name: str, dtype: str, all_at_once: None
) -> None:
    def program() -> bytes:
        x = dnumpy.array(drawn(count=LARGE).astype(dtype)) + 1
        m = dnumpy.array(drawn(1, LARGE).astype(dtype).reshape(500, -1)) * 2
        with np.errstate(all="ignore"):
            found = ROUNDED[name](dnumpy, x, m)
            assert type(found) is not dnumpy.ndarray or not ways[-1] or not waits(found)
            return np.asarray(found).tobytes()

    ways = [True]
    first = [program() for _ in range(2)]
    go(AS_EVER, 1 << 16)
    ways.append(False)
    assert [program() for _ in range(2)] == first


INEXACT: dict[str, Callable[[Any], Any]] = {
    "a product": lambda x: x @ x,
    "a product by a function": lambda x: dnumpy.dot(x, x),
    "complex numbers": lambda x: x * 1j + x,
}


@pytest.mark.parametrize("name", INEXACT)
def test_a_loop_whose_bits_would_change_has_but_one_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)
    told: list[float] = []

    def ended(elements: float, _mixed: int, _shortest: float) -> tuple[int, int]:
        told.append(elements)
        return AS_EVER, 1

    native.bind_laps(
        least=1 << 16,
        most=EAGER_BELOW,
        ended=ended,
        begins=lambda _code, _instruction, _elements: (AS_EVER, 1),
        site_here=origin.here,
        compute=concrete,
    )
    x = dnumpy.array(drawn(count=LARGE))
    for _ in range(3):
        y = x * 2
        y = INEXACT[name](y) if name == "complex numbers" else y + float(INEXACT[name](y))
    quick.bind_laps()
    assert len(told) >= 2
    assert told[-1] == float("inf")


@pytest.mark.usefixtures("all_at_once")
def test_what_is_computed_at_once_tells_of_faults_at_the_line() -> None:
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dnumpy.sqrt(dnumpy.array(drawn(count=LARGE)))
        assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few = 8
    for module in (lone, direct):
        monkeypatch.setattr(module, "EAGER_BELOW", few)
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", few)
    go(AT_ONCE, 1, few)
    try:
        check(Writer(random.Random(seed)).program())
    finally:
        go(AS_EVER, 1 << 16)
        quick.bind_laps()


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


@pytest.mark.filterwarnings("error")
def test_what_is_broadcast_of_an_array_that_waited_warns_of_nothing(monkeypatch):
    monkeypatch.setattr(dnumpy.config, "middling", "wait")
    made = dnumpy.ones((50, 6, 10, 10), "f4")
    for _ in range(3):
        made = made * 2 + 1
        shown = made[:, :, 1:-1, 1:-1][:, :, :, None, :, None]
        other = dnumpy.zeros((50, 6, 8, 2, 8, 2), "f4")
        shown, _ = dnumpy.broadcast_arrays(shown, other)
        mask = other == 0
        other[mask] = shown[mask]
        assert float(other.sum()) == float(made[0, 0, 0, 0]) * other.size
