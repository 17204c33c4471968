"""Texts of the kernels that generated kernels call: sums, and copies of scattered elements.

They are compiled once, for all kernels.
"""

from __future__ import annotations

import numpy as np

from dnumpy.kernels.sums import BLOCK, QUARTER

PARTS_AT = 120  # of the state of a sum, in words: the sums of a block's four quarters
_SPLITS_AT = PARTS_AT + 4  # what is left of a block that is being cut up, and the sums so far
_SUMS_AT = _SPLITS_AT + 16
STATE_BYTES = 8 * (_SUMS_AT + 8)  # the running tree of one sum comes before all that


def helper_source(name: str, code: str) -> str:
    """Return the text of a kernel that generated kernels call."""
    unit = _unit(code)
    size = np.dtype(code).itemsize
    match name:
        case "sum":
            return _SUM.format(
                code=code,
                size=size,
                block=BLOCK,
                quarter=QUARTER,
                whole=join_quarters(code, "state", "        "),
                push=push(code, "state", "        "),
                part=store_quarter(code, "state", "k", f"p + (b + {QUARTER} * k) * {size}"),
                splits=_SPLITS_AT,
                sums=_SUMS_AT * unit,
            )
        case "finish":
            return _FINISH.format(code=code, unit=unit)
        case "gather":
            return _gather_source(size)
        case _:
            return _COPY


def push(code: str, state: str, indent: str) -> str:
    """Return the text that adds ``s_<code>``, the sum of a block, to the tree of a sum.

    Level k of the tree holds the sum of 2**k blocks; the count of blocks says which levels are in
    use.
    """
    text = f"""\
level = {_unit(code)}
c = load_i8({state}, 0, 0, 0)
store_i8({state}, 0, c + 1, 0, 0)
while c & 1:
    s_{code} = load_{code}({state}, level, 0, 0) + s_{code}
    c >>= 1
    level += 1
store_{code}({state}, level, s_{code}, 0, 0)"""
    return "\n".join(indent + line for line in text.split("\n"))


def store_quarter(code: str, state: str, number: str, address: str) -> str:
    """Return the text that sums a quarter of a block, in eight lanes."""
    at = f"{PARTS_AT * _unit(code)} + {number}"
    return f"store_{code}({state}, {at}, sum_lanes_{code}({address}, {QUARTER // 8}), 0, 0)"


def join_quarters(code: str, state: str, indent: str) -> str:
    """Return the text that adds the sums of a block's four quarters to the tree of a sum."""
    a, b, c, d = (f"load_{code}({state}, {PARTS_AT * _unit(code) + k}, 0, 0)" for k in range(4))
    return f"{indent}s_{code} = ({a} + {b}) + ({c} + {d})\n{push(code, state, indent)}"


def _unit(code: str) -> int:
    """Return the entries of a sum's state before the tree's first level."""
    return 8 // np.dtype(code).itemsize


# See dnumpy.kernels.sums for the order. A whole block is four quarters of 128 elements in eight
# lanes each; a shorter one is cut as NumPy cuts it, in halves of whole groups of eight: what is
# left to do lies on a stack, where 0 stands for the addition of the two latest sums.
_SUM = """\
def kernel(p, n, state):
    b = 0
    while b + {block} <= n:
        for k in range(4):
            {part}
{whole}
        b += {block}
    if b < n:
        at = p + b * {size}
        store_i8(state, {splits}, n - b, 0, 0)
        top = {splits} + 1
        made = {sums}
        while top > {splits}:
            top -= 1
            k = load_i8(state, top, 0, 0)
            if k == 0:
                made -= 1
                s = load_{code}(state, made - 1, 0, 0) + load_{code}(state, made, 0, 0)
                store_{code}(state, made - 1, s, 0, 0)
            elif k > {quarter}:
                half = (k >> 1) & -8
                store_i8(state, top, 0, 0, 0)
                store_i8(state, top + 1, k - half, 0, 0)
                store_i8(state, top + 2, half, 0, 0)
                top += 3
            else:
                s = {code}(-0.0)
                full = 0
                if k >= 8:
                    s = sum_lanes_{code}(at, k >> 3)
                    full = k & -8
                for e in range(k - full):
                    s = s + load_{code}(at, full + e, 0, 0)
                store_{code}(state, made, s, 0, 0)
                made += 1
                at += k * {size}
        s_{code} = load_{code}(state, {sums}, 0, 0)
{push}
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


def _gather_source(size: int) -> str:
    """Return the text that copies elements ``i0:i0 + n`` of a strided block to adjacent memory.

    The plan holds: target, i0, item size, axes, then extent and byte stride of each axis.
    """
    text = f"""\
def kernel(source, n, plan):
    target = load_i8(plan, 0, 0, 0)
    i = load_i8(plan, 1, 0, 0)
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
        to = target + done * {size}
"""
    if size == 16:
        text += """\
        for e in range(k):
            store_u8(to, 2 * e, load_u8(at + e * step, 0, 0, 2), 1, 2)
            store_u8(to, 2 * e + 1, load_u8(at + e * step, 1, 0, 2), 1, 2)
"""
    else:
        text += f"""\
        if step == {size}:
            for e in range(k):
                store_u{size}(to, e, load_u{size}(at, e, 0, 2), 1, 2)
        else:
            for e in range(k):
                store_u{size}(to, e, load_u{size}(at + e * step, 0, 0, 2), 1, 2)
"""
    return f"{text}        done += k\n"
