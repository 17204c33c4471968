"""What NumPy is given at once: lists of small arrays, dates, and what it gives by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.ufuncs import IMMEDIATE
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module", autouse=True)
def _as_programs_run() -> Iterator[None]:
    kept = config.mode, config.eager_below
    config.mode, config.eager_below = "default", 1 << 18
    yield
    config.mode, config.eager_below = kept


def seen(x: Any) -> Any:
    """Return all that can be seen of a result."""
    if isinstance(x, tuple | list):
        return type(x).__name__, [seen(part) for part in x]
    plain = np.asarray(x)
    kind = "array" if isinstance(x, np.ndarray | dnumpy.ndarray) else type(x).__name__
    values = plain.tolist() if plain.dtype == object else plain.tobytes()
    return kind, plain.dtype, plain.shape, plain.strides if plain.size else (), values


def outcome(call: Callable[[Any], Any], xp: Any) -> Any:
    try:
        return seen(call(xp))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        return type(error), str(error)


A, B = np.arange(6.0), np.arange(6.0)[::-1]
LISTS = [
    [A, B], (A, B), [A], [A, B, A], [A, 2.0], [A, A[:3]], [A.reshape(2, 3), B.reshape(3, 2).T],
    [A.astype("f4"), B], [A > 2, B > 2], [A.astype(">f8")] * 2, [A.astype("M8[s]")] * 2,
    [A.reshape(2, 3), B.reshape(2, 3)], [A[:0], B[:0]], [1.0, 2.0], [], [A.astype(object)] * 2,
    [np.array(["a", "b"])] * 2, [A[0], B[0]], [[1, 2], A[:2]],
    [A.reshape(2, 3, 1), B.reshape(2, 3, 1)],
]  # fmt: skip
TAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda xp, x: xp.array(x),
    "reduce": lambda xp, x: xp.add.reduce(x),
    "maximum.reduce": lambda xp, x: xp.maximum.reduce(x),
    "reduce axis": lambda xp, x: xp.add.reduce(x, axis=-1),
    "accumulate": lambda xp, x: xp.add.accumulate(x),
    "outer": lambda xp, x: xp.multiply.outer(x, x),
}


def ours(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)([ours(part) for part in x])
    return dnumpy.array(x) if type(x) is np.ndarray else x


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("number", range(len(LISTS)))
def test_lists_of_arrays_are_taken_as_numpy_takes_them(number: int, taker: str) -> None:
    given, take = LISTS[number], TAKERS[taker]
    mixed = type(given)([x if k else ours(x) for k, x in enumerate(given)])
    expected = outcome(lambda xp: take(xp, given), np)
    assert outcome(lambda xp: take(xp, ours(given)), dnumpy) == expected
    assert outcome(lambda xp: take(xp, mixed), dnumpy) == expected


def test_an_array_of_arrays_has_memory_of_its_own() -> None:
    a, b = dnumpy.array(A), dnumpy.array(B)
    both = dnumpy.array([a, b])
    both[0, 0] = 99
    assert a[0] == 0
    assert both.base is None


DAY, STEP = np.datetime64("2020-02-28"), np.timedelta64(1, "D")
DAYS = DAY + np.arange(4)
DATES: dict[str, Callable[[Any, Any], Any]] = {
    "less a date": lambda _, d: d - d[0],
    "a date less": lambda _, d: DAY - d,
    "more": lambda _, d: d + STEP,
    "more before": lambda _, d: STEP + d,
    "compared": lambda _, d: d > DAY,
    "in place": lambda _, d: d.__iadd__(STEP),
    "chosen": lambda xp, d: xp.where(d > DAY, d, DAY),
    "maximum": lambda xp, d: xp.maximum(d, DAY),
    "durations by number": lambda _, d: (d - DAY) / STEP,
    "durations by duration": lambda _, d: (d - DAY) // STEP * 2.5,
    "an integer beside": lambda _, d: d + 1,
    "no sum of dates": lambda _, d: d + DAY,
    "filled": lambda xp, d: xp.full(3, DAY),
    "many": lambda xp, d: xp.arange(300_000) + STEP,
    "many dates": lambda xp, d: (d[0] + xp.arange(300_000)) - DAY,
}


@pytest.mark.parametrize("name", DATES)
def test_dates_beside_arrays(name: str) -> None:
    call = DATES[name]
    expected = outcome(lambda xp: call(xp, DAYS.copy()), np)
    assert outcome(lambda xp: call(xp, dnumpy.array(DAYS)), dnumpy) == expected


@pytest.mark.parametrize("name", ["qr", "svd", "eigh", "slogdet", "eig"])
def test_results_by_name_are_numpys_kinds_of_tuples(name: str) -> None:
    matrix = np.arange(9.0).reshape(3, 3) + np.eye(3) * 20
    matrix = matrix + matrix.T
    found = getattr(dnumpy.linalg, name)(dnumpy.array(matrix))
    expected = getattr(np.linalg, name)(matrix)
    assert type(found) is type(expected)
    assert seen(found) == seen(expected)
    assert found._fields == expected._fields
    assert all(type(x) is not np.ndarray for x in found)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
@pytest.mark.parametrize(
    "args",
    [(0, 1), (0, 1, 7), (2.5, -1, 3), (0, 1, 0), (1j, 2), (0, 1, -2), (True, 3, 2), (5, 5, 4)],
)
def test_ranges_of_numbers(name: str, args: Any) -> None:
    assert outcome(lambda xp: getattr(xp, name)(*args), dnumpy) == (
        outcome(lambda xp: getattr(xp, name)(*args), np)
    )


@pytest.mark.parametrize("args", [(8,), (7, 0.1), (8, 2), (0,), (2.5,), (8, np.float32(0.5))])
def test_frequencies(args: Any) -> None:
    for name in ("fftfreq", "rfftfreq"):
        found = outcome(lambda xp, name=name: getattr(xp.fft, name)(*args), dnumpy)
        assert found == outcome(lambda xp, name=name: getattr(xp.fft, name)(*args), np)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "equal": lambda xp: xp.array(["ab", "c"]) == "ab",
    "reflected": lambda xp: "ab" != xp.array(["ab", "c"]),  # noqa: SIM300 - on the right
    "of bytes": lambda xp: xp.array([b"ab", b"c"]) == b"c",
    "joined": lambda xp: xp.char.add(xp.array(["ab", "c"]), "x"),
    "added": lambda xp: xp.array(["ab", "c"]) + np.str_("x"),
    "to numbers": lambda xp: xp.array([1.0, 2.0]) + "x",
    "in place": lambda xp: xp.array([1.0, 2.0]).__iadd__("x"),
    "numbers are none": lambda xp: xp.array([1.0, 2.0]) == "1.0",
    "a field": lambda xp: xp.array([(1, 2.0), (3, 4.0)], dtype=[("x", int), ("y", "f4")])["y"],
    "chosen": lambda xp: xp.where(xp.array(["ab", "c"]) == "c", "u", "v"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    assert outcome(TEXTS[name], dnumpy) == outcome(TEXTS[name], np)


def test_text_is_written_as_numpy_writes_it() -> None:
    for xp in (np, dnumpy):
        t, a = xp.array(["ab", "c"]), xp.array([1.0, 2.0])
        t[0], t[1], a[0] = "hello", b"q", "2.5"
        assert t.tolist() == ["he", "q"]
        assert a.tolist() == [2.5, 2.0]
        with pytest.raises(ValueError, match="could not convert string to float: 'zz'"):
            a[1] = "zz"


@pytest.mark.skipif(not dnumpy.native.built, reason="the short path is in C")
def test_text_takes_the_short_path() -> None:
    assert {str, bytes, np.str_, np.bytes_} <= IMMEDIATE
