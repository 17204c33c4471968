"""compute() and explain(): the only place where the passes are put in order.

pending Exprs -> cut into stages -> run on this process's threads or on a cluster -> values.
Live Buffers found in the evaluated part are computed along, so that nothing is computed twice; all
but those that will probably never be read (:mod:`dnumpy.expr.unread`), which stay pending.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.config import EAGER_BELOW, config, memory_limit_bytes, thread_count
from dnumpy.errors import PlanInfeasible
from dnumpy.expr import unread
from dnumpy.expr.expr import Expr, make
from dnumpy.expr.origin import may_raise_at_once, told_at_once
from dnumpy.expr.survey import survey
from dnumpy.expr.walk import (
    base_of,
    live_among,
    pending_in_order,
    stored_operands,
)
from dnumpy.kernels.at_hand import COMPILE_SECONDS
from dnumpy.kernels.choose import kernel_for
from dnumpy.ops.table import CAST, VIEW
from dnumpy.rewrite.cached import cut_again
from dnumpy.rewrite.stages import FusedStage, WholeStage, owners_of
from dnumpy.runtime import chunked, direct, gpus, local
from dnumpy.runtime import faults as fp_faults
from dnumpy.runtime.again import run_again
from dnumpy.runtime.failures import failure, raise_for
from dnumpy.runtime.files import file_of
from dnumpy.runtime.find import (
    LEAST_BYTES,
    bringing_seconds,
    cluster_for,
    current_client,
    has_threads_alone,
    home_of,
    users_cluster,
)
from dnumpy.runtime.grains import grain
from dnumpy.runtime.raced import Entry, entry_from, entry_of
from dnumpy.runtime.stored import StoredRows
from dnumpy.runtime.window import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dnumpy.cost import DeviceProfile
    from dnumpy.expr.origin import Site
    from dnumpy.expr.recipe import Recipe
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.failures import Failure
    from dnumpy.runtime.faults import StepFault
    from dnumpy.runtime.forecast import Forecast, Prediction
    from dnumpy.runtime.left_out import LeftOut
    from dnumpy.runtime.records import Record

lock = threading.RLock()
history: deque[Record] = deque(maxlen=10_000)  # what the latest evaluations of this process did

_profiles: dict[int, tuple[float, DeviceProfile]] = {}  # by threads: until when to use it

PROFILE_SECONDS = 60.0  # for which a profile is used before it is looked at again
LEFT_BYTES = 64 << 20  # of operands, which what is not worth computing may always hold
LEAST_PASSING = 1 << 20  # bytes: no limit is so low that less would pass in blocks


window = Window()


def note(expr: Expr, owner: weakref.ref[Any], key: int, *, settles: bool = False) -> None:
    """Count a newly recorded Expr; start evaluation when the window is worth starting.

    What is little ``settles`` where its owner is new: nobody holds a lock for it.
    """
    if told_at_once():
        window.count(expr, owner, key, settles=False)
        compute([expr], if_it_fits=not may_raise_at_once())
    elif window.count(expr, owner, key, settles=settles):
        flush_if_due()


def compute(roots: Iterable[Expr], *, if_it_fits: bool = False) -> None:
    """Give every root, and whatever else live arrays are waiting for, its value.

    Raises the error that keeps a root from having one; an error of anything else waits until that
    is asked for. Where only what fits is to be computed, what cannot be held stays pending: a fold
    of it may pass.
    """
    with lock:
        roots = [root for root in roots if root.value is None]
        if not roots:
            return
        asked = [weakref.ref(root) for root in roots]  # which do not keep memory from being reused
        found, failed, more = _evaluate_along(roots)
    fp_faults.tell(found)
    if failed:
        wait = [root for ref in asked if (root := ref()) is not None]
        refused = any(isinstance(failure.error, PlanInfeasible) for failure in failed)
        if refused and if_it_fits:
            with lock:
                window.leave(wait)
        elif refused and (more or _holds_others(wait)):
            compute_apart(wait, alone=True)
        else:
            raise_for(wait, failed)


def _evaluate_along(roots: list[Expr]) -> tuple[list[StepFault], list[Failure], bool]:
    """Run what the roots wait for, emptying the list; say, last, whether more was computed along.

    What else waits is: what it shares with the roots is then read once, and nothing is computed
    twice; all but what will probably never be read.
    """
    along = window.drain()
    known = set(map(id, roots))
    along = [] if along == roots else [e for e in along if id(e) not in known]
    more = bool(along)
    left = _to_be_left(along) if along else []
    roots += along
    del along
    found, failed = _evaluate(roots, known, left)
    if left:
        window.leave(left)
        _tell_once(left, found)
    return found, failed, more


def _holds_others(roots: Sequence[Expr]) -> bool:
    """Say whether live arrays wait for a part of what the roots wait for."""
    known = {id(root) for root in roots}
    with lock:
        pending = [root for root in roots if root.value is None]
        return any(id(e) not in known for e in live_among(pending_in_order(pending)))


def compute_apart(
    roots: Iterable[Expr], *, alone: bool = False, passing: Collection[int] = ()
) -> None:
    """Give every root its value; what live arrays are waiting for stays pending.

    Where the roots are computed ``alone``, so does what these pass on the way and could keep:
    there may be no room for it. Of what is ``passing``, by id, nobody will look at the value.
    """
    with lock:
        asked = list(roots)
        ids = {id(root) for root in asked}
        found, failed = _evaluate(list(asked), ids, alone=alone, passing=passing)
    fp_faults.tell(found)
    if failed:
        raise_for(asked, failed)


def _to_be_left(along: list[Expr]) -> list[Expr]:
    """Take those out of ``along`` that are not worth computing, and return them.

    They hold what they are made of, which must not be much more than they are.
    """
    least = grain().min_size
    left = [e for e in along if unread.is_expected(e) and e.size >= least]
    if left:
        if survey(pending_in_order(left))[2] > LEFT_BYTES and _hold_much(left):
            return []
        if len(left) == len(along):
            along.clear()
        else:
            known = {id(e) for e in left}
            along[:] = [e for e in along if id(e) not in known]
    return left


def _hold_much(left: Sequence[Expr]) -> bool:
    """Say whether these hold much more than they are."""
    held = sum([expr.nbytes for expr, _ in stored_operands(left).values()])
    return held > LEFT_BYTES + 2 * sum([expr.nbytes for expr in left])


def _tell_once(left: Sequence[Expr], found: Sequence[StepFault]) -> None:
    """Let what was told of now not be told again when what was left pending is computed."""
    told = {fault.origin for fault in found}
    for expr in pending_in_order(left) if told else ():
        if expr.origin is not None and not told.isdisjoint(expr.origin.places):
            expr.origin = expr.origin.silent()


def _evaluate(
    roots: list[Expr],
    asked: Collection[int] | None = None,
    left: Sequence[Expr] = (),
    *,
    alone: bool = False,
    passing: Collection[int] = (),
) -> tuple[list[StepFault], list[Failure]]:
    """Run what the roots wait for, emptying the list of roots.

    ``asked`` has the ids of those that somebody wants to look at, None where nobody does; what is
    ``left`` may stay pending, what is ``passing`` does, and all else where they are to be computed
    ``alone``.
    """
    started = time.perf_counter()
    window.evaluations += 1
    order = pending_in_order(roots)
    sites, exprs, nbytes, most, multiplies, apart, home, wanted = survey(order)
    _tell_sites(order, sites, exprs)
    entry = entry_from(sites, exprs, nbytes, most, multiplies, apart)
    if unread.watched:
        unread.note_operands(order)
    known = {id(e) for e in left} if left else set()
    if unread.left and asked is not None and (needed := unread.note_wanted(order)):
        known -= {id(e) for e in needed}
        del needed
    if exprs == 1 and direct.is_direct(order) and order[-1] in roots:
        wanted.clear()
        return _evaluate_directly(order.pop(), roots, entry)
    sizes = grain()
    if alone and asked is not None:
        wanted = [e for e in wanted if id(e) in asked]
    if known or passing:
        wanted = [e for e in wanted if id(e) not in known and id(e) not in passing]
    if left and asked is not None:
        unread.leave(left)
    if wanted != roots:  # which are all that is computed, mostly
        if asked is not None:
            unread.watch([e for e in wanted if id(e) not in asked and e.size >= sizes.min_size])
        known = {id(e) for e in wanted}
        missing = [e for e in roots if id(e) not in known and e.value is None]
        wanted += dict.fromkeys(missing)
        del missing
    stages = cut_again(order, wanted, sizes)
    del order
    roots.clear()
    return _evaluate_stages(stages, wanted, (entry, started), asked or (), home=home)


def _run_again(stages: list[Stage]) -> tuple[Record, list[StepFault]] | None:
    """Run what is one stage as it ran before; None where it is to run as if nothing had been."""
    if len(stages) != 1 or type(stages[0]) is not FusedStage or not has_threads_alone():
        return None
    try:
        return run_again(stages[0])
    except Exception:  # noqa: BLE001 - it fails again where that is noted
        return None


def _evaluate_stages(
    stages: list[Stage],
    wanted: list[Expr],
    raced: tuple[Entry | None, float],
    asked: Collection[int] = (),
    *,
    home: bool = False,
) -> tuple[list[StepFault], list[Failure]]:
    """Run stages that give what is wanted, emptying both lists.

    Those ``asked`` for are about to be looked at; ``raced`` is when they began, and for whom. All
    that is stored lies at ``home``, as far as is known.
    """
    where, done = None, _run_again(stages) if home else None
    if done is None and not (home and has_threads_alone()):
        where = cluster_for(stages, sum([e.nbytes for e in wanted if id(e) in asked]))
    run: list[Record] = []
    failed: list[Failure] = []
    for expr in wanted:
        handle = expr.owner() if expr.owner is not None else None
        if handle is not None:
            handle.run = run
        del expr
    handle = None  # memory is used again once nobody holds it
    kept = set() if where is None else {id(base_of(expr)) for expr in wanted}
    wanted.clear()
    if done is not None:
        records, found = [done[0]], done[1]
    elif where is None:
        records, found, failed = local.execute(stages)
    else:
        records, found, failed = _execute_on(where, stages, kept)
    run += records
    history.extend(records)
    entry, started = raced
    if entry is not None and not failed:
        entry.finish(started, records)
    return found, failed


def _execute_on(
    where: Cluster, stages: list[Stage], kept: set[int]
) -> tuple[list[Record], list[StepFault], list[Failure]]:
    from dnumpy.runtime import spans
    from dnumpy.runtime.cluster import execute  # here: programs of one machine do without
    from dnumpy.runtime.returning import note_seconds

    where.arrive(lambda: owners_of(stages))  # what is waited for is not the run's
    program, started = spans.program_of(stages, where), time.perf_counter()
    records, found, failed = execute(stages, where, kept)
    took = 0.0 if failed else time.perf_counter() - started
    note_seconds(took)
    told = [record._replace(program=program, run_seconds=took) for record in records]
    return told, found, failed


def compute_if_alone(expr: Expr) -> None:
    """Compute what was just recorded, if what its line records is looked at by itself each time."""
    site = expr.origin.site  # type: ignore[union-attr]
    runs_once = site.alone == site.FIRST  # as far as can be known, and is not worth a kernel
    if config.eager_below < EAGER_BELOW and (runs_once or not expr.shape):
        site.looked_at(alone=False)  # somebody wants small arrays to wait
        return
    if not site.computes_at_once() or not direct.is_quick(expr):
        return
    with lock:  # an error is raised when the result is looked at
        unread.note_operands((expr,))
        if runs_once or direct.is_direct((expr,)):
            found, _ = _evaluate_directly(expr, [], entry_of((expr,)))
        else:
            order = pending_in_order([expr])  # with the view that it may be of
            raced = entry_of(order), time.perf_counter()
            found, _ = _evaluate_stages(cut_again(order, [expr], grain()), [expr], raced)
    if found:
        fp_faults.tell(found)


def _tell_sites(order: Sequence[Expr], sites: Sequence[Site], exprs: int) -> None:
    """Tell each place of the program whether what it recorded was looked at by itself."""
    if exprs == 1 or (exprs == 2 and len(sites) == 1 and direct.is_mean(order)):
        for site in sites:
            site.looked_at(alone=True)
        return
    for site in sites:
        if site.alone:  # a place that is known to wait goes on waiting
            alone = direct.is_little([expr for expr in order if expr.op is not VIEW])
            site.looked_at(alone=alone)


def _evaluate_directly(
    expr: Expr, roots: list[Expr], entry: Entry | None
) -> tuple[list[StepFault], list[Failure]]:
    roots.clear()
    started = time.perf_counter()
    try:
        record, found = direct.run(expr)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user will see it
        return [], [failure(WholeStage(expr), error)]
    handle = expr.owner() if expr.owner is not None else None
    if handle is not None:
        handle.run = [record]
    history.append(record)
    if entry is not None:
        entry.finish(started)
    return found, []


def compile_since(began: float) -> None:
    """Have the kernels compiled in the background of what ran tiled since a time, if worth it.

    Importing what writes them takes a tenth of a second, of which the program is not to wait.
    """
    kernels = set()
    for record in reversed(history):
        if record.started < began:
            break
        if record.phase is not None and record.lowering == "tiled":
            kernels.add(kernel_for(record.phase))

    def compile_all() -> None:
        for kernel in kernels:
            kernel.missed(COMPILE_SECONDS)

    if kernels:
        threading.Thread(target=compile_all, name="dnumpy-compile", daemon=True).start()


def make_room(nbytes: int) -> None:
    """Compute what is pending if with so much new memory it would hold much."""
    if window.exprs:
        with lock:
            if window.needs_room(nbytes):
                flush()


def flush_if_due() -> None:
    """Compute what is pending if it is much, or holds much memory, or is little."""
    with lock:
        settled, window.settled = window.settled, None
        expr = settled() if settled is not None else None
        if expr is not None and not (window.large > 0 and has_workers() and _goes_far(expr)):
            roots = [expr]
            del expr
            found, _, _ = _evaluate_along(roots)  # what fails is told when it is looked at
            fp_faults.tell(found)
        elif window.is_due():
            flush()


def flush() -> None:
    """Compute everything that a live array is waiting for; what fails stays pending."""
    with lock:
        found, _ = _evaluate(window.drain())
    fp_faults.tell(found)


def left_out(roots: Iterable[Expr], told: Sequence[Forecast]) -> tuple[LeftOut, ...]:
    """Return who of this machine's CPU and GPUs a forecast leaves out since it does not pay."""
    if not gpus.might_be():
        return ()
    from dnumpy.runtime.left_out import left_out as left_out_of

    with lock:
        pending = [root for root in roots if root.value is None]
        stages = cut_again(pending_in_order(pending), pending, grain())
        looked_at = sum([expr.nbytes for expr in pending])
        where = cluster_for(stages, looked_at, counts=False)
        return left_out_of(stages, where, told, looked_at)


def _forecast(roots: Iterable[Expr]) -> tuple[list[Forecast], int, float]:
    """Return what each stage would do, what runs of the same program share, and what is waited for.

    The last in seconds, until the first stage may begin.
    """
    from dnumpy.runtime import spans
    from dnumpy.runtime.forecast import brought_first, forecast_local
    from dnumpy.runtime.forecast_on import forecast_on

    with lock:
        pending = [root for root in roots if root.value is None]
        stages = cut_again(pending_in_order(pending), pending, grain())
        bringing = bringing_seconds(stages)
        if bringing is not None:
            return brought_first(bringing, forecast_local(stages, learn())), 0, 0.0
        where = cluster_for(stages, sum([expr.nbytes for expr in pending]), counts=False)
        if where is not None:
            here = None if where.predicts else profile_here()
            wanted = {id(base_of(expr)) for expr in pending}
            with where.arrived(owners_of(stages)) as waiting:
                found = forecast_on(stages, where, wanted, here)
                program = spans.program_of(stages, where)
                ready = spans.here.layout_seconds(program, len(found)) if where.predicts else 0.0
                return found, program, waiting + ready
        return forecast_local(stages, learn()), 0, 0.0


def learn() -> DeviceProfile:
    """Take in what this process has run until now; return its node's profile."""
    from dnumpy.runtime import learnt

    profile = profile_here()
    with lock:  # nothing is run, and added to the history, meanwhile
        learnt.here.take_in(history, profile)
    return profile


def predict(roots: Iterable[Expr]) -> Prediction:
    """Return the seconds and bytes that computing the roots would take, without doing it."""
    return foretold(roots)[1]


def foretold(roots: Iterable[Expr]) -> tuple[list[Forecast], Prediction]:
    """Return what each stage would do, and what all of it would take, without doing it."""
    from dnumpy.runtime import spans
    from dnumpy.runtime.forecast import prediction_of

    with lock:
        spans.here.take_in(history)
    stages, program, waiting = _forecast(roots)
    return stages, prediction_of(stages, program, waiting)


def profile_here() -> DeviceProfile:
    """Return the measured profile of this process's node; measures it the first time.

    Looking whether a kept one still holds takes 50 ms, which is done once a minute.
    """
    from dnumpy.runtime.profiles import load_or_measure

    threads = thread_count()
    until, profile = _profiles.get(threads, (0.0, None))
    if profile is None or time.monotonic() > until:
        profile = load_or_measure(threads=threads)
        _profiles[threads] = time.monotonic() + PROFILE_SECONDS, profile
    return profile


def measured(handle: Any) -> list[Record]:
    """Return what the run did that a Buffer's or scalar's content is from, if there was one."""
    return getattr(handle, "run", [])


def value(expr: Expr) -> np.ndarray:
    """Return the content of ``expr`` as a NumPy array."""
    if expr.op is VIEW:  # a view has no memory of its own
        expr = make(CAST, (expr,), (), expr.shape, expr.dtype)
    compute([expr])
    return gather(expr.value)


def recipe(expr: Expr) -> Recipe:
    """Return ``expr`` as plain data that any process can compute."""
    from dnumpy.expr.recipe import write_down

    with lock:
        return write_down(expr, gather)


def has_workers() -> bool:
    """Say whether the user has connected to a cluster that runs what is large."""
    return config.mode == "default" and config.cluster != "off" and current_client() is not None


def may_make_rows() -> bool:
    """Say whether arrays without operands may be made by rows, where they are read."""
    limited = config.memory_limit > 0 and config.mode == "default"
    return limited or ("distributed" in sys.modules and has_workers())


def makes_rows(nbytes: int) -> bool:
    """Say whether so large an array without operands is made by rows, where it is read.

    On workers it always is; here where it cannot be held.
    """
    beyond = config.mode == "default" and 0 < config.memory_limit < nbytes
    return beyond or ("distributed" in sys.modules and has_workers())


def room(expr: Expr) -> float:
    """Return the bytes that the best of the nodes where ``expr`` lies, or would, may be given."""
    with lock:
        where = home_of(expr) or users_cluster()
        return where.room() if where is not None else float("inf")


def gather(value: Any) -> np.ndarray:
    """Return a stored value as one C-contiguous NumPy array in this process."""
    with lock:
        return chunked.gather(value)


def read(expr: Expr) -> np.ndarray:
    """Return the value of a leaf that is stored, which is in memory from now on."""
    with lock:
        value = expr.value
        return chunked.read(expr) if isinstance(value, StoredRows) else gather(value)


def passes(expr: Expr) -> bool:
    """Say whether an array is in no memory, and too large to be brought into this process.

    That is more than half of the limit or, where workers may read it from a file, what is worth it.
    """
    if expr.nbytes <= LEAST_PASSING or config.mode != "default":
        return False
    beyond = expr.nbytes > memory_limit_bytes() // 2
    if expr.value is None:
        return beyond and config.memory_limit > 0
    theirs = expr.nbytes >= LEAST_BYTES and "distributed" in sys.modules and has_workers()
    return (beyond or theirs) and file_of(expr.value) is not None


def spreads(expr: Expr) -> bool:
    """Say whether ``expr`` is to be gathered nowhere.

    It lies on nodes other than this process, or will be computed there, or passes in blocks.
    """
    if config.mode == "split":
        return True
    if isinstance(expr.value, np.ndarray):
        return passes(expr)
    if expr.value is not None:
        with lock:
            home_of(expr)
        return not isinstance(expr.value, np.ndarray) or passes(expr)
    return passes(expr) or (has_workers() and _goes_far(expr))


def _goes_far(expr: Expr) -> bool:
    """Say whether what is pending would go to workers, were it computed now."""
    if expr.owner is None:  # a number, of which memory is made here
        return False
    with lock:
        known = window.known_to_go() if expr.nbytes < LEAST_BYTES else None
        if known is not None:
            return known
        order = pending_in_order([expr])
        goes = cluster_for(cut_again(order, [expr], grain()), counts=False) is not None
        window.note_asked(goes=goes)
        return goes
