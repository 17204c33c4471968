"""The functions of :mod:`~dnumpy.runtime.tasks` on a device with memory of its own.

A task of the device reads pieces wherever they lie, and gives pieces in the device's memory. What
the device has no kernel for runs on the host, with its operands brought there. What its memory does
not suffice for is tried piece by piece (:mod:`~dnumpy.runtime.in_pieces`), then on the host, and a
warning says so.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.errors import DeviceMemoryWarning
from dnumpy.kernels.lower import Unsupported
from dnumpy.ops.table import CROSSPROD, MATMUL
from dnumpy.runtime import tasks
from dnumpy.runtime.block_calls import block_of, check_block, check_partials, partial_of
from dnumpy.runtime.branches import Branch, Branches, put_on
from dnumpy.runtime.folds import folded, gathered, reports_of
from dnumpy.runtime.in_pieces import blocks_in_pieces, rows_in_pieces
from dnumpy.runtime.operands import Literal, Made, Read, cut_inside
from dnumpy.runtime.placed import run_placed
from dnumpy.runtime.products import put_beside
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.kernels.device import Device
    from dnumpy.kernels.kernel import Kernel
    from dnumpy.kernels.tiled import Faults
    from dnumpy.runtime.halves import Run
    from dnumpy.runtime.operands import Bindings, Ref, Take, Window
    from dnumpy.runtime.placed import PlaceJob
    from dnumpy.runtime.products import BesideJob


class Mirror(NamedTuple):
    """Rows of a home array that lie on a device too."""

    device: Any
    host: np.ndarray


class Afar:
    """An array on a device, of which the host takes the rows that it reads."""

    __slots__ = ("array", "device")

    def __init__(self, array: Any, device: Device) -> None:
        self.array = array
        self.device = device

    def __getitem__(self, index: Any) -> Afar:
        """Return a part, which lies there too."""
        return Afar(self.array[index], self.device)

    def here(self) -> np.ndarray:
        """Return a copy in the memory of this process."""
        return self.device.get(self.array)


class OnHost:
    """Runs tasks on the host that read what lies on devices."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = tuple(devices)

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a task with what it reads brought here: of operands, the rows that it takes."""
        if function in _ANYWHERE:
            return function(*args)
        jobs = args[0] if args and type(args[0]) is tuple else args[:1]
        takes = bool(jobs) and all(hasattr(job, "reads") for job in jobs)
        return function(*[self.brought(a, lazily=takes) for a in args])

    def brought(self, value: Any, *, lazily: bool = False) -> Any:
        """Return a value with all arrays in it that lie on devices in the memory of this process.

        Where that is done ``lazily``, once somebody takes rows of them.
        """
        kind = type(value)
        if kind is np.ndarray:
            return value
        if kind is Mirror:
            return value.host
        if kind is Made:
            if all(type(rows) is np.ndarray for rows in value.rows):
                return value
            rows = tuple([self.brought(r, lazily=lazily) for r in value.rows])
            return Made(rows, *value[1:])
        if kind is tuple or kind is list:
            return kind([self.brought(v, lazily=lazily) for v in value])
        for device in self.devices:
            if device.holds(value):
                return Afar(value, device) if lazily else device.get(value)
        return value


# what looks at no row
_ANYWHERE = frozenset(
    {tasks.rows_of, tasks.partial_of, tasks.report_of, gathered, folded, reports_of}
)

# what may be done for some of the rows at a time
_IN_PIECES: dict[Callable[..., Any], Callable[..., Made]] = {
    tasks.run_rows: rows_in_pieces,
    tasks.run_blocks: blocks_in_pieces,
}


class OnDevice:
    """Runs tasks on a device, on the host where the device cannot."""

    def __init__(self, device: Device, host: OnHost) -> None:
        self.device = device
        self.host = host
        self._ours: dict[Callable[..., Any], Callable[..., Made]] = {
            tasks.run_rows: self._rows,
            tasks.run_update: self._update,
            tasks.run_whole: self._whole,
            tasks.run_fold: self._fold,
            tasks.run_blocks: self._blocks,
            tasks.run_partials: self._partials,
            tasks.run_partials_together: self._partials_together,
            run_placed: self._placed,
            put_beside: self._beside,
        }

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a task."""
        run = self._ours.get(function)
        if run is None:
            return self.host(function, *args)
        ways: list[tuple[Callable[..., Made], str]] = [(run, ""), (run, "")]
        if function in _IN_PIECES:
            pieces = partial(_IN_PIECES[function], self)
            ways.append((pieces, "it computes piece by piece what it was to at once"))
        told = ""
        for way, how in ways:
            try:
                made = way(*args)
            except Unsupported:
                break
            except self.device.exhausted as problem:
                told = str(problem)  # itself would hold the arrays of what failed
            else:
                if how:
                    self._tell(how, told)
                return made
            self.device.trim()  # what was kept for reuse may have been in the way
            self.device.allow(None)  # and so may be a plan that was off
        else:
            self._tell("the host computes what it was to", told)
        return self.host(function, *args)

    def _tell(self, what: str, why: str) -> None:
        device = self.device
        warnings.warn(
            f"the memory of {device.name} ({device.describes}) does not suffice, and {what}: {why}",
            DeviceMemoryWarning,
            stacklevel=3,
        )

    # operands

    def values(self, bindings: Bindings, data: Sequence[Ref]) -> list[Any]:
        """Return a task's operands in order, arrays in the device's memory."""
        memories = [self._assembled(window, data) for window in bindings.windows]
        return [
            read.value if isinstance(read, Literal) else self._seen(read, memories[read.window])
            for read in bindings.reads
        ]

    def _assembled(self, window: Window, data: Sequence[Ref]) -> Any:
        pieces = [self._taken(take, data) for take in window]
        return self.device.joined(pieces) if len(pieces) > 1 else pieces[0]

    def _taken(self, take: Take, data: Sequence[Ref]) -> Any:
        """Return the rows that ``take`` names; no others travel."""
        piece = data[take.arg] if take.item is None else data[take.arg].rows[take.item]
        if type(piece) is Mirror:
            piece = piece.device if self.device.holds(piece.device) else piece.host
        if isinstance(piece, StoredRows):
            piece = piece.rows(take.rows)
        elif take.rows is not None:
            piece = piece[take.rows]
        piece = cut_inside(piece, take.inner)
        return piece if self.device.holds(piece) else self.device.put(self.host.brought(piece))

    def _seen(self, read: Read, memory: Any) -> Any:
        for geometry in read.views:
            memory = self.device.view(geometry, memory)
        memory = memory if read.rows is None else memory[read.rows]
        return cut_inside(memory, read.inner)

    # tasks

    def _rows(self, job: tasks.RowJob, *data: Ref) -> Made:
        started = time.perf_counter()
        kernel = self.device.kernel(job.phase)
        outs = [self.room(job, number) for number in range(len(job.phase.outputs))]
        left, faults = self._fill(kernel, job, outs, data)
        rows = tuple([out for out in outs if out is not None])
        return self._made(rows, left, started, faults, kernel.lowering)

    def _fill(
        self, kernel: Kernel, job: tasks.RowJob, outs: Sequence[Any], data: Sequence[Ref]
    ) -> tuple[tuple[Any, ...], Faults]:
        """Compute the job's rows into ``outs``; return partial outputs and faults."""
        phase = job.phase
        folds = {k: tasks.TileFold(phase, o) for k, o in enumerate(phase.outputs) if o.partial}
        faults: set[tuple[int, str]] = set()
        for run in job.runs:
            first = run[0] - job.lo
            into = [None if out is None else out[first:] for out in outs]
            tiles, met = self.computed(kernel, job, run, into, data)
            faults |= met
            for k, fold in folds.items():
                faults |= fold.take_in(tiles[k], run[0])
        return tuple([fold.left() for fold in folds.values()]), faults

    def computed(
        self, kernel: Kernel, job: tasks.RowJob, run: Run, outs: Sequence[Any], data: Sequence[Ref]
    ) -> tuple[dict[int, np.ndarray], Faults]:
        """Compute a run's rows into ``outs``; return what its tiles leave behind, and faults.

        That is here, for each output that is None.
        """
        lo, hi, bindings = run
        device, outputs = self.device, job.phase.outputs
        values = self.values(bindings, data)
        rooms = {
            k: tasks.TileFold(job.phase, outputs[k]).room(lo, hi)
            for k, out in enumerate(outs)
            if out is None
        }
        into = [
            device.empty(rooms[k].shape, rooms[k].dtype) if out is None else out
            for k, out in enumerate(outs)
        ]
        faults = kernel.run(values, into, lo, hi, lo)
        del values  # what came from elsewhere, before more of it comes
        tiles = {  # of argmin's, records: bytes on a device
            k: device.get(into[k]).view(room.dtype).reshape(room.shape) for k, room in rooms.items()
        }
        return tiles, faults

    def room(self, job: tasks.RowJob, number: int) -> Any:
        """Return memory for the rows of an output, None for one that is folded."""
        output = job.phase.outputs[number]
        if output.partial:
            return None
        step = job.phase.steps[output.slot - len(job.phase.inputs)]
        return self.device.empty((job.hi - job.lo, *step.shape[1:]), step.dtype)

    def _update(self, job: tasks.UpdateJob, *data: Ref) -> Made:
        started = time.perf_counter()
        *base, value = self.values(job.bindings, data)
        if job.region is None:
            return self._made((value,), (), started)
        out = self.device.empty(job.shape, job.dtype)
        if base:
            self.device.assign(out, base[0])
        self.device.assign(self.device.view(job.region, out), value)
        return self._made((out,), (), started)

    def _placed(self, job: PlaceJob, *data: Ref) -> Made:
        started = time.perf_counter()
        device, rows = self.device, job.job
        kernel = device.kernel(rows.phase) if rows is not None else None
        block = device.empty(job.shape, job.dtype)
        if job.base is not None:  # copied whole: memory of a device is written at its full rate
            device.assign(block, self.values(job.base, data)[0])
        if rows is None or kernel is None:
            return self._made((block,), (), started)
        targets = [device.view(region, block) for region in job.regions]
        exact, places = rows.hi - rows.lo == job.filled, iter(targets)
        outs = [
            next(places) if exact and not output.partial else self.room(rows, number)
            for number, output in enumerate(rows.phase.outputs)
        ]
        left, faults = self._fill(kernel, rows, outs, data)
        if not exact:
            made = [out for out in outs if out is not None]
            for target, values in zip(targets, made, strict=True):
                device.assign(target, values[job.skipped : job.skipped + job.filled])
        return self._made((block,), left, started, faults, kernel.lowering)

    def _beside(self, job: BesideJob, *data: Ref) -> Made:
        started = time.perf_counter()
        out, at = self.device.empty(job.shape, job.dtype), 0
        for block in self.values(job.bindings, data):
            self.device.assign(out[:, at : at + block.shape[1]], block)
            at += block.shape[1]
        return self._made((out,), (), started)

    def _whole(self, job: tasks.WholeJob, *data: Ref) -> Made:
        started = time.perf_counter()
        values = self.values(job.bindings, data)
        out = self.device.apply(job.op, values, job.params, job.shape, job.dtype)
        return self._made((out,), (), started)

    def _blocks(self, job: tasks.BlockJob, *data: Ref) -> Made:
        started = time.perf_counter()
        device = self.device
        check_block(job)
        out = device.empty(job.shape, job.dtype)
        for lo, hi, bindings in job.blocks:
            found = block_of(device, job, lo, hi, self.values(bindings, data))
            device.assign(out[lo - job.lo : hi - job.lo], found)
        return self._made((out,), (), started)

    def _partials(self, job: tasks.PartialJob, *data: Ref) -> Made:
        return self._partials_together((job,), *data)

    def _partials_together(self, jobs: tuple[tasks.PartialJob, ...], *data: Ref) -> Made:
        started = time.perf_counter()
        for job in jobs:
            check_partials(job)
        folds = [tasks.BlocksFold(job) for job in jobs]
        for fold in folds:
            for number, (_, _, bindings) in enumerate(fold.job.blocks):
                values = self.values(bindings, data)
                fold.add(number, partial_of(self.device, fold.job, values))
        return self._made((), tuple([fold.left() for fold in folds]), started)

    def _fold(self, job: tasks.FoldJob, *data: Ref) -> Made:
        started = time.perf_counter()
        left, right = self.values(job.bindings, data)
        op = MATMUL if job.across else CROSSPROD
        granule = right.shape[0] if job.any_order else job.granule
        found: list[Branch] = []
        total: list[Any] = []
        for k, lo in enumerate(range(0, right.shape[0], max(granule, 1))):
            rows = slice(lo, lo + granule)
            block = (left[:, rows] if job.across else left[rows], right[rows])
            product = self.device.get(self.device.apply(op, block, (), job.shape, job.dtype))
            if job.any_order:
                tasks.add_to(total, product)
            else:
                put_on(np.add, job.total, found, Branch(0, job.first + k, product[None]))
        products = total if job.any_order else Branches(job.total, tuple(found))
        return self._made((), (products,), started)

    def _made(
        self,
        rows: tuple[Any, ...],
        partials: tuple[Any, ...],
        started: float,
        faults: Collection[tuple[int, str]] = (),
        lowering: str = "cuda",
    ) -> Made:
        """Return what a task gives, once the device is done with it."""
        self.device.wait()
        return Made(rows, partials, time.perf_counter() - started, frozenset(faults), lowering)
