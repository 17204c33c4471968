"""Small arrays of classes derived from NumPy's go to NumPy as they are, and so come back."""

from __future__ import annotations

import numpy as np
import pytest

import dnumpy
from dnumpy.api import calls


class Tagged(np.ndarray):
    """Derived without protocols of its own."""

    def __array_finalize__(self, obj):
        self.tag = getattr(obj, "tag", None)


class Spoken(np.ndarray):
    """One that answers for ufuncs."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "spoken", ufunc, method


def masked(xp):
    return xp.ma.masked_array(xp.arange(10.0), mask=xp.arange(10) % 3 == 0)


def tagged(xp):
    made = np.arange(10.0).view(Tagged)
    made.tag = "kept"
    return made


MAKERS = {
    "masked": masked,
    "masked scalar": lambda xp: xp.ma.masked,
    "masked integers": lambda xp: xp.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "matrix": lambda _: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "tagged": tagged,
    "memmap": lambda _: np.arange(4.0).view(np.memmap),
    "records": lambda _: np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i8"), ("b", "f8")]),
}
CALLS = {
    "sin": lambda xp, x: xp.sin(x),
    "add": lambda xp, x: xp.add(x, x),
    "beside ours": lambda xp, x: xp.multiply(x, xp.ones(x.shape[-1:] or ())),
    "ours first": lambda xp, x: xp.subtract(xp.ones(x.shape[-1:] or ()), x),
    "a number": lambda xp, x: xp.add(x, 2),
    "two results": lambda xp, x: xp.modf(x),
    "a comparison": lambda xp, x: xp.greater(x, 2),
    "a product": lambda xp, x: xp.matmul(x, x.T),
    "sum": lambda xp, x: xp.sum(x),
    "along": lambda xp, x: xp.sum(x, axis=0),
    "mean": lambda xp, x: xp.mean(x, axis=-1),
    "joined": lambda xp, x: xp.concatenate([x, x]),
    "joined to ours": lambda xp, x: xp.concatenate([x, xp.zeros(x.shape)]),
    "stacked": lambda xp, x: xp.stack([x, x]),
    "where": lambda xp, x: xp.where(x > 2, x, x),
    "sort": lambda xp, x: xp.sort(x),
    "reshape": lambda xp, x: xp.reshape(x, -1),
    "real": lambda xp, x: xp.real(x),
    "ma.add": lambda xp, x: xp.ma.add(x, 1),
    "ma.where": lambda xp, x: xp.ma.where(x > 2, x, 0),
    "ma.concatenate": lambda xp, x: xp.ma.concatenate([x, x]),
    "reduce": lambda xp, x: xp.add.reduce(x),
    "field": lambda xp, x: xp.add(x["a"], 1),
    "into": lambda xp, x: xp.add(x, 1, out=xp.zeros(x.shape)),
}  # fmt: skip


def outcome(call, xp, x):
    try:
        return shown(call(xp, x))
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises
        return type(error), str(error)


def shown(found):
    if isinstance(found, tuple):
        return [shown(one) for one in found]
    kind = "array" if type(found) in (np.ndarray, dnumpy.ndarray) else type(found)
    mask = (
        np.asarray(np.ma.getmaskarray(found)).tolist()
        if isinstance(found, np.ma.MaskedArray)
        else None
    )
    tag = getattr(found, "tag", None) if isinstance(found, Tagged) else None
    values = np.asarray(found)
    filled = values.tolist() if mask is None else np.ma.getdata(found).tolist()
    return kind, values.dtype, values.shape, filled, mask, tag


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_call_gives_what_numpy_gives(maker, name):
    theirs = outcome(CALLS[name], np, MAKERS[maker](np))
    assert outcome(CALLS[name], dnumpy, MAKERS[maker](dnumpy)) == theirs


def test_one_that_answers_for_itself_is_asked():
    x = np.arange(3.0).view(Spoken)
    assert not calls.is_kin(x)
    assert dnumpy.add(x, 1)[0] == "spoken"
    assert dnumpy.add(dnumpy.ones(3), x)[0] == "spoken"


@pytest.mark.modeless("what is small is told by a setting")
def test_large_ones_and_those_of_objects_are_looked_at():
    assert calls.is_kin(np.ma.zeros(3))
    assert not calls.is_kin(np.zeros(3))
    assert not calls.is_kin(dnumpy.zeros(3))
    assert not calls.is_kin(np.ma.zeros(3, object))
    assert not calls.is_kin(np.ma.zeros(2_000_000))
