"""Ufunc objects: NumPy's, with all their methods and arguments."""

from __future__ import annotations

import inspect
import operator
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api.array import concrete, wrap
from tests.comparison import assert_same
from tests.programs import Program, check, same
from tests.strategies import arrays, filled_shapes

pytestmark = pytest.mark.usefixtures("managed")

PROGRAMS = {
    "dtype": [
        "a1 = np.add(np.arange(40), 1, dtype='f4')",
        "a2 = np.sqrt(np.arange(40), dtype='f4')",
    ],
    "dtype that does not fit": [
        "a1 = np.add(np.arange(40.0), 1, dtype='i8')",
        "a2 = np.sqrt(np.arange(40), dtype=int)",
    ],
    "casting": [
        "a1 = np.add(np.arange(40.0), 1, dtype='i8', casting='unsafe')",
        "np.add(np.arange(40), 0.5, casting='no')",
        "np.add(np.arange(40), 1, casting='wrong')",
    ],
    "signature": [
        "a1 = np.add(np.arange(40), 1, signature='dd->d')",
        "np.add(np.arange(40), 1, sig='dd->d')",
    ],
    "order": ["a1 = np.add(np.ones((6, 7)), 1, order='F')", "a2 = np.add(a1, 1, order='C')"],
    "where without out": [
        "a1 = np.add(np.arange(40), 1, where=True)",
        "s2 = np.add(np.arange(40), 1, where=False).size",
    ],
    "a where that is no boolean": [
        "np.add(np.arange(40), 1, out=np.zeros(40), where=np.arange(40))"
    ],
    "out as a tuple": [
        "a1 = np.zeros(40)",
        "np.add(a1, 1, out=(a1,))",
        "np.modf(a1 / 3, out=(a1, None))",
    ],
    "positional out": [
        "a1 = np.zeros(40)",
        "np.negative(a1 + 1, a1)",
        "np.add(a1, 1, a1)",
        "np.add(a1, 1, a1, a1)",
    ],
    "unknown arguments": [
        "np.add(np.arange(40), 1, axis=0)",
        "np.add(np.arange(40))",
        "np.add(1, 2, 3, 4, 5)",
    ],
    "two outputs": [
        "a1, a2 = np.frexp(np.arange(40.0))",
        "a3, a4 = divmod(np.arange(40), 7)",
        "a5, a6 = np.modf(a1 * 9)",
    ],
    "reduce": [
        "a1 = np.add.reduce(np.ones((6, 7)))",
        "s2 = np.add.reduce(np.ones((6, 7)), axis=None)",
        "a3 = np.logaddexp.reduce(np.ones((6, 7)), 1)",
        "a4 = np.subtract.reduce(np.arange(42).reshape(6, 7))",
        "np.subtract.reduce(np.ones((6, 7)), axis=(0, 1))",
        "s5 = np.maximum.reduce(np.arange(40))",
        "np.maximum.reduce(np.ones((0, 40)), axis=0)",
        "a6 = np.add.reduce(np.ones((0, 40)), axis=0)",
        "a7 = np.multiply.reduce(np.arange(40).reshape(5, 8), axis=-1, dtype='f4', keepdims=True)",
        "np.add.reduce(np.ones((6, 7)), axis=2)",
        "np.add.reduce(np.ones((6, 7)), axis=(0, 0))",
        "a8 = np.zeros(7)",
        "np.add.reduce(np.ones((6, 7)), 0, None, a8)",
        "np.add.reduce(np.ones((6, 7)), out=a8, initial=5)",
    ],
    "accumulate": [
        "a1 = np.add.accumulate(np.arange(40))",
        "a2 = np.multiply.accumulate(np.ones((6, 7)), axis=1)",
        "np.add.accumulate(np.ones((6, 7)), axis=3)",
    ],
    "reduceat": [
        "a1 = np.add.reduceat(np.arange(40), [0, 4, 1, 30])",
        "np.add.reduceat(np.arange(40), [50])",
    ],
    "outer": [
        "a1 = np.multiply.outer(np.arange(9), np.arange(10))",
        "a2 = np.add.outer(np.ones((3, 4)), [1, 2])",
        "a3 = np.subtract.outer(5, np.arange(9))",
    ],
    "at": [
        "a1 = np.arange(40)",
        "np.add.at(a1, [0, 0], 5)",
        "np.negative.at(a1, [1])",
        "np.add.at(a1, [99], 5)",
    ],
    "Python scalars": [
        "a1 = np.arange(40, dtype='u1')",
        "a2 = a1 + 300",
        "a3 = a1 + 2.5",
        "a4 = a1 - 1",
        "a5 = a1 + True",
        "a6 = a1 * 1j",
        "a7 = a1 + -1",
    ],
    "comparison beyond the range": [
        "a1 = np.arange(40, dtype='u1')",
        "a2 = a1 < 300",
        "a3 = a1 == -1",
        "a4 = a1 >= 2**70",
    ],
    "NumPy scalars": [
        "a1 = np.arange(40, dtype='f4')",
        "a2 = a1 + np.float64(1)",
        "a3 = a1 * np.int8(2)",
        "a4 = np.float64(2) * a1",
    ],
    "powers": [
        "a1 = np.arange(1, 40)",
        "a2 = a1 ** 2",
        "a3 = a1 ** -1",
        "a4 = a1 ** 0.5",
        "a5 = a1 ** -1.0",
        "a6 = 2 ** a1",
        "a7 = a1 ** a1[::-1]",
        "a8 = 2.0 ** -a1",
        "a1 **= 2",
        "a9 = pow(a1, 2)",
        "a10 = 2 ** -a1",
    ],
    "operands that are no arrays": [
        "a1 = np.ones(3) + [1, 2, 3]",
        "a2 = [1] * 40 + np.ones(40)",
        "np.ones(40) + 'x'",
        "np.ones(40) + None",
        "np.ones(40) + {}",
    ],
    "matrix products": [
        "a1 = np.ones((6, 7)) @ np.ones(7)",
        "a2 = np.arange(7) @ np.ones((7, 6))",
        "np.ones((6, 7)) @ np.ones(6)",
        "s3 = np.arange(40) @ np.arange(40)",
        "np.ones(40) @ 2",
    ],
    "truth": [
        "bool(np.ones(40))",
        "bool(np.ones(1))",
        "s1 = not np.zeros(1)",
        "if np.ones((3, 4)): pass",
    ],
    "in": ["a1 = np.arange(40)", "s1 = np.bool_(3 in a1)", "s2 = np.bool_(99 in a1)"],
    "bit operations": [
        "a1 = np.arange(40)",
        "a2 = a1 & 6",
        "a3 = a1 ^ a2",
        "a4 = ~a1",
        "a5 = a1 << 2",
        "a6 = 1 << a1 % 8",
        "np.ones(40) & 1",
    ],
    "clip": [
        "a1 = np.arange(40)",
        "a2 = a1.clip(3, 9)",
        "a3 = np.clip(a1, None, 9)",
        "a1.clip(min=5, out=a1)",
        "np.clip(a1)",
        "a4 = np.clip(a1, 9, 3)",
        "a5 = a1.clip(2.5)",
    ],
    "round": [
        "a1 = np.arange(40) / 7",
        "a2 = a1.round(2)",
        "a3 = np.round(a1 * 1000, -2)",
        "a5 = np.arange(40).round(-1)",
        "a6 = np.around(a1 * 1j, 1)",
    ],
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_ufuncs_equals_numpys(lines: list[str]) -> None:
    check(Program(lines))


@settings(max_examples=150)
@given(arrays(sizes=filled_shapes), arrays(sizes=filled_shapes), st.sampled_from("+-*"))
def test_two_arrays_of_any_dtypes_and_shapes_combine_as_in_numpy(
    x: np.ndarray, y: np.ndarray, sign: str
) -> None:
    operator = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
    with np.errstate(all="ignore"):
        try:
            expected = operator(x, y)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                operator(wrap(x.copy()), wrap(y.copy()))
            return
        found = concrete(operator(wrap(x.copy()), wrap(y.copy())))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert same(found, expected, None)


def test_a_ufunc_is_one_object_and_looks_like_numpys() -> None:
    assert dnumpy.add is dnumpy.add
    assert isinstance(dnumpy.add, dnumpy.ufunc)
    assert isinstance(np.add, dnumpy.ufunc)
    assert dnumpy.add.nin == 2
    assert dnumpy.add.identity == 0
    assert dnumpy.add.__name__ == "add"
    assert dnumpy.add.__doc__.startswith(np.add.__doc__.partition("Notes")[0].strip())
    assert repr(dnumpy.add) == repr(np.add)
    assert pickle.loads(pickle.dumps(dnumpy.add)) is dnumpy.add
    with pytest.raises(AttributeError):
        dnumpy.add.no_such_thing  # noqa: B018


def test_a_user_function_made_a_ufunc_runs_on_arrays() -> None:
    twice = dnumpy.frompyfunc(lambda x: x * 2, 1, 1)
    assert list(twice(dnumpy.arange(40)))[:3] == [0, 2, 4]
    assert list(dnumpy.vectorize(lambda x: x + 1)(dnumpy.arange(40)))[:3] == [1, 2, 3]


class Deferring:
    """A class that takes over binary operations, as pandas and xarray do."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "taken over"

    def __rmatmul__(self, other: Any) -> str:
        return "taken over"

    def __eq__(self, other: object) -> Any:
        return "taken over"

    __hash__ = object.__hash__


def test_a_class_that_refuses_ufuncs_gets_the_operation() -> None:
    x = dnumpy.arange(40)
    assert x + Deferring() == "taken over"
    assert x @ Deferring() == "taken over"
    assert (x == Deferring()) == "taken over"


class Overriding:
    """A class with ufuncs of its own."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> str:
        return f"{ufunc.__name__}.{method}"


def test_a_class_with_ufuncs_of_its_own_gets_the_call() -> None:
    x = dnumpy.arange(40)
    assert dnumpy.add(x, Overriding()) == "add.__call__"
    assert np.add(x, Overriding()) == "add.__call__"
    assert x + Overriding() == "add.__call__"


def test_numpys_own_ufuncs_return_our_arrays() -> None:
    x = dnumpy.arange(40.0)
    assert type(np.sqrt(x)) is dnumpy.ndarray
    assert type(np.add.reduce(x.reshape(5, 8))) is dnumpy.ndarray
    assert type(np.add(x, np.ones(40))) is dnumpy.ndarray
    assert type(np.ones(40) + x) is dnumpy.ndarray
    host = np.ones(40)
    assert np.add(x, 1, out=host) is host
    np.testing.assert_array_equal(host, np.arange(40.0) + 1)


def test_signatures_of_functions_are_numpys() -> None:
    for name in ("sum", "mean", "where", "clip", "concatenate", "transpose", "einsum", "array"):
        try:
            expected = inspect.signature(getattr(np, name))
        except ValueError:
            continue
        assert inspect.signature(getattr(dnumpy, name)) == expected, name


class Unit:
    """A class from before ``__array_ufunc__`` that takes over by its priority."""

    __array_priority__ = 3.0

    def __rmul__(self, other: Any) -> str:
        return "taken over"

    __radd__ = __rpow__ = __rmul__


@pytest.mark.parametrize("operation", [operator.imul, operator.iadd, operator.ipow])
@pytest.mark.parametrize("size", [3, 100_000])
def test_a_class_of_higher_priority_gets_an_inplace_operation(operation: Any, size: int) -> None:
    assert operation(np.ones(size), Unit()) == "taken over"
    assert operation(dnumpy.ones(size), Unit()) == "taken over"


def test_a_table_keyed_by_our_ufuncs_is_found_by_numpys() -> None:
    table = {dnumpy.multiply: "product", dnumpy.add: "sum"}
    assert table[np.multiply] == "product"  # type: ignore[index]
    assert np.divide not in table
    assert dnumpy.multiply == np.multiply
    assert dnumpy.multiply != np.add
    assert dnumpy.multiply != dnumpy.add


@pytest.mark.parametrize("left", [[1, 2, 3], (1, 2, 3), [[1, 2, 3]]])
def test_a_sequence_may_stand_left_of_a_matrix_product(left: Any) -> None:
    numpys, ours = left @ np.eye(3), left @ dnumpy.eye(3)
    assert type(ours) is dnumpy.ndarray
    np.testing.assert_array_equal(np.asarray(ours), numpys)
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        2 @ dnumpy.eye(3)


@pytest.mark.parametrize("threshold", [1, 65_536], ids=["managed", "small"])
@pytest.mark.parametrize("size", [0, 40, 300_000])
def test_an_output_given_by_position_is_warned_of_where_numpy_does(
    size: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dnumpy.config, "eager_below", threshold)

    def told(module: Any) -> list[tuple[str, str]]:
        a, into = module.arange(float(size)), module.empty(size)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            module.maximum(a, a[::-1], out=into)
            module.minimum(a, 3, out=into)
            module.minimum(a, 3, out=into, where=a > 2)
            module.add(a, 3, into)
            module.maximum(a, 0, None)
            module.maximum(a, 0, into)
            module.minimum(a, into, a)
            module.minimum(a, 3, into, where=a > 2)
        return [(str(w.message), w.category.__name__) for w in found]

    assert told(dnumpy) == told(np)


NUMBERS = {
    d: (np.random.default_rng(3).random(600) * 100).astype(d)
    for d in ("?", "u1", "i2", "i8", "f2", "f4", "f8", "c8")
}
NUMBERS["f4"][5] = 3e38


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i4", "i8", "f4", "f8", "c16", None, np.dtypes.Float64DType]
)
@pytest.mark.parametrize(
    "name", ["add", "multiply", "true_divide", "greater", "left_shift", "power", "sqrt", "negative"]
)
def test_a_loop_is_chosen_by_dtype_as_numpy_chooses_it(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dnumpy.config, "eager_below", 1)
    numpys, ours = getattr(np, name), getattr(dnumpy, name)
    pairs: list[tuple[Any, ...]] = [(a, b) for a in NUMBERS.values() for b in NUMBERS.values()]
    pairs += [(a, b) for a in NUMBERS.values() for b in (3, 2.5, True, np.float32(2))]
    for operands in pairs if numpys.nin == 2 else [(a,) for a in NUMBERS.values()]:

        def result(function: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    found = np.asarray(function(*operands, dtype=dtype))
                except (TypeError, ValueError) as error:
                    return type(error), str(error)
            return found.dtype, found.tobytes(), {str(w.message) for w in told}

        handles = tuple(dnumpy.array(x) if isinstance(x, np.ndarray) else x for x in operands)
        assert result(ours, handles) == result(numpys, operands)


def test_a_loop_of_longlong_is_not_that_of_int64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnumpy.config, "eager_below", 1)
    numbers = np.arange(300_000)
    for dtype in ("l", "q", "l"):
        found = np.asarray(dnumpy.add(dnumpy.array(numbers), 1, dtype=dtype) * 2)
        assert found.dtype.num == (np.add(numbers, 1, dtype=dtype) * 2).dtype.num


def test_operands_of_a_loop_chosen_by_dtype_are_fused() -> None:
    picture = dnumpy.ones((600, 600), "u1")
    scaled = dnumpy.multiply(picture, 2, dtype="f4") + 1
    ops = [part.op.name for part in (scaled._buf.expr, scaled._buf.expr.args[0])]
    assert ops == ["add", "multiply"]
    assert not scaled._buf.expr.args[0].params


@pytest.mark.parametrize("name", ["matmul", "negative", "modf", "vecdot"])
def test_only_pairs_have_an_outer(name: str) -> None:
    """Where the operands are large, too: a product of matrices is none of pairs."""
    x = np.ones((700, 700))
    with pytest.raises((TypeError, ValueError)) as theirs:
        getattr(np, name).outer(x, x)
    with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
        getattr(dnumpy, name).outer(dnumpy.asarray(x), dnumpy.asarray(x))


@pytest.mark.parametrize(
    "shape", [(2000, 200), (100_000, 5), (30, 10_000), (2, 300_000), (400_000,)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["power", "float_power"])
def test_an_exponent_for_each_row_takes_roots_where_numpys_does(
    name: str, dtype: str, shape: tuple[int, ...]
) -> None:
    """Minus infinity to 0.5 is infinite as a power, and no number as a root."""
    x = np.full(shape, -np.inf, dtype)
    half = np.full((*shape[:-1], 1), 0.5, dtype)
    each = getattr(np, name), getattr(dnumpy, name)
    for beside in (half, np.broadcast_to(half, shape), half[:1], half + 0):
        theirs, ours = (f(y, z) for f, (y, z) in zip(each, [(x, beside)] * 2, strict=True))
        assert_same(dnumpy.asarray(ours), theirs)
        ours = each[1](dnumpy.asarray(x), dnumpy.asarray(beside))
        assert_same(ours, theirs)


@pytest.mark.parametrize("name", [
    "minimum", "maximum", "fmax", "add", "multiply", "subtract", "bitwise_or", "logical_and", "gcd",
    "floor_divide", "equal",
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "u8", "f2", "f8", "c16"])
@pytest.mark.parametrize("shape", [(3,), (5000,), (600, 700)])
def test_a_list_of_arrays_is_folded_as_what_it_would_be_joined_to(name, dtype, shape):
    draw = np.random.default_rng(3)
    given = [draw.integers(0, 7, shape).astype(dtype) for _ in range(5)]
    ours = [dnumpy.asarray(x) for x in given]
    for count in (1, 2, 5):
        for named in ({}, {"axis": 0}, {"axis": -1}, {"keepdims": True}):
            try:
                expected = getattr(np, name).reduce(given[:count], **named)
            except TypeError as error:
                with pytest.raises(TypeError, match=re.escape(str(error)[:30])):
                    getattr(dnumpy, name).reduce(ours[:count], **named)
                continue
            assert_same(getattr(dnumpy, name).reduce(tuple(ours[:count]), **named), expected)
    other = [*ours, dnumpy.asarray(given[0][..., :1])]
    with pytest.raises(ValueError, match="inhomogeneous"):
        getattr(dnumpy, name).reduce(other)
