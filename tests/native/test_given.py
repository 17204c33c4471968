"""Arrays of NumPy's are operands as ours are: the same results, errors, aliases and writes.

Functions and ufuncs are called with each choice of NumPy's arrays and of ours as operands.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native
from dnumpy.api import calls, dispatch, ufuncs
from dnumpy.config import config
from dnumpy.errors import FallbackWarning

OPERANDS = {
    "a": numpy.array([[0.5, 2.0, -1.0], [4.0, 0.25, 3.0]]),
    "b": numpy.array([[2.0, -3.0, 1.0], [1.5, 8.0, 0.5]]),
    "k": numpy.array([1, 0, 1]),
}
CALLS = """
np.sum(a)|np.sum(a, axis=0)|np.sum(a, 0, None, b[0])|np.sum(a, axis=0, out=b[0])
np.mean(a, where=b > 0)|np.mean(a, axis=7)|np.max(a, axis=1, keepdims=True)|np.std(a, out=b)
np.argmax(a, 1, k[:2])|np.any(a > 9)|np.where(a > 0, a, b)|np.where(a > 0)|np.concatenate([a, b])
np.concatenate((a, b), axis=1)|np.hstack([k, k])|np.concatenate([a, k])
np.concatenate([a, b], out=a)|np.stack([a, b], 2)|np.vstack((a, b[0]))|np.tile(k, 3)
np.concatenate([a, b] * 8)|np.concatenate([a] * 9 + [b])|np.block([[a, b], [b, a]])
np.dstack([a, 1])|np.dot(a, b.T)|np.dot(a, b)|np.dot(a, b[0], k[:2])|np.matmul(a, b.T)
np.matmul(a, b.T, out=b[:, :2])|np.matmul(a, 2)|np.vecdot(a, b)|np.vecdot(a, b, axis=0)
np.outer(k, k)|np.inner(a, b)|np.kron(k, k)|np.einsum('ij,ij->i', a, b)|np.tensordot(a, b)
np.linalg.norm(a)|np.linalg.solve(a[:, :2], b[:, 0])|np.asarray(a)|np.asarray(a, dtype=float)
np.asarray(a, 'i4')|np.asanyarray(a)|np.array(a)|np.array(a, 'f4')|np.array(a, copy=False)
np.array(a, copy=None)|np.array([a, b])|np.array([k, (1, 2, 3)])|np.array([k, a])|np.ravel(a)
np.reshape(a, -1)|np.reshape(a, 7)|np.transpose(a)|np.squeeze(a)|np.expand_dims(a, 0)|np.flip(a)
np.atleast_2d(a)|np.atleast_3d(k)|np.broadcast_to(k, (2, 3))|np.split(a, 3, 1)|np.diagonal(a)
np.real(a)|np.broadcast_arrays(a, k)|np.meshgrid(k, k)|np.ix_(k, k)|np.moveaxis(a, 0, 1)
np.rollaxis(a, 1)|np.imag(a)|np.sort(a)|np.argsort(a, axis=0)|np.unique(k)
np.unique(k, return_counts=True)|np.searchsorted(k, a)|np.roll(k, 1)|np.zeros_like(a)
np.full_like(a, 3)|np.ones_like(a, dtype='i2')|np.empty_like(a).shape|np.copy(a)|np.diff(a)
np.take(a, k)|np.take(a, k, axis=1)|np.take(a, k, out=k, mode='clip')|np.take(a, 99)
np.choose(k, [k, k + 1])|np.bincount(k, weights=k)|np.bincount(k, a[0])|np.bincount(a)
np.histogram(k, bins=[0, 1, 2], weights=k)|np.average(a, weights=b)
np.average(a, axis=0, weights=[1, 2])|np.cov(a)|np.interp(a, k * 2., k)|np.clip(a, 0, 1)
np.clip(a, 0, 1, out=a)|np.clip(a, None, b, b)|np.cumsum(a, out=b.reshape(-1))|np.cumprod(k)
np.round(a, 1, a)|np.isclose(a, b)|np.allclose(a, a)|np.array_equal(a, b)|np.isin(k, k)
np.nonzero(k)|np.argwhere(a > 1)|np.size(a)|np.copyto(a, b)|np.copyto(a, k)|np.put(a, k, k)
np.place(a, a > 1, k)|np.putmask(a, a > 1, b)|np.fill_diagonal(a, 7)|np.add(a, b)|np.add(a, b, a)
np.add(a, b, out=b)|np.add(a, b, out=(b,))|np.add(a, k, k)|np.add(a, b, None)
np.add(a, b, where=a > 0, out=b)|np.add(a, b, dtype='f4')|np.add(a, b, dtype='i4')
np.add(a, b, out=k)|np.add(a)|np.add(a, b, b, out=b)|np.add(a, b, nonsense=1)
np.add(a, b, casting='no')|np.add(a, 1, order='F')|np.add(a, 'x')|np.modf(a)|np.modf(a, a, b)
np.modf(a, out=(a, b))|np.divmod(a, b)|np.frexp(a)|np.divmod(k, 0)|np.log(-a)|np.sin(a, a)
np.sin(a, out=b)|np.sin(a, b, out=None)|np.sqrt(a, where=a > 0, out=a)|np.exp(a, subok=False)
np.add.reduce(a)|np.add.reduce(a, 1)|np.add.reduce(a, axis=None)|np.add.reduce(a, 0, None, b[0])
np.add.outer(k, k)|np.add.accumulate(a)|np.multiply.reduceat(k, [0, 2])|np.add.at(k, [0, 0], k[:2])
np.add.at(a, 0, b[0])|np.maximum.reduce(a, initial=3.)|np.add.reduce(a, where=b > 0)
np.add.reduce([a, b])|np.add.reduce(a, 9)|np.random.default_rng(1).permutation(a)
np.random.default_rng(1).shuffle(a)|np.random.default_rng(1).choice(k, 2)
np.random.default_rng(1).normal(a, 2.)|np.random.default_rng(1).integers(k, 9)
np.random.default_rng(1).random(out=a)
np.percentile(a, [5, 50], axis=1)|np.ptp(a, axis=0)|np.nanmax(a)|np.nan_to_num(a)|np.fft.fft(a)
np.polyval(k, a)|np.piecewise(a, [a > 0, a <= 0], [1, b[0, 0]])|np.select([a > 0, b > 0], [a, b])
np.insert(k, 1, k)|np.delete(k, k)|np.append(a, b)|np.pad(k, (1, 2))|np.repeat(k, k)|np.trace(a)
np.lexsort((k, k))|a - b * k|a / k|a // b|divmod(a, b)|k << k|k & k|a % b|k ** k|a + b
a @ b.T|a < b|a ** 2|k % 2|a.dot(b.T)|a.sum(axis=0, out=b[0])|a.take(k)
a[k > 0]|a[:, k]|k[k]|np.frompyfunc(lambda x, y: (x, y), 2, 2)(a, b)
np.vectorize(lambda x: x + 1)(a)|np.apply_along_axis(sum, 0, a)
"""
TEXTS = [text for line in CALLS.strip().splitlines() for text in line.split("|")]
CHOICES = list(itertools.product([True, False], repeat=len(OPERANDS)))


def run(text: str, xp: Any, operands: dict[str, Any]) -> Any:
    return eval(text, {"np": xp, **operands})  # noqa: S307 - text of our own


def plain(x: Any) -> Any:
    """Return a result as what can be compared, with the kind of array that it was."""
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [plain(e) for e in x]
    array = numpy.asarray(x) if isinstance(x, (np.ndarray, numpy.ndarray, numpy.generic)) else None
    if array is None:
        return x if isinstance(x, (int, float, bool, type(None))) else type(x).__name__
    steps = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    steps = steps if array.size and config.mode == "default" else []
    bits = array.tolist() if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, steps, bits


def words(told: list[warnings.WarningMessage]) -> set[str]:
    """Return what NumPy warned of."""
    return {str(w.message) for w in told if not issubclass(w.category, FallbackWarning)}


def is_ours(x: Any) -> bool:
    """Say whether all arrays of a result are ours."""
    if isinstance(x, (list, tuple)):
        return all(map(is_ours, x))
    return type(x) is np.ndarray


def outcome(xp: Any, text: str, operands: dict[str, Any]) -> tuple[Any, ...]:
    """Return the result of a call, or what was raised, and what is left of the operands.

    Of a result also: whether a write to it is one to an operand.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            r = run(text, xp, operands)
        except Exception as error:  # noqa: BLE001 - whatever NumPy raises
            return (
                type(error).__name__,
                str(error),
                [plain(x) for x in operands.values()],
                words(told),
            )
    parts = r if isinstance(r, (list, tuple)) else [r]
    arrays = [p for p in parts if isinstance(p, (np.ndarray, numpy.ndarray))]
    shared = [
        numpy.shares_memory(numpy.asarray(p), numpy.asarray(x))
        for p in arrays
        for x in operands.values()
    ]
    left = [plain(x) for x in operands.values()]
    return plain(r), shared, left, words(told)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS)
def test_a_call_is_numpys_whoever_has_the_operands(text: str) -> None:
    expected = outcome(numpy, text, {name: x.copy() for name, x in OPERANDS.items()})
    for choice in CHOICES:
        operands = {
            name: np.array(x) if ours else x.copy()
            for ours, (name, x) in zip(choice, OPERANDS.items(), strict=True)
        }
        assert outcome(np, text, operands) == expected, choice


@pytest.mark.parametrize("text", ["np.ravel(a)", "np.add(a, b)", "np.split(a, 3, 1)", "np.sort(k)"])
def test_what_numpys_arrays_give_is_ours(text: str) -> None:
    assert is_ours(run(text, np, OPERANDS))


@pytest.mark.parametrize(
    "text", ["np.add(a, b, out=a)", "np.add(a, b, a)", "np.sum(a, axis=0, out=a[0])",
             "np.clip(a, 0, 1, out=a)", "np.sin(a, a)", "np.matmul(a, a, out=a)"]
)  # fmt: skip
def test_the_programs_own_array_is_given_back(text: str) -> None:
    a = numpy.ones((3, 3))
    given = run(text, np, {"a": a, "b": a.copy()})
    assert type(given) is numpy.ndarray
    assert given is a or given.base is a


QUICK = [
    "np.sum(a)", "np.concatenate([a, b])", "np.asarray(a)", "np.array([a, b])", "np.reshape(a, -1)",
    "np.matmul(a, b.T)", "np.modf(a)", "np.add(a, b, where=a > 0, out=b)", "np.sin(a, out=b)",
    "np.add(a, b, dtype='f4')", "np.add.reduce(a)", "np.bincount(k, weights=k)",
    "np.sum(a, axis=0, out=b[0])", "np.average(a, weights=b)", "np.mean(a, where=b > 0)",
]  # fmt: skip


@pytest.mark.modeless("small arrays are none elsewhere")
@pytest.mark.skipif(not native.built, reason="Python looks at each call itself")
@pytest.mark.parametrize("text", QUICK)
def test_small_arrays_of_numpys_take_the_short_path(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_args: object) -> None:
        raise AssertionError

    for module, name in [(calls, "run"), (calls, "_run"), (ufuncs, "call"), (calls, "wrap_result")]:
        monkeypatch.setattr(module, name, refused)
    monkeypatch.setattr(dispatch.lending, "recorded_at_once", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(text, np, {name: x.copy() for name, x in OPERANDS.items()})


def test_what_numpy_warns_of_when_it_is_asked_whether_it_may_be_written_to_is_not_asked() -> None:
    line, table = numpy.ones(300_000), np.ones((2, 300_000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, spread = np.broadcast_arrays(table.copy(), line)
        assert spread.sum() == spread.size
        _, spread = np.broadcast_arrays(numpy.ones((2, 300_000)), line)
        assert spread.sum() == spread.size


def test_an_output_given_twice_is_refused_in_numpys_words() -> None:
    for xp in (numpy, np):
        a = xp.ones(300_000)
        with pytest.raises(TypeError, match="cannot specify 'out' as both"):
            xp.sin(a, a.copy(), out=None)
