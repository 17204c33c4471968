"""Where the user's program recorded an operation, and under which floating-point error state."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_DEFAULT_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class Origin(NamedTuple):
    """File and line of the first frame outside this package; ``ignored`` kinds raise no warning."""

    file: str
    line: int
    errors: tuple[tuple[str, str], ...]


_STANDARD = tuple(_DEFAULT_ERRORS.items())


def here() -> Origin:
    """Return the origin of the call that is being recorded."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to look at callers cheaply
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    errors = np.geterr()
    kept = _STANDARD if errors == _DEFAULT_ERRORS else tuple(errors.items())
    return Origin(frame.f_code.co_filename, frame.f_lineno, kept)
