"""CUDA kernels of random phases, run on the host, equal the other lowerings.

They are also given to NVIDIA's compiler.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import cuda_launch
from dnumpy.kernels.cuda_header import header
from dnumpy.kernels.lower import Unsupported
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from dnumpy.ops.table import ARANGE, CHOSEN, FULL, VIEW
from dnumpy.rewrite.phase import ReduceParams
from tests import strategies
from tests.kernels import cuda_on_host as host
from tests.kernels import nvrtc
from tests.kernels import phases as p
from tests.kernels.cuda_cases import case, check, close, collected, compiled
from tests.kernels.cuda_phases import DTYPES, edges, stored

pytestmark = [
    pytest.mark.modeless("kernels' texts read no settings"),
    pytest.mark.skipif(host.COMPILER is None, reason="there is no g++"),
]
needs_nvrtc = pytest.mark.skipif(nvrtc.library() is None, reason="there is no NVRTC")


def test_random_phases_are_those_of_numpy_in_any_partition():
    check(collected(st.one_of(p.programs(), p.programs(plain=True), p.short_folds()), 150))


def test_random_programs_of_integers_have_numpys_bits():
    for bound, kernel, cuts in collected(strategies.programs().map(lambda e: e[4:]), 120):
        expected = bound.run(TiledKernel(bound.phase))
        for found in (bound.run(kernel), bound.run(kernel, cuts)):
            assert [p.bits(x) for x in found] == [p.bits(x) for x in expected], bound.phase


def test_wide_index_arithmetic_gives_the_same_bits(monkeypatch):
    cases = collected(p.programs(plain=True), 25)
    narrow = [bound.run(kernel, cuts) for bound, kernel, cuts in cases]
    monkeypatch.setattr(cuda_launch, "MOST_NARROW", 0)
    wide = compiled([case(bound, cuts) for bound, _, cuts in cases])
    assert any("#define idx i8" in k.text for _, kernel, _ in wide for k in kernel.wanted.values())
    for (bound, kernel, cuts), expected in zip(wide, narrow, strict=True):
        assert [p.bits(x) for x in bound.run(kernel, cuts)] == [p.bits(x) for x in expected]


def view(base: Expr, look: Any) -> Expr:
    """Return the Expr of a view of rows that are computed."""
    memory = np.empty(base.shape, base.dtype)
    seen = look(memory)
    offset = seen.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    geometry = Geometry(offset, seen.shape, seen.strides, seen.dtype)
    return make(VIEW, (base,), tuple(geometry), seen.shape, seen.dtype)


VIEWS = {
    "shifted": lambda a: a[:, 1:-1],
    "stepped": lambda a: a[:, 1::2],
    "reversed": lambda a: a[:, ::-1],
    "transposed": lambda a: a.transpose(0, 2, 1),
    "one plane": lambda a: a[:, 2],
    "new axis": lambda a: a[:, None, ::-2, 3:],
    "reshaped": lambda a: a.reshape(len(a), -1, 4)[:, 1:],
    "flat": lambda a: a.reshape(len(a), -1)[:, 3::2],
    "diagonal": lambda a: np.einsum("aii->ai", a[:, :6, :6]),
    "repeated": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_computed_rows_are_read_where_they_lie(name):
    x = stored(np.random.default_rng(2).standard_normal((9, 6, 8)))
    twice = p.apply("multiply", x, Const(2.0))
    seen = view(twice, VIEWS[name])
    turned = view(twice, lambda a: VIEWS[name](a)[..., ::-1])
    last = p.apply("subtract", seen, turned)
    folded = p.fold("maximum", seen, (seen.ndim - 1,), keepdims=True)
    total = p.fold("add", p.apply("add", seen, folded), (0,), keepdims=False)
    (bound,) = p.bound([last, total], 700)
    check(compiled([case(bound, [2, 5])]))


def test_parts_of_complex_numbers_are_views():
    numbers = np.random.default_rng(3).standard_normal((2, 20, 7)) @ np.eye(7)
    z = p.apply("square", stored(numbers[0] + 1j * numbers[1]))
    root = p.apply("add", view(z, lambda a: a.real), view(z, lambda a: a.imag[:, ::-1]))
    (bound,) = p.bound([root], 700)
    check(compiled([case(bound, [3])]))


def test_iterated_neighbour_sums_share_what_they_have_in_common():
    x = p.apply("multiply", stored(np.random.default_rng(4).standard_normal((5, 64))), Const(1.0))
    for _ in range(20):
        x = p.apply("add", view(x, lambda a: a[:, 1:]), view(x, lambda a: a[:, :-1]))
    (bound,) = p.bound([x], 1 << 12)
    ((_, kernel, _),) = cases = compiled([case(bound, [])])
    check(cases)
    (text,) = {k.text for k in kernel.wanted.values()}
    assert text.count("op_add") <= 20 * 21


@pytest.mark.parametrize(
    "axes", [(1,), (2,), (1, 2), (0,), (0, 1), (0, 2), (0, 1, 2), (1, 3), (0, 3)]
)
@pytest.mark.parametrize("dtype", ["f8", "f2", "i4"])
def test_folds_along_any_axes_with_masks_and_initial_values(axes, dtype):
    shape = (11, 5, 6, 7)
    rng = np.random.default_rng(7)
    x = stored(rng.integers(-3, 4, shape).astype(dtype))
    mask = stored(rng.random(shape[1:]) < 0.6)
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    roots = []
    for name, initial in (
        ("add", None),
        ("add", (3,)),
        ("maximum", (2,)),
        ("minimum", (-2,)),
        ("fmax", (0,)),
    ):
        row: Any = lookup(f"{name}.reduce")
        for masked in (False, True):
            out = row.ufunc.reduce(np.ones((1, 1), x.dtype), axis=0).dtype
            params = ReduceParams(axes, False, None, initial, masked)
            roots.append(make(row, (x, mask) if masked else (x,), params, kept, out))
    (bound,) = p.bound(roots, 1200)
    ((_, kernel, _),) = cases = compiled([case(bound, [1, 2])])
    check(cases)
    settled = zip(bound.settled(bound.run(kernel)), p.expected(bound.exprs), strict=True)
    assert all(close(a, b) for a, b in settled)


@pytest.mark.parametrize("name", ["subtract", "divide", "fmod", "logaddexp", "hypot", "left_shift"])
def test_folds_that_keep_their_order_have_numpys(name):
    data = np.random.default_rng(1).integers(1, 4, (6, 9)).astype("i8" if "shift" in name else "f8")
    x = stored(data)
    (bound,) = p.bound([p.fold(name, x, (1,), keepdims=False)], 1 << 10)
    check(compiled([case(bound, [])]))


def test_picks_and_folds_of_every_dtype():
    cases = []
    for dtype in DTYPES:
        data = edges(dtype)[None].repeat(7, axis=0)
        rng = np.random.default_rng(11)
        x = stored(rng.permuted(np.concatenate([data, data], axis=1), axis=1))
        roots = [
            p.pick(n, x, a, keepdims=k)
            for n in ("argmin", "argmax")
            for a, k in ((0, True), (1, False))
        ]
        folds = ("maximum", "fmin", "logical_or", "bitwise_xor", "add", "multiply")
        if dtype.kind in "fc":
            folds = folds[:3]
        roots += [p.fold(n, x, a, keepdims=False) for n in folds for a in ((0,), (1,), (0, 1))]
        wanted = [r for r in roots if r is not None]
        cases += [case(bound, [1, 2]) for bound in p.bound(wanted, 300)]
    check(compiled(cases))


def test_a_grid_that_is_smaller_than_the_work_does_it_all(monkeypatch):
    monkeypatch.setattr(cuda_launch, "MOST_BLOCKS", 3)
    monkeypatch.setattr(cuda_launch, "MOST_BLOCKS_WITH_SCRATCH", 2)
    x = stored(np.random.default_rng(12).standard_normal((4000, 20)))
    e = p.apply("exp", x)
    share = p.apply("divide", e, p.fold("add", e, (1,), keepdims=True))
    cases = []
    for roots in ([share], [e], [p.fold("add", share, (0,), keepdims=False)]):
        cases += [case(bound, [4]) for bound in p.bound(roots, 1 << 13)]
    check(compiled(cases))


def test_few_long_rows_have_many_threads_each():
    x = stored(np.random.default_rng(13).standard_normal((3, 17000)))
    share = p.apply("divide", x, p.fold("add", x, (1,), keepdims=True))
    roots = [share, p.fold("maximum", share, (0, 1), keepdims=False)]
    (bound,) = p.bound(roots, 1)
    cases = compiled([case(bound, [1])])
    check(cases)
    assert {k.variant.threads for k in cases[0][1].wanted.values()} == {1024}


def test_generated_rows_know_which_rows_they_are():
    dtype = np.dtype("f8")
    rows = make(ARANGE, (), (2.0, 0.5), (1000,), dtype)
    full = make(FULL, (), (7,), (1000,), np.dtype("i4"))
    (bound,) = p.bound([p.apply("multiply", rows, full)], 512)
    check(compiled([case(bound, [3, 9])]))


def test_where_and_chosen_tell_of_faults_only_where_the_mask_is():
    x, y = stored(np.array([1.0, 0.0, -1.0, 4.0] * 9)), stored(np.array([0.0, 2.0] * 18))
    mask = p.apply("greater", x, Const(3.0))
    shape, dtype = x.shape, x.dtype
    masked = make(lookup("divide"), (x, y, mask, x), (("masked", True),), shape, dtype)
    chosen = make(lookup("log"), (x, mask), CHOSEN, shape, dtype)
    (bound,) = p.bound([masked, chosen], 1 << 10)
    cases = compiled([case(bound, [])])
    check(cases)
    kernel = cases[0][1]
    assert kernel.run(bound.values, bound.allocate(), 0, bound.phase.rows) == set()
    everywhere = make(lookup("log"), (x,), (), shape, dtype)
    (bound,) = p.bound([everywhere], 1 << 10)
    ((_, kernel, _),) = compiled([case(bound, [])])
    found = kernel.run(bound.values, bound.allocate(), 0, bound.phase.rows)
    assert {word for _, word in found} == {"divide by zero", "invalid value"}


def test_phases_that_differ_in_extents_and_scalars_share_their_text():
    names = set()
    for rows, width, scale in ((7, 40, 2.0), (900, 13, 3.0)):
        x = stored(np.ones((rows, width)))
        e = p.apply("exp", p.apply("multiply", x, Const(scale)))
        root = p.apply("divide", e, p.fold("add", e, (1,), keepdims=True))
        (bound,) = p.bound([root], 1 << 12)
        names |= set(case(bound, [])[1].wanted)
    assert len(names) == 1


def test_contiguous_operands_are_loaded_several_at_a_time():
    x = stored(np.arange(1003, dtype=np.float32))
    (bound,) = p.bound([p.apply("add", x, Const(1.5))], 1 << 10)
    cases = compiled([case(bound, [2])])
    check(cases)
    assert any(k.variant.lanes == 4 for k in cases[0][1].wanted.values())


def test_rows_that_begin_between_vectors_are_loaded_one_by_one():
    x = stored(np.arange(64, dtype=np.float32))
    (bound,) = p.bound([p.apply("add", x, Const(1.5))], 1 << 10)
    kernel = host.HostKernel(bound.phase, bound.values)
    out = np.zeros(64, np.float32)
    lanes = []
    for lo in range(5):
        kernel.wanted.clear()
        kernel.run(bound.values, [out], lo, 64)
        lanes += [k.variant.lanes for k in kernel.wanted.values()]
    assert lanes == [4, 0, 0, 0, 4]


def test_what_a_kernel_cannot_say_is_told_by_name():
    x = stored(np.ones((800, 4)))
    product = make(lookup("matmul"), (x, stored(np.ones((4, 4)))), (), (800, 4), np.dtype("f8"))
    (bound,) = p.bound([p.apply("add", product, Const(1.0))], 1 << 10)
    with pytest.raises(Unsupported, match="matmul"):
        host.HostKernel(bound.phase, bound.values)
    longs = stored(np.ones(40, np.longdouble))
    (bound,) = p.bound([p.apply("add", longs, Const(1.0))], 1 << 10)
    with pytest.raises(Unsupported, match="float128"):
        host.HostKernel(bound.phase, bound.values)


@needs_nvrtc
def test_code_is_made_of_kernels_of_random_phases():
    cases = collected(st.one_of(p.programs(), p.short_folds()), 40)
    texts = {k.name: k.text for _, kernel, _ in cases for k in kernel.wanted.values()}
    source = "".join([header(complex_numbers=True), *texts.values()])
    assert nvrtc.complaints(source, 80) == ""


@needs_nvrtc
def test_what_only_the_host_compiles_is_told_of():
    (bound,) = p.bound([p.apply("exp", stored(np.ones(40)))], 1 << 10)
    ((_, kernel, _),) = cases = [case(bound, [])]
    ((name, made),) = kernel.wanted.items()
    text = made.text.replace(name, "unheard") + "static std::vector<int> there_is_none;"
    kernel.wanted = {"unheard": replace(made, name="unheard", text=text)}
    with pytest.raises(AssertionError, match="std"):
        compiled(cases)
