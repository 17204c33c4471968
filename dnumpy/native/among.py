"""Which numbers are among some others, as ``numpy.isin`` says (``among.c``)."""

from __future__ import annotations

import numpy as np

from dnumpy import native

_KINDS = frozenset("biuf")
_FLOATS, _WHOLES, _UNSIGNED = map(np.dtype, (np.float64, np.int64, np.uint64))


def _common(values: np.dtype, members: np.dtype) -> np.dtype | None:
    """Return the dtype in which both are told apart as NumPy does; None where that is NumPy's."""
    kinds = values.kind + members.kind
    if not _KINDS.issuperset(kinds) or not (values.isnative and members.isnative):
        return None
    if "f" in kinds:
        narrow = any(x.kind == "f" and x.itemsize not in (4, 8) for x in (values, members))
        return None if narrow else _FLOATS
    if any(x.kind == "u" and x.itemsize == 8 for x in (values, members)):
        return None if "i" in kinds else _UNSIGNED
    return _WHOLES


def among(
    values: np.ndarray,
    members: np.ndarray,
    *,
    invert: bool,
    out: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray | None:
    """Return which elements are among the members, or are not.

    Parameters
    ----------
    values, members : ndarray
        Numbers of any shape.
    invert : bool
        Whether to return which are not.
    out : ndarray, optional
        Booleans of the shape of ``values``, in C order, to fill.
    threads : int
        That share the elements.

    Returns
    -------
    ndarray or None
        Booleans of the shape of ``values``, in C order; None where it is NumPy's to say.
    """
    common = _common(values.dtype, members.dtype) if native.built else None
    if common is None or not members.size or (out is not None and not out.flags.carray):
        return None
    found = np.empty(values.shape, bool) if out is None else out
    if not values.size:
        return found
    told = np.ascontiguousarray(members, common).reshape(-1)
    if common is _FLOATS:
        told = told[told == told]  # what is no number is equal to none  # noqa: PLR0124
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        if not told.size:
            found.fill(invert)
            return found
    line = np.ascontiguousarray(values)
    made = native._module.are_members(line, told, found, invert, threads)  # noqa: SLF001 - the package's own
    return found if made else None
