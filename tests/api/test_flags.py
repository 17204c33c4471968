"""The flags of arrays, and what NumPy refuses to do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy
from dnumpy.api.flags import Flags

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
