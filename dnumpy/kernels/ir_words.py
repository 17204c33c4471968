"""What generated kernels and fast functions say, statement by statement, as LLVM instructions.

The body of a function that is called stands in the place of the call.
"""

from __future__ import annotations

import ast
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.kernels.ir_values import TYPES, Unknown, Value, Writer, code_of_number, constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_HARMLESS = frozenset({*TYPES, "abs"})  # calls that may be made whether or not they are asked for

_PARSINGS = 5
_parsing = threading.Lock()


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text; raises SyntaxError.

    CPython 3.11 counts in what all threads share while it makes one. Where one thread parses while
    another one does, in the midst of which a collection of garbage ran Python code, the count is
    off and SystemError is raised, though the text is right (CPython's issue 106905).
    """
    with _parsing:
        for _ in range(_PARSINGS - 1):
            try:
                return ast.parse(text)
            except SystemError:  # a thread that is not ours parses, too
                continue
        return ast.parse(text)


class Inlined(NamedTuple):
    """A function whose body stands in the place of its calls, and the names that it sees."""

    function: ast.FunctionDef
    names: Mapping[str, Any]


class Slot(NamedTuple):
    """Stack memory of a name that is assigned more than once."""

    code: str
    at: str


class _Returned(Exception):  # noqa: N818 - the way out of a body
    """The end of an inlined function, with what it gives."""

    def __init__(self, value: Value | tuple[Value, ...]) -> None:
        super().__init__()
        self.value = value


class Expressions:
    """Writes expressions; names that are assigned once stand for their values."""

    def __init__(self, w: Writer, names: Mapping[str, Any]) -> None:
        self.w = w
        self.names = names
        self.values: dict[str, Value] = {}
        self.slots: dict[str, Slot] = {}

    def value(self, node: ast.expr) -> Value:
        """Return the number that an expression gives."""
        found = self.any(node)
        if not isinstance(found, Value):
            msg = ast.unparse(node)
            raise Unknown(msg)
        return found

    def any(self, node: ast.expr) -> Any:
        """Return what an expression gives: a number, several, or none."""
        match node:
            case ast.Constant() | ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand))
            case ast.Compare():
                return self._compared(node)
            case ast.BoolOp(op=op, values=values):
                return self._either(isinstance(op, ast.Or), values)
            case ast.IfExp():
                return self._chosen(node)
            case ast.Call():
                return self._called(node)
            case ast.Tuple(elts=parts):
                return tuple(self.value(p) for p in parts)
        msg = ast.unparse(node)
        raise Unknown(msg)

    def _named(self, node: ast.Constant | ast.Name | ast.Attribute) -> Value:
        match node:
            case ast.Constant(value=value):
                known: Any = value
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Name(id=name) if name in self.slots:
                slot = self.slots[name]
                return self.w.make(slot.code, f"load {TYPES[slot.code]}, ptr {slot.at}")
            case ast.Name(id=name) if name in self.names:
                known = self.names[name]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.names:
                known = getattr(self.names[name], attribute)
            case _:
                msg = f"{ast.unparse(node)} where it may have no value"
                raise Unknown(msg)
        return constant(known, code_of_number(known))

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            if left.code != "f8" or left.known is None or right.known is None:
                msg = ast.unparse(node)
                raise Unknown(msg)
            return constant(left.known**right.known, "f8")
        sign = _SIGNS.get(type(node.op))
        if sign is None:
            msg = ast.unparse(node)
            raise Unknown(msg)
        return self.w.arithmetic(sign, left, right)

    def _unary(self, op: ast.unaryop, value: Value) -> Value:
        match op:
            case ast.USub():
                return self.w.negative(value)
            case ast.UAdd():
                return value
            case ast.Invert():
                return self.w.inverse(value)
        return self.w.compare("==", value, constant(0, value.code))

    def _compared(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        found = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            sign = _RELATIONS.get(type(op))
            if sign is None or (found is not None and not _is_harmless(right_node)):
                msg = ast.unparse(node)
                raise Unknown(msg)
            right = self.value(right_node)
            holds = self.w.compare(sign, left, right)
            found = holds if found is None else self._both(found, holds)
            left = right
        assert found is not None
        return found

    def _both(self, this: Value, other: Value) -> Value:
        return self.w.select(this, other, constant(0, "b1"))

    def _either(self, one_is_enough: bool, nodes: Sequence[ast.expr]) -> Value:
        """Return whether one of the values, or each, is true."""
        found = self.w.truth(self.value(nodes[0]))
        for node in nodes[1:]:
            if _is_harmless(node):
                other = self.w.truth(self.value(node))
                found = (
                    self.w.select(found, constant(1, "b1"), other)
                    if one_is_enough
                    else self._both(found, other)
                )
            else:
                found = self._asked_for(found, node, one_is_enough)
        return found

    def _asked_for(self, found: Value, node: ast.expr, known: bool) -> Value:
        """Return ``known`` where ``found`` is that, elsewhere what the expression says."""
        w = self.w
        before, (more, after) = w.block, w.labels(2)
        w.part(found, *((after, more) if known else (more, after)))
        w.begin(more)
        other = w.truth(self.value(node))
        last = w.block
        w.jump(after)
        w.begin(after)
        start = constant(known, "b1").text
        return w.make("b1", f"phi i1 [ {start}, %{before} ], [ {other.text}, %{last} ]")

    def _chosen(self, node: ast.IfExp) -> Value:
        condition = self.w.truth(self.value(node.test))
        if _is_harmless(node.body) and _is_harmless(node.orelse):
            return self._select(condition, self.value(node.body), self.value(node.orelse))
        w = self.w
        this_block, other_block, after = w.labels(3)
        w.part(condition, this_block, other_block)
        ends = []
        for label, part in ((this_block, node.body), (other_block, node.orelse)):
            w.begin(label)
            value = self.value(part)
            ends.append((value, w.block))
            w.jump(after)
        w.begin(after)
        (this, one), (other, two) = ends
        if this.code != other.code:
            raise Unknown(ast.unparse(node))
        phi = f"phi {TYPES[this.code]} [ {this.text}, %{one} ], [ {other.text}, %{two} ]"
        return w.make(this.code, phi)

    def _select(self, condition: Value, this: Value, other: Value) -> Value:
        if this.code != other.code:
            msg = f"either {this.code} or {other.code}"
            raise Unknown(msg)
        return self.w.select(condition, this, other)

    def _called(self, node: ast.Call) -> Any:
        function = self._function(node.func)
        if node.keywords:
            raise Unknown(ast.unparse(node))
        given = [self.value(a) for a in node.args]
        if isinstance(function, Inlined):
            return inline(self.w, function, given)
        try:
            return function(self.w, *given)
        except TypeError as error:  # too few operands, or too many
            raise Unknown(str(error)) from error

    def _function(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name) if name in self.names:
                found = self.names[name]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.names:
                found = self.names.get(f"{name}.{attribute}")
            case _:
                raise Unknown(ast.unparse(node))
        if not isinstance(found, Inlined) and not callable(found):
            raise Unknown(ast.unparse(node))
        return found


def _is_harmless(node: ast.expr) -> bool:
    """Say whether an expression may be computed where nobody asks for it."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    return all(isinstance(c.func, ast.Name) and c.func.id in _HARMLESS for c in calls)


def inline(w: Writer, function: Inlined, given: Sequence[Value]) -> Value | tuple[Value, ...]:
    """Write the body of a function where it is called, and return what it gives."""
    names = [a.arg for a in function.function.args.args]
    if len(names) != len(given):
        msg = f"{function.function.name} of {len(given)} numbers"
        raise Unknown(msg)
    body = Straight(w, function.names)
    body.values.update(zip(names, given, strict=True))
    try:
        body.suite(function.function.body)
    except _Returned as end:
        return end.value
    msg = f"{function.function.name} gives nothing"
    raise Unknown(msg)


class Straight(Expressions):
    """Writes statements one after the other: an ``if`` is decided while writing."""

    def suite(self, statements: Sequence[ast.stmt]) -> None:
        """Write statements in their order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Write one statement."""
        match node:
            case ast.Expr(value=ast.Constant()):
                pass  # a docstring
            case ast.Expr(value=ast.Call() as call):
                self.any(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.assign(name, self.value(value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._several(targets, self.any(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                named = ast.Name(name, ast.Load())
                self.assign(name, self._binary(ast.BinOp(named, op, value)))
            case ast.If():
                self.branch(node)
            case ast.Return(value=ast.expr() as value):
                raise _Returned(self.any(value))
            case _:
                self.loop(node)

    def _several(self, targets: Sequence[ast.expr], values: Any) -> None:
        for target, value in zip(targets, values, strict=True):
            if not isinstance(target, ast.Name):
                raise Unknown(ast.unparse(target))
            self.assign(target.id, value)

    def assign(self, name: str, value: Value) -> None:
        """Let a name stand for a value."""
        self.values[name] = value

    def branch(self, node: ast.If) -> None:
        """Write the branch that is taken."""
        condition = self.w.truth(self.value(node.test))
        if condition.known is None:
            msg = f"if {ast.unparse(node.test)}, in a function that is inlined"
            raise Unknown(msg)
        self.suite(node.body if condition.known else node.orelse)

    def loop(self, node: ast.stmt) -> None:
        """Refuse: no function that is inlined has one."""
        raise Unknown(ast.unparse(node))
