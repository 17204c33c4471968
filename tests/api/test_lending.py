"""What others may write to is read where it lies, and before the call returns."""

from __future__ import annotations

import operator
import warnings

import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.api import buffer, lending, record
from dnumpy.errors import FallbackWarning
from tests.gathering import on_nodes, spread_out

ROWS, COLUMNS = 3_000, 40  # 960 kB: more than is copied
TABLE = numpy.random.default_rng(7).random((ROWS, COLUMNS))
LINE = TABLE.ravel()

CALLS = {
    "a + b": lambda _, a, b: a + b,
    "a * 2": lambda _, a, b: a * 2,
    "2 - a": lambda _, a, b: 2 - a,
    "-a": lambda _, a, b: -a,
    "a > b": lambda _, a, b: a > b,
    "a ** 2": lambda _, a, b: a**2,
    "divmod": lambda _, a, b: divmod(a, b + 1.0),
    "a @ a.T": lambda _, a, b: a[:30] @ a.T,
    "a @ vector": lambda np, a, b: a @ np.ones(COLUMNS),
    "exp": lambda np, a, b: np.exp(a),
    "modf": lambda np, a, b: np.modf(a),
    "where": lambda np, a, b: np.where(a > 0.5, a, b),
    "clip": lambda np, a, b: np.clip(a, 0.2, 0.8),
    "sum": lambda np, a, b: a.sum(),
    "sum of rows": lambda np, a, b: np.sum(a, axis=1),
    "mean": lambda np, a, b: a.mean(0),
    "std": lambda np, a, b: np.std(a, axis=0),
    "max": lambda np, a, b: a.max(),
    "argmax": lambda np, a, b: a.argmax(axis=1),
    "reduce": lambda np, a, b: np.add.reduce(a),
    "cumsum": lambda np, a, b: np.cumsum(a, axis=1),
    "sort": lambda np, a, b: np.sort(a, axis=None),
    "argsort": lambda np, a, b: a.ravel().argsort(),
    "unique": lambda np, a, b: np.unique((10 * a).astype(int)),
    "histogram": lambda np, a, b: np.histogram(a, 20),
    "concatenate": lambda np, a, b: np.concatenate([a, b]),
    "stack": lambda np, a, b: np.stack((a, b), axis=1),
    "einsum": lambda np, a, b: np.einsum("ij,ij->i", a, b),
    "dot": lambda np, a, b: np.dot(a.T, b),
    "diff": lambda np, a, b: np.diff(a, axis=0),
    "neighbours": lambda np, a, b: a[1:] - a[:-1],
    "copy": lambda np, a, b: a.copy(),
    "astype": lambda np, a, b: a.astype("f4"),
    "the same type": lambda np, a, b: a.astype(float),
    "round": lambda np, a, b: np.round(a, 1),
    "chosen": lambda np, a, b: a[a > 0.5],
    "chosen rows": lambda np, a, b: a[[5, 3, 2_900]],
    "its transpose": lambda np, a, b: a.T + b.T,
    "roll": lambda np, a, b: np.roll(a, 3),
    "flip": lambda np, a, b: np.flip(a, 0) + 0.0,
    "outer": lambda np, a, b: np.multiply.outer(a[0], b[1]),
    "median": lambda np, a, b: np.median(a),
    "percentile": lambda np, a, b: np.percentile(a, [10, 90], axis=0),
    "cov": lambda np, a, b: np.cov(a[:50]),
    "searchsorted": lambda np, a, b: np.searchsorted(np.sort(a[0]), b),
    "nonzero": lambda np, a, b: np.nonzero(a > 0.9),
    "any": lambda np, a, b: (a > 2).any(),
    "pad": lambda np, a, b: np.pad(a, 1),
    "fft": lambda np, a, b: np.fft.rfft(a, axis=0),
    "a mean beside its rows": lambda np, a, b: (a - a.mean(0)) / a.std(0),
}


ORDINARY = {  # calls of functions, which see NumPy's arrays first
    "exp": lambda np, a: np.exp(a),
    "sum": lambda np, a: np.sum(a),
    "sum of rows": lambda np, a: np.sum(a, axis=1),
    "sort": lambda np, a: np.sort(a, axis=None),
    "std": lambda np, a: np.std(a, axis=0),
    "a * 2": lambda np, a: np.multiply(a, 2),
    "roll": lambda np, a: np.roll(a, 3),
    "cumsum": lambda np, a: np.cumsum(a, axis=1),
}


@pytest.fixture
def copied(monkeypatch):
    """Return the sizes of the copies made of shared memory, in bytes."""
    sizes = []
    whole = buffer.shared_copy

    def counted(view):
        made = whole(view)
        sizes.append(made.nbytes)
        return made

    monkeypatch.setattr(buffer, "shared_copy", counted)
    monkeypatch.setattr(record, "shared_copy", counted)
    return sizes


def aliased(values):
    """Return an array of ours over memory of NumPy's that goes on being used."""
    outside = values.copy()
    return outside, np.asarray(outside)


def handed_out(values):
    """Return an array of ours whose memory was given to somebody."""
    ours = np.array(values) * 1.0
    return numpy.asarray(ours), ours


SHARED = pytest.mark.parametrize("shared", [aliased, handed_out], ids=["aliased", "handed out"])


@SHARED
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore::dnumpy.errors.FallbackWarning")
def test_a_result_is_of_what_the_memory_was_when_it_was_asked_for(shared, call):
    outside, ours = shared(TABLE)
    others, theirs = shared(TABLE[::-1])
    expected = call(numpy, outside.copy(), others.copy())
    for _ in range(3):  # what a line did before decides how it goes on
        found = call(np, ours, theirs)
        kept = outside.copy(), others.copy()
        outside[...] = others[...] = -1.0
        assert_same(found, expected)
        outside[...], others[...] = kept


def assert_same(found, expected):
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    assert type(numpy.asarray(found)[()]) is type(numpy.asarray(expected)[()])
    assert numpy.asarray(found).dtype == expected.dtype
    numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(np.config.mode == "lazy", reason="what is to wait is read later: a copy")
@SHARED
@pytest.mark.parametrize("name", ["a + b", "exp", "sum", "a @ vector", "sort", "where", "std"])
def test_no_copy_of_it_is_made(shared, name, copied):
    outside, ours = shared(TABLE)
    others, theirs = shared(TABLE[::-1])
    found = CALLS[name](np, ours, theirs)
    assert_same(found, CALLS[name](numpy, outside, others))
    assert not [size for size in copied if size >= TABLE.nbytes]


@SHARED
def test_views_show_it_further(shared):
    outside, ours = shared(TABLE)
    views = {
        "reshape": np.reshape(ours, (COLUMNS, ROWS)),
        "ravel": np.ravel(ours),
        "transpose": np.transpose(ours),
        "squeeze": np.squeeze(ours),
        "broadcast_to": np.broadcast_to(ours, (2, ROWS, COLUMNS)),
        "asarray": np.asarray(ours),
        "expand_dims": np.expand_dims(ours, 0),
        "real": np.real(ours),
        "astype": ours.astype(float, copy=False),
        "diagonal": np.diagonal(ours),
        "swapaxes": np.swapaxes(ours, 0, 1),
        "split": np.split(ours, 3)[0],
        "flip": np.flip(ours),
    }
    outside[...] = 7.0
    for name, view in views.items():
        assert numpy.all(numpy.asarray(view) == 7.0), name


@SHARED
def test_writing_reaches_it(shared):
    outside, ours = shared(TABLE)
    others, theirs = shared(TABLE[::-1])
    expected = TABLE.copy()
    for target, source, module in ((ours, theirs, np), (expected, others, numpy)):
        module.add(target, source, out=target)
        module.multiply(target, 2.0, out=target)
        module.exp(target, target, where=source > 0.5)
        target[target > 3.0] = 1.5
        target[5:] = source[5:]
        target.sort(axis=0)
        module.copyto(target, source, where=source < 0.1)
        module.clip(target, 0.2, 0.9, out=target)
        module.put(target, [3, 9], -2.0)
    numpy.testing.assert_array_equal(numpy.asarray(outside), expected)
    numpy.testing.assert_array_equal(ours, expected)


def test_an_array_of_ours_meets_one_of_numpys_at_once(copied):
    outside = TABLE.copy()
    ours = np.array(TABLE) + 1.0
    found = [ours * outside, np.maximum(outside, ours), operator.sub(outside, ours)]
    outside[...] = 0.0
    later = TABLE + 1.0
    for one, expected in zip(
        found, [later * TABLE, np.maximum(TABLE, later), TABLE - later], strict=True
    ):
        numpy.testing.assert_array_equal(one, expected)
    if np.config.mode != "lazy":
        assert not [size for size in copied if size >= TABLE.nbytes]


def test_what_is_written_with_it_elsewhere_is_what_it_was():
    outside, ours = aliased(LINE)
    target = np.zeros(2 * len(LINE))
    np.add(ours, 1.0, out=target[: len(LINE)])
    np.copyto(target[len(LINE) :], ours)
    outside[...] = -1.0
    numpy.testing.assert_array_equal(target, numpy.concatenate([LINE + 1.0, LINE]))


def test_faults_and_errors_are_those_of_the_line():
    outside, ours = aliased(numpy.tile(TABLE - 0.5, (4, 1)))  # more than NumPy's at once
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        numpy.asarray(np.sqrt(ours))
    assert [w.filename for w in told] == [__file__]
    assert "invalid value encountered in sqrt" in str(told[0].message)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        ours + np.ones(7)
    with pytest.raises(numpy.exceptions.AxisError):
        np.sum(ours, axis=5)
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(ours, ours * 0.0 + (ours > 2.0))
    numpy.testing.assert_array_equal(ours, outside)


@SHARED
def test_an_operator_writes_to_it(shared):
    outside, ours = shared(TABLE)
    same = ours
    ours += 1.0
    ours *= ours
    assert ours is same
    numpy.testing.assert_array_equal(numpy.asarray(outside), (TABLE + 1.0) * (TABLE + 1.0))


def test_pending_work_goes_on_waiting_beside_it():
    outside, ours = aliased(TABLE)
    waiting = np.array(TABLE) * 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        found = ours + 1.0
    outside[...] = 0.0
    numpy.testing.assert_array_equal(found, TABLE + 1.0)
    numpy.testing.assert_array_equal(waiting, TABLE * 3.0)


@pytest.mark.skipif(np.config.mode == "lazy", reason="NumPy computes what is its own at once")
@pytest.mark.parametrize(
    "name", ["exp", "sum of rows", "std", "where", "sort", "histogram", "concatenate", "modf"]
)
def test_large_arrays_of_numpys_alone_are_computed_by_us_at_once(name, monkeypatch):
    monkeypatch.setattr(lending, "GAINS_BYTES", TABLE.nbytes)
    monkeypatch.setattr(np.config, "eager_below", 1_000)
    outside, others = TABLE.copy(), TABLE[::-1].copy()
    expected = CALLS[name](numpy, outside.copy(), others.copy())
    for _ in range(3):
        found = CALLS[name](np, outside, others)
        kept = outside.copy()
        outside[...] = -1.0
        assert_same(found, expected)
        outside[...] = kept


@pytest.mark.skipif(np.config.mode == "lazy", reason="NumPy computes what is its own at once")
def test_the_engine_computes_functions_of_large_arrays_of_numpys():
    outside = numpy.tile(LINE, 20)
    before = list(engine.history)
    found = np.exp(outside), np.sort(outside)
    assert [r.what for r in list(engine.history) if r not in before]
    outside[...] = 0.0
    again = numpy.tile(LINE, 20)
    numpy.testing.assert_allclose(found[0], numpy.exp(again), rtol=1e-15)
    numpy.testing.assert_array_equal(found[1], numpy.sort(again))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_layout_are_taken(order, step, monkeypatch):
    monkeypatch.setattr(lending, "GAINS_BYTES", 1 << 18)
    outside = numpy.asarray(TABLE.reshape(100, 30, 40), order=order).transpose(1, 0, 2)[:, ::step]
    for name in ("exp", "sum", "sum of rows", "sort", "std", "a * 2", "roll", "cumsum"):
        found = CALLS[name](np, np.asarray(outside), None), ORDINARY[name](np, outside)
        for one in found:
            assert_same(one, CALLS[name](numpy, outside, None))


def test_functions_of_numpys_arrays_alone_give_views_of_them_and_write_to_them(monkeypatch):
    monkeypatch.setattr(lending, "GAINS_BYTES", TABLE.nbytes)
    outside = TABLE.copy()
    views = [np.reshape(outside, -1), np.transpose(outside), np.asarray(outside), np.real(outside)]
    np.copyto(outside, 4.0)
    np.add(outside, 1.0, out=outside)
    np.put(outside, [0], 5.0)
    for view in views:
        assert numpy.all(numpy.asarray(view) == 5.0)


@pytest.mark.parametrize("size", [3, 100_000, 3_000_000])
def test_an_output_of_numpys_is_what_the_call_returns(size):
    outside = numpy.linspace(0.0, 1.0, size)
    expected = numpy.clip(outside + 1.0, 1.25, 1.5)
    assert np.add(outside, 1.0, outside) is outside
    assert np.clip(outside, 1.25, 1.5, outside) is outside
    assert np.add(outside, 0.0, out=outside) is outside
    numpy.testing.assert_array_equal(outside, expected)


def test_what_was_written_before_an_error_is_what_it_was(monkeypatch):
    outside, ours = aliased(LINE)
    target = np.zeros(len(LINE))

    def fails(a, out):
        np.multiply(a, 2.0, out=out)
        message = "after all"
        raise KeyError(message)

    with pytest.raises(KeyError, match="after all"):
        lending.call(fails, (ours, target), {})
    outside[...] = -1.0
    numpy.testing.assert_array_equal(target, 2.0 * LINE)


OUT_CALLS = {
    "sum": lambda np, x, o: np.sum(x, axis=0, out=o),
    "sum of the array's own rows": lambda np, x, o: np.sum(x, axis=0, out=x[0]),
    "mean": lambda np, x, o: x.mean(axis=0, out=o),
    "std": lambda np, x, o: np.std(x, axis=0, out=o),
    "max": lambda np, x, o: np.max(x, axis=0, out=o),
    "all at once": lambda np, x, o: np.sum(x, out=o[:1].reshape(())),
    "median": lambda np, x, o: np.median(x, axis=0, out=o),
    "concatenate": lambda np, x, o: np.concatenate([x[:5], x[5:]], out=np.zeros(x.shape)),
    "einsum": lambda np, x, o: np.einsum("ij->j", x, out=o),
    "dot": lambda np, x, o: np.dot(x.T, x[:, 0], out=o),
    "cast": lambda np, x, o: np.sum(x, axis=0, out=o.astype("f4")),
    "cast to whole": lambda np, x, o: np.mean(x, axis=0, out=o.astype(int)),
    "another shape": lambda np, x, o: np.sum(x, axis=1, out=o),
    "read-only": lambda np, x, o: np.sum(x, axis=0, out=np.broadcast_to(o, o.shape)),
    "dot in columns": lambda np, x, o: np.dot(x.T, x, out=np.ones((o.size, 2 * o.size))[:, ::2]),
    "half": lambda np, x, o: np.mean((x * 900).astype("f2"), axis=0, out=o.astype("f2")),
    "argmax": lambda np, x, o: np.argmax(x, axis=0, out=np.zeros(o.shape, np.intp)),
    "with a dtype": lambda np, x, o: np.concatenate([x, x], out=np.zeros((120, 30)), dtype="f8"),
    "of a list": lambda np, x, o: np.einsum("i->i", [1.0] * 30, out=o),
    "of a list, of another shape": lambda np, x, o: np.einsum("ij->ij", [[1, 2]], out=o),
}


def rounded(values):
    return numpy.asarray(values).astype(float).round(11).tolist()


@pytest.mark.parametrize("name", OUT_CALLS)
def test_what_lies_on_nodes_is_not_gathered_to_be_written_out(name: str) -> None:
    values = numpy.random.default_rng(3).random((60, 30))
    told = []
    with spread_out(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for xp, x in ((np, on_nodes(values)), (numpy, values.copy())):
            out = xp.zeros(30)
            try:
                found = numpy.asarray(OUT_CALLS[name](xp, x, out))
                told.append((found.dtype, rounded(found)))
            except (TypeError, ValueError) as error:
                told.append((type(error), str(error)))
            told.append((rounded(out), rounded(x)))
    assert told[:2] == told[2:]


@pytest.mark.parametrize("name", ["sum", "mean", "std", "max", "einsum", "argmax"])
def test_only_what_is_written_out_comes_home(name: str) -> None:
    with spread_out() as meter:
        x = on_nodes(numpy.random.default_rng(3).random((60, 30)))
        out = np.zeros(30)
        meter.gathered.clear()
        found = OUT_CALLS[name](np, x, out)
        assert meter.most() < x.nbytes
        assert name == "argmax" or found is out
