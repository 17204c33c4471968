"""Named errors and warnings; each keeps the NumPy or Python type that a caller would catch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class DnumpyError(Exception):
    """Base of the errors that NumPy has no name for."""


class PlanInfeasible(DnumpyError, MemoryError):  # noqa: N818 - the name states the fact, as in the docs
    """No assignment of rows fits in the nodes' memory; the text says which phase, and the bytes.

    Attributes
    ----------
    options : tuple
        What would make it fit, the fastest first, each with ``kind`` and ``predicted_seconds``.
    """

    options: tuple[Any, ...] = ()
    short_bytes: float = 0.0  # that the placement which came nearest held too much
    final: bool = False  # whether it holds for whatever was asked for, and nothing need be tried
    later: Callable[[], PlanInfeasible] | None = None  # what finds the options, which takes a while

    def tell(self) -> None:
        """Take in the text and the options that were put off until somebody reads them."""
        if self.later is not None:
            full, self.later = self.later(), None
            self.args, self.options = full.args, full.options


class GatherTooLarge(DnumpyError, MemoryError):  # noqa: N818 - likewise
    """A fallback would bring more bytes home than ``config.memory_limit`` allows."""


class WorkerLost(DnumpyError, RuntimeError):  # noqa: N818 - likewise
    """Workers were lost and what they held cannot be computed again."""


class WorkersDiffer(DnumpyError, RuntimeError):  # noqa: N818 - likewise
    """No worker has the dnumpy, the NumPy and the Python of this process; the text says which."""


class ClusterWarning(UserWarning):
    """A cluster, or some of its workers, is not used; the text says why."""


class FallbackWarning(UserWarning):
    """A function without a distributed form gathered its operands and ran in NumPy."""


class DeviceMemoryWarning(RuntimeWarning):
    """A device's memory did not suffice: the host computed what was asked of it."""
