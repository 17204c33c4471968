"""Elements read and written by whole numbers: what NumPy gives, stores, refuses and tells of."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.modeless("what lies in this process's memory"),
]


@pytest.fixture(autouse=True)
def _eager_below() -> Iterator[None]:
    before = dnumpy.config.eager_below
    yield
    dnumpy.config.eager_below = before


def table(dtype: str, rows: int) -> np.ndarray:
    numbers = np.arange(rows * 4) % 100
    if dtype == "M8[D]":
        return numbers.astype("i8").view(dtype).reshape(rows, 4)
    return numbers.astype(dtype).reshape(rows, 4)


def read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::2],
    "one axis": lambda a: a[:, 1],
    "no axes": lambda a: a[1, 1, ...],
    "empty": lambda a: a[:0],
    "not to be written": read_only,
    "three axes": lambda a: a.reshape(-1, 2, 2),
}
DTYPES = ["f8", "i8", "f4", "i4", "u1", "u8", "?", "c16", "f2", "g", ">f8", ">i8", "S3", "U3", "O",
          "M8[D]"]  # fmt: skip
KINDS = [(dtype, False) for dtype in DTYPES] + [(dtype, True) for dtype in ("f8", "i8", "f4")]
INDICES = st.one_of(
    st.integers(-6, 6),
    st.sampled_from([2**70, -(2**70), 2**62, True, False, None, ..., slice(1), 1.0, "x"]),
    st.sampled_from([np.int64(1), np.int8(-1), np.True_]),
)
KEYS = st.one_of(INDICES, st.lists(INDICES, max_size=4).map(tuple))
VALUES = st.sampled_from([
    0, 1, -1, 7, 2**40, 2**63, -(2**63), 2**64, 10**400, True, 2.5, -1.0, float("nan"),
    float("inf"), 1e300, 3j, np.float64(-1.0), np.float64(2.5), np.float32(1.5), np.int64(-1),
    np.int64(9), np.int8(3), np.uint64(2**63), np.bool_(True), None, "5", b"6", [1.0],
    np.array(4.0), np.array([1.0, 2.0]),
])  # fmt: skip


def outcome(act: Callable[[], Any]) -> Any:
    """Return the type and value of what is read, or what is raised, and what is told."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = act()
        except Exception as error:  # noqa: BLE001 - whatever NumPy raises
            found = type(error).__name__, str(error)
        else:
            array = isinstance(found, (np.ndarray, dnumpy.ndarray))
            found = "array" if array else type(found), repr(np.asarray(found).tolist())
    return found, [(w.category.__name__, str(w.message)) for w in told]


def ours(of: np.ndarray, layout: str) -> Any:
    """Return the same view of the same array of ours."""
    if layout == "not to be written":
        made = dnumpy.array(of)
        made.flags.writeable = False
        return made
    return LAYOUTS[layout](dnumpy.array(of))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "managed"), KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_an_element_is_read_as_numpy_reads_it(
    dtype: str, layout: str, managed: bool, data: st.DataObject
) -> None:
    values = table(dtype, 6)
    dnumpy.config.eager_below = 8 if managed else 1 << 14
    x, y = LAYOUTS[layout](values), ours(values, layout)
    np.asarray(y[:1] if y.ndim else y)
    for _ in range(3):
        key = data.draw(KEYS)
        assert outcome(lambda: y[key]) == outcome(lambda: x[key])  # noqa: B023 - called at once


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "managed"), KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_an_element_is_written_as_numpy_writes_it(
    dtype: str, layout: str, managed: bool, data: st.DataObject
) -> None:
    values = table(dtype, 6)
    dnumpy.config.eager_below = 8 if managed else 1 << 14
    x, y = LAYOUTS[layout](values.copy()), ours(values, layout)
    for _ in range(3):
        key, value = data.draw(KEYS), data.draw(VALUES)
        expected = outcome(lambda: x.__setitem__(key, value))  # noqa: B023 - called at once

        def write() -> None:
            y[key] = value  # noqa: B023 - called at once

        assert outcome(write) == expected
        assert np.asarray(y).tobytes() == x.tobytes() or dtype in "gO"


def test_rows_that_are_one_are_told_of_when_they_are_written() -> None:
    with pytest.warns(DeprecationWarning, match="overlapping memory"):
        np.broadcast_arrays(np.ones(1), np.ones(3))[0][1] = 2.0
    shown = dnumpy.broadcast_arrays(dnumpy.ones(1), dnumpy.ones(3))[0]
    with pytest.warns(DeprecationWarning, match="overlapping memory"):
        shown[1] = 2.0


@pytest.mark.parametrize("offset", [1, 3])
def test_memory_out_of_alignment(offset: int) -> None:
    memory = bytearray(8 * 5 + offset)
    x = np.frombuffer(memory, "f8", 4, offset)
    y = dnumpy.frombuffer(memory, "f8", 4, offset)
    y[2] = 2.5
    y[-1] = 3
    assert [y[k] for k in range(4)] == x.tolist() == [0.0, 0.0, 2.5, 3.0]


def test_what_waits_for_an_array_sees_it_as_it_was() -> None:
    x = dnumpy.array(np.arange(40_000.0))
    for k in range(4):
        after = x * 2.0
        x[k] = -1.0
        assert after[k] == 2.0 * k
        assert x[k] == -1.0
    assert dnumpy.zeros(40_000)[39_999] == 0.0
    unmade = dnumpy.zeros(40_000)
    unmade[3] = 1
    assert unmade.sum() == 1.0


@pytest.mark.parametrize("size", [4, 40_000])
def test_a_list_deeper_than_the_region_is_refused(size: int) -> None:
    for x in (np.arange(float(size)), dnumpy.arange(float(size))):
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            x[1, ...] = [1.0]
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            x[:2] = [[1.0, 2.0]]
        assert x[0] == 0.0


WHOLE = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "q", "Q")


def keys_by_scalars() -> Iterator[Any]:
    """Keys in which scalars of NumPy's stand where Python's integers might."""
    for code in WHOLE:
        for number in (0, 2, -1, 99):
            if number >= 0 or code not in {"u1", "u2", "u4", "u8", "Q"}:
                yield np.dtype(code).type(number)
    two, one = np.int64(2), np.uint8(1)
    for other in (
        0,
        one,
        slice(None),
        slice(one, two),
        slice(two, None, np.int8(-1)),
        ...,
        None,
        [0],
    ):
        yield from ((two, other), (other, one), (other, one, other), (np.int32(9), other))
    yield from (slice(one, two), slice(None, np.uint64(2)), slice(np.int8(-2), None), (two,))
    yield from (
        np.True_,
        np.float64(1),
        np.timedelta64(1),
        slice(np.float64(1), 2),
        np.uint64(2**63),
    )


SEEN = {
    "elements": lambda xp: xp.arange(10.0),
    "rows": lambda xp: xp.arange(12).reshape(3, 4),
    "layers": lambda xp: xp.ones((3, 3, 4), "i2"),
    "none": lambda xp: xp.ones(()),
    "large": lambda xp: xp.arange(400_000),
    "large rows": lambda xp: xp.arange(360_000.0).reshape(600, 600),
    "fields": lambda xp: xp.zeros(3, [("a", "f8"), ("b", "i4")]),
    "objects": lambda xp: xp.array([1, "x", None, 2.5], object),
}


def removed(x: Any, key: Any) -> None:
    del x[key]


def shown_of(x: Any, key: Any) -> Any:
    return x[key]


def filled(x: Any, key: Any) -> Any:
    x[key] = 7
    return x


def increased(x: Any, key: Any) -> Any:
    x[key] += 1
    return x


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("does", [shown_of, filled, increased, removed])
def test_scalars_are_indices_as_integers_are(seen: str, does: Callable[..., Any]) -> None:
    def told(xp: Any, key: Any) -> Any:
        try:
            found = does(SEEN[seen](xp), key)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return type(error), str(error)
        values = np.asarray(found)
        return type(found).__name__, values.dtype, values.shape, values.tolist()

    for key in keys_by_scalars():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert told(dnumpy, key) == told(np, key), key


def test_scalars_are_extents_and_elements_of_lists() -> None:
    two, half, three = np.int64(2), np.float64(0.5), np.int32(3)
    programs: list[Callable[[Any], Any]] = [
        *(lambda xp, f=f, n=n: getattr(xp, f)(n) for f in ("zeros", "ones") for n in (two, three)),
        *(lambda xp, n=n: xp.zeros(n, "i4") for n in ((two, 3), (3, two), (two, half), -two)),
        lambda xp: xp.full((two, three), half),
        *(lambda xp, x=x: xp.array(x) for x in (
            [two, half], [half, 1.0], [half, 1], [two, 3], [two, True], [[two], [3]], [three, two],
            [half, np.float32(1)], (two, 2**62), [two, 2**63], [[half, 1.0], [2.0, half]],
        )),
        lambda xp: xp.array([two, 2**53 + 1], float),
    ]  # fmt: skip
    for program in programs:
        outcomes = []
        for xp in (np, dnumpy):
            try:
                values = np.asarray(program(xp))
                outcomes.append((values.dtype, values.shape, values.tolist()))
            except (TypeError, ValueError, OverflowError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]
