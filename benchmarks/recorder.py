"""What kernels the dnumpy of one tree makes.

``python -m benchmarks.recorder TREE NAME [NAME ...]`` prints JSON: for each program or expression,
the texts of the kernels that it was the first to cause. Everything runs on one thread, through the
engine and at a small size; what would be compiled is written down and then run by NumPy, so that
nothing is compiled and no clock decides anything.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import sys
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from benchmarks.expressions import EXPRESSIONS, data
from benchmarks.programs import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

SETTINGS = {
    "DNUMPY_MODE": "default",
    "DNUMPY_KERNELS": "numba",  # asks for the compiled form of everything at once
    "DNUMPY_EAGER_BELOW": "1000",  # elements: below the smallest array that is large at full size
    "DNUMPY_THREADS": "1",
}
SCALE = 0.07  # most rows are still so long that they are walked as at full size
ADDRESS = 1 << 32  # no extent and no constant is as large: addresses differ between processes
RUN_AT_ONCE = {"tiny_add", "nbody"}  # small at full size too: NumPy runs them
NAMES = (*[p.name for p in TABLE if p.name not in RUN_AT_ONCE], *EXPRESSIONS)


def record(tree: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts of the kernels of each name, in the order in which they were made.

    To be called once in a process, which must not have imported dnumpy.
    """
    os.environ.update(SETTINGS)
    sys.path.insert(0, str(tree))
    module = importlib.import_module("dnumpy")
    assert Path(str(module.__file__)).is_relative_to(tree), f"{module.__file__} is not in {tree}"
    seen: list[str] = []
    listen(seen.append)
    found = {}
    for name in names:
        seen.clear()
        try:
            run(module, name)
        except Exception as error:  # noqa: BLE001 - a tree may fail where another does not
            seen.append(f"raises {type(error).__name__}: {error}")
        found[name] = list(seen)
    return found


def run(module: ModuleType, name: str) -> None:
    """Run a program or an expression to its end."""
    if name in EXPRESSIONS:
        numpy.asarray(EXPRESSIONS[name](module, data(module)))
        return
    (program,) = (p for p in TABLE if p.name == name)
    host = program.make(SCALE)
    program.run(module, tuple(module.array(array) for array in host))


def listen(note: Callable[[str], None]) -> None:
    """Have every phase, and every compiled form of one, noted when it is made."""
    tiled = importlib.import_module("dnumpy.kernels.tiled").TiledKernel
    tiled.__init__ = noting(tiled.__init__, lambda kernel: note(tiled_text(kernel)))
    for form in compiled_forms():
        form.__init__ = noting(form.__init__, lambda made: note(compiled_text(made)))
        form.run = lambda *_: False  # "NumPy must compute this": the tiled kernel does


def noting(method: Any, note: Callable[[Any], None]) -> Any:
    """Return an ``__init__`` that notes the object when it is made."""

    @wraps(method)
    def init(self: Any, *args: Any, **options: Any) -> None:
        method(self, *args, **options)
        note(self)

    return init


def compiled_forms() -> Iterator[Any]:
    """Yield the classes that say what source they run: that is what the lowerings agree on."""
    package = importlib.import_module("dnumpy.kernels")
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            own = kind.__module__ == info.name
            if own and all(hasattr(kind, what) for what in ("source", "helpers", "run")):
                yield kind


def tiled_text(kernel: Any) -> str:
    """Return the phase, and where the tiled lowering keeps the result of each step."""
    phase = kernel.phase
    slots = range(len(phase.inputs), len(phase.inputs) + len(phase.steps))
    target = getattr(kernel, "target", lambda _: "?")  # older revisions do not say
    kept = [f"  %{slot} -> {plain(target(slot))}" for slot in slots]
    scratch = plain(getattr(kernel, "scratch_sizes", "?"))
    return "\n".join([str(phase), f"tiled, scratch {scratch}", *kept])


def compiled_text(made: Any) -> str:
    """Return what a compiled form is: all it decided, its source and its helpers' sources."""
    lines = [type(made).__name__]
    for name, value in sorted(attributes(made)):
        lines += [f"{name}: {plain(value)}"] if isinstance(value, (tuple, list)) else []
        lines += listed(name, value) if is_dataclass(value) else []
    return "\n".join([*lines, made.source, *made.helpers])


def listed(name: str, value: Any) -> Iterator[str]:
    """Yield the fields of a frozen value, one a line, and lists one item a line."""
    for field in fields(value):
        part = getattr(value, field.name)
        if part == getattr(value, "source", None):
            continue  # it stands by itself
        if isinstance(part, list):
            yield from (f"{name}.{field.name}[{k}]: {plain(item)}" for k, item in enumerate(part))
        elif is_dataclass(part):
            yield from listed(f"{name}.{field.name}", part)
        else:
            yield f"{name}.{field.name}: {plain(part)}"


def attributes(made: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, but for the phase, which has been noted, and its source."""
    slots = [name for kind in type(made).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in {*slots, *getattr(made, "__dict__", {})}:
        if name not in {"phase", "unrolled", "source", "helpers", "key"} and hasattr(made, name):
            yield name, getattr(made, name)


def plain(value: Any) -> str:
    """Return a text that is the same in every process: no address, no order of a set."""
    if isinstance(value, (int, numpy.integer)) and abs(int(value)) >= ADDRESS:
        return "<address>"
    if isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{plain(k)}: {plain(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(plain, value))) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(plain, value)) + "]"
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__module__.startswith("dnumpy.ops"):
            return str(getattr(value, "name", type(value).__name__))
        parts = [f"{f.name}={plain(getattr(value, f.name))}" for f in fields(value)]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, (str, int, float, complex, bool, bytes, numpy.dtype, type(None))):
        return repr(value)
    return str(getattr(value, "__name__", type(value).__name__))


if __name__ == "__main__":
    print(json.dumps(record(Path(sys.argv[1]).resolve(), sys.argv[2:])))  # noqa: T201 - the answer to the parent
