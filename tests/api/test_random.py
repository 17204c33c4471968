"""Random streams: NumPy's values, from seeds and into arrays of ours."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

import dnumpy
from tests.comparison import assert_as_numpy

BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_a_bit_generator_is_seeded_by_an_array(name: str) -> None:
    def program(xp: Any) -> Any:
        stream = getattr(xp.random, name)(xp.array([3, 4]))
        return stream.random_raw(3), xp.random.Generator(stream).normal(size=3)

    assert_as_numpy(program)


def test_seeds_of_every_kind_give_numpys_values() -> None:
    def program(xp: Any) -> Any:
        return [
            xp.random.default_rng(xp.arange(3)).random(2),
            xp.random.default_rng(xp.random.SeedSequence(xp.array([5]))).random(2),
            xp.random.default_rng(xp.random.PCG64(1)).random(2),
            xp.random.RandomState(xp.array([1, 2])).rand(2),
            xp.random.SeedSequence(7).generate_state(3),
        ]

    assert_as_numpy(program)


@pytest.mark.parametrize("kind", ["Generator", "RandomState", *BIT_GENERATORS])
def test_streams_pickle_to_their_own_type_and_state(kind: str) -> None:
    made = getattr(dnumpy.random, kind)
    stream = made(dnumpy.random.PCG64(3)) if kind in ("Generator", "RandomState") else made(3)
    again = pickle.loads(pickle.dumps(stream))
    assert type(again) is type(stream)
    if kind == "Generator":
        assert again.random() == stream.random()
    elif kind == "RandomState":
        assert again.rand() == stream.rand()
    else:
        assert again.random_raw() == stream.random_raw()


def test_numpys_own_streams_are_instances_and_are_taken_over() -> None:
    theirs = numpy.random.default_rng(3)
    assert isinstance(theirs, dnumpy.random.Generator)
    assert isinstance(theirs.bit_generator, dnumpy.random.BitGenerator)
    assert not isinstance(theirs, dnumpy.random.RandomState)
    ours = dnumpy.random.default_rng(theirs)
    assert type(ours.random(3)) is dnumpy.ndarray
    assert ours.bit_generator is theirs.bit_generator
    assert dnumpy.random.default_rng(ours) is ours


def test_objects_are_shuffled_and_chosen_as_they_are() -> None:
    inner = dnumpy.arange(3)
    box = dnumpy.empty(2, object)
    box[0] = inner
    box[1] = inner
    dnumpy.random.default_rng(1).shuffle(box)
    assert box[0] is inner
    assert dnumpy.random.default_rng(1).choice(box) is inner
