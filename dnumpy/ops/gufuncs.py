"""Generalised ufuncs: every loop element apart from the others, so that their rows distribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Rowwise, named, read_by_rows, row

if TYPE_CHECKING:
    from collections.abc import Sequence

# where NumPy keeps those that have no public name
_HOMES = ("numpy", "numpy.linalg._umath_linalg", "numpy.fft._pocketfft_umath")


class GufuncParams(NamedTuple):
    """A call of a gufunc, named by its path where it is NumPy's own.

    ``single`` says that there is no loop: the one result is row 0. ``outputs`` names the fields of
    the result's rows where there are several. ``errors`` is the error state of the call; what is
    to be raised or to call back is raised as FloatingPointError.
    """

    by_rows: tuple[bool, ...]
    target: Any
    kwargs: tuple[tuple[str, Any], ...]
    single: bool
    outputs: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]


def path_of(gufunc: np.ufunc) -> Any:
    """Return the path by which another process finds the gufunc, else the gufunc itself."""
    for home in _HOMES:
        path = f"{home}.{gufunc.__name__}"
        try:
            if named(path) is gufunc:
                return path
        except AttributeError:
            continue
    return gufunc


def qr_r_raw(a: np.ndarray, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what LAPACK leaves in place of the operand, which here is not touched, and tau."""
    left = a.copy()
    return left, named("numpy.linalg._umath_linalg.qr_r_raw")(left, **kwargs)


# what overwrites its first operand, and the function that gives the overwritten one as a result
OVERWRITING = {"numpy.linalg._umath_linalg.qr_r_raw": "dnumpy.ops.gufuncs.qr_r_raw"}


def _call(pieces: Sequence[Any], params: GufuncParams, _lo: int, _hi: int, out: Any) -> None:
    target = params.target
    gufunc = named(target) if isinstance(target, str) else target
    place = out[0] if params.single and not params.outputs else out
    states: dict[str, Any] = dict(params.errors)
    with np.errstate(**states):
        if not params.outputs:
            into = place if isinstance(place, np.ndarray) else out[0:1].reshape(())
            gufunc(*pieces, out=into, **dict(params.kwargs))
            return
        results = gufunc(*pieces, **dict(params.kwargs))
    for name, result in zip(params.outputs, results, strict=True):
        out[name] = result


GUFUNC = row(Rowwise("gufunc", read_by_rows, _call, loop="lapack"))
