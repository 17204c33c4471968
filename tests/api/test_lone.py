"""Results that a program looks at one by one are NumPy's at once, and what waits still waits."""

from __future__ import annotations

import functools
import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api import chosen, lone
from dnumpy.api.lone import turn_of
from dnumpy.config import EAGER_BELOW, config
from dnumpy.expr import race
from dnumpy.runtime import direct

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIZE = EAGER_BELOW + 10
TIMES = 8  # looks after which a line is known, between two at which it waits again

pytestmark = pytest.mark.skipif(
    config.mode != "default" or not native.built, reason="asked for by the module in C alone"
)


def made(seed: int = 0) -> Any:
    values = dnumpy.array(np.random.default_rng(seed).random(SIZE))
    assert values[0] < 1
    return values


def is_pending(array: Any) -> bool:
    return bool(array._np is None and array._buf.pending)


OPERATIONS = [
    lambda x, y: x + y,
    lambda x, y: 2.0 - x,
    lambda x, y: x > y,
    lambda x, y: -x,
    lambda x, y: dnumpy.multiply(y, x),
    lambda x, y: dnumpy.negative(x),
    lambda x, y: x.copy(),
    lambda x, y: x.astype("f4"),
    lambda x, y: x[1:] - x[:-1],
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_what_a_line_wants_by_itself_is_computed_as_it_is_met(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race.Race, "is_won", lambda _race: False)  # whatever a busy machine finds
    x, y = made(), made(1)
    operation = OPERATIONS[number]
    waited = []
    for _ in range(TIMES):
        found = operation(x, y)
        waited.append(is_pending(found))
        assert found[3] == operation(np.asarray(x), np.asarray(y))[3]
    assert not waited[-1]
    expected = operation(np.asarray(x), np.asarray(y))
    assert found.dtype == expected.dtype
    assert found.base is None
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_what_comes_to_be_fused_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "STEADY", 1 << 30)  # whatever would be faster
    x, y = made(), made(1)
    for k in range(TIMES):
        product = x * y
        found = dnumpy.sqrt(product + x) / (y + 1.0) + product
        assert k == 0 or is_pending(product)  # what runs once is not worth being planned
        assert found[0] > 0


def test_a_write_in_place_is_not_seen_by_what_waits() -> None:
    x = made()
    values = np.asarray(x).copy()
    for k in range(TIMES):
        x += 1.0
        assert x[0] == pytest.approx(values[0] + k + 1)
    before = x * 2.0 + 1.0
    seen = np.asarray(x).copy()
    for _ in range(2):
        x += 1.0
        assert x[1] > 1
    np.testing.assert_array_equal(np.asarray(before), seen * 2.0 + 1.0)
    np.testing.assert_array_equal(np.asarray(x), seen + 2.0)


def test_a_view_sees_what_is_written_to_its_base_in_place() -> None:
    x = made()
    view = x[::2]
    assert view[0] == x[0]
    first = float(x[0])
    for _ in range(TIMES):
        x += 1.0
        assert x[1] > 0
    assert view[0] == pytest.approx(first + TIMES)


def test_a_fault_is_told_at_the_line_of_the_program() -> None:
    x, zeros = made() + 1.0, made() * 0.0
    assert zeros[0] == 0
    lines = set()
    for _ in range(TIMES):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            assert (x / zeros)[0] == np.inf
        assert [str(w.message) for w in heard] == ["divide by zero encountered in divide"]
        lines |= {(w.filename, w.lineno) for w in heard}
    assert len(lines) == 1
    assert next(iter(lines))[0] == __file__


@pytest.mark.parametrize("name", ["stack", "column_stack", "dstack"])
def test_columns_are_joined_by_whoever_is_faster(name: str) -> None:
    x, y = made(), made()
    plain = np.asarray(x), np.asarray(y)
    more = {"axis": -1} if name == "stack" else {}
    expected = getattr(np, name)(plain, **more)
    for _ in range(40):
        joined = getattr(dnumpy, name)((x, y), **more)
        np.testing.assert_array_equal(np.asarray(joined), expected)
    assert joined.shape == expected.shape


@pytest.mark.parametrize(
    "move",
    [
        lambda x: dnumpy.concatenate((x, x)),
        lambda x: dnumpy.vstack([x, x]),
        lambda x: dnumpy.take(x, [3, 1]),
    ],
)
def test_what_only_moves_elements_moves_what_lies_here_at_once(move: Any) -> None:
    x = made()
    assert not is_pending(move(x))
    waiting = x * 2.0 + 1.0
    moved = move(waiting)
    assert is_pending(waiting) or not is_pending(moved)
    plain = np.asarray(x)
    names = move.__code__.co_names
    theirs: Any = getattr(np, names[1])
    given = {
        "concatenate": lambda a: theirs((a, a)), "vstack": lambda a: theirs([a, a]),
        "take": lambda a: theirs(a, [3, 1]),
    }[names[1]]  # fmt: skip
    np.testing.assert_array_equal(np.asarray(move(x)), given(plain))
    np.testing.assert_array_equal(np.asarray(moved), given(plain * 2.0 + 1.0))


rng = np.random.default_rng(3)
N = EAGER_BELOW + 700
NAMES: dict[str, Any] = {
    "x": rng.standard_normal(N), "y": rng.standard_normal(N), "f": rng.random(N, dtype="f4"),
    "i": rng.integers(-50, 50, N), "u": rng.integers(0, 256, N, dtype="u1"),
    "b": rng.random(N) > 0.5, "z": rng.random(N) + 1j * rng.random(N),
    "t": rng.standard_normal((N // 100, 100)), "v": rng.standard_normal((N // 3, 3)),
    "m": rng.standard_normal((600, 600)), "picks": rng.integers(0, N, N // 4),
    "holes": np.where(rng.random(N) < 0.01, np.nan, rng.random(N)),
    "ordered": np.sort(rng.standard_normal(500)), "row": rng.standard_normal(600),
}  # fmt: skip
OF_ONE_LINE = """
x + y | x * y + 1.0 | (x - y) ** 2 | 1.0 / (x * y + 3.0) | -(x * y) | abs(x - y) * 2.0 | x ** 3
(x > 0.1) & (y < 0.2) | ~b | x[x > 0.5] | x[b] | x[picks] + 1.0 | x[::-1] - y | t.T * 2.0
x.reshape(-1, 4) + 1.0 if x.size % 4 == 0 else x + 1.0 | t.ravel() - 1.0 | t + t[0]
f * 2.0 + f | i // 7 + i % 5 | u + u | z.conj() * 2.0 | np.sqrt(x * x + y * y) | np.exp(-x * x)
np.where(x > 0, x, 0.0) | np.where(b) | np.select([x < 0, x < 1], [x, y], 2.0)
np.piecewise(x, [x < 0.5], [0.0, 1.0]) | np.clip(x, -0.5, 0.5) | np.round(x, 2) | np.diff(x)
np.ediff1d(x) | np.pad(x, 1) | np.pad(m, 1, mode="edge") | np.roll(x, 3) | np.roll(m, 1, axis=1)
np.insert(x, 1, 2.0) | np.delete(x, 3) | np.tile(x, 2) | np.repeat(x, 2) | np.resize(x, x.size + 5)
np.tril(m) | np.triu(m, 1) | np.sort(x) | np.sort(t, axis=0) | np.argsort(x, kind="stable")
np.lexsort((x, i)) | np.unique(i) | np.unique(i, return_counts=True) | np.isin(i, [1, 2, 3])
np.intersect1d(i, u) | np.union1d(i, u) | np.setdiff1d(i, u) | np.searchsorted(ordered, x)
np.digitize(x, ordered) | np.nonzero(b) | np.flatnonzero(b) | np.argwhere(b) | np.histogram(x, 50)
np.meshgrid(row, row) | np.outer(row, row) | np.cross(v, v[::-1]) | np.gradient(x) | np.gradient(m)
np.interp(x, ordered, ordered) | np.compress(b, x) | np.extract(b, x) | np.nanmax(holes)
np.nanmin(holes) | np.isclose(x, y) | np.allclose(x, x) | np.array_equal(x, x) | np.ptp(x)
np.max(t, axis=1) | np.min(t, axis=0) | np.any(b) | np.all(t, axis=0) | np.argmax(t, axis=1)
np.argmin(x) | np.angle(z) | np.median(x) | np.percentile(x, [10, 90]) | np.quantile(t, 0.3, axis=1)
np.nanmedian(holes) | np.polyval([1.0, 2.0, 3.0], x) | np.vander(x, 3) | np.kron(row, row)
np.packbits(b) | np.fft.fftshift(m) | np.rot90(m) | np.copy(x) | np.sinc(x)
np.concatenate((x, y)) | np.stack((x, y), axis=1) | np.append(x, 1.0) | np.take(x, picks)
np.maximum.accumulate(x) | np.cumsum(i) | x.clip(0.0, 1.0) | x.round(1) | t.flatten() | x.repeat(2)
x.take(picks) | x.argsort(kind="stable") | b.nonzero() | x.compress(b) | x.tolist()[:5]
t.argmax(0) | x.astype("f4") | x.copy() | z.conj() | t.max(axis=1)
np.add(x, y, out=x.copy()) | m.T.copy()
"""
STATEMENTS = [s.strip() for s in OF_ONE_LINE.replace("\n", "|").split("|") if s.strip()]
IN_PLACE = [
    "x += 1.5", "x *= y", "x[:] = y", "x[1:] = x[:-1]", "x[::2] = 1.0", "x[:] = x + y",
    "x[b] = 0.0", "x[picks] = 1.0", "x[b] = y[b]", "t[:, 0] = 1.0", "t += t[0]",
    "np.add(x, y, out=x)", "np.multiply(x, y, x)", "i[i > 3] = 0",
    "m[1:-1, 1:-1] = m[:-2, 1:-1] + m[2:, 1:-1]", "f[:] = x", "x -= x.max()",
]  # fmt: skip


def compiled(statement: str, module: Any, arrays: dict[str, Any]) -> Any:
    names = {"np": module, **arrays}
    return eval(f"lambda: {statement}", names)  # noqa: S307 - text of our own


def parts_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.fixture
def always_raced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let NumPy be tried at once, and keep some rounds, whatever it takes."""
    monkeypatch.setattr(race, "STEADY", 2)
    monkeypatch.setattr(race, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(race, "AT_FIRST", 1e9)
    monkeypatch.setattr(race, "HOPELESS", 1e9)
    monkeypatch.setattr(race, "GAIN", 1e9)
    monkeypatch.setattr(race, "FIRST_PERIOD", 2)


@pytest.mark.usefixtures("always_raced")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_whoever_computes_a_line_the_bits_are_numpys(statement: str) -> None:
    ours = compiled(statement, dnumpy, {k: dnumpy.array(a.copy()) for k, a in NAMES.items()})
    expected = parts_of(compiled(statement, np, NAMES)())
    for _ in range(10):
        found = parts_of(ours())
        assert len(found) == len(expected)
        for a, e in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(e))
            if isinstance(e, np.ndarray):
                assert type(a) is dnumpy.ndarray
                assert a.dtype == e.dtype
                assert a.flags.writeable == e.flags.writeable
                if e.dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(np.asarray(a)), np.signbit(e))


@pytest.mark.usefixtures("always_raced")
@pytest.mark.parametrize("statement", IN_PLACE)
def test_whoever_writes_in_place_all_who_look_see_it(statement: str) -> None:
    arrays = {k: a.copy() for k, a in NAMES.items()}
    named = {"np": dnumpy, **{k: dnumpy.array(a.copy()) for k, a in arrays.items()}}
    plain = {"np": np, **arrays}
    target = statement.split(" ", maxsplit=1)[0].split("[", maxsplit=1)[0]
    target = "x" if target.startswith("np") else target
    view, theirs = named[target][3:], plain[target][3:]
    code = compile(statement, "<statement>", "exec")
    for k in range(10):
        waiting, first = named[target] * 2.0, plain[target] * 2.0
        for names in (named, plain):
            with np.errstate(all="ignore"):
                exec(code, names)
        at = (5,) * theirs.ndim
        assert view[at] == theirs[at] or np.isnan(theirs[at])
        if k % 3 == 2:
            np.testing.assert_array_equal(np.asarray(named[target] + 0), plain[target])
        if k % 2:
            np.testing.assert_array_equal(np.asarray(waiting), first)


@pytest.mark.usefixtures("always_raced")
def test_what_somebody_holds_is_no_temporary() -> None:
    x, y = made(), made(1)
    plain = np.asarray(x).copy() * np.asarray(y).copy()
    for _ in range(12):
        held = x * y
        more = held + 1.0
        assert more[0] == plain[0] + 1
        holder = [x * y]
        total = functools.reduce(operator.add, [*holder, y, 2.0])
        assert total[0] == plain[0] + y[0] + 2
        kept = {"a": x * y}
        assert operator.neg(kept["a"])[2] == -plain[2]
        assert [(a + 1.0)[1] for a in (held, holder[0], kept["a"])] == [plain[1] + 1] * 3
        np.testing.assert_array_equal(np.asarray(held + 0.0), plain)
        np.testing.assert_array_equal(np.asarray(holder[0] + 0.0), plain)
        np.testing.assert_array_equal(np.asarray(kept["a"] + 0.0), plain)


@pytest.mark.usefixtures("always_raced")
def test_what_numpy_refuses_is_refused_whoever_computes() -> None:
    x, short = made(), made()[1:]
    texts = set()
    for k in range(10):
        assert (x * 2.0)[0] == 2 * x[0]
        with pytest.raises(ValueError, match="could not be broadcast") as caught:
            (x + short)[0]
        texts.add(str(caught.value))
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            (x / dnumpy.zeros(SIZE))[k]
    assert len(texts) == 1


def test_nothing_runs_alone_where_somebody_asked_for_arrays_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "eager_below", 16)
    assert turn_of(np.add, 100) is None
    x = made()
    for _ in range(TIMES):
        found = dnumpy.concatenate((x, x))
        assert is_pending(found)
        assert found[0] == x[0]


@pytest.mark.parametrize("function", [dnumpy.sort, dnumpy.diff, dnumpy.append])
def test_a_column_of_what_is_read_in_blocks_is_not_numpys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: Any
) -> None:
    values = np.random.default_rng(0).random((40_000, 128))
    np.save(tmp_path / "values.npy", values)
    monkeypatch.setattr(config, "memory_limit", 16 << 20)
    column = dnumpy.load(tmp_path / "values.npy", mmap_mode="r")[:, 0]  # lies in all of its pages
    more = (column,) if function is dnumpy.append else ()
    found = function(column, *more)
    assert found._np is None
    theirs = getattr(np, function.__name__)
    column_of_theirs = values[:, 0]
    expected = theirs(column_of_theirs, *((column_of_theirs,) if more else ()))
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_selection_of_what_lies_here_waits_however_often_it_is_taken() -> None:
    x, mask = dnumpy.arange(2.0 * EAGER_BELOW), dnumpy.arange(2 * EAGER_BELOW) % 3 > 0
    assert int(mask.sum()) == np.count_nonzero(np.arange(2 * EAGER_BELOW) % 3)
    assert float(x[7]) == 7.0
    for _ in range(4):
        assert chosen.chosen_by(x[mask]) is not None


def test_what_is_made_of_a_selection_waits_at_a_line_that_never_ran() -> None:
    x = dnumpy.arange(2.0 * EAGER_BELOW)
    kept = x[x > 9.0]
    made = kept + 1.0
    assert chosen.chosen_by(made).domain.value is None
    np.testing.assert_array_equal(np.asarray(made), np.arange(11.0, 2 * EAGER_BELOW + 1))


@pytest.mark.parametrize("size", [3, 60_000, 300_000])
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "divmod", "matmul"]
)
def test_an_operator_on_what_nobody_holds_gives_what_numpy_gives(name: str, size: int) -> None:
    call = divmod if name == "divmod" else getattr(operator, name)
    a = np.linspace(1.0, 9.0, size)
    x = dnumpy.array(a)
    for _ in range(3):
        for found, expected in (
            (call(x, x + 1.0), call(a, a + 1.0)),
            (call(x * 2.0, x), call(a * 2.0, a)),
            (call(x * 2.0, x + 1.0), call(a * 2.0, a + 1.0)),
        ):
            assert isinstance(found, tuple) == isinstance(expected, tuple)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_a_scalar_takes_is_not_known_before_it_is_computed() -> None:
    """Else lines that look at each were timed as if recording a fold were all there is to it."""
    large = dnumpy.array(np.ones(direct.LITTLE_BYTES // 8 + 1))
    largest = (large * 2.0).max()
    assert not lone._is_computed(largest)
    assert largest == 2
    assert lone._is_computed(largest)


SMALL = {"of one": np.array([0.5]), "without axes": np.array(0.5), "a row": np.linspace(0, 1, 600)}
OPERATORS = (
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.add,
    operator.mul, operator.pow, operator.truediv, operator.mod,
)  # fmt: skip


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("taken", OPERATORS)
def test_a_small_operand_beside_a_large_one_at_numpys_turn(
    taken: Callable[[Any, Any], Any], small: str
) -> None:
    large = np.random.default_rng(0).random((500, 600)) + 0.5
    x, s = dnumpy.array(large), dnumpy.array(SMALL[small])
    for _ in range(2 * TIMES):  # what is looked at by itself comes to be NumPy's
        found = taken(s, x), taken(x, s)
        expected = taken(SMALL[small], large), taken(large, SMALL[small])
        for mine, numpys in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), numpys, strict=True)
