"""The peers: what runs the programs beside NumPy, each with the best way it is known to have.

NumPy and dnumpy run the programs as they are written. Any other peer is a module here with

- ``arrays(host)``: the data as the peer wants them, not counted in the time;
- ``PROGRAMS``: for each program that it can say, a function of these that returns what NumPy's
  version returns, as host arrays.

To add one, write the module and name it in ``WRITTEN``.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.programs import Host, Program

# `again` shows the noise; `lent` is dnumpy over arrays of NumPy's that the program keeps
UNMODIFIED = {"numpy": "numpy", "dnumpy": "dnumpy", "again": "numpy", "lent": "dnumpy"}
WRITTEN = ("numba", "jax", "dask", "numexpr")
NAMES = (*UNMODIFIED, *WRITTEN)


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that runs programs; ``exact`` where results must be as near as to NumPy's own."""

    name: str
    exact: bool
    arrays: Callable[[Host], tuple[Any, ...]]
    version: Callable[[Program], Callable[[Any], Any] | None]
    forget: Callable[[], object] = int  # give back memory that is kept for the next arrays


def installed(name: str) -> bool:
    """Say whether the library behind a peer can be imported."""
    return importlib.util.find_spec(UNMODIFIED.get(name, name)) is not None


def peer(name: str) -> Peer:
    """Return the peer of this name, importing it."""
    if name in UNMODIFIED:
        module = importlib.import_module(UNMODIFIED[name])
        return Peer(
            name,
            exact=True,
            arrays=partial(taken_in, module) if name == "lent" else partial(copied, module),
            version=lambda program: partial(program.run, module),
            forget=_trim if UNMODIFIED[name] == "dnumpy" else int,
        )
    written = importlib.import_module(f"benchmarks.peers.{name}")
    return Peer(
        name,
        exact=False,
        arrays=written.arrays,
        version=lambda program: spread(written.PROGRAMS.get(program.name)),
    )


def copied(module: Any, host: Host) -> tuple[Any, ...]:
    """Return arrays of the module's own."""
    return tuple(module.array(array) for array in host)


def taken_in(module: Any, host: Host) -> tuple[Any, ...]:
    """Return arrays of the module over memory that other code may write to at any time."""
    _kept.append(host)
    return tuple(module.asarray(array) for array in host)


_kept: list[Host] = []


def _trim() -> None:
    from dnumpy.runtime.memory import pool

    pool.trim()


def spread(function: Callable[..., Any] | None) -> Callable[[Any], Any] | None:
    """Return the function as one of the tuple of its arguments."""
    return None if function is None else lambda data: function(*data)
