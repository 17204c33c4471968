"""Sorting on nodes is NumPy's sorting, in any mode, of any partition, and gathers nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import sorting
from dnumpy.config import config
from dnumpy.runtime import buckets, runs
from dnumpy.runtime.virtual import VirtualCluster
from tests.comparison import assert_as_numpy
from tests.gathering import computed, on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = ("?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
SPEEDS = ((1.0,), (5.0, 3.0, 2.0), (1.0, 1.0), (7.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0))
VIEWS: dict[str, Callable[[Any], Any]] = {
    "C": lambda a: a, "T": lambda a: a.T, "::-1": lambda a: a[::-1], "::2": lambda a: a[..., ::2],
}  # fmt: skip
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5)


def values(seed: int, shape: tuple[int, ...], dtype: str, distinct: int) -> np.ndarray:
    """Return values with so many distinct ones, NaN and both zeros among them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind in "?b":
        return rng.random(shape) < 0.4
    pool: np.ndarray = rng.integers(0, 100, distinct)
    if kind in "fc":
        pool = np.concatenate([rng.normal(size=distinct), SPECIAL])
    picked = rng.choice(pool, shape).astype(dtype)
    if kind == "c":
        picked.imag = rng.choice(pool, shape).real
    return picked


@st.composite
def arrays(draw: Any) -> np.ndarray:
    """Draw an array of one to three axes, some of them empty, in one of several layouts."""
    ndim = draw(st.sampled_from((1, 1, 2, 3)))
    most = {1: 400, 2: 30, 3: 9}[ndim]
    shape = tuple(draw(st.integers(0, most)) for _ in range(ndim))
    made = values(
        draw(st.integers(0, 99)), shape, draw(st.sampled_from(DTYPES)), draw(st.integers(1, 300))
    )
    return VIEWS[draw(st.sampled_from(sorted(VIEWS)))](made)


def laid_out(array: np.ndarray) -> Any:
    """Return the same view of an array of dnumpy, whose base lies on the nodes in ``split``."""
    base = array if array.base is None else array.base
    for view in VIEWS.values():
        seen = view(base)
        if (seen.shape, seen.strides) == (array.shape, array.strides):
            return view(on_nodes(base))
    raise AssertionError(array.strides)


def axes_of(array: np.ndarray) -> list[int | None]:
    return [None, *range(-array.ndim, array.ndim)]


@pytest.mark.parametrize("ordered", [np.sort, np.argsort, np.median])
def test_a_long_line_is_sorted_in_two_runs(
    ordered: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.random.default_rng(8).permutation(4_000) * 0.5
    ran: list[int] = []
    run = VirtualCluster.run

    def counted(nodes: VirtualCluster, graph: Any, *wanted: Any) -> Any:
        ran.append(len(graph.tasks))
        return run(nodes, graph, *wanted)

    monkeypatch.setattr(config, "tile_rows_max", 100)
    with spread_out(5.0, 3.0, 2.0):
        lying = on_nodes(array)
        monkeypatch.setattr(VirtualCluster, "run", counted)
        found = computed(getattr(dnumpy, ordered.__name__)(lying))
        assert len(ran) == 2
    assert np.array_equal(found, ordered(array))


def same(found: Any, expected: np.ndarray) -> None:
    assert type(found) is dnumpy.ndarray
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.strides == expected.strides or not expected.size
    np.testing.assert_array_equal(np.asarray(found), expected)


@settings(max_examples=60, deadline=None)
@given(arrays(), st.data())
def test_sorting_any_axis_of_any_layout_is_numpys(array: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from(axes_of(array)))
    kind = data.draw(st.sampled_from((None, "quicksort", "stable", "heapsort", "mergesort")))
    with spread_out(*data.draw(st.sampled_from(SPEEDS))):
        ours = laid_out(array)
        same(dnumpy.sort(ours, axis, kind), np.sort(array, axis, kind))
        found = dnumpy.argsort(ours, axis, kind)
        same(found, np.argsort(array, axis, "stable"))


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data())
def test_in_place_methods_write_through_views(array: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    with spread_out():
        ours, expected = laid_out(array), array.copy("K")
        before = dnumpy.array(ours)
        assert ours.sort(axis) is None
        expected.sort(axis)
        np.testing.assert_array_equal(np.asarray(ours), expected)
        base = ours if ours.base is None else ours.base
        assert np.sort(np.asarray(base), None).shape == np.sort(np.asarray(before), None).shape or (
            base is not ours
        )
        np.testing.assert_array_equal(np.asarray(before), array)  # what was copied stays


def test_sorting_a_strided_view_leaves_the_rest_of_its_base() -> None:
    plain = values(3, (300,), "f8", 200)
    with spread_out():
        ours = on_nodes(plain)
        ours[::2].sort()
        expected = plain.copy()
        expected[::2].sort()
        np.testing.assert_array_equal(np.asarray(ours), expected)


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data())
def test_partitions_hold_what_numpy_promises(array: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, array.ndim - 1))
    length = array.shape[axis]
    if not length:
        return
    kth = data.draw(st.lists(st.integers(-length, length - 1), min_size=1, max_size=4))
    with spread_out():
        ours = laid_out(array)
        parted = np.moveaxis(np.asarray(dnumpy.partition(ours, kth, axis)), axis, 0)
        places = np.asarray(dnumpy.argpartition(ours, kth, axis))
        picked = np.moveaxis(np.take_along_axis(array, places, axis), axis, 0)
        ordered = np.moveaxis(np.sort(array, axis), axis, 0)
        for found in (parted, picked):
            np.testing.assert_array_equal(np.sort(found, 0), ordered)
            for k in kth:
                np.testing.assert_array_equal(found[k], ordered[k])
                cut = k % length
                np.testing.assert_array_equal(np.sort(found[:cut], 0), ordered[:cut])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(2, 200), st.sampled_from(("f8", "i4", "c8")), st.booleans())
def test_lexsort_is_numpys(seed: int, count: int, dtype: str, rows: bool) -> None:
    shape = (count // 8 + 1, 7) if rows else (count,)
    keys = [values(seed + k, shape, d, 4) for k, d in enumerate((dtype, "i8", "f4"))]
    with spread_out():
        same(dnumpy.lexsort([on_nodes(k) for k in keys]), np.lexsort(keys))


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("turned", [False, True])
def test_all_elements_of_a_matrix_here_are_sorted_as_one_line(
    turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(runs, "SMALLEST", 1_000)
    monkeypatch.setattr(config, "threads", 2)
    sorted_here: list[int] = []
    sort_to = buckets.sort_to
    monkeypatch.setattr(
        buckets, "sort_to", lambda line, out: (sorted_here.append(line.size), sort_to(line, out))
    )
    matrix = values(3, (60, 50), "f8", 900)
    matrix = np.asfortranarray(matrix) if turned else matrix
    same(dnumpy.sort(dnumpy.array(matrix), axis=None), np.sort(matrix, axis=None))
    assert sorted_here == [3_000]
    with pytest.raises(ValueError, match="sort kind"):
        dnumpy.sort(dnumpy.array(matrix), axis=None, kind="odd")


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("dtypes", [("f8", "i8"), ("i4", "f4", "u8"), ("f8",), ("i2", "f8")])
def test_lexsort_of_long_lines_here_is_numpys(
    dtypes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(runs, "SMALLEST", 1_000)
    keys = [values(k, (30_000,), dtype, 5 + 90 * k) for k, dtype in enumerate(dtypes)]
    for given_keys in (keys, [key[::2] for key in keys]):
        ours = [dnumpy.array(key) for key in given_keys]
        same(dnumpy.lexsort(ours), np.lexsort(given_keys))
        same(dnumpy.lexsort(tuple(ours), 0), np.lexsort(given_keys, 0))
    table = dnumpy.array(np.array([keys[0], keys[0][::-1]]))
    same(dnumpy.lexsort(table), np.lexsort(np.asarray(table)))
    with pytest.raises(ValueError, match="all keys need to be the same shape"):
        dnumpy.lexsort((dnumpy.array(keys[0]), dnumpy.array(keys[0][:-1])))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 99),
    st.integers(0, 300),
    st.integers(0, 300),
    st.sampled_from(DTYPES[1:]),
    st.sampled_from(DTYPES[1:]),
    st.sampled_from(("left", "right")),
)
def test_searchsorted_is_numpys(
    seed: int, length: int, count: int, one: str, other: str, side: str
) -> None:
    table = np.sort(values(seed, (length,), one, 50))
    wanted = values(seed, (count,), other, 50)
    with spread_out():
        found = dnumpy.searchsorted(on_nodes(table), on_nodes(wanted), side)
        same(found, np.searchsorted(table, wanted, side))
        if count:
            found = dnumpy.searchsorted(on_nodes(table), wanted[0], side)
            assert found == np.searchsorted(table, wanted[0], side)
            assert np.ndim(found) == 0


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("one", ["f8", "i8", "u1", "f4"])
@pytest.mark.parametrize("other", ["f8", "i8", "u1", "f4", "?", "c16"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_many_values_are_found_at_home_as_numpy_does(one: str, other: str, side: str) -> None:
    table = np.sort(values(1, (300,), one, 50))
    wanted = values(2, (30_000, 10), other, 50)
    found = dnumpy.searchsorted(table, dnumpy.asarray(wanted), side)
    same(found, np.searchsorted(table, wanted, side))
    table[:] = 0  # which is not to be seen
    again = dnumpy.searchsorted(dnumpy.asarray(table), dnumpy.asarray(wanted), side=side)
    same(again, np.searchsorted(table, wanted, side=side))


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
def test_values_at_home_that_are_to_be_found_meet_numpys_errors() -> None:
    x = dnumpy.zeros(300_000)
    for wrong in (
        lambda xp, v: xp.searchsorted([1.0, 2.0], v, side="lefty"),
        lambda xp, v: xp.searchsorted([1.0, 2.0], v, side=None),
        lambda xp, v: xp.searchsorted([[1.0], [2.0]], v),
        lambda xp, v: xp.digitize(v, [2, 1, 3]),
    ):
        with pytest.raises(Exception) as expected:  # noqa: PT011 - whichever is NumPy's
            wrong(np, np.zeros(300_000))
        with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
            wrong(dnumpy, x)


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("bins", [[-1, 0, 1], [1.0, 0.0], [0]])
@pytest.mark.parametrize("right", [False, True])
def test_many_values_at_home_are_told_their_bins(bins: list[float], right: bool) -> None:
    x = np.random.default_rng(0).normal(size=300_000)
    x[::1000] = np.nan
    found = dnumpy.digitize(dnumpy.asarray(x), bins, right)
    same(found, np.digitize(x, bins, right))


@pytest.mark.parametrize("dtype", ["f8", "i8", "c16", "f2"])
@pytest.mark.parametrize("distinct", [1, 5, 3000])
def test_the_bits_do_not_depend_on_the_partition(dtype: str, distinct: int) -> None:
    plain = values(7, (3000,), dtype, distinct)
    found = set()
    for speeds in SPEEDS:
        with spread_out(*speeds):
            ours = on_nodes(plain)
            results = dnumpy.sort(ours), dnumpy.argsort(ours)
            found.add(b"".join(np.asarray(r).tobytes() for r in results))
    assert len(found) == 1


def test_sorting_stably_keeps_the_signs_of_zeros_in_order() -> None:
    plain = np.where(np.arange(500) % 3 > 0, 0.0, -0.0)
    with spread_out():
        found = np.asarray(dnumpy.sort(on_nodes(plain), kind="stable"))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(plain))


V = values(1, (600,), "f8", 500)
X = values(2, (60, 30), "f8", 500)
MANY = values(2, (600,), "i8", 3)
LONG = values(4, (2, 600), "f8", 900)

# name -> (operand, the call); the operand lies on three nodes and must not be gathered
TABLE: dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]] = {
    "sort": (V, lambda xp, a: xp.sort(a)),
    "sort-duplicates": (MANY, lambda xp, a: xp.sort(a)),
    "sort-rows": (X, lambda xp, a: xp.sort(a, axis=1)),
    "sort-columns": (X, lambda xp, a: xp.sort(a, axis=0)),
    "sort-all": (X, lambda xp, a: xp.sort(a, axis=None)),
    "sort-long-rows": (LONG.T.copy(), lambda xp, a: xp.sort(a, axis=0)),
    "argsort": (V, lambda xp, a: xp.argsort(a, kind="stable")),
    "argsort-duplicates": (MANY, lambda xp, a: xp.argsort(a, kind="stable")),
    "argsort-columns": (X, lambda xp, a: xp.argsort(a, axis=0, kind="stable")),
    "partition-rows": (X, lambda xp, a: xp.partition(a, 3, axis=1)),
    "argpartition-rows": (X, lambda xp, a: xp.argpartition(a, 3, axis=1)),
    "lexsort": (V, lambda xp, a: xp.lexsort((a, -a))),
    "searchsorted-table": (np.sort(V), lambda xp, a: xp.searchsorted(a, [0.1, 0.9])),
    "searchsorted-values": (V, lambda xp, a: xp.searchsorted(np.arange(5.0), a)),
    "digitize": (V, lambda xp, a: xp.digitize(a, np.arange(5.0))),
}


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_operands_stay_on_their_nodes(name: str) -> None:
    plain, call = TABLE[name]
    with spread_out() as meter:
        found = call(dnumpy, on_nodes(plain))
        assert meter.most() < plain.nbytes / 2, f"{name} gathers {meter.gathered}"
        expected = call(np, plain)
        results = found if isinstance(expected, tuple) else (found,)
        for one, other in zip(results, expected if results is found else (expected,), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.sort(a, axis=2),
        lambda xp, a: xp.sort(a, kind="x"),
        lambda xp, a: xp.sort(a, kind="stable", stable=False),
        lambda xp, a: xp.argsort(a, axis=-3),
        lambda xp, a: xp.partition(a, 40),
        lambda xp, a: xp.partition(a, 1.5),
        lambda xp, a: xp.asarray(a).sort(axis=5),
        lambda xp, a: xp.searchsorted(a, 1.0),
    ],
)
def test_errors_are_numpys(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        call(np, X)
    with spread_out(), pytest.raises(type(expected.value)) as found:
        call(dnumpy, on_nodes(X))
    assert str(found.value) == str(expected.value)


def test_rows_shared_out_among_threads_at_home_are_numpys() -> None:
    plain = values(5, (1200, 1000), "f8", 1000)
    expected = np.sort(plain, axis=1, kind="stable")
    with spread_out():
        config.mode, config.threads, threads = "lazy", 2, config.threads
        try:
            found = dnumpy.sort(dnumpy.array(plain), axis=1, kind="stable")
            assert found._np is None
            np.testing.assert_array_equal(np.asarray(found), expected)
            np.testing.assert_array_equal(np.signbit(np.asarray(found)), np.signbit(expected))
        finally:
            config.threads = threads


def test_a_locked_array_is_not_sorted() -> None:
    with spread_out():
        ours = on_nodes(V)
        ours.flags.writeable = False
        with pytest.raises(ValueError, match="sort array is read-only"):
            ours.sort()


LANES_HERE = {
    "sort": lambda xp, a, axis: xp.sort(a, axis),
    "sort stably": lambda xp, a, axis: xp.sort(a, axis, stable=True),
    "heapsort": lambda xp, a, axis: xp.sort(a, axis=axis, kind="heapsort"),
    "argsort": lambda xp, a, axis: xp.argsort(a, axis),
    "argsort stably": lambda xp, a, axis: xp.argsort(a, axis=axis, kind="stable"),
    "partition": lambda xp, a, axis: xp.partition(a, 2, axis),
    "partition at several": lambda xp, a, axis: xp.partition(a, [3, -1], axis=axis),
    "argpartition": lambda xp, a, axis: xp.argpartition(a, (1, 4), axis=axis),
    "method argsort": lambda _, a, axis: a.argsort(axis),
    "method argpartition": lambda _, a, axis: a.argpartition(3, axis),
    "no such rank": lambda xp, a, axis: xp.partition(a, 900, axis),
    "no such kind": lambda xp, a, axis: xp.argsort(a, axis, kind="no"),
}


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(LANES_HERE)),
    st.sampled_from(((40, 30), (9, 40), (12, 9, 8), (500, 8))),
    st.sampled_from((0, 1, -1, -2, 2, 3, None)),
    st.sampled_from(("f8", "i8", "u1", "f4", "c16", "?")),
    st.integers(2, 300),
)
def test_lanes_at_home_are_sorted_as_numpys(
    name: str, shape: tuple[int, ...], axis: int | None, dtype: str, distinct: int
) -> None:
    array = values(5, shape, dtype, distinct)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "SHARED_BYTES", 0)
        patch.setattr(config, "threads", 2)
        patch.setattr(config, "eager_below", 0)

        def program(xp: Any) -> Any:
            found = LANES_HERE[name](xp, xp.asarray(array).copy(), axis)
            return found, found.flags.c_contiguous

        assert_as_numpy(program)


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
def test_lanes_at_home_are_shared_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 2)
    x = dnumpy.asarray(np.random.default_rng(0).normal(size=(600, 600))) + 0
    for made, op in (
        (dnumpy.sort(x, 1), "sort_rows"),
        (dnumpy.sort(x, 0), "permute"),
        (dnumpy.argsort(x, 1), "numpy.argsort"),
        (dnumpy.partition(x, 3, 1), "partition_rows"),
    ):
        assert made._buf.expr.op.name == op
