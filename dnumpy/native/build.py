"""Builds the module in C beside its sources: ``python -m dnumpy.native.build``.

Installing does the same through :mod:`dnumpy.native.hook`. It takes a C compiler, and setuptools,
which knows how each platform calls it. This file imports nothing of dnumpy, since it runs before
that is installed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "dnumpy.native._native"


class NotBuilt(Exception):
    """The module could not be built; the text says why."""


def sources() -> list[Path]:
    """Return the files in C."""
    return sorted(HERE.glob("*.c"))


def build() -> Path:
    """Build the module beside its sources and return where it is.

    Raises
    ------
    NotBuilt
        Without a compiler, Python's headers, NumPy or setuptools, or where the compiler fails.
    """
    try:
        import numpy as np
        from setuptools import Distribution, Extension
    except ImportError as error:
        msg = f"building {NAME} takes setuptools and numpy: {error}"
        raise NotBuilt(msg) from error
    files = [os.path.relpath(path) for path in sources()]  # setuptools refuses absolute ones
    extension = Extension(
        NAME, files, include_dirs=[np.get_include()], extra_compile_args=["-O2"], language="c"
    )
    distribution = Distribution({"name": "dnumpy", "ext_modules": [extension]})
    command = distribution.get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as scratch:
        command.build_temp = scratch
        command.build_lib = scratch
        command.ensure_finalized()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                command.run()
        except (Exception, SystemExit) as error:  # setuptools has a family of them, and exits
            msg = f"{NAME} was not built: {error}"
            raise NotBuilt(msg) from error
        made = Path(command.get_ext_fullpath(NAME))
        target = HERE / made.name
        beside = target.with_suffix(f".{os.getpid()}")
        beside.write_bytes(made.read_bytes())
        beside.chmod(0o755)
        beside.replace(target)  # at once: a process may have the old one mapped
    return target


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n")
    except NotBuilt as error:
        sys.exit(str(error))
