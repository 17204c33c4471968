"""To and from ``dask.array``."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_dask(values: np.ndarray, chunks: Any) -> Any:
    """Return a ``dask.array`` over the rows of ``values``; its blocks are NumPy arrays."""
    import dask.array

    return dask.array.from_array(values, chunks=chunks, asarray=True)


def from_dask(array: Any) -> np.ndarray:
    """Return the computed content of a ``dask.array``."""
    return np.asarray(array.compute())
