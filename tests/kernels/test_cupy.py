"""The CuPy lowering: on a device where there is one, else with this machine in its place."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dnumpy.expr.expr import Const, make
from dnumpy.kernels import cupy as lowering
from dnumpy.kernels.cupy import CupyKernel, partial_like
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from dnumpy.ops.table import CROSSPROD, MATMUL
from dnumpy.rewrite.phase import Access
from tests.kernels import cuda_on_host as host
from tests.kernels import phases as p
from tests.kernels.cuda_phases import stored

if TYPE_CHECKING:
    from dnumpy.kernels.cuda_launch import Launch

pytestmark = pytest.mark.modeless("a kernel reads no settings")
needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="there is no g++")
needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="CuPy is not installed"
)
needs_device = pytest.mark.skipif(not lowering.device_count(), reason="there is no GPU")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let this machine play the device."""
    stand_in = host.HostCupy()
    monkeypatch.setattr(lowering, "_cupy", lambda: stand_in)
    monkeypatch.setattr(lowering, "_functions", {})
    function = lowering._function

    def noted(xp: Any, launch: Launch) -> Any:
        stand_in.kernels[launch.kernel.name] = launch.kernel
        return function(xp, launch)

    monkeypatch.setattr(lowering, "_function", noted)
    return stand_in


def run(bound: p.Bound, to_device: Any, cuts: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Return what the lowering gives, as arrays of the host, and the faults that it tells."""
    phase, kernel = bound.phase, CupyKernel(bound.phase)
    found, faults = [], set()
    edges = [0, *[c * phase.tile_rows for c in cuts], phase.rows]
    for lo, hi in itertools.pairwise(edges):
        origin = max(0, lo - 2)  # some rows before what is computed
        outs = []
        for output in phase.outputs:
            if output.partial:
                shape, dtype, _ = partial_like(phase, output)
                tiles = -(-(hi - lo) // phase.tile_rows)
                outs.append(to_device(np.zeros((tiles, *shape), dtype)))
            else:
                step = phase.steps[output.slot - len(phase.inputs)]
                outs.append(to_device(np.zeros((hi - origin, *step.shape[1:]), step.dtype)))
        values = [
            to_device(v[origin:hi] if read.access is Access.ROWS else v)
            for v, read in zip(bound.values, phase.inputs, strict=True)
        ]
        faults |= kernel.run(values, outs, lo, hi, origin)
        found.append(
            [
                on_host(out, phase, output, lo - origin)
                for out, output in zip(outs, phase.outputs, strict=True)
            ]
        )
    return [np.concatenate(parts) for parts in zip(*found, strict=True)], faults


def on_host(out: Any, phase: Any, output: Any, skipped: int) -> np.ndarray:
    array = out.get()
    if not output.partial:
        return array[skipped:]
    dtype = partial_like(phase, output)[2]
    return array.view(dtype)[..., 0] if dtype.names else array


def softmax() -> p.Bound:
    x = stored(np.random.default_rng(0).standard_normal((90, 33)))
    e = p.apply("exp", p.apply("subtract", x, p.fold("maximum", x, (1,), keepdims=True)))
    (bound,) = p.bound([p.apply("divide", e, p.fold("add", e, (1,), keepdims=True))], 4096)
    return bound


def picks() -> p.Bound:
    x = stored(np.random.default_rng(1).integers(0, 9, (70, 5)).astype("f4"))
    total = p.fold("add", x, (0, 1), keepdims=False)
    (bound,) = p.bound([p.pick("argmin", x, 0, keepdims=False), total], 200)
    return bound


def layers() -> p.Bound:
    """Return products of matrices with something fused before, between and after them."""
    rng = np.random.default_rng(2)
    x, a, b = (stored(rng.standard_normal(s)) for s in ((900, 6), (6, 5), (5, 4)))
    hidden = make(MATMUL, (p.apply("multiply", x, Const(0.5)), a), (), (900, 5), np.dtype("f8"))
    active = p.apply("maximum", hidden, Const(0.0))
    last = p.apply("tanh", make(MATMUL, (active, b), (), (900, 4), np.dtype("f8")))
    gram = make(CROSSPROD, (active, last), (), (5, 4), np.dtype("f8"))
    (bound,) = p.bound([last, gram], 1 << 13)
    return bound


def powers() -> p.Bound:
    z = stored(np.array([1 + 2j, 0.5j, -3.0, 2 - 1j] * 9))
    power = p.apply("power", p.apply("add", z, Const(1.0)), Const(2.5))
    (bound,) = p.bound([p.apply("multiply", power, Const(2.0))], 128)
    return bound


def plain() -> p.Bound:
    x = stored(np.arange(1000, dtype=np.float32))
    (bound,) = p.bound([p.apply("divide", x, p.apply("subtract", x, Const(7.0)))], 1 << 9)
    return bound


PROGRAMS = (softmax, picks, layers, powers, plain)


def check(program: Any, to_device: Any) -> None:
    bound = program()
    expected = bound.run(TiledKernel(bound.phase))
    for cuts in ((), (1, 3)):
        found, _ = run(bound, to_device, cuts)
        for got, want in zip(bound.settled(found), bound.settled(expected), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6 if want.itemsize == 4 else 1e-12)


@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_phases_run_with_a_device_that_this_machine_plays(device, program):
    check(program, host.on_device)


@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_faults_are_told_by_the_number_of_the_step(device):
    bound = plain()
    _, faults = run(bound, host.on_device)
    assert faults == {(1, "divide by zero")}


@needs_compiler
def test_what_neither_a_kernel_nor_cupy_computes_is_refused_by_name(device):
    x = stored(np.arange(1, 400))
    (bound,) = p.bound([make(lookup("power"), (x, x), (), (399,), np.dtype("i8"))], 1 << 10)
    kernel = CupyKernel(bound.phase)
    assert "power" in kernel.refusal(bound.values)
    with pytest.raises(Unsupported, match="power"):
        kernel.run(bound.values, bound.allocate(), 0, 399)


@needs_compiler
def test_underflow_is_left_to_the_host(device):
    bound = plain()
    values = [host.on_device(v) for v in bound.values]
    outs = [host.on_device(o) for o in bound.allocate()]
    with pytest.raises(Unsupported, match="underflow"):
        CupyKernel(bound.phase).run(values, outs, 0, bound.phase.rows, 0, ("under",))


@needs_cupy
def test_cupy_has_the_names_that_are_used():
    import cupy

    for name in lowering.NAMES:
        functools.reduce(getattr, name.split("."), cupy)
    assert callable(operator.attrgetter("RawModule.get_function")(cupy))


@pytest.mark.gpu
@needs_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_phases_run_on_a_device(program):
    import cupy

    check(program, lambda v: cupy.asarray(v) if isinstance(v, np.ndarray) else v)


@pytest.mark.gpu
@needs_device
def test_a_device_tells_of_faults():
    import cupy

    _, faults = run(plain(), lambda v: cupy.asarray(v) if isinstance(v, np.ndarray) else v)
    assert faults == {(1, "divide by zero")}
