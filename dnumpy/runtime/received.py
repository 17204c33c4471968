"""What arrives in messages between workers."""

from __future__ import annotations

from typing import Any


def value_of(received: Any) -> Any:
    """Return what was sent: workers of one process hand each other the wrapped value itself."""
    from distributed.protocol.serialize import Serialize

    return received.data if isinstance(received, Serialize) else received
