"""Texts of the kernels that generated kernels call: sums, and copies of scattered elements.

They are compiled once, for all kernels.
"""

from __future__ import annotations

import numpy as np

from dnumpy.kernels.sums import BLOCK

LOOP_AT = 120  # of the state of a sum, in words: NumPy's loop, its data, and a cell for its result
STATE_BYTES = 8 * (LOOP_AT + 3)  # the running tree of one sum, before that


def helper_source(name: str, code: str) -> str:
    """Return the text of a kernel that generated kernels call."""
    unit = 8 // np.dtype(code).itemsize  # entries before the tree's first level
    size = np.dtype(code).itemsize
    match name:
        case "sum":
            return _SUM.format(code=code, unit=unit, size=size, block=BLOCK, loop=LOOP_AT)
        case "finish":
            return _FINISH.format(code=code, unit=unit)
        case "gather":
            return _GATHER
        case _:
            return _COPY


# See dnumpy.kernels.sums for the order. Level k of the tree holds the sum of 2**k blocks; the
# count of blocks says which levels are in use.
_SUM = """\
def kernel(p, n, state):
    count = load_i8(state, 0, 0, 0)
    loop = load_i8(state, {loop}, 0, 0)
    data = load_i8(state, {loop} + 1, 0, 0)
    cell = state + 8 * ({loop} + 2)
    b = 0
    while b < n:
        k = n - b
        if k > {block}:
            k = {block}
        store_{code}(cell, 0, {code}(0.0), 0, 0)
        call_3(loop, data, k, cell, 0, p + b * {size}, {size}, cell, 0)
        s = load_{code}(cell, 0, 0, 0)
        level = {unit}
        c = count
        while c & 1:
            s = load_{code}(state, level, 0, 0) + s
            c >>= 1
            level += 1
        store_{code}(state, level, s, 0, 0)
        count += 1
        b += {block}
    store_i8(state, 0, count, 0, 0)
"""

_FINISH = """\
def kernel(state, out, unused):
    c = load_i8(state, 0, 0, 0)
    level = {unit}
    s = {code}(0.0)
    while c:
        if c & 1:
            s = load_{code}(state, level, 0, 0) + s
        c >>= 1
        level += 1
    store_{code}(out, 0, s, 0, 0)
"""

_COPY = """\
def kernel(target, source, n):
    for i in range(n):
        store_u1(target, i, load_u1(source, i, 0, 2), 1, 2)
"""


def _gather_source() -> str:
    """Return the text that copies elements ``i0:i0 + n`` of a strided block to adjacent memory.

    The plan holds: target, i0, item size, axes, then extent and byte stride of each axis.
    """
    text = """\
def kernel(source, n, plan):
    target = load_i8(plan, 0, 0, 0)
    i = load_i8(plan, 1, 0, 0)
    size = load_i8(plan, 2, 0, 0)
    axes = load_i8(plan, 3, 0, 0)
    inner = load_i8(plan, 2 + 2 * axes, 0, 0)
    step = load_i8(plan, 3 + 2 * axes, 0, 0)
    done = 0
    while done < n:
        j = (i + done) % inner
        rest = (i + done) // inner
        at = source + j * step
        axis = axes - 2
        while axis >= 0:
            extent = load_i8(plan, 4 + 2 * axis, 0, 0)
            if axis == 0:
                extent = rest + 1
            at += (rest % extent) * load_i8(plan, 5 + 2 * axis, 0, 0)
            rest = rest // extent
            axis -= 1
        k = inner - j
        if axes == 1 or k > n - done:
            k = n - done
        to = target + done * size
"""
    for size in (8, 4, 1, 2):
        code = f"u{size}"
        text += f"""\
        if size == {size}:
            if step == {size}:
                for e in range(k):
                    store_{code}(to, e, load_{code}(at, e, 0, 2), 1, 2)
            else:
                for e in range(k):
                    store_{code}(to, e, load_{code}(at + e * step, 0, 0, 2), 1, 2)
"""
    text += """\
        if size == 16:
            for e in range(k):
                store_u8(to, 2 * e, load_u8(at + e * step, 0, 0, 2), 1, 2)
                store_u8(to, 2 * e + 1, load_u8(at + e * step, 1, 0, 2), 1, 2)
        done += k
"""
    return text


_GATHER = _gather_source()
