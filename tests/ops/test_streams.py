"""Laws of entering a stream: any place is where NumPy's own draws would have led."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.ops.streams import SEEKABLE, Draw, Stream, Unit, ahead, enter_jumped, stream_of

kinds = st.sampled_from(sorted(SEEKABLE))


def started(kind: str, words: int, halves: int) -> np.random.Generator:
    """Return a generator that has drawn some words and some halves."""
    generator = np.random.Generator(getattr(np.random, kind)(7))
    generator.random(words)
    generator.random(halves, dtype=np.float32)
    return generator


def place(generator: np.random.Generator) -> Stream:
    found = stream_of(generator.bit_generator)
    assert found is not None
    return found


@given(kind=kinds, words=st.integers(0, 9), halves=st.integers(0, 3), count=st.integers(0, 40))
def test_ahead_of_words_is_where_drawing_doubles_leads(kind, words, halves, count):
    generator = started(kind, words, halves)
    before = place(generator)
    generator.random(count)
    assert ahead(before, Unit(64, 1), count) == place(generator)


@given(kind=kinds, words=st.integers(0, 9), halves=st.integers(0, 3), count=st.integers(0, 40))
def test_ahead_of_halves_is_where_drawing_singles_leads(kind, words, halves, count):
    generator = started(kind, words, halves)
    before = place(generator)
    generator.random(count, dtype=np.float32)
    assert ahead(before, Unit(32, 1), count) == place(generator)


@pytest.mark.parametrize(("dtype", "per"), [(np.uint16, 2), (np.uint8, 4), (bool, 32)])
@given(kind=kinds, halves=st.integers(0, 3), count=st.integers(0, 80))
def test_ahead_of_packed_integers_is_where_drawing_them_leads(dtype, per, kind, halves, count):
    generator = started(kind, 0, halves)
    before = place(generator)
    generator.integers(0, 2 if dtype is bool else 1 << 32 // per, count, dtype)
    assert ahead(before, Unit(32, per), count) == place(generator)


@given(kind=kinds, words=st.integers(0, 9), halves=st.integers(0, 3))
def test_a_place_is_kept_in_its_numbers(kind, words, halves):
    generator = started(kind, words, halves)
    other = getattr(np.random, kind)(0)
    other.state = place(generator).state()
    assert repr(other.state) == repr(generator.bit_generator.state)


def test_philox_is_entered_after_its_counter_has_wrapped():
    generator = np.random.Generator(np.random.Philox(3))
    state = generator.bit_generator.state
    state["state"]["counter"][:] = np.iinfo(np.uint64).max
    generator.bit_generator.state = state
    before = place(generator)
    generator.random(10)
    assert ahead(before, Unit(64, 1), 10) == place(generator)


def test_jumped_streams_are_numpys():
    source = np.random.PCG64DXSM(5)
    for jumps in (0, 1, 2, 1000):
        other = np.random.PCG64DXSM(0)
        enter_jumped(other, place(np.random.Generator(source)), jumps)
        assert other.state == source.jumped(jumps).state


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.SFC64])
def test_what_cannot_be_entered_has_no_place(kind):
    assert stream_of(kind(3)) is None


def test_draws_that_differ_in_place_only_are_two():
    stream = place(started("PCG64", 0, 0))
    one = Draw(stream, "random", (), Unit(64, 1))
    other = Draw(ahead(stream, Unit(64, 1), 1), "random", (), Unit(64, 1))
    assert one != other
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(pickle.loads(pickle.dumps(one))) == hash(one)
