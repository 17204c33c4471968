"""Errors that only running can find name the user's line and leave the arrays usable."""

from __future__ import annotations

import inspect
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.api.array import from_expr
from dnumpy.api.record import content
from dnumpy.config import config
from dnumpy.expr.expr import Expr, make
from dnumpy.expr.origin import here
from dnumpy.ops.families import ROWS, Contraction, row
from dnumpy.runtime.dask_cluster import dask_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.api.array import ndarray

pytestmark = pytest.mark.usefixtures("managed")


def refuse(values: np.ndarray) -> np.ndarray:
    """Refuse negative values, as a library might that sees values only when it runs."""
    if (values < 0).any():
        msg = "Matrix is not positive definite"
        raise np.linalg.LinAlgError(msg)
    return np.sort(values)


@pytest.fixture
def op() -> Iterator[Contraction]:
    made = row(Contraction("refuse", call=refuse))
    yield made
    del ROWS["refuse"]


def record(op: Contraction, operand: ndarray) -> tuple[ndarray, int]:
    """Return the recorded operation and the line that recorded it."""
    expr = content(operand)
    made = make(op, (expr,), (), expr.shape, expr.dtype)
    made.origin = here()
    return from_expr(made), made.origin.line


def ramp(start: float) -> ndarray:
    return dnumpy.arange(40.0) + start


def raised(call: Any) -> BaseException:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite") as caught:
        call()
    return caught.value


def test_the_last_line_of_the_traceback_is_the_one_that_recorded(op: Contraction) -> None:
    made, line = record(op, ramp(-3))
    error = raised(lambda: np.asarray(made))
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, line, "record")
    assert last.line is not None
    assert "made.origin = here()" in last.line
    assert error.__notes__ == [f"recorded as refuse at {__file__}:{line}"]


def test_looking_again_raises_again(op: Contraction) -> None:
    made, _ = record(op, ramp(-3))
    later = made + 1
    for call in (lambda: np.asarray(made), lambda: np.asarray(later), lambda: str(made)):
        error = raised(call)
        assert len(error.__notes__) == 1


def test_what_does_not_depend_on_the_failure_is_computed(op: Contraction) -> None:
    x = ramp(-3)
    before, after = x * 2, dnumpy.sqrt(ramp(5))
    made, _ = record(op, x)
    depends = made * 3
    np.testing.assert_array_equal(np.asarray(before), (np.arange(40.0) - 3) * 2)
    np.testing.assert_array_equal(np.asarray(after), np.sqrt(np.arange(40.0) + 5))
    np.testing.assert_array_equal(np.asarray(x), np.arange(40.0) - 3)
    raised(lambda: np.asarray(depends))
    np.testing.assert_array_equal(np.asarray(x + before), 3 * (np.arange(40.0) - 3))


def test_an_array_that_is_never_looked_at_disturbs_nobody(op: Contraction) -> None:
    made, _ = record(op, ramp(-3))
    engine.flush()
    other = ramp(1) * 2
    engine.flush()
    np.testing.assert_array_equal(np.asarray(other), (np.arange(40.0) + 1) * 2)
    raised(lambda: np.asarray(made))


def test_writes_around_a_failure_are_kept(op: Contraction) -> None:
    x = ramp(-3)
    made, _ = record(op, x)
    x[:5] = 7
    x += 1
    raised(lambda: np.asarray(made))
    expected = np.arange(40.0) - 3
    expected[:5] = 7
    np.testing.assert_array_equal(np.asarray(x), expected + 1)
    fixed, _ = record(op, x)
    np.testing.assert_array_equal(np.asarray(fixed), np.sort(expected + 1))


def test_a_failed_value_can_be_replaced(op: Contraction) -> None:
    made, _ = record(op, ramp(-3))
    raised(lambda: np.asarray(made))
    made[...] = 2
    np.testing.assert_array_equal(np.asarray(made), np.full(40, 2.0))


def picky(x: float) -> float:
    if x > 30:
        msg = "too large for this ufunc"
        raise ValueError(msg)
    return x


def test_a_ufunc_of_the_user_names_the_line_of_its_call() -> None:
    from numba import vectorize

    refuses = vectorize(["f8(f8)"])(picky).ufunc
    x = ramp(0)
    made = refuses(x)
    with pytest.raises(ValueError, match="too large") as caught:
        np.asarray(made)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, "made = refuses(x)")


def test_memory_that_is_not_there_is_an_error_of_the_line_that_asked_for_it() -> None:
    x = ramp(0)
    made = dnumpy.broadcast_to(x[:, None], (40, 1 << 40)) * 2.0
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(MemoryError) as caught:
        np.asarray(made)
    assert any(f"{__file__}:{line}" in note for note in caught.value.__notes__)
    np.testing.assert_array_equal(np.asarray(x), np.arange(40.0))


def test_what_no_memory_can_hold_is_refused_by_the_call() -> None:
    huge = dnumpy.broadcast_to(dnumpy.arange(40.0)[:, None], (40, 1 << 50))
    for call in (lambda: dnumpy.array(huge), lambda: huge * 2, lambda: dnumpy.sqrt(huge)):
        with pytest.raises(MemoryError, match="Unable to allocate"):
            call()


def test_an_expression_without_an_origin_fails_as_it_is(op: Contraction) -> None:
    expr = content(ramp(-3))
    made = Expr(op, (expr,), (), expr.shape, expr.dtype)
    error = raised(lambda: engine.compute([made]))
    assert not hasattr(error, "__notes__")


def with_the_op() -> Any:
    """Return a function that enters the op in the table of a worker; it travels by value."""

    def enter(check: str) -> None:
        import numpy as np

        from dnumpy.ops.families import ROWS, Contraction

        def refuse(values: np.ndarray) -> np.ndarray:
            if (values < 0).any():
                raise np.linalg.LinAlgError(check)
            return np.sort(values)

        ROWS["refuse"] = Contraction("refuse", call=refuse)

    return enter


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_an_error_on_a_worker_names_the_line_of_the_user(
    op: Contraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(config, "mode", "default")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(with_the_op(), "Matrix is not positive definite")
        monkeypatch.setattr(engine, "cluster_for", lambda *_, **__: dask_cluster(client))
        x = ramp(-3)
        other = x * 2
        made, line = record(op, x)
        later = made + 1
        np.testing.assert_array_equal(np.asarray(other), (np.arange(40.0) - 3) * 2)
        for _ in range(2):
            error = raised(lambda: np.asarray(later))
            last = traceback.extract_tb(error.__traceback__)[-1]
            assert (last.filename, last.lineno) == (__file__, line)
        x[...] = 5
        np.testing.assert_array_equal(np.asarray(x + other), 5 + (np.arange(40.0) - 3) * 2)


_SIZE = 40
REFUSED: dict[str, Any] = {
    "axis and mask": lambda xp, a: xp.sum(a, axis=1, where=a),
    "mask of numbers": lambda xp, a: xp.min(a, where=a),
    "length of a mask": lambda xp, a: xp.sum(a, where=xp.ones(5, bool)),
    "axes of a mask": lambda xp, a: xp.max(a, where=xp.ones((5, 1), bool)),
    "length of a mask, initial": lambda xp, a: a.max(where=xp.ones(5, bool), initial=0),
    "ufunc.reduce and a mask": lambda xp, a: xp.add.reduce(a, where=xp.ones(5, bool)),
    "std of an initial": lambda xp, a: xp.std(a, initial=0),
    "method std": lambda _xp, a: a.std(foo=0),
    "arguments of a method": lambda _xp, a: a.dot(a, a, a),
    "missing argument": lambda _xp, a: a.dot(),
    "arguments of sort": lambda _xp, a: a.sort(1, 2, 3, 4, 5),
    "arguments of sum": lambda _xp, a: a.sum(0, None, None, False, 1, 2, 3, 4),
    "name in ufunc.reduce": lambda xp, a: xp.add.reduce(a, foo=1),
    "name in ufunc.accumulate": lambda xp, a: xp.add.accumulate(a, foo=1),
    "arguments of ufunc.reduce": lambda xp, a: xp.add.reduce(a, 0, None, None, False, 0, True, 1),
    "attribute of a generator": lambda xp, _a: xp.random.default_rng(0).foo,
    "attribute of a random state": lambda xp, _a: xp.random.RandomState(0).foo,
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_are_refused_in_numpys_words(name: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as theirs:
        REFUSED[name](np, np.arange(float(_SIZE)))
    with pytest.raises(theirs.type) as ours:
        REFUSED[name](dnumpy, dnumpy.arange(float(_SIZE)))
    assert str(ours.value) == str(theirs.value)
