"""Where arrays lie: ``at`` puts them on a device, where other libraries take them without a copy.

Nobody has to say where anything lies: what is worth it goes to a GPU by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import calls, creation
from dnumpy.api.array import exported, from_expr, ndarray
from dnumpy.expr.expr import leaf
from dnumpy.runtime import gpus
from dnumpy.runtime.chunked import Chunked, Part, Source

if TYPE_CHECKING:
    from dnumpy.runtime.devices import Devices

_HERE = "cpu"
_ASKED = frozenset({"device", "copy"})  # by name
_CUDA_KINDS = frozenset({2, 13})  # what DLPack calls memory of CUDA's devices, and managed memory


@dataclass(frozen=True, slots=True)
class CPU:
    """The memory of this process."""

    def __str__(self) -> str:
        """Return the node's name."""
        return _HERE


@dataclass(frozen=True, slots=True)
class GPU:
    """A GPU of this machine, by its number."""

    number: int = 0

    def __str__(self) -> str:
        """Return the node's name."""
        return f"gpu-{self.number}"


def at(x: Any, place: CPU | GPU) -> ndarray:
    """Return an array with the same content that lies in the memory of a device.

    Parameters
    ----------
    x : array_like
        Also an array of CuPy's, or of any other library's that has ``__cuda_array_interface__`` or
        DLPack's methods, on a GPU. On the same one it is taken as it is: without a copy, and as if
        nobody wrote to it any more.
    place : CPU or GPU

    Returns
    -------
    ndarray
        ``x`` itself where it already lies there.

    Raises
    ------
    TypeError
        ``place`` is neither a CPU nor a GPU.
    RuntimeError
        There is no such GPU, or none that can be used.

    Examples
    --------
    >>> import dnumpy as np
    >>> np.at([1.0, 2.0], np.CPU()).device
    'cpu'
    """
    if not isinstance(place, CPU | GPU):
        msg = f"at(x, place): place is {place!r}, expected dnumpy.CPU() or dnumpy.GPU(number)"
        raise TypeError(msg)
    if isinstance(place, CPU):
        return x if _lies_here(x) else _made(x)
    nodes = gpus.devices_here()
    name = str(place)
    if nodes is None or name not in nodes.devices:
        there = ", ".join(nodes.devices) if nodes is not None else "none"
        msg = (
            f"at(x, {place!r}): of this machine's GPUs dnumpy can use {there}; pip install "
            "'dnumpy[gpu-cuda12]' or 'dnumpy[gpu-cuda13]' for an NVIDIA GPU with its driver"
        )
        raise RuntimeError(msg)
    device = nodes.devices[name]
    if type(x) is ndarray and resident(x) is not None and where(x) == name:
        return x
    own = None if type(x) is ndarray else device.taken(x)
    data = device.put(_here(x, nodes)) if own is None else device.adjacent(own)
    return _lying(data, name, nodes)


def _lying(data: Any, name: str, nodes: Devices) -> ndarray:
    """Return a device's own array as one of ours."""
    shape, dtype = tuple(data.shape), data.dtype
    rows = shape[0] if shape else 1
    source = Source(shape, dtype)
    value = Chunked(shape, dtype, (Part(name, 0, rows, data),), source, nodes)
    return from_expr(leaf(value, shape, dtype))


def _here(x: Any, nodes: Devices) -> np.ndarray:
    """Return the content of an array, of any GPU's too, in the memory of this process."""
    if type(x) is not ndarray:
        for device in nodes.devices.values():
            theirs = device.taken(x)
            if theirs is not None:
                return device.get(theirs)
    content: np.ndarray = calls.unwrap(creation.asarray(None, x))
    return content


def from_dlpack(*args: Any, **kwargs: Any) -> Any:
    """As ``numpy.from_dlpack``; what lies on a GPU stays there, and is not copied unless asked."""
    if len(args) == 1 and not kwargs and type(args[0]) is ndarray:
        (x,) = args
        if x._np is not None or resident(x) is None:
            return calls.wrap_result(np.from_dlpack(exported(x)))
    stays = len(args) == 1 and not kwargs.keys() - _ASKED and kwargs.get("device") is None
    if not stays or not _lies_on_a_gpu(args[0]):
        return calls.run(np.from_dlpack, args, kwargs)
    (x,) = args
    place = GPU(int(x.__dlpack_device__()[1]))
    taken = at(x, place)
    if kwargs.get("copy"):
        return _copied_there(taken, str(place))
    return taken[...] if taken is x else taken


def _copied_there(x: ndarray, name: str) -> ndarray:
    """Return a copy in the same memory, made at once: others may write to what it is of."""
    nodes, own = gpus.devices_here(), resident(x)
    assert nodes is not None
    device = nodes.devices[name]
    data = device.empty(tuple(own.shape), own.dtype)
    device.assign(data, own)
    return _lying(data, name, nodes)


def _lies_on_a_gpu(x: Any) -> bool:
    return hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in _CUDA_KINDS


def where(x: ndarray) -> str:
    """Return the names of the devices on which an array's rows lie; what is pending lies nowhere.

    NumPy's ``device`` is ``cpu``, and so is this for all that is in the memory of this process, on
    its way there, or on the workers of a cluster.
    """
    value = _value(x)
    names = getattr(value.home, "devices", None) if value is not None else None
    if value is None or names is None:
        return _HERE
    found = dict.fromkeys(
        part.node if part.node in names and names[part.node].holds(part.data) else _HERE
        for part in value.parts
    )
    return "+".join(found)


def resident(x: ndarray) -> Any:
    """Return the device's own array, where all of ``x`` lies on one device; None elsewhere."""
    value = _value(x)
    devices = getattr(value.home, "devices", None) if value is not None else None
    if value is None or devices is None or len(value.parts) != 1:
        return None
    (part,) = value.parts
    device = devices.get(part.node)
    if device is None or not device.holds(part.data):
        return None
    return part.data if x._geo is None else device.view(x._geo, part.data)


def _value(x: ndarray) -> Chunked | None:
    if x._np is not None:
        return None
    value = x._buf.expr.value
    return value if type(value) is Chunked else None


def _lies_here(x: Any) -> bool:
    return type(x) is ndarray and where(x) == _HERE


def _made(x: Any) -> ndarray:
    made: ndarray = creation.asarray(None, calls.unwrap(x))
    return made


def _cuda_array_interface(self: ndarray) -> Any:
    """Return the description of an array that lies on one GPU; raises AttributeError elsewhere."""
    found = resident(self)
    if found is None:
        msg = "only an array that lies on a GPU as a whole has __cuda_array_interface__"
        raise AttributeError(msg)
    engine.flush()  # pending work may still be about to write
    return found.__cuda_array_interface__


def install() -> None:
    """Give the class its places; run once when the package is imported."""

    def refuse(_self: ndarray, _value: Any) -> None:
        msg = "attribute 'device' of 'numpy.ndarray' objects is not writable"
        raise AttributeError(msg)

    ndarray.device = property(where, refuse)
    ndarray.__cuda_array_interface__ = property(_cuda_array_interface)


install()
