"""What is set in a mask has the indices that NumPy gives, however many threads look for it."""

from __future__ import annotations

import numpy
import pytest

from dnumpy import native

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
    lines = native.nonzero(mask, numpy.empty, rows=False, threads=threads)
    rows = native.nonzero(mask, numpy.empty, rows=True, threads=threads)
    wanted = numpy.nonzero(mask)
    assert type(lines) is tuple
    assert len(lines) == len(wanted)
    for line, numpys in zip(lines, wanted, strict=True):
        assert line.dtype == numpys.dtype
        assert numpy.array_equal(line, numpys)
    assert numpy.array_equal(rows, numpy.argwhere(mask))
    assert rows.shape == (len(wanted[0]), len(shape))


def test_any_byte_but_zero_is_set() -> None:
    mask = numpy.arange(256, dtype="u1").repeat(40).view(bool)
    (found,) = native.nonzero(mask, numpy.empty, rows=False, threads=2)
    assert numpy.array_equal(found, numpy.flatnonzero(mask.view("u1")))


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
