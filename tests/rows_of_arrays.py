"""Rows A to D of the checklist: types, creation, indexing and ufuncs, as programs."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def said(call: Callable[[], Any]) -> tuple[str, str]:
    """Return the type and text of what ``call`` raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the error is the answer
        return type(error).__name__, str(error)
    return "nothing", ""


def warned(call: Callable[[], Any]) -> list[str]:
    """Return the texts of the warnings of ``call``, whose result is looked at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.asarray(call())
    return sorted({str(w.message) for w in caught if w.category is RuntimeWarning})


def written(array: Any, key: Any, value: Any) -> Any:
    array[key] = value
    return array


def after(target: Any, call: Callable[[Any], Any]) -> Any:
    call(target)
    return target


def near(values: Any) -> Any:
    """Return floats to 9 digits, since sums may differ in the last bits."""
    return np.round(np.asarray(values), 9) + 0.0


def whole(xp: Any) -> Any:
    return xp.arange(24).reshape(4, 6) % 7


def floats(xp: Any) -> Any:
    return xp.linspace(0.5, 9.0, 24).reshape(4, 6) * 1.0


A_TYPES: dict[int, Callable[[Any], Any]] = {
    1: lambda xp: near((xp.sin(floats(xp)) ** 2 + xp.cos(floats(xp)) ** 2).sum()),
    3: lambda xp: [
        near(xp.linalg.norm(floats(xp))),
        near(xp.fft.fft(floats(xp)).real),
        xp.ma.masked_less(whole(xp), 3).sum(),
        xp.polynomial.polynomial.polyval(xp.arange(4.0), [1, 2]),
        xp.char.upper(xp.array(["a", "b"])),
        xp.strings.str_len(xp.array(["a", "bc"])),
        xp.lib.stride_tricks.sliding_window_view(xp.arange(5), 2),
        xp.random.default_rng(3).integers(0, 9, 4),
        xp.testing.assert_allclose(floats(xp), floats(xp)),
    ],
    4: lambda xp: [
        xp.pi,
        xp.newaxis,
        xp.finfo(xp.float32).eps,
        xp.iinfo("i2").max,
        str(xp.dtype("f4")),
        near(floats(xp)[:, xp.newaxis]),
        repr(xp.printoptions),
        xp.geterr(),
    ],
    5: lambda xp: [
        isinstance(floats(xp), xp.ndarray),
        xp.ndarray.__name__,
        isinstance(3, xp.ndarray),
    ],
    6: lambda xp: [
        type(floats(xp)[1, 2]) is np.float64,
        isinstance(whole(xp).sum(), np.int64),
        isinstance(floats(xp).mean(), np.floating),
        floats(xp)[1, 2],
    ],
    7: lambda xp: [
        hash(whole(xp).sum()),
        f"{whole(xp).sum():5d}",
        round(floats(xp)[0, 1], 2),
        int(whole(xp).max()),
        float(floats(xp).max()),
        [1, 2, 3, 4, 5, 6, 7][whole(xp).max()],
        whole(xp).sum() == int(whole(xp).sum()),
        str(floats(xp).max()),
    ],
    8: lambda xp: [
        xp.testing.assert_array_equal(whole(xp), whole(xp)),
        said(lambda: np.testing.assert_array_equal(whole(xp), whole(xp) + 1))[0],
    ],
    9: lambda xp: [
        repr(floats(xp)),
        str(whole(xp)),
        repr(xp.arange(3000.0) * 2),
        repr(floats(xp)[0, 0]),
    ],
    10: lambda xp: [
        said(lambda: floats(xp) + xp.ones((3, 3))),
        said(lambda: floats(xp)[9]),
        said(lambda: floats(xp).reshape(5, 5)),
        said(lambda: floats(xp).sum(axis=4)),
        said(lambda: xp.zeros(3) @ xp.zeros(4)),
        said(lambda: floats(xp).nothing),
    ],
}

B_CREATION: dict[int, Callable[[Any], Any]] = {
    11: lambda xp: [
        xp.array([[1, 2], [3, 4]], dtype="f4"),
        xp.array(floats(xp), copy=True, ndmin=3),
        xp.asarray(floats(xp)) is not None,
        xp.asarray([1, 2], order="F"),
        said(lambda: xp.asarray([1, 2], copy=False)),
        said(lambda: xp.array([[1], [2, 3]])),
    ],
    12: lambda xp: [
        xp.zeros((2, 3)),
        xp.ones(4, "i2"),
        xp.full((2, 2), 7),
        xp.empty((0, 3)),
        xp.zeros_like(floats(xp)),
        xp.full_like(whole(xp), 3),
        xp.eye(3, 4, 1),
        xp.arange(2, 9, 3),
        xp.linspace(0, 1, 7),
        xp.logspace(0, 2, 5),
        xp.geomspace(1, 8, 4),
        xp.identity(3),
    ],
    13: lambda xp: [
        *xp.meshgrid(xp.arange(3), xp.arange(2)),
        xp.mgrid[0:3, 0:2],
        *xp.ogrid[0:3, 0:2],
        xp.indices((2, 3)),
        xp.fromfunction(lambda i, j: i * j, (3, 4)),
    ],
    14: lambda xp: [
        xp.frombuffer(b"\x01\x02\x03", dtype="u1"),
        xp.fromiter(range(5), dtype="i4"),
        xp.fromstring("1 2 3", sep=" "),
    ],
    16: lambda xp: list(_aliasing(xp)),
    17: lambda xp: [
        floats(xp).flags.c_contiguous,
        floats(xp).T.flags.f_contiguous,
        floats(xp).strides,
        xp.asfortranarray(floats(xp)).flags.f_contiguous,
        floats(xp).copy(order="F").strides,
        xp.ascontiguousarray(floats(xp).T).strides,
        xp.require(whole(xp), "f8", "F").strides,
        floats(xp)[:, ::2].flags.c_contiguous,
        xp.isfortran(floats(xp).T),
    ],
    18: lambda xp: [
        pickle.loads(pickle.dumps(floats(xp))),
        copy.deepcopy(floats(xp)),
        copy.copy(whole(xp)),
        pickle.loads(pickle.dumps(whole(xp).sum())),
    ],
}


def _aliasing(xp: Any) -> list[Any]:
    """A host array is shared by asarray and copied by array, as NumPy has it."""
    host = np.arange(10.0)
    shared, copied = xp.asarray(host), xp.array(host)
    doubled = shared * 2
    host[0] = 50.0
    return [near(shared[0]), near(copied[0]), near(doubled[0])]


C_INDEXING: dict[int, Callable[[Any], Any]] = {
    19: lambda xp: [floats(xp)[::-1, 1:5:2], floats(xp)[-3:-1], floats(xp)[3:0:-2, ::-3]],
    20: lambda xp: [
        floats(xp)[None, ..., 2],
        floats(xp)[1, None, :, None],
        floats(xp)[..., None, -1],
    ],
    21: lambda xp: after(floats(xp), lambda a: written(a[1:3], ..., -1.0)),
    22: lambda xp: after(floats(xp), lambda a: written(a.T[2:][::2], (slice(None), 1), 9.0)),
    23: lambda xp: [
        written(floats(xp), (slice(None), 2), [1, 2, 3, 4]),
        written(whole(xp), 1, 2.7),
        said(lambda: written(floats(xp), 1, [1, 2])),
    ],
    24: lambda xp: after(floats(xp), lambda a: _add_to(a, (slice(1, 3), slice(None, None, 2)), 5)),
    25: lambda xp: after(whole(xp).ravel(), lambda a: written(a, slice(1, None), a[:-1])),
    26: lambda xp: [
        whole(xp)[whole(xp) > 3],
        whole(xp)[whole(xp)[:, 0] > 1],
        whole(xp)[whole(xp) > 3].shape,
    ],
    27: lambda xp: [
        written(whole(xp), whole(xp) > 3, 0),
        written(whole(xp), whole(xp) > 5, xp.arange(3)),
        said(lambda: written(whole(xp), whole(xp) > 5, xp.arange(7))),
    ],
    28: lambda xp: [
        whole(xp)[[0, 2]],
        whole(xp)[[0, 2], [1, -1]],
        whole(xp)[:, xp.array([[1, 0]])],
        whole(xp)[xp.ix_([0, 3], [1, 5])],
        whole(xp)[[3, 0], None, 2:4],
    ],
    29: lambda xp: [
        written(whole(xp), [1, 1, 0], xp.arange(18).reshape(3, 6)),
        written(whole(xp).ravel(), [2, 2, 2], [5, 6, 7]),
    ],
    30: lambda xp: [
        whole(xp).take([1, 0], axis=1),
        after(whole(xp), lambda a: a.put([1, -1], [90, 91])),
        xp.take_along_axis(whole(xp), xp.argsort(whole(xp), axis=1, kind="stable"), axis=1),
        after(
            whole(xp), lambda a: xp.put_along_axis(a, xp.array([[0], [1], [2], [3]]), 99, axis=1)
        ),
        xp.choose(xp.array([0, 1, 0]), [xp.arange(3), xp.arange(3) * 10]),
        xp.compress([True, False, True], whole(xp), axis=0),
        xp.select([whole(xp) > 5, whole(xp) > 2], [whole(xp), whole(xp) * 10], -1),
        xp.piecewise(floats(xp), [floats(xp) < 3, floats(xp) >= 3], [0.0, lambda v: v * 2]),
    ],
    31: lambda xp: [
        *whole(xp).nonzero(),
        xp.argwhere(whole(xp) > 4),
        xp.flatnonzero(whole(xp) == 2),
        *xp.where(whole(xp) > 5),
    ],
    32: lambda xp: [
        said(lambda: whole(xp)[[0, 4]]),
        said(lambda: whole(xp).take(99)),
        said(lambda: whole(xp)[:, 6]),
        said(lambda: written(whole(xp), ([0], [6]), 1)),
    ],
    33: lambda xp: [
        xp.array(3.0) + 1,
        xp.zeros(0).sum(),
        xp.ones((1, 1)) * floats(xp)[:1],
        xp.zeros((0, 3)).sum(axis=0),
        said(lambda: xp.zeros(0).max()),
        xp.array(5)[()],
        xp.array(5)[None],
        xp.zeros((2, 0)).shape,
    ],
    34: lambda xp: [
        list(whole(xp).flat)[:5],
        whole(xp).flat[7],
        after(whole(xp), _set_flat),
        [k for k, _ in xp.ndenumerate(whole(xp)[:2, :2])],
        [int(v) for v in xp.nditer(whole(xp)[0])],
        [float(r.sum()) for r in floats(xp)],
        list(xp.ndindex(2, 2)),
        3 in whole(xp),
    ],
    35: lambda xp: [
        xp.lib.stride_tricks.as_strided(xp.arange(6), (3, 2), (8, 8)),
        xp.lib.stride_tricks.sliding_window_view(whole(xp), (2, 3)).sum(axis=(2, 3)),
    ],
}


def _add_to(a: Any, key: Any, value: Any) -> None:
    a[key] += value


def _set_flat(a: Any) -> None:
    a.flat[3:9:2] = 77
    a.flat[-1] = 78


D_UFUNCS: dict[int, Callable[[Any], Any]] = {
    37: lambda xp: after(xp.empty((4, 6)), lambda out: xp.add(floats(xp), 1, out=out)),
    38: lambda xp: after(
        xp.zeros((4, 6)), lambda out: xp.sqrt(floats(xp), out=out, where=whole(xp) > 2)
    ),
    39: lambda xp: [
        xp.add(whole(xp), 1, dtype="f4"),
        said(lambda: xp.add(floats(xp), 1, dtype="i4")),
        said(lambda: xp.add(whole(xp), 0.5, out=whole(xp))),
        xp.add(whole(xp), 0.5, out=whole(xp), casting="unsafe"),
    ],
    40: lambda xp: [
        xp.add.reduce(whole(xp), axis=1),
        xp.maximum.accumulate(whole(xp), axis=1),
        xp.add.reduceat(xp.arange(8), [0, 3, 5]),
        xp.multiply.outer(xp.arange(3), xp.arange(4)),
        after(xp.zeros(4), lambda a: xp.add.at(a, [0, 0, 2], 1)),
        xp.subtract.reduce(whole(xp)),
    ],
    41: lambda xp: [
        xp.vectorize(lambda a, b: a + b)(whole(xp), 1),
        xp.frompyfunc(lambda v: v + 1, 1, 1)(xp.arange(3)).astype(int),
    ],
    42: lambda xp: [
        (xp.arange(3, dtype="f4") + 1.0).dtype.name,
        (xp.arange(3, dtype="u1") + 5).dtype.name,
        (xp.arange(3, dtype="i2") * xp.float32(2)).dtype.name,
        said(lambda: xp.arange(3, dtype="u1") + 300),
        (xp.arange(3, dtype="f2") + xp.float64(1)).dtype.name,
        (xp.array(True) + 1).dtype.name,
    ],
    43: lambda xp: [
        warned(lambda: xp.array([1.0, 0, 4]) / 0),
        warned(lambda: xp.exp(xp.array([1.0, 1e3, 4]))),
        warned(lambda: xp.sqrt(xp.array([-1.0, 1, 4]))),
        xp.array([250, 255], "u1") + xp.uint8(10),
        said(lambda: _dividing_raises(xp)),
        xp.array([7, -7]) // xp.array([2, 2]),
    ],
    44: lambda xp: [
        xp.arange(4, dtype="f2") * 2,
        xp.arange(4, dtype="g") / 3,
        xp.arange(4, dtype="F") * 1j,
        xp.array(["2020-01-01", "NaT"], "M8[D]") + xp.timedelta64(3, "D"),
        xp.array([3, 5], "m8[s]") * 2,
        xp.isnat(xp.array(["NaT"], "M8[s]")),
    ],
    45: lambda xp: [
        xp.array(["ab", "c"]) == "c",
        xp.array([b"x", b"yz"]),
        xp.array([1, "a", None], object)[1],
        xp.array([(1, 2.0)], [("i", "i4"), ("f", "f8")])["f"],
        xp.array(["a", "bb"], xp.dtypes.StringDType()).astype("U2"),
    ],
    46: lambda xp: [
        xp.max(xp.array([1.0, xp.nan])),
        xp.sort(xp.array([3.0, xp.nan, 1.0])),
        xp.argmax(xp.array([1.0, xp.nan, 3.0])),
        xp.fmin(xp.array([xp.nan]), 2.0),
        xp.minimum(xp.array([xp.nan]), 2.0),
    ],
}


def _dividing_raises(xp: Any) -> Any:
    with xp.errstate(divide="raise"):
        return xp.ones(3) / xp.zeros(3)
