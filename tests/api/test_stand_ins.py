"""Questions of shape and dtype are answered as NumPy answers them, and compute nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.stand_ins import Converter
from tests.comparison import assert_as_numpy, grid

pytestmark = pytest.mark.usefixtures("managed")


def test_a_deferred_scalar_keeps_its_value_when_it_is_converted() -> None:
    total = grid(dnumpy).sum()
    given, pending = Converter(total, grid(dnumpy)).as_arrays()
    assert float(given) == 66.0
    assert type(pending) is dnumpy.ndarray
    np.testing.assert_array_equal(pending, grid(np))


@pytest.mark.parametrize("scalars", [(3.0, 2), (np.float32(1), 5), (2, 3)])
def test_operands_are_told_to_be_scalars_or_not_as_numpy_tells(scalars: Any) -> None:
    theirs = vars(np)["_core"]._multiarray_umath._array_converter
    for given in (scalars, (*scalars, grid(np))):
        ours = tuple(dnumpy.asarray(x) if isinstance(x, np.ndarray) else x for x in given)
        assert Converter(*ours).scalar_input == theirs(*given).scalar_input
        assert Converter(*ours).result_type() == theirs(*given).result_type()
        assert len(Converter(*ours)) == len(given)


def test_questions_of_dtype_and_shape_equal_numpys() -> None:
    def program(xp: Any) -> Any:
        a, b = grid(xp), grid(xp).astype("f4")
        return [
            xp.result_type(a, b), xp.result_type(b, 1.0), xp.can_cast(a.dtype, b.dtype),
            xp.common_type(b, b), xp.min_scalar_type(7), xp.ndim(a), xp.shape(a), xp.size(a, 1),
            xp.iscomplexobj(a * 1j), xp.isrealobj(a), xp.isscalar(a), xp.isscalar(a.sum()),
            xp.iterable(a), xp.einsum_path("ij,jk", a, a.T)[0],
        ]  # fmt: skip

    assert_as_numpy(program)


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize(
    "name", ["diagflat", "ediff1d", "average", "kron", "gradient", "nan_to_num"]
)
def test_arrays_in_a_list_keep_their_values_when_it_is_converted(name: str) -> None:
    found, expected = (
        getattr(xp, name)([xp.arange(12.0) + 1, xp.arange(12.0) ** 2], *[[1.0]] * (name == "kron"))
        for xp in (dnumpy, np)
    )
    np.testing.assert_array_equal(np.asarray(found), expected)
