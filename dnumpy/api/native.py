"""Which function of ours stands for which NumPy function when an operand is managed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy.api import callables, composites, creation, reductions

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
    "matmul": composites.matmul,
    "dot": composites.dot,
    "tensordot": composites.tensordot,
    "einsum": composites.einsum,
}

COMPOSITE: dict[str, Callable[..., Any]] = {
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
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    "roll": composites.roll,
    "diff": composites.diff,
    "outer": composites.outer,
    "round": composites.round_,
    "around": composites.round_,
}

NATIVE: dict[str, Callable[..., Any]] = {**PRIMITIVE, **COMPOSITE}

CREATION: dict[str, Callable[..., Any]] = {
    "array": creation.array,
    "asarray": creation.asarray,
    "asanyarray": creation.asanyarray,
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full,
    "arange": creation.arange,
    "load": creation.load,
    "copyto": creation.copyto,
    "bmat": callables.bmat,
}
