"""The flags of arrays, and what NumPy refuses to do with them."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy
from dnumpy.api.flags import Flags
from tests.comparison import assert_as_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [
    *("C", "F", "O", "W", "A", "X", "B", "CA", "FA", "FNC", "FORC", "BEHAVED", "CARRAY", "FARRAY"),
    *("CONTIGUOUS", "FORTRAN", "OWNDATA", "WRITEABLE"),
]


def refused(call: Callable[[Any], Any], x: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what is compared
        call(x)
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: setattr(x.flags, "foo", 1),
        lambda x: setattr(x.flags, "c_contiguous", True),
        lambda x: setattr(x.flags, "num", 1),
        lambda x: setattr(x.flags, "owndata", True),
        lambda x: delattr(x.flags, "writeable"),
        lambda x: delattr(x.flags, "foo"),
        lambda x: x.flags.foo,
        lambda x: x.flags["foo"],
        lambda x: x.flags["c_contiguous"],
        lambda x: x.flags[3],
        lambda x: x.flags.__setitem__("foo", 1),
    ],
)
def test_what_numpy_refuses_of_flags_is_refused_in_its_words(call: Callable[[Any], Any]) -> None:
    x = dnumpy.ones((5, 8))
    assert type(x.flags) is Flags
    assert refused(call, x) == refused(call, numpy.ones((5, 8)))


@pytest.mark.usefixtures("managed")
def test_every_name_of_a_flag_gives_it() -> None:
    for change in (lambda x: x, lambda x: x.T, lambda x: x[:, 1:], lambda x: x[::2].T):
        ours, theirs = change(dnumpy.ones((5, 8))), change(numpy.ones((5, 8)))
        assert [ours.flags[name] for name in NAMES] == [theirs.flags[name] for name in NAMES]


@pytest.mark.usefixtures("managed")
def test_flags_name_what_numpys_name() -> None:
    found = dnumpy.ones((5, 8)).flags
    assert type(found) is Flags
    assert {n for n in dir(numpy.ones(3).flags) if not n.startswith("_")} <= set(dir(found))


def held(x: Any) -> Any:
    """Return what the flags and the base of an array say of who holds its memory."""
    return x.flags.owndata, x.flags.num, x.flags.writeable, type(x.base).__name__


def held_throughout(x: Any) -> list[Any]:
    """Return the same of an array, of views of it, and of it once it was written to."""
    found = [held(x), held(x[1:]), held(x[2:].base), held(x.reshape(2, -1)), held(x.copy())]
    try:
        x.resize(5)
    except ValueError as error:
        found.append(str(error))
    if x.flags.writeable:
        x += 1
        found.append(held(x))
        x.sort()
        found.append(held(x))
        x.setflags(write=False)
    return [*found, held(x), held(x + 1)]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("size", [10, 1000, 300_000])
def test_pickled_memory_is_held_as_by_numpy(size: int, protocol: int) -> None:
    assert_as_numpy(
        lambda xp: held_throughout(pickle.loads(pickle.dumps(xp.arange(size), protocol)))
    )
    assert_as_numpy(lambda xp: held_throughout(copy.deepcopy(xp.arange(size))))
    assert_as_numpy(lambda xp: held_throughout(copy.copy(xp.arange(size))))


@pytest.mark.parametrize("size", [10, 1000, 300_000])
def test_memory_pickled_apart_is_held_as_by_numpy(size: int) -> None:
    def program(xp: Any) -> Any:
        apart: list[pickle.PickleBuffer] = []
        text = pickle.dumps(xp.arange(size), 5, buffer_callback=apart.append)
        memory = [bytearray(x.raw()) for x in apart]
        return held_throughout(pickle.loads(text, buffers=memory)), len(memory)

    assert_as_numpy(program)


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("size", [16, 800_000])
def test_memory_that_is_no_arrays_is_held_as_by_numpy(size: int, kind: Any) -> None:
    assert_as_numpy(lambda xp: held_throughout(xp.frombuffer(kind(size), "<i4")))
    assert_as_numpy(lambda xp: held_throughout(xp.ndarray((size // 4,), "<i4", kind(size))))
    assert_as_numpy(lambda xp: held_throughout(xp.asarray(memoryview(kind(size)).cast("i"))))
