"""What `inspect.signature` says of a name is what it says of NumPy's."""

from __future__ import annotations

import importlib
import inspect
import types
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.coverage import MODULES
from dnumpy.api.namespace import public_names
from dnumpy.native import OF_PYTHON


def module_of(root: str, path: str) -> Any:
    if path == "numpy.emath":
        return importlib.import_module(root).emath
    return importlib.import_module(root + path.removeprefix("numpy"))


def signature_of(function: Any) -> inspect.Signature | None:
    """Return the signature; None where there is none to be had."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def assert_same(found: Any, expected: Any, name: str) -> bool:
    """Say whether NumPy has a signature, with which ours is compared."""
    signature = signature_of(expected)
    if signature is None:
        signature_of(found)  # raises nothing worse
        return False
    assert inspect.signature(found) == signature, name
    return True


TELLS_OF_C = signature_of(np.array) is not None  # as of what is written in Python
UNTOLD = frozenset() if TELLS_OF_C else {"numpy.dtypes"}  # where all is written in C


@pytest.mark.parametrize("path", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_every_public_function_has_numpys_signature(path: str) -> None:
    theirs, ours = module_of("numpy", path), module_of("dnumpy", path)
    names = [n for n in public_names(theirs) if callable(getattr(theirs, n))]
    compared = [assert_same(getattr(ours, n), getattr(theirs, n), f"{path}.{n}") for n in names]
    assert len(compared) == len(names)
    assert any(compared) or path in {"numpy.lib.npyio", "numpy.typing"} | UNTOLD


def test_most_names_have_a_signature_to_compare() -> None:
    functions = {n: f for n, f in vars(np).items() if callable(f) and not n.startswith("_")}
    told = sum(signature_of(f) is not None for f in functions.values())
    assert told > (450 if TELLS_OF_C else 250)


FUNCTIONS = (
    types.FunctionType,
    types.WrapperDescriptorType,
    *OF_PYTHON,
    type(dnumpy.ndarray.__add__),
)
UFUNCS = sorted(n for n, f in vars(np).items() if isinstance(f, np.ufunc))


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer", "at"])
def test_every_method_of_every_ufunc_has_numpys_signature(method: str) -> None:
    for name in UFUNCS:
        ours, theirs = getattr(dnumpy, name), getattr(np, name)
        assert_same(ours, theirs, name)
        assert_same(getattr(ours, method), getattr(theirs, method), f"{name}.{method}")
        assert_same(getattr(type(ours), method), getattr(np.ufunc, method), method)
    assert len(UFUNCS) > 90


CLASSES = [
    (np.ndarray, lambda: dnumpy.ndarray),
    (np.ufunc, lambda: dnumpy.ufunc),
    (np.flatiter, lambda: dnumpy.flatiter),
    *[
        (getattr(np.random, n), lambda n=n: getattr(dnumpy.random, n))
        for n in ("Generator", "RandomState", "SeedSequence", "BitGenerator", "MT19937", "PCG64",
                  "PCG64DXSM", "Philox", "SFC64")
    ],
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), CLASSES, ids=lambda c: getattr(c, "__name__", ""))
def test_every_public_method_has_numpys_signature(theirs: type, ours: Any) -> None:
    methods = [n for n in dir(theirs) if not n.startswith("_") and callable(getattr(theirs, n))]
    assert methods
    for name in methods:
        assert_same(getattr(ours(), name), getattr(theirs, name), f"{theirs.__name__}.{name}")
    assert_same(ours(), theirs, theirs.__name__)


def test_bound_methods_have_numpys_signature() -> None:
    ours, theirs = dnumpy.ones((2, 3)), np.ones((2, 3))
    names = [n for n in dir(theirs) if not n.startswith("_") and callable(getattr(theirs, n, None))]
    assert len(names) > 50
    compared = [assert_same(getattr(ours, n), getattr(theirs, n), n) for n in names]
    assert sum(compared) > (50 if TELLS_OF_C else -1)


def test_operators_have_numpys_signature() -> None:
    names = [
        n
        for n in dir(dnumpy.ndarray)
        if n.startswith("__")
        and n != "__new__"
        and isinstance(getattr(dnumpy.ndarray, n), FUNCTIONS)
        and hasattr(np.ndarray, n)
    ]
    assert len(names) > 50
    for name in names:
        assert_same(getattr(dnumpy.ndarray, name), getattr(np.ndarray, name), name)


def test_a_constructor_of_the_programs_own_speaks_for_itself() -> None:
    class Seeded(dnumpy.random.Generator):  # type: ignore[misc]
        def __init__(self, seed: int) -> None:
            super().__init__(dnumpy.random.PCG64(seed))

    class Plain(dnumpy.random.Generator):  # type: ignore[misc]
        pass

    assert list(inspect.signature(Seeded).parameters) == ["seed"]
    assert signature_of(Plain) == signature_of(np.random.Generator)
    assert Seeded(3).normal() == np.random.Generator(np.random.PCG64(3)).normal()


def test_signatures_can_be_bound_as_numpys() -> None:
    bound = inspect.signature(dnumpy.sum).bind([1, 2], axis=0, keepdims=True)
    assert bound.arguments == {"a": [1, 2], "axis": 0, "keepdims": True}
    with pytest.raises(TypeError, match="no_such"):
        inspect.signature(dnumpy.sum).bind([1], no_such=1)
