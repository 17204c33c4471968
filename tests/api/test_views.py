"""Views alias, exactly where NumPy's do, and say what NumPy's say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api.array import concrete
from tests.programs import Program, check
from tests.strategies import filled_shapes, keys

pytestmark = pytest.mark.usefixtures("managed")

PROGRAMS = {
    "a view of a view": ["a1 = np.arange(40)", "a2 = a1[::2]", "a3 = a2[::-3]", "a3 += 100"],
    "a view outlives its base": ["a1 = np.arange(40) * 2", "a2 = a1[5:]", "del a1", "a2[0] = 7"],
    "a base outlives its view": ["a1 = np.arange(40) * 2", "a2 = a1[::2]", "a2 += 1", "del a2"],
    "a transposed write": ["a1 = np.zeros((5, 8))", "a2 = a1.T", "a2[3] = 5", "a2 *= 2"],
    "a diagonal is read-only": ["a1 = np.zeros((8, 8))", "a2 = a1.diagonal()", "a2[0] = 1"],
    "a diagonal follows": ["a1 = np.zeros((8, 8))", "a2 = a1.diagonal()", "a1[3, 3] = 5"],
    "a broadcast follows": ["a1 = np.zeros(9)", "a2 = np.broadcast_to(a1, (3, 9))", "a1[1] = 5"],
    "a broadcast is read-only": [
        "a1 = np.zeros(9)",
        "a2 = np.broadcast_to(a1, (3, 9))",
        "a2[0] = 1",
    ],
    "a view of bytes": ["a1 = np.arange(20)", "a2 = a1.view('i4')", "a2[::2] = 7"],
    "real and imaginary parts": [
        "a1 = np.arange(20) * 1j",
        "a2, a3 = a1.real, a1.imag",
        "a2 += 3",
        "a3[::2] = 0",
        "a1 *= 2",
    ],
    "a shape that is set": ["a1 = np.arange(40)", "a2 = a1[:]", "a1.shape = (5, 8)", "a1[2] = 0"],
    "a shape that does not fit": ["a1 = np.arange(40)", "a1.shape = (7, 7)"],
    "ravel of a view is a copy": ["a1 = np.zeros((6, 7))", "a2 = a1[:, 1:].ravel()", "a2[0] = 5"],
    "ravel of a base is a view": ["a1 = np.zeros((6, 7))", "a2 = a1.ravel()", "a2[0] = 5"],
    "ravel of a transposed result": [
        "a1 = np.ones((6, 7)).T + 1",
        "a2 = a1.T.ravel()",
        "a2[0] = 5",
    ],
    "reshape of a transposed array": [
        "a1 = np.zeros((6, 7)).T",
        "a2 = a1.reshape(-1)",
        "a2[0] = 5",
    ],
    "split": ["a1 = np.arange(40)", "a2, a3 = np.split(a1, 2)", "a2 += 1", "a1[30] = 0"],
    "windows": [
        "a1 = np.arange(40)",
        "a2 = np.lib.stride_tricks.sliding_window_view(a1, 3)",
        "a1[5] = 100",
    ],
    "as_strided is written through": [
        "a1 = np.zeros(40)",
        "a2 = np.lib.stride_tricks.as_strided(a1, (19, 2), (16, 8))",
        "a2[3] = 5",
    ],
    "rows of an iteration": ["a1 = np.zeros((5, 8))", "for row in a1: row += 1", "del row"],
    "flat": ["a1 = np.zeros((5, 8)) + 0", "a1.flat[3] = 7", "a1.flat = 2", "s1 = a1.flat[5]"],
    "meshgrid": ["a1, a2 = np.meshgrid(np.arange(9), np.arange(8))", "a1 += a2"],
    "swapped values": ["a1 = np.arange(40)", "a1[:5], a1[5:10] = a1[5:10].copy(), a1[:5].copy()"],
    "swapped views": ["a1 = np.arange(40)", "a1[:5], a1[5:10] = a1[5:10], a1[:5]"],
    "read-only stays": [
        "a1 = np.arange(40)",
        "a2 = a1[3:]",
        "a1.flags.writeable = False",
        "a1[0] = 1",
        "a2[0] = 1",
        "a3 = a1[5:]",
        "a3[0] = 1",
        "a1 += 1",
        "a1.fill(3)",
        "a4 = a1.copy()",
        "a4[0] = 1",
        "a1.setflags(write=True)",
        "a1[0] = 1",
        "a3[0] = 1",
    ],
    "a view of what is read-only": [
        "a1 = np.arange(40)",
        "a1.setflags(write=False)",
        "a2 = a1[3:]",
        "a2.flags.writeable = True",
    ],
    "newaxis and ellipsis": ["a1 = np.zeros((5, 8))", "a2 = a1[None, ..., 3, None]", "a2[:] = 4"],
    "an empty view": [
        "a1 = np.zeros((5, 8))",
        "a2 = a1[3:3]",
        "a2 += 1",
        "a3 = a2[::-1]",
        "a3[:] = 1",
    ],
    "an index out of range": [
        "a1 = np.zeros((5, 8))",
        "a1[5]",
        "a1[0, -9]",
        "a1[:, 8]",
        "a1[1, 2, 3]",
    ],
    "an index of a wrong type": ["a1 = np.zeros(40)", "a1[1.5]", "a1['x']", "a1[None:1.5]"],
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_views_equals_numpys(lines: list[str]) -> None:
    check(Program(lines))


@settings(max_examples=200)
@given(st.data(), filled_shapes)
def test_a_write_through_any_view_is_seen_in_the_base_and_its_other_views(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    ours = dnumpy.arange(int(np.prod(shape))).reshape(shape) * 1
    theirs = np.arange(int(np.prod(shape))).reshape(shape) * 1
    first, second = (data.draw(keys(shape)) for _ in range(2))
    other, other_expected = ours[second], theirs[second]
    ours[first] += 100
    theirs[first] += 100
    np.testing.assert_array_equal(np.asarray(ours), theirs)
    np.testing.assert_array_equal(np.asarray(other), other_expected)


def aliases(module: Any) -> list[Any]:
    x = module.arange(60).reshape(6, 10)
    y, z = x[::2], x[1::2]
    return [
        y.base is x.base,
        x.base is None,
        y.T.base is x.base,
        module.shares_memory(x, y),
        module.shares_memory(y, z),
        module.may_share_memory(y, z),
        (x + 1).base is None,
        x.copy().base is None,
        x.copy().flags.owndata,
        y.flags.owndata,
        x.T.flags.f_contiguous,
        y.flags.c_contiguous,
        y.strides,
        x.T.strides,
        x[::-1, ::-2].strides,
        (x.T + 1).strides,
        x[...] is x,
        x.view() is x,
        len(x.T),
    ]


def test_bases_strides_and_sharing_are_numpys() -> None:
    assert aliases(dnumpy) == aliases(np)


def test_a_view_of_something_large_reads_no_memory_out_of_range() -> None:
    x = dnumpy.zeros((3000, 4000), "i1") + 1
    assert x[2999, 3999] == 1
    assert x[-1, -1] == 1
    x[2999, 3999] = 7
    x[2998] = x[2999]
    assert concrete(x)[2998, 3999] == 7
    assert x[2999:, 3999:].max() == 7


def test_a_pending_large_array_is_indexed_by_element() -> None:
    x = dnumpy.zeros((3000, 4000), "i1")
    x += 1
    y = x[::-1] * 2
    assert y[2999, 3999] == 2
    assert y[0][0] == 2


def test_classes_are_printed_as_numpys() -> None:
    array, sine = dnumpy.arange(3), dnumpy.sin
    assert str(type(array)) == str(np.ndarray) == repr(dnumpy.ndarray)
    assert str(type(sine)) == str(np.ufunc) == repr(dnumpy.ufunc)
