"""The CuPy lowering: on a device where there is one, else with this machine in its place."""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, make
from dnumpy.kernels import cupy as lowering
from dnumpy.kernels.cupy import CupyKernel, partial_like
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.numba import TOLD
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from dnumpy.ops.table import CROSSPROD, MATMUL
from dnumpy.rewrite.phase import Access
from tests.kernels import cuda_on_host as host
from tests.kernels import cuda_phases, test_cuda_header
from tests.kernels import phases as p
from tests.kernels.cuda_cases import check as compare
from tests.kernels.cuda_cases import close, collected
from tests.kernels.cuda_phases import stored

if TYPE_CHECKING:
    from pathlib import Path

    from dnumpy.kernels.cuda_launch import Launch

pytestmark = pytest.mark.modeless("a kernel reads no settings")
needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="there is no g++")
needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="CuPy is not installed"
)
needs_device = pytest.mark.skipif(not lowering.device_count(), reason="there is no GPU")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Let this machine play the device."""
    monkeypatch.setenv("DNUMPY_CACHE_DIR", str(tmp_path))
    stand_in = host.HostCupy()
    monkeypatch.setattr(lowering, "_cupy", lambda: stand_in)
    monkeypatch.setattr(lowering, "_functions", {})
    function = lowering._function

    def noted(xp: Any, launch: Launch) -> Any:
        stand_in.kernels[launch.kernel.name] = launch.kernel
        return function(xp, launch)

    monkeypatch.setattr(lowering, "_function", noted)
    return stand_in


class OnDevice:
    """A kernel for arrays of the host, that runs on copies of them on a device."""

    def __init__(self, phase: Any, to_device: Any) -> None:
        self.phase, self.kernel, self.to_device = phase, CupyKernel(phase), to_device
        self.faults: set[tuple[int, str]] = set()

    def run(self, values: Any, outs: Any, lo: int, hi: int, origin: int = 0, told: Any = TOLD):
        held = [self.to_device(v) for v in values]
        made = [
            self.to_device(
                np.zeros(
                    (len(out), *partial_like(self.phase, o)[0]), partial_like(self.phase, o)[1]
                )
            )
            if o.partial
            else self.to_device(out)
            for out, o in zip(outs, self.phase.outputs, strict=True)
        ]
        found = self.kernel.run(held, made, lo, hi, origin, told)
        for out, one, output in zip(outs, made, self.phase.outputs, strict=True):
            array = one.get()
            if not output.partial:
                out[lo - origin : hi - origin] = array[lo - origin : hi - origin]
                continue
            tiles = -(-(hi - lo) // self.phase.tile_rows)
            dtype = partial_like(self.phase, output)[2]
            out[:tiles] = (array.view(dtype)[..., 0] if dtype.names else array)[:tiles]
        self.faults |= found
        return found


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
        found = bound.run(OnDevice(bound.phase, to_device), cuts)
        for got, want in zip(bound.settled(found), bound.settled(expected), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6 if want.itemsize == 4 else 1e-12)
    shifted = TiledKernel(bound.phase), OnDevice(bound.phase, to_device)
    lo = bound.phase.tile_rows
    values = [
        v[lo - 2 :] if read.access is Access.ROWS else v
        for v, read in zip(bound.values, bound.phase.inputs, strict=True)
    ]
    results = []
    for kernel in shifted:  # arrays that begin two rows before what is computed
        outs = [
            out[1:] if o.partial else out[lo - 2 :]
            for out, o in zip(bound.allocate(), bound.phase.outputs, strict=True)
        ]
        kernel.run(values, outs, lo, bound.phase.rows, lo - 2)
        results.append(
            [
                out if o.partial else out[2:]
                for out, o in zip(outs, bound.phase.outputs, strict=True)
            ]
        )
    for want, got, output in zip(*results, bound.phase.outputs, strict=True):
        assert close(got, want), output


@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_phases_run_with_a_device_that_this_machine_plays(device, program):
    check(program, host.on_device)


@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_faults_are_told_by_the_number_of_the_step(device):
    kernel = OnDevice(plain().phase, host.on_device)
    plain().run(kernel)
    assert kernel.faults == {(1, "divide by zero")}


@needs_compiler
def test_a_kernel_is_compiled_once_for_all_processes(device, monkeypatch):
    device.compiled.clear()
    for _ in range(2):
        monkeypatch.setattr(lowering, "_functions", {})  # as another process has them
        plain().run(OnDevice(plain().phase, host.on_device))
    assert device.compiled == ["80"]


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


def cupys(value: Any) -> Any:
    """Return an array as one of CuPy's; scalars stay."""
    import cupy

    return cupy.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.gpu
@needs_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_phases_run_on_a_device(program):
    check(program, cupys)


@pytest.mark.gpu
@needs_device
def test_a_device_tells_of_faults():
    kernel = OnDevice(plain().phase, cupys)
    plain().run(kernel)
    assert kernel.faults == {(1, "divide by zero")}


@pytest.mark.gpu
@needs_device
def test_random_phases_on_a_device_are_those_of_numpy():
    cases = []
    for bound, _, cuts in collected(st.one_of(p.programs(), p.short_folds()), 100, on_host=False):
        cases.append((bound, OnDevice(bound.phase, cupys), cuts))
    compare(cases)


@pytest.mark.gpu
@needs_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_loop_on_a_device_gives_numpys_values_at_the_edges():
    for names, bound in cuda_phases.elementwise():
        kernel = OnDevice(bound.phase, cupys)
        with np.errstate(all="ignore"):
            test_cuda_header.check(
                names, bound, bound.run(kernel), bound.run(TiledKernel(bound.phase))
            )
