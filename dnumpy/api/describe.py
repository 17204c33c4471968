"""Gives our classes, and what they hold, NumPy's documentation and signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import docs, ufuncs
from dnumpy.api.array import ndarray
from dnumpy.api.flat import flatiter
from dnumpy.api.methods import METHOD_PLAIN
from dnumpy.api.namespace import classify, describe_streams_with
from dnumpy.api.native import PRIMITIVE


def kind_of(name: str) -> str:
    """Return the class of a method of ndarray: that of the function of its name, if there is."""
    if name.startswith("_"):
        return "special"
    if name in METHOD_PLAIN:
        return "fallback"
    return "primitive" if name in PRIMITIVE else "composite"


def _describe_streams(ours: dict[str, Any]) -> None:
    """Give what stands for names of NumPy's random module NumPy's documentation."""
    generator = ours["Generator"]
    derived = frozenset(x for x in ours.values() if isinstance(x, type))

    def kind_of_draw(method: str) -> str:
        return classify(method, generator.normal, "numpy.random")[0]

    for kind in derived:
        theirs: Any = kind.__base__
        docs.describe_members(kind, theirs, kind_of_draw)
    docs.describe(ours["default_rng"], np.random.default_rng, "composite")
    type(generator).__signature__ = docs.signature_of_derived(derived)


def describe_classes() -> None:
    """Give the classes that stand for NumPy's, and what they hold, NumPy's documentation."""
    text: Any = docs.Documentation(
        str(np.ufunc.__doc__),
        lambda f: docs.documented(f._np.__doc__, classify(f.__name__, f._np)[0]),
    )
    ufuncs.ufunc.__doc__ = text
    docs.describe_members(ndarray, np.ndarray, kind_of)
    ndarray.__doc__ = np.ndarray.__doc__
    docs.describe_members(flatiter, np.flatiter, lambda _name: "")
    flatiter.__doc__ = np.flatiter.__doc__
    pairs = ((ufuncs.ufunc, np.ufunc), (flatiter, np.flatiter), (ndarray, np.ndarray))
    describe_streams_with(_describe_streams)
    for ours, numpys in pairs:
        setattr(type(ours), "__signature__", docs.signature_of(numpys))  # noqa: B010 - of a metaclass
