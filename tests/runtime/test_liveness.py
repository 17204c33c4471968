"""No order in which stages may run one by one holds more than is told, and something holds it."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from dnumpy.runtime.liveness import most_live


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]], set[int]]:
    """Stages of some sizes, each of which reads some of those before it, and those that stay."""
    sizes = draw(st.lists(st.floats(0, 100), max_size=8))
    numbers = range(len(sizes))
    pairs = st.sampled_from([(a, b) for b in numbers for a in range(b)] or [(0, 0)])
    reads = draw(st.lists(pairs, max_size=12)) if len(sizes) > 1 else []
    kept = draw(st.sets(st.sampled_from(numbers))) if sizes else set()
    return sizes, reads, kept


@given(programs())
def test_stage_after_stage_holds_no_more(
    program: tuple[list[float], list[tuple[int, int]], set[int]],
) -> None:
    sizes, reads, kept = program
    held = 0.0
    for number, size in enumerate(sizes):
        live = [
            sizes[made]
            for made in range(number)
            if made in kept or any(a == made and b >= number for a, b in reads)
        ]
        held = max(held, sum(live) + size)
    told = most_live(sizes, reads, kept)
    assert held <= told * (1 + 1e-9) + 1e-9
    assert told <= sum(sizes) * (1 + 1e-9) + 1e-9


@given(programs(), st.integers(0, 1000))
def test_what_is_kept_counts_to_the_end(
    program: tuple[list[float], list[tuple[int, int]], set[int]], seed: int
) -> None:
    sizes, reads, kept = program
    more = kept | {k for k in range(len(sizes)) if random.Random(seed + k).random() < 0.5}
    assert most_live(sizes, reads, kept) <= most_live(sizes, reads, more) * (1 + 1e-9)
    assert most_live(sizes, reads, range(len(sizes))) == sum(sizes) or abs(
        most_live(sizes, reads, range(len(sizes))) - sum(sizes)
    ) <= 1e-9 * sum(sizes)


def test_a_loop_holds_two_of_its_steps_however_long_it_is() -> None:
    sizes = [100.0] * 50
    reads = [(k, k + 1) for k in range(49)]
    assert most_live(sizes, reads, {49}) == 200.0


def test_what_waits_for_nothing_may_all_be_there_at_once() -> None:
    # fifty arrays are made and each is read once: one by one they are let go of, but a node that
    # waits for another goes on with the next
    sizes = [100.0, 1.0] * 50
    reads = [(2 * k, 2 * k + 1) for k in range(50)]
    assert most_live(sizes, reads, ()) >= 5000.0
    assert most_live([], [], ()) == 0.0
