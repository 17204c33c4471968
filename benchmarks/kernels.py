"""Process replay: which generated kernels a change alters.

``python -m benchmarks.kernels --diff REV`` runs the benchmark programs and a fixed set of small
expressions with the dnumpy of this tree and with that of a revision, and shows a diff of the
phases, of where each step's result is kept, and of the sources generated. The status is 0 where
nothing differs, so that a refactoring can show that it changed no kernel, and 1 where something
does. Two revisions are compared with ``--diff REV REV``.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.recorder import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[1]
HERE = "this tree"

Kernels = dict[str, list[str]]


def recorded(tree: Path, names: Sequence[str]) -> Kernels:
    """Return the kernels that the dnumpy in ``tree`` makes, by name of program or expression.

    Raises
    ------
    RuntimeError
        The recorder did not finish; the text is what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.recorder", str(tree), *names],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode:
        msg = f"recording the kernels of {tree} failed:\n{done.stderr}"
        raise RuntimeError(msg)
    kernels: Kernels = json.loads(done.stdout.splitlines()[-1])
    return kernels


def recorded_at(revision: str, names: Sequence[str]) -> Kernels:
    """Return the kernels that the dnumpy of a revision makes; its files are taken out of git."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", revision, "dnumpy"],  # noqa: S607 - whichever git is used
        check=True,
        capture_output=True,
        cwd=ROOT,
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return recorded(Path(folder), names)


def differences(
    before: Mapping[str, list[str]], after: Mapping[str, list[str]], labels: tuple[str, str]
) -> Iterator[str]:
    """Yield the lines of a unified diff for each name whose kernels differ."""
    for name in {**before, **after}:
        old, new = ("\n\n".join(side.get(name, [])).splitlines() for side in (before, after))
        one, other = (f"{name} ({label})" for label in labels)
        yield from difflib.unified_diff(old, new, one, other, lineterm="")


def main(argv: Sequence[str]) -> int:
    """Print the diff; return 1 where there is one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--diff", nargs="+", metavar="REV", required=True, help="one or two")
    parser.add_argument("--programs", help=f"comma-separated, of {', '.join(NAMES)}")
    options = parser.parse_args(argv)
    names = options.programs.split(",") if options.programs else list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown or len(options.diff) > 2:
        parser.error(f"no program {', '.join(unknown)}" if unknown else "two revisions at most")
    try:
        before = recorded_at(options.diff[0], names)
        two = len(options.diff) == 2
        after = recorded_at(options.diff[1], names) if two else recorded(ROOT, names)
    except subprocess.CalledProcessError as error:
        parser.exit(2, error.stderr.decode())
    except RuntimeError as error:
        parser.exit(2, f"{error}\n")
    labels = (options.diff[0], options.diff[1] if two else HERE)
    lines = list(differences(before, after, labels))
    print("\n".join(lines) if lines else same(before, labels))  # noqa: T201 - what the command is for
    return int(bool(lines))


def same(kernels: Kernels, labels: tuple[str, str]) -> str:
    """Return the sentence that says that nothing differs."""
    count = sum(map(len, kernels.values()))
    programs = f"{len(kernels)} programs and expressions"
    return f"{labels[0]} and {labels[1]} make the same {count} kernels for {programs}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
