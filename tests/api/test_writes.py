"""Writes: in order, cast as NumPy casts, never seen by what was recorded before."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.array import concrete
from dnumpy.config import config
from tests.programs import Program, check

pytestmark = pytest.mark.usefixtures("managed")

PROGRAMS = {
    "a reader keeps what it read": ["a1 = np.zeros(40)", "a2 = a1 + 1", "a1 += 5", "a3 = a1 + 1"],
    "a deferred sum keeps what it read": ["a1 = np.ones(40)", "s2 = a1.sum()", "a1[:] = 0"],
    "an overlapping shift": ["a1 = np.arange(40)", "a1[1:] = a1[:-1]", "a1[:-1] = a1[1:]"],
    "a copy over itself with another step": [
        "a1 = np.arange(100)",
        "a1[20:30] = a1[10:50:3][:10]",
        "a1[:60:3] = a1[4:44:2]",
        "a2 = a1 + 1",
        "a1[80:50:-2] = a1[85:70:-1]",
        "a1.view('i4')[30:50] = a1[10:30]",
        "a1[:50] = a1[::2]",
    ],
    "a copy that is written to at once": [
        "a1 = np.arange(40.0)",
        "a2 = a1.copy()",
        "a2[3] = -1",
        "a3 = a1.reshape(8, 5).copy()",
        "a4 = a3 * 2 + a2[0]",
        "a3[:, 0] = a1[:8] + 1",
        "a3[1:] = a3[:-1]",
        "a5 = np.sqrt(a1)",
        "a6 = a5 + 1",
        "a5[..., 1:3] = a6[:2]",
        "a7 = a1[::2].astype('f4')",
        "a7[a7 > 4] = 0",
        "a1[:] = 9",
    ],
    "an overlapping reversal": ["a1 = np.arange(40)", "a1[:] = a1[::-1]", "a1 += a1[::-1]"],
    "an overlapping transposition": [
        "a1 = np.arange(36).reshape(6, 6)",
        "a1 += a1.T",
        "a1[:] = a1.T",
    ],
    "integers add floats": ["a1 = np.arange(40)", "a1 += 0.5", "a1 += np.ones(40)", "a1 += 1.0"],
    "assignment truncates": [
        "a1 = np.arange(40)",
        "a1[...] = 2.7",
        "a1[3:5] = np.array([1.9, -1.9])",
    ],
    "what Python integers do not fit": [
        "a1 = np.zeros(40, 'i1')",
        "a1[0] = 300",
        "a1 += 300",
        "a1[:] = -200",
    ],
    "NaN to an integer": [
        "a1 = np.arange(40)",
        "a1[0] = float('nan')",
        "a1[:] = np.nan",
        "a1.fill(np.nan)",
    ],
    "complex to a float": [
        "a1 = np.zeros(40)",
        "a1[0] = 1j",
        "a1[:] = np.ones(40) * 1j",
        "a1 += 1j",
    ],
    "text": ["a1 = np.zeros(40)", "a1[0] = '3.5'", "a1[1] = 'x'", "a1[:] = '2'"],
    "shapes that do not fit": [
        "a1 = np.zeros((5, 8))",
        "a1[0] = np.ones(7)",
        "a1[:, 0] = np.ones((5, 1))",
        "a1 += np.ones(5)",
        "a1[:] = np.ones((1, 1, 5, 8))",
        "a1[:] = np.ones((2, 5, 8))",
        "a1[0, 0] = np.ones(3)",
        "a1[0] = [1, 2]",
    ],
    "a mask": [
        "a1 = np.arange(40)",
        "a2 = a1 % 3 == 0",
        "a1[a2] = -1",
        "a1[~a2] += 5",
        "a2[:] = True",
    ],
    "a mask with as many values": [
        "a1 = np.arange(40)",
        "a1[a1 > 30] = np.arange(9)",
        "a1[a1 > 5] = [1, 2]",
    ],
    "a mask on a view": ["a1 = np.arange(40)", "a2 = a1[::2]", "a2[a2 > 10] = 0"],
    "a mask of some axes": [
        "a1 = np.zeros((5, 8))",
        "a2 = np.arange(5) > 2",
        "a1[a2] = 1",
        "a1[a2, 3] = 2",
    ],
    "indices that repeat": ["a1 = np.zeros(40)", "a1[[1, 1, 2]] = [5, 6, 7]", "a1[[3, 3]] += 1"],
    "np.add.at": [
        "a1 = np.zeros(40)",
        "np.add.at(a1, [1, 1, 2], 1)",
        "np.add.at(a1[::2], [0, 0], 5)",
    ],
    "index arrays": [
        "a1 = np.zeros((5, 8))",
        "a1[[0, 1], [2, 3]] = 5",
        "a1[:, [1, 1]] = 3",
        "a1[[9]] = 1",
    ],
    "out is returned": ["a1 = np.zeros(40)", "a2 = np.add(a1, 1, out=a1)", "a2 += 1"],
    "out of another dtype": [
        "a1 = np.arange(40)",
        "np.add(a1, 0.5, out=a1)",
        "np.add(a1, a1, out=a1, casting='unsafe')",
    ],
    "out that overlaps": ["a1 = np.arange(40)", "np.add(a1[1:], a1[:-1], out=a1[1:])"],
    "out of a wrong shape": [
        "a1 = np.zeros(40)",
        "np.add(a1, 1, out=np.zeros(30))",
        "a1.sum(axis=0, out=a1)",
    ],
    "where": ["a1 = np.arange(40)", "a2 = np.zeros(40)", "np.sqrt(a1, out=a2, where=a1 > 20)"],
    "divmod into two": [
        "a1 = np.arange(40)",
        "a2, a3 = np.zeros(40, int), np.zeros(40, int)",
        "np.divmod(a1, 7, out=(a2, a3))",
    ],
    "copyto": [
        "a1 = np.zeros(40)",
        "np.copyto(a1, np.arange(40))",
        "np.copyto(a1, 7, where=np.arange(40) > 20)",
    ],
    "methods that write": [
        "a1 = np.arange(40)[::-1].copy()",
        "a2 = a1[:20]",
        "a1.sort()",
        "a2.fill(3)",
        "a1.put([0, -1], 9)",
        "a1.partition(5)",
        "np.random.default_rng(0).shuffle(a1)",
        "np.fill_diagonal(a1.reshape(5, 8), 0)",
        "a1.byteswap(inplace=True)",
        "np.place(a1, a1 > 5, [1, 2])",
    ],
    "resize": [
        "a1 = np.arange(40) * 1",
        "a1.resize(10, refcheck=False)",
        "a1[0] = 5",
        "a2 = a1[:3]",
        "a1 += 1",
    ],
    "an element loop": ["a1 = np.zeros(40)", "for k in range(40): a1[k] = a1[k - 1] + k", "del k"],
    "boundary conditions": [
        "a1 = np.arange(63.0).reshape(7, 9)",
        (
            "for _ in range(5):\n  a1[0] = a1[-2]; a1[-1] = a1[1]; a1[:, 0] = 0\n"
            "  a1[1:-1, 1:-1] = (a1[:-2, 1:-1] + a1[2:, 1:-1]) / 2"
        ),
        "del _",
    ],
    "a host operand is read when recorded": [
        "h1 = numpy.arange(40)",
        "a2 = np.ones(40) + h1",
        "h1[:] = 0",
    ],
    "a host array is aliased": [
        "h1 = numpy.arange(40)",
        "a2 = np.asarray(h1)",
        "h1[0] = 9",
        "a2[1] = 8",
        "a3 = a2 + 1",
        "h1[2] = 7",
    ],
    "np.array copies a host array": [
        "h1 = numpy.arange(40)",
        "a2 = np.array(h1)",
        "h1[0] = 9",
        "a2[1] = 8",
    ],
    "an export is aliased": [
        "a1 = np.arange(40) * 2",
        "h2 = numpy.asarray(a1)",
        "h2[0] = 9",
        "a1[1] = 8",
        "a1 += 1",
        "a3 = a1 + 1",
        "h2 *= 2",
        "a1[2:5] = a1[:3]",
        "del h2",
        "a1 += 1",
    ],
    "an export of a view": [
        "a1 = np.arange(40) * 2",
        "h2 = numpy.asarray(a1[::-2])",
        "h2[0] = 9",
        "a1[1] = 8",
    ],
    "an in-place matrix product": [
        "a1 = np.eye(6) * 2",
        "a1 @= np.ones((6, 6))",
        "a1 @= np.ones((6, 2))",
    ],
    "augmented scalars": ["a1 = np.arange(40)", "s2 = a1.sum()", "s3 = s2", "s2 += 1", "a1 += s2"],
    "deleting an element": ["a1 = np.arange(40)", "del a1[0]"],
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_writes_equals_numpys(lines: list[str]) -> None:
    check(Program(lines))


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_sees_no_later_write(duplicate: Any) -> None:
    x = dnumpy.arange(40) * 2
    y = duplicate(x)
    x += 1
    np.testing.assert_array_equal(concrete(y), np.arange(40) * 2)
    y[:] = 0
    np.testing.assert_array_equal(concrete(x), np.arange(40) * 2 + 1)


def test_an_in_place_operation_gives_back_the_same_object() -> None:
    x = dnumpy.arange(40.0)
    y = x
    x += 1
    x[3:] *= 2
    assert x is y
    assert dnumpy.add(x, 1, out=x) is x


def test_threads_that_record_writes_lose_none() -> None:
    x = dnumpy.zeros((4, 500))

    def work(row: Any) -> None:
        for _ in range(200):
            row += 1

    threads = [threading.Thread(target=work, args=(x[k],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(concrete(x), np.full((4, 500), 200.0))


def test_memory_that_its_maker_let_go_of_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    theirs = np.arange(12.0)
    ours = dnumpy.asarray(theirs)
    assert ours._buf.shared
    theirs[3] = 50.0
    assert ours[3] == 50.0
    ours[4] = 60.0
    assert theirs[4] == 60.0
    kept = theirs[2:5]
    del theirs
    assert ours._buf.shared
    del kept
    assert not ours._buf.shared
    reader = ours + 1.0
    ours[5] = 70.0
    np.testing.assert_array_equal(np.asarray(reader)[2:7], [3.0, 51.0, 61.0, 6.0, 7.0])
    assert ours[5] == 70.0


def test_memory_of_another_library_is_never_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    content = bytearray(np.arange(6.0).tobytes())
    ours = dnumpy.asarray(np.frombuffer(content))
    assert ours._buf.shared
    ours[0] = 9.0
    assert np.frombuffer(content)[0] == 9.0


_ONTO_ITSELF: dict[str, Any] = {
    "add one": lambda _xp, _x, v: v.__iadd__(1),
    "double": lambda _xp, _x, v: v.__imul__(2),
    "add itself": lambda _xp, _x, v: v.__iadd__(v),
    "add a shifted array": lambda _xp, x, v: v.__iadd__(x[1:, None]),
    "add a row": lambda xp, _x, v: v.__iadd__(xp.arange(2)),
    "less the most": lambda _xp, _x, v: v.__isub__(v.max()),
    "into out": lambda xp, _x, v: xp.negative(v, out=v),
    "where": lambda xp, x, v: xp.add(v, 1, out=v, where=x[1:, None] > 3),
    "by mask": lambda _xp, _x, v: v.__setitem__(v > 5, v[v > 5] + 1),
    "back to front": lambda _xp, _x, v: v.__setitem__(..., v[::-1]),
    "other values": lambda xp, _x, v: v.__setitem__(..., xp.arange(v.size).reshape(v.shape)),
    "copyto": lambda xp, _x, v: xp.copyto(v, v[::-1]),
}


@pytest.mark.parametrize("before", [False, True], ids=["first", "after a column"])
@pytest.mark.parametrize("size", [40, 60_000])
@pytest.mark.parametrize("name", _ONTO_ITSELF)
def test_a_write_to_an_array_that_overlaps_itself_reads_what_was_there_before(
    name: str, size: int, before: bool
) -> None:
    def written(xp: Any) -> Any:
        x = xp.arange(size)
        seen = xp.lib.stride_tricks.as_strided(x, (size - 1, 2), (8, 8))
        if before:
            seen[:, 0] += 1
        _ONTO_ITSELF[name](xp, x, seen)
        return np.asarray(x).tolist()

    assert written(dnumpy) == written(np)
