"""Arrays that follow from their indices equal NumPy's, made by rows where there are workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.api import creation, grids
from tests.comparison import assert_same

pytest.importorskip("distributed")  # ranges are made by workers once it is imported

RANGES = [
    *[(7,), (7.0,), (2.5,), (-3.0,), (2, 9), (2, 9.5), (2.0, 9), (-1.5, 4.25), (9, 2), (0, 0.0)],
    *[(0, 9, 2), (0, 9, 0.5), (0, 9.0, 2), (0.0, 9, 2), (9, 0, -2), (9.5, 0, -2), (1, 2, 0.3)],
    *[(2**40, 2**40 + 5), (-(2**62), -(2**62) + 4, 2), (1e17, 1e17 + 64, 16), (0, 1, 1e-1)],
]

CALLS: dict[str, Any] = {
    "eye": lambda xp: [xp.eye(5), xp.eye(4, 7, 2, dtype="i2"), xp.eye(6, k=-3, dtype=bool)],
    "identity": lambda xp: [xp.identity(5), xp.identity(3, dtype=complex)],
    "tri": lambda xp: [xp.tri(5), xp.tri(4, 6, -1, dtype="f4"), xp.tri(3, k=9)],
    "indices": lambda xp: [xp.indices((3, 4)), *xp.indices((2, 5), sparse=True)],
    "fromfunction": lambda xp: [xp.fromfunction(lambda i, j: i * 10 + j, (4, 6))],
    "triangles": lambda xp: [*xp.tril_indices(4, 1), *xp.triu_indices(5, -1, 3)],
    "mask": lambda xp: [*xp.mask_indices(4, xp.triu), *xp.diag_indices(4, 3)],
    "windows": lambda xp: [xp.hanning(9), xp.kaiser(8, 14.0), xp.bartlett(M=7)],
    "arange": lambda xp: [xp.arange(*args) for args in RANGES],
    "ranges": lambda xp: [xp.linspace(0, 9, 17), xp.logspace(0, 2, 11), xp.geomspace(1, 9, 5)],
}


@pytest.mark.parametrize("workers", [False, True])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("managed")
def test_what_follows_from_indices_equals_numpys(
    name: str, workers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (creation, grids):
        monkeypatch.setattr(module, "GENERATED_BYTES", 1)
    monkeypatch.setattr(engine, "has_workers", lambda: workers)
    assert_same(CALLS[name](dnumpy), CALLS[name](np))


@pytest.mark.parametrize(
    "call", [lambda xp: xp.eye(-1), lambda xp: xp.tri("a"), lambda xp: xp.eye(2.5)]
)
def test_what_is_no_shape_is_refused_in_numpys_words(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "has_workers", lambda: True)
    outcomes = []
    for xp in (dnumpy, np):
        try:
            outcomes.append(np.asarray(call(xp)).shape)
        except (TypeError, ValueError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]
