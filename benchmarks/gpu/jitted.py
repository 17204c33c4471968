"""The programs under ``jax.jit``: as they are, but for those that write in place or use masks."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.gpu.programs import GpuProgram

IN_OTHER_WORDS = ("jacobi", "kmeans", "mandelbrot")  # functions of the JAX peer


def missing() -> str:
    """Return why JAX cannot use a GPU here, '' where it can.

    JAX takes device memory as it needs it from now on, and leaves the rest to its rivals.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ImportError:
        return "jax is not installed"
    try:
        jax.devices("gpu")
    except RuntimeError as error:
        return f"jax has no GPU here: {error}"
    return ""


def version(program: GpuProgram) -> Callable[..., Any]:
    """Return the program as one compiled function of the data."""
    import jax
    import jax.numpy as jnp

    from benchmarks.peers import jax as peer

    if program.name in IN_OTHER_WORDS:
        own: Callable[..., Any] = jax.jit(getattr(peer, program.name))
        return own
    whole = jax.jit(partial(program.run, jnp))
    return lambda *data: whole(data)


def arrays(data: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return CuPy's arrays as JAX's, in the same memory."""
    import jax.numpy as jnp

    return tuple(jnp.from_dlpack(array) for array in data)
