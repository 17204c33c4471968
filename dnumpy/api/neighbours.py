"""Where other libraries ask for NumPy's class: ours are handed over as NumPy's, or stand beside it.

What holds: with dnumpy imported, a mask of ours selects rows (``frame[mask]``,
``frame.iloc[mask]``, ``index[mask]``), and an array of ours groups them or becomes an index, as
NumPy's would; a series or an index made of one is a copy where it would be one of NumPy's. pandas
takes other arrays there for lists of labels or positions (``iloc`` would return rows 0 and 1), for
functions, and for memory that is nobody else's; SciPy's sparse arrays refuse a sum with them,
its solvers a dense matrix, and its filters leave an ``output`` that is not NumPy's as it was.
Functions that numba compiles take arrays of ours, and may name what is in our modules. A pending
scalar among what pandas or ``json`` is given is NumPy's there. OpenCV, JAX, numexpr, PyTorch,
polars, pyarrow, onnxruntime and others refuse what is not of NumPy's class, or worse: PyTorch's
``asarray`` takes it for bytes, and onnxruntime for NumPy's memory layout. Everywhere else all
convert what they are given.

The functions are replaced when the package is imported, before or after dnumpy, which does not
import it. Keys of ``[]``, ``loc`` and ``iloc`` are met where pandas calls those that are
functions: a wrapper around ``__setitem__`` itself would hide the caller from its check of chained
assignments.
"""

from __future__ import annotations

import functools
import sys
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import compiled, extensions, standards, submitted
from dnumpy.api.array import ndarray
from dnumpy.api.handing import (
    answering,
    handed_over,
    handed_over_alone,
    handed_over_inside,
    handing_over,
)
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType

_SPARSE = (
    "__add__",
    "__sub__",
    "__rsub__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__gt__",
    "__le__",
    "__ge__",
)
_PANDAS_OPERANDS = (  # the classes that define what their operators do
    "pandas.core.frame.DataFrame",
    "pandas.core.series.Series",
    "pandas.core.base.IndexOpsMixin",
    "pandas.core.indexes.base.Index",
    "pandas.core.indexes.range.RangeIndex",
    "pandas.core.indexes.multi.MultiIndex",
    "pandas.core.arrays.masked.BaseMaskedArray",
    "pandas.core.arrays.numpy_.NumpyExtensionArray",
    "pandas.core.arrays.boolean.BooleanArray",
)
_PANDAS_OPERATORS = (
    "_arith_method",
    "_cmp_method",
    "_logical_method",
    "_flex_arith_method",
    "_flex_cmp_method",
    "_flex_method",
)
_OFTEN = frozenset(  # called for every series and index that is made, of elements or of arrays
    ("sanitize_array", "extract_array", "ensure_wrapped_if_datetimelike", *_PANDAS_OPERATORS)
)
_ASKING: dict[str, tuple[tuple[str, str], ...]] = {  # where the class of an argument decides
    "pandas": (
        ("pandas", "*"),
        ("pandas.arrays", "*"),
        ("pandas.core.util.hashing", "hash_array"),
        ("pandas.core.arrays.masked.BaseMaskedArray", "__init__"),
        ("pandas.core.arrays.numeric.NumericArray", "__init__"),
        ("pandas._libs.lib", "map_infer"),
        ("pandas._libs.lib", "map_infer_mask"),
        ("pandas.core.algorithms", "isin"),
        ("pandas.api.extensions", "take"),
        ("pandas.core.common", "apply_if_callable"),
        ("pandas.core.common", "index_labels_to_array"),
        ("pandas.core.construction", "sanitize_array"),
        ("pandas.core.construction", "extract_array"),
        ("pandas.core.construction", "array"),
        ("pandas.core.construction", "ensure_wrapped_if_datetimelike"),
        *((owner, name) for owner in _PANDAS_OPERANDS for name in _PANDAS_OPERATORS),
        ("pandas.core.frame.DataFrame", "from_records"),
        ("pandas.core.algorithms", "_ensure_arraylike"),
        ("pandas.core.indexes.base.Index", "__getitem__"),
        ("pandas.core.indexes.datetimelike.DatetimeTimedeltaMixin", "__getitem__"),
        ("pandas.core.indexes.multi.MultiIndex", "__getitem__"),
        ("pandas.core.indexes.range.RangeIndex", "__getitem__"),
        ("pandas.core.frame.DataFrame", "groupby"),
        ("pandas.core.frame.DataFrame", "set_index"),
        ("pandas.core.series.Series", "groupby"),
    ),
    "jax": (
        ("jax._src.numpy.indexing.NDIndexer", "from_raw_indices"),
        ("jax._src.numpy.array_constructors", "array"),
        ("jax._src.numpy.array_constructors", "asarray"),
        ("jax._src.lax.lax", "asarray"),
    ),
    "onnxruntime": tuple(
        (f"onnxruntime.capi.onnxruntime_inference_collection.{kind}", "**")
        for kind in ("Session", "IOBinding", "OrtValue", "SparseTensor")
    ),
    "cvxpy": (
        ("cvxpy.interface.matrix_utilities", "*"),
        ("cvxpy.expressions.leaf.Leaf", "_validate_value"),
    ),
    "xarray": (
        ("xarray.core.dataset.Dataset", "interp"),
        ("xarray.core.dataset.Dataset", "_validate_interp_indexers"),
    ),
    "awkward": (("awkward", "*"), ("awkward.highlevel.Array", "**")),
    "h5py": tuple(
        ("h5py._hl.dataset.Dataset", name)
        for name in ("__getitem__", "__setitem__", "read_direct", "write_direct")
    ),
    "json": (("json.encoder.JSONEncoder", "iterencode"),),
    "PIL.Image": (("PIL.Image", "fromarray"),),
    "sklearn.model_selection": (("sklearn.model_selection._search.ParameterGrid", "__init__"),),
    "sklearn.neighbors": (
        ("sklearn.neighbors._nca.NeighborhoodComponentsAnalysis", "_initialize"),
    ),
    "sklearn.utils.validation": (("sklearn.utils.validation", "check_random_state"),),
    "sklearn.utils._param_validation": (
        ("sklearn.utils._param_validation", "validate_parameter_constraints"),
    ),
    "matplotlib.axes": (("matplotlib.axes._axes.Axes", "streamplot"),),
    "matplotlib.figure": (("matplotlib.figure.FigureBase", "colorbar"),),
    "matplotlib.lines": (("matplotlib.lines.Line2D", "set_marker"),),
    "matplotlib.markers": (("matplotlib.markers.MarkerStyle", "__init__"),),
    "numpy.ctypeslib": (
        ("numpy.ctypeslib._ctypeslib._ndptr", "from_param"),
        ("numpy.ctypeslib._ndptr", "from_param"),  # where it was before NumPy 2.3
    ),
    "torch": (("torch", "from_numpy"), ("torch", "asarray")),
    "polars": (
        ("polars", "*"),
        ("polars.series.series.Series", "**"),
        ("polars.dataframe.frame.DataFrame", "**"),
        ("polars._utils.parse.expr", "*"),
    ),
    "pyarrow": tuple(("pyarrow", name) for name in ("array", "chunked_array", "scalar")),
    "lightgbm": (
        ("lightgbm.basic", "_list_to_1d_numpy"),
        ("lightgbm.basic.Dataset", "__init__"),
        ("lightgbm.basic.Dataset", "set_field"),
        ("lightgbm.basic.Booster", "predict"),
    ),
    "tables": (
        ("tables.flavor", "flavor_of"),
        ("tables.flavor", "array_as_internal"),
        ("tables.flavor", "array_of_flavor"),
        ("tables.flavor", "array_of_flavor2"),
    ),
    "sparse": (("sparse", "*"), ("sparse.COO", "__matmul__"), ("sparse.GCXS", "__matmul__")),
    "sympy": (("sympy.core.sympify", "sympify"),),
    "astropy.table": (
        ("astropy.table.table.Table", "__getitem__"),
        ("astropy.table.table.Table", "__setitem__"),
    ),
    "numba": (("numba.stencils.stencil.StencilFunc", "__call__"),),
    "scipy.linalg.interpolative": (("scipy.linalg.interpolative", "*"),),
    "scipy.ndimage": (("scipy.ndimage", "*"),),
    "scipy.integrate": (("scipy.integrate", "*"),),
    "scipy.linalg": (("scipy.linalg", "funm"),),
    "scipy.optimize": (("scipy.optimize", "*"),),
    "scipy.signal": (("scipy.signal", "find_peaks"),),
    "scipy.special": (
        ("scipy.special", "factorial"),
        ("scipy.special", "factorial2"),
        ("scipy.special", "factorialk"),
    ),
    "scipy.stats": (("scipy.stats", "multiscale_graphcorr"),),
    "scipy.sparse.linalg": (("scipy.sparse.linalg", "*"),),
    "scipy.sparse": (
        *(("scipy.sparse._base._spbase", name) for name in _SPARSE),
        ("scipy.sparse._base._spbase", "_divide"),
        ("scipy.sparse._base._spbase", "maximum"),
        ("scipy.sparse._base._spbase", "minimum"),
        ("scipy.sparse._compressed._cs_matrix", "maximum"),  # of their own before SciPy 1.16
        ("scipy.sparse._compressed._cs_matrix", "minimum"),
        ("scipy.sparse._dok._dok_base", "__add__"),
        ("scipy.sparse._dok._dok_base", "__radd__"),
    ),
}


# whose every module asks, or hands on to code that is compiled: adapted as it is loaded
_WHOLE = (
    "catboost",
    "gensim.matutils",
    "gymnasium.spaces",
    "gymnasium.vector",
    "librosa",
    "skimage",
)
_TOPS = frozenset(package.partition(".")[0] for package in _WHOLE)

_BY_CLASS: dict[str, tuple[tuple[str, str], ...]] = {  # tables in which the class is looked up
    "autograd.numpy": (
        ("autograd.tracer.Box", "type_mappings"),
        ("autograd.core.VSpace", "mappings"),
    ),
    "torch.utils.data": (("torch.utils.data._utils.collate", "default_collate_fn_map"),),
}

_CALLING = {"scipy.integrate", "scipy.optimize"}  # whose functions are given functions
_BY_FRAME = {"eval"}  # look up variables in the frame that calls them: no wrapper may come between
_Replaced = dict[int, tuple[Any, Any]]


def _writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what writes containers of plain values: scalars alone are written as NumPy's are."""

    @functools.wraps(function)
    def asked(self: Any, o: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, handed_over(o) if DeferredScalar.made else o, *args, **kwargs)

    return asked


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what maps a function over elements: it looks into arrays of one that this gives."""

    @functools.wraps(function)
    def asked(values: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        def mapped(*given: Any) -> Any:
            found = f(*given)
            return handed_over(found) if type(found) in (ndarray, DeferredScalar) else found

        return function(values, mapped, *args, **kwargs)

    return asked


class _Factors:
    """Factors of a sparse matrix: SciPy's object in all but that it solves for arrays of ours."""

    def __init__(self, factors: Any) -> None:
        self._factors = factors
        self.solve = handing_over(factors.solve)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._factors)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factors, name)


def _factoring(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        return _Factors(function(*args, **kwargs))

    return asked


# for functions that take more than arrays of another class: what they return is of a class in C
# that asks, they ask for the class of what functions that they are given return, or for a module
_BY_NAME: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "check_random_state": lambda function: handing_over(function, _named_by_numpy, always=True),
    "splu": _factoring,
    "spilu": _factoring,
    "funm": lambda function: handing_over(function, answering, always=True),
    "iterencode": _writing,
    "map_infer": _mapping,
    "map_infer_mask": _mapping,
}


_LEVELS = {  # what counts the frames between a warning and the program
    "pandas": (("pandas.util._exceptions", "find_stack_level"),),
    "polars": (("polars._utils.various", "find_stacklevel"),),
}


def _adapt(package: str) -> None:
    """Replace what asks; names that this version of the package does not have stay away."""
    replaced: _Replaced = {}
    for owner, name in _ASKING.get(package, ()):
        home = _home(owner)
        public = name in _MANY or package == "json"
        for member in _MANY[name](home) if name in _MANY else [name]:
            if home is not None and member in vars(home):
                inside = handed_over_alone if member in _OFTEN else handed_over_inside
                outside = answering if package in _CALLING else handed_over
                _replace(home, member, replaced, outside if public else inside)
    for title, name in _LEVELS.get(package, ()):
        home = _home(title)
        counted = getattr(home, name, None)
        if counted is not None:
            replaced[id(counted)] = (counted, functools.partial(_level_outside, home.__file__))
    _replace_where_imported(package, replaced)
    if package in _TAUGHT:
        _TAUGHT[package]()
    _enter_in_tables(package)


def _enter_in_tables(package: str) -> None:
    """Put our classes beside NumPy's where a package looks a class up."""
    for owner, name in _BY_CLASS.get(package, ()):
        table = getattr(_home(owner), name, {})
        if np.ndarray in table:
            table[ndarray] = handing_over(table[np.ndarray])
        if np.float64 in table:
            table[DeferredScalar] = table[np.float64]
        for kinds in [kinds for kinds in table if isinstance(kinds, tuple) and np.number in kinds]:
            table[DeferredScalar] = handing_over(table[kinds])


def _public(module: ModuleType | None) -> list[str]:
    """Return the names of the functions and classes that a module offers."""
    if module is None:
        return []
    offered = getattr(module, "__all__", vars(module))
    kinds = (FunctionType, BuiltinFunctionType, type)
    return [
        name
        for name in offered
        if not name.startswith("_")
        and name not in _BY_FRAME
        and isinstance(vars(module).get(name), kinds)
    ]


def _methods(kind: type | None) -> list[str]:
    """Return the names of what a class's instances may be given arrays by."""
    methods = {} if kind is None else vars(kind)
    return [
        name
        for name, value in methods.items()
        if isinstance(value, FunctionType | staticmethod | classmethod)
        and (not name.startswith("_") or name in _TAKING)
    ]


_MANY: dict[str, Callable[[Any], list[str]]] = {"*": _public, "**": _methods}
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
_TAKING = frozenset(  # of the special methods
    f"__{name}__"
    for name in (
        *_BINARY,
        *(f"r{name}" for name in _BINARY),
        *_COMPARING,
        *("init", "getitem", "setitem", "contains"),
    )
)


def _replace(home: Any, name: str, replaced: _Replaced, handed: Callable[[Any], Any]) -> None:
    """Have a function, or the constructors of a class, called with NumPy's arrays.

    Parameters
    ----------
    home : module or class
        What has it.
    name : str
        Its name there.
    replaced : dict
        What was replaced, and by what, by the identity of either: added to.
    handed : callable
        An argument as the function is to have it.
    """
    found = vars(home)[name]
    if id(found) in replaced:  # it has several names
        setattr(home, name, replaced[id(found)][1])
        return
    if isinstance(found, type):
        for maker in {"__new__", "__init__"} & vars(found).keys():
            if isinstance(vars(found)[maker], FunctionType | staticmethod):
                _replace(found, maker, replaced, handed)
        return
    if isinstance(found, staticmethod | classmethod):
        wrapper: Any = type(found)(handing_over(found.__func__, handed))
    elif name in _BY_NAME:
        wrapper = _BY_NAME[name](found)
    else:
        wrapper = handing_over(found, handed, always=handed is answering)
    setattr(home, name, wrapper)
    replaced[id(found)] = replaced[id(wrapper)] = (found, wrapper)


def _replace_where_imported(package: str, replaced: _Replaced) -> None:
    """Put the wrappers wherever modules of the package have the functions, by whatever name."""
    top = package.partition(".")[0]
    for title, module in [*sys.modules.items()]:
        if title == top or title.startswith(f"{top}."):
            for name, value in [*getattr(module, "__dict__", {}).items()]:
                if id(value) in replaced:
                    setattr(module, name, replaced[id(value)][1])


def _level_outside(inside: str) -> int:
    """Return the stack level of the line of the program's that a warning of a package is about.

    Counted as the package counts it, which would take a wrapper for the program.

    Parameters
    ----------
    inside : str
        The file of the package's, two folders deep, that has the function this one stands in for.
    """
    ours = (__file__, handing_over.__code__.co_filename)
    folder = str(Path(inside).parent.parent)
    tests = str(Path(folder, "tests"))  # as the packages count, which are a program's lines to them
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith((folder, *ours)):
        if frame.f_code.co_filename.startswith(tests):
            break
        frame, level = frame.f_back, level + 1
    return level


def _teach_numba() -> None:
    """Let functions that numba compiles take arrays of ours, and name what is in our modules."""
    from dnumpy.kernels import njit  # which imports numba, as the program did

    njit.hand_over(ndarray, handed_over)
    njit.name_for(_named_by_numpy)
    for module in map(sys.modules.get, ("numba", "numba.typed.typedlist")):
        if module is not None:  # its other modules are to see that an array is ours
            module.typeof = handing_over(module.typeof)


def _named_by_numpy(value: Any) -> Any:
    """Return what NumPy has by the name that a module or a function has here, else the value."""
    if isinstance(value, ModuleType):
        return _counterpart(value) or value
    name = getattr(value, "__name__", None) if callable(value) else None
    if isinstance(name, str) and str(getattr(value, "__module__", "")).startswith("dnumpy"):
        for title, module in [*sys.modules.items()]:
            if title.startswith("dnumpy") and vars(module).get(name) is value:
                numpys = getattr(_counterpart(module), name, None)
                if numpys is not None:
                    return numpys
    return handed_over(value)


def _counterpart(module: ModuleType) -> ModuleType | None:
    """Return NumPy's module of the same name, None where it has none."""
    package, dot, rest = module.__name__.partition(".")
    return sys.modules.get(f"numpy{dot}{rest}") if package == "dnumpy" else None


_TAUGHT: dict[str, Callable[[], None]] = {
    "cv2": compiled.teach_opencv,
    "jax": compiled.teach_jax,
    "numba": _teach_numba,
    "numexpr": compiled.teach_numexpr,
    "distributed.client": submitted.teach,
}


def _home(owner: str) -> Any:
    """Return a module or a class by its name, None where this version has none."""
    module, _, kind = owner.rpartition(".") if owner not in sys.modules else (owner, "", "")
    found: Any = sys.modules.get(module)
    return getattr(found, kind, None) if kind else found


class _Watch:  # as MirrorFinder, without the base class
    """Lets packages be found as ever, and adapts each once it is loaded."""

    def __init__(self) -> None:
        self.packages: set[str] = set()  # that are not loaded yet
        self._asked: set[str] = set()  # where to find them, by this

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders have for a package, None for all else.

        Who asks may only want to know whether it is there: it is adapted once it is loaded.
        """
        adapted = fullname in self.packages or fullname.endswith(standards.HELPERS)
        if fullname in self._asked or not (adapted or _is_in_whole(fullname)):
            return None
        self._asked.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._asked.discard(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = functools.partial(self._load, loader.exec_module)
        return spec

    def _load(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        if _is_in_whole(module.__name__):
            _adapt_module(module, {})
        if module.__name__.endswith(standards.HELPERS):
            standards.teach(module)
        if module.__name__ in self.packages:
            self.packages.discard(module.__name__)
            _adapt(module.__name__)


_watch = _Watch()


def _is_in_whole(title: str) -> bool:
    if title.partition(".")[0] not in _TOPS:
        return False
    return any(title == package or title.startswith(f"{package}.") for package in _WHOLE)


def _adapt_module(module: ModuleType, replaced: _Replaced) -> None:
    """Have the functions and the methods that a module defines called with NumPy's arrays."""
    for name, value in [*vars(module).items()]:
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType) and name not in _BY_FRAME:
            _replace(module, name, replaced, handed_over_inside)
        elif isinstance(value, type) and not issubclass(value, BaseException):
            for member in _methods(value):
                _replace(value, member, replaced, handed_over_inside)


def watch() -> None:
    """Adapt each package now if it is there, else when it is imported."""
    if _watch in sys.meta_path:
        return
    extensions.teach_all()
    standards.teach_all()
    for package in _ASKING.keys() | _BY_CLASS.keys() | _TAUGHT.keys():
        if package in sys.modules:
            _adapt(package)
        else:
            _watch.packages.add(package)
    replaced: _Replaced = {}
    for title, module in [*sys.modules.items()]:
        if _is_in_whole(title) and isinstance(module, ModuleType):
            _adapt_module(module, replaced)
    for top in _TOPS if replaced else ():
        _replace_where_imported(top, replaced)
    sys.meta_path.insert(0, _watch)
