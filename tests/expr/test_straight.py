"""What lies on the stack along the straight lines of a function."""

from __future__ import annotations

import dis

import pytest

from dnumpy.expr.straight import kept_of, line_of, lines_of


def code_of(body: str, arguments: str = "a, b, np"):
    scope = {}
    text = f"def f({arguments}):\n    " + body.replace("\n", "\n    ")
    exec(compile(text, "<lines>", "exec"), scope)
    return scope["f"].__code__


def kinds_in(body: str) -> list[list[str]]:
    return [[step.kind for step in line] for line in lines_of(code_of(body))]


def test_the_steps_of_a_line_are_those_that_may_run_code():
    body = "c = np.sqrt(a * b)\nc[0] = -b\nreturn c[1:] + 1.0"
    assert kinds_in(body)[0] == [
        "attribute", "operator", "call", "operator", "store", "index", "operator", "return", "end",
    ]  # fmt: skip


@pytest.mark.parametrize("body", [
    "c = a * b\nif c: pass\nd = c + a", "c = a * b\nfor x in c: pass\nd = c + a",
    "c = a * b\na += c\nd = c + a", "c = a * b\nwith b: d = c + a",
    "c = a * b\nyield c\nd = c + a", "c = a * b\na.x = c\nd = c + a",
    "c = a * b\ndef g(): return c\nd = c + a", "c = a * b\nimport math\nd = c + a",
    "c = a * b\nd = f'{c}'\nd = c + a", "c = a * b\nnp.sum(*a)\nd = c + a",
    "c = a * b\nassert c\nd = c + a", "c = a * b\nx, y = c\nd = c + a",
])  # fmt: skip
def test_a_line_ends_at_what_may_run_anything(body):
    (line,) = [line for line in kinds_in(body) if line[:1] == ["operator"]][:1]
    assert "operator" not in line[1:]


def test_operands_are_variables_constants_and_results():
    code = code_of("c = a * 2.0\nd = c\nc = d + b\nreturn np.dot(c, d)")
    (line,) = (x for x in lines_of(code) if len(x) > 1)
    product, total, _, call, *_ = line
    assert [(s.kind, s.value) for s in product.operands] == [("local", "a"), ("constant", 2.0)]
    assert total.operands[0].of[0].value == product.offset  # as d is what c was
    assert total.operands[1].value == "b"
    given = [s for s in call.operands if s.kind != "self"]
    assert [s.of[0].value for s in given] == [total.offset, product.offset]
    assert (call.callee.kind, call.callee.value) == ("attribute", "dot")


def test_a_variable_that_is_replaced_is_not_what_was_read_before():
    code = code_of("return a + (a := b)")
    (line,) = (x for x in lines_of(code) if len(x) > 1)
    assert line[0].operands[0].kind == "unknown"


def test_keywords_are_told():
    (line,) = (x for x in lines_of(code_of("return np.sum(a, axis=0, out=b)")) if len(x) > 1)
    assert line[1].names == ("axis", "out")
    assert len([s for s in line[1].operands if s.kind != "self"]) == 3


def test_what_may_be_caught_is_guarded():
    body = "c = a * b\ntry:\n    d = c + a\nexcept ValueError:\n    d = c\nreturn d - a"
    steps = {step.offset: step for line in lines_of(code_of(body)) for step in line}
    by_name = {
        i.argrepr: steps[i.offset].guarded
        for i in dis.get_instructions(code_of(body))
        if i.opname == "BINARY_OP"
    }
    assert by_name == {"*": False, "+": True, "-": False}


def test_results_in_variables_are_kept():
    code = code_of("c = a * b + a\nd = (c - a) / b\nreturn d * d")
    operators = [i for i in dis.get_instructions(code) if i.opname == "BINARY_OP"]
    kept = kept_of(code)
    assert [i.argrepr for i in operators if i.offset in kept] == ["+", "/"]


def test_a_place_within_an_instruction_is_that_instruction():
    code = code_of("return np.dot(a, b)")
    (at,) = (i.offset for i in dis.get_instructions(code) if i.opname.startswith("CALL"))
    line, k = line_of(code, at)
    assert line[k].kind == "call"
    assert line_of(code, at + 2) == (line, k)
    assert line_of(code, -1) == ((), 0)
