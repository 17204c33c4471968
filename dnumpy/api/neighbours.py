"""Where pandas asks for NumPy's class: our arrays are handed over there as NumPy's.

What holds: with dnumpy imported, a mask of ours selects rows (``frame[mask]``,
``frame.iloc[mask]``, ``index[mask]``), and an array of ours groups them or becomes an index, as
NumPy's would. pandas takes other arrays there for lists of labels or positions (``iloc`` would
return rows 0 and 1) and for functions. Everywhere else it converts what it is given.

The functions are replaced when pandas is imported, before or after dnumpy, which does not import
it. Keys of ``[]``, ``loc`` and ``iloc`` are met where pandas calls those that are functions: a
wrapper around ``__setitem__`` itself would hide the caller from its chained-assignment check.
"""

from __future__ import annotations

import functools
import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dnumpy.api.array import exported, ndarray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_NEIGHBOUR = "pandas"
_ASKING = (  # where the class of an argument decides what it means
    ("pandas.core.common", "apply_if_callable"),
    ("pandas.core.algorithms", "_ensure_arraylike"),
    ("pandas.core.indexes.base.Index", "__getitem__"),
    ("pandas.core.indexes.datetimelike.DatetimeTimedeltaMixin", "__getitem__"),
    ("pandas.core.indexes.multi.MultiIndex", "__getitem__"),
    ("pandas.core.indexes.range.RangeIndex", "__getitem__"),
    ("pandas.core.frame.DataFrame", "groupby"),
    ("pandas.core.frame.DataFrame", "set_index"),
    ("pandas.core.series.Series", "groupby"),
)


def _handed_over(x: Any) -> Any:
    if type(x) is ndarray:
        return exported(x)
    if type(x) in {list, tuple} and any(type(item) is ndarray for item in x):
        return type(x)(map(_handed_over, x))
    return x


def _handing_over(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        named = {name: _handed_over(x) for name, x in kwargs.items()}
        return _handed_over(function(*map(_handed_over, args), **named))

    return asked


def _adapt() -> None:
    """Replace what asks; names that this pandas does not have stay away."""
    for owner, name in _ASKING:
        module, _, kind = owner.rpartition(".") if owner not in sys.modules else (owner, "", "")
        found: Any = sys.modules.get(module)
        home = getattr(found, kind, None) if kind else found
        if home is not None and name in vars(home):
            setattr(home, name, _handing_over(vars(home)[name]))


class _Watch(MetaPathFinder):
    """Lets pandas be found as ever, and adapts it once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders have for pandas, None for all else."""
        if fullname != _NEIGHBOUR:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = functools.partial(_load, loader.exec_module)
        return spec


def _load(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    execute(module)
    _adapt()


def watch() -> None:
    """Adapt pandas now if it is there, else when it is imported."""
    if _NEIGHBOUR in sys.modules:
        _adapt()
    elif not any(type(finder) is _Watch for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())
