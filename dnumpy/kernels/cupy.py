"""The CuPy lowering: a phase as one CUDA kernel on the current device, or as a few.

:mod:`~dnumpy.kernels.cuda_emit` writes the kernel, which NVRTC compiles, and which is kept on disk.
Arithmetic is IEEE's, subnormals included, with no contraction to fused multiply-adds;
``cuda_header`` says how far functions may be from NumPy's. Products of matrices and a few functions
of complex numbers are CuPy's, with what lies between them fused.

Arrays are CuPy's, of native byte order, on the current device; scalars are Python's or NumPy's. A
partial result of argmin and argmax is a record, which CuPy has not: its output is of bytes, with
one more axis for the bytes of a record (see :func:`partial_like`). CuPy is imported where a kernel
is first launched.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.cached import cache_directory
from dnumpy.kernels.cuda_launch import (
    Launcher,
    Look,
    check_constants,
    faults_of,
    lie_aligned,
)
from dnumpy.kernels.cuda_segments import Lone, Segment, compute, segments
from dnumpy.kernels.loops import kinds_of
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.object_files import made_once
from dnumpy.kernels.partials import partial_dtype
from dnumpy.kernels.tiled import TOLD
from dnumpy.ops.families import Contraction
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from dnumpy.kernels.cuda_emit import CudaKernel
    from dnumpy.kernels.cuda_launch import Launch
    from dnumpy.rewrite.phase import Output, Phase

    Faults = set[tuple[int, str]]

# CuPy's own modules flush subnormal numbers to zero, so that kernels are compiled without it
HERE = nullcontext()
OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
# names of CuPy's that are used here and in cuda_segments; a test sees that they exist
NAMES = (
    "asarray", "concatenate", "cuda.compiler.compile_using_nvrtc", "cuda.Device.compute_capability",
    "cuda.function.Module.get_function", "cuda.function.Module.load", "cuda.nvrtc.getVersion",
    "cuda.runtime.getDeviceCount", "empty", "matmul", "ndarray.data", "ndarray.flags", "zeros",
)  # fmt: skip


class Launched:
    """Work that the device has been given: ``faults`` waits for it and tells what it met."""

    def __init__(self, told: Sequence[tuple[Any, tuple[int, ...]]], keep: Sequence[Any]) -> None:
        self._told, self._keep = told, keep

    def faults(self) -> Faults:
        """Return the floating-point faults as (number of the step, NumPy's word for it)."""
        found: Faults = set()
        for flags, numbers in self._told:
            found |= {(numbers[k], word) for k, word in faults_of(flags.get())}
        self._told, self._keep = (), ()
        return found


class CupyKernel:
    """Runs one phase on a device, the current one by default; several threads may use it."""

    lowering = "cupy"

    def __init__(self, phase: Phase, device: AbstractContextManager[Any] = HERE) -> None:
        self.phase = phase
        self.device = device  # entered where it runs: the calling thread's own by default
        self._plans: dict[tuple[Any, ...], tuple[Segment | Lone, ...] | str] = {}
        self._launchers: dict[Any, Launcher] = {}
        self._lock = threading.Lock()

    def refusal(self, values: Sequence[Any]) -> str:
        """Return why these values cannot be computed with here, '' where they can."""
        kinds = kinds_of(self.phase, values)
        found = self._plans.get(kinds)
        if found is None:
            with self._lock:
                found = self._plans[kinds] = self._planned(kinds)
        return found if isinstance(found, str) else ""

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[Any],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Faults:
        """Compute rows ``lo:hi`` and wait for them; raises Unsupported where NumPy must do it.

        See the package docstring for what is bound to what; outputs share no memory with inputs.
        ``told`` has the kinds of ``np.errstate`` of which somebody wants to know; telling of
        underflow is unsupported.
        """
        with self.device:
            return self.launch(values, outs, lo, hi, origin, told).faults()

    def launch(
        self,
        values: Sequence[Any],
        outs: Sequence[Any],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Launched:
        """Do what :meth:`run` does, and do not wait."""
        why = self.refusal(values)
        if why:
            raise Unsupported(why)
        parts = self._plans[kinds_of(self.phase, values)]
        assert not isinstance(parts, str)
        if lo == hi:
            return Launched((), ())
        return _Run(self, values, outs, (lo, hi, origin), told).done(parts)

    def launcher(self, segment: Segment) -> Launcher:
        """Return what launches a segment's kernels."""
        key = (segment.phase, segment.kinds)
        found = self._launchers.get(key)
        if found is None:
            made = Launcher(segment.phase, segment.kinds)
            found = self._launchers.setdefault(key, made)
        return found

    def _planned(self, kinds: tuple[Any, ...]) -> tuple[Segment | Lone, ...] | str:
        whole = Segment(
            self.phase,
            tuple(range(len(self.phase.inputs))),
            tuple(output.slot for output in self.phase.outputs),
            tuple(range(len(self.phase.steps))),
            kinds,
        )
        try:
            self.launcher(whole)
        except Unsupported as why:
            return self._in_parts(kinds, str(why))
        return (whole,)

    def _in_parts(self, kinds: tuple[Any, ...], why: str) -> tuple[Segment | Lone, ...] | str:
        try:
            found = segments(self.phase, kinds)
            for part in found:
                if isinstance(part, Segment):
                    self.launcher(part)
        except Unsupported as still:
            return f"{why}; {still}" if str(still) != why else why
        return found


class _Run:
    """One run of a phase: slots and what they hold now, each from its first row on."""

    def __init__(
        self,
        kernel: CupyKernel,
        values: Sequence[Any],
        outs: Sequence[Any],
        rows: tuple[int, int, int],
        told: Collection[str],
    ) -> None:
        self.kernel, self.phase = kernel, kernel.phase
        self.rows, self.told = rows, told
        self.xp = _cupy()
        self.held: dict[int, tuple[Any, int]] = {}  # the array, and the row that it begins with
        lo, _, origin = rows
        for slot, (value, read) in enumerate(zip(values, self.phase.inputs, strict=True)):
            array = read.access is not Access.CONST and not isinstance(value, self.xp.ndarray)
            first = origin if read.access is Access.ROWS else lo
            self.held[slot] = (self.xp.asarray(value) if array else value, first)
        self.by_rows = [read.access is Access.ROWS for read in self.phase.inputs]
        self.by_rows += [True] * len(self.phase.steps)
        self.outs = {o.slot: k for k, o in enumerate(self.phase.outputs)}
        self.given = outs
        self.flags: list[tuple[Any, tuple[int, ...]]] = []
        self.keep: list[Any] = []

    def done(self, parts: Sequence[Segment | Lone]) -> Launched:
        for part in parts:
            if isinstance(part, Segment):
                self._launch(part)
            else:
                self._call(part)
        return Launched(self.flags, [*self.keep, *self.held.values()])

    def _launch(self, part: Segment) -> None:
        lo, hi, origin = self.rows
        launcher = self.kernel.launcher(part)
        check_constants(launcher.lowered, [self.held[s][0] for s in part.reads])
        for slot, output in zip(part.gives, part.phase.outputs, strict=True):
            self._place(slot, output)
        values = [self._from(slot, origin) for slot in part.reads]
        outs = [self._from(slot, origin) for slot in part.gives]
        aligned = lie_aligned(part.phase, values, outs, _address, lo - origin)
        looks = ([_look(self.xp, v) for v in values], [_look(self.xp, o) for o in outs])
        launch = launcher.launch(looks, hi - lo, self.told, aligned)  # type: ignore[arg-type]
        self._start(launch, part, launcher, values, outs)

    def _from(self, slot: int, origin: int) -> Any:
        """Return what a slot holds, as an array that begins with row ``origin`` of the phase."""
        value, first = self.held[slot]
        by_rows = slot >= len(self.phase.inputs) or (self.phase.inputs[slot].access is Access.ROWS)
        if not by_rows or first == origin or self._is_partial(slot):
            return value
        return _Shifted(value, first - origin)

    def _is_partial(self, slot: int) -> bool:
        at = self.outs.get(slot)
        return at is not None and self.phase.outputs[at].partial

    def _place(self, slot: int, output: Output) -> None:
        """Say where a slot that a segment gives is written to."""
        lo, hi, origin = self.rows
        if slot in self.outs:
            self.held[slot] = (self.given[self.outs[slot]], origin)
            return
        assert not output.partial
        step = self.phase.steps[slot - len(self.phase.inputs)]
        self.held[slot] = (self.xp.empty((hi - lo, *step.shape[1:]), step.dtype), lo)

    def _start(
        self,
        launch: Launch,
        part: Segment,
        launcher: Launcher,
        values: Sequence[Any],
        outs: Sequence[Any],
    ) -> None:
        lo, hi, origin = self.rows
        blocks, places = launch.blocks(hi - lo), [0, 0]
        if launch.kernel.tells:
            flags = self.xp.zeros(launcher.fault_words, np.uint32)
            self.flags.append((flags, part.numbers))
            places[0] = flags.data.ptr
        if launch.scratch:
            scratch = self.xp.empty(launch.scratch * blocks, np.uint8)
            self.keep.append(scratch)
            places[1] = scratch.data.ptr
        words = launch.filled(values, _address, outs, (lo, hi, origin), (places[0], places[1]))
        packed = words.view(np.dtype([("w", np.int64, len(words))]))  # one struct, passed by value
        _function(self.xp, launch)((blocks,), (launch.threads,), (packed,))

    def _call(self, part: Lone) -> None:
        lo, hi, _ = self.rows
        values, kinds = [], []
        for slot in part.step.args:
            value, first = self.held[slot]
            values.append(value[lo - first : hi - first] if self.by_rows[slot] else value)
            is_array = self.phase.is_array(slot)
            kinds.append(self.phase.dtype_of(slot) if is_array else type(value))
        found = compute(self.xp, part, values, kinds, self.phase)
        if part.slot not in self.outs:
            self.held[part.slot] = (found, lo)
            return
        out = self.given[self.outs[part.slot]]
        if self._is_partial(part.slot):
            out[: len(found)] = found
        else:
            out[lo - self.rows[2] : hi - self.rows[2]] = found
        self.held[part.slot] = (out, self.rows[2])


class _Shifted:
    """An array as if it began some rows earlier: only what a launch looks at."""

    def __init__(self, array: Any, rows: int) -> None:
        self.array, self.rows = array, rows
        self.strides = array.strides


def _look(xp: Any, value: Any) -> Look | None:
    array = value.array if isinstance(value, _Shifted) else value
    if not isinstance(array, xp.ndarray):
        return None
    return Look(array.shape, array.strides, array.flags.c_contiguous)


def _address(value: Any) -> int:
    if isinstance(value, _Shifted):
        shifted: int = value.array.data.ptr - value.rows * value.array.strides[0]
        return shifted
    address: int = value.data.ptr
    return address


def _cupy() -> Any:
    import cupy

    return cupy


def device_count() -> int:
    """Return how many devices CuPy can use: none where it is not installed."""
    try:
        return int(_cupy().cuda.runtime.getDeviceCount())
    except Exception as error:
        if isinstance(error, ImportError) or type(error).__name__ == "CUDARuntimeError":
            return 0
        raise


_functions: dict[tuple[str, int], Callable[..., Any]] = {}
_functions_lock = threading.Lock()


def _function(xp: Any, launch: Launch) -> Callable[..., Any]:
    """Return the compiled kernel on the current device."""
    kernel = launch.kernel
    key = (kernel.name, xp.cuda.Device().id)
    found = _functions.get(key)
    if found is None:
        with _functions_lock:
            module = xp.cuda.function.Module()
            module.load(_machine_code(xp, kernel))
            found = _functions[key] = module.get_function(kernel.name)
    return found


def _machine_code(xp: Any, kernel: CudaKernel) -> bytes:
    """Return what NVRTC makes of a kernel for the current device, kept on disk."""
    architecture = xp.cuda.Device().compute_capability
    versions = [architecture, *map(str, xp.cuda.nvrtc.getVersion())]
    path = cache_directory() / f"{kernel.name}-{'-'.join(versions)}.cubin"

    def make() -> bytes:
        made, _ = xp.cuda.compiler.compile_using_nvrtc(
            kernel.source, OPTIONS, architecture, f"{kernel.name}.cu"
        )
        return made if isinstance(made, bytes) else str(made).encode()

    return made_once(path, make)[0]


def partial_like(phase: Phase, output: Output) -> tuple[tuple[int, ...], np.dtype, np.dtype]:
    """Return shape and dtype of one tile's partial result on a device, and its dtype on the host.

    A device array of shape ``(tiles, *shape)`` and dtype ``uint8`` is seen on the host as records
    by ``.view(record).reshape(...)`` once it is there: their bytes are its last axis.
    """
    step = phase.steps[output.slot - len(phase.inputs)]
    shape = phase.partial_shape(step)
    if isinstance(step.op, Contraction):
        return shape, step.dtype, step.dtype
    dtype = partial_dtype(step, phase.dtype_of(step.args[0]))
    if dtype.names is None:
        return shape, dtype, dtype
    return (*shape, dtype.itemsize), np.dtype(np.uint8), dtype
