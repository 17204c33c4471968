"""Branches: a run of blocks folded as far as one binary tree over all blocks allows.

Neighbours of the tree meet level by level, the odd one out going up unchanged. Whoever has a run of
blocks folds those branches of the tree that the run covers; runs that follow one another meet in
the branches that reach over both. So the root has the same bits wherever the blocks are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Join = Callable[[Any, Any], Any]  # of two sequences, whose elements meet one to one


class Branch(NamedTuple):
    """Node ``number`` of a level of the tree; ``value`` is a sequence with one element."""

    level: int
    number: int
    value: Any

    @property
    def first(self) -> int:
        """Return the first block below."""
        return self.number << self.level


class Branches(NamedTuple):
    """Branches in order, no two of which make a third, of the tree over ``total`` blocks."""

    total: int
    branches: tuple[Branch, ...]

    def root(self) -> Any:
        """Return what all blocks fold to, a sequence with one element."""
        (root,) = self.branches
        return root.value


def branches_of(join: Join, blocks: Any, first: int, count: int) -> Branches:
    """Return the branches of blocks ``first, first + 1, ...``, an array or a list, of ``count``."""
    before: list[Branch] = []
    after: list[Branch] = []
    level, width = 0, count
    while len(blocks) > 1 or (len(blocks) and width > 1):
        if first % 2:
            before.append(Branch(level, first, blocks[:1]))
            blocks, first = blocks[1:], first + 1
        stop = first + len(blocks)
        if len(blocks) % 2 and stop < width:
            after.append(Branch(level, stop - 1, blocks[-1:]))
            blocks = blocks[:-1]
        blocks = _next_level(join, blocks)
        level, first, width = level + 1, first // 2, -(-width // 2)
    if len(blocks):
        before.append(Branch(level, first, blocks))
    return Branches(count, (*before, *reversed(after)))


def _next_level(join: Join, blocks: Any) -> Any:
    if len(blocks) < 2:
        return blocks
    paired = join(blocks[0:-1:2], blocks[1::2])
    if len(blocks) % 2 == 0:
        return paired
    last = blocks[-1:]
    return [*paired, *last] if isinstance(blocks, list) else np.concatenate([paired, last])


def grown(join: Join, runs: Sequence[Branches]) -> Branches:
    """Return the branches of several runs of blocks together."""
    total = runs[0].total
    every = sorted((b for run in runs for b in run.branches), key=lambda b: b.first)
    stack: list[Branch] = []
    for branch in every:
        put_on(join, total, stack, branch)
    return Branches(total, tuple(stack))


def put_on(join: Join, count: int, stack: list[Branch], branch: Branch) -> None:
    """Put the next branch on a stack of branches; what can meet meets."""
    stack.append(branch)
    while True:
        level, number, value = stack[-1]
        width = -(-count // (1 << level))
        if width == 1:
            return
        if number % 2 == 0 and number + 1 == width:
            stack[-1] = Branch(level + 1, number // 2, value)
        elif number % 2 and len(stack) > 1 and stack[-2][:2] == (level, number - 1):
            stack.pop()
            stack[-1] = Branch(level + 1, number // 2, join(stack[-1].value, value))
        else:
            return
