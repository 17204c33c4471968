from __future__ import annotations

import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import neighbours
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable

pandas = pytest.importorskip("pandas")

MASK = [True, False, True, False, True]
GROUPS = [1, 1, 2, 2, 2]


def frame() -> Any:
    return pandas.DataFrame({"a": np.arange(5), "b": list("vwxyz")}, index=list("klmno"))


def series_set(xp: types.ModuleType) -> Any:
    series = frame()["a"]
    series[xp.array(MASK)] = -1
    return series


def frame_set(xp: types.ModuleType) -> Any:
    changed = frame()
    changed.loc[xp.array(MASK), "a"] = xp.array([7, 8, 9])
    changed.iloc[xp.array([0]), 0] = 5
    return changed


USES: dict[str, Callable[[types.ModuleType], Any]] = {
    "a series by a mask": lambda xp: frame()["a"][xp.array(MASK)],
    "a frame by a mask": lambda xp: frame()[xp.array(MASK)],
    "loc by a mask": lambda xp: frame().loc[xp.array(MASK)],
    "loc by a mask and a column": lambda xp: frame().loc[xp.array(MASK), "b"],
    "loc by a mask of columns": lambda xp: frame().loc[:, xp.array([True, False])],
    "iloc by a mask": lambda xp: frame().iloc[xp.array(MASK)],
    "loc by a function": lambda xp: frame().loc[lambda _frame: xp.array(MASK)],
    "iloc by positions": lambda xp: frame().iloc[xp.array([3, 0])],
    "an index by a mask": lambda xp: frame().index[xp.array(MASK)],
    "a range by a mask": lambda xp: pandas.RangeIndex(5)[xp.array(MASK)],
    "dates by a mask": lambda xp: pandas.date_range("2020", periods=5)[xp.array(MASK)],
    "a mask computed from an array": lambda xp: frame()[~(xp.arange(5) % 2 == 0)],
    "groups": lambda xp: frame().groupby(xp.array(GROUPS))["a"].sum(),
    "fields": lambda xp: pandas.DataFrame(xp.array([(1, 2.5)], [("a", int), ("b", float)])),
    "values": lambda xp: pandas.DataFrame(xp.eye(3), columns=xp.array(["p", "q", "r"])),
    "groups in a list": lambda xp: frame().groupby(["b", xp.array(GROUPS)])["a"].sum(),
    "groups of a series": lambda xp: frame()["a"].groupby(xp.array(GROUPS)).mean(),
    "an index": lambda xp: frame().set_index(xp.arange(5) * 2),
    "unique values": lambda xp: pandas.Series(pandas.unique(xp.array(GROUPS))),
    "codes": lambda xp: pandas.Series(pandas.factorize(xp.array(GROUPS))[0]),
    "a series written by a mask": series_set,
    "a frame written by a mask": frame_set,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_pandas_takes_our_arrays_for_what_numpys_are(
    use: Callable[[types.ModuleType], Any],
) -> None:
    ours, numpys = use(dnumpy), use(np)
    assert type(ours) is type(numpys)
    assert ours.equals(numpys)


@pytest.mark.parametrize("first", ["pandas", "dnumpy"])
def test_pandas_may_be_imported_before_or_after(first: str) -> None:
    second = "dnumpy" if first == "pandas" else "pandas"
    program = (
        f"import {first}, {second}\n"
        "frame = pandas.DataFrame({'a': [1, 2, 3]})\n"
        "assert list(frame[dnumpy.array([True, False, True])].a) == [1, 3]\n"
        "assert list(frame.iloc[dnumpy.array([True, False, True])].a) == [1, 3]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_dnumpy_imports_no_neighbour() -> None:
    program = "import sys, dnumpy; assert not {'pandas', 'scipy.sparse'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_chained_assignment_is_still_met_with_a_warning() -> None:
    data = frame()
    if pandas.__version__ < "3":
        pytest.skip("copies on write are an option of this pandas")
    with pytest.warns(pandas.errors.ChainedAssignmentError):
        data["a"][dnumpy.array(MASK)] = 1


def test_what_asks_keeps_its_name_and_signature() -> None:
    import inspect

    groupby = pandas.DataFrame.groupby
    assert groupby.__name__ == "groupby"
    assert list(inspect.signature(groupby).parameters)[:2] == ["self", "by"]


def sparse() -> Any:
    return pytest.importorskip("scipy.sparse").csr_array(np.array([[0.0, 2], [3, 0]]))


@pytest.mark.parametrize(
    "use",
    [
        lambda dense: sparse() + dense,
        lambda dense: dense + sparse(),
        lambda dense: sparse() - dense,
        lambda dense: dense - sparse(),
        lambda dense: sparse() / dense,
        lambda dense: sparse() < dense,
        lambda dense: sparse() != dense,
        lambda dense: sparse() @ dense,
        lambda dense: dense @ sparse(),
        lambda dense: sparse().multiply(dense),
        lambda dense: sparse().maximum(dense),
        lambda dense: sparse().todok() + dense,
    ],
)
def test_sparse_arrays_meet_ours_as_they_meet_numpys(use: Callable[[Any], Any]) -> None:
    values = np.array([[1.0, 2], [4, 5]])
    numpys, ours = use(values), use(dnumpy.array(values))
    if hasattr(numpys, "toarray"):
        numpys, ours = numpys.toarray(), ours.toarray()
    np.testing.assert_array_equal(np.asarray(ours), numpys)


def test_sparse_arrays_may_be_imported_after() -> None:
    program = (
        "import dnumpy, scipy.sparse\n"
        "total = scipy.sparse.csr_matrix(dnumpy.eye(2)) + dnumpy.ones((2, 2))\n"
        "assert total.sum() == 6\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_scikit_learn_copies_the_warning_filters() -> None:
    pytest.importorskip("sklearn")
    program = (
        "import dnumpy\n"
        "from sklearn.ensemble import RandomForestClassifier as Forest\n"
        "values = dnumpy.arange(40.0).reshape(20, 2)\n"
        "fitted = Forest(3, random_state=0).fit(values, values[:, 0] > 20)\n"
        "assert fitted.predict(values)[-1]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_grid_of_parameters_may_be_an_array_of_ours() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    grid = selection.ParameterGrid({"C": dnumpy.logspace(-1, 1, 3)})
    assert [point["C"] for point in grid] == [0.1, 1.0, 10.0]


def test_a_picture_is_made_from_our_array() -> None:
    image = pytest.importorskip("PIL.Image")
    values = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert image.fromarray(dnumpy.array(values)).tobytes() == values.tobytes()


@pytest.mark.parametrize("first", ["import sklearn.base", "import dnumpy"])
def test_scikit_learn_finds_an_array_of_ours_where_it_checks_for_numpys_class(first: str) -> None:
    pytest.importorskip("sklearn")
    program = (
        f"{first}\n"
        "import dnumpy as np\n"
        "from sklearn.feature_extraction.image import img_to_graph\n"
        "from sklearn.utils._param_validation import InvalidParameterError\n"
        "image = np.arange(16.0).reshape(4, 4)\n"
        "assert img_to_graph(image, mask=image > 3).shape == (12, 12)\n"
        "try:\n"
        "    img_to_graph(image, mask='no')\n"
        "except InvalidParameterError as error:\n"
        "    assert 'mask' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_table_by_class_has_ours_beside_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = types.ModuleType("autograd.tracer")
    known = {np.ndarray: lambda value: [value], np.float64: float}
    tracer.Box = types.SimpleNamespace(type_mappings=known)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "autograd.tracer", tracer)
    neighbours._adapt("autograd.numpy")
    (found,) = known[dnumpy.ndarray](dnumpy.arange(3))
    assert type(found) is np.ndarray
    assert known[DeferredScalar] is float


def test_autograd_differentiates_by_our_arrays() -> None:
    autograd = pytest.importorskip("autograd")
    slope = autograd.grad(lambda x: (x**2).sum())
    assert slope(dnumpy.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
