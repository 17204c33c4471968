"""Results lie in memory as NumPy's do: strides, contiguity, and whether they are views."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("managed")

INPUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda xp: xp.arange(48.0).reshape(6, 8) + 0,
    "columns": lambda xp: (xp.arange(48.0).reshape(8, 6) + 0).T,
    "slices": lambda xp: (xp.arange(192.0).reshape(12, 16) + 0)[::2, ::2],
    "none": lambda xp: xp.zeros((0, 8)),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "histogram2d": lambda xp, x: xp.histogram2d(x.ravel(), x.ravel() + 1, 5) if x.size else (),
    "histogramdd": lambda xp, x: xp.histogramdd(x[:, :2], 3)[0] if x.size else (),
    "histogram": lambda xp, x: xp.histogram(x),
    "asfortranarray": lambda xp, x: xp.asfortranarray(x),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "zeros_like": lambda xp, x: [xp.zeros_like(x, order=order) for order in "CFKA"],
    "ones_like of a dtype": lambda xp, x: [xp.ones_like(x, "i2", order) for order in "CFKA"],
    "zeros_like of a shape": lambda xp, x: [xp.zeros_like(x, shape=s) for s in (5, (3, 4), ())],
    "full_like": lambda xp, x: [xp.full_like(x, 7), xp.full_like(x, xp.arange(x.shape[1]))],
    "squeeze": lambda xp, x: xp.squeeze(x),
    "squeeze one axis": lambda xp, x: xp.squeeze(x[None], 0),
    "cov": lambda xp, x: xp.cov(x) if x.size else (),
    "flatten": lambda xp, x: [x.flatten(order) for order in "CFKA"],
    "ravel": lambda xp, x: [x.ravel(order) for order in "CFKA"],
    "reshape": lambda xp, x: [x.reshape(-1), x.reshape(None)] if x.size else (),
    "conjugate": lambda xp, x: [x.conj(), x.conj(None), x.conjugate(xp.ones(x.shape))],
    "flip": lambda xp, x: xp.flip([x, x], 1),
    "diagonal": lambda xp, x: xp.diagonal([x, x]),
    "add": lambda xp, x: x + 1,
}
AT_HOME: dict[str, Callable[[Any, Any], Any]] = {
    "argwhere": lambda xp, x: xp.argwhere(x > 9),
    "nonzero": lambda xp, x: xp.nonzero(x > 9),
    "flatnonzero": lambda xp, x: xp.flatnonzero(x > 9),
    "nanpercentile": lambda xp, x: xp.nanpercentile(x, 50, axis=0) if x.size else (),
    "nanmedian": lambda xp, x: xp.nanmedian(x, axis=0) if x.size else (),
}


def seen(result: Any) -> list[Any]:
    found = []
    for x in result if type(result) in (list, tuple) else [result]:
        assert type(x).__name__ == "ndarray"
        flags = x.flags
        layout = (x.shape, x.strides, flags.c_contiguous, flags.f_contiguous, flags.writeable)
        assert flags.owndata == (x.base is None)
        found.append((*layout, x.base is None, np.asarray(x).tolist()))
    return found


@pytest.mark.parametrize("name", [*FUNCTIONS, *AT_HOME])
@pytest.mark.parametrize("given", INPUTS)
def test_results_lie_in_memory_as_numpys(given: str, name: str) -> None:
    if name in AT_HOME and config.mode == "split":
        pytest.skip("what is made on nodes lies there by rows")
    function = {**FUNCTIONS, **AT_HOME}[name]
    found, expected = (seen(function(xp, INPUTS[given](xp))) for xp in (dnumpy, np))
    assert found == expected


@pytest.mark.parametrize("order", "KCFA")
@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_an_array_like_another_reads_none_of_its_values(name: str, order: str) -> None:
    values = np.random.default_rng(4).random((60, 30))
    with spread_out() as meter:
        x = on_nodes(values)
        meter.gathered.clear()
        for see in (lambda a: a[1:], lambda a: a.T, lambda a: a[::2, ::3], lambda a: a[::-1]):
            found = getattr(dnumpy, name)(see(x), order=order)
            assert found.strides == getattr(np, name)(see(values), order=order).strides
        assert not meter.gathered


def test_a_view_of_all_axes_as_they_are_is_the_array_where_it_is_numpys() -> None:
    for xp in (np, dnumpy):
        x = xp.arange(48.0).reshape(6, 8) + 0
        assert xp.squeeze(x) is x
        assert x.squeeze() is x
        assert x.reshape(6, 8) is not x


def test_what_is_no_view_of_this_array_is_an_array_all_the_same() -> None:
    x = dnumpy.arange(48.0).reshape(6, 8)
    found = dnumpy.tensordot(x, x)
    assert type(found) is dnumpy.ndarray
    assert found.shape == ()
    assert found == np.tensordot(np.asarray(x), np.asarray(x))


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "an array for a dtype": lambda xp, x: xp.array(x, x),
    "an array for the dtype of zeros": lambda xp, x: xp.zeros(3, x),
    "an array for a dtype to cast to": lambda xp, x: x.astype(x),
    "an array made a dtype": lambda xp, x: np.dtype(x),
    "an array asked for its kind": lambda xp, x: xp.issubdtype(x, float),
    "vectors that do not fit": lambda xp, x: xp.dot(xp.ones((2, 3, 4)), xp.ones(3)),
    "too many subscripts": lambda xp, x: xp.einsum("ijk", x),
    "an unknown argument": lambda xp, x: xp.sum(x, foo=1),
    "a vector to multiply in place with": lambda xp, x: x.__imatmul__(xp.ones(7)),
    "another transpose": lambda xp, x: setattr(x, "T", x),
    "another base": lambda xp, x: setattr(x, "base", x),
    "other flags": lambda xp, x: setattr(x, "flags", x),
    "no shape": lambda xp, x: x.reshape(),
    "a shape that does not fit": lambda xp, x: x.conj(xp.ones(3)),
}


OF_DTYPES = frozenset(name for name in WRONG if name.startswith("an array "))


class Refusing:
    """Has a dtype, and says that it stands for none."""

    dtype = np.dtype(float)

    @property
    def __numpy_dtype__(self) -> np.dtype:
        raise TypeError


def takes_what_refuses() -> bool:
    """Say whether NumPy, as before 2.4, makes a dtype of whatever has one."""
    try:
        return np.dtype(Refusing()) == Refusing.dtype
    except TypeError:
        return False


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_numpys_words(name: str) -> None:
    if name in OF_DTYPES and takes_what_refuses():
        pytest.skip("NumPy makes a dtype of whatever has one")
    said = []
    for xp in (dnumpy, np):
        with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
            WRONG[name](xp, xp.arange(48.0).reshape(6, 8) + 0)
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(
    "subscripts",
    ["nij,j->ni", "nij,j->in", "ij,jk->ik", "ij,jk->ki", "ij,ij->j", "ijk->kj", "bij,bjk->kbi"],
)
def test_einstein_sums_lie_in_memory_as_numpys_do(subscripts: str, optimize: bool) -> None:
    sizes = {"b": 4, "n": 5, "i": 3, "j": 6, "k": 7}
    shapes = [tuple(sizes[k] for k in x) for x in subscripts.partition("->")[0].split(",")]
    for axes in itertools.product(*[itertools.permutations(range(len(s))) for s in shapes]):

        def operands(xp: Any, axes: tuple[Any, ...] = axes) -> list[Any]:
            rng = np.random.default_rng(1)
            lie = [
                xp.array(rng.random([s[k] for k in x])) for s, x in zip(shapes, axes, strict=True)
            ]
            return [a.transpose(np.argsort(x)) for a, x in zip(lie, axes, strict=True)]

        expected = np.einsum(subscripts, *operands(np), optimize=optimize)
        found = dnumpy.einsum(subscripts, *operands(dnumpy), optimize=optimize)
        assert found.strides == expected.strides
        np.testing.assert_allclose(np.asarray(found), expected)
