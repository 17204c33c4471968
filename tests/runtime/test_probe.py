"""What the probe says of this machine is plausible, kept, and found again."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from itertools import chain, pairwise, permutations, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dnumpy.cost import OP_CLASSES, DeviceProfile
from dnumpy.cost.profile import ONLY_WHEN_CALIBRATED
from dnumpy.runtime import calibrate, machine, measure, probe, profiles

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.alone, pytest.mark.modeless("machines know no modes")]


@pytest.fixture(scope="module")
def here() -> DeviceProfile:
    return probe.measure_here(threads=1)


def test_a_measured_profile_verifies_and_keeps_to_what_machines_can_do(here: DeviceProfile) -> None:
    here.verify()
    assert len(here.bandwidth) == 4
    assert all(1e8 < rate < 1e13 for _, rate in here.bandwidth)
    assert all(1e8 < rate < 1e14 for _, rate in here.gemm_flops_per_second)
    assert all(0.001 < ns < 1000 for ns in here.ns_table("tiled").values())
    assert 0 < here.speed <= 1
    assert 0 < here.free_bytes < 1e14
    assert dict(here.versions)["numpy"]


def test_a_calibrated_profile_says_more_and_verifies(here: DeviceProfile) -> None:
    full = calibrate.calibrated(here, now=5.0)
    full.verify()
    assert full.calibrated
    assert full.measured_at == 5.0
    assert all(0 < getattr(full, name) < 1e13 for name in ONLY_WHEN_CALIBRATED)
    assert {"complex64", "complex128"} < set(dict(full.gemm_flops_per_second))
    compiled = dict(dict(full.ns_per_element)["numba"])
    whole = {"gather", "scatter", "scan", "sort", "fft", "lapack", "matmul", "vector"}
    assert set(compiled) == set(OP_CLASSES) - whole - {"run"}
    assert full.ns_table("numba") != full.ns_table("tiled")
    assert 0 < full.compile_seconds < 60
    assert DeviceProfile.from_json(full.to_json()) == full


def test_a_step_that_a_quota_leaves_no_time_for_keeps_its_old_value(
    here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "allowed_share", lambda _: 1e-3)
    full = calibrate.calibrated(here)
    assert full == replace(here, calibrated=True)


def test_a_calibration_is_kept_for_later_processes(
    tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "DRIFT", 0.9)
    quick_measure(monkeypatch, here)
    asked = []

    def calibrated(
        profile: DeviceProfile, now: float, idle: object, free: Callable[[], float]
    ) -> DeviceProfile:
        assert idle is None
        assert free() > 0
        asked.append(now)
        return replace(profile, calibrated=True, sort_ns=7.0)

    monkeypatch.setattr(calibrate, "calibrated", calibrated)
    for _ in range(2):
        assert profiles.kept_or_calibrated(tmp_path).sort_ns == 7.0
    assert profiles.kept_or_new(tmp_path).calibrated
    assert len(asked) == 1


def test_where_no_file_can_be_written_the_disk_has_no_rate(tmp_path: Path) -> None:
    assert calibrate.disk_rates(str(tmp_path / "not there")) == (0.0, 0.0)


def test_trigonometry_costs_more_than_addition(here: DeviceProfile) -> None:
    ns = here.ns_table("tiled")
    assert ns["trig"] > ns["arith"]


def test_all_threads_of_a_node_are_measured_together() -> None:
    profile = probe.measure_here(threads=2)
    profile.verify()
    assert profile.threads == 2


def test_a_profile_is_measured_once_and_then_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "DRIFT", 0.9)
    first = probe.load_or_measure(tmp_path)
    monkeypatch.setattr(measure, "measure", None)
    second = probe.load_or_measure(tmp_path, name="again")
    assert second.name == "again"
    assert (second.bandwidth, second.measured_at) == (first.bandwidth, first.measured_at)
    assert len(list(tmp_path.rglob("*.json"))) == 1
    assert not list(tmp_path.rglob("*.part"))


def quick_measure(monkeypatch: pytest.MonkeyPatch, answer: DeviceProfile) -> list[str]:
    """Let measuring return ``answer`` at once, and say when it was asked."""
    asked: list[str] = []

    def measured(name: str, threads: int, limit: float | None, *, now: float) -> DeviceProfile:
        asked.append(name)
        return replace(answer, name=name, threads=threads, measured_at=now)

    monkeypatch.setattr(measure, "measure", measured)
    return asked


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"name": 3}', b"\xff\xfe\x00"])
def test_a_corrupt_file_warns_and_is_measured_again(
    content: bytes, tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = quick_measure(monkeypatch, here)
    path = profiles.profile_path(1, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="measuring again"):
        probe.load_or_measure(tmp_path)
    assert len(asked) == 1
    assert profiles.read_profile(path) is not None


def test_a_profile_with_impossible_rates_is_measured_again(
    tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = quick_measure(monkeypatch, here)
    path = profiles.profile_path(1, tmp_path)
    profiles.write_profile(path, replace(here, gather_ns=-1.0))
    with pytest.warns(RuntimeWarning, match="gather_ns"):
        probe.load_or_measure(tmp_path)
    assert len(asked) == 1


@pytest.mark.parametrize("age_days", [8.0, -1.0])
def test_an_old_profile_or_one_from_the_future_is_measured_again(
    age_days: float, tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = quick_measure(monkeypatch, here)
    path = profiles.profile_path(1, tmp_path)
    made = here.measured_at - age_days * 24 * 3600
    profiles.write_profile(path, replace(here, measured_at=made))
    probe.load_or_measure(tmp_path)
    assert len(asked) == 1


def test_a_profile_that_no_longer_holds_is_measured_again(
    tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = quick_measure(monkeypatch, here)
    table = tuple((c, ns * 10) for c, ns in here.ns_per_element[0][1])
    slow = replace(here, ns_per_element=(("tiled", table),))
    profiles.write_profile(profiles.profile_path(1, tmp_path), slow)
    probe.load_or_measure(tmp_path)
    assert len(asked) == 1


def test_a_cache_that_cannot_be_written_warns_and_still_answers(
    tmp_path: Path, here: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_measure(monkeypatch, here)
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profile = probe.load_or_measure(blocked)
    profile.verify()
    assert any("could not be kept" in str(w.message) for w in caught)


def test_what_identifies_a_measurement_has_threads_quota_and_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "cpu_quota", lambda: 0.25)
    quarter = machine.machine_key(1)
    assert "quota=0.250" in quarter
    assert any(part.startswith("numpy=") for part in quarter)
    monkeypatch.setattr(machine, "cpu_quota", lambda: None)
    assert machine.machine_key(1) != quarter
    assert machine.machine_key(2) != machine.machine_key(1)


def test_quotas_of_both_control_group_layouts_are_read_up_to_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "cpu" / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "cpu.cfs_quota_us").write_text("-1\n")
    (inner / "cpu.cfs_period_us").write_text("100000\n")
    (inner.parent / "cpu.cfs_quota_us").write_text("25000\n")
    (inner.parent / "cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "cpu.max").write_text("150000 100000\n")
    memberships = "4:cpu:/outer/inner\n0::/unified\n"
    real_text = machine.text_of

    def text_of(path: Path) -> str | None:
        return memberships if path == Path("/proc/self/cgroup") else real_text(path)

    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "text_of", text_of)
    assert machine.cpu_quota() == 0.25
    (inner.parent / "cpu.cfs_quota_us").write_text("-1\n")
    assert machine.cpu_quota() == 1.5
    (tmp_path / "unified" / "cpu.max").write_text("max 100000\n")
    assert machine.cpu_quota() is None


@pytest.mark.parametrize(("threads", "free"), [(1, 1e11), (2, 1e8), (256, 1e12), (64, 1e6)])
def test_streaming_is_measured_at_four_growing_sizes_within_the_memory(
    threads: int, free: float
) -> None:
    sizes = measure.bandwidth_sizes(threads, free)
    assert len(sizes) == 4
    assert all(a < b for a, b in pairwise(sizes))
    least = 2 * measure.SMALLEST_BYTES * threads
    assert sizes[-1] * threads <= max(least, min(measure.STREAMED_BYTES, free / 8)) + threads


def test_free_memory_keeps_to_what_a_worker_was_told() -> None:
    assert machine.free_bytes(worker_limit=1.0) == 0.0
    assert machine.free_bytes(1e18) == pytest.approx(machine.free_bytes(), rel=0.5)


def quota_group(name: str, share: float) -> Path:
    """Make a control group with a CPU quota, or skip where this machine does not allow it."""
    group = Path("/sys/fs/cgroup/cpu") / name
    try:
        group.mkdir(exist_ok=True)
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))
    except OSError as problem:
        pytest.skip(f"no control group with a CPU quota can be made here: {problem}")
    return group


def _speed_in_group(group: str) -> tuple[float, float]:
    (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
    speed = measure.speed(1)
    machine.quota_is_known = lambda: False  # as where control groups cannot be read
    return measure.delivered_share(1), speed


def windows_of(*shares: float) -> list[measure.Window]:
    return [measure.Window(1000 * share, 1.0, 1e-3) for share in shares]


def test_a_busy_neighbour_in_some_periods_does_not_change_the_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = iter(windows_of(0.3, 0.9, 0.4, 0.5, 0.89))
    monkeypatch.setattr(measure, "_windows", lambda _, count: [next(seen) for _ in range(count)])
    assert measure.delivered_share(1) == pytest.approx(0.9)
    assert not list(seen)


def test_time_in_which_others_have_the_processor_is_left_out_unless_a_quota_may_hide_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(measure, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(machine, "waited_seconds", lambda: 0.8 * clock[0])

    def pause(seconds: float) -> None:
        clock[0] += seconds

    shares = []
    for known in (True, False):
        monkeypatch.setattr(machine, "quota_is_known", lambda known=known: known)
        pauses = chain([1e-5], repeat(1e-3))  # one quick call, as if others had the rest
        window = measure._window(lambda pauses=pauses: pause(next(pauses)))
        shares.append(window.seconds)
    assert shares[1] >= measure.WINDOW_SECONDS
    assert shares[0] < 0.5 * shares[1]


def test_the_speed_is_never_taken_from_one_period(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def windows(_: int, count: int) -> list[measure.Window]:
        asked.append(count)
        return windows_of(*[1 / (sum(asked) + k) for k in range(count)])

    monkeypatch.setattr(measure, "_windows", windows)
    measure.delivered_share(1)
    assert sum(asked) == measure.MOST_WINDOWS


def test_a_quarter_of_a_cpu_is_measured_as_a_quarter() -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    group = quota_group(f"dnumpy-probe-{os.getpid()}", 0.25)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            delivered, speed = pool.submit(_speed_in_group, str(group)).result()
    finally:
        group.rmdir()
    assert delivered < 0.4
    assert 0 < speed <= 0.25


def delivered(*speeds: float, threads: int = 1, cpus: int = 2) -> dict[str, probe.Delivered]:
    return {f"w{k}": probe.Delivered(s, threads, "host", cpus) for k, s in enumerate(speeds)}


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ((1.0, 1.0), (1.0, 1.0)),
        ((1.0, 1.0, 1.0, 1.0), (0.5, 0.5, 0.5, 0.5)),
        ((0.6, 0.6, 0.3, 0.1), (0.6, 0.6, 0.3, 0.1)),
        ((1.0, 1.0, 0.2), (0.9, 0.9, 0.2)),
    ],
)
def test_workers_of_one_host_share_its_processors_and_quotas_leave_them_to_others(
    wanted: tuple[float, ...], got: tuple[float, ...]
) -> None:
    speeds = probe.fair_speeds(delivered(*wanted))
    assert [speeds[f"w{k}"] for k in range(len(got))] == pytest.approx(got)
    elsewhere = probe.Delivered(0.95, 1, "other", 1)
    assert probe.fair_speeds({**delivered(*wanted), "x": elsewhere})["x"] == 0.95


@pytest.mark.cluster
def test_workers_are_probed_where_they_run(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="2GB"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        found = probe.probe_cluster(client, tmp_path)
        assert sorted(found) == sorted(client.scheduler_info()["workers"])
        for address, profile in found.items():
            profile.verify()
            assert profile.name == address
            assert profile.threads == 1
            assert 0 < profile.free_bytes < 2e9
            assert profile.network_bytes_per_second > 1e5
            assert 0 < profile.launch_seconds < 5
        fresh = probe.with_free_memory(client, {**found, "tcp://gone:1": found[address]})
        assert sorted(fresh) == sorted(found)
        assert all(0 < profile.free_bytes < 2e9 for profile in fresh.values())
        full = probe.calibrate_cluster(client, found, tmp_path)
        nodes, more, pairs = probe.probe_tables(cluster.scheduler_address).values()
    for address, profile in full.items():
        profile.verify()
        assert profile.calibrated
        assert profile.speed == found[address].speed
    assert [row["node"] for row in more] == sorted(found)
    assert all(float(row["sort ns/log2"]) > 0 for row in more)
    assert [row["node"] for row in nodes] == sorted(found)
    assert {(row["from"], row["to"]) for row in pairs} == set(permutations(found, 2))
    assert all(float(row["1 MB MB/s"]) > 0 for row in pairs)
    assert list(tmp_path.rglob("*.json"))
