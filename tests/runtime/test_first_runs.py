"""First runs on workers take as much longer as compiling beside them; later ones are compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import Work, seconds
from dnumpy.runtime.demands import Demand
from dnumpy.runtime.first_runs import beginning
from dnumpy.runtime.jointly import Rating
from tests.plan.test_rates import PROFILE

NODE = replace(PROFILE, threads=1, lowering_seconds=0.003, compile_seconds=0.06)
PLAIN = Rating("tiled", (1.0, 1.0))
COMPILED = Rating("numba", (1.0, 1.0))


def asked(rows: int, program: str = "exp", **more: float) -> Demand:
    work = Work(rows, loops=(("exp", 1.0),), program=program, **more)
    return Demand("exp+add", work, 1)


def rated(demands: list[Demand], *, ran: bool = False, speed: float = 1.0) -> list[Rating]:
    profiles = [NODE, replace(NODE, speed=speed)]
    plain = [PLAIN] * len(demands)
    return beginning(demands, plain, profiles, lambda *_: ran, lambda *_: COMPILED)


@given(st.integers(1, 10**9), st.floats(0.1, 1.0))
def test_a_first_run_takes_no_less_and_at_most_twice_as_long(rows: int, speed: float) -> None:
    (found,) = rated([asked(rows)], speed=speed)
    assert found.lowering == "tiled"
    assert all(1.0 <= factor <= 2.0 for factor in found.factors)


def test_compiling_takes_from_a_run_what_it_is_still_there_for() -> None:
    """Of 41, 60 and 3,000 ms the compiler has 1, 20 and all that it needs, beside 3 ms before."""
    found = {}
    for took in (0.041, 0.06, 3.0):
        rows = round(took / row_seconds())
        (rating,) = rated([asked(2 * rows)])
        found[took] = (rating.factors[0] - 1.0) * took
    assert found[0.041] == pytest.approx(0.004, rel=0.1)
    assert found[0.06] == pytest.approx(0.023, rel=0.1)
    assert found[3.0] == pytest.approx(0.063, rel=0.1)


def row_seconds() -> float:
    """Return what a row takes on one of the nodes."""
    rows = 10**8
    return (seconds(asked(rows).work, NODE, rows, "tiled") - NODE.launch_seconds) / rows


def test_what_takes_a_moment_or_ran_before_or_is_no_phase_is_as_it_was() -> None:
    assert rated([asked(10)]) == [PLAIN]
    assert rated([asked(10**8)], ran=True) == [PLAIN]
    assert rated([asked(10**8, program="")]) == [PLAIN]


def test_a_loop_is_compiled_after_its_first_long_step_and_not_after_a_short_one() -> None:
    first, *later = rated([asked(10**9)] * 3)
    assert first.factors[0] > 1.0
    assert later == [COMPILED, COMPILED]
    short = rated([asked(10**7)] * 3)
    assert short[1:] == [PLAIN, PLAIN]
    assert short[0].factors[0] > 1.0


def test_products_are_never_taken_for_compiled() -> None:
    assert rated([asked(10**9, flops=2.0)] * 2)[1] == PLAIN


def test_who_computes_how_many_rows_stays_as_it_was() -> None:
    (found,) = rated([asked(10**7)], speed=0.5)
    assert found.factors[0] == found.factors[1]
    (equal,) = rated([asked(10**7)])
    assert found.factors[0] > equal.factors[0]
