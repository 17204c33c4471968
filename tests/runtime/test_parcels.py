"""What travels between nodes lies aligned where it arrives, without a copy of what is large."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dnumpy.runtime.operands import Made
from dnumpy.runtime.parcels import Packed

ROWS = (np.arange(5.0), np.arange(6))


@pytest.mark.parametrize("sent", [Packed(ROWS), Made(ROWS, (), 1.0, frozenset())])
def test_no_array_is_the_first_buffer_of_a_message(sent: Packed | Made) -> None:
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    assert [buffer.raw().nbytes for buffer in buffers] == [1, *(rows.nbytes for rows in ROWS)]
    arrived = pickle.loads(text, buffers=[bytearray(buffer.raw()) for buffer in buffers])
    assert type(arrived) is type(sent)
    for one, other in zip(arrived.rows, ROWS, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("sent", [Packed(ROWS), Made(ROWS, (), 1.0, frozenset())])
def test_what_lies_behind_headers_of_any_length_arrives_aligned(sent: Packed | Made) -> None:
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(sent, protocol=5, buffer_callback=buffers.append)
    shifted = [memoryview(b"x" + bytes(buffer.raw()))[1:] for buffer in buffers]
    arrived = pickle.loads(text, buffers=shifted)
    assert all(rows.flags.aligned for rows in arrived.rows)
