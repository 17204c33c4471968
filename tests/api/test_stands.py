"""Objects whose ``__array__`` returns an array of ours are taken by all that takes NumPy's."""

from __future__ import annotations

import operator
import re
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

calls: list[Any] = []  # of ``__array__``


def duck_of(xp: Any, *, shape: str = "bare") -> Any:
    """Return a class that is converted to arrays of ``xp``."""

    class D:
        def __init__(self, v: Any) -> None:
            self.v = v

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            calls.append(self)
            return xp.array(self.v, dtype=dtype)

    class S(D):
        def __len__(self) -> int:
            return len(self.v)

        def __getitem__(self, key: Any) -> Any:
            return self.v[key]

    class A(D):
        shape = property(lambda self: xp.asarray(self.v).shape)
        dtype = property(lambda self: xp.asarray(self.v).dtype)
        ndim = property(lambda self: xp.asarray(self.v).ndim)

    class L(list[Any]):
        def __init__(self, v: Any) -> None:
            self.v = v
            super().__init__(v)

        __array__ = D.__array__

    return {"bare": D, "sequence": S, "typed": A, "list": L}[shape]


_UNLIKE = frozenset({
    "test", "info", "show_config", "show_runtime", "genfromtxt", "loadtxt", "seterr", "setbufsize",
    "seterrcall", "save", "savez", "savetxt", "savez_compressed", "fromfile", "load", "set_state",
    "seed", "get_state", "empty", "empty_like", "set_printoptions", "bytes", "rand", "default_rng",
    "set_bit_generator", "open_memmap", "random", "ones", "zeros", "jiffies", "memusage",
})  # fmt: skip
_MODULES = (
    "", "linalg", "fft", "lib.stride_tricks", "lib.array_utils", "strings", "char", "ma", "rec",
    "emath", "random", "testing", "polynomial.polynomial", "polynomial.chebyshev",
)  # fmt: skip
_GIVEN: tuple[Any, ...] = ([3, 1, 2], [[4.0, 2.0], [1.0, 3.0]], [True, False, True], [b"ab", b"c"])


def _functions(module: str) -> list[tuple[str, Any, Any]]:
    theirs, ours = (operator.attrgetter(module)(xp) if module else xp for xp in (numpy, np))
    found = []
    for name in dir(theirs):
        f = None if name.startswith("_") or name in _UNLIKE else getattr(theirs, name)
        if callable(f) and not isinstance(f, type | ModuleType):
            found.append((name, f, getattr(ours, name)))
    return found


def _told(function: Callable[..., Any], *args: Any) -> tuple[str, int]:
    """Return the result or the error of a call, and how many conversions it took."""
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numpy.random.seed(0)
        np.random.seed(0)
        try:
            text = repr(function(*args))
        except Exception as error:  # noqa: BLE001 - any, as NumPy's
            text = f"{type(error).__name__}: {error}"
    return re.sub("0x[0-9a-f]+", "", text).replace("dnumpy", "numpy"), len(calls)


@pytest.mark.parametrize("shape", ["bare", "sequence", "typed", "list"])
@pytest.mark.parametrize("module", _MODULES)
def test_a_function_converts_an_object_as_often_as_numpys_and_to_the_same(
    module: str, shape: str
) -> None:
    for name, theirs, ours in _functions(module):
        for v in _GIVEN:
            for more in (0, 1, 2):
                if name == "as_strided" and more:
                    continue  # which shows what lies beside the array
                told = []
                for xp, f in ((numpy, theirs), (np, ours)):
                    d = duck_of(xp, shape=shape)(v)
                    told.append(_told(f, *[(d,), (d, 1), (d, d)][more]))
                assert told[1] == told[0], (name, v, more)


_EXPRESSIONS = """
    z[d] | z[db] | z[l] | z[d, ...] | z[[d, d]] | z[1:][d] | m[d, d] | m[:2, d]
    z.flat[d] | z == e | z < e | z != e | e == z | z + e | e + z | z @ e | z ** e | divmod(z, e)
    z & 1 if 0 else m % d | z.take(d) | z.searchsorted(d) | z.repeat(e) | z.clip(e, e)
    z.compress(db) | z.dot(e) | x.choose([d, d, d]) | z.sum(where=db) | z.take(D(2))
    np.full(3, d) | np.r_[z, d] | np.c_[d, d] | np.vectorize(abs)(d) | np.frompyfunc(abs, 1, 1)(d)
    np.broadcast(d, d).shape | list(np.nditer([d, d])) | list(np.ndenumerate(d)) | np.tile(x, s)
    np.linspace(0, d, 3) | np.array(d, dtype=object) | np.array([d, [1, 2, 3]]) | np.array([d, d])
    np.add.outer(d, d) | np.add.reduceat(d, [0, 1]) | np.random.default_rng(0).permutation(d)
    np.random.default_rng(0).normal(d) | np.einsum('i,i', d, d) | np.where(db, e, z)
    np.piecewise(d, [D([True, False, True])], [1, 2]) | np.insert(z, d, d) | np.delete(z, d)
    np.histogram2d(s, s) | np.array_split(s, 3) | np.trim_zeros(s) | np.array_equal(d, [1, 2, 3])
    np.testing.assert_array_equal(d, [1, 2, 3]) | np.testing.assert_allclose(d, d)
    np.concatenate([d, d]) | np.asarray(d) | np.sum(d) | np.add(d, 1) | np.block([d, d])
    np.array([D([1]), D([1, 2])], dtype=object).shape | np.ma.array(d) | np.rec.fromarrays([d, d])
"""
_STATEMENTS = """
    z[d] = 0 | z[db] = 7 | z[0:3] = d | z[d] = d | z[[0, 1, 2]] = d | z.flat[d] = 3 | z.flat = e
    z.flat[0:3] = d | z += e | z @= m5 | z.put(d, d) | z.fill(D(3)) | np.add.at(z, d, 1)
    np.copyto(z, e) | np.putmask(z, db, d) | np.place(z, db, d) | np.put_along_axis(z, D([0]), 1, 0)
    z.itemset if 0 else z.__setitem__(l, 7) | z **= D([2] * 5) | o[1] = d | o[...] = [d, 2, 3]
"""


def _listed(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split("|")]


def _names(xp: Any) -> dict[str, Any]:
    duck, sequence, listed = (duck_of(xp, shape=s) for s in ("bare", "sequence", "list"))
    return {
        "np": xp, "D": duck, "d": duck([1, 2, 3]), "e": duck(range(5)), "l": listed([1, 2]),
        "db": duck([True, False, True, False, True]), "z": xp.arange(5.0), "x": xp.arange(3),
        "m": xp.arange(16).reshape(4, 4), "o": xp.array([None] * 3), "m5": duck(numpy.eye(5)),
        "s": sequence([1, 2, 3]),
    }  # fmt: skip


@pytest.mark.parametrize("code", _listed(_EXPRESSIONS))
def test_an_object_may_stand_wherever_an_array_does(code: str) -> None:
    theirs, ours = (_told(eval, code, _names(xp)) for xp in (numpy, np))
    assert ours == theirs


@pytest.mark.parametrize("code", _listed(_STATEMENTS))
def test_an_object_may_be_written_and_say_where(code: str) -> None:
    def done(xp: Any) -> Any:
        names = _names(xp)
        d = names["d"]
        exec(code, names)
        held = [type(x) is type(d) and x is d for x in names["o"].tolist()]
        return names["z"].tolist(), held

    theirs, ours = (_told(done, xp) for xp in (numpy, np))
    assert ours == theirs


def test_a_large_array_takes_objects_as_a_small_one_does() -> None:
    for code in ("z[d]", "z[D(z > 5)]", "z == D(z)", "z + D(z)", "z.take(d)", "np.add(z, D(z))"):
        found = []
        for xp in (numpy, np):
            names = _names(xp) | {"z": xp.arange(300_000.0)}
            names["D"] = duck_of(xp)
            found.append(numpy.asarray(eval(code, names)))  # noqa: S307
        assert numpy.array_equal(*found), code


def test_what_an_object_is_converted_to_is_the_array_that_it_gave() -> None:
    for size in (3, 300_000):

        class Box:
            def __init__(self, held: Any) -> None:
                self.held = held

            def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
                return self.held

        box = Box(np.zeros(size))
        np.asarray(box)[0] = 5
        assert box.held[0] == 5
        np.ravel(box)[1] = 6
        assert box.held[1] == 6


def test_an_object_is_known_for_one_of_ours_though_its_module_imports_another() -> None:
    scope: dict[str, Any] = {"np": numpy, "make": np.array}
    code = "class D:\n    def __array__(self, dtype=None, copy=None): return make([1, 2])"
    exec(code, scope)
    d = scope["D"]()
    for _ in range(2):
        assert np.add(d, 1).tolist() == [2, 3]
    assert np.arange(3)[d].tolist() == [1, 2]
