# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import dnumpy as np

__all__: list[str] = ["interface"]

_CDataVoidPointer: TypeAlias = Any

from numpy.random._common import interface as interface
