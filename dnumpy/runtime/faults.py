"""Floating-point faults found while running, told as the error state at recording asks.

A warning comes at the line that recorded the operation, through the filters and into the registry
that Python would have used there. NumPy warns from C code, for which Python takes the innermost
Python frame: where an operation runs at once that is a line of this library, so a filter in front
of all others passes such warnings on to the user's line.
"""

from __future__ import annotations

import sys
import threading
import warnings
from cmath import isfinite
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.exceptions import ComplexWarning

from dnumpy.expr.expr import Const
from dnumpy.expr.origin import here
from dnumpy.expr.watch import Filters, watch
from dnumpy.ops.families import Elementwise, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.expr.origin import Origin

_SETTING = {
    "divide by zero": "divide",
    "overflow": "over",
    "underflow": "under",
    "invalid value": "invalid",
}
_FLAG = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}

_OF_SCALARS = frozenset(  # operators that NumPy's scalars compute themselves
    {np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.power,
     np.divmod, np.negative, np.absolute}
)  # fmt: skip


class StepFault(NamedTuple):
    """What happened in which op, what is to be done about it, and where it was recorded."""

    kind: str
    name: str
    answer: str
    origin: Origin

    @property
    def text(self) -> str:
        """NumPy's words."""
        return f"{self.kind} encountered in {self.name}"


def collect(steps: Sequence[Expr], faults: Iterable[tuple[int, str]]) -> list[StepFault]:
    """Return the faults that the error state at recording does not ignore."""
    found: list[StepFault] = []
    for number, kind in sorted(faults, key=_turn):
        expr = steps[number]
        for origin in expr.origin.places if expr.origin is not None else ():
            answer = dict(origin.errors).get(_SETTING.get(kind, ""))
            if answer not in (None, "ignore"):
                casts = kind == "overflow" and _overflows_itself(expr)
                name = "cast" if casts else origin.told_as or _name(expr)
                found.append(StepFault(kind, name, str(answer), origin))
    return found


def _turn(fault: tuple[int, str]) -> tuple[int, int]:
    """Return by what faults are ordered: as NumPy looks at the flags after each operation.

    What a cast is told of comes before all else that its operation is, since nothing is divided by
    zero beside an infinity.
    """
    number, kind = fault
    return number, _FLAG.get(kind, 0)


def _overflows_itself(expr: Expr) -> bool:
    """Say whether an operand written as a number is infinite in the precision of the arrays.

    NumPy then speaks of its cast, and nothing else overflows beside an infinity.
    """
    dtypes = [arg.dtype for arg in expr.operands() if arg.dtype.kind in "fc"]
    if not isinstance(expr.op, Elementwise) or not dtypes:
        return False
    dtype = np.result_type(*dtypes)
    written = [a.value for a in expr.args if type(a) is Const and type(a.value) in _WRITTEN]
    finite = [x for x in written if type(x) is int or isfinite(x)]
    with np.errstate(all="ignore"):
        return any(np.isinf(np.asarray(x, np.result_type(dtype, x))) for x in finite)


_WRITTEN = frozenset({int, float, complex})


def noting(found: set[tuple[int, str]], number: int) -> Callable[[str, int], None]:
    """Return what ``np.errstate`` is to call, so that faults are noted beside a step's number."""
    return lambda kind, _flag: found.add((number, kind))


def told_of(steps: Sequence[Expr]) -> frozenset[str]:
    """Return the kinds of faults that any step's error state at recording does not ignore."""
    states: list[tuple[tuple[str, str], ...]] = []
    for expr in steps:
        origin = expr.origin
        if origin is not None and not (states and origin.errors is states[-1]):
            states.append(origin.errors)
        if origin is not None and origin.also:
            states += [also.errors for also in origin.also if also.errors is not states[-1]]
    return _told_in(states[0]) if len(states) == 1 else frozenset().union(*map(_told_in, states))


@lru_cache(maxsize=64)
def _told_in(state: tuple[tuple[str, str], ...]) -> frozenset[str]:
    return frozenset(kind for kind, told in state if told != "ignore")


_NUMPYS_NAMES = {  # the first part of a row's name -> what NumPy calls what it computes
    "crossprod": "matmul", "product": "matmul", "tensordot": "dot", "scan": "accumulate",
    "transform": "fft",
}  # fmt: skip


def _name(expr: Expr) -> str:
    op, params = expr.op, cast("Any", expr.params)
    if isinstance(op, Reduction):
        return "reduce"
    if op.name == "at":
        return str(params.ufunc)
    if op.name == "gufunc":
        target = params.target
        return target.rpartition(".")[2] if type(target) is str else str(target.__name__)
    if isinstance(op, Elementwise) and op.ufunc is not None:
        scalar = not expr.shape and op.ufunc in _OF_SCALARS
        return f"scalar {op.ufunc.__name__}" if scalar else op.ufunc.__name__
    first = op.name.partition(".")[0]
    return _NUMPYS_NAMES.get(first, first)


def tell(faults: Sequence[StepFault]) -> None:
    """Answer each fault once, warnings first; raises FloatingPointError where that is asked."""
    if not faults:
        return
    once = {(f.kind, f.name, f.answer, f.origin.file, f.origin.line): f for f in faults}
    for fault in sorted(once.values(), key=lambda f: f.answer == "raise"):
        match fault.answer:
            case "warn":
                _warn(fault)
            case "raise":
                raise FloatingPointError(fault.text)
            case "call":
                handler: Any = np.geterrcall()
                handler(fault.kind, _FLAG[fault.kind])
            case "log":
                log: Any = np.geterrcall()
                log.write(f"Warning: {fault.text}\n")
            case _:
                sys.stderr.write(f"Warning: {fault.text}\n")


def _warn(fault: StepFault) -> None:
    """Warn under the filters that stood when the operation was recorded."""
    origin = fault.origin
    if origin.watch is watch():
        _warn_at(fault.text, RuntimeWarning, origin)
        return
    if origin.watch.action(fault.text, RuntimeWarning, origin.module, origin.line) == "ignore":
        return
    with warnings.catch_warnings():
        warnings.filters[:] = origin.watch.filters  # type: ignore[index]
        vars(warnings)["_showwarnmsg_impl"] = origin.watch.show
        _warn_at(fault.text, RuntimeWarning, origin)


def _warn_at(text: str, category: type[Warning], origin: Origin) -> None:
    module = sys.modules.get(origin.module)
    registry: dict[Any, Any] | None = origin.registry
    if registry is None and module is not None:
        registry = vars(module).setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, origin.file, origin.line, origin.module, registry)


# ---------------------------------------------------------------- operations that ran at once

_PACKAGE = "dnumpy."
_EVALUATION = ("dnumpy.kernels.", "dnumpy.ops.", "dnumpy.runtime.")


class _Asked(threading.local):
    """What Python has asked the filter so far about the warning that this thread gives."""

    text = ""
    module = ""
    busy = False


_asked = _Asked()


_NOTHING = (
    r"(?!)"  # what a copy of the filter takes, made from its patterns (scikit-learn makes one)
)


class _Text:
    """The text pattern of the filter: takes every text."""

    pattern = _NOTHING

    def match(self, text: str) -> bool:
        """Note the text."""
        _asked.text = text
        return True


class _Module:
    """The module pattern of the filter: takes the modules of this library."""

    pattern = _NOTHING

    def match(self, module: str) -> bool:
        """Note a module of this library."""
        ours = module.startswith(_PACKAGE) and not _asked.busy
        _asked.module = module if ours else ""
        return ours


class _CategoryType(type):
    def __subclasscheck__(cls, category: type) -> bool:
        """Give the warning at the user's line; then the one that Python asks about is ignored."""
        module, _asked.module = _asked.module, ""
        if not module:
            return False
        if issubclass(category, ComplexWarning) and module.startswith(_EVALUATION):
            return True  # was given when it was recorded, at the line that discards
        _asked.busy = True
        try:
            _warn_at(_asked.text, category, here())
        finally:
            _asked.busy = False
        return True


class _Category(Warning, metaclass=_CategoryType):
    """The category of the filter, of which Python asks last, when text and module are known."""


def pass_on_warnings() -> None:
    """Let warnings that name this library come at the user's line, whatever filters come later.

    The list of filters becomes one in which the filter stays in front.
    """
    if any(category is _Category for _, _, category, _, _ in warnings.filters):
        return
    entry: Any = ("ignore", _Text(), _Category, _Module(), 0)
    warnings.filters = Filters([entry, *warnings.filters])
    with warnings.catch_warnings():  # on leaving, Python forgets what other filters decided
        pass
