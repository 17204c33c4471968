"""Arrays are put on a device by name, and say where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.runtime import gpus
from tests.runtime import test_gpus
from tests.runtime.paper_device import PaperDevice

pytestmark = pytest.mark.modeless("only the default mode has devices")
gpu, profile = test_gpus.gpu, test_gpus.profile


@pytest.mark.parametrize("values", [[1.5, 2.5], [[1, 2], [3, 4]], 7.0, np.zeros((0, 3))])
def test_an_array_lies_where_it_is_put_and_has_its_values(gpu: PaperDevice, values: Any) -> None:
    want = np.asarray(values)
    x = dnumpy.at(values, dnumpy.GPU(0))
    assert x.device == "gpu-0"
    assert (x.shape, x.dtype) == (want.shape, want.dtype)
    assert dnumpy.at(x, dnumpy.GPU()) is x
    back = dnumpy.at(x, dnumpy.CPU())
    assert back.device == "cpu"
    np.testing.assert_array_equal(np.asarray(back), want)
    np.testing.assert_array_equal(np.asarray(x), want)


def test_what_is_computed_of_it_lies_there_too(gpu: PaperDevice) -> None:
    x = dnumpy.at(np.arange(300.0), dnumpy.GPU(0))
    y = x * 2 + 1
    assert y.device == "cpu"  # it is pending
    engine.flush()
    assert not gpu.fetched
    assert "gpu-0" in y.device
    x[::2] = 0
    np.testing.assert_array_equal(np.asarray(y), np.arange(300.0) * 2 + 1)
    want = np.arange(300.0)
    want[::2] = 0
    np.testing.assert_array_equal(np.asarray(x), want)


def test_a_devices_own_array_is_taken_and_given_without_a_copy(gpu: PaperDevice) -> None:
    theirs = gpu.put(np.arange(12.0).reshape(3, 4))
    sent = list(gpu.sent)
    x = dnumpy.at(theirs, dnumpy.GPU(0))
    assert gpu.sent == sent
    at = theirs.__cuda_array_interface__["data"]
    assert x.__cuda_array_interface__["data"] == at
    assert x[1:].__cuda_array_interface__["data"][0] == at[0] + 4 * 8
    assert x.T.__cuda_array_interface__["shape"] == (4, 3)
    assert not gpu.fetched


class OfAnotherLibrary:
    """What a library's array on a GPU would be, and what of ours it is made of."""

    def __init__(self, paper: Any) -> None:
        self.paper = paper
        self.__dlpack_device__ = paper.__dlpack_device__


def test_from_dlpack_takes_what_lies_on_a_gpu_as_it_is(gpu: PaperDevice) -> None:
    theirs = OfAnotherLibrary(gpu.put(np.arange(12.0).reshape(3, 4)))
    sent = list(gpu.sent)
    x = dnumpy.from_dlpack(theirs)
    assert (x.device, x.shape) == ("gpu-0", (3, 4))
    assert gpu.sent == sent
    assert not gpu.fetched
    given, asked = x.__dlpack__(stream=1)  # of the device's own array
    assert given is theirs.paper
    assert asked == {"stream": 1}
    assert x.__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(np.asarray(x), np.arange(12.0).reshape(3, 4))


def test_what_lies_on_another_gpu_is_copied(
    gpu: PaperDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nodes,) = gpus._found
    assert nodes is not None
    other = PaperDevice("gpu-1")
    monkeypatch.setitem(nodes.devices, "gpu-1", other)
    x = dnumpy.at(OfAnotherLibrary(other.put(np.arange(5.0))), dnumpy.GPU(0))
    assert x.device == "gpu-0"
    assert other.fetched == gpu.sent == [40]
    np.testing.assert_array_equal(np.asarray(x), np.arange(5.0))


def test_arrays_of_this_process_have_no_cuda_interface() -> None:
    x = dnumpy.ones(5)
    assert not hasattr(x, "__cuda_array_interface__")
    assert x.device == np.ones(5).device
    with pytest.raises(AttributeError, match="not writable"):
        x.device = "gpu-0"


def test_a_place_that_is_not_there_is_refused_and_nothing_is_lost(
    gpu: PaperDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = dnumpy.ones(5)
    with pytest.raises(RuntimeError, match=r"GPU\(number=3\).*can use gpu-0"):
        dnumpy.at(x, dnumpy.GPU(3))
    with pytest.raises(TypeError, match=r"expected dnumpy\.CPU"):
        dnumpy.at(x, "gpu")  # type: ignore[arg-type]
    monkeypatch.setattr(gpus, "_found", [None])
    with pytest.raises(RuntimeError, match=r"can use none; pip install 'dnumpy\[gpu-cuda12\]'"):
        dnumpy.at(x, dnumpy.GPU(0))
    assert x.sum() == 5
