"""Writes the ``.pyi`` files: NumPy's own, with dnumpy's classes where dnumpy has its own.

``python -m dnumpy.api.stubs`` writes them beside the package's modules. NumPy's stubs know the
shape and dtype of every result; what is changed in them is where names come from. A class that is
the very same object in both libraries (a dtype, a scalar, an exception) is imported from NumPy; the
others (``ndarray``, ``ufunc``, ``flatiter``, the generators) are declared anew, so that every
``ndarray`` and ``NDArray`` in a signature is dnumpy's. NumPy's private modules are mirrored under
``dnumpy/_typed``, which holds stubs alone.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import namespace, row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(np.__file__).parent
MIRRORED = (
    "_core", "_typing/_ufunc", "char", "fft", "lib", "linalg", "matrixlib", "polynomial", "random",
    "rec", "strings",
)  # fmt: skip
PUBLIC = ("char", "fft", "lib", "linalg", "polynomial", "random", "rec", "strings")
NUMPYS = ("dtypes", "exceptions", "ma", "testing")
HEADER = f"""\
# Generated from the stubs of NumPy {np.__version__} by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
"""
OURS = """
from numpy import ndarray as _NumPyArray
from dnumpy.api.explain import explain as explain
from dnumpy.runtime.forecast import Prediction as _Prediction
from dnumpy.api.introspect import from_dask as from_dask
from dnumpy.api.introspect import report as report
from dnumpy.api.introspect import to_dask_array as to_dask_array
from dnumpy.api.places import CPU as CPU
from dnumpy.api.places import GPU as GPU
from dnumpy.api.places import at as at
from dnumpy.config import config as config
from dnumpy.errors import DeviceMemoryWarning as DeviceMemoryWarning
from dnumpy.errors import DnumpyError as DnumpyError
from dnumpy.errors import FallbackWarning as FallbackWarning
from dnumpy.errors import GatherTooLarge as GatherTooLarge
from dnumpy.errors import PlanInfeasible as PlanInfeasible
from dnumpy.errors import WorkerLost as WorkerLost

__dnumpy_version__: str
"""
TYPING = """
import sys
from typing import TypeAlias, TypeVar

from dnumpy import ndarray
from numpy import dtype, generic
{imports}

_NDScalarT = TypeVar("_NDScalarT", bound=generic)
NDArray: TypeAlias = ndarray[_AnyShape, dtype[_NDScalarT]]
"""
PUBLIC_TYPING = """
from numpy.typing import ArrayLike as ArrayLike, DTypeLike as DTypeLike, NBitBase as NBitBase
from dnumpy._typed._typing import NDArray as NDArray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]
"""


def stubs() -> dict[str, str]:
    """Return the text of every stub file by its path in the package."""
    top = _with_own_methods(_rewritten(""))
    made = {"__init__.pyi": HEADER + top + OURS, "typing.pyi": HEADER + PUBLIC_TYPING}
    for module in _mirrored_modules():
        made[_file_of(module)] = HEADER + _rewritten(module)
    made["_typed/__init__.pyi"] = HEADER
    made["_typed/_typing/__init__.pyi"] = HEADER + _typing()
    for name in PUBLIC:
        made |= _public(name, "dnumpy._typed")
    for name in NUMPYS:
        made |= _public(name, "numpy")
    return made


def _with_own_methods(text: str) -> str:
    """Return NumPy's stub with what dnumpy's arrays can do beyond NumPy's."""
    head = text.index("class ndarray(")
    first = text.index("\n", head) + 1
    return f"{text[:first]}    def predict(self) -> _Prediction: ...\n{text[first:]}"


def _public(name: str, home: str) -> dict[str, str]:
    """Return the stubs of a public module and of the public modules in it."""
    folder = SOURCE / name
    if not folder.is_dir():
        return {f"{name}.pyi": f"{HEADER}from {home}.{name} import *\n"}
    inside = sorted(p.stem for p in folder.glob("[!_]*.pyi"))
    made = {f"{name}/{n}.pyi": f"{HEADER}from {home}.{name}.{n} import *\n" for n in inside}
    return {f"{name}/__init__.pyi": f"{HEADER}from {home}.{name} import *\n"} | made


def _mirrored_modules() -> list[str]:
    """Return the dotted paths below ``numpy`` of the modules whose stubs are mirrored."""
    found = []
    for top in MIRRORED:
        single = SOURCE / f"{top}.pyi"
        files = [single] if single.exists() else sorted((SOURCE / top).rglob("*.pyi"))
        for file in files:
            parts = file.relative_to(SOURCE).with_suffix("").parts
            if "tests" not in parts:
                found.append(".".join(p for p in parts if p != "__init__"))
    return found


def _source_of(module: str) -> Path:
    """Return NumPy's stub of a module below ``numpy``; ``""`` is ``numpy`` itself."""
    folder = SOURCE.joinpath(*module.split(".")) if module else SOURCE
    return folder / "__init__.pyi" if folder.is_dir() else folder.with_suffix(".pyi")


def _file_of(module: str) -> str:
    source = _source_of(module).relative_to(SOURCE)
    return (Path("_typed") / source).as_posix()


def _target(module: str) -> str:
    """Return the module that an import of ``module`` is to name."""
    if module == "numpy":
        return "dnumpy"
    rest = module.removeprefix("numpy.")
    if rest == "typing":
        return "dnumpy.typing"
    if rest == "_typing" or rest in _KNOWN or rest.partition(".")[0] in MIRRORED:
        return f"dnumpy._typed.{rest}"
    return module


_KNOWN = frozenset({"_typing._ufunc"})


def _rewritten(module: str) -> str:
    """Return NumPy's stub of a module with the names taken from where dnumpy has them."""
    source = _source_of(module)
    text = source.read_text(encoding="utf-8")
    lines = text.split("\n")
    edits = sorted(_edits(ast.parse(text), module, source), reverse=True)
    for first, last, replacement in edits:
        lines[first - 1 : last] = [replacement]
    return "\n".join(lines)


def _edits(tree: ast.Module, module: str, source: Path) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, replacement): imports, classes of NumPy's, ``__array__``."""
    package = module if source.name == "__init__.pyi" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            replacement = _imports(node, package, top=not module)
            if replacement != ast.unparse(node):
                indent = " " * node.col_offset
                assert node.end_lineno is not None
                yield (
                    node.lineno,
                    node.end_lineno,
                    indent + replacement.replace("\n", f"\n{indent}"),
                )
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _class_edits(node, module)


def _class_edits(node: ast.ClassDef, module: str) -> Iterator[tuple[int, int, str]]:
    path = f"numpy.{module}".rstrip(".")
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    assert node.end_lineno is not None
    if _is_numpys(node.name, path) and not _holds_arrays(node):
        yield first, node.end_lineno, f"from {path} import {node.name} as {node.name}"
    elif path.startswith("numpy.random") and not node.name.startswith("_") and not node.bases:
        base = f"_NumPys{node.name}"
        lines = [
            f"from numpy.random import {node.name} as {base}",
            *map(_decorator, node.decorator_list),
            f"class {node.name}({base}):",
        ]
        yield first, node.lineno, "\n".join(lines)
    elif node.name in ("ndarray", "flatiter"):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__array__":
                assert method.returns is not None
                given = ast.unparse(method.args)
                returns = ast.unparse(method.returns).replace("ndarray[", "_NumPyArray[", 1)
                assert method.end_lineno is not None
                replacement = f"    def __array__({given}) -> {returns}: ..."
                yield method.lineno, method.end_lineno, replacement


def _holds_arrays(node: ast.ClassDef) -> bool:
    """Say whether a class is a named tuple of arrays, which are dnumpy's in its results."""
    return any(ast.unparse(base) == "NamedTuple" for base in node.bases)


def _decorator(node: ast.expr) -> str:
    return f"@{ast.unparse(node)}"


def _is_numpys(name: str, path: str) -> bool:
    """Say whether a class of NumPy's is dnumpy's too, or has the same methods."""
    if name.startswith("_"):
        return False
    value: Any = getattr(importlib.import_module(path), name, None)
    if not isinstance(value, type):
        return False
    home = "numpy.random" if path.startswith("numpy.random") else path
    made = namespace.counterpart(name, value, home)
    return made is value or made is row_blocks.memmap


def _imports(node: ast.ImportFrom | ast.Import, package: str, *, top: bool) -> str:
    """Return an import of the same names from where dnumpy has them."""
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import([_renamed(a) for a in node.names]))
    module = node.module or ""
    if node.level:
        parts = ["numpy", *package.split(".")] if package else ["numpy"]
        module = ".".join([*parts[: len(parts) - node.level + 1], *([module] if module else [])])
    if module.partition(".")[0] != "numpy":
        return ast.unparse(node)
    by_module: dict[str, list[ast.alias]] = {}
    for alias in node.names:
        home = _home(module, alias.name, top=top)
        by_module.setdefault(home, []).append(alias)
    return "\n".join(ast.unparse(ast.ImportFrom(m, names, 0)) for m, names in by_module.items())


def _home(module: str, name: str, *, top: bool) -> str:
    inner = f"{module}.{name}"
    if name == "NDArray":
        return "dnumpy._typed._typing"
    if not _source_of(inner.removeprefix("numpy.")).exists():
        return _target(module)
    if top and module == "numpy":
        return "dnumpy" if name in (*PUBLIC, *NUMPYS, "typing") else "numpy"
    return _target(inner).rpartition(".")[0]


def _renamed(alias: ast.alias) -> ast.alias:
    if alias.name.partition(".")[0] != "numpy":
        return alias
    return ast.alias(_target(alias.name), alias.asname)


def _typing() -> str:
    """Return a module that has all of ``numpy._typing``, with our array and ufuncs."""
    tree = ast.parse((SOURCE / "_typing" / "__init__.py").read_text(encoding="utf-8"))
    names = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    imports = []
    for name in sorted(names - {"NDArray"}):
        ours = name.startswith(("_UFunc_", "_GUFunc_"))
        home = "dnumpy._typed._typing._ufunc" if ours else "numpy._typing"
        imports.append(f"from {home} import {name} as {name}")
    return TYPING.format(imports="\n".join(imports))


def main() -> None:
    """Write the files into the package; what an older NumPy had is removed."""
    package = Path(__file__).parent.parent
    made = stubs()
    for old in package.rglob("*.pyi"):
        if old.relative_to(package).as_posix() not in made:
            old.unlink()
    for path, text in made.items():
        file = package / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
