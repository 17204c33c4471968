"""What the legs of a relay tell the client at once, and how the client hears of it.

A result of a Dask task comes home in three steps: the worker tells the scheduler that the task has
ended, the scheduler tells the client, and the client asks for the data. What a leg has for the
client is small (results and reports), so it goes along with the first two, as an *event* of a topic
that the client subscribes to. What is too large for one, or was lost with a connection, is asked
for; a worker keeps what it told last for that.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from distributed import Client

ASK = "dnumpy_ask"  # the name of the message that asks a worker what it told
# Bytes in an event. The scheduler and both ends of its connections remember the last 1,000 of them.
MOST_TOLD = 1 << 13
REMEMBERED = 32  # runs of which a worker can be asked
SOON = 0.01  # seconds after which a failure that was told of is looked for again


class News(NamedTuple):
    """An event: a leg's results, pickled; None where they have to be asked for, or it failed."""

    run: str
    node: str
    failed: bool
    data: bytes | None


class Teller:
    """A worker's end: tells the client what a leg gives, when its task is known to have ended."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._remembered: OrderedDict[str, bytes] = OrderedDict()
        self._with_task: dict[str, tuple[str, News]] = {}

    def tell(self, topic: str, run: str, values: Sequence[Any], *, along: str | None) -> None:
        """Tell the results of a run; ``along`` with that task, if its own result matters too.

        Two messages one after the other would be two milliseconds apart.
        """
        from distributed.protocol.pickle import dumps  # functions of the user's own, too

        data = dumps(tuple(values))
        self._remembered[run] = data
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        small = data if len(data) <= MOST_TOLD else None
        news = News(run, self.worker.address, failed=False, data=small)
        if along is None:
            self.worker.log_event(topic, tuple(news))
        else:
            self._with_task[along] = topic, news

    def tell_failed(self, topic: str, run: str) -> None:
        """Tell that the leg of a run has failed."""
        news = News(run, self.worker.address, failed=True, data=None)
        self.worker.log_event(topic, tuple(news))

    def task_is(self, key: str, state: str) -> None:
        """Tell what goes along with a task that has come to this state."""
        if key in self._with_task and state != "executing":
            topic, news = self._with_task.pop(key)
            if state == "memory":
                self.worker.log_event(topic, tuple(news))

    def asked(self, run: str) -> bytes | None:
        """Answer what was told of a run."""
        return self._remembered.get(run)


class Awaited:
    """What the legs of one run are to tell."""

    def __init__(self, run: str, nodes: Iterable[str]) -> None:
        self.run = run
        self.data: dict[str, bytes | None] = {}
        self.failed = False
        self._missing = set(nodes)
        self._changed = threading.Event()
        if not self._missing:
            self._changed.set()

    def take(self, news: News) -> None:
        """Take in what one of them told."""
        self.data[news.node] = news.data
        self._missing.discard(news.node)
        self.failed |= news.failed
        if self.failed or not self._missing:
            self._changed.set()

    def wait(self, seconds: float) -> bool:
        """Say whether all was told, in at most so long, or less where a failure was."""
        self._changed.wait(seconds)
        if self.failed:
            time.sleep(min(SOON, seconds))
        return not self.failed and not self._missing


class Listener:
    """A client's end; ``watched`` waits for workers' answers as long as there are such workers."""

    def __init__(self, client: Client, watched: Callable[..., dict[str, Any]]) -> None:
        self.client = client
        self.watched = watched
        self.topic = f"dnumpy-{client.id}"
        self._awaited: dict[str, Awaited] = {}
        self._subscribed = False

    def expect(self, run: str, nodes: Iterable[str]) -> Awaited:
        """Return what is going to be told of a run, until :meth:`forget`."""
        if not self._subscribed:
            self.client.subscribe_topic(self.topic, self._heard)
            self._subscribed = True
        awaited = self._awaited[run] = Awaited(run, nodes)
        return awaited

    def forget(self, awaited: Awaited) -> None:
        """Expect nothing more of a run."""
        self._awaited.pop(awaited.run, None)

    def _heard(self, event: tuple[float, Any]) -> None:
        news = News(*event[1])
        awaited = self._awaited.get(news.run)
        if awaited is not None:
            awaited.take(news)

    def values(self, awaited: Awaited, nodes: Sequence[str]) -> list[tuple[Any, ...] | None]:
        """Return what each node told, asking those whose word has not come.

        None of one that no longer knows.
        """
        from distributed.protocol.pickle import loads

        silent = [node for node in nodes if awaited.data.get(node) is None]
        found = {**awaited.data, **(self._ask(awaited.run, silent) if silent else {})}
        told = [found.get(node) for node in nodes]
        return [loads(data) if type(data) is bytes else None for data in told]

    def _ask(self, run: str, nodes: Sequence[str]) -> dict[str, Any]:
        message = {"op": ASK, "run": run}
        scheduler: Any = self.client.scheduler
        ask = partial(scheduler.broadcast, msg=message, workers=list(nodes), on_error="ignore")
        try:
            found: dict[str, Any] = self.watched(nodes, partial(self.client.sync, ask))
        except ConnectionError:  # one of them is gone: whoever waits for its rows finds out
            return {}
        return found
