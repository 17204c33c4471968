"""The array API's compatibility layer: there our arrays are of NumPy's namespace, as NumPy's are.

Packages carry copies of it (``array_api_compat``), SciPy and scikit-learn among them. It finds the
namespace of an array by its class, and refuses arrays of two namespaces in one call: one of ours
beside one of NumPy's, which SciPy may have made itself, would be such.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dnumpy.api.array import ndarray
from dnumpy.api.handing import handing_over
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    IsSubclass = Callable[[type, str, str], bool]

HELPERS = "array_api_compat.common._helpers"  # the end of its name in each package's copy
_OURS = {ndarray: np.ndarray, DeferredScalar: np.float64}


def teach(helpers: ModuleType) -> None:
    """Let a copy of the layer take our arrays and pending scalars for NumPy's.

    Parameters
    ----------
    helpers : module
        The copy's ``common._helpers``.
    """
    known: Any = helpers
    if hasattr(known, "_issubclass_fast"):
        known._issubclass_fast = _by_numpys_class(known._issubclass_fast)
    elif hasattr(known, "is_numpy_array"):  # before its 1.12, where other functions call it
        known.is_numpy_array = handing_over(known.is_numpy_array)


def teach_all() -> None:
    """Let the copies that are imported already take them so."""
    for title, module in [*sys.modules.items()]:
        if title.endswith(HELPERS):
            teach(module)


def _by_numpys_class(is_subclass: IsSubclass) -> IsSubclass:
    @functools.lru_cache(100)
    @functools.wraps(is_subclass)
    def asked(cls: type, module: str, name: str) -> bool:
        for ours, numpys in _OURS.items():
            if issubclass(cls, ours):
                return is_subclass(numpys, module, name)
        return is_subclass(cls, module, name)

    return cast("IsSubclass", asked)
