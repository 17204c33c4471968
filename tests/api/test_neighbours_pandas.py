from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    import types
    from collections.abc import Callable

pandas = pytest.importorskip("pandas")

MADE: dict[str, Callable[[Any], Any]] = {
    "a series": pandas.Series,
    "a series of a dtype": lambda x: pandas.Series(x, dtype=float),
    "a series with an index": lambda x: pandas.Series(x, index=range(len(x))),
    "a series that is no copy": lambda x: pandas.Series(x, copy=False),
    "an index": pandas.Index,
    "a frame": pandas.DataFrame,
    "columns": lambda x: pandas.DataFrame({"a": x}),
    "an array": lambda x: pandas.array(x, dtype="float64"),
    "an array that is no copy": lambda x: pandas.array(x, copy=False),
    "categories": pandas.Categorical,
    "an index of categories": pandas.CategoricalIndex,
    "levels": lambda x: pandas.MultiIndex.from_arrays([x, x]),
    "numbers": pandas.to_numeric,
    "values as they are": pandas.arrays.NumpyExtensionArray,
    "values and a mask": lambda x: pandas.arrays.FloatingArray(x, x > 3),
}
DATES: dict[str, Callable[[Any], Any]] = {
    "dates": pandas.to_datetime,
    "an index of dates": pandas.DatetimeIndex,
    "a series of dates": pandas.Series,
    "periods": lambda x: pandas.PeriodIndex(x, freq="D"),
}


def written_to(xp: types.ModuleType, make: Callable[[Any], Any], kind: str) -> tuple[Any, Any]:
    """Return the type of what is made of an array, and what it holds once that is written to."""
    values = xp.arange(40.0).astype(kind)
    made = make(values)
    values[:] = values[3]
    return type(made), [str(item) for item in np.asarray(made).ravel()]


@pytest.mark.parametrize("make", MADE.values(), ids=list(MADE))
def test_pandas_copies_and_shares_as_with_numpys_arrays(make: Callable[[Any], Any]) -> None:
    assert written_to(dnumpy, make, "f8") == written_to(np, make, "f8")


@pytest.mark.parametrize("make", DATES.values(), ids=list(DATES))
def test_pandas_copies_and_shares_dates_as_with_numpys_arrays(make: Callable[[Any], Any]) -> None:
    assert written_to(dnumpy, make, "M8[s]") == written_to(np, make, "M8[s]")


def test_writes_to_a_series_leave_the_array_as_it_is() -> None:
    if pandas.__version__ < "3":
        pytest.skip("this pandas shares memory")
    values = dnumpy.arange(40.0)
    series = pandas.Series(values)
    series.iloc[0] = -9
    assert values[0] == 0


ASKED: dict[str, Callable[[types.ModuleType, Any], Any]] = {
    "a frame less an array": lambda _xp, x: pandas.DataFrame(x) - x,
    "a frame above an array": lambda _xp, x: pandas.DataFrame(x) > x[::-1],
    "a frame and a mask": lambda _xp, x: pandas.DataFrame(x > 3) & (x > 5),
    "a sum by its method": lambda _xp, x: pandas.DataFrame(x).add(x),
    "equality by its method": lambda _xp, x: pandas.DataFrame(x).eq(x),
    "dates less dates": lambda _xp, x: (
        pandas.Series(x[:, 0].astype("M8[s]")) - x[:, 1].astype("M8[s]")
    ),
    "a masked array": lambda _xp, x: pandas.array(x[:, 0], dtype="Int64") == x[:, 1],
    "hashes": lambda _xp, x: pandas.Series(pandas.util.hash_array(x[:, 0])),
    "integers": lambda xp, x: pandas.Series(
        pandas.arrays.IntegerArray(x[:, 0].astype(int), xp.zeros(len(x), bool))
    ),
    "booleans": lambda xp, x: pandas.Series(
        pandas.arrays.BooleanArray(x[:, 0] > 3, xp.zeros(len(x), bool))
    ),
    "records": lambda xp, _x: pandas.DataFrame.from_records(xp.zeros(2, "i4,f8")),
}  # fmt: skip


@pytest.mark.parametrize("use", ASKED.values(), ids=list(ASKED))
def test_pandas_computes_with_our_arrays_as_with_numpys(
    use: Callable[[types.ModuleType, Any], Any],
) -> None:
    ours = use(dnumpy, dnumpy.arange(12.0).reshape(6, 2))
    numpys = use(np, np.arange(12.0).reshape(6, 2))
    assert type(ours) is type(numpys)
    assert ours.equals(numpys)


def test_an_expression_still_finds_the_variables_around_it() -> None:
    values = dnumpy.arange(3)  # noqa: F841 - which the expression names
    assert pandas.eval("values + 1").tolist() == [1, 2, 3]


def test_a_warning_of_pandas_names_the_line_of_the_program() -> None:
    if pandas.__version__ < "3":
        pytest.skip("nothing is deprecated here in this pandas")
    with pytest.warns(DeprecationWarning, match="Categorical") as met:
        pandas.Categorical(dnumpy.arange(3), categories=dnumpy.arange(2))
    assert met[0].filename == __file__


def pending(kind: str = "f8") -> Any:
    return (dnumpy.arange(3_000_000) * 2).astype(kind).sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda mean: pandas.DataFrame([{"mean": mean}]).dtypes["mean"],
        lambda mean: pandas.DataFrame([(mean, 1)]).dtypes[0],
        lambda mean: pandas.DataFrame({"mean": [mean, 2]}).dtypes["mean"],
        lambda mean: pandas.Series([mean, 2]).dtype,
        lambda mean: pandas.Series({"mean": mean}).dtype,
    ],
)
def test_pending_scalars_are_numbers_in_rows_and_columns(make: Callable[[Any], Any]) -> None:
    assert make(pending()) == np.dtype(float)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_writes_pending_scalars_as_numpys(indent: int | None) -> None:
    total = float(2999999 * 3000000)
    assert json.loads(json.dumps({"a": [pending()]}, indent=indent)) == {"a": [total]}
    assert json.dumps(pending(), default=str) == json.dumps(total)
    with pytest.raises(TypeError, match="Object of type float32 is not JSON serializable"):
        json.dumps(pending("f4"))


@pytest.mark.parametrize("method", ["map", "apply"])
def test_a_function_may_give_an_array_of_no_axes_for_an_element(method: str) -> None:
    made = getattr(pandas.Series([0, 1, 2]), method)(lambda x: dnumpy.where(x == 0, 5, 7))
    expected = getattr(pandas.Series([0, 1, 2]), method)(lambda x: np.where(x == 0, 5, 7))
    pandas.testing.assert_series_equal(made, expected)


def test_levels_of_an_index_are_found() -> None:  # by an engine that is derived from two in C
    index = pandas.MultiIndex.from_product([dnumpy.array(["a", "b"]), dnumpy.arange(3)])
    assert index.is_unique
    assert index.get_loc(("b", 1)) == 4
