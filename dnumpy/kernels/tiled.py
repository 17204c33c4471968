"""The tiled-NumPy lowering: every op's ufunc over a tile, into buffers that stay in L2.

No compile time, any dtype, any ufunc, and results bit-equal to NumPy's, since NumPy's own loops
run.

Every call of NumPy's ends with waiting for the interpreter, and a thread that finds it taken wakes
up 50 us later: threads whose calls take 10 us need as long together as one of them alone. So
all steps over all tiles are one call where they can be (:mod:`~dnumpy.kernels.tile_loop`). Else
adjacent steps whose calls are short become one call (:mod:`~dnumpy.kernels.stretches`), several
tiles run at once where that does not help, and a phase whose calls stay short says that it is
``crowded``: one thread runs it. What folds into a tile's partial result is left to the end of a
run, for all its tiles in a few calls.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.config import thread_count
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import sums
from dnumpy.kernels.buffers import buffers_of, laid_out
from dnumpy.kernels.loops import kinds_of
from dnumpy.kernels.steps import are_of_one_call, compute_both, is_plain, lower, view_of_tile
from dnumpy.kernels.stretches import Stretch, Stretches, Untold, run_stretch, stretches_of
from dnumpy.kernels.tile_loop import TileLoops
from dnumpy.ops.families import Movement, Reduction
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from dnumpy.rewrite.phase import Phase, Step

Faults = set[
    tuple[int, str]
]  # (number of the step, what happened: "overflow", "invalid value", ...)
TOLD = ("divide", "over", "invalid")  # what NumPy warns of unless it is told otherwise


_NOWHERE, _SCRATCH, _ROWS, _PARTIAL, _SUMS = range(5)  # where a step's result goes
_STORED = {_SCRATCH, _ROWS}


CALL_SECONDS = 1e-4  # of a call at best
CROWDED = 2e-5  # seconds of a call: a thread that must wait for another one wakes up 50 us later
MOST_AT_ONCE = 64  # tiles
LEAST_TILES = 2  # for which operands are described once for all
MOST_SCRATCH = 4 << 20  # bytes in which several tiles at once keep what they hold between steps
# Of the largest of NumPy's temporaries so many threads hold half. More of them hold more: calls
# would be too short for them to work at the same time.
MOST_SHARES = 4


_NO_SCRATCH = np.empty(0, np.uint8)


class _Run:
    """One run over some rows: what is bound, and the step that is running."""

    __slots__ = (
        "_views",
        "env",
        "faults",
        "origin",
        "outs",
        "placed",
        "scratch",
        "step",
        "stretched",
        "stretches",
        "sums",
        "values",
    )

    def __init__(self, env: list[Any], outs: Sequence[np.ndarray], origin: int) -> None:
        self.values, self.env = env, env.copy()
        self.outs, self.origin = outs, origin
        self.scratch = _NO_SCRATCH
        self.step = 0
        self.faults: Faults = set()
        self.stretched = False  # whether it is known what is run in stretches, if anything
        self.stretches: Stretches | None = None
        self.placed: dict[int, np.ndarray] | None = None  # the views that are in env
        self.sums: dict[int, sums.TileSums] = {}
        self._views: tuple[int, dict[int, np.ndarray]] = (-1, {})

    def views_for(self, kernel: TiledKernel, count: int) -> dict[int, np.ndarray]:
        """Return the kernel's scratch in the shapes of so many rows."""
        if self._views[0] != count:
            latest = getattr(_local, "views", None)  # a batch of rows follows another one
            if latest is None or latest[:2] != (kernel, count) or latest[2] is not self.scratch:
                latest = kernel, count, self.scratch, kernel.views(self.scratch, count)
                _local.views = latest if len(self.scratch) <= 2 * MOST_SCRATCH else None
            self._views = (count, latest[3])
        return self._views[1]


_local = threading.local()


@contextmanager
def _scratch(size: int) -> Iterator[np.ndarray]:
    """Lend this thread's scratch, which its next run has again: at least so many bytes."""
    held = getattr(_local, "scratch", None)
    if held is None or len(held) < size:
        held = np.empty(size, np.uint8)
    _local.scratch = None  # a run inside this one has its own
    try:
        yield held
    finally:
        if len(held) <= 2 * MOST_SCRATCH:
            _local.scratch = held


class TiledKernel:
    """Runs one phase; safe to run from several threads at once (scratch is per thread)."""

    lowering = "tiled"

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self._first = len(phase.inputs)
        self._calls = [lower(step) for step in phase.steps]
        self._row_outputs = {o.slot: k for k, o in enumerate(phase.outputs) if not o.partial}
        self._partials = {o.slot: k for k, o in enumerate(phase.outputs) if o.partial}
        kept = self._row_outputs.keys() | self._partials.keys()
        self._scratch_of, self._scratch_shapes = buffers_of(phase, kept)
        self._by_rows = [k for k, x in enumerate(phase.inputs) if x.access is Access.ROWS]
        self._plan = [
            (call, *self._target(slot)) for slot, call in enumerate(self._calls, start=self._first)
        ]
        self._computed_before = {  # the second results of calls that give two
            k + 1
            for k, (step, other) in enumerate(pairwise(phase.steps))
            if are_of_one_call(step, other) and {p[1] for p in self._plan[k : k + 2]} <= _STORED
        }
        self._summed_up = [
            slot
            for slot, step in enumerate(phase.steps, start=self._first)
            if slot in self._partials and _sums_everything(phase, step)
        ]
        self._whole_plan = [
            (call, _SUMS, slot) if slot in self._summed_up else (call, kind, target)
            for slot, (call, kind, target) in enumerate(self._plan, start=self._first)
        ]
        self._has_rows = [x.access is Access.ROWS for x in phase.inputs] + [True] * len(phase.steps)
        self._scratch_at, self._scratch_bytes = laid_out(self._scratch_shapes)
        self._fitting = 1  # tiles at once: a library's product may depend on how many rows it has
        if not phase.multiplies:
            shares = 2 * min(thread_count(), MOST_SHARES)
            most = min(MOST_SCRATCH, _widest_bytes(phase) // shares)
            self._fitting = max(1, min(most // max(self._scratch_bytes, 1), MOST_AT_ONCE))
        self._stretches: dict[tuple[Any, ...], Stretches | None] = {}  # by kinds of inputs
        self._calls_a_tile = len(self._plan)
        self._at_once = 0  # tiles that are run at once, 0 while unknown
        self._tile_seconds = float("inf")
        self._warm = False  # the first tile of all meets everything for the first time
        self._sums_alone = _sums_alone(phase)
        self._columns_alone = _columns_alone(phase)
        self._in_one_go = _streams(phase) and self._plan[0][1] == _ROWS
        self._loops = TileLoops(phase)

    def _target(self, slot: int) -> tuple[int, int]:
        """Return where a step's result goes: the kind of target, and which one."""
        if slot in self._partials:
            return _PARTIAL, self._partials[slot]
        if slot in self._row_outputs:
            return _ROWS, self._row_outputs[slot]
        return (_NOWHERE, 0) if self._scratch_of[slot] is None else (_SCRATCH, slot)

    def target(self, slot: int) -> tuple[str, int]:
        """Return where a step's result goes: ``rows``, ``partial``, ``scratch`` or ``nowhere``."""
        if slot in self._partials:
            return "partial", self._partials[slot]
        if slot in self._row_outputs:
            return "rows", self._row_outputs[slot]
        place = self._scratch_of[slot]
        return ("nowhere", 0) if place is None else ("scratch", place)

    def run(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int, origin: int = 0
    ) -> Faults:
        """Compute rows ``lo:hi``; see the package docstring for what is bound to what."""
        run = _Run([*values, *[None] * len(self._plan)], outs, origin)
        faults = run.faults

        def note(kind: str, _flag: int) -> None:
            faults.add((run.step, kind))

        with np.errstate(all="call", call=note), _naming_step(run):
            if self._sums_alone and self._summed(values[0], outs[0], lo - origin, hi - origin):
                return faults
            if self._columns_alone and self._columns_summed(
                values[0][lo - origin : hi - origin], outs[0]
            ):
                return faults
            if self._in_one_go:
                self._run_tiles(self._plan, run, (lo, hi, 0))
            elif (found := self._run_in_c(values, outs, (lo, hi, origin))) is not None:
                return found
            else:
                self._run_all(run, lo, hi)
        faults |= {(k + 1, kind) for k, kind in faults if k + 1 in self._computed_before}
        return faults

    @property
    def joins(self) -> bool:
        """Whether :meth:`run_jointly` may do anything, as far as is known."""
        return self._loops.may_run

    def run_jointly(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        batch: int,
        threads: int,
        rows: int | None = None,
    ) -> Faults | None:
        """Compute all rows, or so many, threads of the module in C drawing batches of tiles.

        A batch has so many tiles. None where rows have to be computed otherwise, all of them.
        """
        where = 0, self.phase.rows if rows is None else rows, 0
        with np.errstate(all="ignore"):
            return self._run_in_c(values, outs, where, batch, threads)

    def _run_in_c(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        where: tuple[int, int, int],
        batch: int = 0,
        threads: int = 1,
    ) -> Faults | None:
        """Compute rows by one call, if there are several tiles and no step needs NumPy."""
        tiles, loops = (where[1] - where[0]) // self.phase.tile_rows, self._loops
        if tiles < LEAST_TILES or not loops.may_run:
            return None
        loop = loops.loop_for(values, outs, self._scratched, self._scratch_bytes)
        if loop is None:
            return None
        with _scratch(loop.scratch_bytes * threads) as scratch:
            lent, shares = (scratch, self.views), (batch or tiles, threads)
            return loops.run(loop, lent, (values, outs), where, shares)

    def _scratched(self) -> AbstractSet[int]:
        """Return the slots of what lies in scratch, views of such included."""
        scratch = np.empty(self._scratch_bytes, np.uint8)
        return self.views(scratch, self.phase.tile_rows).keys()

    def _run_all(self, run: _Run, lo: int, hi: int) -> None:
        size = self.phase.tile_rows
        full, rest = divmod(hi - lo, size)
        done = 0
        with _scratch(self._scratch_bytes * self._most_at_once(full)) as run.scratch:
            if full:
                run.sums = {slot: self._tile_sums(slot, full) for slot in self._summed_up}
            most = self._most_at_once(full)
            while done < full:
                if not run.stretched and self._calls_are_short():
                    self._stretch(run)
                count = min(self._at_once or 1, most, full - done)
                start, before = lo + done * size, time.perf_counter()
                self._run_tiles(self._whole_plan, run, (start, start + count * size, done))
                if self._warm:
                    self._took((time.perf_counter() - before) / count)
                self._warm = True
                done += count
            if rest:
                self._run_tiles(self._plan, run, (hi - rest, hi, full))
        for slot, tiles in run.sums.items():
            run.step = slot - self._first
            out = run.outs[self._partials[slot]][:full]
            out[...] = tiles.folded().reshape(out.shape)

    def _most_at_once(self, full: int) -> int:
        return max(1, min(self._fitting, full))

    def _took(self, seconds: float) -> None:
        """Choose how many tiles make calls so long that threads seldom meet between two of them.

        The best time of a tile decides, since one that had to wait for others says nothing.
        """
        if seconds < self._tile_seconds:
            self._tile_seconds = seconds
            wanted = CALL_SECONDS * self._calls_a_tile / max(seconds, 1e-9)
            self._at_once = min(ceil(wanted), self._fitting)

    def _calls_are_short(self) -> bool:
        """Say whether calls for single steps are known to be short."""
        return bool(self._stretches) or self._tile_seconds < CALL_SECONDS * len(self._plan)

    def _stretch(self, run: _Run) -> None:
        """Let a run make one call for adjacent steps, where that can be."""
        run.stretched = True
        first = len(self.phase.inputs)
        kinds = kinds_of(self.phase, run.values[:first])
        if kinds not in self._stretches:
            views = run.views_for(self, self.phase.tile_rows)
            found = stretches_of(self.phase, kinds, views.keys(), self._row_outputs.keys())
            self._stretches[kinds] = found
            if found is not None:  # calls are others now
                self._calls_a_tile = len(found.parts)
                self._tile_seconds, self._at_once, self._warm = float("inf"), 0, False
        found = self._stretches[kinds]
        if found is None:
            return
        try:
            cells = found.fill(run.values)
        except Untold:
            return
        run.env = [*run.env[: first + len(self._plan)], *cells]
        run.stretches, run.placed = found, None

    @property
    def at_once(self) -> int:
        """Number of tiles that are best run at once, 0 before two have been run."""
        return self._at_once

    @property
    def crowded(self) -> bool:
        """Whether calls are so short that threads wait for each other more than they compute."""
        count = self._at_once
        return bool(count) and count * self._tile_seconds < CROWDED * self._calls_a_tile

    def _tile_sums(self, slot: int, tiles: int) -> sums.TileSums:
        step = self.phase.steps[slot - self._first]
        width = prod(self.phase.shape_of(step.args[0])[1:])
        return sums.TileSums(tiles, self.phase.tile_rows, width, step.dtype)

    def _summed(self, operand: np.ndarray, out: np.ndarray, lo: int, hi: int) -> bool:
        """Sum all tiles in one go; False where no one step leads through a row."""
        runs = sums.as_runs(operand[lo:hi])
        if runs is None:
            return False
        if not self._partials:
            out[lo:hi] = sums.sum_runs(runs).reshape(out[lo:hi].shape)
            return True
        size = self.phase.tile_rows
        full, rest = divmod(hi - lo, size)
        if full:
            out[:full] = sums.sum_tiles(runs[: full * size], size).reshape(out[:full].shape)
        if rest:
            out[full] = sums.sum_tile(runs[full * size :])
        return True

    def _columns_summed(self, rows: np.ndarray, out: np.ndarray) -> bool:
        """Sum the columns of all tiles in one go; False where NumPy is to do it."""
        size = self.phase.tile_rows
        axes: tuple[int, ...] = self.phase.steps[0].params.axis  # type: ignore[attr-defined]
        return sums.sum_tiles_over(rows, axes, size, out[: -(-len(rows) // size)])

    def _run_tiles(
        self, plan: Sequence[tuple[Any, int, int]], run: _Run, where: tuple[int, int, int]
    ) -> None:
        """Compute rows ``start:stop``, which are one tile or several whole ones from ``number``."""
        start, stop, _ = where
        env, origin = run.env, run.origin
        for k in self._by_rows:
            env[k] = run.values[k][start - origin : stop - origin]
        views = run.views_for(self, stop - start)
        if run.stretches is not None:
            if run.placed is not views:
                for slot, view in views.items():
                    env[slot] = view
                run.placed = views
            for stretch in run.stretches.parts:
                if stretch.records is None:
                    self._run_step(plan, run, stretch.first, where)
                else:
                    self._run_stretch(stretch, run, where)
            return
        for step in range(len(plan)):
            self._run_step(plan, run, step, where)

    def _run_stretch(self, stretch: Stretch, run: _Run, where: tuple[int, int, int]) -> None:
        start, stop, _ = where
        for step in stretch.placed:
            out = run.outs[self._plan[step][2]]
            run.env[self._first + step] = out[start - run.origin : stop - run.origin]
        done = 0
        while True:
            done, raised = run_stretch(run.env, stretch, done)
            for record, kind in raised:
                run.faults.add((stretch.numbers[record], kind))
            if done == len(stretch.numbers):
                return
            run.step = step = stretch.numbers[done]
            self._plan[step][0](run.env, run.env[self._first + step], start)
            done += 1

    def _run_step(
        self,
        plan: Sequence[tuple[Any, int, int]],
        run: _Run,
        step: int,
        where: tuple[int, int, int],
    ) -> None:
        start, stop, number = where
        env, first = run.env, self._first
        views = run.views_for(self, stop - start)
        if step in self._computed_before:
            return
        call, kind, target = plan[step]
        run.step = step
        out = self._out(plan[step], run, where)
        if step + 1 in self._computed_before:
            other = self._out(plan[step + 1], run, where)
            compute_both(self.phase.steps[step], env, (out, other))
            env[first + step], env[first + step + 1] = out, other
            return
        if kind == _PARTIAL:
            self._partials_of(run, step, where)
            return
        if kind == _SUMS:
            run.sums[target].take(env[self.phase.steps[step].args[0]], number)
            return
        if out is None and first + step in views:  # a view of scratch, which stays where it is
            env[first + step] = views[first + step]
            return
        env[first + step] = call(env, out, start)

    def _out(
        self, planned: tuple[Any, int, int], run: _Run, where: tuple[int, int, int]
    ) -> np.ndarray | None:
        """Return where a step's result for rows ``start:stop`` goes, None if nowhere by itself."""
        start, stop, _ = where
        _, kind, target = planned
        if kind == _SCRATCH:
            return run.views_for(self, stop - start)[target]
        return run.outs[target][start - run.origin : stop - run.origin] if kind == _ROWS else None

    def _partials_of(self, run: _Run, step: int, where: tuple[int, int, int]) -> None:
        """Fold each tile of rows ``start:stop`` by itself."""
        start, stop, number = where
        call, _, target = self._plan[step]
        size, out = self.phase.tile_rows, run.outs[target]
        if stop - start <= size:
            call(run.env, out[number, ...], start)
            return
        args = self.phase.steps[step].args
        for lo in range(0, stop - start, size):
            tile = {
                a: run.env[a][lo : lo + size] if self._has_rows[a] else run.env[a] for a in args
            }
            call(tile, out[number + lo // size, ...], start + lo)

    def views(self, scratch: np.ndarray, count: int) -> dict[int, np.ndarray]:
        """Return the scratch of every inner row value, shaped for ``count`` rows."""
        times = -(-count // self.phase.tile_rows)
        views = {
            slot: _shaped(scratch[self._scratch_at[place] * times :], self.phase, slot, count)
            for slot, place in self._scratch_of.items()
            if place is not None
        }
        for slot, step in enumerate(self.phase.steps, start=self._first):
            base = views.get(step.args[0]) if isinstance(step.op, Movement) else None
            if base is not None and base.flags.c_contiguous:  # else its rows are copied as it runs
                views[slot] = view_of_tile(base, Geometry(*step.params))
        return views


@contextmanager
def _naming_step(run: _Run) -> Iterator[None]:
    """Let an error say which step raised it: its attribute ``dnumpy_step``."""
    try:
        yield
    except Exception as error:
        error.dnumpy_step = run.step  # type: ignore[attr-defined]
        raise


def _axes_summed_alone(phase: Phase) -> tuple[int, ...] | None:
    """Return the axes if a phase is one sum of what it reads, so that its tiles need no scratch."""
    if len(phase.steps) != 1 or [x.access for x in phase.inputs] != [Access.ROWS]:
        return None
    step, params = phase.steps[0], phase.steps[0].params
    if not isinstance(step.op, Reduction) or step.op.ufunc is not np.add:
        return None
    if params.masked or params.initial is not None or step.dtype.char not in "fd":  # type: ignore[attr-defined]
        return None
    axes: tuple[int, ...] = params.axis  # type: ignore[attr-defined]
    given = phase.inputs[0]
    same = given.dtype == step.dtype
    return axes if same and not sums.folds_short_axes(given.shape, axes) else None


def _sums_alone(phase: Phase) -> bool:
    """Say whether a phase is one sum of all that each row, or all rows, have."""
    axes = _axes_summed_alone(phase)
    return axes is not None and not _keeps_columns(phase, axes)


def _columns_alone(phase: Phase) -> bool:
    """Say whether a phase is one sum of rows that leaves sums beside each other."""
    axes = _axes_summed_alone(phase)
    return axes is not None and 0 in axes and _keeps_columns(phase, axes)


def _keeps_columns(phase: Phase, axes: tuple[int, ...]) -> bool:
    kept = [n for k, n in enumerate(phase.inputs[0].shape) if k and k not in axes]
    return max(kept, default=1) > 1


def _sums_everything(phase: Phase, step: Step) -> bool:
    """Say whether a step sums floats over all of a tile, all in one order."""
    if not isinstance(step.op, Reduction) or step.op.ufunc is not np.add:
        return False
    if step.params.masked or step.dtype.char not in "fd":  # type: ignore[attr-defined]
        return False
    shape, axes = phase.shape_of(step.args[0]), step.params.axis  # type: ignore[attr-defined]
    kept = [n for k, n in enumerate(shape) if k and k not in axes]
    return (
        max(kept, default=1) == 1
        and min(shape[1:], default=1) > 0
        and not sums.folds_short_axes(shape, axes)
    )


def _streams(phase: Phase) -> bool:
    """Say whether a phase is one loop of NumPy's over its rows, which gains nothing from tiles."""
    return len(phase.steps) == 1 and is_plain(phase.steps[0])


def _widest_bytes(phase: Phase) -> int:
    """Return the bytes of the largest array that NumPy would make of a step."""
    return max(prod(step.shape) * step.dtype.itemsize for step in phase.steps)


def _shaped(buffer: np.ndarray, phase: Phase, slot: int, count: int) -> np.ndarray:
    step = phase.steps[slot - len(phase.inputs)]
    view: np.ndarray = np.ndarray((count, *step.shape[1:]), step.dtype, buffer)
    return view
