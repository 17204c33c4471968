"""What generated kernels do beside arithmetic, as LLVM instructions.

They load and store at raw addresses, call NumPy's loops and other kernels, sum short runs, and
look for the first best element of one. Every load and store names the memory it touches by a small
number (its *place*) out of how many there are; LLVM is told that different places never overlap,
which is what lets it vectorise a loop over many arrays without checking each pair of them at run
time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.ir_values import TYPES, Unknown, Value, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LANES = 8
_NULL = "null"


def _bytes(code: str) -> int:
    return np.dtype(code).itemsize


def _stored(code: str) -> str:
    """Return the type that numbers of a code have in memory."""
    return "i8" if code == "b1" else TYPES[code]


def known(value: Value) -> int:
    """Return an integer that must be written out."""
    if not isinstance(value.known, int):
        msg = "a place that is no number"
        raise Unknown(msg)
    return value.known


def integers(w: Writer, values: Iterable[Value]) -> list[Value]:
    """Return values that must be integers as such."""
    return [w.cast(v, "i8") for v in values]


def address(w: Writer, base: Value) -> str:
    """Return an integer as a pointer."""
    return w.pointer(f"inttoptr {w.cast(base, 'i8').typed} to ptr")


def _element(w: Writer, base: Value, index: Value, code: str) -> str:
    at = address(w, base)
    return w.pointer(
        f"getelementptr inbounds {_stored(code)}, ptr {at}, {w.cast(index, 'i8').typed}"
    )


def _touched(w: Writer, place: Value, places: Value) -> str:
    """Return what tells LLVM that an access touches ``place`` and no other one."""
    here, of = known(place), known(places)
    if not of:
        return ""
    domain = w.node('!{!"dnumpy"}')
    scopes = [w.node(f'!{{!"dnumpy.{k}", {domain}}}') for k in range(of)]
    others = ", ".join(s for k, s in enumerate(scopes) if k != here)
    marks = f", !alias.scope {w.node(f'!{{{scopes[here]}}}')}"
    return marks + (f", !noalias {w.node(f'!{{{others}}}')}" if others else "")


def load(code: str, w: Writer, base: Value, index: Value, place: Value, places: Value) -> Value:
    """Return element ``index`` of what lies at an address."""
    at = _element(w, base, index, code)
    marks = _touched(w, place, places)
    found = f"load {_stored(code)}, ptr {at}, align {_bytes(code)}{marks}"
    if code != "b1":
        return w.make(code, found)
    return w.truth(w.make("u1", found))


def store(
    code: str, w: Writer, base: Value, index: Value, value: Value, place: Value, places: Value
) -> None:
    """Write element ``index`` of what lies at an address."""
    value = w.cast(value, code)
    if code == "b1":
        value = w.cast(value, "u1")
    at = _element(w, base, index, code)
    w.add(f"store {value.typed}, ptr {at}, align {_bytes(code)}{_touched(w, place, places)}")


def copy_item(w: Writer, target: Value, source: Value, size: Value) -> None:
    """Copy a number of bytes that is written out."""
    kind = f"[{known(size)} x i8]"
    item = w.pointer(f"load {kind}, ptr {address(w, source)}, align 1")
    w.add(f"store {kind} {item}, ptr {address(w, target)}, align 1")


# ---------------------------------------------------------------- calls


def _slots(w: Writer, kind: str, values: list[str]) -> str:
    """Return the address of a stack array that holds ``values``."""
    array = f"[{len(values)} x {kind}]"
    at = w.stack(array)
    for k, value in enumerate(values):
        cell = w.pointer(f"getelementptr inbounds {array}, ptr {at}, i32 0, i32 {k}")
        w.add(f"store {kind} {value}, ptr {cell}")
    return at


def _run(w: Writer, function: Value, *given: str) -> None:
    passed = ", ".join(f"ptr {g}" for g in given)
    w.add(f"call void {address(w, function)}({passed})")


def call(w: Writer, function: Value, data: Value, count: Value, *pairs: Value) -> None:
    """Run one of NumPy's loops over operands given as addresses and steps."""
    steps = [v.text for v in integers(w, pairs[1::2])]
    addresses = _slots(w, "ptr", [address(w, a) for a in pairs[0::2]])
    counts = _slots(w, "i64", [w.cast(count, "i8").text])
    _run(w, function, addresses, counts, _slots(w, "i64", steps), address(w, data))


def call_loop(
    w: Writer, function: Value, data: Value, args: Value, dims: Value, steps: Value
) -> None:
    """Run one of NumPy's loops; the last three are addresses of the arrays that it is given."""
    _run(w, function, *[address(w, v) for v in (args, dims, steps, data)])


def call_helper(w: Writer, function: Value, a: Value, b: Value, c: Value) -> None:
    """Call a compiled kernel (three integers, no result) at an address."""
    slots = [_slots(w, "ptr", [_NULL]) for _ in range(2)]
    passed = ", ".join([*[f"ptr {s}" for s in slots], *[v.typed for v in integers(w, (a, b, c))]])
    w.make("i4", f"call i32 {address(w, function)}({passed})")


# ---------------------------------------------------------------- runs, several lanes at a time


def _count(w: Writer, first: str, last: str, step: Callable[[str], None]) -> None:
    """Run ``step`` for each number from ``first`` to before ``last``."""
    before, (head, body, after) = w.block, w.labels(3)
    number, following = w.name(), w.name()
    w.jump(head)
    w.begin(head)
    w.add(f"{number} = phi i64 [ {first}, %{before} ], [ {following}, %{body}.end ]")
    more = w.make("b1", f"icmp slt i64 {number}, {last}")
    w.part(more, body, after)
    w.begin(body)
    step(number)
    w.jump(f"{body}.end")
    w.begin(f"{body}.end")
    w.add(f"{following} = add nuw nsw i64 {number}, 1")
    w.jump(head)
    w.begin(after)


def stream(w: Writer, target: Value, source: Value, lines: Value) -> None:
    """Copy a number of lines of 64 bytes to memory past the caches.

    The target begins with a whole line.
    """
    one, to, there = w.pointer, address(w, target), address(w, source)
    kind, past = f"<{_LANES} x i64>", w.node("!{i32 1}")

    def step(number: str) -> None:
        at, place = (
            one(f"getelementptr inbounds {kind}, ptr {start}, i64 {number}")
            for start in (there, to)
        )
        line = one(f"load {kind}, ptr {at}, align 8")
        w.add(f"store {kind} {line}, ptr {place}, align 64, !nontemporal {past}")

    _count(w, "0", w.cast(lines, "i8").text, step)


def prefetch(w: Writer, base: Value, lines: Value) -> None:
    """Ask for a number of lines of 64 bytes, which are read soon; nothing need be there."""
    name, there = "llvm.prefetch.p0", address(w, base)
    w.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"

    def step(number: str) -> None:
        at = w.pointer(f"getelementptr <{_LANES} x i64>, ptr {there}, i64 {number}")
        w.add(f"call void @{name}(ptr {at}, i32 0, i32 3, i32 1)")

    _count(w, "0", w.cast(lines, "i8").text, step)


def fence(w: Writer) -> None:
    """Let what was written past the caches be there before whatever is written later."""
    w.add("fence seq_cst")


def sum_lanes(code: str, load_bytes: int, w: Writer, base: Value, groups: Value) -> Value:
    """Return the sum of eight times ``groups`` adjacent elements, in NumPy's order.

    There is at least one group. Lane ``k`` is element ``k`` of each group added to the one before;
    then neighbouring lanes meet, pair by pair. ``load_bytes`` are read at once.
    """
    one, scalar, start = w.pointer, TYPES[code], address(w, base)
    narrow = min(load_bytes // _bytes(code), _LANES)
    kind, parts = f"<{narrow} x {scalar}>", range(_LANES // narrow)

    def load_part(group: str, part: int) -> str:
        at = one(f"getelementptr inbounds [{_LANES} x {scalar}], ptr {start}, i64 {group}")
        at = one(f"getelementptr inbounds {kind}, ptr {at}, i64 {part}")
        return one(f"load {kind}, ptr {at}, align {_bytes(code)}")

    so_far = [w.stack(kind) for _ in parts]
    for part in parts:
        w.add(f"store {kind} {load_part('0', part)}, ptr {so_far[part]}")

    def step(group: str) -> None:
        for part in parts:
            new, old = load_part(group, part), one(f"load {kind}, ptr {so_far[part]}")
            w.add(f"store {kind} {one(f'fadd {kind} {old}, {new}')}, ptr {so_far[part]}")

    _count(w, "1", w.cast(groups, "i8").text, step)
    vectors = [one(f"load {kind}, ptr {at}") for at in so_far]
    lanes = [one(f"extractelement {kind} {v}, i32 {k}") for v in vectors for k in range(narrow)]
    while len(lanes) > 1:
        pairs = zip(lanes[::2], lanes[1::2], strict=True)
        lanes = [one(f"fadd {scalar} {a}, {b}") for a, b in pairs]
    return Value(code, lanes[0])


# ---------------------------------------------------------------- the first best of a run


class _Picker:
    """Writes the search; a running best is a pair of a value (or vector) and its index."""

    def __init__(self, w: Writer, code: str, *, largest: bool) -> None:
        self.w = w
        self.code = code
        self.scalar = TYPES[code]
        self.sign = "gt" if largest else "lt"
        self.index = "i64" if _bytes(code) == 8 else "i32"  # a chunk is short

    def better(self, new: str, old: str, kind: str) -> str:
        """Say whether ``new`` is beyond ``old``; NaN is beyond all numbers."""
        w, one = self.w, self.w.pointer
        if self.code[0] != "f":
            letter = "s" if self.code[0] == "i" else "u"
            return one(f"icmp {letter}{self.sign} {kind} {new}, {old}")
        beyond = one(f"fcmp u{self.sign} {kind} {new}, {old}")
        number = one(f"fcmp ord {kind} {old}, {old}")
        return w.pointer(f"and {kind.replace(self.scalar, 'i1')} {beyond}, {number}")

    def load(self, base: Value, at: str, kind: str) -> str:
        one = self.w.pointer
        where = one(f"getelementptr inbounds {self.scalar}, ptr {address(self.w, base)}, i64 {at}")
        return one(f"load {kind}, ptr {where}, align {_bytes(self.code)}")

    def choose(self, take: str, flags: str, kind: str, new: str, old: str) -> str:
        return self.w.pointer(f"select {flags} {take}, {kind} {new}, {kind} {old}")

    def lanes(self, base: Value, groups: str) -> tuple[str, str]:
        """Return the best value of each lane, and where it first is."""
        w, one = self.w, self.w.pointer
        many, where, flags = (f"<{_LANES} x {k}>" for k in (self.scalar, self.index, "i1"))
        steps = "<" + ", ".join(f"{self.index} {k}" for k in range(_LANES)) + ">"
        best, index = w.stack(many), w.stack(where)
        w.add(f"store {many} {self.load(base, '0', many)}, ptr {best}")
        w.add(f"store {where} {steps}, ptr {index}")

        def step(group: str) -> None:
            first = one(f"mul i64 {group}, {_LANES}")
            new = self.load(base, first, many)
            old, place = one(f"load {many}, ptr {best}"), one(f"load {where}, ptr {index}")
            take = self.better(new, old, many)
            if self.index != "i64":
                first = one(f"trunc i64 {first} to {self.index}")
            start = one(f"insertelement {where} poison, {self.index} {first}, i32 0")
            spread = one(
                f"shufflevector {where} {start}, {where} poison, <{_LANES} x i32> zeroinitializer"
            )
            here = one(f"add {where} {spread}, {steps}")
            w.add(f"store {many} {self.choose(take, flags, many, new, old)}, ptr {best}")
            w.add(f"store {where} {self.choose(take, flags, where, here, place)}, ptr {index}")

        _count(w, "1", groups, step)
        return one(f"load {many}, ptr {best}"), one(f"load {where}, ptr {index}")

    def halves(self, vector: str, scalar: str, lanes: int) -> list[str]:
        """Return the lower and the upper half of a vector."""
        kind = f"<{2 * lanes} x {scalar}>"
        lists = [", ".join(f"i32 {k}" for k in range(start, start + lanes)) for start in (0, lanes)]
        return [
            self.w.pointer(f"shufflevector {kind} {vector}, {kind} poison, <{lanes} x i32> <{k}>")
            for k in lists
        ]

    def halve(self, best: str, index: str) -> tuple[str, str]:
        """Return the best of all lanes, the first one of equals."""
        one, lanes = self.w.pointer, _LANES
        while lanes > 1:
            lanes //= 2
            old, new = self.halves(best, self.scalar, lanes)
            here, there = self.halves(index, self.index, lanes)
            kind, where, flags = (f"<{lanes} x {k}>" for k in (self.scalar, self.index, "i1"))
            worse = one(f"xor {flags} {self.better(old, new, kind)}, {_ones(lanes)}")
            earlier = one(f"and {flags} {worse}, {one(f'icmp slt {where} {there}, {here}')}")
            take = one(f"or {flags} {self.better(new, old, kind)}, {earlier}")
            best = self.choose(take, flags, kind, new, old)
            index = self.choose(take, flags, where, there, here)
        return (
            one(f"extractelement <1 x {self.scalar}> {best}, i32 0"),
            one(f"extractelement <1 x {self.index}> {index}, i32 0"),
        )

    def search(self, base: Value, count: Value) -> Value:
        """Return the index of the best of ``count`` elements, at least one."""
        w, one = self.w, self.w.pointer
        value, at = w.stack(self.scalar), w.stack("i64")
        w.add(f"store {self.scalar} {self.load(base, '0', self.scalar)}, ptr {value}")
        w.add(f"store i64 0, ptr {at}")
        groups = one(f"udiv {count.typed}, {_LANES}")
        wide, after = w.labels(2)
        w.part(w.make("b1", f"icmp ugt i64 {groups}, 0"), wide, after)
        w.begin(wide)
        best, index = self.halve(*self.lanes(base, groups))
        w.add(f"store {self.scalar} {best}, ptr {value}")
        if self.index != "i64":
            index = one(f"zext {self.index} {index} to i64")
        w.add(f"store i64 {index}, ptr {at}")
        w.jump(after)
        w.begin(after)

        def step(number: str) -> None:
            new, old = self.load(base, number, self.scalar), one(f"load {self.scalar}, ptr {value}")
            take = self.better(new, old, self.scalar)
            place = one(f"load i64, ptr {at}")
            chosen = self.choose(take, "i1", self.scalar, new, old)
            w.add(f"store {self.scalar} {chosen}, ptr {value}")
            w.add(f"store i64 {self.choose(take, 'i1', 'i64', number, place)}, ptr {at}")

        _count(w, one(f"mul i64 {groups}, {_LANES}"), count.text, step)
        return w.make("i8", f"load i64, ptr {at}")


def _ones(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"


def pick(code: str, name: str, w: Writer, base: Value, count: Value) -> Value:
    """Return the index that NumPy's argmax or argmin would give."""
    return _Picker(w, code, largest=name == "argmax").search(base, w.cast(count, "i8"))


# ---------------------------------------------------------------- functions of numbers


def fma(w: Writer, a: Value, b: Value, c: Value) -> Value:
    """Return ``a * b + c``, rounded once."""
    return w.intrinsic("fma", a, w.cast(b, a.code), w.cast(c, a.code))


def sqrt(w: Writer, x: Value) -> Value:
    """Return the square root."""
    return w.intrinsic("sqrt", x if x.code[0] == "f" else w.cast(x, "f8"))


def cast_to(code: str, w: Writer, x: Value) -> Value:
    """Return a number in another code."""
    return w.cast(x, code)


def absolute(w: Writer, x: Value) -> Value:
    """Return a number without its sign."""
    return w.absolute(x)


def primitives(load_bytes: int) -> dict[str, Callable[..., Any]]:
    """Return the global names of a generated kernel; each writes instructions.

    Sums read ``load_bytes`` at once.
    """
    codes = list(TYPES)
    names: dict[str, Callable[..., Any]] = {f"load_{c}": partial(load, c) for c in codes}
    names |= {f"store_{c}": partial(store, c) for c in codes}
    names |= {c: partial(cast_to, c) for c in codes if c != "b1"}
    names |= {f"{n}_{c}": partial(pick, c, n) for n in ("argmin", "argmax") for c in codes[1:]}
    names |= {f"sum_lanes_{c}": partial(sum_lanes, c, load_bytes) for c in ("f4", "f8")}
    names |= {f"call_{n}": call for n in (2, 3, 4)}
    return names | {
        "abs": absolute,
        "call_helper": call_helper,
        "call_loop": call_loop,
        "copy_item": copy_item,
        "fence": fence,
        "fma": fma,
        "prefetch": prefetch,
        "sqrt": sqrt,
        "stream": stream,
    }
