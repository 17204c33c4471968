"""Workers that cannot run this process's tasks are named, and others used."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import cloudpickle
import pytest

from dnumpy.errors import ClusterWarning, WorkersDiffer
from dnumpy.runtime import versions
from dnumpy.runtime.dask_runs import Members

HERE = {"python": "3.11.7.final.0", "numpy": "2.4.6"}


class Told:
    """A client whose workers tell these packages, and this version of dnumpy."""

    def __init__(self, packages: dict[str, dict[str, str | None]], own: dict[str, str | None]):
        self.packages, self.own = packages, own

    def sync(self, function: Any, **how: Any) -> Any:
        return function(**how)

    @property
    def scheduler(self) -> Told:
        return self

    def broadcast(self, msg: Any, workers: list[str], on_error: str) -> dict[str, Any]:
        assert msg["op"] == "versions"
        assert on_error == "ignore"
        self.asked = workers
        return {address: {"packages": self.packages[address]} for address in workers}

    def run(self, _function: Any, workers: list[str], on_error: str) -> dict[str, str | None]:
        assert on_error == "ignore"
        return {address: self.own[address] for address in workers}

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.packages, 1)


@pytest.fixture(autouse=True)
def _packages_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "packages_here", lambda: HERE)


def client_of(**workers: tuple[dict[str, str | None], str | None]) -> Told:
    packages = {name: {**HERE, **found} for name, (found, _) in workers.items()}
    return Told(packages, {name: own for name, (_, own) in workers.items()})


def test_what_differs_is_told() -> None:
    mine = versions.own_version()
    client = client_of(
        good=({"numpy": "2.4.1"}, mine),
        bits=({"numpy": "2.3.6"}, mine),
        older=({"python": "3.10.1.final.0"}, mine),
        lacking=({}, None),
        other=({}, "0.0.0"),
    )
    found = versions.unfit_workers(client, list(client.packages))  # type: ignore[arg-type]
    assert found == {
        "bits": "NumPy 2.3.6 there, 2.4.6 here",
        "older": "Python 3.10.1.final.0 there, 3.11.7.final.0 here",
        "lacking": "dnumpy cannot be imported there",
        "other": f"dnumpy 0.0.0 there, {mine} here",
    }


def test_nobody_else_is_asked() -> None:
    mine = versions.own_version()
    client = client_of(silent=({}, mine), new=({}, mine))
    assert versions.unfit_workers(client, {"new"}) == {}  # type: ignore[arg-type]
    assert client.asked == ["new"]


def test_workers_that_differ_are_left_out_with_a_warning_once() -> None:
    mine = versions.own_version()
    members = Members(client_of(good=({}, mine), lacking=({}, None)))  # type: ignore[arg-type]
    with pytest.warns(ClusterWarning, match="lacking: dnumpy cannot be imported there"):
        assert members.responsive() == {"good": 1}
    assert members.responsive() == {"good": 1}


def test_where_no_worker_can_be_used_the_error_names_each() -> None:
    members = Members(client_of(lacking=({}, None), bits=({"numpy": "1.26.4"}, None)))  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(WorkersDiffer, match=r"bits: NumPy 1.26.4 there.*lacking: dnumpy"):
            members.responsive()


def test_a_process_without_dnumpy_is_asked_all_the_same() -> None:
    asked = cloudpickle.dumps(versions._by_value(versions.own_version))  # type: ignore[arg-type]
    program = f"import sys, pickle; sys.modules['dnumpy'] = None; print(pickle.loads({asked!r})())"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "None"
