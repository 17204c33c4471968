"""What the tests of the lowerings share."""

from __future__ import annotations

from typing import NoReturn

import pytest

from dnumpy.kernels import compile as compiler

_COMPARED = ("test_ir", "test_llvm")  # with Numba


@pytest.fixture(autouse=True)
def no_kernel_is_left_to_numba(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that is not in the language of ``ir`` fails the test that makes it."""

    def refuse(source: str) -> NoReturn:
        msg = f"left to Numba:\n{source}"
        raise AssertionError(msg)

    if not request.module.__name__.endswith(_COMPARED):
        monkeypatch.setattr(compiler, "compile_with_numba", refuse)
