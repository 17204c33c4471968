"""Where machine code is kept on disk, and which phases have some there.

A kernel's file is named after its text, which takes as long to write as many phases take to run,
and so does importing what writes it. So the phase leaves a file of its own, empty, under a name
that is quick to find. It is a hint: the name leaves out extents and what comes with them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dnumpy.rewrite import phase as phases

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


def is_known(phase: Phase) -> bool:
    """Say whether a phase like this one had machine code on this disk."""
    return has(phases.likeness(phase))


def has(likeness: str) -> bool:
    """Say whether a phase of this likeness had machine code on this disk."""
    return bool(likeness) and _hint(likeness).exists()


def known() -> frozenset[str]:
    """Return the likenesses of all phases that had machine code on this disk."""
    try:
        return frozenset(path.name for path in (cache_root() / "phases").iterdir())
    except OSError:
        return frozenset()


def note(phase: Phase) -> None:
    """Let :func:`is_known` say so of the phase; a folder that cannot be written costs the hint."""
    path = _hint(phases.likeness(phase))
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        there = list(path.parent.iterdir())
        for old in there if len(there) >= MOST_HINTS else ():
            old.unlink(missing_ok=True)
        path.touch()


def _hint(likeness: str) -> Path:
    return cache_root() / "phases" / likeness
