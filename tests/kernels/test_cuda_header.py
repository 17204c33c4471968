"""Every op of every dtype that CUDA kernels know gives NumPy's answers and NumPy's warnings.

The kernels' text is compiled for this machine, whose mathematical functions are within a few units
in the last place of NumPy's; the same text is given to NVIDIA's compiler.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dnumpy.expr.expr import make
from dnumpy.kernels import fast
from dnumpy.kernels.cuda_faults import WORDS as FAULT_WORDS
from dnumpy.kernels.cuda_header import header
from dnumpy.kernels.cuda_words import function_of
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from tests.kernels import cuda_on_host as host
from tests.kernels import cuda_phases, nvrtc
from tests.kernels import phases as p

pytestmark = pytest.mark.modeless("kernels' texts read no settings")
needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="there is no g++")
needs_nvrtc = pytest.mark.skipif(nvrtc.library() is None, reason="there is no NVRTC")

EXACT = frozenset({
    "add", "subtract", "multiply", "divide", "negative", "absolute", "fabs", "square", "sqrt",
    "reciprocal", "sign", "maximum", "minimum", "fmax", "fmin", "clip", "floor", "ceil",
    "trunc", "rint", "floor_divide", "remainder", "fmod", "divmod", "nextafter", "spacing",
    "heaviside", "copysign", "positive", "conjugate", "ldexp", "frexp", "modf", "where", "cast",
})  # fmt: skip
ULPS = 4  # of glibc, or a device, from NumPy's own loops
COMPLEX_ULPS = 8  # of products of such functions
# what glibc raises for a NaN, or C's standard lets it raise or not
SILENT = {("exp", "invalid value"), ("sin", "invalid value"), ("sinh", "invalid value")}

Item = tuple[list[str], Any, host.HostKernel]


@pytest.fixture(scope="module")
def items() -> list[Item]:
    """Phases that go through all loops, with their kernels, compiled together."""
    found = []
    for names, bound in cuda_phases.elementwise():
        kernel = host.HostKernel(bound.phase, bound.values)
        bound.run(kernel)
        found.append((names, bound, kernel))
    if host.COMPILER is not None:
        library = host.compiled(k for _, _, kernel in found for k in kernel.wanted.values())
        for _, _, kernel in found:
            kernel.library = library
    return found


def parts(array: np.ndarray) -> np.ndarray:
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def ulps(found: np.ndarray, expected: np.ndarray) -> Any:
    """Return by how many units in the last place results differ; NaN equals NaN."""
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected)).astype("f8")
        distance = np.abs(found.astype("f8") - expected.astype("f8")) / np.maximum(unit, 5e-324)
    return np.where(same, 0, distance)


def check(names: list[str], bound: p.Bound, found: list[np.ndarray], wanted: list[np.ndarray]):
    for name, got, want in zip(names, found, wanted, strict=True):
        of = (name, [str(v.dtype) for v in bound.values])
        if got.dtype.kind in "biu":
            assert np.array_equal(got, want), of
            continue
        got_parts, want_parts = parts(got), parts(want)
        most = ULPS
        if bound.values[0].dtype.kind == "c":
            most = COMPLEX_ULPS
        elif name.partition(".")[0] in EXACT:
            most = 0
        assert np.all(ulps(got_parts, want_parts) <= most), of
        zero = (got_parts == 0) & (want_parts == 0)
        if name[:4] not in {"maxi", "mini", "fmax", "fmin"}:  # which zero is the larger one?
            assert np.array_equal(np.signbit(got_parts[zero]), np.signbit(want_parts[zero])), of


@needs_compiler
def test_every_loop_gives_numpys_values_at_the_edges(items):
    for names, bound, kernel in items:
        with np.errstate(all="ignore"):
            check(names, bound, bound.run(kernel), bound.run(TiledKernel(bound.phase)))


@needs_compiler
def test_every_loop_tells_of_the_faults_that_numpy_tells_of(items):
    for names, bound, kernel in items:
        phase = bound.phase
        with np.errstate(all="ignore"):
            found = kernel.run(bound.values, bound.allocate(), 0, phase.rows)
            told = TiledKernel(phase).run(bound.values, bound.allocate(), 0, phase.rows)
        name_of = {o.slot - len(phase.inputs): n for o, n in zip(phase.outputs, names, strict=True)}
        expected = {fault for fault in told if fault[1] in FAULT_WORDS.values()}
        differ = {(name_of[step].partition(".")[0], word) for step, word in found ^ expected}
        assert differ <= (SILENT if bound.values[0].dtype.kind == "c" else set()), names


@needs_compiler
def test_who_is_told_nothing_pays_for_no_tests(items):
    kernels = []
    for _, bound, kernel in items:
        bound_kernel = host.HostKernel(bound.phase, bound.values)
        bound_kernel.run(bound.values, bound.allocate(), 0, bound.phase.rows, 0, ())
        (quiet,) = bound_kernel.wanted.values()
        assert "atomicOr" not in quiet.text
        assert kernel.wanted
        kernels.append(quiet)
    assert nvrtc.refusal(kernels) == ""


@pytest.mark.parametrize("name", fast.FUNCTIONS)
def test_every_fast_function_is_one_that_cuda_has(name):
    code = name.rpartition("_")[2]
    assert function_of(fast.plain(name), [code] * fast.FUNCTIONS[name].inputs, 0)


@pytest.mark.parametrize("name", ["fast_exp_f8", "fast_sin_f4", "fast_arctan2_f8"])
def test_who_is_content_with_less_has_the_devices_own_function(name):
    x = cuda_phases.stored(np.linspace(0.1, 2.0, 40).astype(name.rpartition("_")[2]))
    texts = []
    for each in (name, fast.plain(name)):
        root = make(lookup(each), (x,) * fast.FUNCTIONS[name].inputs, (), x.shape, x.dtype)
        (bound,) = p.bound([root], 1 << 12)
        kernel = host.HostKernel(bound.phase, bound.values)
        bound.run(kernel)
        texts.append({k.source for k in kernel.wanted.values()})
    assert texts[0] == texts[1]


def alone(bounds: list[p.Bound]) -> None:
    """Compare phases, each of which has one element's value everywhere: also its faults."""
    kernels = [host.HostKernel(bound.phase, bound.values) for bound in bounds]
    for bound, kernel in zip(bounds, kernels, strict=True):
        bound.run(kernel)
    library = host.compiled(k for kernel in kernels for k in kernel.wanted.values())
    for bound, kernel in zip(bounds, kernels, strict=True):
        kernel.library = library
        tiled, count = TiledKernel(bound.phase), bound.phase.rows
        with np.errstate(all="ignore"):
            found, expected = bound.run(kernel), bound.run(tiled)
            told = tiled.run(bound.values, bound.allocate(), 0, count)
        assert np.array_equal(found[0], expected[0], equal_nan=True), bound
        faults = kernel.run(bound.values, bound.allocate(), 0, count)
        assert faults == {f for f in told if f[1] in FAULT_WORDS.values()}, bound


@needs_compiler
def test_casts_to_integers_cut_off_and_warn_as_numpy_does():
    values = (-1.5, 300.0, -40000.0, 70000.0, 3e9, -3e9, 5e9, -1e18, 1e19, 1e20, np.nan)
    codes = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
    alone([cuda_phases.cast_phase(np.full(64, v), np.dtype(c)) for v in values for c in codes])


@needs_compiler
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "divide"])
def test_divisions_warn_pair_by_pair_as_numpy_does(name):
    pairs = itertools.product((0.0, 1.0, -2.5, 1e308, 1e-310, np.inf, np.nan), repeat=2)
    alone([cuda_phases.pair_phase(name, x, y) for x, y in pairs])


@needs_compiler
def test_halves_become_floats_and_floats_halves_as_numpy_has_it(tmp_path):
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        floats = np.concatenate(
            [
                every.astype(np.float64),
                every.astype(np.float64) * (1 + 2.0**-11),  # halfway between neighbours
                every.astype(np.float64) * (1 + 2.0**-11 + 2.0**-30),
                every.astype(np.float64) * (1 + 2.0**-12),
            ]
        )
        expected = floats.astype(np.float16)
    bound = cuda_phases.cast_phase(floats, np.dtype(np.float16))
    kernel = host.HostKernel(bound.phase, bound.values)
    bound.run(kernel)
    kernel.library = host.compiled(kernel.wanted.values())
    (found,) = bound.run(kernel)
    assert np.array_equal(found, expected, equal_nan=True)


@needs_nvrtc
@pytest.mark.parametrize(("architecture", "every"), [(70, 1), (80, 9), (90, 9)])
def test_every_loop_is_cuda(items, architecture, every):
    """Architectures differ in no line of the text, so that newer ones are given a part of it."""
    texts = {k.name: k.text for _, _, kernel in items[::every] for k in kernel.wanted.values()}
    source = "".join([header(complex_numbers=True), *texts.values()])
    assert nvrtc.complaints(source, architecture) == ""
