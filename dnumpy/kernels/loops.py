"""NumPy's own inner loops, by address.

A ufunc object carries, for each signature of types, the C function that does the work: ``void
loop(char **args, npy_intp *dims, npy_intp *steps, void *data)``. It needs no GIL, so that
compiled code can call it and get NumPy's bits at NumPy's speed. The object's layout is public
(``numpy/ufuncobject.h``); nothing is used of it before it has been compared with what the ufunc
says of itself, and no loop before it has given the ufunc's own answer on a sample.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.rewrite.phase import Phase

_SAMPLE = 37  # crosses the vector lengths of every CPU and leaves a tail


class InnerLoop(NamedTuple):
    """Addresses of a loop and of the data it is given; ``dtypes`` are operands, then the result."""

    function: int
    data: int
    dtypes: tuple[np.dtype, ...]


class _UFuncObject(ctypes.Structure):
    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


_LOOP = ctypes.PYFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


@lru_cache(maxsize=4096)
def resolved(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...] | None:
    """Return the types of the loop that NumPy would run, or None."""
    given = tuple(np.dtype(bool) if k is bool else k for k in kinds)
    try:
        found: tuple[np.dtype, ...] = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError:
        return None
    return found


def kinds_of(phase: Phase, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return what NEP 50 sees of each input: its dtype, or the type of a Python scalar."""
    kinds: list[Any] = []
    for given, value in zip(phase.inputs, values, strict=True):
        if given.access is not Access.CONST:
            kinds.append(given.dtype)
        elif type(value) in {bool, int, float, complex}:
            kinds.append(type(value))
        else:
            kinds.append(np.asarray(value).dtype)
    return tuple(kinds)


@lru_cache(maxsize=1024)
def inner_loop(ufunc: np.ufunc, dtypes: tuple[np.dtype, ...]) -> InnerLoop | None:
    """Return the loop of ``ufunc`` for exactly these types, None if none can be trusted."""
    if ufunc.nout != 1 or ufunc.signature is not None or len(dtypes) != ufunc.nargs:
        return None
    chars = "".join(d.char for d in dtypes)
    signature = f"{_canonical(chars[:-1])}->{_canonical(chars[-1])}"
    known = [_canonical(t) for t in ufunc.types]
    if signature not in known:
        return None
    layout = _layout(ufunc)
    if layout is None:
        return None
    at = known.index(signature)
    function, data = layout.functions[at], layout.data[at] if layout.data else 0
    found = InnerLoop(function or 0, data or 0, dtypes)
    return found if function and _answers_like(ufunc, found) else None


@lru_cache(maxsize=8)
def product_loop(dtype: np.dtype) -> InnerLoop | None:
    """Return the loop of ``matmul`` over arrays of ``dtype``, None if it cannot be trusted.

    Its extents are a number of products, and rows, inner extent and columns of each; its steps are
    those of the three operands from product to product, then two for each operand.
    """
    layout = _layout(np.matmul)
    signature = f"{dtype.char * 2}->{dtype.char}"
    if layout is None or dtype.char not in "fdFD" or signature not in np.matmul.types:
        return None
    at = np.matmul.types.index(signature)
    found = InnerLoop(
        layout.functions[at] or 0, (layout.data[at] or 0) if layout.data else 0, (dtype,) * 3
    )
    return found if found.function and _multiplies(found) else None


def _multiplies(loop: InnerLoop) -> bool:
    """Say whether the loop gives ``matmul``'s product of a sample, bit for bit."""
    dtype = loop.dtypes[0]
    left = (np.arange(35) % 11 / 8).astype(dtype).reshape(7, 5)
    right = (np.arange(15) % 7 / 8).astype(dtype).reshape(5, 3)
    out = np.zeros((7, 3), dtype)
    arrays = (left, right, out)
    args = (ctypes.c_void_p * 3)(*[address_of(a) for a in arrays])
    steps = (ctypes.c_ssize_t * 9)(0, 0, 0, *[s for a in arrays for s in a.strides])
    _LOOP(loop.function)(args, (ctypes.c_ssize_t * 4)(1, 7, 5, 3), steps, loop.data or None)
    return bool(out.tobytes() == np.matmul(left, right).tobytes())


def _canonical(chars: str) -> str:
    """Spell C ``long long`` like ``long`` where both are 64 bits: NumPy has one dtype per size."""
    if np.dtype("q").itemsize == np.dtype("l").itemsize:
        return chars.replace("q", "l").replace("Q", "L")
    return chars


def _layout(ufunc: np.ufunc) -> _UFuncObject | None:
    """Return the C object behind ``ufunc`` if every field that can be compared agrees."""
    seen = _UFuncObject.from_address(id(ufunc))
    if (seen.nin, seen.nout, seen.nargs) != (ufunc.nin, ufunc.nout, ufunc.nargs):
        return None
    if seen.ntypes != ufunc.ntypes or not seen.functions or not seen.types:
        return None
    if seen.name != ufunc.__name__.encode():
        return None
    numbers = seen.types[: ufunc.nargs * ufunc.ntypes]
    assert isinstance(numbers, bytes)
    for row, text in enumerate(ufunc.types):
        for k, char in enumerate(text.replace("->", "")):
            if numbers[row * ufunc.nargs + k] != np.dtype(char).num:
                return None
    return seen


def run_loop(loop: InnerLoop, addresses: list[int], count: int, steps: list[int]) -> None:
    """Run a loop over so many elements of each operand, then of the result."""
    args = (ctypes.c_void_p * len(addresses))(*addresses)
    extents, strides = (ctypes.c_ssize_t * 1)(count), (ctypes.c_ssize_t * len(steps))(*steps)
    _LOOP(loop.function)(args, extents, strides, loop.data or None)


def _answers_like(ufunc: np.ufunc, loop: InnerLoop) -> bool:
    """Say whether the loop gives what the ufunc gives on a sample, bit for bit."""
    *in_types, out_type = loop.dtypes
    operands = [
        ((np.arange(_SAMPLE) * (k + 1) % 7 + 1) / (8 if t.kind in "fc" else 1)).astype(t)
        for k, t in enumerate(in_types)
    ]
    out = np.zeros(_SAMPLE, out_type)
    arrays = [*operands, out]
    with np.errstate(all="ignore"):
        expected = ufunc(*operands, signature=tuple(loop.dtypes))
        run_loop(loop, [address_of(a) for a in arrays], _SAMPLE, [a.itemsize for a in arrays])
    return bool(out.tobytes() == expected.tobytes())
