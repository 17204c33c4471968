"""The vectorised functions of our own: how far off they may be, and when they are used."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from benchmarks.accuracy import errors, operands, plain_of, sample
from dnumpy.config import config
from dnumpy.expr.expr import Expr, leaf, make
from dnumpy.kernels import compile as compiler
from dnumpy.kernels import fast
from dnumpy.kernels.compile import digest_of, is_cached
from dnumpy.kernels.fast_loops import loop_source
from dnumpy.kernels.numba import NumbaKernel
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from tests.gathering import computed, on_nodes, spread_out
from tests.kernels import phases as p

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = list(fast.FUNCTIONS)
CODES = sorted({name[-2:] for name in NAMES})
EXTENDED = np.finfo(np.longdouble).nmant > 60
SPECIALS = [0.0, 5e-324, 1e-310, 1e-42, 1e-20, 0.25, 0.5, 1.0, 1.5, 2.0, 20.0, 88.8, 103.5, 128.0]
SPECIALS += [150.5, 708.5, 709.5, 711.0, 745.2, 1000.0, 1023.5, 1024.0, 1074.5, 1e5, 2e9, 1e30]
SPECIALS += [1e200, 1e308, np.inf, np.nan]


@pytest.fixture
def asked() -> Iterator[None]:
    config.accuracy = "fast"
    yield
    config.accuracy = "exact"


def specials(code: str) -> np.ndarray:
    """Return all that is special to some function, of both signs, NaN of both signs too."""
    with np.errstate(over="ignore", under="ignore"):
        found = np.array(SPECIALS).astype(code)
    return np.concatenate([found, -found])


def stored(x: np.ndarray) -> Expr:
    return leaf(x, x.shape, x.dtype)


def applied(name: str, *given: Expr) -> Expr:
    """Return the Expr of a function of ours."""
    return make(lookup(name), given, (), given[0].shape, given[0].dtype)


def told(ufunc: np.ufunc, *given: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """Return what a ufunc gives, and of which faults it tells; underflow is not asked for."""
    faults: set[str] = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, _: faults.add(kind)):
        return ufunc(*given), faults


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_as_stated_all_over_the_domain(name: str) -> None:
    if name.endswith("f8") and not EXTENDED:
        pytest.skip("nothing here is more precise than float64")
    given = operands(name, 6_000, seed=3)
    with np.errstate(all="ignore"):
        finite = np.isfinite(fast.made(name)(*given))
    off = errors(name, given)
    worst = off.argmax()
    assert off[worst] <= fast.FUNCTIONS[name].ulps, [x[worst] for x in given]
    assert finite.mean() > 0.2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_special_values_and_what_is_told_of_them_are_numpys(name: str) -> None:
    ours, plain = fast.made(name), plain_of(name)
    every = specials(name[-2:])
    for values in itertools.product(every, repeat=fast.FUNCTIONS[name].inputs):
        given = [np.full(37, x) for x in values]  # vectors, and a tail
        found, faults = told(ours, *given)
        expected, numpys = told(plain, *given)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), str(values))
        np.testing.assert_array_max_ulp(found, expected, 8)
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(expected[there]))
        endless = ~np.isfinite(expected) | (expected == 0)
        np.testing.assert_array_equal(found[endless], expected[endless])
        assert faults == numpys, values


@pytest.mark.parametrize("name", NAMES)
def test_strides_places_and_lengths_do_not_matter(name: str) -> None:
    ours, inputs = fast.made(name), fast.FUNCTIONS[name].inputs
    given = [x[: 2 * 293] for x in operands(name, 100, seed=5)]
    given = [np.random.default_rng(2).permutation(x) for x in given]
    with np.errstate(all="ignore"):
        whole = ours(*given)
        for count, start, step in itertools.product((1, 7, 8, 21, 64, 293), (0, 1, 5), (1, 2, -1)):
            at = slice(start, start + count * abs(step), abs(step))
            part = [x[at][::-1] if step < 0 else x[at] for x in given]
            expected = whole[at][::-1] if step < 0 else whole[at]
            assert p.bits(ours(*part)) == p.bits(expected), (count, start, step)
        again = given[0].copy()
        ours(again, *given[1:], out=again)
    assert p.bits(again) == p.bits(whole)
    assert inputs == len(given)


@pytest.mark.parametrize("code", CODES)
def test_inlined_functions_have_the_bits_of_the_loops_in_any_partition(code: str) -> None:
    x = np.concatenate([sample(f"fast_exp_{code}", 500, seed=7), np.repeat(specials(code), 3)])
    x = np.random.default_rng(1).permutation(x[~(np.abs(x) > 1e5) | (np.abs(x) == np.inf)])
    names = [name for name in NAMES if name.endswith(code)]
    ours = [fast.made(name) for name in names]
    inputs = [fast.FUNCTIONS[name].inputs for name in names]
    both = (x, x[::-1].copy())
    leaves = [stored(v) for v in both]
    roots = [applied(name, *leaves[:n]) for name, n in zip(names, inputs, strict=True)]
    (bound,) = p.bound(roots, 1 << 12)
    with np.errstate(all="ignore"):
        kernel = NumbaKernel(bound.phase)
        variant = kernel.variant_for(bound.values, bound.allocate())
        assert variant is not None
        assert {node.kind for node in variant.program.nodes} == {"map"}
        expected = {expr: f(*both[:n]) for expr, f, n in zip(roots, ours, inputs, strict=True)}
        for runner in (Inlined(variant), TiledKernel(bound.phase)):
            for cuts in ([], [1, 2, 7], [5]):
                for expr, found in zip(bound.exprs, bound.run(runner, cuts), strict=True):
                    assert p.bits(found) == p.bits(expected[expr]), expr.op


class Inlined:
    """A compiled kernel of whose faults nobody wants to know: it does not run again tiled."""

    def __init__(self, variant: Any) -> None:
        self.variant = variant
        variant.program.truncates = False

    def run(self, *given: Any) -> None:
        """Run compiled."""
        assert self.variant.run(*given, ())


@pytest.mark.parametrize("name", sorted(fast.BOUNDED))
def test_waves_beyond_the_bound_are_the_c_librarys_in_every_lowering(name: str) -> None:
    dtype = np.dtype(name[-2:])
    x = np.linspace(-9, 9, 1000).astype(dtype)
    x[100:104] = [1e12, -1e12, 3e9, 1e30]
    root = applied(name, stored(x))
    (bound,) = p.bound([p.apply("add", root, root)], 1 << 12)
    with np.errstate(all="ignore"):
        kernel = NumbaKernel(bound.phase)
        variant = kernel.variant_for(bound.values, bound.allocate())
        assert variant is not None
        assert not variant.run(bound.values, bound.allocate(), 0, len(x), told=())
        (found,) = bound.run(kernel)
        assert p.bits(found) == p.bits(2 * fast.made(name)(x))
    np.testing.assert_array_max_ulp(found, 2 * plain_of(name)(x), 4)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", NAMES)
def test_only_invalid_operands_are_told_of_in_compiled_kernels(name: str) -> None:
    if fast.FUNCTIONS[name].inputs == 2:
        pytest.skip("told of in the loops' test")
    every = specials(name[-2:])
    every = every[~(np.abs(every) > 1e5) | ~np.isfinite(every)]
    _, numpys = told(plain_of(name), every)
    quiet = np.array([v for v in every if not told(plain_of(name), np.array([v]))[1]])
    for values, faults in ((every, numpys), (np.repeat(quiet, 3), set())):
        (bound,) = p.bound([p.apply("negative", applied(name, stored(values)))], 1 << 12)
        variant = NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate())
        assert variant is not None
        again = not variant.run(bound.values, bound.allocate(), 0, len(values))
        assert again == bool(faults), faults


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_again_by_its_name(name: str) -> None:
    ours = fast.made(name)
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_a_fresh_process_loads_a_loop_without_a_compiler() -> None:
    source = loop_source("fast_exp_f8", 1, bounded=False)
    fast.made("fast_exp_f8")
    assert is_cached(source)
    asked = """
import sys
from dnumpy.kernels import fast
from dnumpy.kernels import compile as compiler
from dnumpy.kernels.compile import digest_of, is_cached
from dnumpy.kernels.fast_loops import loop_source
assert fast.made("fast_exp_f8")([0.0, 0.0]).tolist() == [1.0, 1.0]
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", asked], check=True)


def test_other_arithmetic_is_another_kernel(monkeypatch: Any) -> None:
    sources = [loop_source("fast_exp_f8", 1, bounded=False), "def kernel(a, b, c):\n    pass\n"]
    before = [digest_of(s) for s in sources]
    monkeypatch.setattr(compiler, "_fast_functions", lambda: "other")
    assert [digest_of(s) == b for s, b in zip(sources, before, strict=True)] == [False, True]


@pytest.mark.usefixtures("managed", "asked")
def test_what_is_faster_is_computed_so_in_the_engine() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 2000)
    found = np.asarray(dnumpy.sin(dnumpy.array(values)))
    np.testing.assert_array_equal(found, fast.made("fast_sin_f8")(values))
    assert (found != np.sin(values)).any()
    single = values.astype("f4")
    found = np.asarray(dnumpy.tanh(dnumpy.array(single)))
    assert p.bits(found) == p.bits(fast.made("fast_tanh_f4")(single))
    assert found.dtype == np.float32
    found = np.asarray(dnumpy.arctan2(dnumpy.array(values), 2.0))
    np.testing.assert_array_equal(found, fast.made("fast_arctan2_f8")(values, 2.0))
    for dtype in ("D", "f2"):
        narrow = values.astype(dtype)
        np.testing.assert_array_equal(np.asarray(dnumpy.sin(dnumpy.array(narrow))), np.sin(narrow))


@pytest.mark.parametrize("name", NAMES)
def test_numpys_wide_loops_are_kept_where_they_are_as_fast(name: str, monkeypatch: Any) -> None:
    plain, dtype = plain_of(name), np.dtype(name[-2:])
    chosen = []
    for target in ("X86_V4", "X86_V3", ""):
        fast.instead.cache_clear()
        monkeypatch.setattr(fast, "_numpys_target", lambda *_, t=target: t)
        chosen.append(fast.instead(plain, dtype))
    fast.instead.cache_clear()
    wide = fast.FUNCTIONS[name].wide
    assert chosen == [fast.made(name) if wide else None, fast.made(name), fast.made(name)]


def test_numpy_says_for_which_cpu_its_loops_are() -> None:
    from numpy.lib.introspect import opt_func_info

    known = opt_func_info(func_name="^exp$")["exp"]["dd"]["current"]
    assert fast._numpys_target(np.exp, np.dtype("f8")) == known
    assert fast._numpys_target(np.hypot, np.dtype("f8")) == ""


@pytest.mark.usefixtures("asked")
def test_nodes_compute_the_same() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 200)
    with spread_out():
        found = computed(dnumpy.hypot(dnumpy.cos(on_nodes(values)), 2.0))
        expected = fast.made("fast_hypot_f8")(fast.made("fast_cos_f8")(values), 2.0)
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.usefixtures("managed")
def test_numpys_bits_unless_asked() -> None:
    values = np.random.default_rng(4).uniform(-9, 9, 2000)
    np.testing.assert_array_equal(np.asarray(dnumpy.sin(dnumpy.array(values))), np.sin(values))


@given(st.floats(1e-300, 1e300), st.floats(1e-9, 1e9))
def test_lengths_are_within_their_error(x: float, ratio: float) -> None:
    y = min(max(x * ratio, 1e-300), 1e300)
    off = errors("fast_hypot_f8", [np.array([x] * 3), np.array([y] * 3)])
    assert off.max() <= fast.FUNCTIONS["fast_hypot_f8"].ulps


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="accuracy = 'quick'"):
        config.accuracy = "quick"
    with pytest.raises(ValueError, match="reproducible"):
        config.reproducible = "yes"  # type: ignore[assignment]
    assert (config.accuracy, config.reproducible) == ("exact", False)
