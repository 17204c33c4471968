"""explain, report, and the way to and from dask.array."""

from __future__ import annotations

from typing import Any

from dnumpy import engine
from dnumpy.api import dispatch
from dnumpy.api.array import ndarray, wrap


def report() -> dict[str, Any]:
    """Return what ran in this process: phases, fallbacks with their lines, and total seconds."""
    phases: dict[tuple[Any, ...], dict[str, Any]] = {}
    for r in engine.history:
        entry = phases.setdefault(
            (r.what, r.where),
            {"what": r.what, "where": r.where, "seconds": 0.0, "predicted_seconds": None, "bytes": 0, "count": 0},
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
    }


def explain(x: Any) -> Any:
    """Return what computing ``x`` would do."""
    return engine.explain([x._buf.expr] if type(x) is ndarray and x._np is None else [])


def to_dask_array(x: Any, chunks: Any = "auto") -> Any:
    """Return a ``dask.array`` over the content of ``x``."""
    import dask.array  # noqa: PLC0415 - only who asks for dask pays for it

    return dask.array.from_array(x.__array__(), chunks=chunks)


def from_dask(x: Any) -> ndarray:
    """Return the content of a ``dask.array`` as an ndarray."""
    return wrap(x.compute())
