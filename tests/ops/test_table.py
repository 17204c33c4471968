"""Every row of the op table equals NumPy: value, dtype, shape, error type and text."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import ufuncs
from dnumpy.api.array import concrete, wrap
from dnumpy.ops.families import (
    ROWS,
    Elementwise,
    Leaf,
    Op,
    Reduction,
    elementwise_of,
    reduction_of,
    row,
)
from tests.programs import same
from tests.strategies import MANAGED, some_values

pytestmark = pytest.mark.usefixtures("managed")

ELEMENTWISE = sorted(
    (op for op in ROWS.values() if isinstance(op, Elementwise) and op.ufunc is not None),
    key=lambda op: op.name,
)
REDUCTIONS = sorted(
    (op for op in ROWS.values() if isinstance(op, Reduction) and op.ufunc is not None),
    key=lambda op: op.name,
)
ROW_COUNT = 29


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result, or type and text of what was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever is raised is compared
            return type(error).__name__, str(error)


def assert_same(got: Any, expected: Any) -> None:
    """Assert that a result of ours is NumPy's result, or the same error."""
    if isinstance(expected, tuple) and expected and isinstance(expected[0], str):
        assert got == expected
        return
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            assert_same(x, y)
        return
    values = outcome(lambda: concrete(got) if type(got) is dnumpy.ndarray else np.asarray(got))
    assert not isinstance(values, tuple), values
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    assert same(values, np.asarray(expected), None)


def pairs(nin: int) -> list[tuple[np.dtype, ...]]:
    """Return every dtype for every operand, and mixtures of two."""
    mixed = [np.dtype(c) for c in "?bHlfdFe"]
    if nin == 1:
        return [(d,) for d in MANAGED]
    alike = [(d,) * nin for d in MANAGED]
    return alike + [
        p + (p[-1],) * (nin - 2) for p in itertools.product(mixed, repeat=2) if p[0] != p[1]
    ]


def operands(op: Elementwise, dtypes: tuple[np.dtype, ...]) -> list[np.ndarray]:
    """Return operands in the op's domain; which zero min and max pick depends on NumPy's loop."""
    made = [some_values(d, ROW_COUNT, seed=k) for k, d in enumerate(dtypes)]
    if op.name in {"left_shift", "right_shift", "ldexp"}:
        made[1] = np.abs(made[1]) % np.array(7, dtypes[1]) if dtypes[1].kind in "iu" else made[1]
    if op.name in {"maximum", "minimum", "fmax", "fmin", "clip", "power", "float_power"}:
        made = [m + np.zeros((), m.dtype) if m.dtype.kind in "fc" else m for m in made]
    if op.name in {"power", "float_power"}:
        made = [np.abs(m) % np.array(5, m.dtype) if m.dtype.kind in "iu" else m for m in made]
    return made


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_an_elementwise_row_equals_numpy_for_every_dtype(op: Elementwise) -> None:
    ufunc = op.ufunc
    assert ufunc is not None
    ours = ufuncs.of(ufunc)
    ran = 0
    for dtypes in pairs(ufunc.nin):
        given = operands(op, dtypes)
        expected = outcome(ufunc, *given)
        assert_same(outcome(ours, *[wrap(x.copy()) for x in given]), expected)
        ran += not isinstance(expected, tuple) or not isinstance(expected[0], str)
    assert ran or op.name == "isnat", "no dtype that NumPy supports was tried"


@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if op.ufunc.nin > 1], ids=lambda op: op.name
)
def test_shapes_that_do_not_broadcast_raise_numpys_error(op: Elementwise) -> None:
    assert op.ufunc is not None
    given = [np.ones((20 + k, 2), "i8") for k in range(op.ufunc.nin)]
    expected = outcome(op.ufunc, *given)
    assert isinstance(expected, tuple)
    assert_same(outcome(ufuncs.of(op.ufunc), *[wrap(x) for x in given]), expected)


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_a_reduction_row_equals_numpy_for_every_dtype(op: Reduction) -> None:
    ufunc = op.ufunc
    assert ufunc is not None
    for dtype in MANAGED:
        # small whole numbers: the same in any order of summation
        values = (some_values(np.dtype("i8"), 36, seed=5) % 3).astype(dtype).reshape(12, 3)
        for axis in (0, 1, (0, 1), -1):
            expected = outcome(ufunc.reduce, values, axis=axis)
            assert_same(outcome(ufuncs.of(ufunc).reduce, wrap(values.copy()), axis=axis), expected)


def test_the_table_has_a_row_for_every_public_ufunc() -> None:
    public = {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None}
    assert public <= {op.ufunc for op in ELEMENTWISE}
    assert len(public) > 80


def test_a_row_survives_pickling_as_itself() -> None:
    for op in ROWS.values():
        assert pickle.loads(pickle.dumps(op)) is op
        assert repr(op) == f"{type(op).__name__}({op.name})"


def test_a_name_belongs_to_one_row() -> None:
    with pytest.raises(ValueError, match="'full' stands twice in the table"):
        row(Leaf("full"))
    assert all(ROWS[op.name] is op for op in ROWS.values())


def test_a_ufunc_from_elsewhere_gets_one_row_of_its_own() -> None:
    special = pytest.importorskip("scipy.special")
    made: Op = elementwise_of(special.expit)
    assert elementwise_of(special.expit) is made
    assert made.name not in ROWS
    assert pickle.loads(pickle.dumps(made)) is made
    assert elementwise_of(np.add) is ROWS["add"]
    assert reduction_of(np.add) is ROWS["add.reduce"]
    values = np.linspace(-3, 3, 40)
    assert_same(special.expit(wrap(values.copy())), special.expit(values))
