"""Nodes of the same processor and versions have the same rates: what differs was disturbed.

A neighbour, a quota's pauses or cold memory only ever lengthen what is measured, so that the least
of what equal nodes found is nearest to the truth. What a node is really allowed is its ``speed``,
and stays its own, as do bandwidth and GEMM rates, which depend on how memory and cores are shared.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from dnumpy.cost.profile import DeviceProfile

SINGLE = (
    "gather_ns",
    "scatter_ns",
    "sort_ns",
    "fft_ns",
    "page_ns_per_byte",
    "first_touch_ns_per_byte",
    "call_seconds",
    "lowering_seconds",
    "importing_seconds",
    "starting_seconds",
)


def levelled(profiles: Iterable[DeviceProfile]) -> list[DeviceProfile]:
    """Return the profiles in their order, each with the least times among nodes like it."""
    every = list(profiles)
    groups: dict[Hashable, list[DeviceProfile]] = defaultdict(list)
    for profile in every:
        groups[_kind_of(profile)].append(profile)
    return [_with_least(profile, groups[_kind_of(profile)]) for profile in every]


def _kind_of(profile: DeviceProfile) -> Hashable:
    """Return what nodes share that are alike; a processor without a name is like no other."""
    if not profile.processor:
        return profile.name
    return profile.kind, profile.processor, profile.threads, profile.versions


def _with_least(profile: DeviceProfile, group: Sequence[DeviceProfile]) -> DeviceProfile:
    if len(group) == 1:
        return profile
    tables = []
    for lowering, table in profile.ns_per_element:
        others = [dict(dict(one.ns_per_element).get(lowering, ())) for one in group]
        least = ((c, min(o[c] for o in others if c in o)) for c, _ in table)
        tables.append((lowering, tuple(least)))
    found: dict[str, Any] = {}
    for name in SINGLE:
        known = [value for one in group if (value := getattr(one, name)) > 0]
        found[name] = min(known, default=0.0)
    return replace(profile, ns_per_element=tuple(tables), **found)
