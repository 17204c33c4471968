"""Small arrays give NumPy's bytes, faults and errors where NumPy's inner loops run them in C."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native

pytestmark = pytest.mark.modeless("they run at once")

TYPES = "?bBhHiIlLqQefdgFD"
SHAPES = ((3,), (1,), (37,), (3, 4), (4,), (3, 1), (1, 4), (2, 3, 4), (0,), (1, 1), (600,), ())
NUMBERS = (0, 2, -1, 300, 2**40, -(2**70), 0.5, 2.0, 1e300, float("nan"), True, 1j,
           np.float64(0.5), np.float32(2), np.int64(3), np.uint8(200))  # fmt: skip
OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
             operator.mod, operator.pow, operator.lt, operator.eq, operator.ge, operator.and_,
             operator.lshift)  # fmt: skip
INPLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand)
UNARY = (operator.neg, operator.abs, operator.invert)
UFUNCS = [
    name for name in dir(np)
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and ufunc.nin <= 2 and ufunc.nout == 1 and ufunc.signature is None
]  # fmt: skip


def values(draw: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers of a type, some of them at the edge of it."""
    whole = draw.integers(0 if kind in "BHILQ?" else -5, 6, shape)
    if kind not in "efdgFD":
        return whole.astype(kind)
    real = np.asarray(whole / 2 if draw.random() < 0.5 else draw.standard_normal(shape))
    if draw.random() < 0.3 and real.size:
        edges = (np.nan, np.inf, -0.0, 1e308, 1e-310)
        real.flat[draw.integers(real.size)] = edges[draw.integers(len(edges))]
    with np.errstate(all="ignore"):
        return np.asarray(real + 1j * draw.standard_normal(shape) if kind in "FD" else real, kind)


def laid_out(draw: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return the same array, maybe in another layout."""
    way = draw.integers(7)
    if way == 0 and array.ndim:
        wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
        view = wide[tuple(slice(0, 2 * n, 2) for n in array.shape)]
    elif way == 1 and array.ndim:
        wide = np.zeros([n + 2 for n in array.shape], array.dtype)
        view = wide[(slice(1, -1),) * array.ndim]
    elif way == 2 and array.size:
        view = np.zeros(array.nbytes + 1, "u1")[1:].view(array.dtype).reshape(array.shape)
    else:
        others = (array, array, np.asfortranarray(array), array[::-1] if array.ndim else array)
        return others[way - 3]
    view[...] = array
    return view


def told(function: Any, *args: Any, **named: Any) -> tuple[Any, list[str]]:
    """Return what a call gives or raises, and which warnings it gives."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = function(*args, **named)
        except Exception as error:  # noqa: BLE001 - whatever NumPy raises
            found = error
    return found, [f"{w.category}{w.message}" for w in given]


def described(found: Any) -> Any:
    """Return all that is to be the same of a result."""
    if isinstance(found, Exception):
        return type(found), str(found)
    array = np.asarray(found)
    steps = tuple(s for n, s in zip(array.shape, array.strides, strict=True) if n > 1)
    content = array.tolist() if array.dtype.char in "gGO" else array.tobytes()
    what = "array" if isinstance(found, (np.ndarray, dnumpy.ndarray)) else type(found)
    return what, array.dtype, array.shape, steps if array.size else (), str(content)


def compare(call: Any, operands: tuple[Any, ...], **state: Any) -> None:
    """Assert that a call gives NumPy's result for arrays of both, twice: the first is a trial."""
    for _ in range(2):
        results = []
        for module in (np, dnumpy):
            args = [module.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
            with module.errstate(**state):
                found, given = told(call, module, *args)
            results.append((described(found), given))
        assert results[0] == results[1]


def operands_of(seed: int) -> tuple[np.random.Generator, np.ndarray, Any, dict[str, Any]]:
    draw = np.random.default_rng(seed)
    kind = TYPES[draw.integers(len(TYPES))]
    other = kind if draw.random() < 0.8 else TYPES[draw.integers(len(TYPES))]
    shape = SHAPES[draw.integers(len(SHAPES))]
    shape_of_other = shape if draw.random() < 0.6 else SHAPES[draw.integers(len(SHAPES))]
    x = laid_out(draw, values(draw, kind, shape))
    y: Any = NUMBERS[draw.integers(len(NUMBERS))]
    if draw.random() < 0.65:
        y = laid_out(draw, values(draw, other, shape_of_other))
    states = ({}, {"all": "raise"}, {"all": "ignore"}, {"under": "raise"})
    return draw, x, y, states[draw.integers(len(states))]


@pytest.mark.parametrize("function", OPERATORS)
def test_operators_give_numpys_bytes(function: Any) -> None:
    for seed in range(250):
        draw, x, y, state = operands_of(seed)
        pair = (x, y) if draw.random() < 0.7 else (y, x)
        compare(lambda _, a, b: function(a, b), pair, **state)


@pytest.mark.parametrize("function", UNARY)
def test_unary_operators_give_numpys_bytes(function: Any) -> None:
    for seed in range(120):
        _, x, _, state = operands_of(seed)
        compare(lambda _, a: function(a), (x,), **state)


@pytest.mark.parametrize("function", INPLACE)
def test_operators_in_place_write_numpys_bytes(function: Any) -> None:
    for seed in range(200):
        draw, x, y, state = operands_of(seed)
        reversed_beside = draw.random() < 0.2 and x.ndim > 0

        def run(
            module: Any, a: Any, b: Any, *, whole: np.ndarray = x, overlaps: bool = reversed_beside
        ) -> Any:
            target = module.array(whole)
            function(target[1:] if overlaps else target, target[:-1] if overlaps else b)
            return target

        compare(run, (x, y), **state)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_give_numpys_bytes(name: str) -> None:
    count = getattr(np, name).nin
    for seed in range(60):
        draw, x, y, state = operands_of(seed)
        operands = (x,) if count == 1 else (x, y)
        compare(lambda module, *args: getattr(module, name)(*args), operands, **state)
        by_name = draw.random() < 0.5

        def into(module: Any, *args: Any, named: bool = by_name, like: np.ndarray = x) -> Any:
            out = module.zeros(like.shape, like.dtype)
            function = getattr(module, name)
            found = function(*args, out=out) if named else function(*args, out)
            assert found is out
            return out

        compare(into, operands, **state)


@pytest.mark.parametrize("kind", "fdFDl")
def test_small_products_give_numpys_bytes(kind: str) -> None:
    extents = (1, 2, 3, 4, 5, 8, 17, 33)
    for seed in range(400):
        draw = np.random.default_rng(seed)
        rows, inner, columns = (extents[draw.integers(len(extents))] for _ in range(3))
        other = inner + (draw.random() < 0.05)
        left = (rows, inner) if draw.random() < 0.7 else (inner,)
        right = (other, columns) if draw.random() < 0.6 else (other,)
        a = laid_out(draw, values(draw, kind, left))
        b = laid_out(draw, values(draw, kind, right))
        pair = (a, a.T) if draw.random() < 0.2 else (a, b)
        compare(lambda _, x, y: x @ y, pair)
        compare(lambda module, x, y: module.matmul(x, y), pair)


def test_faults_are_numpys_to_tell() -> None:
    x, zeros = dnumpy.array([1.0, 2.0]), dnumpy.zeros(2)
    assert_warns = pytest.warns(RuntimeWarning, match="divide by zero encountered in divide")
    with assert_warns:
        x / zeros
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        x / zeros
    seen: list[tuple[str, int]] = []
    with np.errstate(all="call", call=lambda kind, flag: seen.append((kind, flag))):
        x / zeros
    assert seen == [("divide by zero", 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x + x).tolist() == [2.0, 4.0]  # what went wrong before is forgotten


@pytest.mark.skipif(not native.built, reason="without C there is a frame of ours between")
def test_a_warning_is_told_at_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dnumpy.ones(3) / dnumpy.zeros(3)
    assert given[0].filename == __file__


def test_other_libraries_ufuncs_are_theirs_to_call() -> None:
    called: list[int] = []
    own: Any = dnumpy.frompyfunc(lambda x: called.append(1) or x, 1, 1)
    own(dnumpy.array([1.0, 2.0]))
    assert called == [1, 1]


def test_dtypes_with_metadata_stay_numpys() -> None:
    noted = np.dtype("f8", metadata={"unit": "m"})
    x = np.zeros(3, noted)
    expected, found = x + x, dnumpy.asarray(x) + dnumpy.asarray(x)
    assert (found.dtype.metadata, found.dtype) == (expected.dtype.metadata, expected.dtype)


def test_many_ufuncs_of_others_leave_room_for_numpys() -> None:
    x = dnumpy.arange(3.0)
    for k in range(300):
        own: Any = dnumpy.frompyfunc(lambda v, k=k: v + k, 1, 1)
        assert own(x).tolist() == [k, k + 1, k + 2]
    assert dnumpy.cbrt(x * x * x).tolist() == np.cbrt(np.arange(3.0) ** 3).tolist()
