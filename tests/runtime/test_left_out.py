"""explain says who of the CPU and the GPUs gets nothing, and what both would take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.runtime import gpus, sending
from dnumpy.runtime.sending import pays as sending_pays
from tests.plan.test_rates import PROFILE
from tests.runtime import test_gpus

if TYPE_CHECKING:
    from tests.runtime.paper_device import PaperDevice

pytestmark = pytest.mark.modeless("only the default mode has devices")
gpu, profile = test_gpus.gpu, test_gpus.profile


def told_of(y: Any) -> tuple[str, dict[str, Any]]:
    """Return the one line of who is left out, and what the dictionary has of it."""
    told = dnumpy.explain(y)
    (left,) = told.to_dict()["left_out"]
    (line,) = [line for line in str(told).splitlines() if "left out" in line]
    assert line in told.html()
    return line.strip(), left


def test_explain_says_that_the_cpu_is_left_out_and_what_both_would_take(
    gpu: PaperDevice,
) -> None:
    y = dnumpy.exp(dnumpy.at(np.linspace(0.0, 1.0, 4000), dnumpy.GPU(0))) * 2
    line, left = told_of(y)
    assert line.startswith("cpu is left out, as it does not pay: it would take ")
    assert left["node"] == "cpu"
    assert left["chosen"] == "gpu-0"
    assert left["seconds"] > left["chosen_seconds"] > 0
    assert not gpu.phases  # nothing ran


@pytest.mark.parametrize("measured", [True, False])
def test_explain_says_that_a_gpu_is_left_out_and_what_both_would_take(
    gpu: PaperDevice, monkeypatch: pytest.MonkeyPatch, *, measured: bool
) -> None:
    (nodes,) = gpus._found
    assert nodes is not None
    far = replace(nodes.profiles["gpu-0"], network_bytes_per_second=1e6)
    monkeypatch.setitem(nodes.profiles, "gpu-0", far)
    monkeypatch.setattr(sending, "pays", sending_pays)
    monkeypatch.setattr(sending, "LITTLE_BYTES", 0)
    monkeypatch.setattr("dnumpy.api.explanation.engine.profile_here", lambda: PROFILE)
    if not measured:
        monkeypatch.setattr(gpus, "_found", [])
        monkeypatch.setattr(gpus, "_possible", [True])
    line, left = told_of(dnumpy.exp(dnumpy.array(np.linspace(0.0, 1.0, 4000))) * 2)
    name = "gpu-0" if measured else "gpu"
    assert line.startswith(f"{name} is left out, as it does not pay: it would take ")
    assert (left["node"], left["chosen"]) == (name, "cpu")
    assert left["seconds"] > left["chosen_seconds"] > 0
    assert not gpu.phases


def test_explain_says_nothing_of_who_gets_rows(gpu: PaperDevice) -> None:
    nodes = gpus._found[0]
    assert nodes is not None
    y = dnumpy.exp(dnumpy.array(np.linspace(0.0, 1.0, 400_000))) * 2
    told = dnumpy.explain(y)
    used = {node for stage in told.stages for node, rows in stage["where"] if rows}
    assert used.isdisjoint(left["node"] for left in told.left_out)
