"""What a CUDA kernel is launched with: which variant, how many threads, and its argument's words.

Nothing here knows CuPy: arrays are told by shape, strides and address, so that the tests launch the
same kernels on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.cuda_emit import THREADS, CudaKernel, Variant, can_load_lanes, emit
from dnumpy.kernels.cuda_faults import BITS, PER_STEP, STEPS_PER_WORD, WORDS
from dnumpy.kernels.cuda_lower import Fold, Lowered, Section, lower
from dnumpy.kernels.lower import Unsupported
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.rewrite.phase import Phase

WARP = 32
PER_THREAD = 4  # elements of a unit, at least, where rows are short
FEW_UNITS = 264  # of which a large device computes all at once, and has room
MOST_THREADS = 1024  # of a block where units are few
LARGE_SHARE = 16  # elements per thread, at least, for so many threads
MOST_BLOCKS = 1 << 16
MOST_BLOCKS_WITH_SCRATCH = 1 << 12
MOST_NARROW = 1 << 30  # elements that 32-bit index arithmetic is good for
LANE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Look:
    """What matters of an array for how it is read or written; ``contiguous`` in C order."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with its launch shape and words, save what differs from run to run.

    ``inputs`` and ``outputs`` have (number, word, bytes from row to row); ``constants`` have
    (input, word, code); ``scratch`` is the bytes of scratch for each block, at word ``scratch_at``.
    """

    kernel: CudaKernel
    words: np.ndarray
    threads: int
    unit_rows: int
    inputs: tuple[tuple[int, int, int], ...]
    outputs: tuple[tuple[int, int, int], ...]
    constants: tuple[tuple[int, int, str], ...]
    scratch: int
    scratch_at: int

    def blocks(self, rows: int) -> int:
        """Return how many blocks compute so many rows."""
        if self.kernel.blocks:
            units = -(-rows // self.unit_rows)
            return min(units, MOST_BLOCKS_WITH_SCRATCH if self.scratch else MOST_BLOCKS)
        elements = rows * self.kernel.lowered.width // max(self.kernel.variant.lanes, 1)
        return max(1, min(-(-elements // self.threads), MOST_BLOCKS))

    def filled(
        self,
        values: Sequence[Any],
        addresses: Callable[[Any], int],
        outs: Sequence[Any],
        rows: tuple[int, int, int],
        places: tuple[int, int],
    ) -> np.ndarray:
        """Return the words of a run over rows ``lo:hi`` of arrays that begin with row ``origin``.

        ``places`` are the addresses of the words for faults and of the scratch memory.
        """
        lo, hi, origin = rows
        words = self.words.copy()
        words[:3] = places[0], lo, hi - lo
        for k, at, stride in self.inputs:
            words[at] = addresses(values[k]) + (lo - origin) * stride
        for k, at, stride in self.outputs:
            words[at] = addresses(outs[k]) + (lo - origin) * stride
        for k, at, code in self.constants:
            words[at : at + 2] = cell(values[k], code)
        if self.scratch:
            words[self.scratch_at] = places[1]
        return words


class Launcher:
    """The launches of one phase for one kind of inputs; raises Unsupported where there are none."""

    def __init__(self, phase: Phase, kinds: tuple[Any, ...]) -> None:
        self.lowered: Lowered = lower(phase, kinds)
        self.phase = phase
        self._lanes = can_load_lanes(self.lowered)
        self._launches: dict[tuple[Any, ...], Launch] = {}
        self._kernels: dict[Variant, CudaKernel] = {}

    @property
    def fault_words(self) -> int:
        """Words of 32 bits that tell the faults of all steps."""
        return -(-len(self.phase.steps) // STEPS_PER_WORD)

    def launch(
        self,
        looks: tuple[Sequence[Look | None], Sequence[Look]],
        rows: int,
        told: Collection[str],
        aligned: bool,
    ) -> Launch:
        """Return the launch for arrays that look so; ``aligned`` ones lie on 16 bytes."""
        bits = told_bits(told)
        wide = rows * self.lowered.width > MOST_NARROW
        key = (tuple(looks[0]), tuple(looks[1]), bits, wide, aligned)
        found = self._launches.get(key)
        if found is None:
            found = self._launches[key] = self._made(looks, bits, wide=wide, aligned=aligned)
        return found

    def kernel(self, variant: Variant) -> CudaKernel:
        """Return the kernel of a variant."""
        if variant not in self._kernels:
            self._kernels[variant] = emit(self.lowered, variant)
        return self._kernels[variant]

    def _made(
        self,
        looks: tuple[Sequence[Look | None], Sequence[Look]],
        told: int,
        *,
        wide: bool,
        aligned: bool,
    ) -> Launch:
        given, outs = looks
        phase = self.phase
        linear = frozenset(
            k
            for k, (look, read) in enumerate(zip(given, phase.inputs, strict=True))
            if look is not None and read.access is Access.ROWS and look.contiguous
        )
        dense = frozenset(
            k
            for k, (look, out) in enumerate(zip(outs, phase.outputs, strict=True))
            if look.contiguous and not out.partial
        )
        by_rows = {k for k, read in enumerate(phase.inputs) if read.access is Access.ROWS}
        whole = linear >= by_rows and len(dense) == len(phase.outputs) and aligned
        lanes = self._lanes if whole else 0
        threads = threads_of_block(self.lowered)
        kernel = self.kernel(Variant(wide, told, linear, dense, lanes, threads))
        return _Binding(kernel, given, outs).launch()


def lie_aligned(
    phase: Phase,
    values: Sequence[Any],
    outs: Sequence[Any],
    addresses: Callable[[Any], int],
    skipped: int,
) -> bool:
    """Say whether vectors can be loaded from, and stored to, what lies ``skipped`` rows on."""
    arrays = [v for v, r in zip(values, phase.inputs, strict=True) if r.access is Access.ROWS]
    arrays += [v for v, o in zip(outs, phase.outputs, strict=True) if not o.partial]
    return not any((addresses(v) + skipped * v.strides[0]) % LANE_BYTES for v in arrays)


def told_bits(told: Collection[str]) -> int:
    """Return the faults of ``np.errstate`` as bits; underflow leaves no trace to tell it by."""
    if "under" in told:
        msg = "telling of underflow"
        raise Unsupported(msg)
    return sum(bit for name, bit in BITS.items() if name in told)


def faults_of(words: Sequence[int]) -> set[tuple[int, str]]:
    """Return what the fault words say: (number of the step, NumPy's word) for each."""
    found = set()
    for number, word in enumerate(words):
        for place in range(STEPS_PER_WORD):
            bits = int(word) >> place * PER_STEP
            step = number * STEPS_PER_WORD + place
            found |= {(step, name) for bit, name in WORDS.items() if bits & bit}
    return found


def cell(value: Any, code: str) -> np.ndarray:
    """Return a scalar as two words, in the dtype that the kernel reads it in."""
    dtype = np.dtype(code)
    try:
        number = (
            np.array(value, dtype) if isinstance(value, int) else np.asarray(value).astype(dtype)
        )
    except OverflowError as error:
        msg = f"{value!r} as {dtype}"
        raise Unsupported(msg) from error
    return np.frombuffer(number.tobytes().ljust(16, b"\0"), np.int64)


class _Binding:
    """The words of a kernel for arrays that look in a certain way."""

    def __init__(
        self, kernel: CudaKernel, given: Sequence[Look | None], outs: Sequence[Look]
    ) -> None:
        self.kernel, self.lowered, self.given, self.outs = kernel, kernel.lowered, given, outs
        self.phase = kernel.lowered.phase
        lowered, phase = self.lowered, self.phase
        self.unit_rows = rows_of_unit(lowered)
        self.threads = kernel.variant.threads
        if kernel.blocks:
            self.threads = WARP
            while self.threads < min(kernel.variant.threads, self.unit_rows * lowered.width):
                self.threads *= 2
        self.scratch_at: dict[int, int] = {}
        self.scratch = 0
        for slot, home in lowered.homes.items():
            fold = lowered.steps[slot]
            assert isinstance(fold, Fold)
            if home is None:
                self.scratch_at[slot] = self.scratch
                entries = self.unit_rows * prod(phase.shape_of(slot)[1:])
                self.scratch += -(-entries * int(fold.stored[1:]) // LANE_BYTES) * LANE_BYTES

    def launch(self) -> Launch:
        words = np.zeros(self.kernel.size, np.int64)
        inputs, outputs, constants, scratch = [], [], [], 0
        for what, at in self.kernel.fields:
            match what:
                case ("input", k):
                    inputs.append((k, at, self._row_step(k)))
                case ("output", k):
                    partial = self.phase.outputs[k].partial
                    outputs.append((k, at, 0 if partial else self.outs[k].strides[0]))
                case ("constant", k, code):
                    constants.append((k, at, code))
                case ("parameter" | "start" | "joined", *_):
                    words[at : at + 2] = cell(self._scalar(what), what[-1])
                case ("scratch",):
                    scratch = at
                case ("flags" | "lo" | "rows",):
                    pass
                case _:
                    words[at] = self._number(what)
        return Launch(
            self.kernel, words, self.threads, self.unit_rows, tuple(inputs), tuple(outputs),
            tuple(constants), self.scratch, scratch,
        )  # fmt: skip

    def _row_step(self, k: int) -> int:
        look = self.given[k]
        assert look is not None
        return look.strides[0] if self.phase.inputs[k].access is Access.ROWS else 0

    def _scalar(self, what: tuple[Any, ...]) -> Any:
        if what[0] == "parameter":
            return self.phase.steps[what[1]].params[what[2]]
        fold = self.lowered.steps[what[1]]
        assert isinstance(fold, Fold)
        return fold.start if what[0] == "start" else fold.joined

    def _number(self, what: tuple[Any, ...]) -> int:
        match what:
            case ("number" | "rest", value):
                return int(value)
            case ("stride", k, axis):
                look = self.given[k]
                assert look is not None
                return look.strides[axis]
            case ("ostride", k, axis):
                return self.outs[k].strides[axis]
            case ("walked", number, axis):
                return self.lowered.sections[number].shape[axis]
            case ("width" | "kept" | "folded" | "lanes" as name, number):
                return self._of_section(name, self.lowered.sections[number])
            case _:
                return self._of_scratch(what)

    def _of_scratch(self, what: tuple[Any, ...]) -> int:
        match what:
            case ("unit rows",):
                return self.unit_rows
            case ("extent", slot, axis):
                return self.phase.shape_of(slot)[axis]
            case ("entries", slot):
                return prod(self.phase.shape_of(slot)[1:])
            case ("scratch at", slot):
                return self.scratch_at[slot]
            case ("scratch step",):
                return self.scratch
        raise KeyError(what)

    def _of_section(self, name: str, section: Section) -> int:
        numbers = {"width": prod(section.shape[1:]), "kept": section.kept}
        numbers |= {"folded": section.folded, "lanes": self._lanes(section)}
        return numbers[name]

    def _lanes(self, section: Section) -> int:
        """Return how many threads share an entry: as many as there are to spare."""
        if section.strict:
            return 1
        rows = self.unit_rows
        entries = section.kept * (1 if section.partial else rows)
        elements = section.folded * (rows if section.partial else 1)
        most = min(max(1, self.threads // entries), elements)
        return 1 << (most.bit_length() - 1)


def rows_of_unit(lowered: Lowered) -> int:
    """Return the rows of which a block of threads takes care at a time."""
    phase = lowered.phase
    if lowered.partial:
        return phase.tile_rows
    return max(1, min(PER_THREAD * THREADS // lowered.width, phase.rows))


def threads_of_block(lowered: Lowered) -> int:
    """Return the most threads of a block: more where few units have many elements each.

    What follows from the phase alone is the same for every partition, and so is the order of sums.
    """
    if not lowered.folds:
        return THREADS
    rows = rows_of_unit(lowered)
    few = -(-lowered.phase.rows // rows) < FEW_UNITS
    return MOST_THREADS if few and rows * lowered.width >= MOST_THREADS * LARGE_SHARE else THREADS


def check_constants(lowered: Lowered, values: Sequence[Any]) -> None:
    """Raise Unsupported for exponents of integers that NumPy refuses."""
    for k in lowered.nonnegative:
        if not np.asarray(values[k]) >= 0:
            msg = "a negative power of integers"
            raise Unsupported(msg)
