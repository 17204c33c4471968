# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import dnumpy as np

__all__: list[str] = ["interface"]

_CDataVoidPointer: TypeAlias = Any

class interface(NamedTuple):
    state_address: int
    state: _CDataVoidPointer
    next_uint64: Callable[..., np.uint64]
    next_uint32: Callable[..., np.uint32]
    next_double: Callable[..., np.float64]
    bit_generator: _CDataVoidPointer
