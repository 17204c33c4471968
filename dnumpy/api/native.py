"""Which function of ours stands for which NumPy function when an operand is managed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import (
    abridged,
    applied,
    blocks,
    branched,
    callables,
    composites,
    contractions,
    counting,
    creation,
    einstein,
    fft,
    grids,
    gufuncs,
    linalg,
    pairwise,
    picks,
    places,
    printing,
    quantiles,
    reductions,
    replays,
    row_blocks,
    scans,
    sets,
    sorting,
    stand_ins,
    ufuncs,
)
from dnumpy.api.transplant import transplanted
from dnumpy.kernels import counts as counting_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

PRIMITIVE: dict[str, Callable[..., Any]] = {
    "sum": reductions.sum_,
    "prod": reductions.prod,
    "max": reductions.amax,
    "min": reductions.amin,
    "amax": reductions.amax,
    "amin": reductions.amin,
    "any": reductions.any_,
    "all": reductions.all_,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "where": composites.where,
    "astype": composites.astype_function,
    "copy": composites.copy,
    "transpose": composites.transpose,
    "permute_dims": composites.transpose,
    "swapaxes": composites.swapaxes,
    "moveaxis": composites.moveaxis,
    "rollaxis": composites.rollaxis,
    "squeeze": composites.squeeze,
    "expand_dims": composites.expand_dims,
    "flip": composites.flip,
    "diagonal": composites.diagonal,
    "broadcast_to": composites.broadcast_to,
    "reshape": composites.reshape,
    "ravel": composites.ravel,
    "real": composites.real,
    "imag": composites.imag,
    "matmul": contractions.matmul,
    "dot": contractions.dot,
    "tensordot": contractions.tensordot,
    "einsum": contractions.einsum,
    **counting.NATIVE,
    **picks.NATIVE,
    **applied.NATIVE,
    **scans.NATIVE,
    **quantiles.NATIVE,
    **sets.NATIVE,
    **sorting.NATIVE,
}

COMPOSITE: dict[str, Callable[..., Any]] = {
    **branched.NATIVE,
    "mean": reductions.mean,
    "var": reductions.var,
    "std": reductions.std,
    "ptp": reductions.ptp,
    "count_nonzero": reductions.count_nonzero,
    "clip": composites.clip,
    "rot90": composites.rot90,
    "concatenate": composites.concatenate,
    "concat": composites.concatenate,
    "pad": composites.pad,
    "stack": composites.stack,
    "vstack": composites.vstack,
    "hstack": composites.hstack,
    "column_stack": composites.column_stack,
    "ascontiguousarray": creation.ascontiguousarray,
    "asfortranarray": creation.asfortranarray,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    **row_blocks.NATIVE,
    "roll": composites.roll,
    "diff": composites.diff,
    "outer": composites.outer,
    "round": composites.round_,
    "around": composites.round_,
    **abridged.NATIVE,
}

gufuncs.ALONE.update({**linalg.ALONE, **fft.ALONE})
contractions.contract_on_nodes_with(einstein.recorded)

# NumPy's own Python over our names (see transplant.py), whatever the operands
_NUMPYS_CODE = (
    "allclose", "angle", "append", "apply_over_axes", "argwhere", "array_equal", "array_equiv",
    "array_split", "asarray_chkfinite", "atleast_1d", "atleast_2d", "atleast_3d", "average",
    "block", "convolve", "corrcoef", "correlate", "cov", "cross", "cumulative_prod",
    "cumulative_sum", "delete", "diag", "diag_indices_from", "diagflat", "diff",
    "dsplit", "dstack", "ediff1d", "extract", "fill_diagonal", "fix", "flatnonzero", "fliplr",
    "flipud", "gradient", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "hsplit", "i0", "insert", "intersect1d", "isclose", "iscomplex", "isfortran", "isin",
    "isneginf", "isposinf", "isreal", "ix_", "kron", "matrix_transpose", "median", "meshgrid",
    "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
    "outer", "percentile", "place", "poly", "polyadd", "polyder", "polydiv", "polyfit",
    "polyint", "polymul", "polysub", "polyval", "put_along_axis", "quantile", "real_if_close",
    "require", "reshape", "resize", "roll", "roots", "row_stack", "setdiff1d",
    "setxor1d", "sinc", "sort_complex", "split", "take_along_axis", "tile", "trace", "trapezoid",
    "tril", "tril_indices_from", "trim_zeros", "triu", "triu_indices_from", "union1d", "unique",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "unwrap", "vander",
    "vsplit", "lib.scimath.arccos", "lib.scimath.arcsin", "lib.scimath.arctanh", "lib.scimath.log",
    "lib.scimath.log10", "lib.scimath.log2", "lib.scimath.logn", "lib.scimath.power",
    "lib.scimath.sqrt", "lib.stride_tricks.sliding_window_view", "linalg.cholesky", "linalg.cond",
    "linalg.cross", "linalg.det", "linalg.diagonal", "linalg.eig", "linalg.eigh", "linalg.eigvals",
    "linalg.eigvalsh", "linalg.inv", "linalg.lstsq", "linalg.matmul", "linalg.matrix_norm",
    "linalg.matrix_power", "linalg.matrix_rank", "linalg.matrix_transpose", "linalg.multi_dot",
    "linalg.norm", "linalg.outer", "linalg.pinv", "linalg.qr", "linalg.slogdet", "linalg.solve",
    "linalg.svd", "linalg.svdvals", "linalg.tensordot", "linalg.tensorinv", "linalg.tensorsolve",
    "linalg.trace", "linalg.vecdot", "linalg.vector_norm", "fft.fft", "fft.fft2", "fft.fftn",
    "fft.fftshift", "fft.hfft", "fft.ifft", "fft.ifft2", "fft.ifftn", "fft.ifftshift", "fft.ihfft",
    "fft.irfft", "fft.irfft2", "fft.irfftn", "fft.rfft", "fft.rfft2", "fft.rfftn",
)  # fmt: skip

# the same, where the operands lie on nodes; at home NumPy's own loops over small pieces are faster
_NUMPYS_CODE_ON_NODES = (
    "apply_along_axis", "pad",
)  # fmt: skip


def _of_numpy(path: str) -> Callable[..., Any]:
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part)
    return transplanted(found)


def _is_numpys(path: str) -> bool:
    """Say whether this NumPy has a name: some versions have dropped some."""
    module, _, name = path.rpartition(".")
    found: Any = np
    for part in filter(None, module.split(".")):
        found = getattr(found, part)
    return hasattr(found, name)


def _on_nodes(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if not blocks.spread(*args, *kwargs.values()):
            return NotImplemented
        return function(*args, **kwargs)

    return run


_put_along_one = _of_numpy("put_along_axis")


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """Put along an axis; NumPy's code counts on ``np.array(arr.flat)`` to be a view of ``arr``."""
    if axis is None and getattr(indices, "ndim", 0) == 1 and indices.dtype.kind in "iu":
        arr.flat[indices] = values
    else:
        _put_along_one(arr, indices, values, axis)


TRANSPLANTED: dict[str, Callable[..., Any]] = {
    **{path: _of_numpy(path) for path in _NUMPYS_CODE if _is_numpys(path)},
    "put_along_axis": _put_along_axis,
    "digitize": transplanted(np.digitize, _monotonicity=sorting.monotonicity),
    "broadcast_arrays": transplanted(
        np.broadcast_arrays, _broadcast_to=composites.broadcast_writeable
    ),
    **{path: _on_nodes(_of_numpy(path)) for path in _NUMPYS_CODE_ON_NODES},
}


def _first_of(*functions: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks each in turn, until one does not say NotImplemented."""

    def run(*args: Any, **kwargs: Any) -> Any:
        for function in functions:
            found = function(*args, **kwargs)
            if found is not NotImplemented:
                break
        return found

    return run


OURS: dict[str, Callable[..., Any]] = {
    **PRIMITIVE,
    **COMPOSITE,
    **linalg.NATIVE,
    "linalg.norm": _first_of(linalg.NATIVE["linalg.norm"], abridged.norm),
}
NATIVE: dict[str, Callable[..., Any]] = {
    **TRANSPLANTED,
    **stand_ins.NATIVE,
    **printing.NATIVE,
    **picks.SUBMODULES,
    **OURS,
}
for _name in TRANSPLANTED.keys() & OURS.keys():
    NATIVE[_name] = _first_of(NATIVE[_name], TRANSPLANTED[_name])

replays.add(NATIVE[name] for name in replays.NAMES)

for _name, _function in NATIVE.items():
    if "<locals>" in getattr(_function, "__qualname__", ""):
        _function.__qualname__ = _name  # by which Python tells of arguments that it does not take

# what runs on small arrays of NumPy's in place of NumPy's function
AT_ONCE: dict[str, Callable[..., Any]] = {
    "einsum": pairwise.einsum_of_small,
    **native.FASTER,
    "histogram": counting_kernels.histogram,
}
if "concatenate" in AT_ONCE:
    AT_ONCE["concat"] = AT_ONCE["concatenate"]  # its other name

# what stands for built-in functions, which are given their module first
BUILTIN: dict[str, Callable[..., Any]] = {
    "array": creation.array,
    "asarray": creation.asarray,
    "asanyarray": creation.asanyarray,
    "zeros": creation.zeros,
    "empty": creation.empty,
    "arange": creation.arange,
}

CREATION: dict[str, Callable[..., Any]] = {
    **fft.CREATION,
    **row_blocks.CREATION,
    **BUILTIN,
    "ones": creation.ones,
    "full": creation.full,
    "linspace": creation.linspace,
    "logspace": creation.logspace,
    "geomspace": creation.geomspace,
    **creation.WINDOWS,
    **grids.GRIDS,
    "load": creation.load,
    "from_dlpack": places.from_dlpack,
    "copyto": creation.copyto,
    "frompyfunc": ufuncs.frompyfunc,
    "bmat": callables.bmat,
}
