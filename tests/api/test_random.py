"""Random streams: NumPy's values, from seeds and into arrays of ours."""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import draws
from dnumpy.config import config
from dnumpy.kernels import draws as granules
from tests.api.random_calls import FAULTY, GENERATOR, RANDOM_STATE
from tests.comparison import assert_as_numpy, assert_same

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


SEEKABLE = ("PCG64", "PCG64DXSM", "Philox")


@pytest.fixture
def recorded(managed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw of some values is recorded where it can be, in every mode."""
    monkeypatch.setattr(draws, "RECORDED_BYTES", 1)
    monkeypatch.setattr(config, "eager_below", 1)


def both(name: str, seed: int = 11) -> tuple[Any, Any]:
    """Return generators of ours and of NumPy with the same stream."""
    return tuple(  # type: ignore[return-value]
        xp.random.Generator(getattr(xp.random, name)(seed)) for xp in (dnumpy, numpy)
    )


def in_one_place(ours: Any, theirs: Any) -> None:
    """Assert that two bit generators are in the same state."""
    states = [repr(g.bit_generator.state) for g in (ours, theirs)]
    assert states[0] == states[1]


def draw(generator: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Return what a method returns, or the array that it shuffles."""
    if name == "spawn":
        return [g.random(3) for g in generator.spawn(*args)]
    if name == "shuffle":
        args = (args[0].copy(), *args[1:])
        generator.shuffle(*args, **kwargs)
        return args[0]
    return getattr(generator, name)(*args, **kwargs)


@pytest.mark.parametrize("base", ["Generator", "RandomState"])
def test_the_tables_have_every_method_of_numpys(base: str) -> None:
    table = GENERATOR if base == "Generator" else RANDOM_STATE
    public = {n for n in dir(getattr(numpy.random, base)) if not n.startswith("_")}
    assert set(table) == public - {"bit_generator"}


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.parametrize("name", sorted(GENERATOR))
def test_every_method_of_a_generator_draws_and_leaves_what_numpys_does(
    name: str, kind: str
) -> None:
    ours, theirs = both(kind)
    drawn = []
    for args, kwargs in GENERATOR[name]:
        drawn.append((draw(ours, name, args, kwargs), draw(theirs, name, args, kwargs)))
        in_one_place(ours, theirs)
    for got, wanted in drawn:
        assert_same(got, wanted)


@pytest.mark.usefixtures("recorded")
@pytest.mark.filterwarnings("ignore:This function is deprecated")
@pytest.mark.parametrize("name", sorted(set(RANDOM_STATE) - {"set_state"}))
def test_every_legacy_method_draws_and_leaves_what_numpys_does(name: str) -> None:
    ours, theirs = (xp.random.RandomState(5) for xp in (dnumpy, numpy))
    for args, kwargs in RANDOM_STATE[name]:
        got, wanted = draw(ours, name, args, kwargs), draw(theirs, name, args, kwargs)
        if name == "get_state":
            got, wanted = repr(got), repr(wanted)
        assert_same(got, wanted)
        assert repr(ours.get_state()[2:]) == repr(theirs.get_state()[2:])
        assert_same(ours.get_state()[1], theirs.get_state()[1])


def test_the_streams_of_the_module_go_back_to_a_state_that_was_taken() -> None:
    def program(xp: Any) -> Any:
        xp.random.seed(5)
        first = [xp.random.rand(3), xp.random.normal(size=3)]
        state = xp.random.get_state()
        second = xp.random.randn(4)
        xp.random.set_state(state)
        return first, second, xp.random.randn(4)

    assert_as_numpy(program)


_DRAWS = st.sampled_from(
    [
        (name, args, kwargs)
        for name in ("random", "integers", "uniform", "standard_exponential", "choice", "normal",
                     "triangular", "laplace", "shuffle", "permuted", "permutation", "bytes")
        for args, kwargs in GENERATOR[name]
    ]
)  # fmt: skip


@pytest.mark.usefixtures("recorded")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(kind=st.sampled_from(BIT_GENERATORS), sequence=st.lists(_DRAWS, min_size=2, max_size=12))
def test_any_sequence_of_draws_is_numpys(kind: str, sequence: list[Any]) -> None:
    ours, theirs = both(kind)
    got = [draw(ours, *one) for one in sequence]
    wanted = [draw(theirs, *one) for one in sequence]
    in_one_place(ours, theirs)
    for mine, numpys in zip(reversed(got), reversed(wanted), strict=True):  # computed out of order
        assert_same(mine, numpys)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("number", range(len(FAULTY)))
def test_what_numpy_refuses_is_refused_at_the_call_and_draws_nothing(number: int) -> None:
    ours, theirs = both("PCG64")
    errors = []
    for generator in (ours, theirs):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever NumPy raises
            FAULTY[number](generator)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]
    in_one_place(ours, theirs)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("kind", SEEKABLE)
def test_a_draw_of_fixed_words_waits_until_it_is_looked_at(kind: str) -> None:
    generator = dnumpy.random.Generator(getattr(dnumpy.random, kind)(3))
    waiting = [
        generator.random(20),
        generator.random((4, 3), dtype="f4"),
        generator.uniform(1.0, 2.0, 30),
        generator.integers(0, 64, 30),
        generator.integers(0, 256, 30, dtype="u1"),
        generator.triangular(0.0, 1.0, 2.0, 9),
        generator.choice(16, 9),
        generator.standard_exponential(8, method="inv"),
    ]
    assert all(x._np is None and x._buf.pending for x in waiting)


@pytest.mark.usefixtures("recorded")
def test_equal_generators_draw_arrays_that_are_not_one() -> None:
    one, other = (dnumpy.random.default_rng(3) for _ in range(2))
    x, y = one.random(12), other.random(12)
    x[0] = 5.0
    assert y[0] == numpy.random.default_rng(3).random()
    assert x[0] == 5.0


@pytest.mark.usefixtures("recorded")
def test_draws_fuse_with_what_reads_them() -> None:
    def program(xp: Any) -> Any:
        g = xp.random.default_rng(8)
        inside = (g.random((31, 3)) - 0.5) * 2 > g.random((31, 1))
        return inside.sum(axis=1), inside.sum(axis=0), g.integers(0, 8, 9)[::2]

    assert_as_numpy(program)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_are_drawn_into_given_memory_and_its_views_see_them(dtype: str) -> None:
    def program(xp: Any) -> Any:
        g = xp.random.default_rng(8)
        out = xp.zeros((9, 2), dtype) + xp.ones(1, dtype)
        view = out[2:4]
        again = g.random(out=out, dtype=dtype)
        g.standard_normal(out=out[:1], dtype=dtype)
        return again is out, view, out, g.random(2)

    assert_as_numpy(program)


@pytest.mark.usefixtures("recorded")
def test_a_column_is_drawn_into_its_place() -> None:
    def program(xp: Any) -> Any:
        table = xp.zeros((13, 4)) + xp.arange(4.0)
        table[:, 1:3] = xp.random.default_rng(1).random((13, 2))
        return table

    assert_as_numpy(program)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.usefixtures("recorded")
def test_a_copy_goes_on_where_the_generator_stood(kind: str, copied: Any) -> None:
    ours, theirs = both(kind)
    for generator in (ours, theirs):
        generator.random(3, dtype="f4")
    mine, numpys = copied(ours), copied(theirs)
    assert type(mine) is dnumpy.random.Generator
    assert_same(mine.random(7, dtype="f4"), numpys.random(7, dtype="f4"))
    assert_same(ours.random(7), theirs.random(7))
    in_one_place(ours, theirs)
    in_one_place(mine, numpys)


@pytest.mark.usefixtures("recorded")
def test_threads_that_share_a_generator_draw_its_stream_between_them() -> None:
    generator = dnumpy.random.default_rng(4)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: generator.random(50), range(20)))
    drawn = sorted(numpy.concatenate([numpy.asarray(part) for part in parts]).tolist())
    theirs = numpy.random.default_rng(4)
    assert drawn == sorted(theirs.random(1000).tolist())
    in_one_place(generator, theirs)


def test_signatures_are_numpys() -> None:
    for name in GENERATOR:
        ours, theirs = (
            inspect.signature(getattr(xp.random.Generator, name)) for xp in (dnumpy, numpy)
        )
        if name != "spawn":
            assert ours == theirs, name


@pytest.mark.usefixtures("recorded")
class TestStreamsOnRequest:
    """``config.random = "parallel"``: other values, the same whatever computes them."""

    @pytest.fixture(autouse=True)
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(config, "random", "parallel")

    @pytest.mark.parametrize("kind", BIT_GENERATORS)
    def test_a_seed_gives_the_same_values_again_and_others_than_before(self, kind: str) -> None:
        one, other = (dnumpy.random.Generator(getattr(dnumpy.random, kind)(3)) for _ in range(2))
        first = numpy.asarray(one.normal(1.0, 2.0, (40, 3)))
        assert first.tobytes() == numpy.asarray(other.normal(1.0, 2.0, (40, 3))).tobytes()
        assert not numpy.array_equal(first, numpy.asarray(one.normal(1.0, 2.0, (40, 3))))
        in_one_place(dnumpy.random.Generator(one.bit_generator), one)

    def test_the_tiles_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(granules, "GRANULE", 16)
        found = set()
        for rows in (1, 3, 7, 100):
            monkeypatch.setattr(config, "tile_rows_max", rows)
            g = dnumpy.random.default_rng(5)
            drawn = (
                g.standard_gamma(2.0, (40, 3)),
                g.poisson(3.0, 77),
                g.standard_normal(50, "f4"),
            )
            found.add(tuple(numpy.asarray(x).tobytes() for x in drawn))
        assert len(found) == 1

    def test_granules_are_the_jumped_streams_of_the_seed_that_was_drawn(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(granules, "GRANULE", 16)
        words = numpy.random.PCG64(9).random_raw(8)
        streams = [numpy.random.PCG64DXSM(words).jumped(k) for k in range(3)]
        wanted = [numpy.random.Generator(s).standard_normal(16) for s in streams]
        got = dnumpy.random.default_rng(9).standard_normal(40)
        assert_same(numpy.asarray(got), numpy.concatenate(wanted)[:40])

    def test_moments_are_those_of_the_distribution(self) -> None:
        x = numpy.asarray(dnumpy.random.default_rng(2).normal(3.0, 2.0, 20_000))
        assert abs(x.mean() - 3.0) < 0.1
        assert abs(x.std() - 2.0) < 0.1

    def test_an_array_that_fits_nowhere_is_refused_at_the_call(self) -> None:
        assert_as_numpy(lambda xp: xp.random.default_rng(6).normal(size=1 << 62))

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("least", [1, 1 << 20])
    def test_what_can_be_cut_stays_numpys(
        self, threads: int, least: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(config, "threads", threads)
        monkeypatch.setattr(draws, "RECORDED_BYTES", least)

        def program(xp: Any) -> Any:
            g = xp.random.default_rng(6)
            return g.random(50), g.integers(0, 1_000_003, 50), g.laplace(size=50)

        assert_as_numpy(program)

    def test_what_cannot_be_cut_is_drawn_from_other_streams(self) -> None:
        ours, theirs = both("MT19937")
        for generator in (ours, theirs):
            generator.random()
        assert not numpy.array_equal(numpy.asarray(ours.random(50)), theirs.random(50))

    def test_broadcast_parameters_are_drawn_by_numpy(self) -> None:
        assert_as_numpy(lambda xp: xp.random.default_rng(6).normal([0.0, 1.0], 1.0, (9, 2)))
