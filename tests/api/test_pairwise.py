"""Einstein sums at home are products of matrices where that pays, and always NumPy's sums."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import pairwise
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Iterator

_LABELS = "abcdef"


@st.composite
def sums(draw: Any) -> tuple[str, list[tuple[int, ...]]]:
    """Return the subscripts and the shapes of an Einstein sum."""
    sizes = {k: draw(st.integers(1, 5)) for k in _LABELS}
    terms = draw(
        st.lists(
            st.lists(st.sampled_from(_LABELS), max_size=4, unique=True).map("".join),
            min_size=1,
            max_size=4,
        )
    )
    known = sorted(set("".join(terms)))
    out = draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    shapes = [tuple(sizes[k] for k in term) for term in terms]
    return ",".join(terms) + "->" + "".join(out), shapes


@contextmanager
def products_always(**settings: Any) -> Iterator[None]:
    """Take products of matrices however small the sum is, meanwhile with other settings."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pairwise, "LEAST", 0)
        patched.setattr(pairwise, "LEAST_OF_A_STACK", 0)
        for name, value in settings.items():
            patched.setattr(config, name, value)
        pairwise.pairs_of.cache_clear()
        yield
    pairwise.pairs_of.cache_clear()


def _filled(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).integers(-4, 5, shape)  # whose sums are exact
    return np.asarray(numbers + 1j * numbers if dtype in "FD" else numbers, dtype)


@settings(max_examples=300, deadline=None)
@given(sums(), st.lists(st.sampled_from("fdFDilbe"), min_size=4, max_size=4), st.booleans())
def test_any_sum_is_numpys(case: Any, kinds: list[str], engine: bool) -> None:
    subscripts, shapes = case
    plain = [_filled(s, kind, k) for k, (s, kind) in enumerate(zip(shapes, kinds, strict=False))]
    expected = np.einsum(subscripts, *plain)
    with products_always(eager_below=0 if engine else config.eager_below):
        ours = [dnumpy.array(x) for x in plain]
        found = np.asarray(dnumpy.einsum(subscripts, *ours))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=300, deadline=None)
@given(sums(), st.sampled_from("fdFD"))
def test_products_of_numpys_arrays_are_its_sums(case: Any, kind: str) -> None:
    subscripts, shapes = case
    plain = [_filled(shape, kind, k) for k, shape in enumerate(shapes)]
    with products_always():
        found = pairwise.einsum_of_small(subscripts, *plain)
    np.testing.assert_array_equal(found, np.einsum(subscripts, *plain))


SUMS = {
    "stack": ("bij,bjk->bik", [(64, 30, 31), (64, 31, 32)]),
    "stack, turned": ("bij,bkj->bki", [(64, 30, 31), (64, 32, 31)]),
    "chain": ("ij,jk,kl->il", [(50, 51), (51, 52), (52, 53)]),
    "chain, implicit": ("ij,jk,kl", [(50, 51), (51, 52), (52, 53)]),
    "outer": ("bi,bj->bij", [(64, 30), (64, 31)]),
    "row dots": ("ij,ij->i", [(500, 80), (500, 80)]),
    "ellipsis": ("...ij,jk->...ik", [(9, 8, 30), (30, 40)]),
    "everything": ("ij,ij->", [(300, 200), (300, 200)]),
    "private": ("ijk,jl->l", [(20, 30, 40), (30, 20)]),
}


@pytest.mark.parametrize("kind", ["f", "d", "D", "l", "i"])
@pytest.mark.parametrize("name", sorted(SUMS))
def test_sums_of_a_size_that_pays_are_numpys(name: str, kind: str) -> None:
    subscripts, shapes = SUMS[name]
    plain = [_filled(shape, kind, k) for k, shape in enumerate(shapes)]
    found = np.asarray(dnumpy.einsum(subscripts, *map(dnumpy.array, plain)))
    expected = np.einsum(subscripts, *plain)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


def test_a_stack_of_products_is_one_step_per_matrix_product() -> None:
    (pair,) = pairwise.pairs_of("bij,bjk->bik", ((64, 30, 31), (64, 31, 32)))
    assert pair.inner is None
    assert pair.axes is None
    assert len(pairwise.pairs_of("ij,jk,kl", ((50, 51), (51, 52), (52, 53)))) == 2


def test_what_is_small_repeated_or_stretched_is_numpys_own() -> None:
    assert pairwise.pairs_of("ij,jk", ((3, 4), (4, 5))) is None
    assert pairwise.pairs_of("ii,ij->j", ((300, 300), (300, 300))) is None
    assert pairwise.pairs_of("ij,jk", ((300, 1), (300, 400))) is None
    assert pairwise.pairs_of("bij,bjk->bik", ((9000, 3, 3), (9000, 3, 3))) is None
