"""Functions that NumPy runs: what they write to, and what their results alias."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from tests.comparison import assert_as_numpy, grid

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("managed")


def diagonal_by_einsum(xp: Any, a: Any) -> None:
    xp.einsum("ii->i", a[:, :3])[:] = 9


def strided_write(xp: Any, a: Any) -> None:
    xp.lib.stride_tricks.as_strided(a, (2, 2), (32, 8))[0] = -1


def masked_write(xp: Any, a: Any) -> None:
    np.ma.array(a, copy=False)[1] = 7


WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    "put": lambda xp, a: xp.put(a, [0, 5], [9, 8]),
    "place": lambda xp, a: xp.place(a, a > 4, [1, 2]),
    "putmask": lambda xp, a: xp.putmask(a, a > 4, a**2),
    "fill_diagonal": lambda xp, a: xp.fill_diagonal(a, 7),
    "put_along_axis": lambda xp, a: xp.put_along_axis(a, xp.argmax(a, axis=1)[:, None], -1, axis=1),
    "copyto": lambda xp, a: xp.copyto(a, a[::-1] + 1, where=a > 3),
    "copyto_of_a_view": lambda xp, a: xp.copyto(a[:, 1], a[:, 2]),
    "nan_to_num": lambda xp, a: xp.nan_to_num(xp.log(a - 3, out=a), copy=False),
    "sort_of_a_row": lambda xp, a: xp.negative(a, out=a)[1].sort(),
    "sort_of_a_transpose": lambda xp, a: xp.negative(a, out=a).T.sort(axis=0),
    "partition": lambda _xp, a: a.partition(2, axis=1),
    "byteswap": lambda _xp, a: a.byteswap(inplace=True),
    "flat_index": lambda _xp, a: a.flat.__setitem__([0, 3], -1),
    "flat": lambda _xp, a: setattr(a.T, "flat", range(12)),
    "view_of_other_dtype": lambda xp, a: a.view(xp.int64).__setitem__(0, 0),
    "add_at": lambda xp, a: xp.add.at(a, ([0, 0, 1], [1, 1, 2]), 10),
    "shuffle": lambda xp, a: xp.random.default_rng(3).shuffle(a),
    "legacy_shuffle": lambda xp, a: xp.random.RandomState(3).shuffle(a[1]),
    "einsum_view": diagonal_by_einsum,
    "as_strided": strided_write,
    "masked_array": masked_write,
    "nditer": lambda xp, a: [x.__setitem__(..., 5) for x in xp.nditer(a, op_flags=["readwrite"])],
}


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", WRITERS)
def test_a_write_is_seen_by_every_alias_and_by_no_pending_reader(name: str) -> None:
    def program(xp: Any) -> Any:
        a = grid(xp)
        row, reader = a[1], a + 1
        WRITERS[name](xp, a)
        return a, row, reader

    assert_as_numpy(program)


OUTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda xp, a, out: xp.add(a, a, out),
    "clip": lambda xp, a, out: xp.clip(a, 2, 5, out),
    "cumsum": lambda _xp, a, out: a.cumsum(1, None, out),
    "take": lambda xp, a, out: xp.take(a, [2, 1, 0], 0, out),
    "matmul": lambda xp, a, out: xp.matmul(a, xp.eye(4), out),
    "dot": lambda xp, a, out: xp.dot(a, xp.eye(4), out),
    "random": lambda xp, _a, out: xp.random.default_rng(1).random(out=out),
    "round": lambda xp, a, out: xp.round(a / 3, 1, out),
    "max_of_a_view": lambda xp, a, out: xp.max(a, 0, out[1]),
}


@pytest.mark.parametrize("name", OUTS)
def test_a_positional_out_is_written_and_its_readers_are_not(name: str) -> None:
    def program(xp: Any) -> Any:
        a, out = grid(xp), xp.zeros((3, 4))
        reader = out + 5
        found = OUTS[name](xp, a, out)
        return found, out, reader, a

    assert_as_numpy(program)


@pytest.mark.parametrize("name", [n for n in OUTS if n != "max_of_a_view"])
def test_the_result_is_the_array_given_as_out(name: str) -> None:
    out = dnumpy.zeros((3, 4))
    assert OUTS[name](dnumpy, grid(dnumpy), out) is out


def test_memory_of_an_operand_is_recognised_in_a_result() -> None:
    def program(xp: Any) -> Any:
        a = grid(xp)
        part = xp.lib.stride_tricks.as_strided(a, (3, 2), (32, 8))
        return [
            xp.shares_memory(a, part),
            xp.shares_memory(a[:1], a[2:]),
            xp.may_share_memory(a, a + 1),
            a[1:].base is a.base,
            xp.broadcast_arrays(a, a[0])[0].flags.writeable,
        ]

    assert_as_numpy(program)


class Convertible:
    """Keeps an array, and is converted to it."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


def test_an_object_whose_conversion_is_an_array_of_ours_is_an_operand() -> None:
    def program(xp: Any) -> Any:
        x = Convertible(xp.arange(4.0))
        return xp.array(x), xp.sin(x), xp.array([1.0, 2, 3, 4]) + x, xp.sum([x, x], axis=0)

    assert_as_numpy(program)


def test_conversion_errors_of_other_objects_are_kept() -> None:
    def program(xp: Any) -> Any:
        return xp.array(Convertible(3))

    assert_as_numpy(program)


def test_what_a_mask_leaves_out_keeps_its_value_in_the_dtype_of_out() -> None:
    def program(xp: Any) -> Any:
        whole, out = xp.arange(12).reshape(3, 4), grid(xp) + 0.5
        xp.add(whole, whole, out=out, where=whole > 5)
        xp.multiply(whole, 2, out=out[0], where=[True, False, False, True])
        return out

    assert_as_numpy(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.clip(a, 1),
        lambda xp, a: xp.clip(a, 1, 2, min=3),
        lambda xp, a: xp.add(a, 1, a, out=a),
        lambda xp, a: xp.add(a, 1, out=a, where=a),
        lambda xp, a: xp.where(a > 1, a, xp.zeros(5)),
        lambda xp, a: xp.tensordot(a, a, ((0, 0), (0, 0))),
        lambda xp, a: xp.einsum("ij->ij", a, optimize="nonsense"),
        lambda _xp, a: a.resize(3, refcheck="yes"),
        lambda _xp, a: setattr(a, "ndim", 3),
    ],
)
def test_what_numpy_refuses_is_refused_in_its_words(call: Callable[[Any, Any], Any]) -> None:
    assert_as_numpy(lambda xp: call(xp, grid(xp)))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.clip(0),
        lambda a: a.clip(0, None),
        lambda a: a.clip(None, 1),
        lambda a: a.clip(max=1),
        lambda a: a.clip(min=0, max=1),
        lambda a: a.clip(0, out=a),
        lambda a: a.clip(0, dtype=np.float32),
        lambda a: a.clip(),
        lambda a: a.clip(0, a_min=2),
        lambda a: a.clip(0, min=2),
    ],
)
@pytest.mark.parametrize("size", [5, 300_000])
def test_either_limit_of_the_method_clip_may_be_left_out(
    size: int, call: Callable[[Any], Any]
) -> None:
    assert_as_numpy(lambda xp: call(xp.linspace(-3, 3, size)))


def test_the_method_clip_is_recorded_where_operations_are() -> None:
    x = dnumpy.linspace(-3, 3, 1_000_000)
    for _ in range(3):
        clipped = (x * 2.0).clip(0)
        assert clipped._buf.expr.op.name != "leaf"  # of NumPy's making
        assert float(clipped.min()) == 0.0


@pytest.mark.parametrize("size", [5, 300_000])
def test_an_array_with_views_is_not_resized_and_numpy_says_why(size: int) -> None:
    def said(xp: Any) -> str:
        a = xp.ones(size)
        view = a[:]
        with pytest.raises(ValueError, match="references or is referenced") as caught:
            a.resize(3)
        assert view.shape == (size,)
        return str(caught.value)

    assert said(dnumpy) == said(np)


@pytest.mark.parametrize("name", ["divide", "matmul", "sum"])
def test_errors_that_are_to_be_raised_are_raised_at_the_call(name: str) -> None:
    def program(xp: Any) -> Any:
        huge = xp.full((3, 3), 1e308) * 1.0
        calls = {
            "divide": lambda: huge / 0.0,
            "matmul": lambda: huge @ huge,
            "sum": lambda: xp.add.reduce(huge, axis=0),
        }
        with xp.errstate(all="raise"):
            return calls[name]()

    assert_as_numpy(program)


def test_an_array_given_by_keyword_reaches_a_creation_function() -> None:
    found = dnumpy.logspace(0, 3, num=4, base=dnumpy.array([2.0, 3.0]), axis=0)
    expected = np.logspace(0, 3, num=4, base=np.array([2.0, 3.0]), axis=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_put_along_an_axis_writes_to_the_array(axis: int | None) -> None:
    ours, theirs = dnumpy.arange(40).reshape(5, 8), np.arange(40).reshape(5, 8)
    for xp, x in ((dnumpy, ours), (np, theirs)):
        largest = xp.argmax(x, axis=axis, keepdims=axis is not None)
        xp.put_along_axis(x, largest if axis is not None else xp.array([7, -1]), -99, axis)
    np.testing.assert_array_equal(np.asarray(ours), theirs)


class Measured:
    """A value with a unit: an object to an object array, though it converts to an array."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return dnumpy.array(self.value, dtype=dtype)


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_an_object_array_holds_the_objects_that_it_was_given(shape: tuple[int, ...]) -> None:
    given = [Measured(1.0), Measured(2.0)]
    nested = given if len(shape) == 1 else [[item] for item in given]
    made = dnumpy.array(nested, dtype=object)
    assert made.shape == shape
    assert all(type(item) is not float for item in made.ravel())
    assert [type(item) for item in made.ravel()] == [Measured, Measured]


def test_what_a_function_returns_of_a_sequence_is_the_operand_itself() -> None:
    x = dnumpy.array([1.0, 2.0])
    importlib.import_module("dnumpy.lib.recfunctions")
    assert dnumpy.lib.recfunctions.stack_arrays((x,)) is x


def test_arrays_inside_an_item_are_views_of_the_operand() -> None:
    records = dnumpy.ones(3, dtype=[("f", "i4", 3)])
    item = records.item(0)
    assert type(item[0]) is dnumpy.ndarray
    assert item[0].base is records


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("value", [1j, np.complex128(3 + 1j), np.array(2 + 1j)])
def test_a_masked_copy_warns_of_an_imaginary_part_once(value: Any) -> None:
    def outcome(xp: Any) -> tuple[list[str], list[float]]:
        target = xp.arange(20.0) + 1
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            xp.copyto(target, value, where=target > 4, casting="unsafe")
        return [str(w.message) for w in told], np.asarray(target).tolist()

    assert outcome(dnumpy) == outcome(np)


CONVERSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda xp, a: xp.array(a, dtype=xp.int8),
    "asarray": lambda xp, a: xp.asarray(a, dtype=xp.uint8),
    "astype": lambda xp, a: a.astype(xp.int8),
    "astype with words": lambda xp, a: a.astype(dtype="i2", casting="unsafe"),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_arrays_that_are_elements_become_integers_as_numpys_do(name: str) -> None:
    def made(xp: Any, *elements: Any) -> Any:
        a = xp.empty(len(elements), object)
        for k, element in enumerate(elements):
            a[k] = xp.array(element)
        return a

    for elements in ([1, 2], [3, 4, 5]), (300, 3.7), (7, 2**70), ([1], [2]):
        assert_as_numpy(lambda xp, e=elements: CONVERSIONS[name](xp, made(xp, *e)))
    kept = made(dnumpy, [1, 2], [3, 4, 5])
    with pytest.raises(ValueError, match="sequence"):
        kept.astype(int)
    assert type(kept[0]) is dnumpy.ndarray
