"""The CPU and devices with memory of their own as nodes of one program."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.cost.links import Link, Links
from dnumpy.errors import DeviceMemoryWarning
from dnumpy.plan.model import NodeRate
from dnumpy.plan.program import plan_rows
from dnumpy.plan.rates import phase_spec
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.devices import Devices
from dnumpy.runtime.on_device import Mirror
from tests.plan.test_rates import PROFILE
from tests.runtime import programs as p
from tests.runtime.paper_device import Paper, PaperDevice
from tests.runtime.test_cluster import PROGRAMS

pytestmark = pytest.mark.modeless("the nodes are given")

CPU = replace(PROFILE, name="cpu", network_bytes_per_second=1e13, network_latency_seconds=0.0)
LINKS = Links((1e3, 1e6), (Link("cpu", "gpu-0", (1e-5, 1e-4)), Link("gpu-0", "cpu", (1e-5, 1e-4))))


class Given(Devices):
    """Rows follow given speeds, so that little data is cut too."""

    embed_bytes = 0
    speeds: ClassVar = {"cpu": 1.0, "gpu-0": 3.0, "gpu-1": 2.0}

    def plan(self, name, work, granule, *_where_it_lies):
        rates = [NodeRate(n, 1.0 / self.speeds[n]) for n in self._alive]
        return plan_rows(phase_spec(name, work), rates, granule, solver_below_seconds=float("inf"))

    def plan_run(self, sketch):  # noqa: ARG002 - stage by stage
        return None


def made_of(*devices: PaperDevice, kind: type[Devices] = Given) -> Devices:
    profiles = {"cpu": CPU} | {
        d.name: replace(PROFILE, name=d.name, kind="gpu", network_bytes_per_second=1e10)
        for d in devices
    }
    return kind(devices, profiles, LINKS)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(Devices, "home_bytes", 0)
    monkeypatch.setattr("dnumpy.runtime.devices.EMBED_BYTES", 0)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("lacks", [(), ("multiply", "matmul"), ("update",)])
@pytest.mark.parametrize("names", [("gpu-0",), ("gpu-0", "gpu-1")])
def test_devices_give_what_the_reference_gives(program, lacks, names):
    expected = p.meaning(program())
    roots = program()
    devices = [PaperDevice(name, lacks) for name in names]
    p.run(roots, made_of(*devices))
    for got, want in zip(p.values(roots), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    assert lacks or all(device.phases + device.applied for device in devices)


def test_what_a_device_computed_stays_there_and_is_read_there():
    gpu = PaperDevice()
    nodes = made_of(gpu)
    x = p.call("negative", p.data(np.arange(400.0)))
    p.run([x], nodes)
    assert isinstance(x.value, Chunked)
    on = {part.node: part.data for part in x.value.parts}
    assert isinstance(on["gpu-0"], Paper)
    assert type(on["cpu"]) is np.ndarray
    sent = sum(gpu.sent)
    assert sent == on["gpu-0"].nbytes  # only the rows that it was to compute
    y = p.call("multiply", x, 3.0)
    p.run([y], nodes)
    assert sum(gpu.sent) == sent
    assert not gpu.fetched
    np.testing.assert_array_equal(p.values([y])[0], np.arange(400.0) * -3)


def test_a_home_array_is_copied_to_a_device_once():
    gpu = PaperDevice()
    nodes = made_of(gpu)
    a = p.data(np.arange(400.0))
    for _ in range(3):
        p.run([p.call("sqrt", a)], nodes)
        nodes.refresh()
    assert len(gpu.sent) == 1
    assert all(isinstance(segment.arg, Mirror) for segment in nodes.copies(a))
    before = a.value
    del a
    nodes.refresh()
    assert not nodes._copies
    np.testing.assert_array_equal(before, np.arange(400.0))


def test_copies_of_other_arrays_make_room_for_what_is_read_now():
    gpu = PaperDevice()
    nodes = made_of(gpu)
    arrays = [p.data(np.arange(400.0) + k) for k in range(3)]
    for a in arrays:
        gpu.room, before = 1 << 30, len(nodes._copies)
        if a is arrays[-1]:
            gpu.full_once = True
        p.run([p.call("sqrt", a)], nodes)
        assert len(nodes._copies) == (1 if a is arrays[-1] else before + 1)
    assert gpu.trims == 1


def test_halos_travel_and_nothing_else():
    gpu = PaperDevice()
    nodes = made_of(gpu)
    x = p.call("negative", p.data(np.arange(4000.0).reshape(400, 10)))
    p.run([x], nodes)
    sent, row = sum(gpu.sent), 80
    s = p.call("add", p.view(x, lambda a: a[2:]), p.view(x, lambda a: a[:-2]))
    p.run([s], nodes)
    assert sum(gpu.sent) - sent + sum(gpu.fetched) <= 12 * row  # of 400 rows; cuts lie on tiles
    want = -(np.arange(4000.0).reshape(400, 10))
    np.testing.assert_array_equal(p.values([s])[0], want[2:] + want[:-2])


def test_what_a_device_has_no_room_for_is_computed_on_the_host_with_a_warning():
    gpu = PaperDevice(room=24)  # not even one tile
    x = p.call("negative", p.data(np.arange(400.0)))
    with pytest.warns(DeviceMemoryWarning, match=r"gpu-0 \(made of paper\).*host"):
        p.run([x], made_of(gpu))
    assert gpu.trims > 2
    np.testing.assert_array_equal(p.values([x])[0], -np.arange(400.0))


def test_what_does_not_fit_at_once_is_computed_piece_by_piece_with_a_warning():
    gpu = PaperDevice(room=700)
    x = p.call("negative", p.data(np.arange(400.0)))
    with pytest.warns(DeviceMemoryWarning, match=r"gpu-0 \(made of paper\).*piece by piece"):
        p.run([x], made_of(gpu))
    assert len(gpu.fetched) >= 4
    assert max(gpu.sent) <= 700
    assert sum(gpu.sent) == sum(gpu.fetched) == 300 * 8  # its rows, each once
    np.testing.assert_array_equal(p.values([x])[0], -np.arange(400.0))


@pytest.mark.filterwarnings("ignore::dnumpy.errors.DeviceMemoryWarning")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("room", [60, 200, 600])
def test_pieces_give_what_the_reference_gives(program, room):
    expected = p.meaning(program())
    roots = program()
    p.run(roots, made_of(PaperDevice(room=room)))
    for got, want in zip(p.values(roots), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_an_error_of_a_kernel_is_not_taken_for_a_lack_of_memory():
    class Broken(PaperDevice):
        def kernel(self, phase):
            raise ZeroDivisionError(phase.title())

    with pytest.raises(ZeroDivisionError):
        p.run([p.call("negative", p.data(np.arange(400.0)))], made_of(Broken()))


def test_rows_go_where_they_are_computed_soonest_by_measured_rates():
    gpu = PaperDevice(room=1 << 34)
    nodes = made_of(gpu, kind=Devices)
    fast = tuple((c, 0.01) for c, _ in PROFILE.ns_per_element[0][1])
    nodes.profiles["gpu-0"] = replace(
        nodes.profiles["gpu-0"],
        bandwidth=((1e6, 1e12), (1e9, 1e12)),
        ns_per_element=(("tiled", fast),),
        launch_seconds=1e-5,
    )
    x = p.call("exp", p.data(np.linspace(0.0, 1.0, 1 << 20)))
    p.run([x], nodes)
    rows = dict(x.value.rows_per_node())
    assert rows["gpu-0"] > rows.get("cpu", 0)
    np.testing.assert_allclose(p.values([x])[0], np.exp(np.linspace(0.0, 1.0, 1 << 20)))
