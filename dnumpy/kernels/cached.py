"""Where machine code is kept on disk, and which phases have some there.

A kernel's file is named after its text, which takes as long to write as many phases take to run,
and so does importing what writes it. So the phase leaves a file of its own, empty, under a name
that is quick to find. It is a hint: the name leaves out extents and what comes with them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dnumpy.rewrite.phase import Phase

MOST_HINTS = 8192  # empty files


def cache_root() -> Path:
    """Return the folder of all that is kept; ``DNUMPY_CACHE_DIR`` names another place."""
    named = os.environ.get("DNUMPY_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs  # takes as long as a short program

    return Path(platformdirs.user_cache_dir("dnumpy"))


def cache_directory() -> Path:
    """Return where object files are kept."""
    return cache_root() / "kernels"


def name_of(phase: Phase) -> str:
    """Return a name that phases share which differ in extents alone, the same in every process."""
    inputs = [f"{given.access.value} {given.dtype} {len(given.shape)}" for given in phase.inputs]
    steps = [f"{step.op.name} {step.args} {step.dtype} {len(step.shape)}" for step in phase.steps]
    outputs = [f"{output.slot} {output.partial}" for output in phase.outputs]
    text = "\n".join((*inputs, *steps, *outputs))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def is_known(phase: Phase) -> bool:
    """Say whether a phase like this one had machine code on this disk."""
    return _hint(phase).exists()


def note(phase: Phase) -> None:
    """Let :func:`is_known` say so of the phase; a folder that cannot be written costs the hint."""
    path = _hint(phase)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        known = list(path.parent.iterdir())
        for old in known if len(known) >= MOST_HINTS else ():
            old.unlink(missing_ok=True)
        path.touch()


def _hint(phase: Phase) -> Path:
    return cache_root() / "phases" / name_of(phase)
