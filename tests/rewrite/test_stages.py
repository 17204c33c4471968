"""What stages say of what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.config import config
from dnumpy.expr import race
from dnumpy.kernels.choose import kernel_for

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 2_000, 1_000
ROW = 8 * COLUMNS
PROGRAMS = {
    "apart": (lambda a, b: a[:, : COLUMNS // 2] + a[:, COLUMNS // 2 :] * 2, 0),
    "two arrays": (lambda a, b: a + b * 2, 0),
    "shifted": (lambda a, b: a[:-2] + a[1:-1] + a[2:], 2 * ROW),
    "both ways": (lambda a, b: a[:-1, 1:] + a[1:, :-1] * b[1:, 1:], ROW),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_shifted_slices_of_an_array_are_read_from_memory_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program: Callable[..., np.ndarray]
    program, again = PROGRAMS[name]
    monkeypatch.setattr(config, "mode", "default")
    a, b = (np.array(numpy.random.default_rng(n).random((ROWS, COLUMNS))) for n in (1, 2))
    for _ in range(2):  # ops that nobody has recorded before may run one by one
        engine.history.clear()
        with race.held():  # NumPy may be faster, but reads what it reads
            numpy.asarray(program(a, b))
    (record,) = engine.history
    assert record.phase is not None
    assert kernel_for(record.phase).again == pytest.approx(again, abs=0.01 * ROW)
