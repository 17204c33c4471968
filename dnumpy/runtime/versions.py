"""Which workers can run this process's tasks: those with the same dnumpy, and NumPy's results.

Tasks name functions and values of dnumpy's own, which another version may not have. Another NumPy
may give other bits, so that a result would depend on who computes it.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from distributed import Client

PLACES = {"python": ("Python", 2), "numpy": ("NumPy", 2)}  # of a version that have to be equal


def unfit_workers(client: Client, workers: Collection[str]) -> dict[str, str]:
    """Return why workers cannot run this process's tasks, by address, for those that cannot.

    Nobody else is asked, as ``client.get_versions`` would: one that has fallen silent may be there.
    """
    asks: Any = client.scheduler
    versions = {"op": "versions", "packages": []}
    told: Any = client.sync(asks.broadcast, msg=versions, workers=[*workers], on_error="ignore")
    mine = packages_here()
    found = {}
    for address in workers:
        theirs = told.get(address)
        reason = "" if theirs is None else difference(mine, theirs["packages"])
        if reason:
            found[address] = reason
    others = [address for address in workers if address not in found]
    if others:
        asked = _by_value(own_version)
        has: Any = client.run(asked, workers=others, on_error="ignore")
        here = own_version()
        for address, there in has.items():
            if there is None:
                found[address] = "dnumpy cannot be imported there"
            elif there != here:
                found[address] = f"dnumpy {there} there, {here} here"
    return found


def packages_here() -> dict[str, str | None]:
    """Return the versions of packages in this process, by name."""
    from distributed.versions import get_versions

    found: dict[str, str | None] = get_versions()["packages"]
    return found


def difference(mine: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> str:
    """Return in what versions differ so much that results could; empty where they do not."""
    for package, (called, places) in PLACES.items():
        here, there = (str(versions.get(package)) for versions in (mine, theirs))
        if here.split(".")[:places] != there.split(".")[:places]:
            return f"{called} {there} there, {here} here"
    return ""


def own_version() -> str | None:
    """Return the version of dnumpy in the process that asks; None where there is none."""
    from importlib import import_module  # here: the function is sent without its module

    try:
        module = import_module("dnumpy")
    except ImportError:
        return None
    return str(getattr(module, "__dnumpy_version__", "unknown"))


def _by_value(function: Callable[[], str | None]) -> FunctionType:
    """Return a copy that is sent with its code, for processes that may not have this module."""
    return FunctionType(function.__code__, {"__name__": "__main__"})
