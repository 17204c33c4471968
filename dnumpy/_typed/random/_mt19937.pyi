# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from typing import TypedDict, type_check_only

from dnumpy import uint32
from dnumpy._typed._typing import _ArrayLikeInt_co
from dnumpy._typed.random.bit_generator import BitGenerator, SeedSequence
from dnumpy._typed._typing import NDArray

__all__ = ["MT19937"]

@type_check_only
class _MT19937Internal(TypedDict):
    key: NDArray[uint32]
    pos: int

@type_check_only
class _MT19937State(TypedDict):
    bit_generator: str
    state: _MT19937Internal

class MT19937(BitGenerator):
    def __init__(self, seed: _ArrayLikeInt_co | SeedSequence | None = ...) -> None: ...
    def _legacy_seeding(self, seed: _ArrayLikeInt_co) -> None: ...
    def jumped(self, jumps: int = 1) -> MT19937: ...
    @property  # type: ignore[override]
    def state(self) -> _MT19937State: ...
    @state.setter
    def state(self, value: _MT19937State) -> None: ...
