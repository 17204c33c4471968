"""``python -m dnumpy script.py [args]``: an unmodified script, with ``numpy`` swapped in it.

What holds: the script runs as ``__main__`` as under ``python script.py`` (``sys.argv``,
``__file__``, ``sys.path[0]``, tracebacks, exit status), except that ``import numpy`` in the script,
and in the modules that it imports from its own folder, binds another module. Nothing else is
touched: ``sys.modules["numpy"]`` stays NumPy, so pandas and SciPy work as they always do.

The swap is made in the syntax tree of those files alone. A statement keeps its place, so line
numbers and the markers under a failing expression are those of the file. What is imported by a
string (``importlib.import_module("numpy")``) or in a child process stays NumPy.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import sysconfig
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

SWAPPED = "numpy"
TARGET = "dnumpy"
INSTALLED_FOLDERS = frozenset({"site-packages", "dist-packages"})


class ImportSwap(ast.NodeTransformer):
    """Replaces NumPy by ``target`` in import statements; every other node stays as it is."""

    def __init__(self, target: str) -> None:
        self.target = target

    def visit_Import(self, node: ast.Import) -> ast.Import:
        """Return ``import`` with the swapped modules bound to the names that were asked for."""
        names = [new for old in node.names for new in self._swapped_aliases(old)]
        return ast.copy_location(ast.Import(names), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        """Return ``from ... import`` out of the swapped module; relative imports stay."""
        if node.level or node.module is None or not _is_numpy(node.module):
            return node
        return ast.copy_location(
            ast.ImportFrom(self._swapped_name(node.module), node.names, node.level), node
        )

    def _swapped_name(self, module: str) -> str:
        return self.target + module.removeprefix(SWAPPED)

    def _swapped_aliases(self, alias: ast.alias) -> Iterable[ast.alias]:
        if not _is_numpy(alias.name):
            yield alias
            return
        bound = alias.asname or SWAPPED
        yield ast.copy_location(ast.alias(self._swapped_name(alias.name), bound), alias)
        if alias.asname is None and alias.name != SWAPPED:
            # `import numpy.linalg` loads the submodule and binds the top: the second one wins.
            yield ast.copy_location(ast.alias(self.target, SWAPPED), alias)


def _is_numpy(module: str) -> bool:
    return module.partition(".")[0] == SWAPPED


def compile_swapped(source: bytes, filename: str, target: str = TARGET) -> CodeType:
    """Return the code of a module in which NumPy is replaced by ``target``.

    Parameters
    ----------
    source : bytes
        The file; decoded as Python does, by the declared encoding.
    filename : str
        The name that tracebacks show.
    target : str
        The module that takes the place of NumPy.

    Raises
    ------
    SyntaxError
        As `compile` raises it.
    """
    tree = ast.parse(source, filename)
    swapped = ImportSwap(target).visit(tree)
    return compile(swapped, filename, "exec", dont_inherit=True)


class SwappedLoader(SourceFileLoader):
    """Loads one source file with NumPy swapped; leaves no bytecode behind.

    A cached file would be found by the next plain ``python``, which must not see the swap.
    """

    def __init__(self, fullname: str, path: str, target: str) -> None:
        super().__init__(fullname, path)
        self.target = target

    def get_code(self, fullname: str) -> CodeType:
        """Return the swapped code, always from source."""
        path = self.get_filename(fullname)
        return compile_swapped(self.get_data(path), path, self.target)


class ScriptFolderFinder(MetaPathFinder):
    """Finds the modules that lie under the script's folder and are not installed packages."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder = folder
        self.target = target
        self.installed = [Path(path).resolve() for path in set(sysconfig.get_paths().values())]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec that Python's own path finder gives, with the swapping loader."""
        if fullname.partition(".")[0] in {SWAPPED, self.target}:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not self.owns(Path(spec.loader.path)):
            return None
        spec.loader = SwappedLoader(spec.loader.name, spec.loader.path, self.target)
        return spec

    def owns(self, file: Path) -> bool:
        """Return whether the file is the user's own: in the folder, and not installed there."""
        file = file.resolve()
        if not file.is_relative_to(self.folder):
            return False
        if INSTALLED_FOLDERS.intersection(file.relative_to(self.folder).parts):
            return False
        return not any(
            place.is_relative_to(self.folder) and file.is_relative_to(place)
            for place in self.installed
            if place != self.folder
        )


def run_script(script: str, args: Sequence[str], target: str = TARGET) -> None:
    """Run a script as ``__main__`` with NumPy swapped, as ``python script.py`` would run it.

    Parameters
    ----------
    script : str
        Path of the script.
    args : sequence of str
        What the script finds in ``sys.argv[1:]``.
    target : str
        The module that takes the place of NumPy.

    Raises
    ------
    BaseException
        What the script raised. Its traceback, without the frames of this module, has been handed to
        ``sys.excepthook`` before, which then is silent.
    """
    path = Path(script).absolute()
    folder = path.resolve().parent
    sys.argv = [script, *args]
    if not sys.flags.safe_path:
        sys.path[0] = str(folder)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), ScriptFolderFinder(folder, target))
    main_module = ModuleType("__main__")
    main_module.__dict__.update(
        __file__=str(path),
        __cached__=None,
        __loader__=SwappedLoader("__main__", str(path), target),
        __package__=None,
    )
    sys.modules["__main__"] = main_module
    try:
        exec(compile_swapped(path.read_bytes(), str(path), target), main_module.__dict__)  # noqa: S102 - this is what running a script is
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = _without_runner(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.excepthook = _already_shown
        raise


def _without_runner(traceback: TracebackType | None) -> TracebackType | None:
    ours = {__file__, ast.__file__}
    while traceback is not None and traceback.tb_frame.f_code.co_filename in ours:
        traceback = traceback.tb_next
    return traceback


def _already_shown(*_: object) -> None:
    """Leave it at the traceback that has been shown; Python still sets the exit status."""


def main(argv: Sequence[str]) -> None:
    """Do what the command line asks for; SystemExit with status 2 where it makes no sense."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.coverage:
        print_coverage()
    elif options.probe:
        print_probe(options.scheduler)
    elif options.script is None:
        parser.error("name a script to run, or one of --coverage and --probe")
    elif not Path(options.script).is_file():
        parser.error(f"can't open file {str(Path(options.script).absolute())!r}: not a file")
    else:
        try:
            run_script(options.script, options.args)
        finally:
            if options.report:
                print_report(importlib.import_module(TARGET).report())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dnumpy",
        description="Run an unmodified NumPy script on dnumpy; pandas and SciPy keep NumPy.",
    )
    parser.add_argument(
        "--report", action="store_true", help="afterwards, print what ran where and what fell back"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="print how each NumPy name is provided, and stop"
    )
    parser.add_argument(
        "--probe", action="store_true", help="measure the nodes, print the table, and stop"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="with --probe: the Dask scheduler (tcp://...)"
    )
    parser.add_argument("script", nargs="?", help="the script to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def print_report(report: Mapping[str, Any]) -> None:
    """Print what `dnumpy.report` returned, on standard error: the output stays the script's."""
    console = _console(stderr=True)
    phases = _table("What ran", ["phase", "where", "times", "seconds", "predicted", "bytes"])
    for row in report.get("phases", ()):
        phases.add_row(
            _text(row.get("what")),
            _where(row.get("where")),
            _text(row.get("count")),
            _seconds(row.get("seconds")),
            _seconds(row.get("predicted_seconds")),
            _bytes(row.get("bytes")),
        )
    console.print(phases if phases.row_count else "Nothing was large enough to be planned.")
    fallbacks = _table("What fell back to NumPy", ["function", "times", "bytes", "at"])
    for row in report.get("fallbacks", ()):
        place = f"{row.get('file', '?')}:{row.get('line', '?')}"
        fallbacks.add_row(
            _text(row.get("name")), _text(row.get("count")), _bytes(row.get("bytes")), place
        )
    console.print(fallbacks if fallbacks.row_count else "Nothing fell back to NumPy.")
    for line in _time_lines(report.get("seconds"), report.get("numpy_seconds_predicted")):
        console.print(line)


def _time_lines(seconds: float | None, numpy_seconds: float | None) -> Iterable[str]:
    if seconds is not None:
        yield f"Time in phases: {_seconds(seconds)}"
    if seconds and numpy_seconds:
        saved = numpy_seconds - seconds
        yield (
            f"NumPy, predicted: {_seconds(numpy_seconds)}; "
            f"saved {_seconds(saved)} ({numpy_seconds / seconds:.1f} times NumPy's speed)"
        )


def print_coverage() -> None:
    """Print one line for each public NumPy name, how it is provided and why, and the totals."""
    from collections import Counter

    from dnumpy.api.coverage import coverage_table

    rows = list(coverage_table())
    table = _table("NumPy's public names", ["name", "module", "kind", "reason"])
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    console = _console(stderr=False)
    console.print(table)
    kinds = Counter(str(row[2]) for row in rows)
    for kind, count in kinds.most_common():
        console.print(f"{kind}: {count} ({count / len(rows):.0%})")
    console.print(f"total: {len(rows)}")


def print_probe(scheduler: str | None) -> None:
    """Print what each node was measured to do, here or on the workers of a Dask scheduler."""
    from dnumpy.runtime.probe import probe_tables

    console = _console(stderr=False)
    for title, rows in probe_tables(scheduler).items():
        columns = list(dict.fromkeys(key for row in rows for key in row))
        table = _table(title, columns)
        for row in rows:
            table.add_row(*(_text(row.get(column)) for column in columns))
        console.print(table)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    sys.stdout.flush()
    # A pipe or a file has no width of its own; rich would cut the tables at 80 columns.
    return Console(file=stream, width=None if stream.isatty() else 120, highlight=False)


def _table(title: str, columns: Iterable[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _text(value: object) -> str:
    from rich.markup import escape

    match value:
        case None:
            return "-"
        case float():
            return f"{value:.4g}"
        case _:
            return escape(str(value))


def _where(value: object) -> str:
    """Return one place, or places with the rows of each: ``a 120, b 80``."""
    match value:
        case [*pairs] if pairs and all(isinstance(pair, (tuple, list)) for pair in pairs):
            return ", ".join(" ".join(_text(part) for part in pair if part) for pair in pairs)
        case _:
            return _text(value)


def _seconds(value: float | None) -> str:
    return (
        "-" if value is None else f"{value:.3f} s" if abs(value) >= 1 else f"{value * 1e3:.2f} ms"
    )


def _bytes(value: float | None) -> str:
    from rich.filesize import decimal

    return "-" if value is None else decimal(int(value))
