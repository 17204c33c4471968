"""What is lent waits for the program's next operation, and for nothing but this library."""

from __future__ import annotations

import threading

import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.api import ahead, buffer, calls, lending
from tests import lent_programs

ROWS, COLUMNS = 3_000, 40  # 960 kB: more than is copied
TABLE = numpy.random.default_rng(7).random((ROWS, COLUMNS))
MODULE = "found = (a * b + a).sum(axis=0)"
lends = pytest.mark.skipif(np.config.mode == "lazy", reason="what is to wait is a copy")


def chain(np, a, b):
    return (a * b + a).sum(axis=0)


def lines(np, a, b):
    product = a * b
    moved = product + a
    return moved.sum(axis=0)


def helped(np, a, b):
    return np.sqrt(lines(np, a, b)) - distance(np, a, b)


def distance(np, a, b):
    apart = a - b
    return np.sqrt((apart * apart).sum(axis=0))


def normalised(np, a, b):
    centred = a - a.mean(axis=0)
    return centred / np.std(a, axis=0)


def twice_named(np, a, b):
    first = a * 2.0
    second = first
    first = second + b
    return first - second


def unpacked(np, a, b):
    low, high = a.min(axis=0), a.max(axis=0)
    return (a - low) / (high - low)


def shown(np, a, b):
    return np.where((a > b).T, (a + b).T, 0.0)[:, ::2]


def keyed(np, a, b):
    return np.sum(a * b, axis=1, keepdims=True) * b


def ordered(np, a, b):
    rows = np.concatenate((a - b, a + b), axis=0)
    return np.maximum(rows, 0.5).sum(axis=1)


def looked_at(np, a, b):
    chosen = a[a > 0.5]
    return float(chosen.mean()), float(chosen.std()), len(chosen)


STRAIGHT = [chain, lines, helped, normalised, twice_named, unpacked, keyed, ordered]


@pytest.fixture(autouse=True)
def _arrays_are_large(monkeypatch):
    monkeypatch.setattr(np.config, "eager_below", min(np.config.eager_below, 1_000))


@pytest.fixture
def settled(monkeypatch):
    """Count how often something that waited was computed."""
    counted: list[str] = []
    settle = lending._Loans.settled

    def counting(self, result, last=()):
        counted.append(type(result).__name__)
        return settle(self, result, last)

    monkeypatch.setattr(lending._Loans, "settled", counting)
    return counted


def lent():
    memory = TABLE.copy(), TABLE[::-1].copy()
    return memory, tuple(map(np.asarray, memory))


@lends
@pytest.mark.parametrize("function", [*STRAIGHT, shown, looked_at], ids=lambda f: f.__name__)
def test_straight_lines_over_what_is_lent_are_computed_at_once(function, settled):
    memory, ours = lent()
    expected = function(numpy, *memory)
    for _ in range(4):  # what a line did before decides how it goes on
        settled.clear()
        found = function(np, *ours)
        assert len(settled) == 1
        assert not calls.waiting
        kept = [x.copy() for x in memory]
        for x in memory:
            x[...] = -1.0
        numpy.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        for x, before in zip(memory, kept, strict=True):
            x[...] = before


@lends
def test_lines_of_a_module_wait_within_a_statement(settled):
    memory, (a, b) = lent()
    scope = {"a": a, "b": b}
    exec(compile(MODULE, "<module>", "exec"), scope)
    assert len(settled) == 1
    settled.clear()
    exec(compile("c = a * b\nd = c + a\nfound = d.sum(axis=0)", "<module>", "exec"), scope)
    assert len(settled) == 2  # a later statement may fail, and others go on
    numpy.testing.assert_allclose(scope["found"], chain(numpy, *memory))


@lends
def test_what_nobody_will_see_is_not_kept(monkeypatch):
    passing: list[int] = []
    compute = engine.compute_apart

    def watching(roots, *, alone=False, passing_=passing, **named):
        passing_.append(len(named.get("passing", ())))
        return compute(roots, alone=alone, **named)

    monkeypatch.setattr(engine, "compute_apart", watching)
    _, ours = lent()
    chain(np, *ours)
    assert passing[0] == 1  # the sum's operand; the product is gone
    passing.clear()
    lines(np, *ours)
    assert passing[0] == 2  # the function returns: what it has in variables goes with it


OTHER_CODE = {
    "a call": "c = a * b\npoke()\nd = c + a",
    "an attribute": "c = a * b\nd = c + box.two",
    "an operator": "c = a * b\nd = c * box\ne = box * c",
    "a call within": "d = (a * b) + poked(a)",
    "an argument": "d = poked(a * b) + a",
    "a condition": "c = a * b\nif poked(1): d = c + a",
    "a loop": "for i in range(2):\n    c = a * b\n    poke()\nd = c + a",
    "a handler": "c = a * b\ntry:\n    c + short\nexcept ValueError:\n    poke()\nd = c + a",
    "an error of a kind": "c = a > b\ntry:\n    -c\nexcept TypeError:\n    poke()\nd = c * a",
    "a finalizer's turn": "c = a * b\nd = [poked(x) for x in (c, a)][0]",
    "a method": "c = a * b\nd = box.get(c) + a",
    "another's function": "c = a * b\nd = numpy.add(c, a)\npoke()\ne = c + 1.0",
    "an output": "c = a * b\nd = c + a\nd += b\npoke()\ne = d * 2.0",
    "an item": "c = a * b\nc[0] = 1.0\npoke()\nd = c + a",
    "a writing function": "c = a * b\nnp.copyto(a, 2.0)\nd = c + a",
    "a sort": "c = a * b\na.sort(axis=0)\nd = c + a",
    "a generator": "c = a * b\nd = next(x * 2.0 for x in (c, poked(a)))",
    "a global": "global held\nheld = a * b\npoke()\nd = held + a",
    "a cell": "c = a * b\ndef inner(): return c + 1.0\npoke()\nd = inner()",
    "a dict": "many = {'x': a * b}\npoke()\nd = many['x'] + a",
    "callbacks": "c = a * b\nd = np.apply_along_axis(box.looked, 0, c)\ne = c + 1.0",
}


OPERATORS = [f"c {op} b" for op in ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">=", "!=")]
OPERATORS += [f"2.5 {op} c" for op in ("+", "-", "*", "/", "//", "%", "**", "<", "==")]
OPERATORS += [
    "-c",
    "+c",
    "c @ b.T",
    "c == None",
    "c == 'x'",
    "(c > 1) & (b > 1)",
    "~(c > 1)",
    "c.T",
]
OPERATORS += [
    "(c > 1) ^ True",
    "c[3]",
    "c[3, 4]",
    "c[1:5, ::2]",
    "c[c > 1]",
    "c[None]",
    "c[..., 2]",
]
OPERATORS += ["c.sum() + 1.0", "-c.sum()", "c.mean() * c.std()", "c.sum() > 1.0", "c.max() % 2"]
OPERATORS += ["np.divmod(c, 2.0)[0]", "np.modf(c)[1]", "c.shape[0] * 2", "np.zeros_like(c) + c"]
OPERATORS += [
    "float(c.sum()) * c",
    "int(c.max()) + len(c)",
    "bool((c > 1).any()) * c",
    "c.reshape(-1)[3:9]",
    "np.add(c, 1.0, out=c)",
    "c.clip(0.1, 0.2, c)",
    "c.sum(0, None, a[0])",
]
OTHER_CODE |= {text: f"c = a * b\nd = {text}\npoke()\ne = c + 1.0" for text in OPERATORS}


@pytest.mark.parametrize("body", OTHER_CODE.values(), ids=OTHER_CODE)
def test_nothing_waits_while_other_code_runs(body):
    text = "def program(np, a, b, short, poke, poked, box):\n    " + body.replace("\n", "\n    ")
    text += "\n    poke()\n    return {k: v for k, v in locals().items() if len(k) == 1}"
    results = []
    for module in (numpy, np):
        memory = TABLE.copy(), TABLE[::-1].copy()
        box = Box(memory)
        scope = {"numpy": numpy}
        exec(compile(text, "<program>", "exec"), scope)
        given = [module.asarray(x) for x in (*memory, numpy.ones(7))]
        found = scope["program"](module, *given, box.poke, box.poked, box)
        box.poke()
        results.append({k: numpy.array(v) for k, v in found.items()})
    assert list(results[0]) == list(results[1])
    for name, expected in results[0].items():
        numpy.testing.assert_allclose(results[1][name], expected, rtol=1e-12, err_msg=name)


class Box:
    """Writes to the memory whatever is asked of it."""

    __array_ufunc__ = None

    def __init__(self, memory):
        self._memory = memory

    def poke(self):
        assert not calls.waiting
        for x in self._memory:
            numpy.multiply(x, 1.5, out=x)

    def poked(self, x):
        self.poke()
        return x

    get = poked

    def looked(self, x):
        assert not calls.waiting
        return x

    @property
    def two(self):
        return self.poked(2.0)

    def __mul__(self, other):
        return self.poked(other)

    __rmul__ = __mul__


CALLS = {
    "clip": "np.clip(y, 0.2, 0.8)", "concatenate": "np.concatenate((y, y))", "dot": "np.dot(y, v)",
    "einsum": "np.einsum('ij,ij->i', y, y)", "hstack": "np.hstack((y, y))",
    "inner": "np.inner(y, v)", "outer": "np.outer(y, v[:2])", "roll": "np.roll(y, 3)",
    "stack": "np.stack([y, y])", "tensordot": "np.tensordot(y, v, 1)", "vdot": "np.vdot(y, y)",
    "vstack": "np.vstack((y, y))", "where": "np.where(y > 0.5, y, 0.0)",
}  # fmt: skip


@lends
@pytest.mark.parametrize("name", sorted(ahead.ASKING_FUNCTIONS))
def test_functions_that_are_waited_for_do_ask(name, settled):
    expected, found = both(CALLS.get(name, f"np.{name}(y)"))
    numpy.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(settled) == 1
    assert not calls.waiting


def both(call):
    """Return what a call gives NumPy, and us, of what waits over lent memory."""
    memory, (a, _) = lent()
    vector = numpy.linspace(1.0, 2.0, COLUMNS)
    scope = {}
    exec(
        compile(f"def waits(np, x, v):\n    y = x * 2.0\n    return {call}", "<waits>", "exec"),
        scope,
    )
    return scope["waits"](numpy, memory[0], vector), scope["waits"](np, a, np.array(vector))


@lends
@pytest.mark.parametrize("name", sorted(ahead.ASKING_METHODS))
def test_methods_that_are_waited_for_do_ask(name, settled):
    expected, found = both({"clip": "y.clip(0.2, 0.8)", "dot": "y.dot(v)"}.get(name, f"y.{name}()"))
    numpy.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(settled) == 1
    assert not calls.waiting


@pytest.mark.usefixtures("managed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs_among_other_code_equal_numpys(first, monkeypatch):
    monkeypatch.setattr(lending, "LARGE_BYTES", 1 << 10)
    monkeypatch.setattr(buffer, "LARGE_BYTES", 1 << 10)
    monkeypatch.setattr(lending, "GAINS_BYTES", 1 << 10)
    for seed in range(first, first + 20):
        lent_programs.check_seed(seed)


@lends
def test_each_thread_has_what_it_lent():
    memory, ours = lent()
    expected = [f(numpy, *memory) for f in STRAIGHT]
    wrong: list[str] = []

    def work():
        for _ in range(3):
            for function, right in zip(STRAIGHT, expected, strict=True):
                if not numpy.allclose(function(np, *ours), right, rtol=1e-12):
                    wrong.append(function.__name__)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not calls.waiting


@lends
def test_an_error_on_the_way_leaves_what_was_computed_before(settled):
    memory, (a, b) = lent()

    def fails(a, b):
        kept.append(a * b)
        return (a + b).sum(axis=5)

    kept: list[np.ndarray] = []
    with pytest.raises(numpy.exceptions.AxisError):
        fails(a, b)
    assert not calls.waiting
    expected = memory[0] * memory[1]
    memory[0][...] = 0.0
    numpy.testing.assert_array_equal(kept[0], expected)


def test_locals_are_those_of_the_program():
    _, (a, b) = lent()

    def looks(a, b):
        before = locals()
        c = a * b
        d = c + a
        return before, d

    before, _ = looks(a, b)
    assert before["a"] is a
    assert set(before) >= {"a", "b"}
