"""Schedule -> source text of one kernel, and the list of what it is given.

The kernel reads all it needs from an array of 64-bit integers, the *fields*: addresses, strides,
extents. No extent and no constant stands in the text, so that equal text means equal machine code
for every size; the text is the identity of a kernel.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.emit_past import past_caches
from dnumpy.kernels.emit_text import Field, Kernel, Text, cast, constant, map_text, note_flags
from dnumpy.kernels.flags import forgets
from dnumpy.kernels.helpers import STATE_BYTES, join_quarters, store_quarter
from dnumpy.kernels.schedule import (
    Home,
    Stage,
    is_wide,
    make_schedule,
    streamed_values,
    summed_in_blocks,
    sums_short_rows,
)
from dnumpy.kernels.sums import BLOCK, QUARTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.kernels.lower import Arg, Node, Program

CHUNK = 1024  # elements walked at a time: a few buffers of them fit L1; a multiple of sums.BLOCK


def emit(
    program: Program,
    layouts: Sequence[str],
    apart: Mapping[int, str] = MappingProxyType({}),
    *,
    by_lines: bool = False,
) -> Kernel:
    """Return the kernel for inputs that lie as ``layouts`` says.

    Each is ``c`` (constant), ``s`` (one entry per unit), ``d`` (side by side along the unit), ``t``
    (so many bytes apart along it; where a number follows, so many elements) or ``g`` (to be
    gathered, chunk by chunk). Outputs are side by side but for those in ``apart``, which lie as
    ``t`` does. A unit may be walked ``by_lines``: all are then side by side along each line.
    """
    return Emitter(program, layouts, apart, by_lines=by_lines).run()


class Emitter:
    """Writes the text of one kernel."""

    def __init__(
        self,
        program: Program,
        layouts: Sequence[str],
        apart: Mapping[int, str],
        *,
        by_lines: bool = False,
    ) -> None:
        self.by_lines = by_lines
        self.program = program
        self.layouts = layouts
        self.apart = apart
        self.schedule = make_schedule(program)
        self.streamed = streamed_values(self.schedule, apart)
        self.fields: dict[Field, str] = {}
        self.cells: dict[tuple[Any, ...], int] = {}
        self.states: dict[int, int] = {}
        self.used = sorted({a.value for n in program.nodes for a in n.args})
        self.written = sorted(
            {("out", k) for _, k in program.outputs}
            | {(h.kind, h.index) for h in self.schedule.homes.values()}
            | {("gather", v) for v in self.used if v < len(layouts) and layouts[v] == "g"}
            | {("line", v) for v in self.streamed}
        )
        self.text = Text()

    # fields and cells

    def get(self, *what: Any) -> str:
        """Return the local name of a field."""
        return self.fields.setdefault(what, f"a{len(self.fields)}")

    def cell(self, *what: Any) -> str:
        """Return the address of a 16-byte cell of scratch memory."""
        at = self.cells.setdefault(what, len(self.cells))
        return f"({self.get('cells')} + {16 * at})"

    def place(self, kind: str, index: int) -> str:
        """Return the two literals that tell LLVM which memory is touched."""
        return f"{self.written.index((kind, index)) + 1}, {len(self.written) + 1}"

    # the parts of the text

    def run(self) -> Kernel:
        """Return the kernel."""
        constants = [
            (a.value, a.code)
            for n in self.program.nodes
            for a in n.args
            if a.value in self.program.constants
        ]
        constants = list(dict.fromkeys(constants))
        for value, code in constants:
            self.cell("constant", value, code)
        self._tiles()
        if ("streams",) in self.fields:
            self.text.add("fence()")
        head = ["def kernel(m, first, last):"]
        head += [
            f"    {name} = load_i8(m, {k}, 0, 0)" for k, name in enumerate(self.fields.values())
        ]
        head += [
            f"    {constant(v, c)} = load_{c}({self.cell('constant', v, c)}, 0, 0, 0)"
            for v, c in constants
            if c[0] != "c"
        ]
        source = "\n".join([*head, *self.text.lines, ""])
        return Kernel(
            source, list(self.fields), constants, len(self.cells), len(self.states), self.schedule
        )

    def _tiles(self) -> None:
        t, tile, rest = self.text, self.get("rows"), self.get("width")
        t.add("number = 0")
        t.add("start = first")
        t.add("while start < last:")
        t.depth += 1
        t.add("stop = start + " + tile)
        t.add("if stop > last:")
        t.add("    stop = last")
        if self.program.flat:
            t.add("units = 1")
            t.add(f"length = (stop - start) * {rest}")
        else:
            t.add("units = stop - start")
            t.add(f"length = {self.get('along') if self.by_lines else rest}")
        folds = [n for n in self.program.nodes if n.kind == "tile"]
        for node in folds:
            if node.template == "sum":
                self._open_sum(node)
        t.add("for u in range(units):")
        t.depth += 1
        self._unit()
        t.depth -= 1
        for node in folds:
            self._close_tile(node)
        t.add("number += 1")
        t.add("start = stop")
        t.depth -= 1

    def _unit(self) -> None:
        t = self.text
        t.add("row = start + u")
        for value in self.used:
            if value < len(self.layouts) and self.layouts[value] != "c":
                t.add(f"p{value} = {self.get('input', value)} + row * {self.get('stride', value)}")
                self._narrow_input(value)
        for _, index in self.program.outputs:
            if not self._is_partial(index):
                t.add(
                    f"o{index} = {self.get('output', index)} + row * {self.get('ostride', index)}"
                )
        for node in self.schedule.narrow[0]:
            self._narrow(node)
        if self.by_lines:
            self._lines_of_unit()
            return
        for number, stages in enumerate(self.schedule.passes):
            if any(s.maps or s.others for s in stages):
                self._pass(stages)
            for node in self.schedule.narrow[number + 1]:
                self._narrow(node)

    def _lines_of_unit(self) -> None:
        """Walk a unit line by line, each from where the one before began, a step further."""
        t = self.text
        steps = [
            (f"p{v}", self.get("step", v))
            for v in self.used
            if v < len(self.layouts) and self._wide(v)
        ]
        steps += [(f"o{k}", self.get("ostep", k)) for _, k in self.program.outputs]
        t.add(f"for _ in range({self.get('lines')}):")
        t.depth += 1
        for stages in self.schedule.passes:
            self._pass(stages)
        for address, step in steps:
            t.add(f"{address} += {step}")
        t.depth -= 1

    def _narrow_input(self, value: int) -> None:
        code = self.program.codes[value]
        if self.layouts[value] != "s":
            return
        if code[0] != "c":
            self.text.add(f"x{value} = load_{code}(p{value}, 0, 0, 0)")
        if value in self.schedule.tile_values:
            size = np.dtype(code).itemsize
            self.text.add(f"copy_item({self.get('tilebuf', value)} + u * {size}, p{value}, {size})")

    def _is_partial(self, index: int) -> bool:
        folded = {n.value for n in self.program.nodes if n.kind in {"tile", "column"}}
        return {k: v for v, k in self.program.outputs}[index] in folded

    # narrow values

    def _narrow(self, node: Node) -> None:
        t, value = self.text, node.value
        if node.kind == "map":
            names = [self._read(a, self._name(a)) for a in node.args]
            t.add(f"x{value} = {map_text(node, names, 'row')}")
        elif node.kind == "call":
            self._call(
                node,
                [(self._cell_of(a), "0") for a in node.args],
                (self.cell("value", value), "0"),
                "1",
            )
            if node.code[0] != "c":
                t.add(f"x{value} = load_{node.code}({self.cell('value', value)}, 0, 0, 0)")
        self._after_narrow(node)

    def _after_narrow(self, node: Node) -> None:
        t, value = self.text, node.value
        in_cell = node.kind != "map" and not node.picks
        if not in_cell and self._passed_by_address(value):
            t.add(f"store_{node.code}({self.cell('value', value)}, 0, x{value}, 0, 0)")
        for output, index in self.program.outputs:
            if output == value:
                size = np.dtype(node.code).itemsize
                if in_cell:
                    t.add(f"copy_item(o{index}, {self.cell('value', value)}, {size})")
                else:
                    t.add(f"store_{node.code}(o{index}, 0, x{value}, 0, 0)")
        if value in self.schedule.tile_values:
            at = f"{self.get('tilebuf', value)} + u * {np.dtype(node.code).itemsize}"
            if in_cell:
                t.add(
                    f"copy_item({at}, {self.cell('value', value)}, {np.dtype(node.code).itemsize})"
                )
            else:
                t.add(f"store_{node.code}({at}, 0, x{value}, 0, 0)")

    def _passed_by_address(self, value: int) -> bool:
        return any(
            n.kind == "call" and value in [a.value for a in n.args] for n in self.program.nodes
        )

    def _name(self, arg: Arg) -> str:
        if arg.value in self.program.constants:
            return constant(arg.value, arg.code)
        return f"x{arg.value}"

    def _read(self, arg: Arg, name: str) -> str:
        """Return ``name`` cast to the code in which the operation reads it."""
        if arg.value in self.program.constants:
            return name
        return cast(name, self.program.codes[arg.value], arg.code)

    def _cell_of(self, arg: Arg) -> str:
        if arg.value in self.program.constants:
            return self.cell("constant", arg.value, arg.code)
        if arg.value < len(self.layouts):
            return f"p{arg.value}"
        return self.cell("value", arg.value)

    # passes over the unit

    def _pass(self, stages: list[Stage]) -> None:
        t = self.text
        nodes = [n for s in stages for n in [*s.maps, *s.others]]
        sums = [n for n in nodes if n.kind == "row" and n.template == "sum"]
        for node in sums:
            self._open_sum(node)
        for node in (n for n in nodes if n.picks):
            t.add(f"x{node.value} = 0")
            t.add(f"b{node.value} = {node.args[0].code}(0)")
        t.add("i0 = 0")
        t.add("while i0 < length:")
        t.depth += 1
        t.add("n = length - i0")
        touched = {n.value for n in nodes if not n.fold} | {a.value for n in nodes for a in n.args}
        whole = len(stages) == 1 and not stages[0].others and not self._buffered(touched)
        if not whole:
            t.add(f"if n > {CHUNK}:")
            t.add(f"    n = {CHUNK}")
        for value in sorted(touched):
            self._locate(value)
        for stage in stages:
            self._stage(stage)
        t.add("i0 += n" if whole else f"i0 += {CHUNK}")
        t.depth -= 1
        for node in sums:
            self._finish(node, self.cell("value", node.value))
        for node in nodes:
            if node.kind == "row":
                self._load_cell(node)
                self._after_narrow(node)

    def _buffered(self, values: set[int]) -> bool:
        """Say whether some of the values lie in memory that holds a chunk of them at a time."""
        gathered = any(v < len(self.layouts) and self.layouts[v] == "g" for v in values)
        homes = [self.schedule.homes[v].kind for v in values if v in self.schedule.homes]
        return gathered or "chunk" in homes

    def _load_cell(self, node: Node) -> None:
        """Read a narrow value that lies in its cell; complex ones are only passed by address."""
        if node.code[0] != "c" and not node.picks:
            cell = self.cell("value", node.value)
            self.text.add(f"x{node.value} = load_{node.code}({cell}, 0, 0, 0)")

    def _locate(self, value: int) -> None:
        """Assign the address of this chunk of a value, gathered first where it is scattered."""
        if not self._wide(value):
            return
        size = np.dtype(self.program.codes[value]).itemsize
        home = self.schedule.homes.get(value)
        if value < len(self.layouts) and self.layouts[value] == "g":
            self._gather(value)
        elif value < len(self.layouts):
            self.text.add(f"q{value} = p{value} + i0 * {self.step(value)}")
        elif home is not None:
            offset = "" if home.kind == "chunk" else f" + i0 * {self.step(value)}"
            self.text.add(f"q{value} = {self._base(home, size)}{offset}")

    def _gather(self, value: int) -> None:
        t, plan = self.text, self.get("plan", value)
        t.add(f"q{value} = {self.get('gather', value)}")
        t.add(f"store_i8({plan}, 0, q{value}, 0, 0)")
        t.add(f"store_i8({plan}, 1, i0, 0, 0)")
        helper = self.get("helper", "gather", self.program.codes[value])
        t.add(f"call_helper({helper}, p{value}, n, {plan})")

    def _base(self, home: Home, size: int) -> str:
        if home.kind == "tile":
            return f"{self.get('tile', home.index)} + u * length * {size}"
        return f"o{home.index}" if home.kind == "out" else self.get(home.kind, home.index)

    def _wide(self, value: int) -> bool:
        if value < len(self.layouts):
            return self.layouts[value][0] in "dgt"
        return is_wide(self.program, value)

    def _how(self, value: int) -> str:
        """Return how the elements of a wide value lie (see :func:`emit`)."""
        if value < len(self.layouts):
            return self.layouts[value]
        home = self.schedule.homes.get(value)
        at_home = home is None or home.kind != "out"
        return "d" if at_home else self.apart.get(self.schedule.homes[value].index, "d")

    def step(self, value: int) -> str:
        """Return the bytes from one element of a wide value to the next."""
        how = self._how(value)
        if how != "t":
            return str(np.dtype(self.program.codes[value]).itemsize * int(how[1:] or 1))
        if value < len(self.layouts):
            return self.get("apart", value)
        return self.get("oapart", self.schedule.homes[value].index)

    def element(self, value: int) -> str:
        """Return address and index of element ``i`` of this chunk of a wide value."""
        how = self._how(value)
        if how == "t":
            return f"q{value} + i * {self.step(value)}, 0"
        return f"q{value}, {how[1:]} * i" if how[1:] else f"q{value}, i"

    def _place_of(self, value: int) -> str:
        if value < len(self.layouts):
            if self.layouts[value] == "g":
                return self.place("gather", value)
            return f"0, {len(self.written) + 1}"
        home = self.schedule.homes[value]
        return self.place(home.kind, home.index)

    def _stage(self, stage: Stage) -> None:
        """Emit one stage of a chunk."""
        summed = summed_in_blocks(self.program, stage)
        if summed:
            self._blocks(stage.maps, summed)
        else:
            streamed = [n for n in stage.maps if n.value in self.streamed]
            if streamed:
                past_caches(self, stage.maps, streamed)
            else:
                self.loop(stage.maps, ("n", "i"))
        for node in stage.others:
            if node not in summed:
                self._other(node)

    def _blocks(self, maps: list[Node], sums: list[Node]) -> None:
        """Emit the arithmetic of a chunk with sums, which read a quarter of a block at a time.

        So the processor can fetch what comes next while it adds.
        """
        t = self.text
        t.add("b = 0")
        t.add(f"while b + {BLOCK} <= n:")
        t.depth += 1
        t.add("for k in range(4):")
        t.depth += 1
        self.loop(maps, (str(QUARTER), f"b + {QUARTER} * k + j"))
        for node in sums:
            address, size = self._span(node.args[0])
            at = f"{address} + (b + {QUARTER} * k) * {size}"
            t.add(store_quarter(node.code, self._state(node), "k", at))
        t.depth -= 1
        for node in sums:
            t.lines.append(join_quarters(node.code, self._state(node), "    " * t.depth))
        t.add(f"b += {BLOCK}")
        t.depth -= 1
        t.add("if b < n:")
        t.depth += 1
        self.loop(maps, ("n - b", "b + j"))
        for node in sums:
            address, size = self._span(node.args[0])
            self._sum_run(node, f"{address} + b * {size}", "n - b")
        t.depth -= 1

    def loop(
        self, maps: list[Node], walk: tuple[str, str], lines: frozenset[int] = frozenset()
    ) -> None:
        """Emit one vectorised loop; ``walk`` is its count, and ``i`` in terms of its counter.

        Values in ``lines`` are collected there and not stored where they belong.
        """
        if not maps:
            return
        t, (count, index) = self.text, walk
        made = {n.value for n in maps}
        counter = "i" if index == "i" else "j"
        t.add(f"for {counter} in range({count}):")
        t.depth += 1
        if index != "i":
            t.add(f"i = {index}")
        loaded: set[int] = set()
        for node in maps:
            names = []
            for arg in node.args:
                wide = self._wide(arg.value)
                if wide and arg.value not in made and arg.value not in loaded:
                    code = self.program.codes[arg.value]
                    at = f"{self.element(arg.value)}, {self._place_of(arg.value)}"
                    t.add(f"v{arg.value} = load_{code}({at})")
                    loaded.add(arg.value)
                names.append(self._read(arg, f"v{arg.value}" if wide else self._name(arg)))
            value, index = node.value, "start + i0 + i" if self.program.flat else "row"
            t.add(f"v{value} = {map_text(node, names, index)}")
            if value in lines:
                at, place = f"{self.get('line', value)}, j", self.place("line", value)
                t.add(f"store_{node.code}({at}, v{value}, {place})")
            elif value in self.schedule.homes:
                at = self.element(value)
                t.add(f"store_{node.code}({at}, v{value}, {self._place_of(value)})")
        t.depth -= 1

    def _other(self, node: Node) -> None:
        if node.kind == "call":
            target = (f"q{node.value}", str(np.dtype(node.code).itemsize))
            self._call(node, [self._span(a) for a in node.args], target, "n")
            return
        (arg,) = node.args
        address, _ = self._span(arg)
        size = np.dtype(node.code).itemsize
        if sums_short_rows(self.program, node):
            return
        if node.picks:
            self._pick(node, address)
        elif node.kind == "column":
            index = dict(self.program.outputs)[node.value]
            base = f"{self.get('partial', index)} + number * {self.get('pstride', index)}"
            self.text.add(f"at = {base} + i0 * {size}")
            self.text.add("if u == 0:")
            self._start_column(node, address, size)
            self.text.add("else:")
            self.text.depth += 1
            self._call(node, [("at", str(size)), (address, str(size))], ("at", str(size)), "n")
            self.text.depth -= 1
        elif node.template == "sum":
            self._sum_run(node, address, "n")
        else:
            fresh = "i0 == 0" if node.kind == "row" else "(i0 == 0) & (u == 0)"
            self._fold_run(node, address, "n", fresh)

    def _pick(self, node: Node, address: str) -> None:
        """Go on looking for the first best element; the first NaN is the best of all."""
        t, v, (arg,) = self.text, node.value, node.args
        better = f"(e{v} > b{v})" if node.template == "argmax" else f"(e{v} < b{v})"
        if arg.code[0] == "f":
            better += f" | ((e{v} != e{v}) & (b{v} == b{v}))"
        t.add(f"k{v} = {node.template}_{arg.code}({address}, n)")
        t.add(f"e{v} = load_{arg.code}({address}, k{v}, 0, 0)")
        t.add(f"if (i0 == 0) | {better}:")
        t.add(f"    x{v} = i0 + k{v}")
        t.add(f"    b{v} = e{v}")

    def _start_column(self, node: Node, address: str, size: int) -> None:
        t = self.text
        if node.template != "sum":
            t.add(f"    call_helper({self.get('helper', 'copy', 'u1')}, at, {address}, n * {size})")
            return
        zero = self.cell("zero")
        t.add(f"    store_i8({zero}, 0, 0, 0, 0)")
        t.depth += 1
        self._call(node, [(zero, "0"), (address, str(size))], ("at", str(size)), "n")
        t.depth -= 1

    def _fold_run(self, node: Node, address: str, count: str, fresh: str) -> None:
        """Fold a run into the value's cell, which starts as the first element."""
        t, size, cell = self.text, np.dtype(node.code).itemsize, self.cell("value", node.value)
        t.add("k = 0")
        t.add(f"if {fresh}:")
        t.add(f"    copy_item({cell}, {address}, {size})")
        t.add("    k = 1")
        self._call(
            node, [(cell, "0"), (f"{address} + k * {size}", str(size))], (cell, "0"), f"{count} - k"
        )

    def _span(self, arg: Arg) -> tuple[str, str]:
        """Return address and step of an operand of a call."""
        if self._wide(arg.value):
            return f"q{arg.value}", self.step(arg.value)
        return self._cell_of(arg), "0"

    def _call(
        self, node: Node, operands: list[tuple[str, str]], target: tuple[str, str], count: str
    ) -> None:
        pairs = ", ".join(f"{a}, {s}" for a, s in [*operands, target])
        loop, data = self._loop_of(node)
        if node.loop is not None and forgets(node.loop):
            for line in note_flags(self.get("noting"), self.get("noted")):
                self.text.add(line)
        self.text.add(f"call_{len(operands) + 1}({loop}, {data}, {count}, {pairs})")

    def _loop_of(self, node: Node) -> tuple[str, str]:
        """Return the fields that hold the addresses of NumPy's loop and of its data."""
        assert node.loop is not None
        key = (node.name, tuple(d.str for d in node.loop.dtypes))
        return self.get("loop", *key), self.get("data", *key)

    # sums and partial results

    def _state(self, node: Node) -> str:
        at = self.states.setdefault(node.value, len(self.states))
        return f"({self.get('states')} + {STATE_BYTES * at})"

    def _open_sum(self, node: Node) -> None:
        """Begin a sum: no block yet."""
        self.text.add(f"store_i8({self._state(node)}, 0, 0, 0, 0)")

    def _sum_run(self, node: Node, address: str, count: str) -> None:
        helper = self.get("helper", "sum", node.code)
        self.text.add(f"call_helper({helper}, {address}, {count}, {self._state(node)})")

    def _finish(self, node: Node, target: str) -> None:
        helper = self.get("helper", "finish", node.code)
        self.text.add(f"call_helper({helper}, {self._state(node)}, {target}, 0)")

    def _close_tile(self, node: Node) -> None:
        """Write one tile's partial result."""
        t = self.text
        index = dict(self.program.outputs)[node.value]
        target = f"{self.get('partial', index)} + number * {self.get('pstride', index)}"
        (arg,) = node.args
        if not is_wide(self.program, arg.value) and not self._wide(arg.value):
            buffer = self.get("tilebuf", arg.value)
            if node.template == "sum":
                self._sum_run(node, buffer, "units")
            else:
                self._fold_run(node, buffer, "units", "True")
        elif sums_short_rows(self.program, node):
            home = self.schedule.homes[arg.value]
            self._sum_run(node, self.get("tile", home.index), "units * length")
        if node.template == "sum":
            self._finish(node, target)
        else:
            size = np.dtype(node.code).itemsize
            t.add(f"copy_item({target}, {self.cell('value', node.value)}, {size})")
