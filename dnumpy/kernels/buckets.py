"""A kernel that tells values into buckets between splitters, as sample sort does.

Each value is found among the splitters in steps without branches, which a processor works on for
several values at a time. NaN is beyond all splitters, as NumPy sorts it.

Source: Sanders and Winkel, "Super Scalar Sample Sort", ESA 2004.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dnumpy.kernels.choose import LoneKernel

if TYPE_CHECKING:
    import numpy as np

LEVELS = 11
BUCKETS = 1 << LEVELS
COUNT, PLACES, VALUES = range(3)  # what the kernel is to do: count, store places, store values
FIELDS = 7  # addresses of values, splitters, counters, target; count, first place, what to do

_HEAD = """\
def kernel(given, _unused, _other):
    values = load_i8(given, 0, 0, 0)
    splitters = load_i8(given, 1, 0, 0)
    counters = load_i8(given, 2, 0, 0)
    target = load_i8(given, 3, 0, 0)
    count = load_i8(given, 4, 0, 0)
    first = load_i8(given, 5, 0, 0)
    what = load_i8(given, 6, 0, 0)
"""
_LOOP = """\
    if what == {what}:
        for i in range(count):
            x = load_{code}(values, i, 0, 4)
            k = 0
"""
_STEP = "            k += {half} - {half} * (x < load_{code}(splitters, k + {last}, 1, 4))\n"
_TOLD = """\
            at = load_i8(counters, k, 2, 4)
            store_i8(counters, k, at + 1, 2, 4)
"""
_STORE = {
    COUNT: "",
    PLACES: "            store_i8(target, at, first + i, 3, 4)\n",
    VALUES: "            store_{code}(target, at, x, 3, 4)\n",
}


def _text(code: str) -> str:
    text = _HEAD
    for what, store in _STORE.items():
        text += _LOOP.format(what=what, code=code)
        for level in reversed(range(LEVELS)):
            half = 1 << level
            text += _STEP.format(half=half, last=half - 1, code=code)
        text += _TOLD + store.format(code=code)
    return text


@cache
def of(dtype: np.dtype) -> LoneKernel:
    """Return the kernel for numbers of four or eight bytes."""
    return LoneKernel(_text(f"{dtype.kind}{dtype.itemsize}"))
