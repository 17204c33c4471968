"""A cluster of unequal nodes on one machine: a real scheduler, and a worker process per node.

What a node may use is held by the kernel: CPU time by a quota and memory by a limit (control
groups, version 1), the network by a token bucket on each end of its link (:mod:`benchmarks.netns`).
Workers are started inside their memory group and namespace, and held to their CPU share once all of
them have joined, so that a slow node does not make starting slow.

Everything is removed when the block ends, whatever ends it. A process that is killed removes
nothing; its scheduler and workers end with it (``PR_SET_PDEATHSIG``: with the thread that started
them), and the next :func:`unequal_nodes`, or :func:`reap`, removes the rest. The sum of the shares
should leave some of the machine to the scheduler and the client, which have no group: on two cores
at most about 1.6.
"""

from __future__ import annotations

import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from benchmarks import netns, quota

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distributed import Client

    from benchmarks.netns import Link

ROOT = Path(__file__).parents[1]
PORT = 8786
WORKER_PORT = 9000
START_SECONDS = 60.0  # for all nodes to join
POLL_SECONDS = 0.05
LOG_LINES = 20  # of the output of a process that ended
# As distributed's nanny sets them; a task brings its own threads.
ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([a-z]*)")


class StartError(RuntimeError):
    """The cluster did not come up; the text has what the process that failed wrote last."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a node may use.

    Attributes
    ----------
    cpu : float
        Cores; the worker has as many threads, rounded up.
    memory_bytes : int or None
        Bytes that it may hold; None for no limit.
    bits_per_second : float or None
        Rate of its link, in each direction; None for no limit.
    """

    cpu: float = 1.0
    memory_bytes: int | None = None
    bits_per_second: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no node can be held to."""
        cores = os.cpu_count() or 1
        if not 0.01 <= self.cpu <= cores:
            msg = f"cpu={self.cpu:g}: expected 0.01 to {cores}, the cores of this machine"
            raise ValueError(msg)
        if self.memory_bytes is not None and self.memory_bytes < 256 << 20:
            msg = f"mem={self.memory_bytes >> 20}M: a worker with its libraries needs 256M"
            raise ValueError(msg)
        if self.bits_per_second is not None and self.bits_per_second < 1e6:
            msg = f"net={self.bits_per_second:g}bit: expected at least 1mbit"
            raise ValueError(msg)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the node that ``cpu=0.25,mem=1G,net=100mbit`` asks for; ``0.25`` is a share.

        Raises
        ------
        ValueError
            A name or a quantity is not understood; the text says which.
        """
        asked: dict[str, str] = {}
        for part in text.split(","):
            name, sign, value = part.strip().partition("=")
            if not sign:
                name, value = "cpu", name
            if name not in ("cpu", "mem", "net") or name in asked:
                msg = f"{part!r} in {text!r}: expected each of cpu=, mem= and net= at most once"
                raise ValueError(msg)
            asked[name] = value
        return cls(
            quantity(asked.get("cpu", "1"), {"": 1.0}, "0.25"),
            int(quantity(asked["mem"], _with_endings(BYTES), "1G")) if "mem" in asked else None,
            quantity(asked["net"], BITS, "100mbit") if "net" in asked else None,
        )

    @property
    def limits_only_cpu(self) -> bool:
        """Whether a quota is all that the node asks for."""
        return self.memory_bytes is None and self.bits_per_second is None

    def __str__(self) -> str:
        """Return a text that :meth:`parse` reads."""
        parts = [f"cpu={self.cpu:.12g}"]
        if self.memory_bytes is not None:
            parts.append(f"mem={in_units(self.memory_bytes)}")
        if self.bits_per_second is not None:
            parts.append(f"net={self.bits_per_second / 1e6:.12g}mbit")
        return ",".join(parts)


def quantity(text: str, units: Mapping[str, float], example: str) -> float:
    """Return a number with one of the units; ValueError where it is something else."""
    match = QUANTITY.fullmatch(text.strip().lower())
    if match is None or match[2] not in units:
        msg = f"{text!r}: expected a number and one of {', '.join(units)}, such as {example}"
        raise ValueError(msg)
    return float(match[1]) * units[match[2]]


def in_units(nbytes: int) -> str:
    """Return the bytes in the largest unit of which they are a whole number."""
    unit = max((unit for unit, size in BYTES.items() if nbytes % size == 0), key=BYTES.__getitem__)
    return f"{nbytes // BYTES[unit]}{unit.upper()}"


def _with_endings(units: Mapping[str, int]) -> dict[str, float]:
    """Return the units with ``b`` and ``ib`` behind them too."""
    return {f"{unit}{end}": size for unit, size in units.items() for end in ("", "b", "ib")}


class Nodes(NamedTuple):
    """A running cluster: its client, and each node's address and process, in the order asked."""

    client: Client
    specs: tuple[NodeSpec, ...]
    addresses: tuple[str, ...]
    pids: tuple[int, ...]
    here: str  # the address of this machine on the nodes' network


class Started(NamedTuple):
    """A process, and the file that it writes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self) -> str:
        """Return how it ended."""
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"{self.name} ended with status {self.process.returncode}:", *lines])


def why_no_nodes() -> str:
    """Return why nodes with all three limits cannot be made here, or an empty string."""
    asked = (quota.why_no_quota, quota.why_no_memory_limit, netns.why_no_network)
    return "; ".join(filter(None, (why() for why in asked)))


def left_behind() -> list[str]:
    """Return what killed runs left: control groups, links and namespaces."""
    return [group.name for group in quota.left_groups()] + netns.left()


def reap() -> list[str]:
    """Remove what killed runs left, and return its names; needs no network to exist."""
    return quota.reap_groups() + netns.reap()


@contextmanager
def unequal_nodes(specs: Sequence[NodeSpec]) -> Iterator[Nodes]:
    """Start a scheduler, and a worker for each node; end and remove everything at the end.

    Raises
    ------
    OSError
        The system refuses a limit: :func:`why_no_nodes` says so beforehand.
    StartError
        A process ended, or a node did not join in time.
    """
    from distributed import Client

    reap()
    with ExitStack() as stack:
        net = stack.enter_context(netns.network([spec.bits_per_second for spec in specs]))
        room = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dnumpy-nodes-")))
        server = f"tcp://{net.address}:{PORT}"
        scheduler = stack.enter_context(_running(_scheduler(net.address), room, "scheduler"))
        workers = []
        for k, (spec, link) in enumerate(zip(specs, net.links, strict=True)):
            command = link.inside(_worker(server, spec, link, room / str(k)))
            if spec.memory_bytes is not None:
                group = stack.enter_context(quota.memory_limit(spec.memory_bytes, link.namespace))
                command = _entering(group, command)
            workers.append(stack.enter_context(_running(command, room, f"node {k}")))
        _wait_until(lambda: _answers(net.address), [scheduler])
        client = stack.enter_context(
            Client(server, timeout=START_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
        )
        addresses = tuple(f"tcp://{link.address}:{WORKER_PORT}" for link in net.links)
        _wait_until(lambda: set(addresses) <= set(client.nthreads()), [scheduler, *workers])
        pids = tuple(worker.process.pid for worker in workers)
        for spec, pid in zip(specs, pids, strict=True):
            stack.enter_context(quota.cpu_share(spec.cpu, [pid]))
        yield Nodes(client, tuple(specs), addresses, pids, net.address)


def _scheduler(address: str) -> list[str]:
    where = ("--host", address, "--port", str(PORT))
    return [sys.executable, "-m", "distributed.cli.dask_scheduler", *where, "--no-dashboard"]


def _worker(server: str, spec: NodeSpec, link: Link, directory: Path) -> list[str]:
    options = {
        "--host": link.address,
        "--worker-port": WORKER_PORT,
        "--nthreads": math.ceil(spec.cpu),
        "--memory-limit": spec.memory_bytes or "auto",
        "--local-directory": directory,
        "--death-timeout": START_SECONDS,
    }
    words = [str(word) for pair in options.items() for word in pair]
    program = [sys.executable, "-m", "distributed.cli.dask_worker", server]
    return [*program, *words, "--no-nanny", "--no-dashboard"]


def _entering(group: Path, command: Sequence[str]) -> list[str]:
    """Return the command that enters the group first, so that all its bytes are counted there."""
    return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *command]


@contextmanager
def _running(command: Sequence[str], room: Path, name: str) -> Iterator[Started]:
    """Run a command that ends with this process, and is killed at the end of the block."""
    path = room / f"{name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],  # noqa: S607 - looked for on the PATH
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)},
            start_new_session=True,  # an interrupt from the keyboard is for this process alone
        )
    try:
        yield Started(name, process, path)
    finally:
        process.kill()
        process.wait()


def _wait_until(ready: Callable[[], bool], processes: Sequence[Started]) -> None:
    """Return when it is ready; StartError when a process ends, or it takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        for one in processes:
            if one.process.poll() is not None:
                raise StartError(one.last_words())
        if time.monotonic() > deadline:
            msg = f"the nodes did not join in {START_SECONDS:g} s"
            raise StartError(msg)
        time.sleep(POLL_SECONDS)


def _answers(address: str) -> bool:
    """Return whether somebody listens at the scheduler's port."""
    with socket.socket() as probe:
        return probe.connect_ex((address, PORT)) == 0
