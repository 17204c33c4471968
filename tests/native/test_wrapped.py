"""Arrays that wrap around are filled as by index, whatever their axes and however they lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy import native

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")


WAYS = {
    "as made": lambda a: a,
    "backwards": lambda a: a[::-1],
    "turned": lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1),
}


def expected(x: np.ndarray, shape: tuple[int, ...], lead: tuple[int, ...]) -> np.ndarray:
    axes = zip(shape[1:], lead[1:], x.shape[1:], strict=True)
    return x[np.ix_(range(shape[0]), *[(np.arange(n) - m) % extent for n, m, extent in axes])]


@st.composite
def wraps(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, tuple[int, ...], int]:
    """Draw an operand, a result to be filled, the leads, and threads."""
    extents = draw(st.lists(st.integers(1, 7), min_size=2, max_size=4))
    lead = tuple(draw(st.lists(st.integers(0, 9), min_size=len(extents), max_size=len(extents))))
    shape = (extents[0], *[draw(st.integers(1, 20)) for _ in extents[1:]])
    size = int(np.prod(extents))
    dtype = draw(st.sampled_from(["f4", "f8", "c16", "i1", "i8", "?", "S3"]))
    x = np.arange(size).astype(dtype).reshape(extents)
    x = draw(
        st.sampled_from(
            [lambda a: a, lambda a: a[::-1], lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1)]
        )
    )(x)
    room = np.zeros((shape[0] + 2, *shape[1:-1], shape[-1] + 3), dtype)
    out = room[1:-1, ..., 1 : 1 + shape[-1]] if draw(st.booleans()) else np.zeros(shape, dtype)
    return x, out, lead, draw(st.integers(1, 3))


@settings(max_examples=300)
@given(wraps())
def test_what_wraps_around_is_what_an_index_picks(
    drawn: tuple[np.ndarray, np.ndarray, tuple[int, ...], int],
) -> None:
    x, out, lead, threads = drawn
    around = out.base.copy() if out.base is not None else None
    done = native.wrapped(x, out, lead, threads)
    if not done:
        assert not out.any()  # nothing was done
        return
    np.testing.assert_array_equal(out, expected(x, out.shape, lead))
    if around is not None:  # and nothing beside it
        out[...] = np.zeros((), out.dtype)
        np.testing.assert_array_equal(out.base, around)


def test_what_lies_otherwise_is_left_to_numpy() -> None:
    x, out = np.ones((4, 5)), np.zeros((4, 8))
    assert native.wrapped(x, out, (0, 1))
    for other, into, lead in (
        (x.astype("f4"), out, (0, 1)),
        (x[:, ::2], out, (0, 1)),
        (x, out[:, ::2], (0, 1)),
        (x[0], out[0], (0,)),
        (x[:3], out, (0, 1)),
        (x, out, (0,)),
        (x[:, :0], out, (0, 1)),
        (x.astype(object), out.astype(object), (0, 1)),
    ):
        assert not native.wrapped(other, into, lead)
    out.flags.writeable = False
    assert not native.wrapped(x, out, (0, 1))
