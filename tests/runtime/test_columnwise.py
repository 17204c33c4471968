"""Folds over long rows have the same bits whether rows are cut along their columns or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels import choose
from dnumpy.ops.families import lookup
from dnumpy.rewrite import columns
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import bound, columnwise, local
from tests.kernels import phases as p

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnumpy.runtime.faults import StepFault

GRAIN = Grain(1, 64, 1 << 40)  # a tile is a few rows of the arrays below, or one
FOLDS = (*p.FOLDS, "bitwise_xor", "fmax")


@pytest.fixture(autouse=True)
def _small_parts() -> Iterator[None]:
    """Let little be enough for parts; what is known of phases is forgotten before and after."""

    def forget() -> None:
        columns.columns_of.cache_clear()
        columns.part_of.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "PART_BYTES", 128)
        patch.setattr(columns, "LEAST", 2)
        patch.setattr(columns, "EVEN", 4)
        forget()
        yield
    forget()


def results(
    roots: Sequence[Expr], *, whole: bool = False
) -> tuple[list[np.ndarray], set[StepFault], int]:
    """Return what local threads compute, the faults, and how many stages were cut by columns."""
    stages = cut(pending_in_order(roots), roots, GRAIN)
    many = sum(
        isinstance(s, FusedStage) and columns.columns_of(s.phase) is not None for s in stages
    )
    with pytest.MonkeyPatch.context() as patch:
        if whole:
            patch.setattr(local, "columns_of", lambda _phase: None)
        _, faults, failures = local.execute(stages)
    assert not failures
    return [np.asarray(root.value) for root in roots], set(faults), many


@st.composite
def programs(draw: Any) -> Any:
    """Return a function that records folds of an elementwise chain afresh, over the same data."""
    rows = draw(st.integers(2, 40))
    rest = draw(st.sampled_from(((33,), (50,), (3, 20), (17, 3), (2, 3, 11), (9, 1))))
    shape = (rows, *rest)
    data = draw(p.arrays(shape, plain=draw(st.booleans())))
    other = draw(st.sampled_from((shape, (1, *rest), rest, (rows, *(1 for _ in rest)), rest[-1:])))
    more = draw(p.arrays(other, plain=True))
    steps = draw(
        st.lists(st.sampled_from(("add", "multiply", "maximum", "greater", "negative")), max_size=3)
    )
    names = draw(st.lists(st.sampled_from((*FOLDS, "argmax", "argmin")), min_size=1, max_size=3))
    kept = draw(st.lists(st.integers(1, len(rest)), max_size=len(rest) - 1, unique=True))
    axis, keepdims = tuple(sorted({0, *kept})), draw(st.booleans())
    masked = draw(st.booleans()) and draw(st.booleans())

    def record() -> list[Expr]:
        x = leaf(data, data.shape, data.dtype)
        y = leaf(more, more.shape, more.dtype)
        for name in steps:
            found = p.apply(name, x) if name == "negative" else p.apply(name, x, y)
            x = x if found is None else found
        roots: list[Expr | None] = []
        for name in names:
            if name.startswith("arg"):
                roots.append(p.pick(name, x, 0, keepdims=keepdims))
            elif masked and name == "add":
                mask = (
                    leaf(data > 0, data.shape, np.dtype(bool)) if data.dtype.kind != "c" else None
                )
                roots.append(None if mask is None else masked_sum(x, mask, axis, keepdims=keepdims))
            else:
                roots.append(p.fold(name, x, axis, keepdims=keepdims))
        return [root for root in roots if root is not None]

    return record


def masked_sum(x: Expr, mask: Expr, axis: tuple[int, ...], *, keepdims: bool) -> Expr | None:
    plain = p.fold("add", x, axis, keepdims=keepdims)
    if plain is None:
        return None
    params = ReduceParams(axis, keepdims, None, (0,), masked=True)
    return make(lookup("add.reduce"), (x, mask), params, plain.shape, plain.dtype)


@settings(max_examples=300, deadline=None)
@given(programs(), st.sampled_from(("tiled", "auto")))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parts_change_nothing(record: Any, kernels: str) -> None:
    if not record():
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose.config, "kernels", kernels)
        whole, faults, _ = results(record(), whole=True)
        found, told, _ = results(record())
    assert [(f.shape, f.dtype) for f in found] == [(w.shape, w.dtype) for w in whole]
    assert [p.bits(f) for f in found] == [p.bits(w) for w in whole]
    assert told == faults


def chain(x: np.ndarray) -> Expr:
    stored = leaf(x, x.shape, x.dtype)
    found = p.apply("multiply", stored, Const(1.5))
    assert found is not None
    return found


@pytest.mark.parametrize("kernels", ["tiled", "numba"])
@pytest.mark.parametrize("name", ["add", "maximum", "argmax"])
@pytest.mark.parametrize("computed", [False, True])
def test_long_rows_are_cut(
    name: str, kernels: str, *, computed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose.config, "kernels", kernels)
    x = np.random.default_rng(5).standard_normal((23, 301))
    operand = chain(x) if computed else leaf(x, x.shape, x.dtype)
    root = (
        p.pick(name, operand, 0, keepdims=False)
        if name == "argmax"
        else p.fold(name, operand, (0,), keepdims=False)
    )
    assert root is not None
    (found,), faults, many = results([root])
    assert many == 1
    assert not faults
    expected = {"add": np.sum, "maximum": np.max, "argmax": np.argmax}[name](
        x * 1.5 if computed else x, axis=0
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("computed", [False, True])
def test_a_sum_that_overflows_is_told_of(
    *, computed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = dnumpy.array(np.full((4, 400_000), 1e308))
    calls = []
    real = columnwise.compute
    monkeypatch.setattr(columnwise, "compute", lambda *given: (calls.append(1), real(*given))[1])
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        found = np.asarray((-x).sum(0) if computed else x.sum(0))
    assert np.isinf(found).all()
    assert calls or choose.config.mode == "split"  # nodes have another runner


@pytest.mark.parametrize("kernels", ["tiled", "numba"])
def test_faults_are_told_by_the_number_of_the_step(
    kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose.config, "kernels", kernels)
    x = np.linspace(-1.0, 1.0, 12 * 90).reshape(12, 90)
    operand = chain(x)
    root = p.apply("sqrt", operand)
    assert root is not None
    total = p.fold("add", root, (0,), keepdims=False)
    assert total is not None
    roots = [p.pick("argmax", operand, 0, keepdims=False), total]
    (stage,) = cut(pending_in_order(roots), roots, GRAIN)
    assert isinstance(stage, FusedStage)
    names = [step.op.name for step in stage.phase.steps]
    assert names.index("argmax") < names.index("sqrt")  # which is another number of a part's
    cuts = columns.columns_of(stage.phase)
    assert cuts is not None
    values = [bound.value_of(given) for given in stage.inputs]
    kernel = choose.kernel_for(stage.phase)
    _, faults = columnwise.compute(kernel, cuts, values, frozenset({"invalid"}))
    assert {(names[number], kind) for number, kind in faults} == {("sqrt", "invalid value")}


def test_what_no_integer_holds_is_told_of() -> None:
    x = np.full((4, 400_000), 1.5)
    x[1, 7] = np.nan
    with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
        expected = x.sum(0, dtype=int)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
        found = np.asarray(dnumpy.array(x).sum(0, dtype=int))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((12, 1), (0,)),  # short rows
        ((4, 900), (1,)),  # rows are no tiles of these
        ((1, 900), (0,)),  # one tile
        ((40, 900), (0, 1)),  # nothing is left to cut
    ],
)
def test_what_gains_nothing_is_left_whole(shape: tuple[int, ...], axis: tuple[int, ...]) -> None:
    x = np.ones(shape)
    root = p.fold("add", leaf(x, x.shape, x.dtype), axis, keepdims=False)
    assert root is not None
    _, _, many = results([root])
    assert not many
