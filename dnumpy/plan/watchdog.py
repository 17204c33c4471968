"""Solvers that end when they are told to, whatever they do.

HiGHS does not look at its time limit in every loop (ERGO-Code/HiGHS issues 885, 947 and 2226). So a
solve runs in a thread of its own: at the end of its time it is asked to stop, its answer is
dropped, and the caller goes on at once. While such a thread still runs, nothing else is solved.
"""

from __future__ import annotations

import atexit
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import pulp

Answer = TypeVar("Answer")
LAST_WAIT_SECONDS = 1.0  # at exit, for solvers that were asked to stop
SOLVED = (1, 2)  # sol_status of PuLP 3.3: optimal, or ended by the time limit
FEASIBLE = 2  # primal_solution_status of HiGHS
GRACE_SECONDS = 0.03  # at most, for a solver that ends by itself to hand in the best that it has
GRACE_PART = 0.25  # of its time, so that many short solves do not add up


class Solve(Generic[Answer]):
    """One run of a solver; ``left`` says how much time it has, ``stop`` that it shall end."""

    def __init__(self, seconds: float) -> None:
        self.deadline = perf_counter() + seconds
        self.grace = min(GRACE_SECONDS, GRACE_PART * seconds)
        self.over = False
        self._model: Any = None
        self._box: SimpleQueue[tuple[Answer | None, BaseException | None]] = SimpleQueue()

    @property
    def left(self) -> float:
        """Return the seconds that are left; 0 once the answer is no longer wanted."""
        return 0.0 if self.over else max(0.0, self.deadline - perf_counter())

    def solve(self, prob: pulp.LpProblem, gap: float) -> bool:
        """Solve in the time left; return whether the variables hold a solution."""
        left = self.left
        if left <= 0:
            return False
        self._model = prob
        return has_solution(prob, prob.solve(_solver(left, gap))) and not self.over

    def stop(self) -> None:
        """Ask the solver to end; one that does not listen goes on unheard."""
        self.over = True
        model: Any = getattr(self._model, "solverModel", None)
        if hasattr(model, "cancelSolve"):
            with suppress(Exception):  # the model may be gone, or not yet complete
                model.cancelSolve()

    def answer(self, work: Callable[[Solve[Answer]], Answer | None]) -> None:
        """Do the work and hand in what it returns or raises."""
        try:
            self._box.put((work(self), None))
        except BaseException as problem:  # noqa: BLE001 - raised again where it is waited for
            self._box.put((None, problem))
        finally:
            self._model = None

    def wait(self) -> Answer | None:
        """Return the answer if it comes in time; raise what the work raised."""
        try:
            answer, problem = self._box.get(timeout=self.left + self.grace)
        except Empty:
            self.stop()
            return None
        if problem is not None:
            raise problem
        return answer


def has_solution(prob: pulp.LpProblem, outcome: object) -> bool:
    """Return whether the solver handed back a feasible solution.

    PuLP 4 returns an object that says so; PuLP 3.3 returns a code and keeps another in the problem,
    which calls everything feasible that the time limit ended: HiGHS itself is asked whether it is.
    """
    told: bool | None = getattr(outcome, "has_solution", None)
    if told is None:
        told = prob.sol_status in SOLVED
    model: Any = getattr(prob, "solverModel", None)
    if not told or not hasattr(model, "getInfo"):
        return told
    return int(model.getInfo().primal_solution_status) == FEASIBLE


def _solver(seconds: float, gap: float) -> Any:  # noqa: ANN401 - PuLP is imported on first use
    """Return HiGHS with one thread and a fixed seed, which stops where PuLP lets it be told to."""
    import highspy
    import pulp

    class Quiet(highspy.Highs):
        """HiGHS that is told to say nothing before its first word, which names its version."""

        def enableCallbacks(self) -> None:  # noqa: N802 - the first that highspy calls
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    class Interruptible(pulp.HiGHS):
        """HiGHS that listens to ``cancelSolve``, and says nothing."""

        def createAndConfigureSolver(self, lp: pulp.LpProblem) -> None:  # noqa: N802 - PuLP's name
            lp.solverModel = Quiet()
            options = {"time_limit": seconds, "mip_rel_gap": gap, "threads": 1, "random_seed": 0}
            for name, value in options.items():
                lp.solverModel.setOptionValue(name, value)

        def callSolver(self, lp: pulp.LpProblem) -> None:  # noqa: N802 - PuLP's name
            with suppress(AttributeError):  # an older highspy cannot be interrupted
                lp.solverModel.HandleUserInterrupt = True
            super().callSolver(lp)

    return Interruptible(msg=False)


_running: list[tuple[Thread, Solve[Any]]] = []
_lock = Lock()


def within(seconds: float, work: Callable[[Solve[Answer]], Answer | None]) -> Answer | None:
    """Return what the work returns, or None when that takes longer.

    The work runs in a thread that does not keep the process alive. None is returned at once while
    an earlier solve still runs past its time.
    """
    with _lock:
        _running[:] = [(thread, solve) for thread, solve in _running if thread.is_alive()]
        if any(solve.over for _, solve in _running):
            return None
        solve: Solve[Answer] = Solve(seconds)
        thread = Thread(target=solve.answer, args=(work,), name="dnumpy-solver", daemon=True)
        _running.append((thread, solve))
    thread.start()
    return solve.wait()


@atexit.register
def _end() -> None:
    """Ask all solvers to stop, and wait a little for those that listen."""
    until = perf_counter() + LAST_WAIT_SECONDS
    for _, solve in _running:
        solve.stop()
    for thread, _ in _running:
        thread.join(max(0.0, until - perf_counter()))
