"""Every public NumPy name resolves, and is of exactly one class."""

from __future__ import annotations

import importlib
import inspect
import operator
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.array import concrete, wrap
from dnumpy.api.coverage import MODULES, coverage_table
from dnumpy.api.namespace import public_names
from dnumpy.api.native import COMPOSITE, CREATION, PRIMITIVE

pytestmark = pytest.mark.usefixtures("managed")

CLASSES = {"primitive", "composite", "fallback", "type", "constant", "module"}


def module_of(root: str, path: str) -> Any:
    """Return a public module; ``numpy.emath`` is an attribute that cannot be imported."""
    if path == "numpy.emath":
        return importlib.import_module(root).emath
    return importlib.import_module(root + path.removeprefix("numpy"))


@pytest.fixture(scope="module")
def table() -> list[tuple[str, str, str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return coverage_table()


def test_every_public_name_of_every_public_module_has_exactly_one_class(table: Any) -> None:
    rows = [(name, module) for name, module, _, _ in table]
    assert len(set(rows)) == len(rows)
    assert {kind for _, _, kind, _ in table} <= CLASSES
    assert all(reason for *_, reason in table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {
            (name, path) for path in MODULES for name in public_names(module_of("numpy", path))
        }
    modules_imported_since = {n for n, _ in expected - set(rows)}
    assert modules_imported_since <= {"mrecords", "testutils", "extras", "core"}
    assert set(rows) <= expected
    assert len(expected) > 900


@pytest.mark.parametrize("path", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_every_public_name_resolves(path: str) -> None:
    theirs, ours = module_of("numpy", path), module_of("dnumpy", path)
    for name in public_names(theirs):
        value = getattr(ours, name)
        expected = getattr(theirs, name)
        assert callable(value) == callable(expected), name
        if isinstance(expected, type) and not issubclass(expected, np.ndarray):
            assert isinstance(value, type), name


def test_modules_can_be_imported_in_every_way() -> None:
    import dnumpy.fft as fft  # noqa: PLR0402 - one of the ways
    import dnumpy.linalg
    from dnumpy.linalg import norm
    from dnumpy.polynomial import polynomial

    assert dnumpy.linalg.norm is norm
    assert isinstance(fft, types.ModuleType)
    assert type(polynomial.polyval(dnumpy.arange(40.0), [1, 2])) is dnumpy.ndarray
    assert type(dnumpy.fft.fft(dnumpy.arange(40.0))) is dnumpy.ndarray


def test_a_name_that_numpy_lacks_raises_numpys_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        dnumpy.no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("dnumpy.no_such_module")


def test_star_import_gives_numpys_names() -> None:
    scope: dict[str, Any] = {}
    exec("from dnumpy import *", scope)
    assert set(np.__all__) <= set(scope)


def test_dir_lists_numpys_names() -> None:
    assert {n for n in dir(np) if not n.startswith("_")} <= set(dir(dnumpy))


@pytest.mark.parametrize("name", sorted({**PRIMITIVE, **COMPOSITE, **CREATION}))
def test_a_native_function_takes_numpys_parameters(name: str) -> None:
    try:
        expected = inspect.signature(operator.attrgetter(name)(np))
    except ValueError:
        pytest.skip("NumPy gives no signature")
    native = {**PRIMITIVE, **COMPOSITE, **CREATION}[name]
    parameters = inspect.signature(native).parameters
    if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        return
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    # NumPy 2.5's sorts have one more, with which they are left to NumPy
    more = {"like", "kwargs", "subok", "descending"}
    missing = set(expected.parameters) - set(parameters) - more
    positional = [
        p.name
        for p in expected.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    assert open_ended or not missing, missing
    assert (
        len(positional)
        <= sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters.values())
        or open_ended
    )


ONE_ARRAY = sorted(
    n
    for n in np.__all__
    if isinstance(getattr(np, n), types.FunctionType)
    and n not in {"show_config", "show_runtime", "info", "bmat"}
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ONE_ARRAY)
def test_a_function_of_one_array_equals_numpys_or_raises_its_error(name: str) -> None:
    values = (np.arange(36.0) % 7).reshape(6, 6)

    def outcome(function: Any, x: Any) -> Any:
        try:
            return function(x)
        except Exception as error:  # noqa: BLE001 - whatever is raised is compared
            return error

    expected = outcome(getattr(np, name), values.copy())
    found = outcome(getattr(dnumpy, name), wrap(values.copy()))
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        return
    assert_alike(found, expected)


def assert_alike(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        assert isinstance(found, dnumpy.ndarray)
        values = concrete(found) if type(found) is dnumpy.ndarray else found
        assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
        if values.dtype.kind in "biufc":
            np.testing.assert_allclose(values, expected, rtol=1e-14)
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert_alike(x, y)
    elif isinstance(expected, np.generic):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def is_dropped(path: str) -> bool:
    """Say whether NumPy itself has the name no more."""
    try:
        operator.attrgetter(path)(np)
    except AttributeError:
        return True
    return False


def test_no_function_loses_its_class(table: Any) -> None:
    listed = (Path(__file__).parent / "native_names.txt").read_text(encoding="utf-8").splitlines()
    now = {f"{module}.{name}".removeprefix("numpy."): kind for name, module, kind, _ in table}
    there = [line for line in listed if line.split()[0] in now or not is_dropped(line.split()[0])]
    lost = [line for line in there if now.get(line.split()[0]) != line.split()[1]]
    assert lost == [], "say in CHANGELOG.md why, and take it out of native_names.txt"


def test_nine_of_ten_functions_need_no_gather(table: Any) -> None:
    kinds = [kind for _, module, kind, _ in table if module == "numpy"]
    native = kinds.count("primitive") + kinds.count("composite")
    assert native >= 0.9 * (native + kinds.count("fallback"))
    assert not [n for n, m, k, _ in table if m in ("numpy.linalg", "numpy.fft") and k == "fallback"]
