"""Where something was recorded, and who is told of its faults."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.expr.origin import here


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
