# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from typing import TypedDict, type_check_only

from dnumpy import uint64
from dnumpy._typed._typing import NDArray, _ArrayLikeInt_co
from dnumpy._typed.random.bit_generator import BitGenerator, SeedSequence

__all__ = ["SFC64"]

@type_check_only
class _SFC64Internal(TypedDict):
    state: NDArray[uint64]

@type_check_only
class _SFC64State(TypedDict):
    bit_generator: str
    state: _SFC64Internal
    has_uint32: int
    uinteger: int

class SFC64(BitGenerator):
    def __init__(self, seed: _ArrayLikeInt_co | SeedSequence | None = ...) -> None: ...
    @property  # type: ignore[override]
    def state(self) -> _SFC64State: ...
    @state.setter
    def state(self, value: _SFC64State) -> None: ...
