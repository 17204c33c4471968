"""Laws of the cost model."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost import OP_CLASSES, DeviceProfile, Work, peak_bytes, seconds, seconds_per_row
from dnumpy.cost.estimate import first_run, loop_seconds_per_row, other_part, smooth_max
from dnumpy.cost.profile import ONLY_WHEN_CALIBRATED

amounts = st.floats(0.0, 1e6)
rates = st.floats(1e-3, 1e12)


@st.composite
def works(draw: st.DrawFn) -> Work:
    classes = draw(st.lists(st.sampled_from(OP_CLASSES), unique=True))
    return Work(
        rows=draw(st.integers(0, 10**9)),
        flops=draw(amounts),
        bytes_read=draw(amounts),
        bytes_written=draw(amounts),
        loops=tuple((c, draw(amounts)) for c in classes),
        workspace_bytes_per_row=draw(amounts),
        fixed_bytes=draw(amounts),
        dtype=draw(st.sampled_from(["float64", "float32", "int8", "complex128", "object"])),
    )


@st.composite
def profiles(draw: st.DrawFn) -> DeviceProfile:
    points = []
    size, took = 1e3, 0.0
    for _ in range(draw(st.integers(1, 5))):
        size *= draw(st.floats(1.5, 100.0))
        took = max(took, size / draw(st.floats(1e6, 1e12)))
        points.append((size, size / took))
    table = tuple((c, draw(st.floats(1e-3, 1e3))) for c in OP_CLASSES)
    return DeviceProfile(
        name="device",
        kind="cpu",
        threads=draw(st.integers(1, 64)),
        bandwidth=tuple(points),
        gemm_flops_per_second=(("float64", draw(rates)), ("float32", draw(rates))),
        ns_per_element=(("tiled", table),),
        gather_ns=draw(st.floats(0.1, 100.0)),
        launch_seconds=draw(st.floats(0.0, 1.0)),
        compile_seconds=draw(st.floats(0.0, 1.0)),
        free_bytes=draw(st.floats(0.0, 1e12)),
        network_bytes_per_second=draw(rates),
        network_latency_seconds=draw(st.floats(0.0, 1.0)),
        speed=draw(st.floats(0.01, 1.0)),
        versions=(("numpy", "2.4.6"),),
        measured_at=draw(st.floats(0.0, 2e9)),
    )


@given(works(), profiles(), st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_rows_never_take_less_time_or_memory(
    work: Work, profile: DeviceProfile, a: int, b: int
) -> None:
    few, many = sorted((a, b))
    assert seconds(work, profile, few) <= seconds(work, profile, many) * (1 + 1e-9)
    assert peak_bytes(work, few) <= peak_bytes(work, many)


@given(work=works(), part=st.floats(0.0, 1.0), profile=profiles(), rows=st.floats(1, 1e9))
def test_what_is_read_again_takes_no_time_and_its_memory(
    work: Work, part: float, profile: DeviceProfile, rows: float
) -> None:
    shifted = replace(work, bytes_again=part * work.bytes_read)
    assert seconds(shifted, profile, rows) <= seconds(work, profile, rows) * (1 + 1e-9)
    again = shifted.bytes_again
    room = work.workspace_bytes_per_row + again  # a random read has it as far
    once = replace(work, bytes_read=work.bytes_read - again, workspace_bytes_per_row=room)
    assert seconds(shifted, profile, rows) == pytest.approx(seconds(once, profile, rows), rel=1e-6)
    assert peak_bytes(shifted, rows) == peak_bytes(work, rows)


@given(works(), profiles())
def test_a_slower_node_takes_longer_in_proportion(work: Work, profile: DeviceProfile) -> None:
    whole, half = replace(profile, speed=1.0), replace(profile, speed=0.5)
    busy = seconds(work, whole, 1000) - profile.launch_seconds
    slowed = seconds(work, half, 1000) - profile.launch_seconds
    assert slowed == pytest.approx(2 * busy, abs=1e-12)


@given(works(), profiles(), st.integers(1, 10**9))
def test_rows_times_seconds_per_row_is_the_time_beyond_the_launch(
    work: Work, profile: DeviceProfile, rows: int
) -> None:
    total = profile.launch_seconds + rows * seconds_per_row(work, profile, rows)
    assert total == pytest.approx(seconds(work, profile, rows))


@given(st.lists(st.floats(0.0, 1e200), min_size=1, max_size=5))
def test_the_smooth_maximum_is_near_the_maximum(parts: list[float]) -> None:
    soft = smooth_max(parts, 4.0)
    assert max(parts) * (1 - 1e-12) <= soft <= max(parts) * len(parts) ** 0.25 * (1 + 1e-12)
    assert smooth_max(parts, 1.0) == pytest.approx(math.fsum(parts))


@given(st.floats(0.0, 1e6), st.floats(1e-6, 1e6), st.floats(1.0, 4.0))
def test_the_other_part_of_a_norm_gives_the_norm_again(
    part: float, busy: float, exponent: float
) -> None:
    whole = smooth_max((part, busy), exponent)
    assert smooth_max((part, other_part(whole, part, exponent)), exponent) == pytest.approx(whole)
    assert other_part(part, whole, exponent) == 0.0


@given(profiles())
def test_a_profile_survives_json(profile: DeviceProfile) -> None:
    profile.verify()
    assert DeviceProfile.from_json(profile.to_json()) == profile


@given(profiles(), st.floats(0.0, 1e15))
def test_bandwidth_lies_between_the_measured_ones(profile: DeviceProfile, size: float) -> None:
    measured = [rate for _, rate in profile.bandwidth]
    got = profile.bandwidth_at(size)
    assert min(measured) * (1 - 1e-9) <= got <= max(measured) * (1 + 1e-9)


@given(profiles())
def test_bandwidth_at_a_measured_size_is_the_measured_one(profile: DeviceProfile) -> None:
    for size, rate in profile.bandwidth:
        assert profile.bandwidth_at(size) == pytest.approx(rate)


@pytest.mark.parametrize(
    "broken",
    [
        {"speed": 0.0},
        {"speed": math.nan},
        {"launch_seconds": -1.0},
        {"bandwidth": ((1e6, 1e9), (1e5, 1e9))},
        {"bandwidth": ((1e6, 1e9), (2e6, 1e10))},
        {"gemm_flops_per_second": (("float32", 1e9),)},
        {"ns_per_element": (("numba", (("arith", 1.0),)),)},
        {"ns_per_element": (("tiled", (("arith", 1.0),)),)},
    ],
)
def test_a_profile_that_cannot_be_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="profile of device"):
        replace(sample_profile(), **broken).verify()  # type: ignore[arg-type]


def sample_profile() -> DeviceProfile:
    return DeviceProfile(
        name="device",
        kind="cpu",
        threads=1,
        bandwidth=((1e6, 4e10), (1e9, 1e10)),
        gemm_flops_per_second=(("float32", 1e11), ("float64", 5e10)),
        ns_per_element=(
            ("tiled", tuple((c, 2.0) for c in OP_CLASSES)),
            ("numba", (("arith", 0.5),)),
        ),
        gather_ns=5.0,
        launch_seconds=1e-4,
        compile_seconds=0.1,
        free_bytes=1e9,
        network_bytes_per_second=1e9,
        network_latency_seconds=1e-3,
    )


def test_a_lowering_costs_its_own_rates_and_the_tiled_ones_where_it_has_none() -> None:
    profile = sample_profile()
    arith = Work(rows=1, loops=(("arith", 1e6),))
    trig = Work(rows=1, loops=(("trig", 1e6),))
    launch = profile.launch_seconds
    tiled, numba = (seconds(arith, profile, 1, low) - launch for low in ("tiled", "numba"))
    assert tiled == pytest.approx(4 * numba)
    assert seconds(trig, profile, 1, "numba") == seconds(trig, profile, 1, "tiled")


def test_work_adds_up_over_the_same_rows_only() -> None:
    a = Work(10, 1.0, 8.0, 8.0, (("exp", 1.0),), 2.0, 100.0)
    b = Work(10, 2.0, 0.0, 8.0, (("arith", 3.0), ("exp", 1.0)), 1.0, 5.0)
    both = a + b
    assert both.loops == (("arith", 3.0), ("exp", 2.0))
    assert (both.flops, both.bytes_read, both.bytes_written) == (3.0, 8.0, 16.0)
    assert both.bytes_per_row == a.bytes_per_row + b.bytes_per_row
    assert both.fixed_bytes == 105.0
    with pytest.raises(ValueError, match="two phases"):
        a + Work(11)


def test_work_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes_read"):
        Work(1, bytes_read=-1.0).verify()
    with pytest.raises(ValueError, match="unknown op classes"):
        Work(1, loops=(("magic", 1.0),)).verify()


@given(profiles(), st.floats(0.0, 1e12), st.floats(0.0, 1e12))
def test_reading_at_random_costs_more_the_larger_the_table(
    profile: DeviceProfile, a: float, b: float
) -> None:
    less, more = sorted((a, b))
    inside = profile.ns_table("tiled")["gather"]
    slow = profile.gather_ns_at(more)
    assert inside * (1 - 1e-9) <= profile.gather_ns_at(less) <= slow * (1 + 1e-9)
    assert slow <= max(inside, profile.gather_ns) * (1 + 1e-9)


def test_a_gather_from_a_large_table_takes_what_such_reads_were_measured_to_take() -> None:
    profile = replace(sample_profile(), gather_ns=50.0)
    loops = (("gather", 1.0),)
    inside = loop_seconds_per_row(Work(1000, loops=loops, fixed_bytes=1e3), profile, "tiled")
    beyond = loop_seconds_per_row(Work(1000, loops=loops, fixed_bytes=1e9), profile, "tiled")
    assert inside == pytest.approx(profile.ns_table("tiled")["gather"] * 1e-9)
    assert beyond == pytest.approx(50e-9)


def test_a_file_of_an_earlier_version_still_loads() -> None:
    import json

    text = json.loads(sample_profile().to_json())
    for name in (*ONLY_WHEN_CALIBRATED, "idle_bytes", "calibrated"):
        del text[name]
    assert DeviceProfile.from_json(json.dumps(text)) == sample_profile()


@given(
    st.floats(1e-4, 1e3), st.floats(1e-4, 1e3), st.floats(0, 1), st.floats(0, 1), st.integers(1, 64)
)
def test_a_run_that_becomes_compiled_lies_between_both_ways_and_what_compiling_takes(
    tiled: float, compiled: float, begins: float, compiling: float, threads: int
) -> None:
    found = first_run(tiled, compiled, begins, compiling, threads).seconds
    assert found >= min(tiled, compiled) * (1 - 1e-9)
    assert found <= (tiled + compiling / threads) * (1 + 1e-9)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 64))
def test_a_first_run_over_more_rows_takes_no_less(
    begins: float, compiling: float, more: float, threads: int
) -> None:
    took = [first_run(t, t / 3, begins, compiling, threads).seconds for t in (0.1, 0.1 + more)]
    assert took[0] <= took[1] * (1 + 1e-9)


def test_a_run_that_ends_before_anything_is_compiled_takes_what_it_does_tiled() -> None:
    assert first_run(0.5, 0.1, 0.6, 1.0, 2) == (0.5, 0.5, 1.0)


@given(st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 64))
def test_a_first_run_in_parts_takes_what_it_does_at_once(
    tiled: float, part: float, begins: float, compiling: float, threads: int
) -> None:
    """As of a loop, in whose runs compiling goes on."""
    whole = first_run(tiled, tiled / 3, begins, compiling, threads)
    one = first_run(part * tiled, part * tiled / 3, begins, compiling, threads)
    rest = tiled * (1 - part)
    two = first_run(rest, rest / 3, max(begins - one.ran, 0.0), one.left, threads)
    assert math.isclose(one.seconds + two.seconds, whole.seconds, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(one.ran + two.ran, whole.ran, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(two.left, whole.left, rel_tol=1e-9, abs_tol=1e-12)


@given(works(), profiles(), st.floats(0, 1), st.floats(1, 1e6))
def test_short_calls_wait_for_the_interpreter_only_tiled_and_among_others(
    work: Work, profile: DeviceProfile, waits: float, rows: float
) -> None:
    profile = replace(profile, call_seconds=waits)
    calling = replace(work, calls=2.0)
    alone = seconds(calling, profile, rows, together=False)
    assert alone == seconds(work, profile, rows)
    expected = alone + rows * 2.0 * waits / profile.speed
    assert math.isclose(seconds(calling, profile, rows), expected, rel_tol=1e-9)
    assert seconds(calling, profile, rows, "numba") == seconds(work, profile, rows, "numba")


@given(works(), profiles(), st.floats(1, 1e6), st.floats(1, 1e9), st.floats(1e6, 1e10))
def test_reading_files_takes_at_least_what_the_disk_does_for_all_threads(
    work: Work, profile: DeviceProfile, rows: float, each: float, rate: float
) -> None:
    work = replace(work, loops=())  # what is held tells how far apart random reads lie
    reading = replace(work, passing_bytes_per_row=each)
    unknown = replace(profile, disk_read_bytes_per_second=0.0)
    known = replace(profile, disk_read_bytes_per_second=rate)
    assert seconds(reading, unknown, rows) == seconds(work, unknown, rows)
    assert seconds(work, known, rows) == seconds(work, unknown, rows)
    least = rows * each * profile.threads / rate
    took = seconds(reading, known, rows)
    assert took >= least * (1 - 1e-9)
    assert took >= seconds(work, known, rows) * (1 - 1e-9)
    faster = replace(known, disk_read_bytes_per_second=2 * rate)
    assert seconds(reading, faster, rows) <= took * (1 + 1e-9)
