"""NumPy is loaded so that the threads of its BLAS rest soon, and nothing else is changed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dnumpy.blas import LOG2_CYCLES, NAME

_SPY = """
import importlib.abc, os, subprocess, sys

class Spy(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            print(os.environ.get(NAME))

NAME = {name!r}
sys.meta_path.insert(0, Spy())
{before}
import dnumpy
print(os.environ.get(NAME))
"""


@pytest.mark.parametrize(
    ("given", "before", "expected"),
    [
        (None, "", [str(LOG2_CYCLES), "None"]),
        ("26", "", ["26", "26"]),
        (None, "import numpy", ["None", "None"]),
    ],
    ids=["unset", "set by the user", "NumPy was there"],
)
def test_blas_is_told_when_it_is_loaded(
    given: str | None, before: str, expected: list[str]
) -> None:
    known = {k: v for k, v in os.environ.items() if k != NAME}
    if given is not None:
        known[NAME] = given
    done = subprocess.run(
        [sys.executable, "-c", _SPY.format(name=NAME, before=before)],
        env=known,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == expected
