"""Short ways of large arrays: sums and means at lines that look at each, views in another shape."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config

SIZE = config.eager_below + 3_600 if config.mode == "default" else 3_600
ROUNDS = 8
in_c = pytest.mark.skipif(
    not native.built or config.mode != "default", reason="the module in C, where nothing waits"
)
FOLDS: dict[str, Any] = {
    "sum": lambda np, x: x.sum(),
    "np.sum": lambda np, x: np.sum(x),
    "mean": lambda np, x: x.mean(),
    "np.mean": lambda np, x: np.mean(x),
    "columns": lambda np, x: x.reshape(-1, 4).sum(0),
    "rows": lambda np, x: x.reshape(-1, 48).mean(axis=1, keepdims=True),
    "turned": lambda np, x: x.T.sum(axis=0),
    "all that is turned": lambda np, x: np.mean(x.T),
    "middle": lambda np, x: x.reshape(2, -1, 6).sum(axis=-2),
}


def called_in_python(function: Any, *args: Any) -> tuple[Any, list[str]]:
    """Return what a function gives, and the functions of Python's that it calls."""
    seen: list[str] = []

    def note(frame: Any, event: str, _arg: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        found = function(*args)
    finally:
        sys.setprofile(None)
    return found, seen[1:]


@in_c
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_a_fold_at_a_line_that_looks_at_each_enters_no_python(name, kind):
    shape = (SIZE, 3) if "turned" in name else (3 * SIZE,)
    fold, theirs = FOLDS[name], np.random.default_rng(3).normal(size=shape).astype(kind)
    x, found, entered = dnumpy.array(theirs), set(), []
    for _ in range(ROUNDS):
        value, through = called_in_python(fold, dnumpy, x)
        entered.append(bool(through))
        found.add(np.asarray(value).tobytes())
    assert sum(entered) <= ROUNDS // 2 + 1  # at first, and to look again once in a while
    assert len(found) == 1
    expected = fold(np, theirs)
    assert (type(value) is type(expected)) or type(value) is dnumpy.ndarray
    assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("name", ["sum", "np.sum", "mean", "columns"])
def test_every_fault_is_told_at_its_line(name):
    theirs = np.full(3 * SIZE, 1e308)
    x, told = dnumpy.array(theirs), []
    for _ in range(ROUNDS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.asarray(FOLDS[name](dnumpy, x))
        told.append([str(w.message) for w in caught])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FOLDS[name](np, theirs)
    assert told == [[str(w.message) for w in caught]] * ROUNDS
    for _ in range(ROUNDS):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
            np.asarray(FOLDS[name](dnumpy, x))


@pytest.mark.parametrize("how", [{"axis": 1}, {"axis": "0"}, {"axis": 0.0}, {"unknown": 1}])
def test_what_fits_nothing_gets_numpys_error_in_every_round(how):
    theirs = np.ones(SIZE)
    x = dnumpy.array(theirs)
    with pytest.raises((TypeError, ValueError)) as expected:
        theirs.sum(**how)
    for _ in range(ROUNDS):
        x.sum()
        with pytest.raises(type(expected.value)) as raised:
            x.sum(**how)
        assert str(raised.value) == str(expected.value)


VIEWS: dict[str, Any] = {
    "all": lambda x: x,
    "some rows": lambda x: x[2:-1],
    "every other row": lambda x: x[::2],
    "some columns": lambda x: x[:, 1:],
    "backwards": lambda x: x[::-1],
    "one column": lambda x: x[:, :1],
    "turned": lambda x: x.T,
    "with an axis of one": lambda x: x[:, None, :],
    "in another shape": lambda x: x.reshape(-1, 2),
    "as other numbers": lambda x: x.view("i8"),
}


def shapes() -> Any:
    extents = st.sampled_from((-1, 1, 2, 3, 4, 6, SIZE, SIZE // 2))
    return st.one_of(extents, st.lists(extents, min_size=1, max_size=4).map(tuple))


CALLS: dict[str, Any] = {
    "method": lambda np, x, shape: x.reshape(shape),
    "several": lambda np, x, shape: x.reshape(*(shape if type(shape) is tuple else (shape,))),
    "function": lambda np, x, shape: np.reshape(x, shape),
    "ravel": lambda np, x, _: x.ravel(),
    "np.ravel": lambda np, x, _: np.ravel(x),
    "by name": lambda np, x, shape: np.reshape(x, shape=shape, order="F"),
}


def told(call: Any, *args: Any) -> Any:
    """Return what a call gives, or what it says of a shape that does not fit."""
    try:
        return call(*args)
    except ValueError as error:
        return str(error)


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(sorted(CALLS)),
    st.sampled_from(sorted(VIEWS)),
    shapes(),
    st.booleans(),
    st.booleans(),
)
def test_other_shapes_are_numpys(call, view, shape, waits, fixed):
    theirs, x = np.arange(SIZE * 4.0).reshape(SIZE, 4), dnumpy.arange(SIZE * 4.0).reshape(SIZE, 4)
    if waits:
        theirs, x = theirs + 1.0, x + 1.0
    theirs, x = VIEWS[view](theirs), VIEWS[view](x)
    if fixed:
        theirs.flags.writeable = x.flags.writeable = False
    expected, found = (told(CALLS[call], *given, shape) for given in ((np, theirs), (dnumpy, x)))
    if type(expected) is str:
        assert found == expected
        return
    assert (found.shape, found.strides, found.dtype) == (
        expected.shape,
        expected.strides,
        expected.dtype,
    )
    assert found.flags.writeable == expected.flags.writeable
    assert (found.base is None) == (expected.base is None)
    assert np.shares_memory(np.asarray(found), np.asarray(x)) == np.shares_memory(expected, theirs)
    if not fixed and found.flags.writeable:
        for a, part in ((theirs, expected), (x, found)):
            part[...] = part * 2 + 1
            a[0] = 7
    assert np.asarray(x).tobytes() == theirs.tobytes()
    assert np.asarray(found).tobytes() == expected.tobytes()


def test_a_view_in_another_shape_holds_no_memory_that_is_written_over():
    x = dnumpy.zeros((SIZE, 4))
    flat = x.reshape(-1)
    for k in range(5):
        x += k
        assert float(flat[3]) == sum(range(k + 1))
    flat[1] = 100.0
    assert float(x[0, 1]) == 100.0
