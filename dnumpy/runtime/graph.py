"""Graph: the Dask tasks of one run with their nodes, and where every array's rows are."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import uuid4

from dnumpy.errors import WorkerLost
from dnumpy.runtime.files import stored_rows
from dnumpy.runtime.liveness import most_live
from dnumpy.runtime.parcels import Parcel, pack
from dnumpy.runtime.tasks import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.chunked import Chunked, Part, Producer, Source
    from dnumpy.runtime.operands import Inner, Ref, Seen
    from dnumpy.runtime.relay import Legs
    from dnumpy.runtime.stored import Identified, StoredRows


class Range(NamedTuple):
    """Rows ``lo:hi`` are computed on ``node``."""

    node: str
    lo: int
    hi: int


class Segment(NamedTuple):
    """Rows ``start:stop`` of an array: ``arg`` is them, or refers to the task that gives them."""

    start: int
    stop: int
    node: str
    arg: Ref
    item: int | None


class Outputs(NamedTuple):
    """How many row and partial outputs a task has whose result is small as a whole."""

    rows: int
    partials: int


class Piece(NamedTuple):
    """Some rows of one argument: ``nbytes`` of the ``held`` bytes that lie on the node.

    What ``arrives`` comes from another node.
    """

    arg: Ref
    item: int | None
    rows: slice | None
    inner: Inner
    nbytes: int
    held: int
    arrives: bool = False


class _There(NamedTuple):
    """Rows of a segment of another node that ``node`` wants, of those that travel together."""

    source: Source
    segment: Segment
    node: str
    rows: slice
    apart: slice
    inner: Inner


class Block:
    """Tasks on one node that make what passes through one of them, each for the source it is of."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.owner: Source | None = None  # what the tasks being added are for
        self.owner_of: dict[str, Source | None] = {}

    def enter(self, source: Source) -> Source | None:
        """Add tasks for the source from now on; return what they were for until now."""
        before, self.owner = self.owner, source
        return before


class Placed(NamedTuple):
    """A part of a home array that tasks on ``node`` are given."""

    source: Source
    what: Seen
    node: str


class Nodes(Protocol):
    """What a graph asks of the cluster that it is made for."""

    embed_bytes: float  # operands up to this size travel inside their task
    shared: bool  # whether tasks themselves take the rows that they read on other nodes

    def label(self, node: str) -> str:
        """Return the device class of a node, letters only: Dask times tasks by class."""
        ...

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return an argument that gives ``array``, part ``what`` of the owner, on ``node``."""
        ...

    def copies(self, owner: Expr) -> list[Segment]:
        """Return where rows of a home array already are, besides at home."""
        ...

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows ``lo:hi`` of a home array to ``node``."""
        ...

    def segment(self, part: Part) -> Segment | None:
        """Return where the part's rows are, or None if they were lost."""
        ...

    def see(self, identity: Identified) -> bool:
        """Say whether every node sees this very file or store."""
        ...

    def threads(self, node: str) -> int:
        """Return how many tasks the node runs at the same time."""
        ...

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:
        """Return ranges over the nodes that tile ``lo:hi``, to compute lost rows again."""
        ...


class TaskReads:
    """What the tasks of one stage read on each node, and put together there from pieces."""

    def __init__(self) -> None:
        self._read: dict[str, dict[Any, list[int]]] = {}  # node -> argument -> bytes read, and all
        self._kept: list[Ref] = []  # so that no other argument gets the same id
        self._assembled: dict[str, int] = {}
        self._joined: dict[str, dict[Any, int]] = {}  # node -> argument -> its bytes
        self._sent: dict[str, int] = {}
        self._arrives: dict[str, dict[Any, int]] = {}  # node -> argument -> after so many tasks
        self.began = 0  # tasks that were there before those of the stage

    def note(self, node: str, piece: Piece, latest: int = 0) -> None:
        """Note that a task reads a piece of an argument, which task ``latest`` gave."""
        key = (id(piece.arg), piece.item)
        if piece.arrives:
            self._arrives.setdefault(node, {})[key] = latest
        seen = self._read.setdefault(node, {}).setdefault(key, [0, piece.held])
        seen[0] += piece.nbytes
        self._kept.append(piece.arg)

    def note_assembled(self, node: str, nbytes: int) -> None:
        """Note that a task puts so many bytes together in one array."""
        self._assembled[node] = self._assembled.get(node, 0) + nbytes

    def note_joined(self, node: str, piece: Piece) -> None:
        """Note that a piece arrives in parts of a message, which are put together."""
        self._joined.setdefault(node, {})[id(piece.arg), piece.item] = piece.held

    def assembled(self, node: str) -> int:
        """Return the bytes that tasks on the node put together."""
        return self._assembled.get(node, 0)

    def note_sent(self, node: str, nbytes: int) -> None:
        """Note that a node makes a copy of so many bytes for another."""
        self._sent[node] = self._sent.get(node, 0) + nbytes

    def after(self) -> TaskReads:
        """Return the record of the stage that this led to: copies that leave are still there."""
        later = TaskReads()
        later._sent = dict(self._sent)
        return later

    def arriving(self) -> list[tuple[str, int, tuple[int, int | None], int]]:
        """Return what arrives on nodes: the node, the task that gives it, which it is, its bytes.

        Task 0 stands for what is there.
        """
        return [
            (node, latest, key, min(self._read[node][key]))
            for node, keys in self._arrives.items()
            for key, latest in keys.items()
        ]

    def reads_what(self, node: str, key: tuple[int, int | None]) -> bool:
        """Say whether tasks on the node read what is known as ``key``."""
        return key in self._read.get(node, {})

    def pieces(self, *, arriving: bool = True) -> list[tuple[str, Ref, int]]:
        """Return what is read on each node, and how many bytes of it; or only what is there."""
        args = {id(arg): arg for arg in self._kept}
        return [
            (node, args[key[0]], min(size))
            for node, keys in self._read.items()
            for key, size in keys.items()
            if arriving or key not in self._arrives.get(node, {})
        ]

    def held(self, node: str) -> int:
        """Return the bytes that the node holds so that the stage can read them."""
        pieces = self._read.get(node, {}).values()
        joined = sum(self._joined.get(node, {}).values())
        copies = self.assembled(node) + joined + self._sent.get(node, 0)
        return sum(min(piece) for piece in pieces) + copies


class Making(NamedTuple):
    """What a stage makes: bytes, in the results of some of the tasks added from ``began`` on."""

    began: int
    nbytes: int
    keys: frozenset[str]


class Graph:
    """The tasks of one run."""

    def __init__(self, nodes: Nodes) -> None:
        from dask._task_spec import Task, TaskRef  # not before it is needed: it is slow to import

        self.nodes = nodes
        self.tasks: dict[str, dict[str, Any]] = defaultdict(dict)
        self.kept: list[Any] = []  # what the references into this graph depend on
        self.moved_bytes = 0
        self.stages: list[Making] = []  # in order
        self.reads = TaskReads()  # of the stage that is being built
        self.inner: list[tuple[Range, Ref]] = []  # its tasks that only its other tasks read
        self.healed: dict[Chunked, list[Segment]] = {}
        self.node_of: dict[str, str] = {}
        self.sole: set[str] = set()  # keys of tasks that give rows of one array and little else
        self.light: dict[str, Outputs] = {}  # tasks whose results are small as a whole
        self.refs: dict[str, Any] = {}  # the reference to each task, one object
        self.added: list[str] = []  # keys of all tasks that ever were, in order
        self.urgent: set[str] = set()  # keys of tasks that others wait for, and that take little
        self.passing: set[Source] = set()  # whose rows are made for each reader, and not kept
        self.block: Block | None = None  # that is being built
        self.run = uuid4().hex
        self.placed: dict[int, Placed] = {}  # what home arrays gave, by id of the argument
        self.sends = False  # whether rows of home arrays were copied to nodes for it
        self.relay: tuple[Legs, list[list[Ref]]] | None = None  # how it was run, if that was as one
        self.longest_seconds = 0.0  # expected of any one stage
        self._count = 0
        self._numbers: dict[str, int] = {}  # of each task, in the order in which they were added
        self._touched: dict[str, int] = {}  # tasks there were when something was appended last
        self._task, self._ref = Task, TaskRef
        self._segments: dict[Source, list[Segment]] = {}
        self._sent: dict[Any, Any] = {}
        self._files: dict[Source, StoredRows | None] = {}
        self._arrived: set[tuple[int, str]] = set()  # ids of what travelled, and where it went

    def add(self, what: str, node: str, function: Callable[..., Any], *args: object) -> Ref:
        """Add a task on ``node`` and return the reference to its result; parcels become tasks."""
        args = tuple([self._sent_off(a, node) if type(a) is Parcel else a for a in args])
        self._count += 1
        key = f"dnp{self.nodes.label(node)}-{what}-{self.run}-{self._count}"
        self.tasks[node][key] = self._task(key, function, *args)
        self.node_of[key] = node
        self.added.append(key)
        if self.block is not None and self.block.node == node:
            self.block.owner_of[key] = self.block.owner
        self._numbers[key] = self._touched[key] = self._count
        ref = self.refs[key] = self._ref(key)
        return ref

    @property
    def made_bytes(self) -> int:
        """Bytes that all stages make together."""
        return sum(stage.nbytes for stage in self.stages)

    def note_stage(self, began: int, nbytes: int, made: Iterable[Ref]) -> None:
        """Note what the tasks added since there were ``began`` make: so many bytes, in ``made``."""
        self.stages.append(Making(began, nbytes, frozenset([ref.key for ref in made])))

    def live_bytes(self, kept: Collection[str]) -> float:
        """Return the most bytes of stages that are held at once; some results are kept."""
        began = [stage.began for stage in self.stages]
        maker = {key: number for number, stage in enumerate(self.stages) for key in stage.keys}
        reads = set()
        for key in self.node_of:
            reader = bisect_right(began, self._numbers[key] - 1) - 1
            made = {maker[needed] for needed in self.dependencies(key) if needed in maker}
            reads |= {(number, reader) for number in made if number < reader}
        sizes = [float(stage.nbytes) for stage in self.stages]
        return most_live(sizes, reads, {maker[key] for key in kept if key in maker})

    def task(self, key: str) -> Any:
        """Return a task of this graph."""
        return self.tasks[self.node_of[key]][key]

    def ref_to(self, key: str) -> Ref:
        """Return a reference to the result of a task with this key."""
        return self._ref(key)

    def apart(self, key: str, function: Callable[..., Any], *args: object) -> Any:
        """Return a task that is none of the graph's."""
        return self._task(key, function, *args)

    def dependencies(self, key: str) -> frozenset[str]:
        """Return the keys of what a task of this graph waits for."""
        found: frozenset[str] = self.task(key).dependencies
        return found

    def number_of(self, key: str) -> int:
        """Return how many tasks had been added when this one was."""
        return self._numbers[key]

    def touched_of(self, key: str) -> int:
        """Return how many tasks had been added when this one got what it waits for."""
        return self._touched[key]

    def replace(self, host: str, function: Callable[..., Any], args: Sequence[Any]) -> None:
        """Let a task do something else under its key."""
        self.tasks[self.node_of[host]][host] = self._task(host, function, *args)
        self._touched[host] = self._count

    def take_out(self, key: str) -> Any:
        """Return a task that nobody refers to, which is then no task of the graph."""
        del self.refs[key]
        return self.tasks[self.node_of.pop(key)].pop(key)

    def latest(self, arg: Ref) -> int:
        """Return how late the task was added that gives an argument; 0 for what is there."""
        return self._numbers.get(getattr(arg, "key", ""), 0)

    def provide(self, source: Source, segments: list[Segment]) -> None:
        """Note where rows of ``source`` are."""
        known = self._segments.setdefault(source, [])
        known.extend(segments)
        known.sort(key=lambda segment: segment.start)

    def segments(self, source: Source) -> list[Segment]:
        """Return where the rows of an array on nodes are, as far as they are anywhere."""
        if source not in self._segments:
            self._segments[source] = []
            chunked = source.pieces()
            if source.expr is not None:
                self.provide(source, self.nodes.copies(source.expr))
            elif chunked is not None:
                self._enter(source, chunked)
        return self._segments[source]

    def _enter(self, source: Source, chunked: Chunked) -> None:
        """Note where a stored array lies; what was lost of it is computed again, all at once."""
        self.kept.append(chunked)
        block, self.block = self.block, None  # what is computed again stays
        found = [self.nodes.segment(part) for part in chunked.parts]
        self._segments[source] = [segment for segment in found if segment is not None]
        if None in found:
            self.healed[chunked] = self.require(source, 0, source.shape[0])
        self.block = block

    def require(self, source: Source, first: int, stop: int) -> list[Segment]:
        """Return the segments that hold rows ``first:stop``, computing again what was lost."""
        for lo, hi in gaps(self.segments(source), first, stop):
            self._remake(source, lo, hi)
        return [s for s in self.segments(source) if s.start < stop and s.stop > first]

    def sends_rows(self, source: Source, rows: int) -> bool:
        """Say whether so many rows of a home array travel apart from the task that reads them."""
        return bool(source.shape) and rows * source.row_bytes > self.nodes.embed_bytes

    def send_missing(self, source: Source, node: str, first: int, stop: int) -> None:
        """Copy to ``node`` those of rows ``first:stop`` of a home array that are nowhere else."""
        assert source.expr is not None
        for lo, hi in gaps(self.segments(source), first, stop):
            self.sends = True
            self.provide(source, [self.nodes.send(source.expr, lo, hi, node)])

    def _remake(self, source: Source, lo: int, hi: int) -> None:
        producer = source.producer
        if producer is None:
            msg = (
                f"rows {lo}:{hi} of an array of shape {source.shape} were lost with their worker, "
                "and what they were computed from is no longer known: compute the array again "
                "from its inputs; a long loop should now and then np.save what it must not lose"
            )
            raise WorkerLost(msg)
        granule = producer.granule()
        lo -= lo % granule
        hi = min(-(-hi // granule) * granule, source.shape[0])
        before = self.block.enter(source) if self.block is not None else None
        for begin, end in gaps(self.segments(source), lo, hi):
            if self.block is not None:
                ranges = [Range(self.block.node, begin, end)]
            else:
                ranges = self.nodes.spread(begin, end, granule)
            made = producer.build(self, ranges)
            self.provide(source, self.row_segments(producer, made, source.position))
        if self.block is not None:
            self.block.owner = before

    def forget(self, source: Source) -> None:
        """Forget where rows are that nobody keeps."""
        self._segments[source] = []

    def lets_go(self, arg: Ref) -> bool:
        """Say whether an argument is made for the block that is being built, and let go of."""
        return self.block is not None and getattr(arg, "key", None) in self.block.owner_of

    def row_segments(
        self, producer: Producer, made: list[tuple[Range, Ref]], position: int
    ) -> list[Segment]:
        """Return where row output ``position`` of a producer's tasks is.

        Where the tasks have several, each gets a task of its own, so that it can die alone.
        """
        if all(ref.key in self.light for _, ref in made):
            return [Segment(r.lo, r.hi, r.node, ref, position) for r, ref in made]
        if producer.row_outputs() == 1:
            if not getattr(producer, "leaves_partials", False):
                self.sole |= {ref.key for _, ref in made}
            return [Segment(r.lo, r.hi, r.node, ref, position) for r, ref in made]
        return [
            Segment(r.lo, r.hi, r.node, self.add("pick", r.node, rows_of, ref, position), None)
            for r, ref in made
        ]

    def pieces(
        self,
        source: Source,
        node: str,
        rows_wanted: tuple[int, int, int],
        inner: Inner,
        parcels: dict[str, Parcel],
        around: tuple[int, int] | None = None,
    ) -> list[Piece]:
        """Return the pieces of the rows wanted on ``node``.

        Rows on other nodes go into the parcels, by node, that the task gets from there, so that
        only what is needed travels: with ``around``, all of these rows at once, of which other
        reads of the task want the rest.
        """
        first, stop, stride = rows_wanted
        found: list[Piece] = []
        for segment in self.require(source, first, stop):
            rows = rows_inside(segment, first, stop, stride)
            if rows is None:
                continue
            if segment.node != node:
                apart = rows if around is None else rows_inside(segment, *around, 1) or rows
                there = _There(source, segment, node, rows, apart, inner)
                found.append(self._from_there(there, parcels))
                continue
            nbytes, held = nbytes_of(source, segment, rows, inner), nbytes_of(source, segment)
            taken = None if _is_all(rows, segment) else rows
            found.append(Piece(segment.arg, segment.item, taken, inner, nbytes, held))
        return found

    def _from_there(self, there: _There, parcels: dict[str, Parcel]) -> Piece:
        """Return rows of a segment on another node, which travel with the others set apart."""
        source, segment, node, rows, apart, inner = there
        if self._is_light(segment) or self.nodes.shared:
            everything = nbytes_of(source, segment)
            self._note_sent(segment.arg, node, everything)
            taken = None if _is_all(rows, segment) else rows
            nbytes = nbytes_of(source, segment, rows, inner)
            return Piece(segment.arg, segment.item, taken, inner, nbytes, everything, arrives=True)
        part = slice(rows.start - apart.start, rows.stop - apart.start, 1)
        taken = None if rows == apart else part
        nbytes = nbytes_of(source, segment, rows, inner)
        held = nbytes_of(source, segment, apart, inner)
        if _is_all(apart, segment) and not inner and self._is_sole(segment):
            self._note_sent(segment.arg, node, held)
            return Piece(segment.arg, segment.item, taken, (), nbytes, held, arrives=True)
        parcel = parcels.setdefault(segment.node, Parcel(segment.node))
        cut = None if _is_all(apart, segment) else apart
        number = parcel.add(segment.arg, segment.item, cut, inner, held)
        return Piece(parcel, number, taken, (), nbytes, held, arrives=True)

    def _is_sole(self, segment: Segment) -> bool:
        """Say whether nothing else would travel with the segment."""
        return segment.item is None or getattr(segment.arg, "key", None) in self.sole

    def _is_light(self, segment: Segment) -> bool:
        """Say whether a segment travels with all that its task made, which is little."""
        return getattr(segment.arg, "key", None) in self.light

    def _sent_off(self, parcel: Parcel, node: str) -> Ref:
        """Return the reference to a parcel's contents, which the same task packs for all nodes."""
        contents = parcel.contents()
        if contents not in self._sent:
            takes = tuple(parcel.takes)
            self.reads.note_sent(parcel.origin, parcel.copied_bytes)
            packed = self.add("slice", parcel.origin, pack, takes, *parcel.data)
            self.urgent.add(packed.key)
            self._sent[contents] = packed
        self._note_sent(self._sent[contents], node, parcel.nbytes)
        return self._sent[contents]

    def _note_sent(self, ref: Ref, node: str, nbytes: int) -> None:
        """Count the bytes of a result that travels to a node, for the first time."""
        if (id(ref), node) not in self._arrived:
            self._arrived.add((id(ref), node))
            self.moved_bytes += nbytes

    def file(self, source: Source) -> StoredRows | None:
        """Return the file or store of an array that all nodes see, None if there is none."""
        if source not in self._files:
            known = stored_rows(source.at_home())
            source.in_file = known is not None and self.nodes.see(known.identity)
            self._files[source] = known if source.in_file else None
        return self._files[source]

    def reads_files(self) -> bool:
        """Say whether tasks read files or stores that all nodes see."""
        return any(file is not None for file in self._files.values())

    def place(self, source: Source, what: Seen, array: np.ndarray, node: str) -> Ref:
        """Return an argument that gives part ``what`` of a home array on ``node``, sent once."""
        key = Placed(source, what, node)
        if key not in self._sent:
            ref = self._sent[key] = self.nodes.place(array, node, source.expr, what)
            self.placed[id(ref)] = key
        return self._sent[key]


def _is_all(rows: slice, segment: Segment) -> bool:
    return rows == slice(0, segment.stop - segment.start, 1)


def nbytes_of(
    source: Source, segment: Segment, rows: slice | None = None, inner: Inner = ()
) -> int:
    """Return the bytes of some rows of a segment, or all, and of what part of them is meant."""
    count = segment.stop - segment.start
    if rows is not None:
        count = len(range(rows.start, rows.stop, rows.step))
    share = prod((b - a) / n for (a, b), n in zip(inner, source.shape[1:], strict=False))
    return round(count * source.row_bytes * share)


def rows_inside(segment: Segment, first: int, stop: int, stride: int) -> slice | None:
    """Return which rows of the segment are among ``first, first + stride, ... < stop``."""
    skipped = max(0, -(-(segment.start - first) // stride))
    begin = first + skipped * stride
    end = min(stop, segment.stop)
    if begin >= end:
        return None
    last = begin + (end - 1 - begin) // stride * stride
    return slice(begin - segment.start, last + 1 - segment.start, stride)


def gaps(segments: list[Segment], first: int, stop: int) -> list[tuple[int, int]]:
    """Return the runs of rows ``first:stop`` that no segment holds; segments are in order."""
    missing = []
    at = first
    for segment in segments:
        if segment.start >= stop:
            break
        if segment.start > at:
            missing.append((at, segment.start))
        at = max(at, segment.stop)
    if at < stop:
        missing.append((at, stop))
    return missing
