"""Where loops begin, and when they are over."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import dnumpy
from dnumpy import native
from dnumpy.api import quick
from dnumpy.api.array import concrete
from dnumpy.config import EAGER_BELOW
from dnumpy.expr import origin
from dnumpy.expr.laps import AS_EVER
from tests.native.test_laps import BETWEEN, MANY, drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")


@pytest.fixture
def began(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], list[Any]]]:
    """Give what makes a list of the code in which loops begin, looked at after so many laps."""
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", EAGER_BELOW)

    def noted(laps: int) -> list[Any]:
        found: list[Any] = []

        def begins(code: Any, _instruction: int, _elements: int) -> tuple[int, int]:
            found.append(code)
            return AS_EVER, laps

        native.bind_laps(
            least=1 << 14,
            most=EAGER_BELOW,
            ended=lambda *_: (AS_EVER, laps),
            begins=begins,
            site_here=origin.here,
            compute=concrete,
        )
        return found

    yield noted
    quick.bind_laps()


def test_a_loop_begins_in_the_program_whatever_of_ours_runs_its_operations(began: Any) -> None:
    found = began(1)
    x = dnumpy.array(drawn(0, EAGER_BELOW * 2))[:BETWEEN]

    def first() -> None:
        for _ in range(80):
            dnumpy.asarray(x**2)

    def second() -> None:
        for _ in range(80):
            dnumpy.asarray(x**2)

    for run in (first, second):
        origin.site_at(sys._getframe())
        run()
    files = {code.co_filename for code in found}
    assert not {name for name in files if "/api/" in name}
    assert {first.__code__, second.__code__} <= {*found}


def test_a_loop_of_which_one_lap_was_long_is_over_soon(began: Any) -> None:
    found = began(MANY)
    x = dnumpy.array(drawn(0, 1 << 15))

    def first() -> None:
        for k in range(150):
            time.sleep(0.5 if k == 1 else 0.0)
            x + 1.0
            for _ in range(60):  # so many others do not end it
                x * 2.0

    def second() -> None:
        until = time.perf_counter() + 1.2
        while second.__code__ not in found and time.perf_counter() < until:
            time.sleep(1e-2)
            x + 1.0

    first()
    second()
    ours = [code for code in found if code.co_name in {"first", "second"}]
    assert ours == [first.__code__, second.__code__]
