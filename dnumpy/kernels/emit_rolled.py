"""Rolled -> source text of one kernel: see :mod:`dnumpy.kernels.emit` for what it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.kernels.emit import Emitter
from dnumpy.kernels.emit_text import Kernel, map_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dnumpy.kernels.lower import Node, Program
    from dnumpy.kernels.rolled import Rolled
    from dnumpy.kernels.schedule import Stage

CHUNK = 256  # elements whose states stay in the first-level cache


def emit_rolled(
    program: Program, rolled: Rolled, layouts: Sequence[str], apart: Mapping[int, str]
) -> Kernel:
    """Return the kernel of a program that is a loop."""
    plain = replace(program, nodes=[*rolled.before, *rolled.body, *rolled.after])
    plain.codes = dict(program.codes)
    plain.wide = dict(program.wide)
    codes = {n.value: n.code for n in rolled.body}
    for state, value in rolled.states.items():
        plain.codes[state] = codes[value]
        plain.wide[state] = True
    plain.outputs = list(rolled.outputs)
    return _Rolled(plain, rolled, layouts, apart).run()


class _Rolled(Emitter):
    def __init__(
        self, program: Program, rolled: Rolled, layouts: Sequence[str], apart: Mapping[int, str]
    ) -> None:
        super().__init__(program, layouts, apart)
        self.rolled = rolled
        early = {n.value for n in rolled.before}
        later = {a.value for n in [*rolled.body, *rolled.after] for a in n.args}
        kept = sorted(early & later) + sorted(rolled.states)
        self.buffers = {value: k for k, value in enumerate(kept)}  # value -> chunk buffer
        initial = set(rolled.initial.values())
        self.used = sorted({*self.used, *initial})
        self.written = sorted(
            {("out", k) for _, k in program.outputs}
            | {("chunk", k) for k in self.buffers.values()}
            | {("gather", v) for v in self.used if v < len(layouts) and layouts[v] == "g"}
        )

    def run(self) -> Kernel:
        return replace(super().run(), count=self.rolled.count)

    def _pass(self, stages: list[Stage]) -> None:
        """Emit the chunks of a unit: what comes before, the loop over iterations, what follows."""
        assert stages
        t, rolled = self.text, self.rolled
        t.add("i0 = 0")
        t.add("while i0 < length:")
        t.depth += 1
        t.add("n = length - i0")
        t.add(f"if n > {CHUNK}:")
        t.add(f"    n = {CHUNK}")
        for value in self.used:
            if value < len(self.layouts):
                self._locate(value)
        for value, k in self.buffers.items():
            t.add(f"q{value} = {self.get('chunk', k)}")
        for value, index in self.program.outputs:
            t.add(f"w{index} = o{index} + i0 * {self._out(value, index)[0]}")
        early = {n.value for n in rolled.before}
        first = [v for v in self.buffers if v in early]
        self._walk(rolled.before, {v: v for v in first} | rolled.initial, early)
        t.add(f"for _ in range({self.get('count')}):")
        t.depth += 1
        self._walk(rolled.body, rolled.states, set())
        t.depth -= 1
        self._walk(rolled.after, {}, {n.value for n in rolled.after} | set(self.buffers))
        t.add(f"i0 += {CHUNK}")
        t.depth -= 1

    def _walk(self, nodes: list[Node], stores: dict[int, int], gives: Iterable[int]) -> None:
        """Emit one vectorised loop: ``stores`` maps buffered values to what they become.

        Outputs among ``gives`` are written.
        """
        outputs = [(v, k) for v, k in self.program.outputs if v in set(gives)]
        if not nodes and not stores and not outputs:
            return
        t = self.text
        made = {n.value for n in nodes}
        t.add("for i in range(n):")
        t.depth += 1
        read = [a.value for n in nodes for a in n.args] + [
            *stores.values(),
            *[v for v, _ in outputs],
        ]
        for value in dict.fromkeys(read):
            if value not in made:
                self._load(value)
        for node in nodes:
            names = [self._read(a, self._named(a.value, a.code)) for a in node.args]
            index = "start + i0 + i" if self.program.flat else "row"
            t.add(f"v{node.value} = {map_text(node, names, index)}")
        for value, source in stores.items():
            place = self.place("chunk", self.buffers[value])
            code = self.program.codes[value]
            name = self._named(source, code)
            t.add(f"store_{code}(q{value}, i, {name}, {place})")
        for value, output in outputs:
            code, at = self.program.codes[value], self._out(value, output)[1]
            t.add(f"store_{code}(w{output}{at}, v{value}, {self.place('out', output)})")
        t.depth -= 1

    def _out(self, value: int, index: int) -> tuple[str, str]:
        """Return the bytes from one element of an output to the next, and where the ``i``-th is."""
        how = self.apart.get(index, "d")
        if how == "t":
            step = self.get("oapart", index)
            return step, f" + i * {step}, 0"
        many = int(how[1:] or 1)
        step = str(np.dtype(self.program.codes[value]).itemsize * many)
        return step, f", {many} * i" if many != 1 else ", i"

    def _named(self, value: int, code: str) -> str:
        if value in self.program.constants:
            return f"c{value}_{code}"
        wide = value in self.buffers or value >= len(self.layouts)
        wide = wide or self.layouts[value][0] in "dgt"
        return f"v{value}" if wide else f"x{value}"

    def _load(self, value: int) -> None:
        if value in self.program.constants or not self._named(value, "").startswith("v"):
            return
        code = self.program.codes[value]
        if value in self.buffers:
            at = f"q{value}, i, {self.place('chunk', self.buffers[value])}"
        else:
            at = f"{self.element(value)}, {self._place_of(value)}"
        self.text.add(f"v{value} = load_{code}({at})")
