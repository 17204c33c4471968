from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dnumpy


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_arguments_that_only_numpy_knows_are_numpys_to_take_or_refuse(name: str) -> None:
    values = np.random.default_rng(0).random(300_000)
    ours = dnumpy.array(values)

    def outcome(function: Any) -> Any:
        try:
            return np.asarray(function(descending=True))
        except TypeError as error:  # NumPy before 2.5
            return str(error)

    for found, expected in (
        (
            outcome(partial(getattr(dnumpy, name), ours)),
            outcome(partial(getattr(np, name), values)),
        ),
        (outcome(getattr(ours, name)), outcome(getattr(values.copy(), name))),
    ):
        assert str(found) == str(expected)
