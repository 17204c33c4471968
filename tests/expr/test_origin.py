"""Where something was recorded, and who is told of its faults."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dnumpy
from dnumpy.expr.origin import here, site_at, site_of


def origin_in(text: str) -> Any:
    found: dict[str, Any] = {"here": here, "__name__": __name__}
    exec(compile(text, "given", "exec"), found)
    return found["origin"]


def test_code_with_globals_of_its_own_has_warnings_of_its_own() -> None:
    one, other = origin_in("origin = here()"), origin_in("origin = here()")
    assert here().registry is None
    assert one.registry is not None is not other.registry
    assert one.registry is not other.registry
    assert one != other
    assert len({one, other}) == 2  # those that were told of are looked up


def test_a_place_is_joined_by_other_lines_and_other_error_states_once() -> None:
    first, second = here(), here()
    with np.errstate(divide="ignore"):
        quiet = here()
    joined = first.and_at(quiet)
    for _ in range(3):
        joined = joined.and_at(quiet).and_at(first)
    assert first.and_at(second) is first  # the same line
    assert joined.places == (joined, quiet)
    assert {kind for _, kind in joined.silent().errors} == {"ignore"}
    assert joined.silent().also == ()


def numpys(text: str) -> Any:
    """Return what code of NumPy's own would define."""
    found: dict[str, Any] = {"__name__": "numpy.made"}
    exec(compile(text, str(Path(np.__file__).parent / "made.py"), "exec"), found)
    return found["function"]


def test_lines_of_numpys_python_are_places_of_their_own_for_each_line_of_the_program() -> None:
    function = numpys("def function(f):\n    a = f()\n    b = f()\n    return a, b\n")
    calls = [(function(here), function(here)) for _ in range(3)]
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    for first, second in calls:
        assert all(o.line == line and o.file == __file__ for o in (*first, *second))
        assert len({id(o.site) for o in (*first, *second)}) == 4
    for again in calls[1:]:
        for mine, known in zip(again, calls[0], strict=True):
            assert [o.site for o in mine] == [o.site for o in known]
    with np.errstate(divide="ignore"):  # asks otherwise, at the same place
        quiet, loud = function(here), dict(here().errors)
    assert dict(quiet[0].errors) == loud
    assert loud["divide"] == "ignore"


def called(function: Any, *args: Any) -> Any:
    return function(*args)


def test_places_are_looked_up_without_being_made_and_made_when_asked_for() -> None:
    function = numpys("def function(f, frame):\n    return [f(frame()) for _ in (0, 1)]\n")
    frame = lambda: inspect.currentframe().f_back  # type: ignore[union-attr]  # noqa: E731
    for ask, known in ((site_of, False), (site_at, True), (site_of, True)):
        found = called(function, ask, frame)
        assert [site is not None for site in found] == [known] * 2
        assert len({id(site) for site in found}) == 1


def test_warnings_come_at_the_line_that_called_numpys_function() -> None:
    x = dnumpy.array(np.array([1.0, -1.0] * 150_000))
    for _ in range(4):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = dnumpy.average(x * 1e308 * 10, weights=x + 2)
            assert not np.isfinite(float(found))
        assert {w.filename for w in told} == {__file__}
