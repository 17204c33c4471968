"""What is sent in messages between workers."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL_BYTES = 1 << 16  # that are copied into a message sooner than they are sent beside it


class Packed(NamedTuple):
    """A small value as bytes: wrapping it as ``distributed`` does takes longer than sending it."""

    head: bytes
    buffers: tuple[bytes, ...]


def value_of(received: Any) -> Any:
    """Return what was sent: workers of one process hand each other the wrapped value itself."""
    from distributed.protocol.serialize import Serialize

    return received.data if isinstance(received, Serialize) else received


def sendable(value: Any) -> tuple[Any, ...]:
    """Return a value as a message takes it."""
    from distributed.protocol.serialize import to_serialize

    beside: list[pickle.PickleBuffer] = []
    try:
        head = pickle.dumps(value, 5, buffer_callback=beside.append)
    except Exception:  # noqa: BLE001 - distributed knows of more ways, and tells why there is none
        return (to_serialize(value),)
    raw = [buffer.raw() for buffer in beside]
    if b"__main__" in head or sum(one.nbytes for one in raw) > SMALL_BYTES:
        return (to_serialize(value),)
    return Packed(head, tuple(map(bytes, raw)))


def sent_value(received: Sequence[Any]) -> Any:
    """Return what was made ``sendable``."""
    if len(received) == 1:
        return value_of(received[0])
    packed = Packed(*received)
    own = map(bytearray, packed.buffers)  # which the reader may write to
    return pickle.loads(packed.head, buffers=own)  # noqa: S301 - from a worker of the same cluster
