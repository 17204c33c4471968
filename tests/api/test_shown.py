"""What our classes tell of the module that they are from, and where they are found."""

from __future__ import annotations

import copy
import pickle

import cloudpickle
import numpy as np

import dnumpy


def test_classes_are_told_to_be_numpys_and_found_where_they_are() -> None:
    values = dnumpy.arange(3)
    for mine, theirs in (
        (values, np.arange(3)),
        (dnumpy.add, np.add),
        (values.flat, np.arange(3).flat),
    ):
        kind = type(mine)
        assert kind.__module__ == type(theirs).__module__
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(kind, protocol)) is kind
            assert pickle._loads(pickle._dumps(kind, protocol)) is kind  # type: ignore[attr-defined]
        assert pickle.loads(cloudpickle.dumps(kind)) is kind
        assert copy.deepcopy([kind]) == [kind]


def test_a_function_annotated_with_the_class_is_sent_with_it() -> None:
    def annotated(x: dnumpy.ndarray) -> dnumpy.ndarray:
        return x

    annotated.__annotations__["x"] = dnumpy.ndarray
    sent = pickle.loads(cloudpickle.dumps(annotated))
    assert sent.__annotations__["x"] is dnumpy.ndarray
