"""Programs of the user's on this machine's CPU and a GPU, which here is one on paper."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.cost import OP_CLASSES
from dnumpy.kernels.cupy import device_count
from dnumpy.runtime import device_probe, find, gpus, sending
from dnumpy.runtime.device_probe import HOST, cpu_profile, device_profile, links_of, way_to
from dnumpy.runtime.devices import Devices
from tests.plan.test_rates import PROFILE
from tests.runtime.paper_device import PaperDevice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.cost import DeviceProfile

pytestmark = pytest.mark.modeless("only the default mode has devices")


@pytest.fixture(scope="module")
def profile() -> Iterator[DeviceProfile]:
    """A profile measured on little data: NumPy plays the device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_probe, "ELEMENTS", 1 << 14)
        patch.setattr(device_probe, "SIDE", 64)
        patch.setattr(device_probe, "MOST_BYTES", 1 << 21)
        patch.setattr(device_probe, "LARGE", 1 << 20)
        device = PaperDevice()
        yield device_profile(device, cpu_profile(PROFILE), way_to(device))


@pytest.fixture
def gpu(profile: DeviceProfile, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperDevice]:
    """A device that is worth it for whatever is recorded, and does all of it."""
    device = PaperDevice(room=1 << 40)
    links = links_of({device.name: ((1e-5, 1e-4, 1e-3), (1e-5, 1e-4, 1e-3))})
    nodes = Devices([device], {HOST: cpu_profile(PROFILE), device.name: profile}, links)
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(sending, "pays", lambda *_, **__: True)
    monkeypatch.setattr(Devices, "home_bytes", 0)
    monkeypatch.setattr(gpus, "_found", [nodes])
    return device


def test_a_profile_of_a_device_is_one(profile: DeviceProfile) -> None:
    profile.verify()
    assert profile.kind == "gpu"
    assert {c for c, _ in dict(profile.ns_per_element)["tiled"]} == set(OP_CLASSES)
    way = (1e-5, 1e-4, 1e-3), (2e-5, 2e-4, 2e-3)
    links = links_of({"gpu-0": way, "gpu-1": way})
    assert links.seconds(HOST, "gpu-0", 1e6) > 0
    assert links.seconds("gpu-0", "gpu-1", 1e6) > links.seconds("gpu-0", HOST, 1e6)


def programs(xp: Any) -> list[Any]:
    x = xp.arange(600.0).reshape(60, 10)
    y = xp.sqrt(x) * 2 + x[::-1]
    z = xp.where(y > 20, y, -y)
    grid = xp.zeros((40, 12))
    grid[0] = 1.0
    for _ in range(3):
        grid[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2])
    z[3:7, ::2] += 5
    picked = z[z > 30]
    return [
        z.sum(),
        z.mean(axis=0),
        z.max(axis=1),
        xp.sort(z.ravel())[::7],
        z @ z.T,
        grid,
        picked.sum(),
        xp.cumsum(y, axis=0)[-1],
        y.T[2:5],
        xp.argmax(y, axis=1),
        xp.concatenate([y[:5], z[-5:]]),
        xp.sort(y, axis=1)[::9],
        y[xp.arange(60)[::-1] // 2],
        xp.take_along_axis(y, xp.argsort(y, axis=1), axis=1)[3],
        xp.diff(y, axis=0).std(),
        xp.einsum("ij,kj->ik", y, y)[:3],
        xp.fft.fft(y, axis=1)[4],
        xp.linalg.eigh(xp.stack([z[:10] @ z[:10].T] * 3))[0],
        xp.linalg.solve(xp.eye(10) * 9 + z[:10] / 1e3, xp.ones(10)),
        (y > 3).any(axis=1),
        z.astype("f4").std(),
        (xp.array(np.arange(900, dtype="g")) / 7)[::100],
        xp.bincount((x.ravel() % 7).astype(int)),
    ]


def test_programs_give_what_numpy_gives(gpu: PaperDevice) -> None:
    for got, want in zip(programs(dnumpy), programs(np), strict=True):
        mine = np.asarray(got)
        assert mine.dtype == want.dtype
        assert mine.shape == want.shape
        np.testing.assert_allclose(mine, want, rtol=1e-9 if mine.dtype != "f4" else 1e-5)
    assert gpu.phases


def test_arrays_stay_on_the_device_until_somebody_looks(gpu: PaperDevice) -> None:
    a = dnumpy.array(np.linspace(0.0, 1.0, 4000))
    b = dnumpy.exp(a) * 2
    engine.flush()
    c = (b + 1) * b
    engine.flush()
    assert gpu.phases
    assert not gpu.fetched
    want = np.exp(np.linspace(0.0, 1.0, 4000)) * 2
    np.testing.assert_allclose(np.asarray(c), (want + 1) * want)


@pytest.mark.gpu
@pytest.mark.skipif(not device_count(), reason="there is no GPU, or no CuPy")
def test_programs_on_this_machines_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(sending, "pays", lambda *_, **__: True)
    data = np.random.default_rng(3).normal(size=(3000, 70))
    x = dnumpy.at(data, dnumpy.GPU(0))
    assert x.device == "gpu-0"
    y = dnumpy.exp(x - x.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    want = np.exp(data - data.max(axis=1, keepdims=True))
    want /= want.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(y.T @ x), want.T @ data, rtol=1e-9, atol=1e-9)
    for got, numpys in zip(programs(dnumpy), programs(np), strict=True):
        np.testing.assert_allclose(np.asarray(got), numpys, rtol=1e-9)


def test_explain_and_predict_name_the_device(gpu: PaperDevice) -> None:
    x = dnumpy.at(np.linspace(0.0, 1.0, 4000), dnumpy.GPU(0))
    y = dnumpy.exp(x) * 2
    assert "gpu-0" in str(dnumpy.explain(y))
    foreseen = y.predict()
    assert foreseen.seconds > 0
    assert "gpu-0" in foreseen.bytes
    assert not gpu.phases  # nothing ran
    engine.flush()
    assert "gpu-0" in str(dnumpy.explain(y))


def test_writes_are_seen_through_views_as_numpys_are(gpu: PaperDevice) -> None:
    def program(xp: Any) -> Any:
        a = xp.arange(100.0) + 1
        v = a[10:50:3]
        v *= 2
        a[60:70] = v[:10]
        b = a.reshape(10, 10).T
        b[2] += a[:10]
        return xp.stack([a, a * 0 + v.sum()])

    np.testing.assert_array_equal(np.asarray(program(dnumpy)), program(np))
    assert gpu.phases


def test_there_is_none_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_found", [])
    monkeypatch.setattr(gpus, "_possible", [])
    monkeypatch.setattr(gpus, "SIGNS", ())
    assert not gpus.might_be()
    assert gpus.devices_here() is None


def test_a_gpu_that_cannot_be_used_is_told_of_once_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            msg = "CUDA driver version is insufficient for CUDA runtime version"
            raise RuntimeError(msg)

    monkeypatch.setattr(gpus, "_found", [])
    monkeypatch.setattr(gpus, "_possible", [])
    monkeypatch.setattr(gpus, "_has_driver", lambda: True)
    monkeypatch.setattr(gpus.importlib.util, "find_spec", lambda _: True)
    monkeypatch.setitem(sys.modules, "dnumpy.kernels.cupy_device", Broken())
    with pytest.warns(RuntimeWarning, match=r"insufficient.*dnumpy\[gpu-cuda12\]"):
        assert gpus.devices_here() is None
    assert gpus.devices_here() is None
    assert not gpus.might_be()


def test_the_cpu_alone_computes_where_that_is_asked_for(
    gpu: PaperDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "device", "cpu")
    assert float((dnumpy.arange(1000.0) * 2).sum()) == 999000.0
    assert not gpu.phases
    with pytest.raises(ValueError, match=r"config\.device = 'tpu'"):
        config.device = "tpu"
