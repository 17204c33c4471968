"""No function in C takes what it is called on for what it expects."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native
from dnumpy.api.array import bare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KINDS = {
    "array": np.ndarray,
    "handle": native.Handle,
    "ufunc": native.Callable,
    "expr": native.Node,
}
APART = {"__new__", "_np", "_base", "_buf", "_place", "_readonly", "_seen", "_geo"}  # its slots
MEMBERS = [(kind, name) for kind, cls in KINDS.items() for name in vars(cls) if name not in APART]
RECEIVERS: dict[str, Callable[[], Any]] = {
    "integer": lambda: 3,
    "text": lambda: "x",
    "class": lambda: type("Apart", (), {}),
    "subclass": lambda: numpy.arange(4).view(numpy.matrix),
    "masked": lambda: numpy.ma.array([1, 2]),
    "empty handle": bare,
    "handle": native.Handle,
    "ufunc": lambda: np.frompyfunc(abs, 1, 1),  # one of its own: what it tells is written to
    "array": lambda: np.arange(3),
    "pending array": lambda: np.zeros(300_000, bool) * 2,
}


def meet(member: Any, receiver: Any) -> None:
    """Call and bind a member; what is raised does not count."""
    steps: list[Callable[[], Any]] = [
        lambda: member(receiver),
        lambda: member(receiver, receiver),
        lambda: member(receiver, 1, 2),
        lambda: member.__get__(receiver)(*()),
        lambda: member.__get__(receiver, type(receiver)),
        lambda: member.__set__(receiver, 1),
        lambda: member.__delete__(receiver),
        member,
    ]
    for step in steps:
        with contextlib.suppress(Exception):
            step()


@pytest.mark.modeless("arrays of each state are among what is met")
@pytest.mark.skipif(not native.built, reason="the module in C was not built or is switched off")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("receiver", RECEIVERS)
def test_members_survive_what_they_are_called_on(
    receiver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    for kind, name in MEMBERS:
        meet(vars(KINDS[kind])[name], RECEIVERS[receiver]())
    x = np.arange(3)
    assert (x + 1).tolist() == [1, 2, 3]
    assert x.shape == (3,)


@pytest.mark.parametrize(
    "key", [[1, 2], (0, 1), [1.5], [True, False], [[1, 2], [3, 0]], [], [1j], [2**70], [-1], [99]]
)
@pytest.mark.parametrize("name", ["take", "repeat", "searchsorted", "compress", "dot"])
def test_lists_of_numbers_are_arguments_as_for_numpy(name: str, key: Any) -> None:
    for x in (numpy.arange(8.0), numpy.arange(40).reshape(5, 8), numpy.arange(8) % 2 == 0):
        outcomes = []
        for values in (x, np.array(x)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = numpy.asarray(getattr(values, name)(key))
                    outcomes.append((found.dtype, found.shape, found.tolist()))
                except (TypeError, ValueError, IndexError, OverflowError) as error:
                    outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]
