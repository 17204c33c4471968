"""Iteration over arrays on nodes: NumPy's elements, in its order, a block at home at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import flat
from tests.comparison import assert_as_numpy
from tests.gathering import on_nodes, spread_out
from tests.strategies import EXACT, arrays, filled_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("managed")


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    kept, flat.BLOCK = flat.BLOCK, 7
    yield
    flat.BLOCK = kept


def counted(it: Any) -> list[Any]:
    """Return what an iterator tells at every step."""
    found = []
    while not it.finished:
        found.append((it.multi_index, it.iterindex, it[0].item(), it.value.item()))
        it.iternext()
    return found


def closed(it: Any) -> Any:
    """Return an iterator after it was closed."""
    it.close()
    return it


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "flat": lambda _, a: list(a.flat),
    "ndenumerate": lambda np_, a: list(np_.ndenumerate(a)),
    "rows": lambda _, a: [row.tolist() for row in a],
    "elements": lambda _, a: list(a.reshape(-1)),
    "line": lambda _, a: list(a[:, 0]),
    "unpacked": lambda _, a: [*a[0], *a[-1]],
    "sorted": lambda _, a: sorted(a[-1], key=abs),
    "nditer": lambda np_, a: [x.item() for x in np_.nditer(a)],
    "nditer-in-a-list": lambda np_, a: [x.item() for x in np_.nditer([a], order="C")],
    "nditer-columns": lambda np_, a: [x.item() for x in np_.nditer(a, order="F")],
    "nditer-transposed": lambda np_, a: [x.item() for x in np_.nditer(a.T)],
    "nditer-reversed": lambda np_, a: [x.item() for x in np_.nditer(a[::-1], order="C")],
    "nditer-counted": lambda np_, a: counted(np_.nditer(a, ["multi_index"])),
    "nditer-index": lambda np_, a: counted(
        np_.nditer(a, flags=["multi_index", "c_index"], op_flags=["readonly"])
    ),
}


@pytest.mark.parametrize("name", sorted(WAYS))
def test_iteration_is_numpys_and_brings_home_blocks(name: str) -> None:
    values = np.random.default_rng(2).random((30, 8))
    expected = WAYS[name](np, values)
    with spread_out() as meter:
        found = WAYS[name](dnumpy, on_nodes(values))
        assert meter.most() < values.nbytes / 8, meter.gathered
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


@given(arrays(st.sampled_from(EXACT), filled_shapes), st.data())
def test_every_view_is_iterated_over_in_numpys_order(values: np.ndarray, data: Any) -> None:
    order = data.draw(st.permutations(range(values.ndim)))
    step = data.draw(st.sampled_from([1, 2, -1, -2]))
    way = data.draw(st.sampled_from("CFKA"))

    def program(np_: Any) -> Any:
        a = np_.array(values).transpose(order)[::step]
        walk = np_.nditer(a, ["multi_index"], order=way)
        return list(a.flat), list(np_.ndenumerate(a)), [(walk.multi_index, int(x)) for x in walk]

    assert_as_numpy(program)


ITERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "flat": lambda _, a: a.flat,
    "ndenumerate": lambda np_, a: np_.ndenumerate(a),
    "elements": lambda _, a: iter(a),
    "nditer": lambda np_, a: map(float, np_.nditer(a)),
}


@pytest.mark.parametrize("name", sorted(ITERATORS))
def test_an_element_is_read_when_it_is_reached(name: str) -> None:
    def program(np_: Any) -> Any:
        a = np_.arange(40.0)
        found = []
        shown = None
        for k, x in enumerate(ITERATORS[name](np_, a)):
            found.append(x)
            if k == 3:
                a[5:7] = -1
            if k == 9:
                a[::3] += 100  # through a view
            if k == 20:
                shown = np.asarray(a)
            if shown is not None:
                shown[k : k + 2] = k  # in memory that it shares
        return found, a * 1

    assert_as_numpy(program)


def test_iterators_stop_and_stay_stopped() -> None:
    def program(np_: Any) -> Any:
        a = np_.arange(12.0).reshape(3, 4)
        found = []
        for it in (a.flat, np_.ndenumerate(a), iter(a[0]), np_.nditer(a)):
            found += [sum(1 for _ in it), next(it, "none")]
        return found

    assert_as_numpy(program)


def test_arrays_without_elements_and_without_axes_are_numpys() -> None:
    for shape in ((0,), (3, 0), ()):
        for call in (
            lambda np_, a: list(np_.ndenumerate(a)),
            lambda np_, a: [x.item() for x in np_.nditer(a, ["zerosize_ok"])],
            lambda np_, a: np_.nditer(a).itersize,
            lambda _, a: [row.shape for row in a],
        ):
            assert_as_numpy(lambda np_, c=call, s=shape: c(np_, np_.ones(s)))


def test_nditer_answers_as_numpys() -> None:
    def program(np_: Any) -> Any:
        a = np_.arange(24.0).reshape(4, 6)
        it = np_.nditer(a, ["multi_index"])
        next(it), next(it)
        other = it.copy()
        it.iterindex = 11
        place = it.multi_index, it.value.item(), it.value.flags.writeable, it.value.shape
        it.multi_index = (1, 1)
        with it:
            facts = it.ndim, it.nop, it.shape, it.itersize, it.dtypes, len(it), it.has_index
            slices = [x.item() for x in it[:]]
        it = other
        it.remove_multi_index()
        it.enable_external_loop()
        return place, facts, slices, [x.tolist() for x in it], isinstance(it, np_.nditer)

    assert_as_numpy(program)


@pytest.mark.parametrize(
    "use",
    [
        lambda np_, a: closed(np_.nditer(a)).operands,
        lambda np_, a: closed(np_.nditer(a)).value,
        lambda np_, a: np_.nditer(a, ["no flag"]),
        lambda np_, a: np_.nditer(a).multi_index,
        lambda np_, a: np_.nditer(a)[3],
        lambda np_, a: [np_.nditer(a).close()],
        lambda np_, a: np_.nditer(a).value.__setitem__((), 3),
        lambda np_, a: np_.nditer(a, order="Q"),
        lambda np_, a: np_.ndenumerate(a, a),
        lambda np_, _: np_.nditer(),
    ],
)
def test_what_numpy_refuses_is_refused(use: Callable[[Any, Any], Any]) -> None:
    assert_as_numpy(lambda np_: use(np_, np_.arange(40.0)))


def test_writing_iterators_write() -> None:
    def program(np_: Any) -> Any:
        a = np_.arange(40.0)
        with np_.nditer(a, op_flags=["readwrite"]) as it:
            for x in it:
                x[...] = 2 * x
        return a * 1, [x.tolist() for x in np_.nditer(a, ["external_loop"])]

    assert_as_numpy(program)
