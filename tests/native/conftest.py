"""What tests of the module in C may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def arrays_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let arrays wait that are small enough for many examples, in the mode that the line is in."""
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", 64)
    yield
    assert dnumpy.engine.window.exprs < dnumpy.config.window_exprs
