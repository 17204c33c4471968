"""What is set in a mask has the indices that NumPy gives, however many threads look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not native.built, reason="counts in C")

SHAPES = [
    (1,),
    (7,),
    (70_001,),
    (300, 401),
    (33_000, 3),
    (3, 33_000),
    (17, 1, 5, 900),
    (2, 3, 4, 5),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("threads", [1, 3])
def test_indices_are_numpys(shape: tuple[int, ...], share: float, threads: int) -> None:
    mask = numpy.random.default_rng(3).random(shape) < share
    wanted = numpy.nonzero(mask)
    for rows in (False, True):
        found = native.nonzero(mask, numpy.empty, rows=rows, threads=threads)
        assert found is not None
        assert found.dtype == wanted[0].dtype
        assert numpy.array_equal(found.T if rows else found, numpy.array(wanted))


def test_any_byte_but_zero_is_set() -> None:
    mask = numpy.arange(256, dtype="u1").repeat(40).view(bool)
    found = native.nonzero(mask, numpy.empty, rows=False, threads=2)
    assert found is not None
    assert numpy.array_equal(found[0], numpy.flatnonzero(mask.view("u1")))


@pytest.mark.parametrize(
    "mask",
    [
        numpy.zeros(9),
        numpy.zeros((40, 40), bool)[:, ::2],
        numpy.zeros((4, 5), bool).T,
        numpy.zeros((), bool),
        numpy.zeros((0, 3), bool),
        numpy.zeros((1,) * 9, bool),
    ],
    ids=["numbers", "stepped", "transposed", "scalar", "empty", "many axes"],
)
def test_others_are_left_to_numpy(mask: numpy.ndarray) -> None:
    assert native.nonzero(mask, numpy.empty, rows=False, threads=2) is None


def test_memory_has_to_fit() -> None:
    def too_short(shape: tuple[int, ...], dtype: numpy.dtype) -> numpy.ndarray:
        return numpy.empty((shape[0] - 1,), dtype)

    with pytest.raises(TypeError, match="memory of this shape for indexes"):
        native.nonzero(numpy.ones(9, bool), too_short, rows=False, threads=1)


CALLS: dict[str, Callable[..., Any]] = {
    "nonzero": lambda xp, m: xp.nonzero(m),
    "its method": lambda _xp, m: m.nonzero(),
    "where": lambda xp, m: xp.where(m),
    "argwhere": lambda xp, m: xp.argwhere(m),
    "flatnonzero": lambda xp, m: xp.flatnonzero(m),
    "of numbers": lambda xp, m: xp.nonzero(m * 2.5),
    "pending": lambda xp, m: xp.nonzero(m * 2.5 > 1),
    "compress": lambda xp, m: xp.compress(m.ravel(), xp.arange(m.size)),
    "extract": lambda xp, m: xp.extract(m, m * 3),
    "wrong": lambda xp, m: xp.compress(m, m, axis=3),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "shape", [(100,), (90_000,), (300, 400), (700, 900), (30, 40, 50)], ids=str
)
def test_public_functions_give_what_numpys_do(name: str, shape: tuple[int, ...]) -> None:
    mask = numpy.random.default_rng(5).random(shape) < 0.3
    kept = dnumpy.config.mode, dnumpy.config.eager_below
    dnumpy.config.mode, dnumpy.config.eager_below = "default", 1 << 18

    def outcome(xp: Any) -> Any:
        try:
            found = CALLS[name](xp, xp.array(mask))
        except ValueError as error:
            return str(error)
        several = found if type(found) is tuple else (found,)
        arrays = [numpy.asarray(one) for one in several]
        return type(found) is tuple, [
            (a.dtype, a.shape, one.strides, a.tobytes())
            for a, one in zip(arrays, several, strict=True)
        ]

    try:
        for _ in range(3):
            assert outcome(dnumpy) == outcome(numpy)
    finally:
        dnumpy.config.mode, dnumpy.config.eager_below = kept
