"""What a device can do: measured, plain data, and the same after a JSON round trip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import exp, log

from dnumpy.cost.work import OP_CLASSES

CACHED_TABLE, LARGE_TABLE = float(1 << 18), float(1 << 26)  # bytes of what gathers read from
ONLY_WHEN_CALIBRATED = (
    "sort_ns",
    "fft_ns",
    "scatter_ns",
    "serialise_bytes_per_second",
    "disk_read_bytes_per_second",
    "disk_write_bytes_per_second",
    "page_ns_per_byte",
    "first_touch_ns_per_byte",
    "lowering_seconds",
    "importing_seconds",
    "starting_seconds",
)
NsPerElement = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """The measured rates of one device, per thread, with the node unloaded; ``speed`` scales them.

    What a file of an earlier version lacks, or the quick measurement leaves out, is 0.

    Attributes
    ----------
    name : str
        Address of the worker, or the host's name.
    kind : str
        ``cpu`` or ``gpu``.
    threads : int
        Tasks that the device runs at the same time, each at the rates below.
    bandwidth : tuple of (bytes, bytes per second)
        Streaming bandwidth at growing working sets.
    gemm_flops_per_second : tuple of (dtype, rate)
    ns_per_element : tuple of (lowering, ((op class, ns), ...))
        At least the lowering ``tiled``: single calls on tiles. ``phases`` are the same ops as they
        run in phases on all threads, and count instead of these where they were measured.
    gather_ns : float
        Per element read at random from a table far larger than the caches.
    launch_seconds : float
        Fixed cost of one task.
    compile_seconds : float
        CPU time of making machine code of one plain kernel (:attr:`Work.code` 1), in whatever
        process.
    free_bytes : float
        Memory that blocks may take.
    network_bytes_per_second, network_latency_seconds : float
        Between this device and the client.
    sort_ns : float
        Per element and binary logarithm of the length, of random float64 in ``np.sort``.
    fft_ns : float
        Likewise, of a complex transform.
    scatter_ns : float
        Per element written at random into a table far larger than the caches.
    serialise_bytes_per_second : float
        Of making the bytes that leave a node and reading those that arrive: a part of what
        messages between nodes were measured to take.
    disk_read_bytes_per_second, disk_write_bytes_per_second : float
        Of a file in the folder for temporary files.
    page_ns_per_byte : float
        Of writing to memory that is new to the process, beyond what the writing itself takes.
    first_touch_ns_per_byte : float
        Likewise, where the process holds more than ever before: a virtual machine may have to be
        given the memory first.
    idle_bytes : float
        What the process holds before any block.
    calibrated : bool
        Whether all of it was measured, in up to 15 s, and not only what plans need at once.
    speed : float
        Share of the rates that is really delivered (CPU quota, contention); corrected online.
    versions : tuple of (package, version)
    measured_at : float
        Seconds since the epoch.
    processor : str
        What the processor calls itself; empty where that is not known.
    call_seconds : float
        What a short call of NumPy's takes longer while all threads make such calls: each ends with
        waiting for the interpreter.
    lowering_seconds : float
        Of writing down what is to be compiled and looking for its machine code on disk, which
        every first run longer than a moment does.
    importing_seconds : float
        Of importing what writes down kernels, which the first such run of a process does.
    starting_seconds : float
        CPU time of starting the process that makes machine code, which the first kernel does, and
        the first after a while.
    """

    name: str
    kind: str
    threads: int
    bandwidth: tuple[tuple[float, float], ...]
    gemm_flops_per_second: tuple[tuple[str, float], ...]
    ns_per_element: tuple[tuple[str, NsPerElement], ...]
    gather_ns: float
    launch_seconds: float
    compile_seconds: float
    free_bytes: float
    network_bytes_per_second: float
    network_latency_seconds: float
    speed: float = 1.0
    versions: tuple[tuple[str, str], ...] = ()
    measured_at: float = 0.0
    sort_ns: float = 0.0
    fft_ns: float = 0.0
    scatter_ns: float = 0.0
    serialise_bytes_per_second: float = 0.0
    disk_read_bytes_per_second: float = 0.0
    disk_write_bytes_per_second: float = 0.0
    idle_bytes: float = 0.0
    calibrated: bool = False
    page_ns_per_byte: float = 0.0
    first_touch_ns_per_byte: float = 0.0
    processor: str = ""
    call_seconds: float = 0.0
    lowering_seconds: float = 0.0
    importing_seconds: float = 0.0
    starting_seconds: float = 0.0

    def gather_ns_at(self, table_bytes: float) -> float:
        """Return ns per element read at random from a table of this size.

        Between that of a table in cache and that of one beyond all caches, by logarithm.
        """
        inside = self.ns_table("tiled")["gather"]
        return self._between(inside, max(inside, self.gather_ns), table_bytes)

    def scatter_ns_at(self, table_bytes: float) -> float:
        """Return ns per element written at random into a table of this size, likewise."""
        inside = self.ns_table("tiled")["scatter"]
        return self._between(inside, max(inside, self.scatter_ns or self.gather_ns), table_bytes)

    @staticmethod
    def _between(inside: float, outside: float, table_bytes: float) -> float:
        share = log(max(table_bytes, 1.0) / CACHED_TABLE) / log(LARGE_TABLE / CACHED_TABLE)
        return inside * exp(min(max(share, 0.0), 1.0) * log(outside / inside))

    def bandwidth_at(self, working_set_bytes: float) -> float:
        """Return bytes per second at this working set, log-linear between the measured sizes."""
        points = self.bandwidth
        if working_set_bytes <= points[0][0]:
            return points[0][1]
        for (size_a, rate_a), (size_b, rate_b) in pairwise(points):
            if working_set_bytes <= size_b:
                share = log(working_set_bytes / size_a) / log(size_b / size_a)
                return rate_a * exp(share * log(rate_b / rate_a))
        return points[-1][1]

    def flops_per_second(self, dtype: str) -> float:
        """Return the GEMM rate of ``dtype``; that of float64, the slowest, for one not measured."""
        rates = dict(self.gemm_flops_per_second)
        return rates.get(dtype, rates["float64"])

    def ns_table(self, lowering: str) -> dict[str, float]:
        """Return ns per element by op class; a lowering not measured costs what ``tiled`` does."""
        return _ns_table(self, lowering)

    def named(self, name: str) -> DeviceProfile:
        """Return the same rates under another name."""
        return replace(self, name=name)

    def with_speed(self, speed: float) -> DeviceProfile:
        """Return the same rates delivered at another share."""
        return replace(self, speed=speed)

    def to_json(self) -> bytes:
        """Return the profile as JSON; ``from_json`` gives back an equal one."""
        import msgspec

        return msgspec.json.encode(self)

    @staticmethod
    def from_json(text: bytes | str) -> DeviceProfile:
        """Return the profile written by ``to_json``; raises ValueError when it is not one."""
        import msgspec

        profile = msgspec.json.decode(text, type=DeviceProfile)
        profile.verify()
        return profile

    def verify(self) -> None:
        """Raise ValueError unless rates are positive and more bytes never take less time."""
        self._verify_positive()
        self._verify_bandwidth()
        tables = dict(self.ns_per_element)
        if "tiled" not in tables:
            msg = f"profile of {self.name}: ns_per_element has no lowering 'tiled'"
            raise ValueError(msg)
        missing = [c for c in OP_CLASSES if c not in dict(tables["tiled"])]
        if missing or "float64" not in dict(self.gemm_flops_per_second):
            msg = f"profile of {self.name}: nothing measured for {missing or 'float64 GEMM'}"
            raise ValueError(msg)

    def _verify_positive(self) -> None:
        positive = {
            "threads": self.threads,
            "gather_ns": self.gather_ns,
            "network_bytes_per_second": self.network_bytes_per_second,
            "speed": self.speed,
            **{f"gemm {t}": rate for t, rate in self.gemm_flops_per_second},
            **{f"ns {low} {c}": ns for low, table in self.ns_per_element for c, ns in table},
        }
        not_negative = {
            "launch_seconds": self.launch_seconds,
            "compile_seconds": self.compile_seconds,
            "free_bytes": self.free_bytes,
            "network_latency_seconds": self.network_latency_seconds,
            **{name: getattr(self, name) for name in ONLY_WHEN_CALIBRATED},
            "idle_bytes": self.idle_bytes,
            "call_seconds": self.call_seconds,
        }
        bad = {n: v for n, v in positive.items() if not 0 < v < float("inf")}
        bad |= {n: v for n, v in not_negative.items() if not 0 <= v < float("inf")}
        if bad:
            msg = f"profile of {self.name}: {bad} must be finite and positive"
            raise ValueError(msg)

    def _verify_bandwidth(self) -> None:
        for (size_a, rate_a), (size_b, rate_b) in pairwise(((1.0, 1.0), *self.bandwidth)):
            if not (size_a < size_b and 0 < rate_b < float("inf")):
                msg = f"profile of {self.name}: bandwidth {self.bandwidth} needs growing sizes"
                raise ValueError(msg)
            if size_a > 1 and size_b / rate_b < size_a / rate_a * (1 - 1e-9):
                msg = f"profile of {self.name}: {size_b:g} B take less time than {size_a:g} B"
                raise ValueError(msg)

    def __str__(self) -> str:
        """Return one line: name, threads, and the rates that decide most plans."""
        gemm = ", ".join(f"{t} {r / 1e9:.0f} GFLOP/s" for t, r in self.gemm_flops_per_second)
        low, high = self.bandwidth[-1][1], self.bandwidth[0][1]
        return (
            f"{self.name} ({self.kind}, {self.threads} threads): speed {self.speed:.2f}, "
            f"{low / 1e9:.1f}-{high / 1e9:.1f} GB/s, {gemm}, {self.free_bytes / 1e9:.1f} GB free"
        )


@lru_cache(maxsize=256)
def _ns_table(profile: DeviceProfile, lowering: str) -> dict[str, float]:
    tables = dict(profile.ns_per_element)
    long = {"sort": profile.sort_ns, "fft": profile.fft_ns}  # of more than fits in a tile
    measured = {op_class: ns for op_class, ns in long.items() if ns}
    tiled = {**dict(tables["tiled"]), **measured, **dict(tables.get("phases", ()))}
    return tiled if lowering == "tiled" else {**tiled, **dict(tables.get(lowering, ()))}
