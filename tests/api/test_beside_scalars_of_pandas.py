"""Arrays beside scalars of classes that know NumPy's array alone: what NumPy's gives, or raises."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import dnumpy

pd = pytest.importorskip("pandas")

ARRAYS = {
    "times": lambda xp, n: xp.arange(n).astype("M8[s]"),
    "spans": lambda xp, n: xp.arange(n).astype("m8[s]"),
    "floats": lambda xp, n: xp.arange(n) * 1.0,
    "integers": lambda xp, n: xp.arange(n),
}
SCALARS = [
    pd.Timestamp(3, unit="s"),
    pd.Timedelta("3s"),
    pd.NaT,
    pd.Period("2020", "D"),
    pd.offsets.Day(2),
    pd.NA,
]
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "lshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
IN_PLACE = ["iadd", "isub", "imul"]


def outcome(run: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """Return the values of an array, another result, or how it was refused."""
    try:
        found = run(x, y)
    except Exception as problem:  # noqa: BLE001 - whatever NumPy's array gives
        return "raised", type(problem), str(problem)
    if isinstance(found, dnumpy.ndarray):
        return "array", found.dtype, found.shape, np.asarray(found)[:50].tolist()
    return "other", type(found), str(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [5, 300_000])
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: type(scalar).__name__)
def test_operators_give_what_numpys_array_gives(scalar: Any, kind: str, size: int) -> None:
    if size > 5 and kind != "times" and type(scalar).__name__ in {"Day", "Period"}:
        pytest.skip("objects of which each element is asked: the same as of few, but slow")
    for name in [*ARITHMETIC, *COMPARISONS, *IN_PLACE]:
        run, make = getattr(operator, name), ARRAYS[kind]
        for left in (True, False):
            expected, found = (
                outcome(run, *((x, scalar) if left else (scalar, x)))
                for x in (make(np, size), make(dnumpy, size))
            )
            assert str(found) == str(expected), (name, left)


def test_a_mask_by_a_timestamp_selects() -> None:
    times, values = dnumpy.arange(5).astype("M8[s]"), dnumpy.arange(5.0)
    assert values[times == pd.Timestamp(3, unit="s")].tolist() == [3.0]
    assert values[pd.Timestamp(3, unit="s") < times].tolist() == [4.0]


class Refusing:
    """Takes NumPy's arrays, of ours only small ones."""

    __array_priority__ = 1000.0

    def __radd__(self, other: Any) -> Any:
        return ("taken", type(other)) if len(other) < 4 else NotImplemented


def test_a_class_that_takes_ours_is_given_ours() -> None:
    assert dnumpy.arange(3) + Refusing() == ("taken", dnumpy.ndarray)
    with pytest.raises(TypeError, match=r"unsupported operand|Concatenation"):
        dnumpy.arange(9) + Refusing()
