"""All tasks of a run on one node as one Dask task, whose results go straight to the other nodes.

A task of ``distributed`` that waits for another node's takes six to ten milliseconds to begin: the
scheduler hears of the end, tells the next worker, and that one asks for the data. In a loop whose
steps take less than that, waiting is most of it. But the whole run is known beforehand: here each
node gets its part of it at once, a :class:`Leg`, runs what is ready, and hands what others need to
them, without a word to the scheduler.

Nothing waits for ever. A leg that hears nothing for ``STALL_SECONDS``, or whose peer cannot be
reached, raises :class:`RelayBroken`, after which the client runs the same graph task by task; one
that was cancelled ends by itself. A leg that has to wait gives its place to other tasks of the
worker, so that two runs whose legs wait for one another's places both go on.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from dnumpy.runtime.received import sendable, sent_value
from dnumpy.runtime.told import ASK, Teller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.runtime.sealed import Sealed

STALL_SECONDS = 30.0  # without a result or a message
YIELD_SECONDS = 0.1  # of waiting, after which other tasks may have the thread
LOOK_SECONDS = 0.5  # how often a leg that waits looks whether it is still wanted
SEND_SECONDS = 0.05  # at most, before a lane goes on while its results are being sent
FORGOTTEN_SECONDS = 600.0  # after which messages for a leg that never came are dropped
TIMED_ROUNDS = 3
TIMED_STEPS = 50
ENDED_RUNS = 1024  # of which late messages are recognised
HAND_OVER = "dnumpy_hand_over"  # the name of the message that opens a line
TAKEN = "taken"  # its answer, where results are taken in


class RelayBroken(Exception):  # noqa: N818 - an event, answered by running task by task
    """A leg could not go on, for a reason that is not the program's."""


class Argument(NamedTuple):
    """An argument of a step: a value, the result of step ``key``, or external datum ``number``."""

    value: Any = None
    key: str | None = None
    number: int | None = None


class Step(NamedTuple):
    """A task of the run."""

    key: str
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]


class Leg(NamedTuple):
    """One node's part of a run.

    Attributes
    ----------
    run : str
        The run's name.
    steps : tuple of Step
        In the order in which they are run where several are ready: first what takes little, and
        lets another node begin.
    sends : dict
        To whom results go, addresses by key.
    gives : tuple of str
        The keys whose results are the leg's, which stay on the node.
    tells : tuple of str
        The keys whose results the client is told.
    """

    run: str
    steps: tuple[Step, ...]
    sends: dict[str, tuple[str, ...]]
    gives: tuple[str, ...]
    tells: tuple[str, ...] = ()


class NodeLeg(NamedTuple):
    """What a node does in a relay.

    Attributes
    ----------
    node, label : str
        Its address, and its device class.
    sealed : Sealed
        Its leg, of no run's name.
    lanes : int
        Threads that it can use.
    staying, coming : tuple of str
        Keys of the results that stay there, which the leg gives, and of those that come home, which
        it tells.
    """

    node: str
    label: str
    sealed: Sealed
    lanes: int
    staying: tuple[str, ...]
    coming: tuple[str, ...]


class Legs(NamedTuple):
    """A graph as legs: all that is the same when it is run again, and the run that it was made for.

    What the legs read that is not made in them is told apart.
    """

    run: str
    nodes: tuple[NodeLeg, ...]


class _Running:
    """A leg while it runs, and what has arrived for it; shared by the lanes that run it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.since = time.monotonic()
        self.leg: Leg | None = None
        self.problem: BaseException | None = None
        self.left = 0  # steps that have not ended
        self.unbegun = 0
        self.given: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        self._steps: list[Step] = []
        self._ready: list[int] = []
        self._external: Sequence[Any] = ()
        self._wanted: set[str] = set()
        self._missing: dict[int, int] = {}  # of each step: results that it waits for
        self._readers: dict[str, list[int]] = {}
        self._unread: dict[str, int] = {}  # of each result: steps that have not read it

    def begin(self, leg: Leg, external: Sequence[Any]) -> None:
        """Take up the leg."""
        with self.changed:
            self._steps, self._external = list(leg.steps), external
            self.left = self.unbegun = len(leg.steps)
            for number, step in enumerate(leg.steps):
                needed = {a.key for a in step.arguments if a.key is not None}
                for key in needed:
                    self._readers.setdefault(key, []).append(number)
                self._missing[number] = len(needed - self._values.keys())
            self._unread = {key: len(readers) for key, readers in self._readers.items()}
            self._ready = [number for number, count in self._missing.items() if not count]
            heapify(self._ready)
            self._wanted = {*leg.gives, *leg.tells}
            self.leg = leg
            self.changed.notify_all()

    def take(self, key: str, value: Any) -> None:
        """Take in a result of another node's."""
        with self.changed:
            self._provide(key, value)
            self.changed.notify_all()

    def _provide(self, key: str, value: Any) -> None:
        self.since = time.monotonic()
        if key in self._values or (self.leg is not None and key not in self._readers):
            return
        self._values[key] = value
        for number in self._readers.get(key, ()):
            self._missing[number] -= 1
            if not self._missing[number]:
                heappush(self._ready, number)

    def can_go_on(self) -> bool:
        """Say whether a step is ready, or none is left to begin; the lock is held."""
        return bool(self._ready) or not self.unbegun

    def next_step(self) -> Step | None:
        """Return a step that is ready, the earliest, None if none is; the lock is held."""
        if not self._ready:
            return None
        self.unbegun -= 1
        return self._steps[heappop(self._ready)]

    def arguments(self, step: Step) -> list[Any]:
        """Return the values of a step's arguments; who reads a result last lets go of it."""
        with self.changed:
            found = [self._value(argument) for argument in step.arguments]
            for key in {a.key for a in step.arguments if a.key is not None}:
                self._unread[key] -= 1
                if not self._unread[key]:
                    self._values[key] = None
        return found

    def _value(self, argument: Argument) -> Any:
        if argument.key is not None:
            return self._values[argument.key]
        return argument.value if argument.number is None else self._external[argument.number]

    def end(self, step: Step, value: Any) -> None:
        """Take in the result of a step."""
        assert self.leg is not None
        with self.changed:
            self.left -= 1
            if step.key in self._wanted:
                self.given[step.key] = value
            self._provide(step.key, value)
            self.changed.notify_all()

    def fail(self, problem: BaseException) -> None:
        """End the leg for all its lanes."""
        with self.changed:
            self.problem = self.problem or problem
            self.changed.notify_all()


class Station:
    """A worker's end of all relays: takes in what others hand over."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self.teller = Teller(worker)
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}
        self._ended: deque[str] = deque(maxlen=ENDED_RUNS)
        self._lines: dict[str, _Line] = {}  # to other workers; of the worker's loop alone

    async def receive(self, comm: Any) -> Any:
        """Take in what another worker hands over, until it closes the connection."""
        from distributed.core import Status

        await comm.write(TAKEN)
        with suppress(OSError):  # closed: who still waits for something finds out
            while not comm.closed():
                self._take_in(*await comm.read(), peer=comm.peer_address)
        return Status.dont_reply

    def _take_in(self, run: str, key: str, *sent: Any, peer: str) -> None:
        """Take in a message; nothing of it, or of its run, is held while the next is awaited."""
        running = self.running(run)
        if running is not None:
            try:
                running.take(key, sent_value(sent))
            except Exception as problem:  # noqa: BLE001 - told to the lanes
                running.fail(_broken(f"a result of {peer} is none", problem))

    def running(self, run: str) -> _Running | None:
        """Return a run, which may have had messages before its leg arrived; None if it is over."""
        with self._lock:
            return None if run in self._ended else self._of(run)

    def _of(self, run: str) -> _Running:
        if run not in self._running:
            old = time.monotonic() - FORGOTTEN_SECONDS
            waiting = [r for r, one in self._running.items() if one.leg is None]
            for forgotten in [r for r in waiting if self._running[r].since < old]:
                del self._running[forgotten]
            self._running[run] = _Running()
        return self._running[run]

    def close(self, run: str) -> None:
        """Forget a run, and drop what arrives for it from now on."""
        with self._lock:
            self._running.pop(run, None)
            self._ended.append(run)

    def hand_over(
        self, running: _Running, run: str, key: str, value: Any, to: Sequence[str]
    ) -> None:
        """Send a result to other workers; the leg fails where one cannot be reached.

        Returns when the messages are on their way, at most ``SEND_SECONDS`` later: the next step
        would take the time, of a worker whose time is limited, that sending them needs.
        """
        sent = threading.Semaphore(0)
        for address in to:
            self.worker.loop.add_callback(self._send, running, (run, key, value), address, sent)
        until = time.monotonic() + SEND_SECONDS
        for _ in to:
            sent.acquire(timeout=max(until - time.monotonic(), 0.0))

    async def _send(
        self, running: _Running, message: tuple[str, str, Any], to: str, sent: threading.Semaphore
    ) -> None:
        try:
            await self._lines.setdefault(to, _Line(self.worker, to)).send(message)
        except Exception as problem:  # noqa: BLE001 - told to the lanes
            running.fail(_broken(f"{to} cannot be reached", problem))
        finally:
            sent.release()


class _Line:
    """A connection to a worker for results alone, which takes them without a word.

    An answer to each would take as long as the message. One that gets lost, with the worker or the
    connection, is missed by who waits for it, and by the client, which watches the workers.
    """

    def __init__(self, worker: Any, address: str) -> None:
        self.worker = worker
        self.address = address
        self._turn = asyncio.Lock()  # messages must not get into one another
        self._comm: Any = None
        self._watch: asyncio.Task[None] | None = None

    async def send(self, message: tuple[str, str, Any]) -> None:
        """Send a result, on a new connection if there is none."""
        run, key, value = message
        async with self._turn:
            if self._comm is None or self._comm.closed():
                self._comm = await self._opened()
                self._watch = asyncio.create_task(_read_until_closed(self._comm))
            await self._comm.write((run, key, *sendable(value)))

    async def _opened(self) -> Any:
        comm = await self.worker.rpc.connect(self.address)
        try:
            await comm.write({"op": HAND_OVER})
            answer = await comm.read()
        except BaseException:
            comm.abort()
            raise
        if answer != TAKEN:
            self.worker.rpc.reuse(self.address, comm)
            msg = f"it does not take results: {answer!r}"
            raise RelayBroken(msg)
        return comm


async def _read_until_closed(comm: Any) -> None:
    """Wait for what never comes: nobody else would notice that the other end is gone."""
    with suppress(OSError):
        await comm.read()


def _broken(why: str, problem: BaseException) -> RelayBroken:
    broken = RelayBroken(f"{why}: {problem!r}")
    broken.__cause__ = problem
    return broken


_stations: dict[str, Station] = {}  # of the workers of this process, by address


def open_station(worker: Any) -> Station:
    """Let a worker take part in relays."""
    station = _stations[worker.address] = Station(worker)
    worker.handlers[HAND_OVER] = station.receive
    worker.handlers[ASK] = station.teller.asked
    return station


def run_leg(leg: Leg, *external: Any, topic: str | None = None) -> Any:
    """Run a node's part of a run, with other lanes if there are any; return what it gives.

    That is one result, or a tuple of any other number. What it tells goes to the ``topic``. Raises
    RelayBroken where it cannot be run.
    """
    station = _station_here()
    running = station.running(leg.run)
    if running is None:
        msg = f"run {leg.run} is over on {station.worker.address}"
        raise RelayBroken(msg)
    lane = _Lane(station, running, leg.run)
    try:
        running.begin(leg, external)
        lane.run()
        with running.changed:
            lane.wait(lambda: not running.left)
        given = tuple([running.given[key] for key in leg.gives])
        if topic is not None:
            told = [running.given[key] for key in leg.tells]
            station.teller.tell(topic, leg.run, told, along=lane.key if given else None)
        return given[0] if len(given) == 1 else given
    except BaseException:
        if topic is not None:
            station.teller.tell_failed(topic, leg.run)
        raise
    finally:
        running.fail(RelayBroken("the leg has ended"))
        station.close(leg.run)


def run_sealed(run: str, topic: str, sealed: Sealed, *external: Any) -> Any:
    """Run a leg that was sealed under no name, as a part of this run."""
    leg: Leg = sealed.opened()
    return run_leg(leg._replace(run=run), *external, topic=topic)


def step_seconds() -> float:
    """Return what a step of a leg takes on this worker besides its work."""
    best = float("inf")
    for _ in range(TIMED_ROUNDS):
        keys = [f"step-{k}" for k in range(TIMED_STEPS)]
        steps = [Step(keys[0], _same, (Argument(0),))]
        steps += [Step(key, _same, (Argument(key=last),)) for last, key in pairwise(keys)]
        leg = Leg(uuid4().hex, tuple(steps), {}, (keys[-1],))
        began = time.perf_counter()
        run_leg(leg)
        best = min(best, (time.perf_counter() - began) / TIMED_STEPS)
    return best


def _same(value: Any) -> Any:
    return value


def run_lane(run: str) -> None:
    """Help to run a leg of this worker, on a thread more."""
    station = _station_here()
    running = station.running(run)
    if running is not None:
        with suppress(RelayBroken):  # the lane with the leg tells what there is to tell
            _Lane(station, running, run).run()


def _station_here() -> Station:
    from distributed import get_worker

    worker = get_worker()
    if worker.address not in _stations:
        msg = f"{worker.address} was not set up for relays"
        raise RelayBroken(msg)
    return _stations[worker.address]


class _Lane:
    """A thread that runs steps of a leg."""

    def __init__(self, station: Station, running: _Running, run: str) -> None:
        self.station = station
        self.running = running
        self.name = run
        self.key = station.worker.get_current_task()
        self.yielded = False

    def run(self) -> None:
        """Run steps until none is left to begin."""
        running = self.running
        with running.changed:
            self.wait(lambda: running.leg is not None)
        leg = running.leg
        assert leg is not None
        while True:
            with running.changed:
                self.wait(running.can_go_on)
                step = running.next_step()
            if step is None:
                return
            self._run(leg, step)

    def _run(self, leg: Leg, step: Step) -> None:
        try:
            value = step.function(*self.running.arguments(step))
        except BaseException as problem:
            self.running.fail(problem)
            raise
        if step.key in leg.sends:
            to = leg.sends[step.key]
            self.station.hand_over(self.running, self.name, step.key, value, to)
        self.running.end(step, value)

    def wait(self, ready: Callable[[], bool]) -> None:
        """Wait until that holds; the lock is held. Raises what ended the leg, or RelayBroken."""
        began = time.monotonic()
        while True:
            if self.running.problem is not None:
                raise self.running.problem
            if ready():
                return
            patience = LOOK_SECONDS if self.yielded else YIELD_SECONDS
            if not self.running.changed.wait(patience):
                self._look(began)

    def _look(self, began: float) -> None:
        """Give the thread's place to others; raise RelayBroken if waiting has become pointless."""
        from distributed import secede

        if not self.yielded:
            self.yielded = True
            secede()
        task = self.station.worker.state.tasks.get(self.key)
        if task is None or task.state in ("cancelled", "resumed", "released", "forgotten"):
            msg = f"{self.key} was cancelled"
            raise RelayBroken(msg)
        quiet = time.monotonic() - max(began, self.running.since)
        if quiet > STALL_SECONDS:
            msg = f"{self.station.worker.address} heard nothing for {quiet:.0f} s"
            raise RelayBroken(msg)
