"""Dtypes that compare equal and are shown differently: no program sees those of another."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("managed")

KINDS = "?bhilqBHILQefdgFDG"
TAGGED = np.dtype("f8", metadata={"unit": "m"})
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda m, x: x,
    "add": lambda m, x: x + 1,
    "twice": lambda m, x: x + x,
    "square": lambda m, x: m.square(x),
    "into": lambda m, x: m.add(x, x, out=m.zeros(x.shape, x.dtype)),
    "named": lambda m, x: m.add(x, x, dtype=x.dtype),
    "slice": lambda m, x: x[::2],
    "turned": lambda m, x: x.T,
    "copy": lambda m, x: x.copy(),
    "like": lambda m, x: m.zeros_like(x),
    "where": lambda m, x: m.where(x > 1, x, x),
    "sort": lambda m, x: m.sort(x, axis=0),
    "sum": lambda m, x: x.sum(axis=0),
    "sum of its kind": lambda m, x: x.sum(axis=0, dtype=x.dtype),
    "largest": lambda m, x: x.max(axis=0),
    "scan": lambda m, x: m.cumsum(x, axis=0),
    "product": lambda m, x: x @ x.T,
    "sum of products": lambda m, x: m.einsum("ij,kj->ik", x, x),
    "joined": lambda m, x: m.concatenate([x, x]),
    "cast": lambda m, x: x.astype(x.dtype),
    "gather": lambda m, x: x[m.array([1, 0])],
    "clip": lambda m, x: m.clip(x, x, x),
    "rolled": lambda m, x: m.roll(x, 1, axis=0),
    "different": lambda m, x: m.unique(x),
    "view": lambda m, x: m.zeros(32, x.dtype.char).view(x.dtype),
    "full": lambda m, x: m.full((8, 4), 1, x.dtype),
}


def shown(module: Any, given: np.dtype) -> dict[str, Any]:
    """Return how the dtype of each result is shown, and its metadata."""
    x = module.asarray((np.arange(32).reshape(8, 4) % 7).astype(given))
    found = {}
    for name, operation in OPERATIONS.items():
        dtype = operation(module, x).dtype
        found[name] = repr(dtype), dtype.char, dict(dtype.metadata or {})
    return found


def spelled(char: str) -> np.dtype:
    """Return the dtype that names this machine's byte order, as those of files do."""
    return np.dtype(char).newbyteorder("<" if sys.byteorder == "little" else ">")


def ordinary() -> dict[str, dict[str, Any]]:
    return {char: shown(dnumpy, np.dtype(char)) for char in KINDS}


def spelled_first(mode: str, eager_below: int) -> None:
    """Meet such dtypes first, then print what the ordinary ones are shown as."""
    dnumpy.config.mode, dnumpy.config.eager_below = mode, eager_below
    for char in KINDS:
        shown(dnumpy, spelled(char))
        shown(dnumpy, np.dtype(char, metadata={"unit": "m"}))
    sys.stdout.write(json.dumps(ordinary()))


def test_ordinary_dtypes_are_shown_so_after_programs_that_spell_out_the_byte_order() -> None:
    code = (
        "from tests.api.test_equal_dtypes import spelled_first; "
        f"spelled_first({dnumpy.config.mode!r}, {dnumpy.config.eager_below})"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    expected = {char: shown(np, np.dtype(char)) for char in KINDS}
    assert json.loads(run.stdout) == json.loads(json.dumps(expected))


def test_dtypes_that_spell_out_the_byte_order_are_of_the_same_kind() -> None:
    for char in KINDS:
        ours, theirs = shown(dnumpy, spelled(char)), shown(np, spelled(char))
        for name, (_, kind, _) in theirs.items():
            assert ours[name][1] == kind, (char, name)


def test_metadata_of_a_dtype_goes_where_numpy_lets_it() -> None:
    assert shown(dnumpy, TAGGED) == shown(np, TAGGED)
