"""Source text of a kernel -> text of an LLVM module, without Numba.

Generated kernels are written in a small part of Python: numbers in local names, ``while``, ``for``
over ``range``, ``if``, arithmetic, comparisons, and calls of the primitives of
:mod:`~dnumpy.kernels.ir_memory` and of the fast functions. What is not in it raises
:class:`~dnumpy.kernels.ir_values.Unknown`; what is means what it means to Numba.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

from dnumpy.kernels.ir_memory import primitives
from dnumpy.kernels.ir_values import TYPES, Unknown, Value, Writer
from dnumpy.kernels.ir_words import Slot, Straight, parsed
from dnumpy.kernels.llvm import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


WIDE = 32  # bytes that a sum reads at once
SHORT = 16  # on processors that read memory faster by several loads of each line


def module_text(source: str, *, load_bytes: int = WIDE) -> str:
    """Return an LLVM module that defines the kernel with Numba's calling convention.

    Parameters
    ----------
    source
        Text of a generated kernel.
    load_bytes
        How much a sum that waits for memory reads at once.

    Raises
    ------
    Unknown
        The kernel is not in the language.
    """
    names: dict[str, Any] = primitives(load_bytes)
    if "fast_" in source:
        from dnumpy.kernels.ir_fast import functions

        names |= functions()
    try:
        (function,) = parsed(source).body
    except SyntaxError as error:
        raise Unknown(str(error)) from error
    if not isinstance(function, ast.FunctionDef):
        msg = "no function"
        raise Unknown(msg)
    body = _Body(function, names)
    body.run()
    w = body.w
    given = ", ".join(f"i64 %p.{a.arg}" for a in function.args.args)
    taken = f"ptr noalias %result, ptr noalias %error, {given}"
    head = [f"define i32 @{SYMBOL}({taken}) nounwind{_width(source, load_bytes)} {{"]
    nodes = [f"!{number} = {text}" for text, number in w.nodes.items()]
    lines = [*head, "entry:", *w.entry, "  br label %start", "start:", *w.lines]
    return "\n".join([*lines, "  ret i32 0", "}", *w.declared.values(), *nodes, ""])


def _width(source: str, load_bytes: int) -> str:
    """Return how wide vectors are to be, where that is not left to LLVM.

    Sums of cheap arithmetic wait for memory.
    """
    dear = (" / ", "sqrt", "fast_", "call_", "f4(")
    waits = "sum_lanes_f8" in source and not any(
        word in source.replace("call_helper", "") for word in dear
    )
    return f' "prefer-vector-width"="{8 * load_bytes}"' if waits else ""


class _Body(Straight):
    """Writes the body of a kernel; names that are assigned more than once lie on the stack.

    A name that is assigned once is known to the end of the block in which it is.
    """

    def __init__(self, function: ast.FunctionDef, names: Mapping[str, Any]) -> None:
        super().__init__(Writer(), names)
        self.function = function
        stored = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        counts = Counter(n.id for n in stored if isinstance(n.ctx, ast.Store))
        counted = [n.target for n in ast.walk(function) if isinstance(n, ast.For)]
        loops = Counter(t.id for t in counted if isinstance(t, ast.Name))
        self.given = [a.arg for a in function.args.args]
        counts.update(self.given)
        # several loops may count with one name
        self.single = {n for n, k in counts.items() if k in {1, loops[n]}}

    def run(self) -> None:
        """Write all of it."""
        for name in self.given:
            self.assign(name, Value("i8", f"%p.{name}"))
        self.suite(self.function.body)

    def assign(self, name: str, value: Value) -> None:
        if name in self.single:
            self.values[name] = value
            return
        if name not in self.slots:
            self.slots[name] = Slot(value.code, self.w.stack(TYPES[value.code]))
        slot = self.slots[name]
        if slot.code != value.code:
            msg = f"{name}, which is {slot.code} and {value.code}"
            raise Unknown(msg)
        self.w.add(f"store {value.typed}, ptr {slot.at}")

    def inner(self, statements: Sequence[ast.stmt]) -> None:
        """Write a block that may not be run: what it assigns once is unknown after it."""
        known = dict(self.values)
        self.suite(statements)
        self.values = known

    def branch(self, node: ast.If) -> None:
        """Write both branches."""
        w = self.w
        this, other, after = w.labels(3)
        w.part(self.value(node.test), this, other)
        for label, statements in ((this, node.body), (other, node.orelse)):
            w.begin(label)
            self.inner(statements)
            w.jump(after)
        w.begin(after)

    def loop(self, node: ast.stmt) -> None:
        """Write a loop."""
        match node:
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[count]),
                body=body,
                orelse=[],
            ):
                self._for(name, self.w.cast(self.value(count), "i8"), body)
            case _:
                raise Unknown(ast.unparse(node))

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        w = self.w
        head, inside, after = w.labels(3)
        w.jump(head)
        w.begin(head)
        w.part(self.value(test), inside, after)
        w.begin(inside)
        self.inner(body)
        w.jump(head)
        w.begin(after)

    def _for(self, name: str, count: Value, body: Sequence[ast.stmt]) -> None:
        w = self.w
        before, (head, inside, end, after) = w.block, w.labels(4)
        number, following = w.name(), w.name()
        w.jump(head)
        w.begin(head)
        w.add(f"{number} = phi i64 [ 0, %{before} ], [ {following}, %{end} ]")
        w.part(w.make("b1", f"icmp slt i64 {number}, {count.text}"), inside, after)
        w.begin(inside)
        self._iteration(name, number, body)
        w.jump(end)
        w.begin(end)
        w.add(f"{following} = add nuw nsw i64 {number}, 1")
        w.jump(head)
        w.begin(after)

    def _iteration(self, name: str, number: str, body: Sequence[ast.stmt]) -> None:
        known = dict(self.values)
        self.assign(name, Value("i8", number))
        self.suite(body)
        self.values = known
