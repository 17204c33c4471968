"""Tasks on a device: which of them run there, and that they give there what the host gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.kernels import reference
from dnumpy.ops.einstein import SumParams
from dnumpy.ops.families import lookup
from dnumpy.ops.products import ProductParams
from dnumpy.plan.model import NodeRate
from dnumpy.plan.program import plan_rows
from dnumpy.plan.rates import phase_spec
from dnumpy.runtime import find, gpus, sending
from dnumpy.runtime.device_probe import HOST, cpu_profile, links_of
from dnumpy.runtime.devices import Devices
from dnumpy.runtime.on_device import OnDevice, OnHost
from tests.kernels import cuda_on_host as host
from tests.kernels.cupy_on_host import device_of_cupy
from tests.plan.test_rates import PROFILE
from tests.runtime import programs as p
from tests.runtime.paper_device import PaperDevice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dnumpy.kernels.device import Device

pytestmark = [
    pytest.mark.modeless("only the default mode has devices"),
    pytest.mark.skipif(host.COMPILER is None, reason="there is no g++"),
]


def word(args: tuple[Any, ...]) -> set[str]:
    """Return what a task's jobs compute: names of ops, ``phase`` for rows of a phase."""
    jobs = args[0] if type(args[0]) is tuple else args[:1]
    ops = [job.op.name if hasattr(job, "op") else "phase" for job in jobs if hasattr(job, "reads")]
    return set(ops)


class NotedHost(OnHost):
    """Notes which tasks a device leaves to the host."""

    def __init__(self, device: Device) -> None:
        super().__init__([device])
        self.ran: set[str] = set()

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        self.ran |= word(args)
        return super().__call__(function, *args)


class NotedDevice(OnDevice):
    """Notes which tasks a device is given."""

    def __init__(self, device: Device) -> None:
        self.left = NotedHost(device)
        super().__init__(device, self.left)
        self.given: set[str] = set()

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        self.given |= word(args)
        return super().__call__(function, *args)


class Shared(Devices):
    """The CPU computes some rows of each stage, or none, and the device the others."""

    embed_bytes = 0
    speeds: tuple[float, float]

    def plan(self, name: str, work: Any, granule: int, *_where_it_lies: Any) -> Any:
        given = zip((HOST, "gpu-0"), self.speeds, strict=True)
        rates = [NodeRate(node, 1.0 / speed) for node, speed in given if speed]
        return plan_rows(phase_spec(name, work), rates, granule, solver_below_seconds=float("inf"))

    def plan_run(self, sketch: Any) -> None:
        """Return None: stage by stage."""


@pytest.fixture(params=["paper", "cupy"])
def device(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Device:
    """A device on paper, and one that runs what CuPy would be asked for."""
    if request.param == "paper":
        return PaperDevice(room=1 << 40)
    return device_of_cupy(monkeypatch, tmp_path)


@pytest.fixture
def shared(device: Device, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NotedDevice]:
    """Return a function that lets the device compute, beside the CPU of a given speed."""
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(sending, "pays", lambda *_, **__: True)
    monkeypatch.setattr(Devices, "home_bytes", 0)
    monkeypatch.setattr("dnumpy.runtime.devices.EMBED_BYTES", 0)
    profiles = {HOST: cpu_profile(PROFILE), "gpu-0": replace(PROFILE, name="gpu-0", kind="gpu")}
    links = links_of({"gpu-0": ((1e-5, 1e-4, 1e-3), (1e-5, 1e-4, 1e-3))})

    def begin(cpu: float) -> NotedDevice:
        nodes = Shared([device], profiles, links)
        nodes.speeds = cpu, 1.0
        runner = nodes._on["gpu-0"] = NotedDevice(device)
        monkeypatch.setattr(gpus, "_found", [nodes])
        return runner

    return begin


def on(xp: Any, array: np.ndarray) -> Any:
    """Return an array, of dnumpy's one whose functions are computed where devices are."""
    return xp.at(array, xp.GPU(0)) if xp is dnumpy else array


RNG = np.random.default_rng(11)
X = RNG.standard_normal((403, 6))
Z = X + 1j * X[::-1]
N = RNG.integers(0, 40, 403)
MASK = RNG.random(403) < 0.4
F8 = np.dtype("f8")


def recorded(
    name: str, given: list[np.ndarray], params: Any, shape: tuple[int, ...]
) -> Callable[[Any], Any]:
    """Return a statement that is an op itself."""

    def statement(xp: Any) -> np.ndarray:
        if xp is np:
            return reference.apply(lookup(name), given, params, shape, F8)
        root = make(lookup(name), tuple([p.data(a) for a in given]), params, shape, F8)
        (nodes,) = gpus._found
        p.run([root], nodes)
        return p.values([root])[0]

    return statement


def masked(xp: Any) -> Any:
    x = on(xp, X) * 1.0
    x[x[:, 0] > 0] = 7.5
    x[on(xp, MASK)] = X[MASK] * 2
    return x


# statements, the ops in which they come to tasks, and those of them that the host computes
STATEMENTS: dict[str, tuple[Callable[[Any], Any], set[str], set[str]]] = {
    "axes moved": (lambda xp: xp.fft.fft(on(xp, Z), axis=0), {"permute", "gufunc"}, set()),
    "rows chosen by a mask": (
        lambda xp: on(xp, X)[on(xp, MASK)], {"counts", "compress"}, set(),
    ),
    "elements chosen by a mask": (
        lambda xp: on(xp, X)[on(xp, X > 0.5)], {"counts", "compress"}, set(),
    ),
    "written by a mask": (masked, {"put_mask"}, set()),
    "running sums of integers": (
        lambda xp: xp.cumsum(on(xp, N)), {"scan", "scan.before"}, set(),
    ),
    "running sums of narrow integers": (
        lambda xp: xp.cumsum(on(xp, N.astype("i4"))), {"scan", "scan.before"}, set(),
    ),
    "running sums of floats": (
        lambda xp: xp.cumsum(on(xp, X), axis=0),
        {"scan", "scan.before"}, {"scan", "scan.before"},
    ),
    "running sums along rows": (
        lambda xp: xp.cumsum(on(xp, N.reshape(31, 13)), axis=1), {"scan.along"}, set(),
    ),
    "dot": (lambda xp: on(xp, X[:, 0].copy()) @ on(xp, X[:, 1].copy()), {"product"}, set()),
    "bincount": (lambda xp: xp.bincount(on(xp, N), minlength=50), {"bincount"}, set()),
    "weighted bincount": (
        lambda xp: xp.bincount(on(xp, N), on(xp, X[:, 0].copy())),
        {"bincount"}, {"bincount"},
    ),
    "sums of products by rows": (
        recorded("einstein.rows", [X, X[0]], SumParams((True, False), "ij,j->i", F8), (403,)),
        {"einstein.rows"}, set(),
    ),
    "sums of products": (
        recorded("einstein.fold", [X, X], SumParams((True, True), "ij,ik->jk", F8), (6, 6)),
        {"einstein.fold"}, set(),
    ),
    "product by rows": (
        recorded("product.rows", [X, X[:6]], ProductParams((True, False), False, 64), (403, 6)),
        {"product.rows"}, set(),
    ),
    "places of a mask": (
        lambda xp: xp.nonzero(on(xp, MASK))[0], {"counts", "nonzero"}, {"nonzero"},
    ),
    "sorted rows": (lambda xp: xp.sort(on(xp, X), axis=1), {"sort_rows"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("cpu", [0.0, 0.6])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_device_gives_what_the_host_gives_and_leaves_it_only_what_is_stated(shared, name, cpu):
    statement, ops, left = STATEMENTS[name]
    runner = shared(cpu)
    found = statement(dnumpy)
    np.testing.assert_allclose(np.asarray(found), statement(np), rtol=1e-12, atol=1e-12)
    assert ops <= runner.given
    assert runner.left.ran & ops == left
