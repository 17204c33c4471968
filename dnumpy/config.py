"""Settings: one object, read from the environment once, changed by assignment.

Every setting has a unit in its comment. ``DNUMPY_MODE`` picks one of three presets so that the same
test suite runs three times: ``default``, ``lazy`` (every numeric array goes through the engine) and
``split`` (lazy, and every array is cut unevenly over three in-process nodes).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MODES = ("default", "lazy", "split")
_CHOICES: dict[str, tuple[object, ...]] = {
    "accuracy": ("exact", "fast"),
    "random": ("numpy", "parallel"),
    "reproducible": (True, False),
    "calibrate": ("auto", "off"),
    "remember": (True, False),
    "objective": ("latency", "throughput"),
}


EAGER_BELOW = 262_144  # elements, from calibration


@dataclass(slots=True)
class Config:
    """The settings of this process.

    Attributes
    ----------
    mode : str
        ``default``, ``lazy`` or ``split``.
    eager_below : int
        Elements: arrays smaller than this run at once with NumPy.
    tile_bytes : int
        Bytes of one operand that one tile holds; a handful of tiles must fit in L2.
    tile_rows_max : int
        Rows per tile at most; small in the ``lazy`` and ``split`` modes so that tests cross tiles.
    window_exprs : int
        Pending expressions after which evaluation starts without being asked.
    memory_limit : int
        Bytes that a fallback may gather into this process; 0 means 80 % of physical memory.
    threads : int
        Threads of the embedded scheduler; 0 means one per usable core.
    kernels : str
        ``auto``, ``tiled`` or ``numba``: which lowerings may run.
    pool_bytes : int
        Bytes of dead buffers kept for reuse.
    split_rows : tuple of float
        Relative speeds of the in-process nodes in the ``split`` mode.
    cluster : str
        ``auto`` uses the current ``distributed.Client`` when there is one, ``off`` never does.
    random : str
        ``numpy``: a seed gives NumPy's values. ``parallel``: large draws of a Generator that NumPy
        can only make in order (normal, exponential, ...) come from streams of their own, one per
        granule of values: other values than NumPy's, the same on any number of threads and workers.
    accuracy : str
        ``exact``: elementwise functions give NumPy's bits. ``fast``: arrays that go through the
        engine use functions of our own where they are faster than NumPy's on this CPU, inlined in
        compiled loops, with errors of at most 2.75 units in the last place; see
        :mod:`dnumpy.kernels.fast` for the functions and for the error of each.
    reproducible : bool
        Matrix products (matmul, dot, vdot, inner, tensordot, einsum) of managed arrays give the
        same bits for any number and any speeds of the nodes, and at home: they are made of products
        of fixed blocks, added up in a fixed order. It costs time at home, since the library is
        called once for each block (on two busy cores 1.8 times for 1500 x 1500, 1.25 times for
        ``x.T @ x`` of 400000 x 20), and einsum and tensordot run whole on one node. The nodes must
        have the same library. All other
        results are so always.
    calibrate : str
        ``auto``: after the first use of a cluster, or the first prediction at home, the full
        measurement of the nodes runs once in the background while nothing else does. ``off``:
        only what is asked for is measured.
    remember : bool
        What runs teach about later ones is kept in the user's cache directory.
    objective : str
        What runs on a cluster are planned for. ``latency``: each is to end soon. ``throughput``:
        many are computed at the same time (from several threads or processes), and are to end
        often: the busiest worker or link has least to do.
    """

    mode: str = "default"
    eager_below: int = EAGER_BELOW
    tile_bytes: int = 393_216
    tile_rows_max: int = 1 << 62
    window_exprs: int = 2_000
    memory_limit: int = 0
    threads: int = 0
    kernels: str = "auto"
    pool_bytes: int = 2 << 30
    split_rows: tuple[float, ...] = field(default=(5.0, 3.0, 2.0))
    cluster: str = "auto"
    random: str = "numpy"
    accuracy: str = "exact"
    reproducible: bool = False
    calibrate: str = "auto"
    remember: bool = True
    objective: str = "latency"

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting; raises ValueError for what is not among its choices."""
        if name in _CHOICES and value not in _CHOICES[name]:
            msg = f"config.{name} = {value!r}: expected one of {_CHOICES[name]}"
            raise ValueError(msg)
        object.__setattr__(self, name, value)


def config_from(environ: Mapping[str, str]) -> Config:
    """Return the settings that the environment asks for; raises ValueError for an unknown mode."""
    mode = environ.get("DNUMPY_MODE", "default")
    if mode not in MODES:
        msg = f"DNUMPY_MODE={mode!r}: expected one of {', '.join(MODES)}"
        raise ValueError(msg)
    settings = Config(mode=mode)
    if mode != "default":
        settings.eager_below = 0
        settings.tile_rows_max = 5
    settings.eager_below = int(environ.get("DNUMPY_EAGER_BELOW", settings.eager_below))
    settings.threads = int(environ.get("DNUMPY_THREADS", settings.threads))
    settings.kernels = environ.get("DNUMPY_KERNELS", settings.kernels)
    settings.calibrate = environ.get("DNUMPY_CALIBRATE", settings.calibrate)
    settings.objective = environ.get("DNUMPY_OBJECTIVE", settings.objective)
    settings.remember = environ.get("DNUMPY_REMEMBER", "1") not in ("0", "off")
    settings.memory_limit = int(environ.get("DNUMPY_MEMORY_LIMIT", settings.memory_limit))
    return settings


config = config_from(os.environ)


def thread_count() -> int:
    """Threads of the embedded scheduler: ``config.threads`` or the cores this process may use."""
    return config.threads or len(os.sched_getaffinity(0))


def memory_limit_bytes() -> int:
    """Bytes that may be gathered into this process."""
    if config.memory_limit:
        return config.memory_limit
    return int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
