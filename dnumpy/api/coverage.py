"""What stands for each public NumPy name, as a table made from the code itself."""

from __future__ import annotations

import importlib

import numpy as np

from dnumpy.api.namespace import classify, public_names

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial",
    "numpy.char", "numpy.strings", "numpy.rec", "numpy.emath", "numpy.lib",
    "numpy.lib.stride_tricks",
    "numpy.lib.format", "numpy.lib.mixins", "numpy.lib.scimath", "numpy.lib.npyio",
    "numpy.lib.introspect", "numpy.lib.array_utils", "numpy.lib.recfunctions", "numpy.exceptions",
    "numpy.dtypes", "numpy.testing", "numpy.typing", "numpy.ctypeslib", "numpy.matlib",
)  # fmt: skip


def coverage_table() -> list[tuple[str, str, str, str]]:
    """Return (name, module, class, reason) for every public name of every public module."""
    rows = []
    # `numpy.emath` is an attribute alone: no module can be imported by that name.
    # All are imported before any is listed: importing a module adds its name to its parent.
    modules = [np.emath if p == "numpy.emath" else importlib.import_module(p) for p in MODULES]
    for path, module in zip(MODULES, modules, strict=True):
        for name in public_names(module):
            kind, reason = classify(name, getattr(module, name), path)
            rows.append((name, path, kind, reason))
    return rows
