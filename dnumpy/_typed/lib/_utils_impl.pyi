# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from _typeshed import SupportsWrite
from typing import LiteralString
from typing_extensions import TypeVar

import dnumpy as np

__all__ = ["get_include", "info", "show_runtime"]

_ScalarOrArrayT = TypeVar("_ScalarOrArrayT", bound=np.generic | np.ndarray)
_DTypeT = TypeVar("_DTypeT", bound=np.dtype)

###

def get_include() -> LiteralString: ...
def show_runtime() -> None: ...
def info(
    object: object = None, maxwidth: int = 76, output: SupportsWrite[str] | None = None, toplevel: str = "numpy"
) -> None: ...
def drop_metadata(dtype: _DTypeT, /) -> _DTypeT: ...

# used internally by `lib._function_base_impl._median`
def _median_nancheck(data: np.ndarray, result: _ScalarOrArrayT, axis: int) -> _ScalarOrArrayT: ...
