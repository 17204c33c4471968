"""Water-filling is exact."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dnumpy.plan.model import NodeRate, PhaseSpec
from dnumpy.plan.problem import make_problem
from dnumpy.plan.simulate import kept_rows, makespan
from dnumpy.plan.waterfill import common_deadline, finish_seconds, rows_within, waterfill

times = st.one_of(st.just(0.0), st.floats(1e-6, 10.0))


@st.composite
def nodes_of(draw: st.DrawFn) -> list[NodeRate]:
    return [
        NodeRate(f"w{i}", draw(st.floats(1e-6, 10)), draw(times), draw(times), draw(caps_bytes))
        for i in range(draw(st.integers(1, 4)))
    ]


caps_bytes = st.one_of(st.just(float("inf")), st.integers(0, 12).map(float))


@settings(deadline=None)
@given(st.integers(1, 12), nodes_of())
def test_no_split_is_faster_than_the_water_filling_one(rows: int, nodes: list[NodeRate]) -> None:
    spec = PhaseSpec("p", rows, 1.0)
    problem = make_problem(spec, nodes)
    assume(sum(problem.caps) >= rows)
    got = makespan(problem.rows_of(waterfill(problem)), nodes)
    splits = product(*(range(min(cap, rows) + 1) for cap in problem.caps))
    best = min(makespan(split, nodes) for split in splits if sum(split) == rows)
    assert got <= best * (1 + 1e-9)
    assert common_deadline(problem) <= best * (1 + 1e-9)


@given(
    st.floats(1e-6, 10), times, times, st.integers(0, 1000), st.floats(1e-3, 1e4, exclude_min=True)
)
def test_rows_within_a_deadline_are_finished_at_the_deadline(
    row: float, fixed: float, transfer: float, at_home: int, spare: float
) -> None:
    node = NodeRate("w", row, fixed, transfer)
    deadline = fixed + spare
    rows = rows_within(deadline, node, at_home)
    assert abs(finish_seconds(rows, node, at_home) - deadline) <= 1e-9 * deadline


@given(st.data(), st.integers(1, 5), st.integers(0, 40))
def test_kept_rows_are_those_in_both_ranges(data: st.DataObject, n: int, rows: int) -> None:
    def partition() -> list[int]:
        cuts = sorted(data.draw(st.lists(st.integers(0, rows), min_size=n - 1, max_size=n - 1)))
        return [b - a for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]

    def owners(parts: list[int]) -> list[int]:
        return [i for i, count in enumerate(parts) for _ in range(count)]

    before, after = partition(), partition()
    both = list(zip(owners(before), owners(after), strict=True))
    assert kept_rows(before, after) == [both.count((i, i)) for i in range(n)]
