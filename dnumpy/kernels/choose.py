"""Which lowering runs a phase, by what each has been measured to take.

Beside the tiled lowering there is one that is compiled: a chain of NumPy's loops
(:mod:`dnumpy.kernels.chain`) for phases with products of matrices, Numba for all others.

A program starts tiled. Once it has run tiled for about as long as compiling would take, it is
compiled in the background, once for all phases that differ in extents and constants alone; from
then on both have a measured time per element, and the faster one runs. The two give the same
bits.
"""

from __future__ import annotations

import threading
import time
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dnumpy import native
from dnumpy.config import config
from dnumpy.kernels import at_hand, preparing
from dnumpy.kernels.joint import Blocks, blocks_of, loaded, run_jointly
from dnumpy.kernels.partials import extents_of
from dnumpy.kernels.pieces import (
    LEAST_SECONDS,
    LONG_SECONDS,
    PIECES,
    beginning_at,
    may_be_parted,
    part_of,
    pieces,
)
from dnumpy.kernels.preparing import begins, consider, prepare, record_of
from dnumpy.kernels.rates import Rate, Record
from dnumpy.kernels.settled import Settled, settled
from dnumpy.kernels.sharing import Sharing
from dnumpy.kernels.tiled import TOLD, Faults, TiledKernel
from dnumpy.ops.families import Reduction

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.kernels.chain import Chain, ChainKernel
    from dnumpy.kernels.numba import NumbaKernel, Variant
    from dnumpy.kernels.staged import Staged
    from dnumpy.rewrite.phase import Phase

    # values, outputs, rows lo:hi, the row with which they begin, and what is to be told
    _Given = tuple[Sequence[Any], Sequence[np.ndarray], int, int, int, Collection[str]]
    _Asked = tuple["Record", Variant | Staged | Chain]

LOWER_AFTER = 2e-3  # seconds a phase runs tiled before anyone asks what compiling it would mean
LATER = 2  # times what compiling costs: what took longer, if only once, is for later processes


class KernelReport(NamedTuple):
    """What is known of one program; times are per element, None before the first run."""

    digest: str
    lowering: str
    compile_seconds: float | None
    from_disk: bool
    tiled_seconds: float | None
    numba_seconds: float | None


class Outlook(NamedTuple):
    """What running a phase now would be: by which lowering, and the seconds that all rows take.

    The seconds are None where that lowering has not been timed on this phase.
    """

    lowering: str
    seconds: float | None


_MOST_KERNELS = 4096
_kernels: dict[Phase, AdaptiveKernel] = {}
_met: dict[int, tuple[Phase, AdaptiveKernel]] = {}  # by id: a hash takes as long as all the rest


def kernel_for(phase: Phase) -> AdaptiveKernel:
    """Return the kernel of ``phase``, the same object for equal programs."""
    known = _met.get(id(phase))
    if known is not None and known[0] is phase:
        return known[1]
    found = _kernels.get(phase)
    if found is None:
        if len(_kernels) >= _MOST_KERNELS:
            _kernels.clear()
        found = _kernels.setdefault(phase, AdaptiveKernel(phase))
    if len(_met) >= _MOST_KERNELS:
        _met.clear()
    _met[id(phase)] = phase, found
    return found


def compiled_kernels() -> list[KernelReport]:
    """Return what is known of every program that has been considered for compilation."""
    return [
        KernelReport(
            r.digest,
            "numba"
            if r.state == "ready" and (r.numba.value or 0) <= (r.tiled.value or 1)
            else "tiled",
            r.compile_seconds,
            r.from_disk,
            r.tiled.value,
            r.numba.value,
        )
        for r in list(preparing.records.values())
    ]


class AdaptiveKernel:
    """Runs one phase by the lowering that is faster now; several threads may run it at once."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.title = phase.title()
        self.traffic = phase.traffic_bytes()
        self.again: float | None = None  # bytes of a row that the first run had to read again
        self.tiles = phase.tiles
        self.multiplies = phase.multiplies
        self.gives_partials = any(given.partial for given in phase.outputs)
        first = len(phase.inputs)
        self.rooms = tuple(  # of outputs: what all tiles leave, None where they give rows
            [
                extents_of(phase, phase.steps[o.slot - first], phase.tiles) if o.partial else None
                for o in phase.outputs
            ]
        )
        self.lowering = "tiled"
        self._tiled = TiledKernel(phase)
        self._numba: NumbaKernel | ChainKernel | None = None
        self._total = 0.0
        self._rows_done = 0  # by early runs
        self._early = Rate()
        self._at_work = Rate()  # seconds of a row in early runs, of all threads
        self._worth = _worth_compiling(phase)
        self._per_row = _elements_per_row(phase)
        self._sharing: dict[tuple[str, int], Sharing] = {}
        self._record: Record | None = None  # of the program that ran last
        self._on_disk: bool | None = None  # whether to load machine code first, None before a run
        self.settled: Settled | None = None  # how the next runs go, while nothing is asked
        self._asked = 0  # runs that were asked whether that is known
        self._apart = False  # whether a run by threads of the module in C had to be done again

    def outlook(self, threads: int) -> Outlook:
        """Return how all rows would be run now, on so many threads; changes nothing."""
        record = self._record
        lowering, rate = self.lowering, None
        if record is not None and config.kernels == "auto":
            compiled = record.is_compiled()
            lowering = self._compiled().lowering if compiled else "tiled"
            rate = (record.numba if compiled else record.tiled).value
        known = self._sharing.get((lowering, self.phase.rows))
        best = known.best() if known is not None else None
        if best is None and rate is not None:
            best = rate * self.phase.rows * self._per_row / min(threads, self.phase.tiles)
        return Outlook(lowering, best)

    def sharing(self, rows: int) -> Sharing:
        """Return what is known of threads for runs over this many rows as it is run now."""
        key = (self.lowering, rows)
        found = self._sharing.get(key)
        if found is None:
            found = self._sharing[key] = Sharing()
        return found

    @property
    def at_once(self) -> int:
        """Number of tiles that a thread should run at once, 0 while unknown."""
        return self._tiled.at_once if self.lowering == "tiled" else 1

    @property
    def crowded(self) -> bool:
        """Whether several threads would wait for each other, as it is run now."""
        return self.lowering == "tiled" and self._tiled.crowded

    @property
    def joins(self) -> bool:
        """Whether threads of the module in C may share out a run, as far as is known."""
        if self.multiplies or not native.built:
            return False
        return self._joins_compiled or (config.kernels != "numba" and self._tiled.joins)

    @property
    def _joins_compiled(self) -> bool:
        if self._apart or self.stays_tiled:
            return False
        record = self._record
        return config.kernels == "numba" or (record is not None and record.is_compiled())

    @property
    def stays_tiled(self) -> bool:
        """Whether no run is compiled: one that is may have to be done again, tiled."""
        return config.kernels == "tiled" or (config.kernels != "numba" and not self._worth)

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Faults:
        """Compute rows ``lo:hi``; return the floating-point faults, by step."""
        if config.kernels == "numba":
            kernel = self._numba or self._compiled()
            self.lowering = kernel.lowering
            return kernel.run(values, outs, lo, hi, origin, told)
        if self.stays_tiled:
            return self._run_tiled(values, outs, lo, hi, origin)
        count = self._pieces(hi - lo, 1)
        if count == 1:
            return self._run_piece((values, outs, lo, hi, origin, told), asks=True)
        found: Faults = set()
        for start, stop in pieces(self.phase, lo, hi, count):
            mine = beginning_at(start - lo, self.phase, outs)
            asks = self._asks(start - lo, hi - lo, 1)
            found |= self._run_piece((values, mine, start, stop, origin, told), asks=asks)
        return found

    def _run_piece(self, given: _Given, *, asks: bool) -> Faults:
        """Compute some rows by the lowering that is faster now, if it ``asks`` which that is."""
        asked = self._asked_for(given[0], given[1]) if asks else None
        if asked is None:
            return self._run_early(*given[:5])
        return self._run_measured(asked, given)

    def _asked_for(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> _Asked | None:
        """Return the program for such values, once anybody asks what compiling it would mean."""
        if self._on_disk is None:
            self._on_disk = self._is_sooner_loaded()
        # not in the midst of a short first run, whose threads would wait for the interpreter
        least = max(LOWER_AFTER, min(self._expected, at_hand.COMPILE_SECONDS))
        least *= at_hand.length(self.phase)
        if not self._on_disk and (
            self._total < least or not at_hand.lowerings_at_hand(self.phase, self._expected)
        ):
            return None
        variant = self._compiled().variant_for(values, outs)
        if variant is None:
            return None
        record = self._note_record(variant)
        if self._on_disk and not record.digest and begins(record):
            prepare(record, self.phase, worth=False)
        return record, variant

    @property
    def _expected(self) -> float:
        """Seconds of all rows at work, as early runs went; 0 while that is not known."""
        return (self._at_work.value or 0.0) * self.phase.rows

    def _is_sooner_loaded(self) -> bool:
        """Say whether all rows would take longer, tiled, than loading machine code from disk."""
        long = at_hand.is_imported() and at_hand.least_seconds(self.phase) >= preparing.LOAD_AFTER
        return long and at_hand.is_known(self.phase)

    def _run_early(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int, origin: int
    ) -> Faults:
        """Run tiled before anybody asks for anything else."""
        started, worked = time.perf_counter(), time.thread_time()
        faults = self._run_tiled(values, outs, lo, hi, origin)
        took = time.perf_counter() - started, time.thread_time() - worked
        self._ran_early(values, outs, took, hi - lo)
        return faults

    def _ran_early(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        took: tuple[float, float],
        rows: int,
        threads: int = 1,
    ) -> None:
        """Note how long rows took each of the threads: in all, and at work."""
        seconds = took[1] * threads  # a busy machine makes nothing worth more
        self._total += seconds
        if self._total > seconds or rows >= self.phase.rows:
            # of some rows that ran first, much was for what later ones find there
            self._at_work.observe(seconds, rows)
        self._early.observe(took[0], rows * self._per_row / threads)
        if self._rows_done >= self.phase.rows:  # what runs once is not worth being imported for
            at_hand.note_tiled(seconds)
        self._rows_done += rows
        cost = at_hand.COMPILE_SECONDS * at_hand.length(self.phase)
        if self._rows_done == self.phase.rows and self._total >= LATER * cost:
            _compile_for_later(self, values, outs)

    def run_jointly(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        batch: int,
        threads: int,
        told: Collection[str],
    ) -> Faults | None:
        """Compute all rows in batches of so many tiles that threads draw in C.

        See :mod:`dnumpy.kernels.joint` and :mod:`dnumpy.kernels.tile_loop`. Returns the faults;
        None where rows have to be computed otherwise.
        """
        if not self.joins:
            return None
        if config.kernels == "numba":
            shares = self.phase.rows, batch
            return self._run_compiled_jointly(values, outs, shares, threads, told)
        phase, rows = self.phase, self.phase.rows
        count = self._pieces(rows, threads)
        count = count if count == 1 or may_be_parted(phase, values, outs) else 1
        found: Faults = set()
        for lo, hi in pieces(phase, 0, rows, count):
            given, written = part_of(phase, values, outs, lo, hi)
            asks = not self.stays_tiled and self._asks(lo, rows, threads)
            asked = self._asked_for(given, written) if asks else None
            ready = asked is not None and asked[0].state == "ready" and asked[0].prefers_numba()
            if asked is not None and ready and (not lo or loaded(asked[1], outs)):
                given, written = part_of(phase, values, outs, lo, rows)
                rest = self._run_compiled_jointly(given, written, (rows - lo, batch), threads, told)
                return None if rest is None else found | rest
            shares = hi - lo, -(-batch // count)
            faults = self._run_tiled_jointly(given, written, shares, threads, asked)
            if faults is None:
                return None
            found |= faults
        return found

    def _pieces(self, rows: int, threads: int) -> int:
        """Return in how many pieces to run so many rows."""
        if self.stays_tiled or self._joins_compiled:
            return 1
        share = rows / self.phase.rows
        expected = self._expected or 2 * at_hand.least_seconds(self.phase)
        return PIECES if expected * share / threads >= LEAST_SECONDS else 1

    def _asks(self, piece: int, rows: int, threads: int) -> bool:
        """Say whether what compiling would mean is asked before a piece of a run of such rows."""
        if not piece or self._record is not None:
            return True
        return self._expected * rows / self.phase.rows / threads >= LONG_SECONDS

    def _run_tiled_jointly(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        shares: tuple[int, int],
        threads: int,
        asked: _Asked | None,
    ) -> Faults | None:
        """Compute so many rows, in batches of so many tiles."""
        (rows, batch), started, worked = shares, time.perf_counter(), time.thread_time()
        faults = self._tiled.run_jointly(values, outs, batch, threads, rows)
        if faults is None:
            return None
        self.lowering = "tiled"
        took = time.perf_counter() - started, time.thread_time() - worked
        if asked is not None:
            self._ran_measured(asked[0], took, rows, threads)
        elif not self.stays_tiled:
            self._ran_early(values, outs, took, rows, threads)
        return faults

    def _run_compiled_jointly(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        shares: tuple[int, int],
        threads: int,
        told: Collection[str],
    ) -> Faults | None:
        """Compute so many rows, in batches of so many tiles."""
        kernel, record, phase = self._numba, self._record, self.phase
        if kernel is None or not self._joins_compiled:
            return None
        variant = kernel.variant_for(values, outs)
        started = time.perf_counter()
        rows = shares[0], shares[1] * phase.tile_rows, phase.tile_rows
        done = run_jointly(variant, values, outs, rows, threads, told)
        if not done:
            self._apart = done is False
            return None
        self.lowering = kernel.lowering
        if record is not None:
            elements = rows[0] * self._per_row / threads
            record.numba.observe(time.perf_counter() - started, elements)
        return set()

    def settles(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], batch: int, threads: int
    ) -> None:
        """Let the next runs go as the latest did, on so many threads, if it was a compiled one."""
        record, kernel, phase = self._record, self._numba, self.phase
        if record is None or kernel is None or not record.is_settled() or self.stays_tiled:
            return
        self._asked += 1
        variant = kernel.variant_for(values, outs)
        rows = phase.rows, batch * phase.tile_rows, phase.tile_rows
        self.settled = settled(variant, (values, outs), rows, threads, self._asked)

    def blocks(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], told: Collection[str]
    ) -> Blocks | None:
        """Return what computes ``outs``, some of them scratch memory, in C: see native/staged.c.

        None where it is not known how, or would not be compiled.
        """
        kernel, record = self._numba, self._record
        if kernel is None or self.stays_tiled:
            return None
        if config.kernels == "auto" and (record is None or not record.is_compiled()):
            return None
        return blocks_of(kernel.variant_for(values, outs), values, outs, told)

    def ran_in_blocks(self, seconds: float, rows: int) -> None:
        """Note what so many rows took of those that were computed in C."""
        if self._numba is not None:
            self.lowering = self._numba.lowering
        if self._record is not None:
            self._record.numba.observe(seconds, rows * self._per_row)

    def missed(self, seconds: float) -> None:
        """Note what a tiled run would have taken, had NumPy not had its turn.

        What is worth compiling is compiled all the same, to be measured when ours are run again.
        """
        if self.stays_tiled or config.kernels != "auto":
            return
        self._total += seconds
        at_hand.note_tiled(seconds)
        if at_hand.lowerings_at_hand(self.phase, 0.0) and self._record is not None:
            self._record.tiled_total += seconds
            consider(self._record, self.phase, seconds)

    def _run_tiled(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int, origin: int
    ) -> Faults:
        self.lowering = "tiled"
        return self._tiled.run(values, outs, lo, hi, origin)

    def _compiled(self) -> NumbaKernel | ChainKernel:
        if self._numba is None:
            if self.multiplies:
                from dnumpy.kernels.chain import ChainKernel

                self._numba = ChainKernel(self.phase, self._tiled)
            else:
                from dnumpy.kernels.numba import NumbaKernel

                self._numba = NumbaKernel(self.phase, self._tiled)
        return self._numba

    def _note_record(self, variant: Variant | Staged | Chain) -> Record:
        """Return the record of the program that is about to run."""
        record = self._record = record_of(variant)
        if not record.tiled_total and self._total:  # before there was a record
            record.tiled_total = self._total
            record.tiled.observe(self._early.value or 0.0, 1)
            consider(record, self.phase, self._expected)
        return record

    def prepare_for(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> None:
        """Compile what runs on values that lie as these do."""
        variant = self._compiled().variant_for(values, outs)
        if variant is not None:
            self._note_record(variant)

    def _run_measured(self, asked: _Asked, given: _Given) -> Faults:
        record, variant = asked
        values, outs, lo, hi, origin, told = given
        started = time.perf_counter()
        if record.state == "ready" and record.prefers_numba():
            self.lowering = self._compiled().lowering
            fresh = not variant.ready  # its first run sets up what later ones reuse
            done = variant.run(values, outs, lo, hi, origin, told)
            faults = set() if done else self._tiled.run(values, outs, lo, hi, origin)
            if not fresh:
                elements = (hi - lo) * self._per_row
                record.numba.observe(time.perf_counter() - started, elements)
            return faults
        worked = time.thread_time()
        faults = self._run_tiled(values, outs, lo, hi, origin)
        took = time.perf_counter() - started, time.thread_time() - worked
        self._ran_measured(record, took, hi - lo)
        return faults

    def _ran_measured(
        self, record: Record, took: tuple[float, float], rows: int, threads: int = 1
    ) -> None:
        """Note how long rows took each of the threads, tiled: in all, and at work."""
        record.tiled.observe(took[0], rows * self._per_row / threads)
        seconds = took[1] * threads
        record.tiled_total += seconds
        consider(record, self.phase, seconds * self.phase.rows / max(rows, 1))


def _worth_compiling(phase: Phase) -> bool:
    """Say whether there is anything to fuse: one op alone runs as fast tiled, unless it folds.

    A fold that is tiled takes NumPy several calls a tile, with a partial result after each.
    """
    return len(phase.steps) > 1 or isinstance(phase.steps[0].op, Reduction)


def _elements_per_row(phase: Phase) -> int:
    first = len(phase.inputs)
    widest = max(
        prod(phase.shape_of(slot)[1:])
        for step_slot, step in enumerate(phase.steps, start=first)
        for slot in (step_slot, *step.args)
    )
    return max(widest, 1)


def _compile_for_later(
    kernel: AdaptiveKernel, values: Sequence[Any], outs: Sequence[np.ndarray]
) -> None:
    """Compile in the background what ran long enough, once: a later process begins with it.

    The arrays themselves may have been given back by then.
    """
    given, written = ([_alike(v) for v in some] for some in (values, outs))

    def prepare() -> None:
        if at_hand.is_imported_now():
            with at_hand.giving_way():
                kernel.prepare_for(given, written)

    threading.Thread(target=prepare, name="dnumpy-compile", daemon=True).start()


def _alike(value: Any) -> Any:
    """Return an array that lies as ``value`` does, over memory for one element."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    return as_strided(np.empty(1, value.dtype), value.shape, value.strides)
