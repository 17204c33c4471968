"""Functions run where the data lie: no operand is brought to one place, and results are NumPy's."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dnumpy
from tests.api.native_calls import TABLE
from tests.gathering import on_nodes, spread_out


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_operands_stay_on_their_nodes(name: str) -> None:
    values, call = TABLE[name]
    with spread_out() as meter:
        operand = on_nodes(values)
        found = call(dnumpy, operand)
        assert meter.most() < values.nbytes / 2, f"{name} gathers {meter.gathered}"
        compare(found, call(np, values))


def compare(found: Any, expected: Any) -> None:
    """Raise unless both are equal to rounding, dtypes and shapes exactly."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_numpy_that_has_dropped_names_is_no_obstacle() -> None:
    program = """
import numpy
for name in ("row_stack", "in1d", "trapz", "fix"):
    numpy.__dict__.pop(name, None)
import dnumpy
print(hasattr(dnumpy, "row_stack"), dnumpy.vstack(([1], [2])).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "[[1],", "[2]]"]
