from __future__ import annotations

import importlib
import types
import warnings

import numpy as np
import pytest

import dnumpy


@pytest.mark.parametrize("module", ["fft", "linalg", "random", "ma"])
def test_walking_through_a_module_meets_every_name(module: str) -> None:
    ours, numpys = getattr(dnumpy, module), getattr(np, module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = vars(ours)
    assert not {n for n in vars(numpys) if not n.startswith("__")} - set(names)
    assert all(getattr(ours, name) is names[name] for name in numpys.__all__)


@pytest.mark.parametrize("module", ["fft", "linalg", "random"])
def test_a_small_module_is_a_plain_one_once_a_name_was_used(module: str) -> None:
    ours = getattr(dnumpy, module)
    getattr(ours, getattr(np, module).__all__[0])
    assert type(ours) is types.ModuleType  # in which Python looks names up at once
    assert set(dir(ours)) == set(dir(getattr(np, module)))
    with pytest.raises(
        AttributeError, match=rf"^module 'numpy.{module}' has no attribute 'nowhere'$"
    ):
        ours.nowhere  # noqa: B018


@pytest.mark.parametrize(
    "path", ["_core.einsumfunc", "_core.numeric", "_globals", "_typing", "lib._index_tricks_impl"]
)
def test_numpys_private_modules_can_be_imported(path: str) -> None:
    module = importlib.import_module(f"dnumpy.{path}")
    assert isinstance(module, types.ModuleType)
    assert module.__name__ == f"dnumpy.{path}"


def test_a_private_function_takes_our_arrays() -> None:
    from dnumpy._core.einsumfunc import _parse_einsum_input  # type: ignore[import-not-found]

    x = dnumpy.ones((2, 2))
    assert _parse_einsum_input(("ij,jk", x, x))[:2] == ("ij,jk", "ik")


def test_a_marker_of_numpys_is_the_same_object() -> None:
    from dnumpy._globals import _NoValue  # type: ignore[import-not-found]

    assert _NoValue is np._NoValue


def test_a_copy_of_the_module_getattr_leaves_the_package_as_it_is() -> None:
    before = list(dnumpy.__path__)
    with pytest.raises(AttributeError):
        dnumpy.__getattr__("__path__")
    assert list(dnumpy.__path__) == before


@pytest.mark.parametrize("name", np.typing.__all__)
def test_annotations_are_numpys_own(name: str) -> None:
    typing = importlib.import_module("dnumpy.typing")
    assert getattr(typing, name) is getattr(np.typing, name)


def test_an_annotation_imported_by_name_can_be_subscripted() -> None:
    from dnumpy.typing import NDArray

    assert NDArray[np.float64] == np.typing.NDArray[np.float64]
