"""Links are measured between workers, in rounds in which each has one partner."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.runtime import links as module
from dnumpy.runtime.links import measure_links, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator


def measured(test: Any) -> Any:
    """Mark a test in which links between workers are measured."""
    modeless = pytest.mark.modeless("links carry bytes, whatever these are of")
    return pytest.mark.alone(pytest.mark.cluster(modeless(test)))


@given(st.integers(0, 40))
def test_each_pair_meets_once_and_nobody_has_two_partners_in_a_round(count: int) -> None:
    nodes = [str(k) for k in range(count)]
    found = rounds(nodes)
    met = [frozenset(pair) for pairs in found for pair in pairs]
    assert len(met) == len(set(met)) == count * (count - 1) // 2
    assert all(len({n for pair in pairs for n in pair}) == 2 * len(pairs) for pairs in found)
    assert len(found) <= count


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def handlers_left(dask_worker: Any) -> bool:
    return module.HANDLER in dask_worker.handlers


@measured
def test_each_ordered_pair_of_workers_has_a_link(client: Any) -> None:
    workers = list(client.scheduler_info()["workers"])
    links = measure_links(client, workers, largest=module.MIDDLE)
    assert {link[:2] for link in links.links} == set(permutations(workers, 2))
    for source, target, seconds in links.links:
        assert len(seconds) == 2
        assert 1e5 < links.bytes_per_second(source, target) < 1e12
    assert not any(client.run(handlers_left).values())


@measured
def test_large_messages_are_sent_only_where_smaller_ones_are_quick(client: Any) -> None:
    workers = sorted(client.scheduler_info()["workers"])[:2]
    links = measure_links(client, workers)
    for link in links.links:
        assert len(link.seconds) == (3 if link.seconds[1] * 64 <= module.LARGEST_SECONDS else 2)
    assert links.sizes == (1e3, 1e6, 64e6)


@measured
def test_without_time_left_no_round_begins(client: Any) -> None:
    workers = list(client.scheduler_info()["workers"])
    assert measure_links(client, workers, budget_seconds=0.0).links == ()
