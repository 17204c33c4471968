"""First runs on workers go as they begin tiled and are compiled beside; later ones are compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import Work, seconds
from dnumpy.kernels.at_hand import COMPILE_SECONDS, LOAD_SECONDS
from dnumpy.kernels.pieces import PIECES
from dnumpy.kernels.preparing import LOAD_AFTER
from dnumpy.runtime.demands import Demand
from dnumpy.runtime.first_runs import Worker, beginning
from dnumpy.runtime.jointly import Rating
from tests.plan.test_rates import PROFILE

COMPILING, STARTING, LOWERING = 0.02, 0.08, 0.003
NODE = replace(
    PROFILE,
    threads=1,
    lowering_seconds=LOWERING,
    compile_seconds=COMPILING,
    starting_seconds=STARTING,
)
PLAIN = Rating("tiled", (1.0, 1.0))
COMPILED = Rating("numba", (1.0, 1.0))
FAST = 10.0  # times as fast as tiled, compiled
SLOW = sum(ns for op, ns in dict(PROFILE.ns_per_element)["tiled"] if op == "exp")
TABLES = (*NODE.ns_per_element, ("numba", (("exp", SLOW / FAST),)))


def asked(rows: int, program: str = "exp", **more: float) -> Demand:
    work = Work(rows, loops=(("exp", 1.0),), program=program, likeness=f"of {program}", **more)
    return Demand("exp+add", work, 1)


def rated(
    demands: list[Demand],
    *,
    ran: bool = False,
    speed: float = 1.0,
    known: tuple[str, ...] = (),
    threads: int = 1,
) -> list[Rating]:
    node = replace(NODE, ns_per_element=TABLES, threads=threads)
    workers = [Worker(node, known), Worker(replace(node, speed=speed), known)]
    plain = [PLAIN] * len(demands)
    return beginning(demands, plain, workers, lambda *_: ran, lambda *_: COMPILED)


def row_seconds() -> float:
    """Return what a row takes on one of the nodes, tiled."""
    rows = 10**8
    return (seconds(asked(rows).work, NODE, rows, "tiled") - NODE.launch_seconds) / rows


def taking(tiled: float, program: str = "exp", **more: float) -> Demand:
    """Return what takes each of two equal nodes so long, tiled."""
    return asked(2 * round(tiled / row_seconds()), program, **more)


def seconds_of(found: Rating, tiled: float) -> float:
    assert found.lowering == "tiled"
    assert found.factors[0] == found.factors[1]
    return found.factors[0] * tiled


@given(st.integers(1, 10**10), st.floats(0.1, 1.0), st.booleans(), st.integers(1, 16))
def test_a_first_run_takes_at_most_twice_as_long_and_no_less_than_compiled(
    rows: int, speed: float, known: bool, threads: int
) -> None:
    told = ("of exp",) if known else ()
    (found,) = rated([asked(rows)], speed=speed, known=told, threads=threads)
    assert found.lowering == "tiled"
    assert all(1 / FAST - 1e-9 <= factor <= 2.0 for factor in found.factors)


@pytest.mark.parametrize("took", [0.041, 0.06, 0.5])
def test_nothing_is_compiled_in_the_midst_of_a_short_first_run(took: float) -> None:
    assert rated([taking(took)]) == [PLAIN]


def test_what_is_left_of_a_long_run_is_compiled() -> None:
    took, compiling = 3.0, STARTING + COMPILING
    (found,) = rated([taking(took)])
    slow = 2 * took / PIECES + compiling  # it is known by then how long it will take
    expected = slow + compiling + LOWERING + (took - slow) / FAST
    assert seconds_of(found, took) == pytest.approx(expected, rel=0.05)


def test_longer_code_takes_longer_to_compile() -> None:
    took = 3.0
    (short,), (long,) = rated([taking(took)]), rated([taking(took, code=5.0)])
    more = seconds_of(long, took) - seconds_of(short, took)
    assert more == pytest.approx(4 * COMPILING * (2 - 1 / FAST), rel=0.05)


def test_machine_code_on_the_disks_of_workers_is_loaded() -> None:
    took = 0.3
    (found,) = rated([taking(took)], known=("of exp", "of log"))
    slow = LOAD_AFTER + LOAD_SECONDS
    expected = slow + LOAD_SECONDS + LOWERING + (took - slow) / FAST
    assert seconds_of(found, took) == pytest.approx(expected, rel=0.05)
    (other,) = rated([taking(took)], known=("of log",))
    assert seconds_of(other, took) > 2 * expected


def test_what_takes_a_moment_or_ran_before_or_is_no_phase_is_as_it_was() -> None:
    assert rated([asked(10)]) == [PLAIN]
    assert rated([asked(10**8)], ran=True) == [PLAIN]
    assert rated([asked(10**8, program="")]) == [PLAIN]


def test_a_loop_is_compiled_once_its_steps_have_taken_long_enough() -> None:
    """Each of 30 ms: one, and 10 ms of the next, pass before; compiling takes 100 ms beside."""
    took, compiling = 0.03, STARTING + COMPILING
    found = rated([taking(took)] * 8)
    times = [seconds_of(f, took) for f in found if f.lowering == "tiled"]
    assert times[0] == pytest.approx(took, rel=0.05)
    assert times[1] == pytest.approx(took + 0.02 + LOWERING, rel=0.05)
    assert times[2:4] == pytest.approx([2 * took] * 2, rel=0.05)
    slow = COMPILE_SECONDS + compiling - 4 * took
    assert times[4] == pytest.approx(2 * slow + (took - slow) / FAST, rel=0.05)
    assert found[5:] == [COMPILED] * 3


def test_the_process_that_compiles_is_started_once_in_a_run() -> None:
    took = 3.0
    one, other = rated([taking(took), taking(took, program="log")])
    less = seconds_of(one, took) - seconds_of(other, took)
    assert less == pytest.approx(STARTING * (2 - 1 / FAST), rel=0.1)


def test_products_are_never_taken_for_compiled() -> None:
    assert rated([asked(10**9, flops=2.0)] * 2)[1].lowering == "tiled"


def test_who_computes_how_many_rows_stays_as_it_was() -> None:
    (found,) = rated([asked(10**7)], speed=0.5)
    assert found.factors[0] == found.factors[1]
