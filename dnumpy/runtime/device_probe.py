"""What a device with memory of its own can do, measured through the kernels that will run there.

A device takes about the same time whoever else computes, so rates are the best of a few runs by the
clock on the wall. What it has no kernel for runs on the host: that costs what the CPU takes, and
bringing there what is read.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.cost.links import Link, Links
from dnumpy.cost.work import OP_CLASSES
from dnumpy.kernels.lower import Unsupported
from dnumpy.ops.table import MATMUL
from dnumpy.runtime import measure
from dnumpy.runtime.links import LARGE, SIZES
from dnumpy.runtime.lowerings import applied, outputs_of, programs, reduced, stage_of, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.expr.expr import Expr
    from dnumpy.kernels.device import Device

ELEMENTS = 1 << 22  # of an operand: many more than a device works on at the same time
SMALL = 1 << 10
LONG, SHORT = 1 << 10, 16  # elements of a row, as in :mod:`~dnumpy.runtime.lowerings`
SIDE = 2048  # of matrices
GEMM_DTYPES = ("float32", "float64", "complex64", "complex128")
BUDGET_SECONDS = 5e-3  # for one quantity
LEAST_NS = 1e-5
ROOM = 8  # a measurement takes at most this part of the free memory
MOST_BYTES = 1 << 29
HOST = "cpu"
MEMORY_BYTES_PER_SECOND = 1e12  # of what the CPU reads of home arrays: nothing travels


Way = tuple[tuple[float, ...], tuple[float, ...]]  # seconds of messages there, and back


def cpu_profile(here: DeviceProfile) -> DeviceProfile:
    """Return the profile of this process as that of the node which has the home arrays."""
    return replace(
        here,
        name=HOST,
        network_bytes_per_second=MEMORY_BYTES_PER_SECOND,
        network_latency_seconds=0.0,
    )


def links_of(ways: Mapping[str, Way]) -> Links:
    """Return the links between the CPU and each device, and over the host's memory between two."""
    links = []
    for name, (to, back) in ways.items():
        links += [Link(HOST, name, to), Link(name, HOST, back)]
        for other, (to_other, _) in ways.items():
            if other != name:
                both = tuple([a + b for a, b in zip(back, to_other, strict=True)])
                links.append(Link(name, other, both))
    return Links(SIZES, tuple(links), time())


def _seconds(device: Device, call: Callable[[], object]) -> float:
    """Return the best seconds of a call and all that it asks of the device."""

    def whole() -> None:
        call()
        device.wait()

    whole()  # compiles
    return measure.best_seconds(whole, 3, BUDGET_SECONDS, perf_counter)


def way_to(device: Device) -> Way:
    """Return the seconds of messages of three sizes to the device, and back."""
    to, back = [], []
    for size in SIZES:
        array = np.ones(round(min(size, LARGE)) // 8 or 1)
        there = device.put(array)
        to.append(_seconds(device, lambda array=array: device.put(array)))  # type: ignore[misc]
        back.append(_seconds(device, lambda there=there: device.get(there)))  # type: ignore[misc]
    return _growing(to), _growing(back)


def _growing(seconds: Sequence[float]) -> tuple[float, ...]:
    """Return times of which none is shorter than that of fewer bytes, whatever noise says."""
    found: list[float] = []
    for one in seconds:
        found.append(max([one, *found[-1:]]))
    return tuple(found)


def device_profile(device: Device, cpu: DeviceProfile, way: Way) -> DeviceProfile:
    """Return what a device can do, in about a second besides compiling a dozen kernels."""
    to, _ = way
    arrives, latency = SIZES[-1] / to[-1], to[0]
    room = device.free_bytes() / ROOM
    elements = max(SMALL, min(ELEMENTS, int(room) // 64))
    launch = _program_seconds(device, *_product(SMALL)[:1])
    points = _bandwidth(device, min(MOST_BYTES, room), launch)
    table = _on_host(cpu, arrives) | _classes(device, elements)
    return replace(
        cpu,
        name=device.name,
        kind="gpu",
        processor=device.describes,
        threads=1,
        bandwidth=points,
        gemm_flops_per_second=_products(device, cpu, room),
        ns_per_element=(("tiled", tuple((c, table[c]) for c in OP_CLASSES)),),
        gather_ns=max(LEAST_NS, 32e9 / points[-1][1]),  # memory is read in sectors of 32 bytes
        scatter_ns=max(LEAST_NS, 64e9 / points[-1][1]),  # and written back
        sort_ns=table["sort"],
        fft_ns=table["fft"],
        launch_seconds=launch,
        free_bytes=float(device.free_bytes()),
        network_bytes_per_second=arrives,
        network_latency_seconds=latency,
        page_ns_per_byte=0.0,
        first_touch_ns_per_byte=0.0,
        call_seconds=0.0,
        lowering_seconds=0.0,
        importing_seconds=0.0,
        speed=1.0,
        measured_at=time(),
    )


def _operands(elements: int) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(0)
    return source.uniform(0.5, 1.5, elements), source.uniform(0.5, 1.5, elements)


def _product(elements: int) -> tuple[Expr, Expr, Expr]:
    x, y = map(stored, _operands(elements))
    return applied("multiply", x, y), x, y


def _program_seconds(device: Device, program: Expr) -> float:
    """Return the seconds of a program that is one phase, with its operands on the device."""
    stage = stage_of(program)
    kernel = device.kernel(stage.phase)
    values: list[Any] = [device.put(np.ascontiguousarray(arg.value)) for arg in stage.inputs]
    outs = [device.put(out) for out in outputs_of(stage.phase)]
    return _seconds(device, lambda: kernel.run(values, outs, 0, stage.phase.rows))


def _bandwidth(device: Device, most_bytes: float, launch: float) -> tuple[tuple[float, float], ...]:
    """Return (bytes, bytes per second) of a sum of two arrays at four sizes."""
    least = 3 * 8 * SMALL * 16
    ratio = max(2.0, (most_bytes / least) ** (1 / 3))
    points: list[tuple[float, float]] = []
    for k in range(4):
        elements = round(least * ratio**k) // 24
        seconds = _program_seconds(device, _product(elements)[0]) - launch
        size = float(24 * elements)
        seconds = max(seconds, points[-1][0] / points[-1][1] if points else 1e-7)
        points.append((size, size / seconds))
    return tuple(points)


def _classes(device: Device, elements: int) -> dict[str, float]:
    """Return ns per element by op class, beyond the memory traffic, of what the device runs."""
    product, x, y = _product(elements)
    alone = _program_seconds(device, product)
    found: dict[str, float] = {}
    for op_class, (program, times) in programs(x, y, product).items():
        try:
            beyond = (_program_seconds(device, program) - alone) / times
        except Unsupported:  # the host has to
            continue
        found[op_class] = max(LEAST_NS, beyond / elements * 1e9)
    per_row: dict[int, dict[str, float]] = {}
    for length in (LONG, SHORT):
        a, b = (stored(o.reshape(-1, length)) for o in _operands(elements))
        multiplied = applied("multiply", a, b)
        rows = {
            "index": reduced("argmin", multiplied, 1, np.dtype(np.intp)),
            "reduce": reduced("add.reduce", multiplied, 1, multiplied.dtype),
        }
        count = elements // length
        try:
            per_row[length] = {
                c: max(0.0, _program_seconds(device, p) - alone) / count * 1e9
                for c, p in rows.items()
            }
        except Unsupported:
            return found
    found["index"] = max(LEAST_NS, per_row[LONG]["index"] / LONG)
    found["pick"] = max(LEAST_NS, per_row[SHORT]["index"] - SHORT * found["index"])
    fold = per_row[SHORT]["reduce"] - SHORT * found.get("reduce", 0.0)
    found["fold"] = max(LEAST_NS, fold)
    found["run"] = found["vector"] = LEAST_NS  # no loop begins anew, and memory is what counts
    found["gather"] = found["scatter"] = found.get("arith", LEAST_NS)  # of a table in cache
    return found


def _on_host(cpu: DeviceProfile, arrives: float) -> dict[str, float]:
    """Return ns per element by op class where the host has to do what the device cannot."""
    there_and_back = 16e9 / arrives
    return {c: ns + there_and_back for c, ns in cpu.ns_table("tiled").items()}


def _products(device: Device, cpu: DeviceProfile, room: float) -> tuple[tuple[str, float], ...]:
    """Return (dtype, flops per second) of a product of square matrices."""
    found = []
    for name in GEMM_DTYPES:
        dtype = np.dtype(name)
        side = int(min(SIDE, (room / (3 * dtype.itemsize)) ** 0.5))
        matrix = device.put(np.full((side, side), 1.5, dtype))
        try:
            seconds = _seconds(
                device,
                lambda m=matrix, s=side, d=dtype: device.apply(MATMUL, (m, m), (), (s, s), d),  # type: ignore[misc]
            )
        except Unsupported:
            found.append((name, cpu.flops_per_second(name)))
            continue
        found.append((name, 2.0 * side**3 / seconds))
    return tuple(found)
