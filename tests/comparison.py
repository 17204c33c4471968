"""One program, run with NumPy and with dnumpy: the answers are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_as_numpy(program: Callable[[Any], Any]) -> None:
    """Run ``program(module)`` with both modules and compare what it returns, or raises."""
    assert_same(outcome(program, dnumpy), outcome(program, np))


def outcome(program: Callable[[Any], Any], module: Any) -> Any:
    """Return what a program returns, or the type and text of what it raises."""
    try:
        return program(module)
    except Exception as error:  # noqa: BLE001 - the error is the outcome
        return type(error), str(error)


def assert_same(got: Any, wanted: Any) -> None:
    """Compare values, dtypes and shapes; lists and tuples by their elements."""
    if type(wanted) in (list, tuple):
        assert type(got) is type(wanted)
        assert len(got) == len(wanted), f"{got!r} is not {wanted!r}"
        for mine, theirs in zip(got, wanted, strict=True):
            assert_same(mine, theirs)
    elif isinstance(wanted, np.ndarray | np.generic):
        mine = np.asarray(got)
        assert mine.dtype == wanted.dtype, f"{mine.dtype} is not {wanted.dtype}"
        np.testing.assert_array_equal(mine, wanted, strict=True)
    else:
        assert got == wanted, f"{got!r} is not {wanted!r}"


def grid(module: Any) -> Any:
    """Return a 3 x 4 array that a pending operation has made."""
    return module.arange(12.0).reshape(3, 4) * 1.0
