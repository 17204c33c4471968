"""Texts are parsed by one thread at a time, since CPython counts in what threads share."""

from __future__ import annotations

import ast
import gc
import threading
import time

import pytest

from dnumpy.kernels import ir_words
from dnumpy.kernels.ir_words import parsed

TEXT = "\n".join(f"y{i} = [a{i} + b{i} * (c{i} - d{i}) for e in f({i})]" for i in range(60))


def test_a_parser_that_was_disturbed_is_asked_again(monkeypatch):
    asked = []
    parse = ast.parse

    def disturbed(text):
        asked.append(text)
        if len(asked) < 3:
            raise SystemError
        return parse(text)

    monkeypatch.setattr(ir_words.ast, "parse", disturbed)
    assert ast.unparse(parsed("a = b + 1")) == "a = b + 1"
    assert len(asked) == 3


def test_what_a_parser_always_says_is_raised(monkeypatch):
    with pytest.raises(SyntaxError):
        parsed("a +")

    def broken(_text):
        raise SystemError

    monkeypatch.setattr(ir_words.ast, "parse", broken)
    with pytest.raises(SystemError):
        parsed("a")


@pytest.fixture
def _yielding():
    """Let Python code run, and so other threads, whenever garbage is collected, which is often."""

    def look_away(_phase, _info):
        time.sleep(1e-5)

    before = gc.get_threshold()
    gc.callbacks.append(look_away)
    gc.set_threshold(30)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(look_away)


@pytest.mark.usefixtures("_yielding")
def test_threads_that_parse_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(ir_words, "_PARSINGS", 1)
    errors: list[SystemError] = []

    def work():
        try:
            for _ in range(10):
                parsed(TEXT)
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
