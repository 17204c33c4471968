# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from typing import TypedDict, type_check_only

from dnumpy import uint64
from dnumpy._typed._typing import _ArrayLikeInt_co
from dnumpy._typed.random.bit_generator import BitGenerator, SeedSequence
from dnumpy._typed._typing import NDArray

__all__ = ["Philox"]

@type_check_only
class _PhiloxInternal(TypedDict):
    counter: NDArray[uint64]
    key: NDArray[uint64]

@type_check_only
class _PhiloxState(TypedDict):
    bit_generator: str
    state: _PhiloxInternal
    buffer: NDArray[uint64]
    buffer_pos: int
    has_uint32: int
    uinteger: int

class Philox(BitGenerator):
    def __init__(
        self,
        seed: _ArrayLikeInt_co | SeedSequence | None = ...,
        counter: _ArrayLikeInt_co | None = ...,
        key: _ArrayLikeInt_co | None = ...,
    ) -> None: ...
    @property  # type: ignore[override]
    def state(self) -> _PhiloxState: ...
    @state.setter
    def state(self, value: _PhiloxState) -> None: ...
    def jumped(self, jumps: int = 1) -> Philox: ...
    def advance(self, delta: int) -> Philox: ...
