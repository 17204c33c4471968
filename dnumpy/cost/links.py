"""What it takes to bring bytes from one node to another: measured, plain data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Link(NamedTuple):
    """One direction between two nodes; ``seconds`` from asking for so many bytes to having them.

    Measured for the first of the sizes of its :class:`Links`, as many as were worth their time.
    """

    source: str
    target: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """The links between nodes, measured from node to node, the same after a JSON round trip.

    Attributes
    ----------
    sizes : tuple of float
        Bytes of the messages, growing; the first one is so small that its time is latency.
    links : tuple of Link
        At most one for each ordered pair of nodes.
    measured_at : float
        Seconds since the epoch.
    """

    sizes: tuple[float, ...]
    links: tuple[Link, ...] = ()
    measured_at: float = 0.0

    def between(self, source: str, target: str) -> Link:
        """Return the link from ``source`` to ``target``.

        For a pair that was not measured, the slowest link into ``target`` or out of ``source``, or
        of all where there is none; raises KeyError where nothing has been measured at all.
        """
        found = _by_pair(self).get((source, target))
        if found is not None:
            return found
        alike = [link for link in self.links if link.source == source or link.target == target]
        if not self.links:
            raise KeyError((source, target))
        slowest = max(alike or self.links, key=lambda link: link.seconds)
        return Link(source, target, slowest.seconds)

    def latency_seconds(self, source: str, target: str) -> float:
        """Return the time of a small message; none within a node."""
        return self.between(source, target).seconds[0] if source != target else 0.0

    def seconds(self, source: str, target: str, size: float) -> float:
        """Return the time of ``size`` bytes, linear between the measured sizes and beyond them.

        Grows with the size; nothing takes no time, and neither does what stays on its node.
        """
        if source == target or size <= 0:
            return 0.0
        times = self.between(source, target).seconds
        if size <= self.sizes[0] or len(times) == 1:
            return times[0] * max(1.0, size / self.sizes[0])
        last = len(times) - 2
        k = next((k for k in range(last) if size <= self.sizes[k + 1]), last)
        slope = (times[k + 1] - times[k]) / (self.sizes[k + 1] - self.sizes[k])
        return times[k] + (size - self.sizes[k]) * slope

    def bytes_per_second(self, source: str, target: str) -> float:
        """Return the rate of the largest message that was measured; infinite within a node."""
        if source == target:
            return float("inf")
        times = self.between(source, target).seconds
        return self.sizes[len(times) - 1] / times[-1]

    def later_by(self, latency_seconds: Mapping[str, float]) -> Links:
        """Return the links with small messages that take at least so long, and others as longer.

        Between two nodes it is the slower one's.
        """
        found = []
        for link in self.links:
            ends = (latency_seconds.get(node, 0.0) for node in (link.source, link.target))
            more = max(max(ends) - link.seconds[0], 0.0)
            found.append(link._replace(seconds=tuple([took + more for took in link.seconds])))
        return Links(self.sizes, tuple(found), self.measured_at)

    def merged(self, newer: Links) -> Links:
        """Return these links with those of ``newer`` in the place of what it measured again."""
        if self.sizes != newer.sizes:
            return newer
        found = {(link.source, link.target): link for link in (*self.links, *newer.links)}
        return Links(self.sizes, tuple(found.values()), max(self.measured_at, newer.measured_at))

    def to_json(self) -> bytes:
        """Return the links as JSON; ``from_json`` gives back equal ones."""
        import msgspec

        return msgspec.json.encode(self)

    @staticmethod
    def from_json(text: bytes | str) -> Links:
        """Return the links written by ``to_json``; raises ValueError when they are none."""
        import msgspec

        links = msgspec.json.decode(text, type=Links)
        links.verify()
        return links

    def verify(self) -> None:
        """Raise ValueError unless sizes grow, times are positive and grow, and pairs differ."""
        if not self.sizes or any(not 0 < a < b for a, b in pairwise((*self.sizes, float("inf")))):
            msg = f"links: sizes {self.sizes} must be positive and grow"
            raise ValueError(msg)
        pairs = [(link.source, link.target) for link in self.links]
        if len(set(pairs)) != len(pairs) or any(a == b for a, b in pairs):
            msg = "links: each is between two nodes, and each pair has one"
            raise ValueError(msg)
        for link in self.links:
            grows = all(a <= b for a, b in pairwise((*link.seconds, float("inf"))))
            if not (1 <= len(link.seconds) <= len(self.sizes) and link.seconds[0] > 0 and grows):
                msg = f"link {link.source} -> {link.target}: times {link.seconds} must grow"
                raise ValueError(msg)
            if link.seconds[-1] == float("inf"):
                msg = f"link {link.source} -> {link.target}: times {link.seconds} must be finite"
                raise ValueError(msg)

    def __str__(self) -> str:
        """Return one line per link: latency, and the rate of the largest message."""
        return "\n".join(
            f"{link.source} -> {link.target}: {link.seconds[0] * 1e3:.2f} ms, "
            f"{self.bytes_per_second(link.source, link.target) / 1e6:.0f} MB/s"
            for link in self.links
        )


@lru_cache(maxsize=64)
def _by_pair(links: Links) -> dict[tuple[str, str], Link]:
    return {(link.source, link.target): link for link in links.links}
