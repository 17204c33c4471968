"""Unequal links out of one machine: a network namespace per node, joined by a bridge.

Each node has a pair of virtual Ethernet devices, one end in its namespace and one on the bridge;
``tc tbf`` holds both ends to the node's rate, so that it both sends and receives at most at that
rate. The machine itself is on the bridge, without a limit of its own.

The names carry the process's number, so a run that was killed is known by them: :func:`reap`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from benchmarks.quota import alive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NETWORKS = 512  # of 256 addresses each, in 198.18.0.0/15, which is set aside for benchmarks
FIRST_NODE = 100  # three digits, so that the addresses' order as text is the order of the nodes
MOST_NODES = 150
MTU = 1500  # bytes of a packet
LEAST_BURST = 128 << 10  # bytes; the kernel hands tbf up to 64 kB at once, which must fit
BURST_SECONDS = 0.002
QUEUE = "50ms"  # what waits longer is dropped, as by a switch
OURS = re.compile(r"dn(\d+)[a-z](?:b|[nv]\d+)")  # process, network; devices have 15 letters
TOOLS = ("ip", "tc", "nsenter", "setpriv")


class NetworkError(OSError):
    """The system refused to make or to remove a part of the network."""


@dataclass(frozen=True, slots=True)
class Link:
    """One node's place in the network.

    Attributes
    ----------
    namespace : str
        What ``ip netns`` calls it.
    device : str
        The end of its link that is on the bridge.
    address : str
        Of the other end, in the namespace.
    """

    namespace: str
    device: str
    address: str

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs ``command`` in the namespace, in the same process."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", *command]


@dataclass(frozen=True, slots=True)
class Network:
    """A bridge, the machine's own address on it, and the nodes' links."""

    bridge: str
    address: str
    links: tuple[Link, ...]


def call(*command: str) -> str:
    """Return what the command prints; NetworkError with what it complains of when it fails."""
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        msg = f"{' '.join(command)}: {error.stderr.strip() or error}"
        raise NetworkError(msg) from error
    return done.stdout


@lru_cache(maxsize=1)
def why_no_network() -> str:
    """Return why no limited links can be made here, or an empty string when they can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {', '.join(missing)} (packages iproute2 and util-linux)"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    try:
        with network([1e9]):
            return ""
    except OSError as problem:
        return f"no network namespaces, veth or tbf: {problem}"


@contextmanager
def network(rates: Sequence[float | None]) -> Iterator[Network]:
    """Make a bridge and a namespace for each rate; remove all of it at the end.

    Parameters
    ----------
    rates : sequence of float or None
        Bits per second of each node's link; None for no limit.

    Raises
    ------
    NetworkError
        The system refuses; what had been made is removed.
    """
    if len(rates) > MOST_NODES:
        msg = f"{len(rates)} nodes; one network has room for {MOST_NODES}"
        raise NetworkError(msg)
    with ExitStack() as stack:
        base, name = _free_network(), _free_name()
        bridge = f"{name}b"
        call("ip", "link", "add", bridge, "type", "bridge")
        stack.callback(call, "ip", "link", "del", bridge)
        call("ip", "addr", "add", f"{base}.1/24", "dev", bridge)
        call("ip", "link", "set", bridge, "up")
        links = []
        for k, rate in enumerate(rates):
            link = Link(f"{name}n{k}", f"{name}v{k}", f"{base}.{FIRST_NODE + k}")
            _make(link, bridge, stack)
            if rate is not None:
                _limit(link, rate)
            links.append(link)
        yield Network(bridge, f"{base}.1", tuple(links))


def _make(link: Link, bridge: str, stack: ExitStack) -> None:
    """Make the namespace, and the pair of devices that joins it to the bridge."""
    call("ip", "netns", "add", link.namespace)
    stack.callback(call, "ip", "netns", "del", link.namespace)
    peer = ("peer", "name", "eth0", "mtu", str(MTU), "netns", link.namespace)
    call("ip", "link", "add", link.device, "mtu", str(MTU), "type", "veth", *peer)
    stack.callback(call, "ip", "link", "del", link.device)
    call("ip", "link", "set", link.device, "master", bridge, "up")
    within = ("ip", "-n", link.namespace)
    call(*within, "addr", "add", f"{link.address}/24", "dev", "eth0")
    call(*within, "link", "set", "eth0", "up")
    call(*within, "link", "set", "lo", "up")


def _limit(link: Link, rate: float) -> None:
    """Hold both ends of the link to the rate, in bits per second."""
    burst = max(LEAST_BURST, int(rate / 8 * BURST_SECONDS))
    law = ("tbf", "rate", f"{rate:.0f}bit", "burst", f"{burst}b", "latency", QUEUE)
    call("tc", "qdisc", "add", "dev", link.device, "root", *law)
    call("tc", "-n", link.namespace, "qdisc", "add", "dev", "eth0", "root", *law)


def _free_network() -> str:
    """Return the first three numbers of addresses that no device of this machine has."""
    devices: list[dict[str, Any]] = json.loads(call("ip", "-j", "-4", "addr"))
    taken = {
        one["local"].rpartition(".")[0] for device in devices for one in device.get("addr_info", ())
    }
    for step in range(NETWORKS):
        number = (os.getpid() + step) % NETWORKS
        base = f"198.{18 + number // 256}.{number % 256}"
        if base not in taken:
            return base
    msg = "every network of 198.18.0.0/15 is taken"
    raise NetworkError(msg)


def _free_name() -> str:
    """Return what the names of this process's next network begin with."""
    taken = devices()
    for letter in ascii_lowercase:
        name = f"dn{os.getpid()}{letter}"
        if f"{name}b" not in taken:
            return name
    msg = f"this process has {len(ascii_lowercase)} networks already"
    raise NetworkError(msg)


def devices() -> list[str]:
    """Return the names of bridges and links of any run."""
    found: list[dict[str, Any]] = json.loads(call("ip", "-j", "link"))
    return [device["ifname"] for device in found if OURS.fullmatch(device["ifname"])]


def namespaces() -> list[str]:
    """Return the names of namespaces of any run."""
    lines = call("ip", "netns", "list").splitlines()
    return [line.split()[0] for line in lines if line and OURS.fullmatch(line.split()[0])]


def _left(names: Sequence[str]) -> list[str]:
    matches = [(name, OURS.fullmatch(name)) for name in names]
    return [name for name, match in matches if match and not alive(int(match[1]))]


def left() -> list[str]:
    """Return the names of devices and namespaces called after a process which is no more."""
    if shutil.which("ip") is None:  # so nothing can have been made
        return []
    return _left(devices()) + _left(namespaces())


def reap() -> list[str]:
    """Remove the devices and namespaces that killed runs left, and end what still runs in them.

    Returns
    -------
    list of str
        Their names.
    """
    if shutil.which("ip") is None:  # so nothing can have been made
        return []
    reaped = []
    for name in _left(devices()):
        with suppress(NetworkError):  # another run reaps at the same time, or its pair is gone
            call("ip", "link", "del", name)
            reaped.append(name)
    for name in _left(namespaces()):
        with suppress(NetworkError):
            for pid in call("ip", "netns", "pids", name).split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            call("ip", "netns", "del", name)
            reaped.append(name)
    return reaped
