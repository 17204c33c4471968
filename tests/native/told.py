"""What a call gives and tells of: what two libraries are compared by."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable


def told(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return type, content, faults and warnings of what a call gives, or its error."""
    faults: list[str] = []
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)),
        ):
            warnings.simplefilter("always")
            found = call()
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises
        return type(error), str(error)
    kind = None if isinstance(found, np.ndarray | dnumpy.ndarray) else type(found)
    given = np.asarray(found)
    content = given.tolist() if given.dtype.hasobject else given.tobytes()
    return kind, given.dtype, given.shape, content, faults, [str(w.message) for w in caught]
