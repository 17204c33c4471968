"""report, and the way to and from dask.array."""

from __future__ import annotations

from typing import Any

from dnumpy import engine
from dnumpy.api import dispatch
from dnumpy.api.array import ndarray, wrap
from dnumpy.runtime import dask_arrays


def report() -> dict[str, Any]:
    """Return what ran in this process.

    Returns
    -------
    dict
        ``phases`` (what, where, seconds, bytes, count), ``fallbacks`` (name, file, line, bytes,
        count), ``seconds`` in phases, and ``numpy_seconds_predicted``: what NumPy would have taken
        for the same by the measured profile of this machine (measured at the first call, in about
        2 s).
    """
    phases: dict[tuple[Any, ...], dict[str, Any]] = {}
    for r in engine.history:
        entry = phases.setdefault(
            (r.what, r.where),
            {
                "what": r.what,
                "where": r.where,
                "seconds": 0.0,
                "predicted_seconds": None,
                "bytes": 0,
                "count": 0,
            },
        )
        entry["seconds"] += r.seconds
        entry["bytes"] += r.nbytes
        entry["count"] += 1
        if r.predicted_seconds is not None:
            entry["predicted_seconds"] = (entry["predicted_seconds"] or 0.0) + r.predicted_seconds
    found = [
        {"name": name, "file": file, "line": line, "count": count, "bytes": size}
        for (name, file, line), (count, size) in dispatch.fallbacks.items()
    ]
    return {
        "phases": list(phases.values()),
        "fallbacks": found,
        "seconds": sum(r.seconds for r in engine.history),
        "numpy_seconds_predicted": _numpy_seconds(),
    }


def _numpy_seconds() -> float | None:
    """Return what NumPy would have taken for all that ran here, predicted; None if nothing ran."""
    from dnumpy.runtime.forecast import numpy_seconds

    if not engine.history:
        return None
    profile = engine.profile_here()
    return sum(numpy_seconds(record, profile) for record in engine.history)


def to_dask_array(x: Any, chunks: Any = "auto") -> Any:
    """Return a ``dask.array`` over the content of ``x``, which is computed first."""
    return dask_arrays.to_dask(x.__array__(), chunks)


def from_dask(x: Any) -> ndarray:
    """Return the content of a ``dask.array``, which is computed first, as an ndarray."""
    return wrap(dask_arrays.from_dask(x))
