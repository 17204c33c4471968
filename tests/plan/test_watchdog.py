"""Laws of the watchdog: what is late is dropped, and nothing waits for it."""

from __future__ import annotations

import random
import subprocess
import sys
from threading import Event
from time import sleep

import pulp
import pytest

from dnumpy.plan import watchdog
from dnumpy.plan.watchdog import within

PLENTY = 30.0
LITTLE = 0.05


@pytest.fixture(autouse=True)
def nothing_runs_before():
    """Solves of other tests have ended."""
    for thread, _ in watchdog._running:
        thread.join(PLENTY)


def market_split(variables, rows):
    """Six of these over 60 variables keep a solver busy for hours."""
    rng = random.Random(0)
    prob = pulp.LpProblem("split", pulp.LpMinimize)
    takes = [prob.add_variable(f"x{i}", cat="Binary") for i in range(variables)]
    misses = []
    for k in range(rows):
        weights = [rng.randint(1, 99) for _ in takes]
        over, under = prob.add_variable(f"over{k}", 0), prob.add_variable(f"under{k}", 0)
        total = pulp.lpSum(w * x for w, x in zip(weights, takes, strict=True))
        prob += total + over - under == sum(weights) // 2
        misses += [over, under]
    prob += pulp.lpSum(misses)
    return prob


def test_an_answer_in_time_is_handed_back():
    prob = market_split(6, 1)
    assert within(PLENTY, lambda solve: solve.solve(prob, 0.0)) is True
    assert pulp.value(prob.objective) is not None


def test_the_end_of_the_time_is_no_solution_where_none_was_found():
    prob = pulp.LpProblem("crowded", pulp.LpMinimize)
    shares = [prob.add_variable(f"x{i}", 0, 2 / 64) for i in range(10)]
    makespan = prob.add_variable("makespan", 0)
    prob += makespan
    for share in shares:
        prob += makespan >= 3 * share
    prob += pulp.lpSum(shares) == 1
    solved = prob.solve(pulp.HiGHS(msg=False, timeLimit=0.0))
    assert not watchdog.has_solution(prob, solved)


def test_a_solver_that_ignores_its_limit_is_not_waited_for():
    end = Event()
    assert within(LITTLE, lambda _: end.wait()) is None  # would wait for ever
    assert within(PLENTY, lambda _: "another") is None  # while it runs, nothing else is solved
    end.set()
    watchdog._running[0][0].join(PLENTY)
    assert within(PLENTY, lambda _: "another") == "another"


def test_a_model_that_cannot_be_solved_in_time_stops_when_its_time_is_over():
    def endless(solve):
        prob = solve._model = market_split(60, 6)
        prob.solve(watchdog._solver(1e9, 0.0))
        return "late"

    assert within(0.2, endless) is None
    thread, solve = watchdog._running[-1]
    thread.join(PLENTY)
    assert solve.over
    assert not thread.is_alive()


def test_nothing_is_solved_after_the_time_is_over():
    outcome = []

    def late(solve):
        while solve.left:
            sleep(0.001)
        outcome.append(solve.solve(market_split(6, 1), 0.0))

    assert within(LITTLE, late) is None
    watchdog._running[-1][0].join(PLENTY)
    assert outcome == [False]


def test_what_a_solve_raises_is_raised_where_it_is_waited_for():
    with pytest.raises(ZeroDivisionError):
        within(PLENTY, lambda _: 1 / 0)


def test_a_solver_that_never_ends_does_not_keep_the_process_alive():
    code = (
        "from threading import Event\n"
        "from dnumpy.plan.watchdog import within\n"
        "assert within(0.01, lambda _: Event().wait()) is None\n"
        "print('went on')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "went on"


def test_a_solver_writes_nothing_to_the_users_output():
    code = """
import pulp
from dnumpy.plan.watchdog import within

prob = pulp.LpProblem("small", pulp.LpMinimize)
x = prob.add_variable("x", 0, 4, cat="Integer")
prob += x
prob += 2 * x >= 3
assert within(30.0, lambda solve: solve.solve(prob, 0.0)) and x.value() == 2
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
