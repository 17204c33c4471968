"""Jointly: all that a run asks of its nodes as one program of ``plan/``, and the answers.

Stages whose rows follow one another (the rows of a stencil follow those of the grid, give or take a
few) are brought to one number of rows and one granule, so that the planner may cut them alike; the
answer is brought back to the rows and granules of each stage. Arrays at home are phases that are
done, on a node that can do nothing else; one that several stages read by rows is sent once. Results
of equal length that stay are cut alike, unless that takes longer than moving the rows later: they
will probably be read together.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from math import inf, lcm
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.config import config
from dnumpy.errors import PlanInfeasible
from dnumpy.plan import plan_program
from dnumpy.plan.dag import SAME_ROWS, Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.model import Plan
from dnumpy.plan.rates import MEMORY_SHARE, node_rate
from dnumpy.plan.reshard import reshard_seconds
from dnumpy.runtime import answers, later
from dnumpy.runtime.answers import (
    AGAIN,
    MOST_ANSWERS,
    Answer,
    Elsewhere,
    Joint,
    Place,
    Question,
    Rating,
    Refused,
)
from dnumpy.runtime.bind import MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from dnumpy.cost.links import Links
    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.plan.dag import Objective, ProgramPlan
    from dnumpy.plan.model import NodeRate
    from dnumpy.runtime.demands import Demand
    from dnumpy.runtime.sketch import Lying, Reads, Sketch

__all__ = ["Joint", "Place", "Rating", "plan_together"]

HOME = "home"  # the node that arrays at home lie on
PIECES = 8  # granules per node that a common granule of several stages must leave
MOVING_MARGIN = 0.08  # of the time: predictions of warm programs are off by about as much
ROOMY = 0.5  # of a node's memory: what more arrays may take where they had better lie
MOST_APART = 24  # nodes whose links are told apart; above, those of a class count as alike
SAMPLED = 8  # links between two classes whose median stands for all


class _Scale(NamedTuple):
    """Rows and granule that a group of stages is planned in."""

    rows: int
    granule: int


class _Builder:
    """Makes the program of a sketch: lying arrays first, then those sent once, then demands."""

    def __init__(
        self,
        sketch: Sketch,
        places: Sequence[Place],
        ratings: Sequence[Rating],
        free: Collection[int] = (),
    ) -> None:
        order = {place.profile.name: k for k, place in enumerate(places)}
        self.sketch, self.places = _in_order(sketch, order), places
        self.free = free  # lying arrays of which it is asked where they had better lie
        self.first = len(sketch.lying)
        self.rates = [
            _rates(demand.work, places, rating, alone=demand.alone)
            for demand, rating in zip(sketch.demands, ratings, strict=True)
        ]
        self.from_home = any(not array.where for array in sketch.lying)
        self.nodes = [
            Node(place.profile.name, MEMORY_SHARE * place.profile.free_bytes) for place in places
        ]
        if self.from_home:
            self.nodes.append(Node(HOME))
        self.order = order
        # several results of equal length that stay
        self.together = [group for group in sketch.kept_by_rows() if len(group) > 1]
        latency = len(places) > 1 and config.objective == "latency"
        self.passed = later.passed_later(self.sketch) if latency else []
        self.scale = self._scales()

    def program(self, links: Links) -> tuple[Program, list[int]]:
        """Return the program, and which of its phases each demand is."""
        asks = [self._lying(k, array) for k, array in enumerate(self.sketch.lying)]
        sent = self._sent_once()
        numbers: dict[tuple[int, bool], int] = {}
        edges: list[Edge] = []
        for k in range(self.first):
            numbers[k, True] = k
        for k in sent:
            copy = self._copy(k)
            edges.append(Edge(k, len(asks), "aligned", copy.bytes_per_row))
            numbers[k, True] = len(asks)
            asks.append(copy)
        for k, demand in enumerate(self.sketch.demands):
            numbers[k, False] = len(asks)
            asks.append(self._ask(k, demand))
        for read in self.sketch.reads:
            by_rows = read.access in SAME_ROWS
            producer = numbers[read.producer, read.lying]
            if read.lying and not by_rows:
                producer = read.producer
            edges.append(self._edge(read, producer, numbers[read.consumer, False], asks))
        for group in self.together:
            edges += [
                Edge(numbers[k, False], len(asks), "aligned", asks[numbers[k, False]].bytes_per_row)
                for k in group
            ]
            asks.append(self._later(group[0]))
        for passed in self.passed:
            made = [numbers[k, False] for k in passed.demands]
            over = {k: asks[k].bytes_per_row for k in made}
            more, reads = later.asks_later(len(asks), over, self._pass(passed))
            asks += more
            edges += reads
        program = Program(
            tuple(self.nodes),
            _network(self.places, links, home=self.from_home),
            tuple(asks),
            tuple(edges),
            MOVING_MARGIN,
            MESSAGE_BYTES,
        )
        return program, [numbers[k, False] for k in range(len(self.sketch.demands))]

    def _scales(self) -> list[_Scale]:
        """Return rows and granule of each lying array and demand, equal where rows follow rows."""
        sizes = [array.rows for array in self.sketch.lying]
        sizes += [demand.work.rows for demand in self.sketch.demands]
        granules = [1] * self.first + [demand.granule for demand in self.sketch.demands]
        head = list(range(len(sizes)))
        alike = [
            (read.producer + (0 if read.lying else self.first), self.first + read.consumer)
            for read in self.sketch.reads
            if read.access in SAME_ROWS
        ]
        alike += [(self.first + a, self.first + b) for a, *rest in self.together for b in rest]
        for one, other in alike:
            a, b = head[one], head[other]
            if a != b:
                head = [min(a, b) if h in (a, b) else h for h in head]
        found = {}
        for h in set(head):
            members = [k for k, of in enumerate(head) if of == h]
            rows = max(1, *(sizes[k] for k in members))
            scaled = [max(1, round(granules[k] * rows / max(sizes[k], 1))) for k in members]
            common = lcm(*scaled)
            if common * PIECES * len(self.places) > rows:
                common = max(scaled)
            found[h] = _Scale(rows, min(common, rows))
        return [found[h] for h in head]

    def _lying(self, k: int, array: Lying) -> Ask:
        """Return an array that is there as a phase that is done."""
        scale = self.scale[k]
        if k in self.free:
            return self._copy(k)
        if array.where:
            counts = [0] * len(self.nodes)
            for node, rows in array.where:
                counts[self.order[node]] = rows
            stops = _scaled(_stops(counts), max(array.rows, 1), scale.rows, 1)
            pinned = Placement(tuple(b - a for a, b in zip([0, *stops], stops, strict=False)))
        elif array.copies:
            held = [scale.rows * (node.name in array.copies) for node in self.nodes[:-1]]
            pinned = Placement((*held, scale.rows), replicated=True)
        else:
            pinned = Placement((0,) * (len(self.nodes) - 1) + (scale.rows,))
        nothing = (0.0,) * len(self.nodes)
        return Ask(f"array {k}", scale.rows, nothing, nothing, 1, pinned=pinned)

    def lying(self, k: int) -> tuple[Lying, _Scale]:
        """Return a lying array, and in what rows it is planned."""
        return self.sketch.lying[k], self.scale[k]

    def _sent_once(self) -> list[int]:
        """Return the arrays at home that several stages read by rows."""
        readers = Counter(
            read.producer for read in self.sketch.reads if read.lying and read.access in SAME_ROWS
        )
        return [k for k, n in readers.items() if n > 1 and not self.sketch.lying[k].where]

    def _copy(self, k: int) -> Ask:
        scale, array = self.scale[k], self.sketch.lying[k]
        starts = (0.0,) * len(self.places) + ((inf,) if self.from_home else ())
        row_bytes = array.row_bytes * array.rows / scale.rows
        zero = (0.0,) * len(self.nodes)
        what, kept = f"copy of array {k}", k in self.free
        return Ask(
            what, scale.rows, zero, starts, scale.granule, row_bytes, kept=kept, copies=False
        )

    def _later(self, k: int) -> Ask:
        """Return a phase that reads rows of what is cut as demand ``k`` is, and does nothing."""
        scale, zero = self.scale[self.first + k], (0.0,) * len(self.nodes)
        starts = (0.0,) * len(self.places) + ((inf,) if self.from_home else ())
        return Ask("what comes later", scale.rows, zero, starts, scale.granule, copies=False)

    def _pass(self, passed: later.Passed) -> Ask:
        """Return a pass over what a run makes anew."""
        work, count = passed.work, len(self.places)
        rates = _rates(work, self.places, Rating("tiled", (1.0,) * count))
        hops = [place.hop_seconds for place in self.places]
        rows, granule = self.scale[self.first + passed.demands[0]]
        return later.a_pass(work, rates, hops, rows, granule, len(self.nodes) - count)

    def seconds_of(self, plan: ProgramPlan, numbers: Sequence[int]) -> float:
        """Return what the run itself is predicted to take, whose demands are these phases."""
        return later.seconds_of(plan, numbers) if self.passed else plan.predicted_seconds

    def _ask(self, k: int, demand: Demand) -> Ask:
        work, scale = demand.work, self.scale[self.first + k]
        part = work.rows / scale.rows
        rates = self.rates[k]
        away = (0.0,) if self.from_home else ()
        never = (inf,) if self.from_home else ()
        arrives = sum(
            read.nbytes
            for read in self.sketch.reads
            if read.consumer == k and read.access == "whole"
        )
        return Ask(
            demand.what,
            scale.rows,
            tuple(rate.seconds_per_row * part for rate in rates) + away,
            tuple(rate.fixed_seconds for rate in rates) + never,
            scale.rows if demand.alone else scale.granule,
            work.bytes_written * part,
            work.workspace_bytes_per_row * part + self._put_together(k) / scale.rows,
            max(0.0, work.fixed_bytes - arrives),
            kept=k in self.sketch.kept,
            copies=False,
        )

    def _put_together(self, k: int) -> float:
        """Return the bytes of the rows lying there that a demand's tasks copy to read them."""
        return sum(
            read.nbytes
            for read in self.sketch.reads
            if read.consumer == k
            and not self.sketch.demands[k].in_pieces
            and read.lying
            and read.access == "aligned"
            and not read.resting
            and self.sketch.lying[read.producer].where
        )

    def _edge(self, read: Reads, producer: int, consumer: int, asks: Sequence[Ask]) -> Edge:
        if read.access == "fold":
            return Edge(producer, consumer, "fold", partial_bytes=read.nbytes)
        row_bytes = read.nbytes / asks[producer].rows
        # of rows in another order a node may receive more than the exchange counts
        follows = read.access in SAME_ROWS or (read.access == "other axis" and not read.lying)
        in_pieces = self.sketch.demands[read.consumer].in_pieces and follows
        return Edge(
            producer,
            consumer,
            read.access,  # type: ignore[arg-type]
            row_bytes,
            read.halo_rows,
            put_together=not in_pieces,
        )

    def answer(self, k: int, plan: ProgramPlan, number: int) -> Plan:
        """Return the plan of demand ``k`` in its own rows, cut at its own granules."""
        demand, scale = self.sketch.demands[k], self.scale[self.first + k]
        work, count = demand.work, len(self.places)
        granule = work.rows if demand.alone else demand.granule
        placed = plan.placements[number].rows[:count]
        stops = _scaled(_stops(placed), scale.rows, work.rows, max(granule, 1))
        rows = tuple(b - a for a, b in zip([0, *stops], stops, strict=False))
        seconds = tuple(
            rate.fixed_seconds + n * rate.seconds_per_row if n else 0.0
            for rate, n in zip(self.rates[k], rows, strict=True)
        )
        began = (span[0] if span is not None else 0.0 for span in plan.spans[number][:count])
        held = tuple(n * work.bytes_per_row + work.fixed_bytes if n else 0.0 for n in rows)
        names = [place.profile.name for place in self.places]
        return Plan(
            demand.what,
            tuple(zip(names, rows, strict=True)),
            max(seconds),
            seconds,
            held,
            "joint",
            plan.solver_seconds,
            tuple(began),
        )

    def seconds(self, plans: Sequence[Plan]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what starting and what rows take, of each demand on each worker by its plan."""
        pairs = [zip(p.row_counts, rates, strict=True) for p, rates in zip(plans, self.rates)]  # noqa: B905
        parts = [
            [(rate.fixed_seconds, n * rate.seconds_per_row) if n else (0.0, 0.0) for n, rate in of]
            for of in pairs
        ]
        both = np.array(parts, np.float64)
        return both[..., 0], both[..., 1]


def plan_together(
    sketch: Sketch,
    places: Sequence[Place],
    links: Links,
    ratings: Sequence[Rating],
    epoch: int = 0,
) -> Joint:
    """Return the plan of all that a run asks.

    Parameters
    ----------
    sketch : Sketch
    places : sequence of Place
        The workers, in the order in which ranges of rows follow one another.
    links : Links
        Between workers; what was not measured counts as the way to the client.
    ratings : sequence of Rating
        For each demand.
    epoch : int
        Of what is known of the workers: answers are remembered within one.

    The objective is that of ``config.objective``. A sketch that was planned before has its answer
    with it (:mod:`dnumpy.runtime.answers`).

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        When it does not fit in the workers' memory; at once where that is known.
    """
    objective: Objective = config.objective  # type: ignore[assignment]
    question = Question.of(places, links, ratings, (epoch, objective))
    known = answers.find(sketch.answers, question)
    if known is not None:
        return known.at(question)
    refusal = answers.refused(sketch.refusals, question)
    if refusal is not None:
        raise refusal
    began = time.monotonic()
    builder = _Builder(sketch, places, ratings)
    program, numbers = builder.program(links)
    try:
        plan = plan_program(program, epoch=epoch, objective=objective)
    except PlanInfeasible as error:
        sketch.refusals = [Refused.of(question, error), *sketch.refusals[: MOST_ANSWERS - 1]]
        raise
    count = len(places)
    plans = tuple(builder.answer(k, plan, number) for k, number in enumerate(numbers))
    held, period = plan.peak_bytes[:count], plan.period_seconds
    joint = Joint(plans, builder.seconds_of(plan, numbers), held, plan.how, period)
    fixed, busy = builder.seconds(plans)
    ever_held = np.array(plan.ever_held_bytes[:count])
    now = time.monotonic()
    until = now + AGAIN * (now - began)
    answer = Answer(question, joint, fixed, busy, question.memory(), ever_held, until)
    sketch.answers = [answer, *sketch.answers[: MOST_ANSWERS - 1]]
    return joint


def plan_elsewhere(
    sketch: Sketch,
    places: Sequence[Place],
    links: Links,
    ratings: Sequence[Rating],
    epoch: int = 0,
) -> Elsewhere | None:
    """Return where the arrays had better lie that a planned run reads by rows.

    Parameters as of :func:`plan_together`, which was asked before: it is planned as if they lay
    nowhere yet, once for each answer. None where all lie as they should, or a node would have to
    hold more than half of what it may.
    """
    objective: Objective = config.objective  # type: ignore[assignment]
    answer = answers.find(sketch.answers, Question.of(places, links, ratings, (epoch, objective)))
    if answer is None:
        return None
    if not answer.elsewhere:
        asked = sketch, places, links, ratings
        answer.elsewhere.append(_elsewhere(answer.joint, *asked, epoch=epoch))
    return answer.elsewhere[0]


def _elsewhere(
    joint: Joint,
    sketch: Sketch,
    places: Sequence[Place],
    links: Links,
    ratings: Sequence[Rating],
    *,
    epoch: int,
) -> Elsewhere | None:
    """Return the same, unknown as yet, for a run that was planned."""
    now = _Builder(sketch, places, ratings)
    by_rows = {r.producer for r in now.sketch.reads if r.lying and r.access in SAME_ROWS}
    free = frozenset(k for k in by_rows if sketch.lying[k].where)
    if not free or config.objective != "latency":
        return None
    builder = _Builder(sketch, places, ratings, free)
    program, numbers = builder.program(links)
    try:
        plan = plan_program(program, epoch=epoch)
    except PlanInfeasible:
        return None
    if any(a > ROOMY * n.memory_bytes for a, n in zip(plan.peak_bytes, builder.nodes, strict=True)):
        return None
    program, moving, found = now.program(links)[0], 0.0, []
    for k in sorted(free):
        before, after, array, scale = program.asks[k].pinned, plan.placements[k], *now.lying(k)
        if before is None or after == before:
            continue
        row_bytes = array.row_bytes * array.rows / scale.rows
        moving += reshard_seconds(program, Edge(k, k, "aligned", row_bytes), before, after)
        granule = max(1, round(scale.granule * array.rows / scale.rows))
        stops = _scaled(_stops(after.rows[: len(places)]), scale.rows, array.rows, granule)
        rows = (b - a for a, b in zip([0, *stops], stops, strict=False))
        names = (place.profile.name for place in places)
        found.append(
            (k, tuple((name, n) for name, n in zip(names, rows, strict=True) if n), granule)
        )
    took = joint.predicted_seconds, builder.seconds_of(plan, numbers)
    return Elsewhere(*took, moving, tuple(found)) if found else None


def program_of(
    sketch: Sketch, places: Sequence[Place], links: Links, ratings: Sequence[Rating]
) -> tuple[Program, list[int]]:
    """Return the program that a run is planned as, and which of its phases each demand is."""
    return _Builder(sketch, places, ratings).program(links)


def _rates(
    work: Work, places: Sequence[Place], rating: Rating, *, alone: bool = False
) -> list[NodeRate]:
    """Return what each worker offers for about the rows that its speed earns."""
    count = len(places)
    shares = [work.rows / (1 if alone else count)] * count
    if not alone:
        speeds = [1.0 / max(r.seconds_per_row, 1e-15) for r in _at(shares, work, places, rating)]
        shares = [work.rows * speed / sum(speeds) for speed in speeds]
    return _at(shares, work, places, rating)


def _at(
    shares: Sequence[float], work: Work, places: Sequence[Place], rating: Rating
) -> list[NodeRate]:
    return [
        node_rate(work, place.profile, share, lowering=rating.lowering, correction=factor)
        for place, share, factor in zip(places, shares, rating.factors, strict=True)
    ]


def _in_order(sketch: Sketch, order: dict[str, int]) -> Sketch:
    """Return the sketch with arrays whose rows lie in another order of nodes read across."""
    odd = {
        k
        for k, array in enumerate(sketch.lying)
        if [order[node] for node, _ in array.where]
        != sorted(order[node] for node, _ in array.where)
    }
    if not odd:
        return sketch
    reads = [
        read._replace(access="other axis")
        if read.lying and read.producer in odd and read.access in SAME_ROWS
        else read
        for read in sketch.reads
    ]
    return replace(sketch, reads=reads)


def _stops(counts: Sequence[int]) -> list[int]:
    stops, total = [], 0
    for count in counts:
        total += count
        stops.append(total)
    return stops


def _scaled(stops: Sequence[int], rows: int, into: int, granule: int) -> list[int]:
    """Return where cuts of so many rows fall in ``into`` rows that are cut at granules."""
    found = [
        into if stop >= rows else min(round(stop * into / rows / granule) * granule, into)
        for stop in stops
    ]
    if found and found[-1] < into:  # nobody had the last rows: there are none
        found[-1] = into
    return found


def _network(places: Sequence[Place], links: Links, *, home: bool) -> Network:
    """Return the links between the workers, and between each and home."""
    count = len(places)
    groups = tuple(range(count))
    if count > MOST_APART:
        labels = sorted({place.label for place in places})
        groups = tuple(labels.index(place.label) for place in places)
    members: dict[int, list[DeviceProfile]] = {}
    for place, group in zip(places, groups, strict=True):
        members.setdefault(group, []).append(place.profile)
    sides = [members[g] for g in sorted(members)]
    table = [[_link(links, a, b) for b in sides] for a in sides]
    if home:
        out = [_to_home(side) for side in sides]
        table = [[*line, way] for line, way in zip(table, out, strict=True)]
        table.append([*out, (0.0, inf)])
        groups = (*groups, len(sides))
    return Network(
        groups,
        tuple(tuple(latency for latency, _ in line) for line in table),
        tuple(tuple(rate for _, rate in line) for line in table),
    )


def _to_home(side: Sequence[DeviceProfile]) -> tuple[float, float]:
    return (
        median(profile.network_latency_seconds for profile in side),
        median(profile.network_bytes_per_second for profile in side),
    )


def _link(
    links: Links, side: Sequence[DeviceProfile], other: Sequence[DeviceProfile]
) -> tuple[float, float]:
    """Return latency and bandwidth between nodes of two groups."""
    pairs = [(a.name, b.name) for a in side for b in other if a.name != b.name][:SAMPLED]
    if not pairs:
        return 0.0, inf
    if not links.links:
        ways = [_to_home(side), _to_home(other)]
        return max(way[0] for way in ways), min(way[1] for way in ways)
    return (
        median(links.latency_seconds(a, b) for a, b in pairs),
        median(links.bytes_per_second(a, b) for a, b in pairs),
    )
