"""Load NumPy so that the threads of its BLAS rest soon after a product.

OpenBLAS's threads look for more to do for 2**26 cycles, 30 ms, before they sleep, and take turns
with the threads that compute what comes after a product: the phases of a loop that multiplies at
its ends took a third longer on two cores (`benchmarks.everyday pagerank attention --scale 30`). It
reads how long only where it is loaded. NumPy's own products one after another are closer than
2**22 cycles, 1 to 2 ms, and took the same. Whoever has set that keeps it, NumPy that is there
already stays as it is, and so does the environment that other processes are given.
"""

from __future__ import annotations

import os
import sys

NAME = "OPENBLAS_THREAD_TIMEOUT"
LOG2_CYCLES = 22


def load_numpy() -> None:
    """Import NumPy if nobody has."""
    if "numpy" in sys.modules or NAME in os.environ:
        return
    os.environ[NAME] = str(LOG2_CYCLES)
    try:
        import numpy  # noqa: F401, ICN001 - for what its loading does
    finally:
        del os.environ[NAME]


load_numpy()
