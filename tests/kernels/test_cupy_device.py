"""A GPU as the runtime sees it, played by this machine: generated CUDA, run end to end."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import cupy_device
from dnumpy.kernels.lower import Unsupported
from dnumpy.runtime import devices, find, gpus, sending
from dnumpy.runtime.device_probe import HOST, cpu_profile, links_of
from dnumpy.runtime.devices import Devices
from tests.kernels import cuda_on_host as host
from tests.kernels.cupy_on_host import device_of_cupy
from tests.plan.test_rates import PROFILE

if TYPE_CHECKING:
    from pathlib import Path

    from dnumpy.kernels.cupy_device import CupyDevice

pytestmark = [
    pytest.mark.modeless("only the default mode has devices"),
    pytest.mark.skipif(host.COMPILER is None, reason="there is no g++"),
]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CupyDevice:
    """A device as CuPy would give it, that stages few bytes at a time."""
    monkeypatch.setattr(cupy_device, "STAGED_BYTES", 64)
    monkeypatch.setattr(cupy_device, "DIRECT_BYTES", 16)
    return device_of_cupy(monkeypatch, tmp_path)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 16, 17, 100])
def test_arrays_travel_there_and_back_in_pieces(gpu: CupyDevice, count: int) -> None:
    values = np.arange(count * 1.0) - 3
    there = gpu.put(values[::-1])
    assert gpu.holds(there)
    assert not gpu.holds(values)
    np.testing.assert_array_equal(gpu.get(there), values[::-1])
    np.testing.assert_array_equal(gpu.get(there[1::2]), values[::-1][1::2])


def test_memory_is_seen_joined_and_written_as_numpys_is(gpu: CupyDevice) -> None:
    values = np.arange(24.0).reshape(4, 6)
    there = gpu.put(values)
    turned = gpu.view(Geometry(8, (5, 4), (8, 48), values.dtype), there)
    np.testing.assert_array_equal(gpu.get(turned), values.T[1:])
    joined = gpu.joined([there[:1], there[2:]])
    np.testing.assert_array_equal(gpu.get(joined), values[[0, 2, 3]])
    gpu.assign(turned[2:3], 7)
    values.T[3] = 7
    np.testing.assert_array_equal(gpu.get(there), values)


@pytest.mark.parametrize("dtype", ["O", "g", "G", "M8[s]", "U3"])
def test_what_a_gpu_cannot_hold_is_left_to_the_host(gpu: CupyDevice, dtype: str) -> None:
    with pytest.raises(Unsupported, match="dtype"):
        gpu.put(np.zeros(3, dtype))


FAILURES = [
    ("CUDARuntimeError", "status", 2), ("CUDADriverError", "status", 2),
    ("CUBLASError", "status", 3), ("CUSOLVERError", "status", 2), ("CuFFTError", "result", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attribute", "code"), FAILURES)
@pytest.mark.parametrize("where", ["ascontiguousarray", "concatenate"])
def test_an_allocation_that_fails_anywhere_in_cuda_is_a_lack_of_memory_and_nothing_else_is(
    gpu: CupyDevice,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    attribute: str,
    code: int,
    where: str,
) -> None:
    def fail_with(code: int) -> type[Exception]:
        problem = type(name, (RuntimeError,), {attribute: code})

        def fail(*_: Any) -> None:
            raise problem(code)

        monkeypatch.setattr(gpu._xp, where, fail, raising=False)
        return problem

    there = gpu.put(np.arange(4.0))
    asked = {
        "ascontiguousarray": lambda: gpu.get(there),
        "concatenate": lambda: gpu.joined([there]),
    }
    fail_with(code)
    with pytest.raises(gpu.exhausted, match=str(code)):
        asked[where]()
    other = fail_with(700)  # an illegal address, of CUDA
    with pytest.raises(other):
        asked[where]()


def test_pinned_memory_that_is_not_there_is_a_lack_of_memory(
    gpu: CupyDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = type("CUDARuntimeError", (RuntimeError,), {"status": 2})

    def fail(_: int) -> None:
        raise problem(2)

    monkeypatch.setattr(gpu._xp.cuda, "alloc_pinned_memory", fail)
    with pytest.raises(gpu.exhausted, match="2"):
        gpu.put(np.arange(100.0))


def test_its_pool_leaves_room_for_others(gpu: CupyDevice) -> None:
    total = 1 << 34
    assert 0.8 * total < gpu.free_bytes() < total


def test_its_pool_takes_what_is_allowed_beside_what_is_in_use(gpu: CupyDevice) -> None:
    pool, share = gpu._xp.pool, int(0.9 * (1 << 34))
    assert pool.limits == [share]
    for used, more, limit in (
        (0, 1000.5, 1001), (500, 1000, 1500), (500, 0, 500), (0, 0, 1),
        (share - 10, 1000, share), (share + 10, 1000, share + 10), (500, None, share),
    ):  # fmt: skip
        pool.used = used
        gpu.allow(more)
        assert pool.limits[-1] == limit


def program(xp: Any) -> list[Any]:
    x = xp.at(data, xp.GPU(0)) if hasattr(xp, "GPU") else data
    y = xp.sqrt(xp.abs(x)) * 2 - x[::-1] / 3
    shifted = y - y.max(axis=1, keepdims=True)
    e = xp.exp(shifted)
    softmax = e / e.sum(axis=1, keepdims=True)
    grid = xp.where(y > 1, y, 0.5)
    for _ in range(2):
        grid[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2])
    counts = (x * 8).astype("i4") // 3
    return [
        y.sum(), softmax, xp.argmin(softmax, axis=1), grid, counts.max(), counts % 5,
        y @ softmax.T, (y > 0).sum(axis=0), xp.cumsum(softmax, axis=0)[-1],
    ]  # fmt: skip


data = np.random.default_rng(5).normal(size=(37, 11))


@pytest.fixture
def nodes(gpu: CupyDevice, monkeypatch: pytest.MonkeyPatch) -> Devices:
    """The device beside this CPU, worth it for whatever is recorded."""
    speedy: Any = {"bandwidth": ((1e6, 1e12), (1e9, 1e12)), "launch_seconds": 1e-6}
    profiles = {
        HOST: cpu_profile(PROFILE),
        gpu.name: replace(PROFILE, name=gpu.name, kind="gpu", **speedy),
    }
    links = links_of({gpu.name: ((1e-5, 1e-4, 1e-3), (1e-5, 1e-4, 1e-3))})
    made = Devices([gpu], profiles, links)
    monkeypatch.setattr(gpus, "_found", [made])
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(sending, "pays", lambda *_, **__: True)
    return made


def test_a_program_on_generated_cuda_gives_what_numpy_gives(nodes: Devices) -> None:
    ran = engine.history
    ran.clear()
    for got, want in zip(program(dnumpy), program(np), strict=True):
        mine = np.asarray(got)
        assert mine.dtype == want.dtype
        np.testing.assert_allclose(mine, want, rtol=1e-12, atol=1e-13)
    assert [record for record in ran if record.lowering == "cupy"]


def test_a_run_takes_no_more_than_its_plan_says_beside_what_is_in_use(
    gpu: CupyDevice, nodes: Devices
) -> None:
    pool, share = gpu._xp.pool, int(0.9 * (1 << 34))
    x = dnumpy.at(np.ones((40_000, 11)), dnumpy.GPU(0))
    pool.used = 12345
    pool.limits.clear()
    y = dnumpy.exp(x) * 2
    (stage,) = dnumpy.explain(y).stages
    planned = dict(zip(dict(stage["where"]), stage["predicted_bytes"], strict=True))[gpu.name]
    engine.flush()
    during, after = pool.limits
    assert y.nbytes <= during - 12345 - devices.UNPLANNED_BYTES < planned  # with x, which is there
    assert after == share


class OfAnotherLibrary:
    """An array of another library's on the GPU: it says so by one protocol only."""

    def __init__(self, there: Any, protocol: str) -> None:
        if protocol == "dlpack":
            self.__dlpack_device__ = there.__dlpack_device__
            self.__dlpack__ = there.__dlpack__
        else:
            self.__cuda_array_interface__ = there.__cuda_array_interface__


@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_other_libraries_arrays_are_taken_without_a_copy(
    gpu: CupyDevice, nodes: Devices, protocol: str
) -> None:
    there = gpu.put(data)
    theirs = OfAnotherLibrary(there, protocol)
    taken = [dnumpy.at(theirs, dnumpy.GPU(0))]
    if protocol == "dlpack":
        taken += [dnumpy.from_dlpack(theirs), dnumpy.from_dlpack(taken[0])]
        copied = dnumpy.from_dlpack(theirs, copy=True)
        gpu.assign(there[0], 5.0)
        np.testing.assert_array_equal(np.asarray(copied), data)
    for x in taken:
        assert x.device == gpu.name
        assert x.__cuda_array_interface__["data"][0] == there.data.ptr
        np.testing.assert_array_equal(np.asarray(x * 2), there.get() * 2)


def test_arrays_on_the_gpu_are_given_by_dlpack_without_a_copy(
    gpu: CupyDevice, nodes: Devices
) -> None:
    x = dnumpy.at(data, dnumpy.GPU(0))
    for seen, want in ((x, data), (x[3:, ::2], data[3:, ::2]), (x.T, data.T)):
        assert seen.__dlpack_device__() == (2, 0)
        given = gpu._xp.from_dlpack(seen)
        assert given.data.ptr == seen.__cuda_array_interface__["data"][0]
        np.testing.assert_array_equal(given.get(), want)
    assert dnumpy.at(x, dnumpy.CPU()).__dlpack_device__() == np.empty(0).__dlpack_device__()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_cupy_has_what_a_device_asks_for() -> None:
    import cupy

    for name in (
        "cuda.Device", "cuda.Event", "cuda.alloc_pinned_memory", "cuda.get_current_stream",
        "cuda.memory.OutOfMemoryError", "cuda.runtime.getDeviceCount", "cuda.runtime.memcpyAsync",
        "cuda.runtime.getDeviceProperties", "cuda.runtime.memGetInfo", "cuda.runtime.memcpy",
        "get_default_memory_pool", "ascontiguousarray", "concatenate", "empty", "ndarray",
        "asarray", "from_dlpack",
    ):  # fmt: skip
        found: Any = cupy
        for part in name.split("."):
            found = getattr(found, part)
