"""Builds the module in C beside its sources, as ``python -m dnumpy.native`` asks.

Installing does the same through :mod:`dnumpy.native.hook`. It takes a C compiler, and setuptools,
which knows how each platform calls it. This file imports nothing of dnumpy, since it runs before
that is installed.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "dnumpy.native._native"


class NotBuilt(Exception):  # noqa: N818 - what came of it, and no mistake
    """The module could not be built; the text says why."""


def sources() -> list[Path]:
    """Return the files in C that are compiled."""
    return sorted(HERE.glob("*.c"))


def digest() -> str:
    """Return what tells a module built from other sources than these."""
    found = 0
    for path in (*sources(), *sorted(HERE.glob("*.h"))):
        found = zlib.crc32(path.read_bytes(), found)
    return f"{found:08x}"


# names that one file has for another are no other library's; it also makes their calls direct.
# a product is rounded before it is added, as NumPy's is, on processors that could do both at once
_FLAGS = ["-fvisibility=hidden", "-ffp-contract=off"] if os.name == "posix" else []


def build() -> Path:
    """Build the module beside its sources and return where it is.

    Raises
    ------
    NotBuilt
        Without a compiler, Python's headers, NumPy or setuptools, or where the compiler fails.
    """
    import contextlib  # here and below: dnumpy asks for the digest whenever it is imported
    import tempfile

    try:
        import numpy as np
        from setuptools import Distribution, Extension
    except ImportError as error:
        msg = f"building {NAME} takes setuptools and numpy: {error}"
        raise NotBuilt(msg) from error
    files = [os.path.relpath(path) for path in sources()]  # setuptools refuses absolute ones
    extension = Extension(
        NAME,
        files,
        include_dirs=[np.get_include()],
        define_macros=[("DNUMPY_SOURCES", digest())],
        extra_compile_args=["-O2", *_FLAGS],
        extra_link_args=["-pthread"] if os.name == "posix" else [],
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
