"""Arrays that lie on workers, handed to the user's own tasks, arrive there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from dnumpy.runtime import find, sending
from dnumpy.runtime.chunked import Chunked

if TYPE_CHECKING:
    from collections.abc import Callable

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(40),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
]
COUNT = 3_000_000


@dataclass
class Case:
    """An array in an object that nobody looks into."""

    array: Any


def total(x: Any) -> float:
    """Return the sum of an array, or of that of a Case."""
    return float(np.asarray(getattr(x, "array", x)).sum())


def first(xs: Any) -> float:
    """Return the sum of the first array of a list."""
    return total(xs[0])


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "submitted": lambda client, x: client.submit(total, x).result(),
    "not pure": lambda client, x: client.submit(total, x, pure=False).result(),
    "in a list": lambda client, x: client.submit(first, [x]).result(),
    "in an object": lambda client, x: client.submit(total, Case(x), pure=False).result(),
    "for each": lambda client, x: client.gather(client.map(lambda _, x: total(x), [1], x=x))[0],
    "scattered": lambda client, x: client.submit(total, client.scatter(x)).result(),
    "scattered in a list": lambda client, x: client.submit(total, client.scatter([x])[0]).result(),
    "on every worker": lambda client, x: next(iter(client.run(total, x).values())),
    "by name": lambda client, x: next(iter(client.run(total, x=x).values())),
    "in a dict": lambda client, x: next(iter(client.run(first, xs={0: x}).values())),
    "in a closure": lambda client, x: client.submit(lambda: total(x)).result(),
}


@pytest.fixture
def far(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the client, to whose workers all is sent that may be."""
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(sending, "pays", lambda *_, **__: True)
    monkeypatch.setattr(find, "_is_worth_it", lambda *_, **__: True)
    return client


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("how", WAYS)
def test_what_lies_on_workers_is_handed_to_tasks(far: Any, how: str, pending: bool) -> None:
    x = dnumpy.arange(COUNT, dtype=float) * 2
    float(x.sum())
    assert isinstance(x._buf.expr.value, Chunked)
    given = x + 1.0 if pending else x
    assert WAYS[how](far, given) == COUNT * (COUNT - 1.0) + COUNT * pending


@pytest.mark.parametrize("how", WAYS)
def test_a_scalar_that_is_pending_is_handed_to_tasks(far: Any, how: str) -> None:
    x = (dnumpy.arange(COUNT, dtype=float) * 2).sum()
    assert WAYS[how](far, x) == COUNT * (COUNT - 1.0)
