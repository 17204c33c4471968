"""Texts of the kernels that are loops over the fast functions, with NumPy's arguments.

They are compiled and kept on disk as all kernels are: in a fresh process they are loaded without
Numba. Elements of bounded functions are looked at in short runs before they are computed, since
they may be computed in place; the C library computes those beyond the bound.
"""

from __future__ import annotations

import numpy as np

_UNARY = """\
def kernel(args, dims, steps):
    n = load_i8(dims, 0, 0, 0)
    x = load_i8(args, 0, 0, 0)
    out = load_i8(args, 1, 0, 0)
    left = load_i8(steps, 0, 0, 0)
    to = load_i8(steps, 1, 0, 0)
    if left == {size} and to == {size}:
        for i in range(n):
            store_{code}(out, i, {name}(load_{code}(x, i, 0, 2)), 1, 2)
    else:
        for i in range(n):
            store_{code}(out + i * to, 0, {name}(load_{code}(x + i * left, 0, 0, 0)), 0, 0)
"""

_BINARY = """\
def kernel(args, dims, steps):
    n = load_i8(dims, 0, 0, 0)
    x = load_i8(args, 0, 0, 0)
    y = load_i8(args, 1, 0, 0)
    out = load_i8(args, 2, 0, 0)
    left = load_i8(steps, 0, 0, 0)
    right = load_i8(steps, 1, 0, 0)
    to = load_i8(steps, 2, 0, 0)
    if left == {size} and right == {size} and to == {size}:
        for i in range(n):
            value = {name}(load_{code}(x, i, 0, 3), load_{code}(y, i, 1, 3))
            store_{code}(out, i, value, 2, 3)
    else:
        for i in range(n):
            a = load_{code}(x + i * left, 0, 0, 0)
            value = {name}(a, load_{code}(y + i * right, 0, 0, 0))
            store_{code}(out + i * to, 0, value, 0, 0)
"""

_BOUNDED = """\
def kernel(args, dims, steps):
    n = load_i8(dims, 0, 0, 0)
    x = load_i8(args, 0, 0, 0)
    out = load_i8(args, 1, 0, 0)
    left = load_i8(steps, 0, 0, 0)
    to = load_i8(steps, 1, 0, 0)
    while n > 0:
        run = n
        if run > 256:
            run = 256
        far = 0
        if left == {size}:
            for i in range(run):
                far |= i4(fast_beyond_{code}(load_{code}(x, i, 0, 0)))
        else:
            for i in range(run):
                far |= i4(fast_beyond_{code}(load_{code}(x + i * left, 0, 0, 0)))
        if far:
            for i in range(run):
                value = {name}_anywhere(load_{code}(x + i * left, 0, 0, 0))
                store_{code}(out + i * to, 0, value, 0, 0)
        elif left == {size} and to == {size}:
            for i in range(run):
                store_{code}(out, i, {name}(load_{code}(x, i, 0, 2)), 1, 2)
        else:
            for i in range(run):
                store_{code}(out + i * to, 0, {name}(load_{code}(x + i * left, 0, 0, 0)), 0, 0)
        n -= run
        x += run * left
        out += run * to
"""


def loop_source(name: str, inputs: int, *, bounded: bool) -> str:
    """Return the text of the kernel that applies the function ``name`` to every element."""
    code = name.rpartition("_")[2]
    text = _BOUNDED if bounded else _UNARY if inputs == 1 else _BINARY
    return text.format(name=name, code=code, size=np.dtype(code).itemsize)
