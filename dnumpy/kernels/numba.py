"""The Numba lowering: a phase as one compiled function, called for a range of rows.

Elementwise results are bit-equal to NumPy's: arithmetic is plain IEEE in the order written,
everything else runs NumPy's own inner loops by address. Floating-point sums go up a fixed tree
inside each tile, so that their bits depend on the phase alone. When a run has raised a
floating-point flag of which NumPy would tell the user, the range is run again with NumPy, which
then tells.
"""

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.expr.geometry import address_of, overlap
from dnumpy.kernels import codes
from dnumpy.kernels.emit import emit
from dnumpy.kernels.emit_past import LINE, LINES, streamed_bytes
from dnumpy.kernels.emit_rolled import emit_rolled
from dnumpy.kernels.flags import ALL_FLAGS, fenv, noting, tells_faults, to_be_told
from dnumpy.kernels.frames import Frame, lay_out
from dnumpy.kernels.helpers import helper_source
from dnumpy.kernels.layouts import (
    by_lines,
    called_as_by_numpy,
    layout,
    line_step,
    out_layouts,
    unit_axes,
    unit_step,
)
from dnumpy.kernels.loops import kinds_of
from dnumpy.kernels.lower import Program, Unsupported, lower
from dnumpy.kernels.parts import in_parts
from dnumpy.kernels.rolled import roll
from dnumpy.kernels.staged import Staged
from dnumpy.kernels.tiled import TOLD, Faults, TiledKernel
from dnumpy.kernels.unroll import Unrolled, unrolled
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.kernels.compile import Compiled
    from dnumpy.rewrite.phase import Phase

_MOST_LOOKS = 256
_MOST_LAUNCHES = 4  # ways in which operands lie that a kernel is told of without Python


class NumbaKernel:
    """Runs one phase; safe to run from several threads at once (scratch is per thread)."""

    lowering = "numba"

    def __init__(self, phase: Phase, tiled: TiledKernel | None = None) -> None:
        self.phase = phase
        self.tiled = tiled or TiledKernel(phase)
        self.unrolled = unrolled(phase)
        self._parts = in_parts(phase) if self.unrolled.phase is phase else None
        self._programs: dict[tuple[Any, ...], Program | None] = {}
        self._variants: dict[tuple[Any, ...], Variant] = {}
        self._known: dict[tuple[Any, ...], Variant | Staged | None] = {}  # by what values look like
        self.latest: Variant | None = None
        self._lock = threading.Lock()

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Faults:
        """Compute rows ``lo:hi``, compiling first where needed; what cannot be compiled runs tiled.

        ``told`` has the kinds of ``np.errstate`` of which somebody wants to know.
        """
        variant = self.variant_for(values, outs)
        if variant is not None and variant.run(values, outs, lo, hi, origin, told):
            return set()
        return self.tiled.run(values, outs, lo, hi, origin)

    def variant_for(
        self, values: Sequence[Any], outs: Sequence[np.ndarray]
    ) -> Variant | Staged | None:
        """Return the kernel for values that lie as these do, None where only NumPy will do."""
        latest = self.latest
        if latest is not None and latest.fits(values, outs):
            return latest
        looks = tuple([_look(v) for v in (*values, *outs)])
        try:
            found = self._known[looks]
        except KeyError:
            found = self._find(values, outs)
            if len(self._known) >= _MOST_LOOKS:
                self._known.clear()
            self._known[looks] = found
        if type(found) is Variant:
            self.latest = found
        return found

    def _find(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> Variant | Staged | None:
        found = self._written(values, outs)
        if found is not None:
            return found
        apart = [k for k, out in enumerate(outs) if not out.flags.c_contiguous]
        if not apart:
            return None
        row = [np.empty((1, *out.shape[1:]), out.dtype) for out in outs]
        found = self._written(values, [row[k] if k in apart else o for k, o in enumerate(outs)])
        return None if found is None else Staged(found, self.phase, outs, apart)

    def _written(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> Variant | None:
        """Return the kernel that writes to outputs which lie as these do, None if none can."""
        if self._parts is not None:
            found = self._variant_of(self._parts, values, outs)
            if found is not None:
                return found
        return self._variant_of(self.unrolled, values, outs)

    def _variant_of(
        self, form: Unrolled, values: Sequence[Any], outs: Sequence[np.ndarray]
    ) -> Variant | None:
        phase, values, outs = form.phase, form.values(values), form.outs(outs)
        kinds = kinds_of(phase, values)
        where = (form is self._parts, kinds)
        if where not in self._programs:
            self._programs[where] = _lowered(phase, kinds, form.targets)
        program = self._programs[where]
        targets = form.targets or [(k, None) for k in range(len(outs))]
        if program is None:
            return None
        layouts = tuple(layout(phase, program, k, value) for k, value in enumerate(values))
        written = None if "" in layouts else out_layouts(phase, program, outs, targets)
        lines = None
        if not form.targets and (written is None or "g" in layouts):
            lines = by_lines(phase, program, values, outs)
        if lines is not None:
            program, layouts = lines
            written = None
        elif written is None:
            return None
        if not called_as_by_numpy(phase, program, layouts, values):
            return None
        key = (where, layouts, written)
        found = self._variants.get(key)
        if found is None:
            with self._lock:
                made = Variant(form, program, layouts, written)
                found = self._variants.setdefault(key, made)
        return found


def _look(value: Any) -> Any:
    """Return all that matters of a value for how a kernel reads it."""
    if isinstance(value, np.ndarray):
        return value.shape, value.strides, value.dtype.num, value.flags.aligned
    return type(value)


def supports(phase: Phase, values: Sequence[Any]) -> bool:
    """Say whether ``phase`` has a Numba lowering for these values."""
    flat = unrolled(phase)
    return _lowered(flat.phase, kinds_of(flat.phase, flat.values(values))) is not None


def _lowered(phase: Phase, kinds: tuple[Any, ...], targets: Any = None) -> Program | None:
    if not tells_faults():
        return None
    try:
        program = lower(phase, kinds)
    except Unsupported:
        return None
    halves = {v for v, k in program.outputs if targets is not None and targets[k][1] is not None}
    called = {
        v for n in program.nodes if n.kind != "map" for v in (n.value, *[a.value for a in n.args])
    }
    return program if halves.isdisjoint(called) else None  # loops take adjacent elements


class Variant:
    """One kernel bound to a phase and to the way its inputs lie; compiled at the first run.

    Runs over operands that lie as others did are told where these are by the module in C, if all
    they have to be told is addresses, strides and numbers.
    """

    def __init__(
        self,
        source: Unrolled,
        program: Program,
        layouts: tuple[str, ...],
        written: tuple[str, ...] | None,
    ) -> None:
        self.unrolled = source
        self.phase = source.phase
        self.program = program
        self.layouts = layouts
        apart = {k: how for k, how in enumerate(written or ()) if how != "d"}
        rolled = None if written is None else roll(program)
        self.kernel = (
            emit(program, layouts, apart, by_lines=written is None)
            if rolled is None
            else emit_rolled(program, rolled, layouts, apart)
        )
        plain = tuple((k, None) for k in range(len(self.phase.inputs)))
        self.plain = source.sources == plain and source.targets is None
        self._position = {what: k for k, what in enumerate(self.kernel.fields)}
        self._streamed = self._position.get(("streams",))
        self._constants = tuple(map(self._constant, self.kernel.constants))
        self.reads = tuple(self._read(k) for k in self._inputs())
        self._steps = tuple(
            (what == "step", k, at)
            for (what, k), at in [f for f in self._position.items() if len(f[0]) == 2]
            if what in {"step", "ostep"}
        )
        self._apart = tuple(
            (what == "apart", k, at)
            for (what, k), at in [f for f in self._position.items() if len(f[0]) == 2]
            if what in {"apart", "oapart"}
        )
        self.writes = tuple(map(self._written, range(len(self.phase.outputs))))
        self._whole = tuple(k for k, (partial, *_) in enumerate(self.writes) if not partial)
        whole = {k for k, read in enumerate(self.phase.inputs) if read.access is Access.WHOLE}
        self._tells_all = all(at is not None or k in whole for k, _, at in self.reads)
        self._frames: list[Frame] = []  # those that no run has now
        self.launches: tuple[Any, ...] = ()  # the latest first
        self._code: Compiled | None = None
        self._static: np.ndarray | None = None

    def _inputs(self) -> list[int]:
        """Return the inputs that the kernel reads from memory."""
        return [
            k
            for k, layout in enumerate(self.layouts)
            if layout != "c" and ("input", k) in self._position
        ]

    def _read(self, k: int) -> tuple[int, int, int | None]:
        """Return an input, and where its address and its stride go where those are all it takes."""
        plain = self.phase.inputs[k].access is Access.ROWS and self.layouts[k] != "g"
        return k, self._position["input", k], self._position["stride", k] if plain else None

    def _written(self, k: int) -> tuple[bool, int | None, int | None]:
        """Return whether an output is partial, and where its address and its stride go."""
        partial = self.phase.outputs[k].partial
        names = ("partial", "pstride") if partial else ("output", "ostride")
        at, stride_at = (self._position.get((name, k)) for name in names)
        return partial, at, stride_at

    @property
    def source(self) -> str:
        """The text that is compiled, equal for phases that differ in extents and constants."""
        return self.kernel.source

    @property
    def key(self) -> str:
        """What is known of its speed is known of all variants with this key."""
        return self.kernel.source

    @property
    def helpers(self) -> tuple[str, ...]:
        """The texts of the helpers that the kernel calls."""
        return tuple(helper_source(*what[1:]) for what in self._position if what[0] == "helper")

    @property
    def ready(self) -> bool:
        """Whether it is compiled."""
        return self._code is not None

    def compile(self) -> Compiled:
        """Compile or load the machine code, and the helpers that it calls."""
        if self._code is None:
            static = np.zeros(max(len(self.kernel.fields), 1), np.int64)
            for what, position in self._position.items():
                if what[0] == "helper":
                    static[position] = _helper(*what[1:]).address
                elif what[0] in {"loop", "data"}:
                    static[position] = self._loop_address(*what)
            self._put(static, ("noting",), noting())
            self._put(static, ("rows",), self.phase.tile_rows)
            self._put(static, ("width",), self.program.width)
            self._put(static, ("count",), self.kernel.count)
            if self._steps:
                *lines, along = self.program.rest
                self._put(static, ("lines",), prod(lines))
                self._put(static, ("along",), along)
            self._static = static
            self._code = codes.machine_code(self.kernel.source)
        return self._code

    def _put(self, fields: np.ndarray, what: tuple[Any, ...], number: int) -> None:
        position = self._position.get(what)
        if position is not None:
            fields[position] = number

    def _loop_address(self, which: str, name: str, dtypes: tuple[str, ...]) -> int:
        for node in self.program.nodes:
            loop = node.loop
            if loop is not None and (node.name, tuple(d.str for d in loop.dtypes)) == (
                name,
                dtypes,
            ):
                return loop.function if which == "loop" else loop.data
        raise KeyError(name)

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> bool:
        """Compute rows ``lo:hi``; False means that NumPy must compute them (again)."""
        if not self.plain:
            values, outs = self.unrolled.values(values), self.unrolled.outs(outs)
        for launch in self.launches:
            raised = launch(values, outs, lo, hi, origin)
            if raised >= 0:
                break
        else:
            found = self._run_bound(values, outs, lo, hi, origin)
            if found is None:
                return False
            raised = found
        return not raised or not to_be_told(raised, told, truncates=self.program.truncates)

    def fits(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> bool:
        """Say whether this is known to be the kernel for values that lie as these do."""
        if self.plain:
            for launch in self.launches:
                if launch.fits(values, outs):
                    return True
        return False

    def _run_bound(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int, origin: int
    ) -> int | None:
        """Run, and return the floating-point flags raised; None means that NumPy must."""
        code = self.compile()
        frame = self.take_frame()
        try:
            keep = self.bind(frame, values, outs, lo, hi, origin)
            if keep and overlap(keep, outs):
                return None
            flags = fenv()
            frame.noted[0] = 0
            flags.feclearexcept(ALL_FLAGS)
            code(address_of(frame.fields), lo, hi)
            raised: int = flags.fetestexcept(ALL_FLAGS) | int(frame.noted[0])
        except OverflowError:  # a Python integer beyond the dtype: NumPy knows what that means
            return None
        finally:
            self._frames.append(frame)
        if native.built and self._tells_all:
            self._keep_launch(code, values, outs)
        return raised

    def launch_for(
        self, values: Sequence[Any], outs: Sequence[np.ndarray], frames: int
    ) -> Any | None:
        """Return what the module in C runs over all that lies as these do, on so many threads.

        None where operands have to be bound in Python.
        """
        if not native.built or not self._tells_all or not self.ready:
            return None
        self._keep_launch(self.compile(), values, outs)
        found = next((x for x in self.launches if x.fits(values, outs)), None)
        if found is not None and len(self._frames) < frames:
            self.give_frames([self.take_frame() for _ in range(frames)])
        return found

    def _keep_launch(
        self, code: Compiled, values: Sequence[Any], outs: Sequence[np.ndarray]
    ) -> None:
        """Let the module in C run what lies as these do from now on."""
        read, steps = self._reads_by_address(values), self._line_steps(values, outs)
        if read is None or not all(type(out) is np.ndarray and out.ndim for out in outs):
            return
        reads, fixed = read
        if any(launch.fits(values, outs) for launch in self.launches):
            return  # and had other numbers, or no frame at hand
        writes = [
            (partial, *[-1 if at is None else at for at in places])
            for partial, *places in self.writes
        ]
        constants = [(k, known, np.dtype(code).char == "d") for k, known, code in self._constants]
        streamed = self._streamed
        launch = native.Launch(
            code.address,
            tuple(values),
            tuple(outs),
            reads,
            tuple(writes),
            tuple(constants),
            (-1, False) if streamed is None else (streamed, self._streams(outs)),
            (*fixed, *steps, *self._steps_apart(values, outs)),
            self._frames,
        )
        self.launches = (launch, *self.launches[: _MOST_LAUNCHES - 1])

    def _reads_by_address(
        self, values: Sequence[Any]
    ) -> tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...]] | None:
        """Return where the address and the stride go of all that is read, and strides that are 0.

        So is that of what is read whole, the same for all rows; its address alone is told. None
        where that has to be spread out first.
        """
        reads, fixed = [], []
        for k, at, stride_at in self.reads:
            value = values[k]
            if type(value) is not np.ndarray:
                return None
            if stride_at is not None:
                reads.append((k, at, stride_at))
                continue
            spreads = k not in self.program.whole_scalars
            if spreads and self.program.flat:
                return None
            if spreads and address_of(self._spread(value, 1)) != address_of(value):
                return None
            reads.append((k, at, native.WHOLE))
            fixed.append((self._position["stride", k], 0))
        return tuple(reads), tuple(fixed)

    # binding

    def take_frame(self) -> Frame:
        """Return a frame that no run has; :meth:`give_frames` takes it back."""
        try:
            return self._frames.pop()
        except IndexError:  # each thread that runs has one
            assert self._static is not None
            tile = self.phase.tile_rows
            return lay_out(self.kernel, self.program, tile, self._position, self._static)

    def give_frames(self, frames: Sequence[Frame]) -> None:
        """Keep frames for the next runs."""
        self._frames.extend(frames)

    def partials(self, outs: Sequence[np.ndarray]) -> tuple[tuple[int, int], ...]:
        """Return where the addresses go of outputs with an entry for each tile, and its bytes."""
        return tuple(
            (at, out.strides[0])
            for (partial, at, _), out in zip(self.writes, outs, strict=True)
            if partial and at is not None
        )

    def places(self) -> tuple[tuple[bool, int], ...]:
        """Return for each output if it has an entry for each tile, and where its address goes."""
        return tuple((partial, -1 if at is None else at) for partial, at, _ in self.writes)

    def stays_near(self, frame: Frame) -> None:
        """Let nothing be written past the caches: it is copied at once."""
        if self._streamed is not None:
            frame.fields[self._streamed] = 0

    def bind(
        self,
        frame: Frame,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int,
    ) -> list[np.ndarray]:
        """Enter what this run reads and writes; return what is read, to be kept alive meanwhile."""
        if self.kernel.constants:
            self._bind_constants(frame, values)
        keep, fields = [], frame.fields
        for k, at, stride_at in self.reads:
            value = values[k]
            if stride_at is None:
                rows = min(self.phase.tile_rows, hi - lo)
                keep.append(self._bind_input(frame, k, value, rows, origin))
                continue
            stride = value.strides[0]
            fields[at] = address_of(value) - origin * stride
            fields[stride_at] = stride
            keep.append(value)
        for (partial, start, step), out in zip(self.writes, outs, strict=True):
            stride = out.strides[0]
            if start is not None:
                fields[start] = address_of(out) - (0 if partial else origin * stride)
            if step is not None:
                fields[step] = stride
        for at, step in (*self._line_steps(values, outs), *self._steps_apart(values, outs)):
            fields[at] = step
        if self._streamed is not None:
            fields[self._streamed] = self._streams(outs)
        return keep

    def _line_steps(
        self, values: Sequence[Any], outs: Sequence[np.ndarray]
    ) -> list[tuple[int, int]]:
        """Return where the steps go between lines of what is walked by lines, and these."""
        found = []
        for is_read, k, at in self._steps:
            whole = is_read and self.phase.inputs[k].access is Access.WHOLE
            array = self._spread(values[k], 1)[None] if whole else (values if is_read else outs)[k]
            step = line_step(array, self.program.rest)
            assert step is not None  # as was looked at when it was written
            found.append((at, step))
        return found

    def _steps_apart(
        self, values: Sequence[Any], outs: Sequence[np.ndarray]
    ) -> tuple[tuple[int, int], ...]:
        """Return where the steps go between elements of what is not side by side, and these."""
        return tuple(
            [
                (at, unit_step(self.program, (values if is_read else outs)[k], is_read=is_read))
                for is_read, k, at in self._apart
            ]
        )

    def _streams(self, outs: Sequence[np.ndarray]) -> bool:
        """Say whether to write past the caches: outputs are large, and so are their units.

        A few lines each time are not worth it, least where a unit is walked several times.
        """
        written = 0
        for k in self._whole:
            written += outs[k].nbytes
        if written < streamed_bytes():
            return False
        least = LINES * LINE if len(self.kernel.schedule.passes) > 1 else 4 * LINE
        rows = self.phase.tile_rows if self.program.flat else 1
        whole = [outs[k] for k in self._whole]
        return not any(out.ndim > 1 and rows * abs(out.strides[0]) < least for out in whole)

    def _constant(self, constant: tuple[int, str]) -> tuple[int, Any, str]:
        """Return which input a constant is, and its code; or -1 where the phase itself says it."""
        value, code = constant
        where = self.program.constants[value]
        if where.step is None:
            return where.index, None, code
        return -1, self.phase.steps[where.step].params[where.index], code

    def _bind_constants(self, frame: Frame, values: Sequence[Any]) -> None:
        last = frame.constants
        for position, (index, fixed, code) in enumerate(self._constants):
            given = fixed if index < 0 else values[index]
            if given is last[position] and not isinstance(given, np.ndarray):
                continue
            last[position] = None
            dtype = np.dtype(code)
            number = (
                np.array(given, dtype)
                if isinstance(given, int)
                else np.asarray(given).astype(dtype)
            )
            cell = frame.cells[16 * position : 16 * position + dtype.itemsize]
            cell[:] = np.frombuffer(number.tobytes(), np.uint8)
            last[position] = given

    def _bind_input(
        self, frame: Frame, k: int, value: np.ndarray, rows: int, origin: int
    ) -> np.ndarray:
        given = self.phase.inputs[k]
        if given.access is Access.WHOLE:
            stride = 0
            whole = k not in self.program.whole_scalars
            value = self._spread(value, rows) if whole else np.asarray(value)
        else:
            stride = value.strides[0]
        address, fields = address_of(value), frame.fields
        fields[self._position["input", k]] = address - origin * stride
        fields[self._position["stride", k]] = stride
        if self.layouts[k] == "g":
            axes = unit_axes(self.program, value) or [(1, value.itemsize)]
            plan = frame.plans[k]
            plan[2:4] = value.itemsize, len(axes)
            plan[4 : 4 + 2 * len(axes)] = [n for axis in axes for n in axis]
        return value

    def _spread(self, value: np.ndarray, rows: int) -> np.ndarray:
        """Return a whole operand as the unit walks it: one row, or the rows of a flat unit."""
        rest = self.program.rest
        if value.ndim > len(rest):
            value = value.reshape(value.shape[1:])  # a leading axis of extent 1
        shape = (rows, *rest) if self.program.flat else rest
        return np.ascontiguousarray(np.broadcast_to(value, shape))


def _helper(name: str, code: str) -> Compiled:
    return codes.machine_code(helper_source(name, code))
