"""dnumpy: ``import dnumpy as np``, and a NumPy program runs on all the hardware there is.

Every public NumPy name is here. What dnumpy adds: ``explain`` (what would run where, or what did),
``report``, ``at`` with ``CPU`` and ``GPU`` (where an array lies), ``config`` and the named errors
and warnings. See README.md for where it differs from NumPy.
"""

from __future__ import annotations

import gc as _gc
from typing import Any

_collects = _gc.isenabled()
_gc.disable()  # all that importing makes stays, and was looked at for 14 ms
try:
    from dnumpy import blas as _blas  # noqa: F401 - first: it loads NumPy

    # isort: split
    import numpy as _np  # noqa: ICN001 - np is what users call this module

    from dnumpy.api import addresses as _addresses
    from dnumpy.api import answers as _answers
    from dnumpy.api import collection as _collection
    from dnumpy.api import derive as _derive
    from dnumpy.api import methods as _methods
    from dnumpy.api import namespace as _namespace
    from dnumpy.api import neighbours as _neighbours
    from dnumpy.api import protocols as _protocols
    from dnumpy.api import receivers as _receivers
    from dnumpy.api.array import ndarray
    from dnumpy.api.explain import explain
    from dnumpy.api.introspect import from_dask, report, to_dask_array
    from dnumpy.api.places import CPU, GPU, at
    from dnumpy.config import config
    from dnumpy.errors import (
        ClusterWarning,
        DeviceMemoryWarning,
        DnumpyError,
        FallbackWarning,
        GatherTooLarge,
        PlanInfeasible,
        WorkerLost,
        WorkersDiffer,
    )
    from dnumpy.runtime import faults as _faults
    from dnumpy.runtime import memory as _memory

    _faults.pass_on_warnings()
    _memory.let_malloc_keep()
    _namespace.find_mirrors()
    _neighbours.watch()
    _receivers.install()
    _answers.install()
    globals().update(_namespace.build())
    EXTRA = (
        CPU,
        GPU,
        ClusterWarning,
        DnumpyError,
        DeviceMemoryWarning,
        at,
        FallbackWarning,
        GatherTooLarge,
        PlanInfeasible,
        WorkerLost,
        WorkersDiffer,
        _addresses,
        _collection,
        _derive,
        _methods,
        _protocols,
        config,
        explain,
        from_dask,
        ndarray,
        report,
        to_dask_array,
    )
    del EXTRA
    _memory.set_modules_apart()
finally:
    if _collects:
        _gc.enable()

__version__ = _np.__version__  # programs ask np.__version__ for NumPy's behaviour, which this is
__dnumpy_version__ = "0.1.0"
__array_api_version__ = _np.__array_api_version__
__array_namespace_info__ = _np.__array_namespace_info__
__all__ = list(_np.__all__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of NumPy
    """Resolve modules and lazily loaded names; raises NumPy's AttributeError for the rest."""
    if name in globals():  # asked of a copy of this function, for a name that is not looked up here
        return _np.__getattr__(name)
    made = _namespace.late(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    """Return NumPy's names and dnumpy's own."""
    return sorted({*dir(_np), *globals()})
