"""Program -> Schedule: which pass over the unit computes what, and where values are kept.

A unit is walked once per *pass*, since what reads a row's sum must wait for it. Within a pass,
chunk by chunk, *stages* follow each other: arithmetic of one stage is one vectorised loop, then
come calls of NumPy's loops and folds, which read and write chunk buffers that stay in L1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.kernels.sums import BLOCK

if TYPE_CHECKING:
    from collections.abc import Container

    from dnumpy.kernels.lower import Node, Program


@dataclass(frozen=True, slots=True)
class Home:
    """Where a wide value is kept, and in which buffer of its kind.

    ``out`` is an output, ``tile`` lasts as long as the tile, ``row`` as the unit, ``chunk`` as the
    chunk.
    """

    kind: str
    index: int


@dataclass(slots=True)
class Stage:
    """One loop of arithmetic, then calls and folds in order."""

    maps: list[Node] = field(default_factory=list)
    others: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Schedule:
    """``narrow[p]`` runs after pass ``p - 1``; ``passes[p]`` is a list of stages."""

    passes: list[list[Stage]]
    narrow: list[list[Node]]
    homes: dict[int, Home]
    row_bytes: list[int]  # item size of each row buffer
    tile_bytes: list[int]  # item size of each tile buffer
    chunk_bytes: list[int]
    tile_values: list[int]  # narrow values that are folded over the tile


def make_schedule(program: Program) -> Schedule:
    """Return a schedule in which every value is computed before it is read."""
    pass_of = _passes(program)
    stage_of = _stages(program, pass_of)
    count = 1 + max(pass_of.values(), default=-1)
    wide = [n for n in program.nodes if _walks(program, n)]
    passes: list[list[Stage]] = []
    for p in range(count):
        here = [n for n in wide if pass_of[n.value] == p]
        depth = 1 + max((stage_of[n.value] for n in here), default=0)
        stages = [Stage() for _ in range(depth)]
        for node in here:
            stage = stages[stage_of[node.value]]
            (stage.maps if node.kind == "map" else stage.others).append(node)
        passes.append(stages)
    narrow: list[list[Node]] = [[] for _ in range(count + 1)]
    for node in program.nodes:
        if not _walks(program, node) and node.kind != "tile":
            narrow[pass_of[node.value] + 1].append(node)
    homes, rows, tiles, chunks = _homes(program, pass_of, stage_of, passes)
    tiled = [n.args[0].value for n in program.nodes if n.kind == "tile" and not _walks(program, n)]
    return Schedule(passes, narrow, homes, rows, tiles, chunks, sorted(set(tiled)))


def _walks(program: Program, node: Node) -> bool:
    """Say whether ``node`` runs inside a pass over the unit (it, or what it folds, is wide)."""
    if node.fold:
        return is_wide(program, node.args[0].value)
    return node.wide


def is_wide(program: Program, value: int) -> bool:
    """Say whether ``value`` has one entry per element of the unit."""
    if value in program.constants or value in program.whole_scalars:
        return False
    return program.wide[value] or (program.flat and value not in program.constants)


def _users(program: Program) -> dict[int, list[Node]]:
    users: dict[int, list[Node]] = {}
    for node in program.nodes:
        for arg in node.args:
            users.setdefault(arg.value, []).append(node)
    return users


def _passes(program: Program) -> dict[int, int]:
    """Give wide nodes the pass that computes them, narrow ones that after which they are known."""
    found: dict[int, int] = {}
    for node in program.nodes:
        known = [(found.get(a.value, -1), is_wide(program, a.value)) for a in node.args]
        if _walks(program, node):
            found[node.value] = max((p if wide else p + 1 for p, wide in known), default=0)
            found[node.value] = max(found[node.value], 0)
        else:
            found[node.value] = max((p for p, _ in known), default=-1)
    kept = {value for value, _ in program.outputs}
    users = _users(program)
    for node in reversed(program.nodes):
        later = [found[u.value] for u in users.get(node.value, ())]
        if node.kind == "map" and _walks(program, node) and node.value not in kept and later:
            found[node.value] = min(later)
    return found


def _stages(program: Program, pass_of: dict[int, int]) -> dict[int, int]:
    """Arithmetic waits for calls of the stage before, calls and folds for that of their own."""
    found: dict[int, int] = {}
    kinds = {n.value: n.kind for n in program.nodes}
    for node in program.nodes:
        stage = 0
        for arg in node.args:
            here = arg.value in found and pass_of.get(arg.value) == pass_of[node.value]
            if here and is_wide(program, arg.value):
                waits = node.kind == "map" and kinds[arg.value] == "call"
                stage = max(stage, found[arg.value] + waits)
        found[node.value] = stage
    kept = {value for value, _ in program.outputs}
    users = _users(program)
    for node in reversed(program.nodes):
        if node.kind != "map" or node.value in kept or not _walks(program, node):
            continue
        same = [u for u in users.get(node.value, ()) if pass_of[u.value] == pass_of[node.value]]
        if same and len(same) == len(users[node.value]):
            found[node.value] = max(found[node.value], min(found[u.value] for u in same))
    return found


def _homes(
    program: Program,
    pass_of: dict[int, int],
    stage_of: dict[int, int],
    passes: list[list[Stage]],
) -> tuple[dict[int, Home], list[int], list[int], list[int]]:
    homes: dict[int, Home] = {}
    rows: list[int] = []
    tiles: list[int] = []
    users = _users(program)
    wide = {
        n.value: n for stages in passes for s in stages for n in [*s.maps, *s.others] if not n.fold
    }
    outputs = dict(program.outputs)
    transient: dict[int, int] = {}  # value -> last position that reads it
    for value, node in wide.items():
        readers = users.get(value, [])
        if value in outputs:
            homes[value] = Home("out", outputs[value])
        elif any(sums_short_rows(program, u) for u in readers):
            homes[value] = Home("tile", len(tiles))
            tiles.append(np.dtype(node.code).itemsize)
        elif any(pass_of[u.value] != pass_of[value] for u in readers):
            homes[value] = Home("row", len(rows))
            rows.append(np.dtype(node.code).itemsize)
        elif node.kind == "call" or any(
            u.kind != "map" or stage_of[u.value] != stage_of[value] for u in readers
        ):
            transient[value] = 0
    chunks = _share(passes, transient, homes)
    return homes, rows, tiles, chunks


def sums_short_rows(program: Program, node: Node) -> bool:
    """Say whether ``node`` sums short rows at the end of a tile, though walked one by one."""
    short = not program.flat and program.width < BLOCK
    return short and node.kind == "tile" and node.template == "sum" and _walks(program, node)


def _share(
    passes: list[list[Stage]], transient: dict[int, int], homes: dict[int, Home]
) -> list[int]:
    """Give each transient value a chunk buffer, reused after the value's last reading."""
    sizes: list[int] = []
    for stages in passes:
        groups = [g for s in stages for g in ([s.maps] if s.maps else []) + [[n] for n in s.others]]
        last: dict[int, int] = {}
        for position, group in enumerate(groups):
            for node in group:
                last[node.value] = max(last.get(node.value, 0), position)
                for arg in node.args:
                    last[arg.value] = position
        free: list[int] = []
        for position, group in enumerate(groups):
            for node in group:
                if node.value in transient:
                    homes[node.value] = Home("chunk", _take(free, sizes))
            held = [v for v in transient if last.get(v) == position and v in homes]
            free.extend(homes[v].index for v in held)
    return [16] * len(sizes)


def _take(free: list[int], sizes: list[int]) -> int:
    if free:
        return free.pop()
    sizes.append(16)
    return len(sizes) - 1


def summed_in_blocks(program: Program, stage: Stage) -> list[Node]:
    """Return the sums that can follow a stage's arithmetic block by block."""
    later = {n.value for n in stage.others}
    return [
        n
        for n in stage.others
        if n.kind in {"row", "tile"}
        and n.template == "sum"
        and stage.maps
        and n.args[0].value not in later
        and not sums_short_rows(program, n)
    ]


def streamed_values(schedule: Schedule, apart: Container[int]) -> set[int]:
    """Return the outputs that nothing reads again, so that caches need not hold them.

    Of units that are walked several times, those of the last pass: see
    :mod:`~dnumpy.kernels.emit_past`.
    """
    kept = {v for v, h in schedule.homes.items() if h.kind == "out"}
    for stages in schedule.passes:
        for stage in stages:
            maps = {n.value for n in stage.maps}
            for node in [*stage.maps, *stage.others]:
                together = maps if node.kind == "map" else set()
                kept -= {a.value for a in node.args} - together
    made = {n.value for s in schedule.passes[-1] for n in s.maps} if schedule.passes else set()
    return {v for v in kept & made if schedule.homes[v].index not in apart}
