"""Indexing to the last corner: what NumPy reads and writes, of arrays at home and on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from tests.gathering import computed, on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(31)
X = _rng.random((60, 12))
B = _rng.random((40, 6, 4))
V = _rng.random(300)
N = _rng.integers(0, 300, 250)
C = X + 1j * X[::-1]
ROWS = _rng.integers(-60, 60, 70)
MASK = X > 0.4
WITHIN = _rng.integers(-12, 12, (60, 5))
COUNTS = _rng.integers(0, 4, 60)
FEW = np.array([3, 1, 3, 0, -1])
PAIRS = (_rng.integers(0, 60, 50), _rng.integers(0, 12, 50))

# what reads: name -> (operands, which lie on nodes and are not gathered, and the call)
READS: dict[str, tuple[tuple[np.ndarray, ...], Callable[..., Any]]] = {
    "index-rows": ((X, ROWS), lambda xp, a, i: a[i]),
    "index-rows-2d": ((X, ROWS.reshape(35, 2)), lambda xp, a, i: a[i]),
    "index-from-list": ((X,), lambda xp, a: a[[3, -1, 3]]),
    "index-pairs": ((X, *PAIRS), lambda xp, a, i, j: a[i, j]),
    "index-columns": ((X,), lambda xp, a: a[:, FEW]),
    "index-mixed": ((B,), lambda xp, a: a[1:30:2, None, FEW]),
    "index-split": ((B, FEW), lambda xp, a, i: a[i, :, [0, 1, 2, 3, 0]]),
    "index-with-int": ((B, FEW), lambda xp, a, i: a[i, 2]),
    "index-of-a-view": ((B, FEW), lambda xp, a, i: a[::-2, 1:5][i]),
    "index-of-a-transpose": ((X,), lambda xp, a: a.T[[3, 1, 3, 0, -1, 4, 9, 11]]),
    "index-by-a-small-one": ((V, N), lambda xp, a, i: a[i.astype("i2")]),
    "mask": ((X, MASK), lambda xp, a, m: a[m]),
    "mask-rows": ((X, MASK[:, 0].copy()), lambda xp, a, m: a[m]),
    "mask-and-column": ((X, MASK[:, 0].copy()), lambda xp, a, m: a[m, 2]),
    "mask-columns": ((X,), lambda xp, a: a[:, MASK[0]]),
    "mask-of-two-axes": ((B, B[:, :, 0] > 0.5), lambda xp, a, m: a[m]),
    "take": ((X, ROWS), lambda xp, a, i: xp.take(a, i, axis=0)),
    "take-flat": ((X, N), lambda xp, a, i: xp.take(a, i)),
    "take-columns": ((X,), lambda xp, a: xp.take(a, FEW, axis=1)),
    "take-wrap": ((X, ROWS), lambda xp, a, i: a.take(i * 3, axis=0, mode="wrap")),
    "take-clip": ((X, ROWS), lambda xp, a, i: a.take(i * 3, axis=0, mode="clip")),
    "take-out": ((X, ROWS), lambda xp, a, i: xp.take(a, i, axis=0, out=on(xp, np.zeros((70, 12))))),
    "compress": ((X, MASK[:, 0].copy()), lambda xp, a, m: xp.compress(m, a, axis=0)),
    "compress-columns": ((X,), lambda xp, a: a.compress(MASK[0], axis=1)),
    "extract": ((X, MASK), lambda xp, a, m: xp.extract(m, a)),
    "nonzero": ((X * MASK,), lambda xp, a: xp.nonzero(a)),
    "argwhere": ((X * MASK,), lambda xp, a: xp.argwhere(a)),
    "flatnonzero": ((X * MASK,), lambda xp, a: xp.flatnonzero(a)),
    "where-1": ((MASK,), lambda xp, m: xp.where(m)),
    "take_along_axis": ((X, WITHIN), lambda xp, a, i: xp.take_along_axis(a, i, axis=1)),
    "take_along_axis-0": (
        (X, np.abs(WITHIN.T)[:, :12].copy()),
        lambda xp, a, i: xp.take_along_axis(a, i, axis=0),
    ),
    "repeat": ((X,), lambda xp, a: xp.repeat(a, 3, axis=0)),
    "repeat-columns": ((X,), lambda xp, a: a.repeat(2, axis=1)),
    "repeat-flat": ((X,), lambda xp, a: xp.repeat(a, 2)),
    "repeat-each": ((X,), lambda xp, a: xp.repeat(a, COUNTS, axis=0)),
    "choose": (
        (N % 3, V[:250].copy(), V[50:].copy()),
        lambda xp, i, a, b: xp.choose(i, [a, b, a + b]),
    ),
    "choose-wrap": ((N, V[:250].copy()), lambda xp, i, a: xp.choose(i, (a, -a), mode="wrap")),
    "select": ((X,), lambda xp, a: xp.select([a < 0.2, a > 0.7], [a, -a], 5.0)),
    "piecewise": (
        (V,),
        lambda xp, a: xp.piecewise(a, [a < 0.3, a >= 0.3], [-1.0, lambda x: x * 2]),
    ),
    "insert": ((V,), lambda xp, a: xp.insert(a, 5, 2.0)),
    "insert-many": ((X,), lambda xp, a: xp.insert(a, [1, 4, 4], 2.0, axis=0)),
    "delete": ((X,), lambda xp, a: xp.delete(a, [1, 5, -3], axis=0)),
    "delete-slice": ((X,), lambda xp, a: xp.delete(a, slice(2, 50, 3), axis=0)),
    "append": ((X,), lambda xp, a: xp.append(a, a[:20], axis=0)),
    "ravel_multi_index": (PAIRS, lambda xp, i, j: xp.ravel_multi_index((i, j), (60, 12))),
    "ravel_multi_index-F": (
        PAIRS,
        lambda xp, i, j: xp.ravel_multi_index((i * 3, j), (60, 12), mode="wrap", order="F"),
    ),
    "unravel_index": ((N,), lambda xp, i: xp.unravel_index(i, (10, 30))),
    "unravel_index-F": ((N,), lambda xp, i: xp.unravel_index(i, (10, 30), order="F")),
    "ix_": ((X, N[:20] % 60), lambda xp, a, i: a[xp.ix_(i, np.array([1, 3]))]),
    "tril": ((X,), lambda xp, a: xp.tril(a, 2)),
    "triu": ((X,), lambda xp, a: xp.triu(a, -2)),
    "diag": ((X,), lambda xp, a: xp.diag(a, 1)),
    "diagonal": ((B,), lambda xp, a: a.diagonal(1, 0, 1)),
    "sliding_window_view": (
        (V,),
        lambda xp, a: xp.lib.stride_tricks.sliding_window_view(a, 5).max(axis=1),
    ),
    "as_strided": (
        (V,),
        lambda xp, a: xp.lib.stride_tricks.as_strided(a, (99, 4), (24, 8)) + 1,
    ),
    "flat-slice": ((X,), lambda xp, a: a.flat[3:700:5]),
    "flat-index": ((X, N), lambda xp, a, i: a.flat[i]),
    "transpose": ((X,), lambda xp, a: a.T * 2 + 1),
    "transpose-of-a-box": ((B,), lambda xp, a: a[3:37, 1:, ::2].T + 1),
    "swapaxes": ((B,), lambda xp, a: a.swapaxes(0, 1)[::-1] - 1),
    "reversed-transpose": ((X,), lambda xp, a: a[::-1].T + a.T),
    "real": ((C,), lambda xp, a: a.real + a.imag),
    "view-of-bytes": ((V,), lambda xp, a: a.view("i8") + 1),
}


def on(xp: Any, values: np.ndarray) -> Any:
    return on_nodes(values) if xp is dnumpy else values.copy()


def written(change: Callable[..., Any]) -> Callable[..., Any]:
    def call(xp: Any, a: Any, *rest: Any) -> Any:
        target = a.copy()
        change(xp, target, *rest)
        return target

    return call


def _put(a: Any, key: Any, value: Any) -> None:
    a[key] = value


def _add(a: Any, key: Any, value: Any) -> None:
    a[key] += value


LONG = _rng.random(70 * 12).reshape(70, 12)

# what writes: name -> (operands, the change of the first)
WRITES: dict[str, tuple[tuple[np.ndarray, ...], Callable[..., Any]]] = {
    "rows": ((X, ROWS, LONG), lambda xp, a, i, v: _put(a, i, v)),
    "rows-scalar": ((X, ROWS), lambda xp, a, i: _put(a, i, 7)),
    "rows-one-row": ((X, ROWS, V[:12].copy()), lambda xp, a, i, v: _put(a, i, v)),
    "rows-one-column": ((X, ROWS, LONG[:, :1].copy()), lambda xp, a, i, v: _put(a, i, v)),
    "rows-added": ((X, ROWS), lambda xp, a, i: _add(a, i, 1.5)),
    "duplicates": ((V, N % 7, N.astype(float)), lambda xp, a, i, v: _put(a, i, v)),
    "pairs": ((X, *PAIRS, V[:50].copy()), lambda xp, a, i, j, v: _put(a, (i, j), v)),
    "columns": ((X,), lambda xp, a: _put(a, (slice(None), FEW), 3)),
    "columns-values": (
        (X, LONG[:60, :5].copy()),
        lambda xp, a, v: _put(a, (slice(None), FEW), v),
    ),
    "split": (
        (B, FEW, _rng.random((5, 6))),
        lambda xp, a, i, v: _put(a, (i, slice(None), [0, 1, 2, 3, 0]), v),
    ),
    "of-a-transpose": ((X,), lambda xp, a: _put(a.T, [1, 2, 1], 4)),
    "of-a-view": ((B, FEW), lambda xp, a, i: _put(a[::-2, 1:], i, 4)),
    "mask": ((X, MASK, _rng.random(MASK.sum())), lambda xp, a, m, v: _put(a, m, v)),
    "mask-scalar": ((X, MASK), lambda xp, a, m: _put(a, m, -1)),
    "mask-added": ((X, MASK), lambda xp, a, m: _add(a, m, 1)),
    "mask-rows": ((X, MASK[:, 0].copy(), V[:12].copy()), lambda xp, a, m, v: _put(a, m, v)),
    "mask-of-two-axes": (
        (B, B[:, :, 0] > 0.5, _rng.random((int((B[:, :, 0] > 0.5).sum()), 4))),
        lambda xp, a, m, v: _put(a, m, v),
    ),
    "put": ((X, N, V), lambda xp, a, i, v: xp.put(a, i, v[:4])),
    "put-clip": ((X, N), lambda xp, a, i: a.put(i * 5 - 300, [1, 2, 3], mode="clip")),
    "place": ((X, MASK, V), lambda xp, a, m, v: xp.place(a, m, v[:5])),
    "putmask": ((X, MASK, LONG[:60].copy()), lambda xp, a, m, v: xp.putmask(a, m, v)),
    "putmask-repeats": ((X, MASK, V), lambda xp, a, m, v: xp.putmask(a, m, v[:7])),
    "copyto-where": ((X, MASK, LONG[:60].copy()), lambda xp, a, m, v: xp.copyto(a, v, where=m)),
    "put_along_axis": (
        (X, WITHIN),
        lambda xp, a, i: xp.put_along_axis(a, i, 2.0, axis=1),
    ),
    "fill_diagonal": ((X,), lambda xp, a: xp.fill_diagonal(a, 9)),
    "fill_diagonal-wrap": ((X,), lambda xp, a: xp.fill_diagonal(a, 9, wrap=True)),
    "flat-slice": ((X, V), lambda xp, a, v: _put(a.flat, slice(3, 700, 5), v[:140])),
    "flat-index": ((X, N), lambda xp, a, i: _put(a.flat, i, 3.0)),
    "flat-diagonal": ((X,), lambda xp, a: _put(a.flat, slice(None, None, 13), 3.0)),
    "transpose": ((X, LONG[:60].copy()), lambda xp, a, v: _put(a.T, slice(2, 7), v.T[2:7])),
    "reversed-transpose": ((X,), lambda xp, a: _put(a[::-1].T, slice(2, 7), 5.0)),
    "reshaped": ((X, V), lambda xp, a, v: _put(a.reshape(-1), slice(5, 605, 2), v)),
    "reshaped-transpose": (
        (X, LONG),
        lambda xp, a, v: _put(a.reshape(24, 30).T, slice(3, 9), v[:12].reshape(6, 24)),
    ),
    "row": ((B, V[:24].copy()), lambda xp, a, v: _put(a, 3, v.reshape(6, 4))),
    "real": ((C,), lambda xp, a: _put(a.real, slice(3, 9), 1.0)),
    "imag-transpose": ((C,), lambda xp, a: _put(a.imag.T, slice(3, 9), 1.0)),
}


def nbytes_most(operands: tuple[np.ndarray, ...]) -> int:
    return operands[0].nbytes


@pytest.mark.parametrize("name", sorted(READS))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_reading_by_index_gathers_nothing_whole(name: str) -> None:
    operands, call = READS[name]
    expected = call(np, *[x.copy() for x in operands])
    with spread_out() as meter:
        found = call(dnumpy, *map(on_nodes, operands))
        computed(found)
        assert meter.most() < max(operands[0].nbytes / 2, 200), f"gathers {meter.gathered}"
        same(found, expected)


@pytest.mark.parametrize("name", sorted(WRITES))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_writing_by_index_gathers_nothing_whole(name: str) -> None:
    operands, change = WRITES[name]
    expected = written(change)(np, *operands)
    with spread_out() as meter:
        found = written(change)(dnumpy, *map(on_nodes, operands))
        computed(found)
        assert meter.most() < max(operands[0].nbytes / 2, 200), f"gathers {meter.gathered}"
        same(found, expected)


def same(found: Any, expected: Any) -> None:
    """Raise unless values, dtypes and shapes are equal."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.asarray(found), expected)


DTYPES = ("f8", "f4", "i8", "i2", "u1", "?", "c16", "f2")


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Draw an array of up to four axes, some of one or no element."""
    shape = tuple(draw(st.lists(st.integers(0, 7), min_size=1, max_size=4)))
    count = int(np.prod(shape))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 100, count)
    made = values.astype(draw(st.sampled_from(DTYPES))).reshape(shape)
    return made.transpose(draw(st.permutations(range(len(shape)))))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Draw an index with at least one index array or mask, most often one that fits."""
    parts: list[Any] = []
    common = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    axis = 0
    while axis < len(shape):
        extent = shape[axis]
        kind = draw(st.sampled_from(("array", "array", "mask", "slice", "int", "new", "stop")))
        if kind == "new":
            parts.append(None)
            continue
        if kind == "stop":
            break
        axis += 1
        if kind == "int" and extent:
            parts.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "array":
            own = draw(st.sampled_from((common, common[-1:], (1,) * len(common), common)))
            wrong = draw(st.integers(0, 40)) == 0
            top = extent - 1 if extent and not wrong else extent
            index = np.random.default_rng(draw(st.integers(0, 99))).integers(-extent, top + 1, own)
            parts.append(index.astype(draw(st.sampled_from(("i8", "i4", "i1")))))
        elif kind == "mask":
            ndim = draw(st.integers(1, min(2, len(shape) - axis + 1)))
            own = shape[axis - 1 : axis - 1 + ndim]
            parts.append(np.random.default_rng(draw(st.integers(0, 99))).random(own) > 0.5)
            axis += ndim - 1
        else:
            step = draw(st.sampled_from((1, 1, 2, -1, -2)))
            parts.append(slice(None, None, step))
    if not any(isinstance(p, np.ndarray) for p in parts):
        parts = [np.zeros(2, int), *parts[1:]]
    if draw(st.integers(0, 6)) == 0:
        parts.append(Ellipsis)
    return tuple(parts) if len(parts) > 1 or draw(st.booleans()) else parts[0]


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or its error's type and text."""
    try:
        found = call()
    except (IndexError, ValueError, TypeError) as error:
        return type(error), str(error)
    return found


def ours(key: Any) -> Any:
    if type(key) is tuple:
        return tuple(map(ours, key))
    return dnumpy.array(key) if isinstance(key, np.ndarray) else key


def agree(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(np.asarray(found), expected)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_index_reads_what_numpy_reads(data: st.DataObject) -> None:
    values = data.draw(arrays())
    key = data.draw(keys(values.shape))
    expected = outcome(lambda: values[key])
    with spread_out():
        agree(outcome(lambda: on_nodes(values)[ours(key)]), expected)
    agree(outcome(lambda: dnumpy.array(values)[ours(key)]), expected)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_index_writes_what_numpy_writes(data: st.DataObject) -> None:
    values = data.draw(arrays())
    key = data.draw(keys(values.shape))
    shown = outcome(lambda: values[key])
    shape = shown.shape if isinstance(shown, np.ndarray) else ()
    cut = data.draw(st.integers(0, len(shape)))
    shape = tuple(1 if data.draw(st.integers(0, 5)) == 0 else n for n in shape[cut:])
    if data.draw(st.integers(0, 15)) == 0:
        shape = (*shape, 3)
    new = np.random.default_rng(5).integers(0, 50, shape).astype(values.dtype)

    def write(a: Any, k: Any, v: Any) -> Any:
        a[k] = v
        return a

    expected = outcome(lambda: write(values.copy(), key, new))
    with spread_out():
        found = outcome(lambda: write(on_nodes(values), ours(key), dnumpy.array(new)))
        agree(found, expected)
    agree(outcome(lambda: write(dnumpy.array(values), ours(key), dnumpy.array(new))), expected)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_writes_through_any_view_reach_the_base(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    values = np.arange(float(np.prod(shape))).reshape(shape)
    steps = tuple(slice(None, None, data.draw(st.sampled_from((1, -1, 2)))) for _ in shape)
    axes = data.draw(st.permutations(range(len(shape))))
    flat = data.draw(st.booleans())
    cut = slice(*sorted((data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9)))))

    def program(xp: Any, a: Any) -> Any:
        seen = (a.reshape(-1)[::2] if flat else a)[() if flat else steps]
        seen = seen if flat else seen.transpose(axes)
        seen[cut] = xp.asarray(np.arange(seen[cut].size) + 100.0).reshape(seen[cut].shape)
        seen[cut] *= 2
        return a

    expected = program(np, values.copy())
    with spread_out():
        np.testing.assert_array_equal(np.asarray(program(dnumpy, on_nodes(values))), expected)


def test_the_last_of_equal_indices_wins() -> None:
    index = np.random.default_rng(3).integers(0, 11, 500)
    with spread_out(1.0, 3.0, 0.5, 2.0):
        target = on_nodes(np.zeros(11))
        target[on_nodes(index)] = on_nodes(np.arange(500.0))
        expected = np.zeros(11)
        expected[index] = np.arange(500.0)
        np.testing.assert_array_equal(np.asarray(target), expected)


def test_an_index_on_nodes_into_a_small_table_stays_there() -> None:
    with spread_out() as meter:
        index = on_nodes(N)
        table = dnumpy.array(V)
        config.eager_below = 1000
        small = dnumpy.array(V)
        config.eager_below = 0
        assert small._np is not None
        found = computed([small[index], small.take(index), table[index]])
        assert meter.most() == 0
        for one in found:
            same(one, V[N])


def test_an_index_out_of_bounds_is_an_error_at_the_call() -> None:
    index = np.array([3, 61, -70])
    said = outcome(lambda: X[index])
    with spread_out():
        assert outcome(lambda: on_nodes(X)[on_nodes(index)]) == said
        assert outcome(lambda: on_nodes(X).take(on_nodes(index), axis=0)) == said
        for mode in ("wrap", "clip"):
            found = dnumpy.take(on_nodes(X), on_nodes(index), axis=0, mode=mode)
            same(found, np.take(X, index, axis=0, mode=mode))


def test_a_pending_reader_keeps_what_it_read_before_a_scatter() -> None:
    with spread_out():
        array = on_nodes(X)
        before = array * 2
        view = array.T
        array[on_nodes(ROWS)] = 0
        np.testing.assert_array_equal(np.asarray(before), X * 2)
        changed = X.copy()
        changed[ROWS] = 0
        np.testing.assert_array_equal(np.asarray(view), changed.T)


def test_memory_is_shared_as_numpy_says_without_gathering() -> None:
    def answers(xp: Any, a: Any) -> list[Any]:
        part, other = a[2:9], a.copy()
        return [
            xp.shares_memory(a, part),
            xp.shares_memory(a[::2], a[1::2]),
            xp.may_share_memory(a[::2], a[1::2]),
            xp.may_share_memory(a[:5], a[5:]),
            xp.shares_memory(a, other),
            xp.may_share_memory(a.T, part),
            xp.shares_memory(a, a[FEW]),
            a.T.strides,
            a.T.flags.f_contiguous,
            part.base is a,
            a.reshape(-1).base is a,
        ]

    values = X.copy()
    with spread_out() as meter:
        found = answers(dnumpy, on_nodes(values))
        assert meter.most() == 0
    assert found == answers(np, values)


def test_a_flat_iterator_gives_every_element_in_order() -> None:
    values = B[:7]
    with spread_out():
        array = on_nodes(values)
        iterator = array.flat
        assert [next(iterator) for _ in range(30)] == values.reshape(-1)[:30].tolist()
        at = values.flat
        for _ in range(30):
            next(at)
        assert (iterator.index, iterator.coords) == (at.index, at.coords)
        array[1, 1, 3] = -5.0  # element 31
        next(iterator)
        assert next(iterator) == -5.0
        assert len(list(iterator)) == values.size - 32
        array.flat = [1, 2, 3]
        expected = values.copy()
        expected.flat = [1, 2, 3]
        np.testing.assert_array_equal(np.asarray(array), expected)
        said = outcome(lambda: values.flat[[1, 200]])
        assert outcome(lambda: array.flat[[1, 200]]) == said


def test_only_what_is_shown_comes_home() -> None:
    with spread_out() as meter:
        array = on_nodes(X)
        assert array.item(7) == X.item(7)
        assert array.item(-1) == X.item(-1)
        assert array.item(3, 4) == array.item((3, 4)) == X.item(3, 4)
        assert array[:2].tolist() == X[:2].tolist()
        assert array.flat[700] == X.flat[700]
        assert meter.most() <= X[:2].nbytes
        said = outcome(lambda: X.item(1000))
        assert outcome(lambda: array.item(1000)) == said


def test_iterators_of_numpy_walk_over_arrays_on_nodes() -> None:
    with spread_out():
        array = on_nodes(X[:4])
        assert list(dnumpy.ndenumerate(array)) == list(np.ndenumerate(X[:4]))
        assert [float(x) for x in dnumpy.nditer(array)] == X[:4].reshape(-1).tolist()


@pytest.fixture
def recorded_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record every index as if it were for nodes, and let the threads of this process compute."""
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(engine, "spreads", lambda _expr: True)


@pytest.mark.usefixtures("recorded_at_home")
@pytest.mark.parametrize("name", sorted(READS))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_threads_read_by_index_as_numpy_does(name: str) -> None:
    operands, call = READS[name]
    same(call(dnumpy, *map(on_nodes, operands)), call(np, *[x.copy() for x in operands]))


@pytest.mark.usefixtures("recorded_at_home")
@pytest.mark.parametrize("name", sorted(WRITES))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_threads_write_by_index_as_numpy_does(name: str) -> None:
    operands, change = WRITES[name]
    found = written(change)(dnumpy, *map(on_nodes, operands))
    same(found, written(change)(np, *operands))


@pytest.mark.parametrize("weak", [1000, -1, 1.0])
def test_a_number_among_the_choices_takes_the_dtype_of_the_others(weak: float) -> None:
    dtype = "u1" if isinstance(weak, int) else "f4"
    options = (weak, np.arange(60).astype(dtype))
    expected = np.choose(COUNTS % 2, options)
    with spread_out():
        found = dnumpy.choose(on_nodes(COUNTS % 2), (weak, on_nodes(options[1])))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_putmask_takes_its_array_by_position_alone() -> None:
    with spread_out():
        target = on_nodes(np.zeros(9))
        dnumpy.putmask(target, values=[1, 2], mask=on_nodes(np.arange(9) % 2 == 0))
        expected = np.zeros(9)
        np.putmask(expected, np.arange(9) % 2 == 0, [1, 2])
        np.testing.assert_array_equal(np.asarray(target), expected)
        with pytest.raises(TypeError):
            dnumpy.putmask(a=target, values=[1], mask=[True] * 9)


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("total", [100, 371, -200])
def test_a_sum_that_does_not_fit_is_refused_as_by_numpy(total: int) -> None:
    def outcome(xp: Any) -> tuple[Any, list[int]]:
        parts, target = xp.array(np.array([total] + [0] * 19)), xp.array(np.zeros(20, "i1"))
        try:
            target[::2] = parts.sum()
        except OverflowError as error:
            return str(error), np.asarray(target).tolist()
        return None, np.asarray(target).tolist()

    assert outcome(dnumpy) == outcome(np)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:Casting complex")
@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4", "F"])
@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize(
    "value",
    [300, 300.7, np.int64(300), np.float64(300.7), np.uint64(2**63 + 5), 1j, np.complex64(3 + 1j)],
)
def test_a_mask_casts_numpys_scalars_and_checks_pythons(
    dtype: str, viewed: bool, value: Any
) -> None:
    def outcome(xp: Any) -> tuple[Any, list[Any]]:
        target = xp.array(np.arange(40).astype(dtype))
        region = target.reshape(20, 2)[:, 0] if viewed else target
        try:
            region[region.real > 7] = value
        except (OverflowError, TypeError) as error:
            return (type(error), str(error)), np.asarray(target).tolist()
        return None, np.asarray(target).tolist()

    assert outcome(dnumpy) == outcome(np)


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("dtype", ["i1", "f8", "F", "?"])
@pytest.mark.parametrize("value", [[300], (300,), [1, 2], [], [[3]]])
def test_a_sequence_in_the_place_of_one_element_is_refused_as_by_numpy(
    dtype: str, value: Any
) -> None:
    def outcome(xp: Any) -> tuple[Any, list[Any]]:
        target = xp.array(np.arange(20).astype(dtype)) * 1
        try:
            target[5] = value
        except (TypeError, ValueError) as error:
            return (type(error), str(error)), np.asarray(target).tolist()
        return None, np.asarray(target).tolist()

    assert outcome(dnumpy) == outcome(np)


@pytest.mark.parametrize("repeats", [-1, [-1], [-2, 1], [[1]]])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_numpy_says_what_is_wrong_with_repeats(repeats: Any, axis: int | None) -> None:
    def told(xp: Any) -> str:
        given = [2, -1] if repeats == [-2, 1] else repeats
        with pytest.raises(ValueError, match=r"negative|sequence|broadcast") as caught:
            np.asarray(xp.repeat(xp.arange(12.0).reshape(6, 2), given, axis=axis))
        return str(caught.value)

    assert told(dnumpy) == told(np)
