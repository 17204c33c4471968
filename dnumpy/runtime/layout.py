"""Layout: how each stage becomes a producer, and where the plan puts its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from dnumpy.cost.work import Work
from dnumpy.expr.geometry import Geometry, overlaps_itself
from dnumpy.kernels.blocked import grid_rows
from dnumpy.ops.blocked import PERMUTE, PermuteParams
from dnumpy.ops.families import Blocked, Fold, RowParams, rowwise_of
from dnumpy.ops.indexing import TAKE
from dnumpy.ops.scans import RUN
from dnumpy.ops.sorting import FIND, ISIN_ROWS
from dnumpy.ops.table import CROSSPROD, DOT, MATMUL, UPDATE
from dnumpy.plan.model import Plan
from dnumpy.plan.work import contraction_work, copy_work, op_loops, op_work, row_bytes
from dnumpy.rewrite.phase import Access
from dnumpy.runtime import works
from dnumpy.runtime.bind import Operand, operand_of
from dnumpy.runtime.chains import ChainedRows
from dnumpy.runtime.chunked import Source
from dnumpy.runtime.demands import LIGHT, Demand, Laid, Reading
from dnumpy.runtime.exchange import TakenRows, exchange_for
from dnumpy.runtime.glue import glue
from dnumpy.runtime.graph import Range
from dnumpy.runtime.lookup import lookup_for
from dnumpy.runtime.passing import (
    block_tasks,
    build_in_blocks,
    cannot_pass,
    held_in_blocks,
    leaves_partials,
    passed_under,
    through_blocks,
)
from dnumpy.runtime.placed import PlacedRows
from dnumpy.runtime.producers import (
    BlockedRows,
    ContractedRows,
    FoldedBlocks,
    FoldedRows,
    FoldedTogether,
    FusedRows,
    UpdatedRows,
    WholeResult,
    contraction_granule,
    tile_rows_of,
)
from dnumpy.runtime.products import (
    GridRows,
    best_way,
    held_beyond_rows,
    parties_of,
    places_of,
    sizes_of,
)
from dnumpy.runtime.reading import (
    NEAR,
    blocked_work,
    by_access,
    contracts_rows,
    goes_along,
    grid_of_fold,
    is_little,
    read_by_all,
    runs_on,
    transposed_rows,
    whole_bytes,
    widest_row,
)
from dnumpy.runtime.regions import (
    SpannedRows,
    exchanged_axes,
    last_view,
    memory_order,
    rows_beginning,
    seen_through,
    value_for,
    with_axes,
)
from dnumpy.runtime.streaming import phase_of, streamed, streams, tasks_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr, Params, Shape
    from dnumpy.rewrite.stages import FusedStage
    from dnumpy.runtime.demands import AnyProducer, Placement
    from dnumpy.runtime.glue import Glued
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.planner import Planner
    from dnumpy.runtime.producers import Producer
    from dnumpy.runtime.products import Way
OF_OWN_ROWS = (ContractedRows, FoldedRows, ChainedRows, TakenRows)  # besides what streams

REPLICATED = 16  # times what comes home without a thought: what every node may get a copy of


@dataclass(slots=True)
class Layout:
    """Lays out stages; ``known`` maps the id of an Expr of this run to its Source."""

    planner: Planner
    graph: Graph
    known: dict[int, Source]
    exchanged: dict[tuple[Source | None, Geometry], Operand] = field(default_factory=dict)
    decided: int = 0
    stage: int = 0  # the number of the stage that is laid out
    lets_pass: bool = False  # whether nobody keeps the rows of that stage
    passing: dict[Source, Laid] = field(default_factory=dict)  # what gives rows that nobody keeps

    def fused(self, stage: FusedStage) -> Laid:
        """Lay out a phase: tiles are its granules."""
        phase = stage.phase
        operands = self._operands_of(stage)
        by_rows, whole = by_access(phase, operands)
        producer = FusedRows(phase, operands)
        return self._by_rows(phase.title(), producer, works.stage_work(stage), by_rows, whole)

    def placed(self, stage: FusedStage, numbers: Sequence[int]) -> Laid | None:
        """Lay out a phase whose row outputs, of these numbers, fill regions of another array.

        None where that takes more than one task: a region steps over rows, or is a small part.
        """
        update = stage.placed[numbers[0]]
        if not update.shape:
            return None
        regions = tuple(Geometry(*stage.placed[k].params) for k in sorted(numbers))
        row_map, *others = [region.row_map(update.shape, update.dtype) for region in regions]
        base = operand_of(update.args[0], self.known)
        if base.views or base.source is None or row_map is None or row_map.step != 1:
            return None
        phase, counts = stage.phase, {region.shape[0] for region in regions}
        if counts != {phase.rows} or update.shape[0] - phase.rows > NEAR * phase.rows:
            return None
        if any(other != row_map for other in others):
            return None
        operands = self._operands_of(stage)
        by_rows, whole = by_access(phase, operands)
        producer = PlacedRows(FusedRows(phase, operands), base.source, regions, row_map.start)
        row = row_bytes(update.shape, update.dtype)  # around the region is written too
        work = works.stage_work(stage)
        work = replace(work, rows=update.shape[0], bytes_written=row, bytes_fresh=row)
        laid = self._by_rows(phase.title(), producer, work, [*by_rows, base], whole)
        return replace(laid, ranges=producer.shifted(laid.ranges))

    def _operands_of(self, stage: FusedStage) -> tuple[Operand, ...]:
        given = [operand_of(arg, self.known) for arg in stage.inputs]
        return tuple(
            self.in_order(operand) if wanted.access is Access.ROWS else operand
            for operand, wanted in zip(given, stage.phase.inputs, strict=True)
        )

    def whole(self, expr: Expr) -> Laid:
        """Lay out one op: by rows where the result's rows follow an operand's, else in one task."""
        if expr.op is UPDATE:
            return self.update(expr)
        operands = tuple(operand_of(arg, self.known) for arg in expr.args)
        if isinstance(expr.op, Blocked) and expr.shape[0] and not runs_on(expr):
            return self._blocked(expr, expr.op, operands)
        if isinstance(expr.op, Fold) and operands[0].shape[0]:
            return self._partials(expr)
        if expr.op is CROSSPROD and operands[0].shape[0]:
            return self._folded(expr, self.in_order(operands[0]), self.in_order(operands[1]))
        way = self._way(expr, operands)
        if way is not None:
            return self._product(expr, operands, way)
        rows_first = transposed_rows(expr, operands)
        if rows_first is not None:
            return self._folded(expr, rows_first, operands[1])
        if contracts_rows(expr, operands):
            operands = (self.in_order(operands[0]), *operands[1:])
            first, *rest = operands
            others = sum(prod(o.shape) * expr.dtype.itemsize for o in rest)
            work = contraction_work(expr.shape, expr.dtype, first.shape, others)
            rows = ContractedRows(expr.op, expr.params, expr.shape, expr.dtype, operands)
            return self._by_rows(expr.op.name, rows, work, [first], rest)
        producer = WholeResult(expr.op, expr.params, expr.shape, expr.dtype, operands)
        return self._in_one_task(expr.op.name, producer, expr)

    def _blocked(self, expr: Expr, op: Blocked, operands: tuple[Operand, ...]) -> Laid:
        shapes = tuple(operand.shape for operand in operands)
        if op is not PERMUTE:
            pieces = op.reads(shapes, expr.params, 0, expr.shape[0])
            cut = {p.operand for p in pieces if p.first is not None}
            operands = tuple(self.in_order(o) if k in cut else o for k, o in enumerate(operands))
        grid = grid_rows(op, shapes, expr.params, expr.shape[0], widest_row(expr, operands))
        rows = BlockedRows(op, expr.params, expr.shape, expr.dtype, operands, grid)
        work, followed, apart = blocked_work(expr, rows)
        if op is TAKE:
            operands = (self.in_order(operands[0]), *operands[1:])
        if op is RUN:
            step = tile_rows_of(expr.shape, widest_row(expr, operands))
            chained = ChainedRows(expr.params, expr.shape, operands[0], step)  # type: ignore[arg-type]
            return self._by_rows(op.name, chained, work, followed)
        others = [o for o in operands if not any(o is f for f in followed)]
        if op in (FIND, ISIN_ROWS):
            operands = tuple(self.in_order(o) for o in operands)
        small = REPLICATED * self.planner.home_bytes
        exchanged = exchange_for(expr, operands, grid, small) or lookup_for(
            expr, operands, grid, small
        )
        if exchanged is not None:
            work = replace(work, fixed_bytes=0.0)
            return self._by_rows(op.name, exchanged, work, followed, across=others)
        across = [o for o in others if any(o is x for x in apart)]
        whole = [o for o in others if not any(o is x for x in across)]
        by_all = {id(o): read_by_all(rows, o, expr.shape[0]) for o in across}
        parts = [part for part in by_all.values() if part is not None]
        across = [o for o in across if by_all[id(o)] is None]
        read = sum(prod(part.shape) * part.dtype.itemsize for part in parts)
        work = replace(work, fixed_bytes=work.fixed_bytes + read)
        whole += parts
        return self._by_rows(op.name, rows, work, followed, whole, across)

    def together(self, exprs: Sequence[Expr]) -> Laid:
        """Lay out folds of the same rows in the same blocks as one stage."""
        parts = [self._fold_of(expr) for expr in exprs]
        works = [work for _, work, _, _ in parts]
        producer = FoldedTogether(tuple(folded for folded, *_ in parts))
        by_rows = list({id(o): o for *_, rows, _ in parts for o in rows}.values())
        whole = list({id(o): o for *_, others in parts for o in others}.values())
        what = f"{exprs[0].op.name} x {len(exprs)}"
        return self._by_rows(what, producer, sum(works[1:], works[0]), by_rows, whole)

    def _partials(self, expr: Expr) -> Laid:
        return self._by_rows(expr.op.name, *self._fold_of(expr))

    def _fold_of(self, expr: Expr) -> tuple[FoldedBlocks, Work, list[Operand], list[Operand]]:
        """Return the producer of a fold, its work, and what it reads by rows and whole."""
        op = expr.op
        assert isinstance(op, Fold)
        operands = tuple(operand_of(arg, self.known) for arg in expr.args)
        shapes = tuple(operand.shape for operand in operands)
        by_row = zip(operands, expr.params[0], strict=True)
        operands = tuple(self.in_order(o) if goes else o for o, goes in by_row)
        grid = grid_of_fold(expr)
        folded = FoldedBlocks(op, expr.params, expr.shape, expr.dtype, operands, grid)
        by_rows = [o for o, goes in zip(operands, expr.params[0], strict=True) if goes]
        read = sum(prod(o.shape[1:]) * o.dtype.itemsize for o in by_rows)
        loops = op_loops(op, sum(prod(o.shape[1:]) for o in by_rows), shapes[0])
        fixed = whole_bytes(operands, by_rows)
        work = Work(shapes[0][0], bytes_read=read, loops=loops, fixed_bytes=fixed)
        return folded, work, by_rows, [o for o in operands if not any(o is x for x in by_rows)]

    def _way(self, expr: Expr, operands: tuple[Operand, ...]) -> Way | None:
        """Return how a product is computed otherwise than by rows, where that is sooner."""
        if expr.op not in (MATMUL, DOT) or len(operands) != 2:
            return None
        if any(operand.source in self.passing for operand in operands):
            return None
        sizes = sizes_of(*operands, expr.dtype)
        parties = parties_of(self.planner, expr.dtype) if sizes else []
        if sizes is None or len(parties) < 2:
            return None
        way = best_way(sizes, parties, *(places_of(operand, parties) for operand in operands))
        return way if way.kind != "rows" else None

    def _product(self, expr: Expr, operands: tuple[Operand, ...], way: Way) -> Laid:
        """Lay out a product that does not go by rows; what is planned is that it did."""
        left, right = operands
        producer: FoldedRows | GridRows
        if way.kind == "inner":
            producer = FoldedRows(expr.shape, expr.dtype, left, right, across=True)
            ranges = [Range(block.node, *block.inner) for block in way.blocks]
        else:
            producer = GridRows(expr.op, expr.params, expr.shape, expr.dtype, operands, way)
            ranges = list(way.result)
        others = float(prod(right.shape) * expr.dtype.itemsize)
        work = contraction_work(expr.shape, expr.dtype, left.shape, others)
        granule = contraction_granule(left.shape, left.dtype.itemsize, prod(expr.shape[1:]))
        more = held_beyond_rows(way, sizes_of(left, right, expr.dtype))
        work = replace(work, fixed_bytes=others + more)
        demand = Demand(expr.op.name, work, granule, (left,), (), (right,))
        plan, number = self._decided(demand)
        return Laid(expr.op.name, producer, ranges, plan, work, number, as_planned=False)

    def _folded(self, expr: Expr, left: Operand, right: Operand) -> Laid:
        producer = FoldedRows(expr.shape, expr.dtype, left, right)
        work = contraction_work(left.shape, expr.dtype, left.shape, 0.0)
        work = replace(work, flops=2.0 * prod(expr.shape), bytes_written=0.0)
        return self._by_rows(expr.op.name, producer, work, [left, right])

    def update(self, expr: Expr) -> Laid:
        """Lay out a copy with one region replaced."""
        base, value = (operand_of(arg, self.known) for arg in expr.args)
        region = Geometry(*expr.params)
        axes = memory_order(region)
        ordered = with_axes(region, axes)
        nothing = not expr.shape or not region.shape or not prod(region.shape)
        if base.views or base.source is None or nothing:
            return self._whole_update(expr, base, value)
        row_map = region.row_map(expr.shape, expr.dtype)
        if overlaps_itself(region) and row_map is None:
            return self._whole_update(expr, base, value)
        updated: UpdatedRows | SpannedRows
        if row_map is None:
            value = self.in_order(value_for(value, region, axes))
            region, row_map = ordered, ordered.row_map(expr.shape, expr.dtype)
        if row_map is not None:
            updated = UpdatedRows(base.source, self.in_order(value), region, row_map)
        else:
            updated = SpannedRows(base.source, value, region)
        work = copy_work(expr.shape, expr.dtype)
        near = goes_along(value, region, expr.shape[0])
        return self._by_rows(
            expr.op.name,
            updated,
            work,
            [base, value] if near else [base],
            across=[] if near or value.source is None else [value],
        )

    def _whole_update(self, expr: Expr, base: Operand, value: Operand) -> Laid:
        producer = WholeResult(expr.op, expr.params, expr.shape, expr.dtype, (base, value))
        return self._in_one_task(expr.op.name, producer, expr)

    def in_order(self, operand: Operand) -> Operand:
        """Return an operand to be read by rows, exchanged if its axes lie otherwise in memory."""
        axes = exchanged_axes(operand)
        if axes is None:
            return operand
        key = (operand.source, operand.views[0])
        if key not in self.exchanged:
            ordered = seen_through(operand, with_axes(operand.views[0], axes))
            whole = last_view(Operand(operand.source))
            if ordered.views[0] == whole:
                ordered = Operand(operand.source)
            else:
                copy = rowwise_of("numpy.copy")
                ordered = self._made(copy, RowParams((True,)), ordered, ordered.shape)
            back = tuple(axes.index(k) for k in range(len(axes)))
            self.exchanged[key] = self._made(PERMUTE, PermuteParams(back), ordered, operand.shape)
        return self.exchanged[key]

    def _made(self, op: Blocked, params: Params, operand: Operand, shape: Shape) -> Operand:
        """Return the result of a stage of its own, which nobody recorded."""
        dtype = operand.dtype
        row_bytes = prod(shape[1:]) * dtype.itemsize
        grid = grid_rows(op, (operand.shape,), params, shape[0], row_bytes)
        rows = BlockedRows(op, params, shape, dtype, (operand,), grid)
        work = Work(shape[0], bytes_read=row_bytes, bytes_written=row_bytes)
        follows = operand.shape == shape and op is not PERMUTE
        laid = self._by_rows(
            op.name,
            rows,
            work,
            [operand] if follows else [],
            across=[] if follows else [operand],
        )
        source = Source(shape, dtype, producer=rows)
        made = self.built(laid, laid.ranges)
        self.graph.provide(source, self.graph.row_segments(rows, made, 0))
        return Operand(source)

    def _by_rows(
        self,
        what: str,
        producer: AnyProducer,
        work: Work,
        by_rows: Sequence[Operand],
        whole: Sequence[Operand] = (),
        across: Sequence[Operand] = (),
    ) -> Laid:
        reads = Reading(tuple(by_rows), tuple(across), tuple(whole))
        if self.lets_pass and not leaves_partials(producer):
            plan = Plan(what, (), 0.0, (), (), "single")
            return Laid(what, producer, [], plan, work, LIGHT, reads=reads, lets_pass=True)
        granule, lets_pass = producer.granule(), self.lets_pass and producer.row_outputs() > 0
        through = passed_under(reads, self.passing)
        in_blocks = bool(through or lets_pass)
        if in_blocks:
            work, reads = through_blocks(work, reads, through, self.passing, lets_pass=lets_pass)
            room = self.planner.room()
            held = held_in_blocks(producer, through, room)
            if held > room:
                raise cannot_pass(what, held, room)
            work = replace(work, fixed_bytes=work.fixed_bytes + held)
        demand = Demand(what, work, granule, *reads)
        light = not in_blocks and self._is_light(demand)
        work = self._streamed(producer, work, reads.by_rows)
        rows, others, all_of = map(self._sent, reads)
        pieces = streams(producer) or phase_of(producer) is not None
        own = streams(producer) or isinstance(producer, OF_OWN_ROWS)
        kinds = {"light": light, "own_rows": own, "in_pieces": pieces}
        demand = Demand(what, work, granule, rows, others, all_of, **kinds)
        plan, number = self._decided(demand)
        from_files = 0.0 if demand.light else self._row_bytes_in_files(producer, reads.by_rows)

        def tasks(node: str, rows: int) -> int:
            threads = 1 if demand.light else self.planner.threads(node)
            if in_blocks:
                passes = from_files + sum(each.work.bytes_written for each in through)
                return block_tasks(producer, passes, rows, threads, room)
            return tasks_for(producer, rows, from_files, threads)

        ranges = [
            piece
            for node, lo, hi in plan.ranges()
            for piece in cut_range(node, lo, hi, granule, tasks(node, hi - lo))
        ]
        laid = Laid(what, producer, ranges, plan, work, number, not in_blocks, reads)
        if not in_blocks:
            return laid
        return replace(laid, through=through, lets_pass=lets_pass, blocks=len(ranges))

    def _in_one_task(self, what: str, producer: Producer, expr: Expr) -> Laid:
        reads = [(operand.shape, operand.dtype) for operand in expr.operands()]
        work = op_work(expr.op, expr.shape, expr.dtype, reads)
        operands = producer.operands
        demand = Demand(what, work, max(work.rows, 1), whole=operands, alone=True)
        demand = replace(demand, light=self._is_light(demand))
        plan, number = self._decided(demand)
        node = next((name for name, count in plan.rows if count), None) or self.planner.fastest()
        rows = expr.shape[0] if expr.shape else 1
        return Laid(what, producer, [Range(node, 0, rows)], plan, work, number)

    def _is_light(self, demand: Demand) -> bool:
        """Say whether a stage reads and gives so little that it is no work of its own."""
        read = sum({o.source: o.source.nbytes for o in demand.operands() if o.source}.values())
        given = demand.work.rows * demand.work.bytes_written
        return max(read, given) <= self.planner.home_bytes and is_little(demand.work)

    def _decided(self, demand: Demand) -> tuple[Plan, int]:
        """Return the plan of a stage, and its number among those that are no light ones, or -1."""
        if demand.light:
            rows = (self._node_of_light(demand), demand.work.rows)
            return Plan(demand.what, (rows,), 0.0, (0.0,), (0.0,), "single"), LIGHT
        number = self.decided
        self.decided += 1
        return self.decide(demand), number

    def _node_of_light(self, demand: Demand) -> str:
        """Return where what a light stage waits for is made, the latest of it."""
        sources = [o.source for o in demand.operands() if o.source is not None]
        segments = [segment for source in sources for segment in self.graph.segments(source)]
        nodes = [(self.graph.latest(segment.arg), segment.node) for segment in segments]
        return max(nodes)[1] if nodes else self.planner.fastest()

    def decide(self, demand: Demand) -> Plan:
        """Return who computes the rows of one stage, planned by itself."""
        if demand.alone:
            held = self._held_alone(demand)
            if held > self.planner.room():
                return self._refuse(demand, held)
            node = self.planner.fastest()
            return Plan(demand.what, ((node, demand.work.rows),), 0.0, (0.0,), (0.0,), "single")
        current, moving = self._placement(demand.by_rows, demand.work.rows)
        replicated = self._replicated(demand.whole)
        resting = self.resting_bytes(demand, current)
        return self.planner.plan(
            demand.what, demand.work, demand.granule, current, moving, replicated, resting
        )

    def _held_alone(self, demand: Demand) -> float:
        """Return what a task that does all by itself holds: its result, and what it reads."""
        spans: dict[Source, int] = {}
        for o in demand.whole:
            if o.source is not None and not o.source.is_here():
                spans[o.source] = max(spans.get(o.source, 0), o.span_bytes)
        return sum(spans.values()) + demand.work.rows * demand.work.bytes_written

    def _refuse(self, demand: Demand, held: float) -> Plan:
        """Ask for what cannot be had: who plans raises an error that says what would help."""
        rows = max(demand.work.rows, 1)
        work = replace(demand.work, rows=rows, bytes_written=held / rows)
        return self.planner.plan(demand.what, work, rows, None, 0.0)

    def resting_bytes(self, demand: Demand, place: Placement | None) -> float:
        """Return the bytes of a row that tasks read where they lie, if every row stays there."""
        if place is None or not demand.own_rows:
            return 0.0
        ranges = self._cuts(demand, place)
        readers = Counter(operand.source for operand in demand.by_rows)
        return float(
            sum(
                prod(o.shape[1:]) * o.dtype.itemsize
                for o in demand.by_rows
                if o.source is not None and readers[o.source] == 1 and self._in_one(o, ranges)
            )
        )

    def _cuts(self, demand: Demand, place: Placement) -> list[Range]:
        """Return the rows of each task, if they are cut where the place says."""
        ranges: list[Range] = []
        for node, rows in place:
            lo = ranges[-1].hi if ranges else 0
            tasks = self.planner.threads(node)
            ranges += cut_range(node, lo, lo + rows, demand.granule, tasks)
        return ranges

    def _in_one(self, operand: Operand, ranges: Sequence[Range]) -> bool:
        """Say whether each range is read from one piece of what lies on its node."""
        rows = ranges[-1].hi if ranges else 0
        if operand.source is None or self._place_of(operand, rows) is None:
            return False
        held = [
            Range(s.node, *rows_beginning(operand, s.start, s.stop, rows))
            for s in self.graph.segments(operand.source)
        ]
        return all(
            any(h.node == r.node and h.lo <= r.lo and r.hi <= h.hi for h in held) for r in ranges
        )

    def built(self, laid: Laid, ranges: Sequence[Range]) -> list[tuple[Range, Ref]]:
        """Add the tasks of a stage to the graph; each range with the reference of its task."""
        if laid.through or laid.lets_pass:
            return build_in_blocks(self.graph, laid, ranges, self.passing)
        return laid.producer.build(self.graph, ranges)

    def glued(self, ref: Ref) -> Glued | None:
        """Make a light task, just added, a step of one that it waits for, if there is one."""
        return glue(self.graph, ref)

    def _streamed(self, producer: AnyProducer, work: Work, by_rows: Sequence[Operand]) -> Work:
        """Return the work without what passes through: a block of it is held at a time."""
        threads = self.planner.threads(self.planner.fastest())
        return streamed(work, producer, self._row_bytes_in_files(producer, by_rows), threads)

    def _row_bytes_in_files(self, producer: AnyProducer, by_rows: Sequence[Operand]) -> float:
        """Return the bytes of a row that are read from files: for a call, all that lies in them."""
        whole = not streams(producer)
        found = {}
        for o in by_rows:
            if self._file(o) and o.source is not None:
                seen = prod(o.shape[1:]) * o.dtype.itemsize
                found[id(o)] = max(seen, o.source.row_bytes) if whole else seen
        return float(sum(found.values()))

    def _sent(self, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        """Return those that nodes do not read from files."""
        return tuple(operand for operand in operands if not self._file(operand))

    def _file(self, operand: Operand) -> bool:
        """Say whether the nodes read an operand from a file that they all see."""
        source = operand.source
        return source is not None and self.graph.file(source) is not None

    def _replicated(self, whole: Sequence[Operand]) -> float:
        """Return the bytes that each node must receive to read these operands whole."""
        sources = {operand.source for operand in whole if operand.source is not None}
        return float(
            sum(
                source.nbytes
                for source in sources
                if source.expr is None or not self.planner.mirrored(source.expr)
            )
        )

    def _placement(self, operands: Sequence[Operand], rows: int) -> tuple[Placement | None, float]:
        """Return where most bytes of the rows lie now, and the bytes that a moved row costs."""
        by_place: dict[Placement | None, float] = {}
        for operand in operands:
            if operand.source is None:
                continue
            place = self._place_of(operand, rows)
            size = prod(operand.shape[1:]) * operand.dtype.itemsize
            by_place[place] = by_place.get(place, 0.0) + size
        placed = {place: size for place, size in by_place.items() if place is not None}
        if placed:
            best = max(placed, key=lambda place: placed[place])
            return best, placed[best]
        return None, by_place.get(None, 0.0)

    def _place_of(self, operand: Operand, rows: int) -> Placement | None:
        source = operand.source
        assert source is not None
        backwards = bool(operand.views) and operand.views[-1].strides[0] <= 0
        if backwards or exchanged_axes(operand) is not None or operand.shape[0] != rows:
            return None
        counts: dict[str, int] = {}
        for segment in self.graph.segments(source):
            lo, hi = rows_beginning(operand, segment.start, segment.stop, rows)
            counts[segment.node] = counts.get(segment.node, 0) + hi - lo
        return tuple(counts.items()) if any(counts.values()) else None


def cut_range(node: str, lo: int, hi: int, granule: int, pieces: int) -> list[Range]:
    """Return at most ``pieces`` ranges of about equal size that tile ``lo:hi``, cut at granules."""
    granules = -(-(hi - lo) // granule)
    pieces = max(1, min(pieces, granules))
    cuts = [min(lo + granules * k // pieces * granule, hi) for k in range(pieces + 1)]
    return [Range(node, a, b) for a, b in pairwise(cuts) if a < b]
