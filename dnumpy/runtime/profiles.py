"""Profiles kept between processes: one JSON file per machine, quota, threads and versions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time
from typing import TYPE_CHECKING

from dnumpy.cost.profile import DeviceProfile
from dnumpy.kernels import at_hand
from dnumpy.runtime import machine, measure
from dnumpy.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    import os

    from dnumpy.runtime.background import Idle

KEPT_SECONDS = 7 * 24 * 3600.0
DRIFT = 0.2  # a kept profile further off than this in the quick check is measured again


def default_cache_dir() -> Path:
    """Return the user's cache directory for this library."""
    from platformdirs import user_cache_path

    return user_cache_path("dnumpy")


def profile_path(threads: int, cache_dir: Path | None = None) -> Path:
    """Return where the profile of this process is kept."""
    key = "\n".join(machine.machine_key(threads))
    digest = blake2b(key.encode(), digest_size=12).hexdigest()
    return (cache_dir or default_cache_dir()) / "profiles" / f"{digest}.json"


def read_profile(path: Path) -> DeviceProfile | None:
    """Return the kept profile; None where there is none, it is too old, or it cannot be read.

    A file that is there but is no profile warns, as it should not happen.
    """
    try:
        profile = DeviceProfile.from_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:  # msgspec's errors are ValueErrors
        warnings.warn(
            f"the device profile {path} cannot be used ({problem}); measuring again",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    age = time() - profile.measured_at
    return profile if 0 <= age < KEPT_SECONDS else None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; a reader sees the old one or the new one, never a part of either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)


def write_profile(path: Path, profile: DeviceProfile) -> None:
    """Keep the profile; a folder that cannot be written to warns."""
    try:
        write_whole(path, profile.to_json())
    except OSError as problem:
        warnings.warn(
            f"the device profile could not be kept ({problem}); it will be measured again",
            RuntimeWarning,
            stacklevel=2,
        )


def still_true(profile: DeviceProfile) -> bool:
    """Say whether the machine still computes as fast as when the profile was measured."""
    calls = dict(dict(profile.ns_per_element)["tiled"])
    return 1 - DRIFT <= measure.exp_ns() / calls["exp"] <= 1 + DRIFT


def load_or_measure(
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    name: str = "local",
    threads: int = 1,
    worker_limit: float | None = None,
) -> DeviceProfile:
    """Return :func:`kept_or_new` with the speed and the memory of now, in 0.6 s or a second."""
    profile = kept_or_new(cache_dir, name=name, threads=threads, worker_limit=worker_limit)
    with one_blas_thread():  # finds the libraries, which a first product had to do otherwise
        return replace(profile, speed=measure.speed(threads))


def kept_or_new(
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    name: str = "local",
    threads: int = 1,
    worker_limit: float | None = None,
) -> DeviceProfile:
    """Return this machine's rates: the kept ones if they still hold, else new ones.

    Either takes at most 0.1 s of CPU time a thread. The speed is what the quota allows.

    Parameters
    ----------
    cache_dir : path, optional
        Instead of the user's cache directory.
    name : str
        What the profile is to be called.
    threads : int
        Tasks that this process runs at the same time.
    worker_limit : float, optional
        Bytes that a distributed worker was told to keep to.
    """
    path = profile_path(threads, Path(cache_dir) if cache_dir is not None else None)
    kept = read_profile(path)
    profile = kept if kept is not None and still_true(kept) else None
    if profile is None:
        profile = measure.measure(name, threads, worker_limit, now=time())
        write_profile(path, profile)
    return replace(
        profile,
        name=name,
        free_bytes=machine.free_bytes(worker_limit),
        idle_bytes=machine.resident_bytes(),
        speed=max(measure.LEAST_SPEED, measure.allowed_share(threads)),
    )


def kept_or_calibrated(
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    name: str = "local",
    threads: int = 1,
    worker_limit: float | None = None,
    idle: Idle | None = None,
) -> DeviceProfile:
    """Return what :func:`kept_or_new` does, with all else measured too, in at most 15 s.

    It is kept, so that later processes have it at once. With ``idle`` it is measured only while
    nothing else runs, however long that takes.
    """
    profile = kept_or_new(cache_dir, name=name, threads=threads, worker_limit=worker_limit)
    if not profile.calibrated:
        at_hand.import_lowerings()  # which tells how long it takes where nobody has done it
        from dnumpy.runtime.calibrate import calibrated  # imports them too

        free = partial(machine.free_bytes, worker_limit)
        profile = calibrated(profile, now=time(), idle=idle, free=free)
        path = profile_path(threads, Path(cache_dir) if cache_dir is not None else None)
        write_profile(path, profile)
    return profile
