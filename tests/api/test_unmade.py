"""Zeros and ones that have no memory until somebody wants it behave as those that have."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy
from dnumpy.api.buffer import Buffer
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE = (600, 500)
X = numpy.random.default_rng(0).integers(-5, 5, SHAPE).astype(float)  # sums of which are exact


@pytest.fixture(autouse=True)
def _managed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", min(config.eager_below, X.size))


def _writes_item(np: Any, z: Any) -> Any:
    z[3, 4] = 7
    return z


def _writes_rows(np: Any, z: Any) -> Any:
    z[1:-1] = np.array(X)[2:]
    return z


def _writes_through_a_view(np: Any, z: Any) -> Any:
    seen = z.T[5:9]
    z[6, 5] = 2
    seen[1:3] += 1
    return [z, seen]


def _writes_while_a_reader_waits(np: Any, z: Any) -> Any:
    before = z + np.array(X)
    z[2] = 5
    z += 1
    return [before, z]


def _fills(np: Any, z: Any) -> Any:
    seen = z[::2]
    z.fill(3)
    return [z, seen]


def _is_written_by_a_ufunc(np: Any, z: Any) -> Any:
    np.add(np.array(X), 1, out=z, where=np.array(X) > 0)
    return z


def _adds_at_places(np: Any, z: Any) -> Any:
    np.add.at(z, ([1, 1, 2], [0, 0, 3]), 1)
    return z


USES: dict[str, Callable[[Any, Any], Any]] = {
    "an item": lambda np, z: z[3, 4],
    "a row": lambda np, z: z[3],
    "sum": lambda np, z: [z.sum(), z.sum(axis=0), (z + 1).max()],
    "copy": lambda np, z: z.copy(),
    "deepcopy": lambda np, z: copy.deepcopy(z),
    "pickle": lambda np, z: pickle.loads(pickle.dumps(z)),
    "reshape": lambda np, z: z.reshape(-1)[::7],
    "transposed product": lambda np, z: z.T @ np.array(X),
    "astype": lambda np, z: z.astype("i4") - 2,
    "concatenate": lambda np, z: np.concatenate([z, np.array(X)]),
    "in place": lambda np, z: z.__iadd__(np.array(X)),
    "text": lambda np, z: str(z),
    "a mask": lambda np, z: z[np.array(X) > 3],
    "without a copy": lambda np, z: numpy.asarray(z, copy=False),
    "its negative": lambda np, z: 1 / -z,
    "a list of it": lambda np, z: z[:2, :2].tolist(),
    "an item written": _writes_item,
    "rows written": _writes_rows,
    "a view written": _writes_through_a_view,
    "a reader before a write": _writes_while_a_reader_waits,
    "filled": _fills,
    "out of a ufunc": _is_written_by_a_ufunc,
    "added at places": _adds_at_places,
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda np: np.zeros(SHAPE),
    "zeros of longlong": lambda np: np.zeros(SHAPE, np.longlong),
    "ones": lambda np: np.ones(SHAPE, numpy.dtype("f4")),
    "zeros like": lambda np: np.zeros_like(np.array(X)),
    "ones like": lambda np: np.ones_like(np.array(X), dtype=complex),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_every_use_gives_what_numpy_gives(maker: str, use: str) -> None:
    made = MAKERS[maker](dnumpy)
    assert made._buf.unmade
    try:
        expected = USES[use](numpy, MAKERS[maker](numpy))
    except TypeError as error:
        with pytest.raises(type(error)):
            USES[use](dnumpy, made)
        return
    found = USES[use](dnumpy, made)
    pairs = zip(found, expected, strict=True) if type(expected) is list else [(found, expected)]
    for one, other in pairs:
        numpy.testing.assert_array_equal(numpy.asarray(one), numpy.asarray(other), strict=True)


def test_what_is_only_added_to_needs_no_memory_of_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Buffer] = []
    monkeypatch.setattr(Buffer, "make", made.append)
    x = dnumpy.array(X)
    total = dnumpy.zeros(SHAPE)
    total += x
    total += x
    numpy.testing.assert_array_equal(numpy.asarray(total), X + X)
    assert not made


def test_memory_is_made_once_and_shared_with_what_sees_it() -> None:
    z = dnumpy.zeros(SHAPE)
    one, other = numpy.asarray(z), numpy.asarray(z)
    one[1, 2] = 4
    assert other[1, 2] == z[1, 2] == 4


def test_what_the_c_library_need_not_clear_is_made_at_once() -> None:
    assert not dnumpy.zeros((33 << 20) // 8)._buf.unmade


@pytest.mark.parametrize("shape", [(-1, SHAPE[1]), (2.5, 3), "ab", (1 << 70,)])
def test_a_shape_that_is_none_raises_as_in_numpy(shape: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        numpy.zeros(shape)
    with pytest.raises(expected.type) as found:
        dnumpy.zeros(shape)
    assert str(found.value) == str(expected.value)


def test_threads_that_write_at_once_all_write_to_one_memory() -> None:
    for _ in range(20):
        z = dnumpy.zeros(SHAPE)
        start = threading.Barrier(4)

        def write(row: int, z: Any = z, start: threading.Barrier = start) -> None:
            start.wait()
            z[row, 3] = row + 1

        threads = [threading.Thread(target=write, args=(row,)) for row in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert z[:4, 3].tolist() == [1, 2, 3, 4]
