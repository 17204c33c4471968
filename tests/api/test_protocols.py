"""How other libraries meet our arrays."""

from __future__ import annotations

import copy
import hashlib
import io
import operator
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api.array import concrete
from tests.gathering import on_nodes, spread_out

pytestmark = pytest.mark.usefixtures("managed")
ASKS_FOR_BUFFERS = native.built or sys.version_info >= (3, 12)
needs_buffers = pytest.mark.skipif(
    not ASKS_FOR_BUFFERS, reason="before Python 3.12 only classes made in C have buffers"
)


def made() -> Any:
    return dnumpy.arange(40.0) * 2


def test_asarray_shares_memory_both_ways() -> None:
    x = made()
    host = np.asarray(x)
    host[0] = 7
    assert x[0] == 7
    x[1] = 8
    x += 1
    assert host[1] == 9
    assert (x * 2)[0] == 16


@pytest.mark.parametrize("pending", [False, True])
def test_of_a_large_array_on_nodes_a_little_part_comes_alone(
    monkeypatch: pytest.MonkeyPatch, pending: bool
) -> None:
    monkeypatch.setattr("dnumpy.api.array.LARGE_BYTES", 1)
    values = np.arange(4000.0).reshape(400, 10)
    with spread_out() as meter:
        x = on_nodes(values)
        x = x * 2 if pending else x
        values = values * 2 if pending else values
        meter.gathered.clear()
        for key in (-1, slice(None, None, 100), (slice(3), slice(2)), (slice(None), 4)):
            part = np.asarray(x[key])
            np.testing.assert_array_equal(part, values[key])
            assert not part.flags.writeable
        assert meter.most() <= values.nbytes / 10
        np.asarray(x[:300])[0] = 7  # what is much comes with all of it, and is shared
        assert x[0, 3] == 7


def test_array_of_numpy_copies() -> None:
    x = made()
    host = np.array(x)
    host[0] = 7
    assert x[0] == 0


def test_asarray_again_and_again_is_the_same_memory() -> None:
    x = made()
    assert np.shares_memory(np.asarray(x), np.asarray(x))
    assert np.shares_memory(np.asarray(x[3:]), np.asarray(x))


def test_copy_false_refuses_what_is_not_computed() -> None:
    x = made()
    if not ASKS_FOR_BUFFERS:  # which are no copies
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            np.asarray(x, copy=False)
    concrete(x)
    assert np.shares_memory(np.asarray(x, copy=False), np.asarray(x))


def test_asarray_casts() -> None:
    assert np.asarray(made(), dtype="i4").dtype == np.int32
    assert np.asarray(made(), np.float64).dtype == np.float64


@needs_buffers
@pytest.mark.parametrize("size", [5, 400_000])
@pytest.mark.parametrize("dtype", ["i8", "f4", "c16", "?", "U3", ">i4", "i4,f8"])
def test_code_in_c_finds_the_memory_of_an_array(dtype: str, size: int) -> None:
    ours, numpys = dnumpy.ones(size, dtype), np.ones(size, dtype)
    view = memoryview(ours)
    assert (view.format, view.shape, view.strides) == (
        (numpys.data.format, numpys.shape, numpys.strides)
    )
    assert bytearray(ours) == bytearray(numpys) == b"".join([ours])
    assert hashlib.sha256(ours).digest() == hashlib.sha256(numpys).digest()
    assert io.BytesIO().write(ours) == numpys.nbytes
    assert np.asarray(ours).dtype == numpys.dtype


@needs_buffers
@pytest.mark.parametrize("size", [5, 400_000])
def test_a_buffer_and_the_array_see_what_is_written_to_the_other(size: int) -> None:
    x = dnumpy.arange(size) * 2
    view = memoryview(x)
    view[0] = 7
    x[1] = 8
    assert (x[0], view[1]) == (7, 8)
    x.flags.writeable = False
    assert memoryview(x).readonly
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(8)).readinto(x)


@needs_buffers
def test_memory_that_is_no_buffer_is_refused_as_numpy_refuses_it() -> None:
    for module in (np, dnumpy):
        with pytest.raises(ValueError, match="ndarray is not C-contiguous"):
            hashlib.sha256(module.arange(6)[::2])
        with pytest.raises(ValueError, match="cannot include dtype 'M' in a buffer"):
            memoryview(module.zeros(2, "M8[s]"))


def test_numpys_functions_read_fields_of_several_axes() -> None:
    dtype = [("c", "f8", (2, 5)), ("n", "i4")]
    written, expected = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(written, dnumpy.zeros(3, dtype))
    np.lib.format.write_array(expected, np.zeros(3, dtype))
    assert written.getvalue() == expected.getvalue()


def test_a_list_that_holds_itself_is_an_object() -> None:
    first: list[object] = []
    first.append([first])
    for module in (np, dnumpy):
        held = module.array([None])
        held[0] = first
        with pytest.raises(ValueError, match="datetime"):
            held.astype("M8")
        assert held[0] is first


def test_the_buffer_protocol_dlpack_and_interfaces_show_the_values() -> None:
    x = made()
    assert memoryview(x.data).nbytes == x.nbytes
    np.testing.assert_array_equal(np.from_dlpack(x), np.arange(40.0) * 2)
    assert x.__dlpack_device__() == np.empty(0).__dlpack_device__()
    assert x.ctypes.data == np.asarray(x).ctypes.data
    assert bytes(x.tobytes()) == (np.arange(40.0) * 2).tobytes()


def test_numpys_functions_return_our_arrays() -> None:
    x = made()
    assert type(np.concatenate([x, x])) is dnumpy.ndarray
    assert type(np.cumsum(x)) is dnumpy.ndarray
    assert type(np.where(x > 3, x, 0)) is dnumpy.ndarray
    assert type(np.linalg.norm(x)) is not np.ndarray
    np.testing.assert_allclose(x, np.arange(40.0) * 2)
    np.testing.assert_array_equal(np.sort(-x), np.sort(np.arange(40.0) * -2))


def test_isinstance_takes_numpys_arrays_and_ours() -> None:
    assert isinstance(made(), dnumpy.ndarray)
    assert isinstance(np.zeros(3), dnumpy.ndarray)
    assert not isinstance([1], dnumpy.ndarray)
    assert issubclass(np.matrix, dnumpy.ndarray)


def test_a_subclass_of_our_array_is_numpys_subclass() -> None:
    class Named(dnumpy.ndarray):
        pass

    x = np.arange(5).view(Named)
    assert isinstance(x, dnumpy.ndarray)
    assert type(x + 1) is Named


@pytest.mark.parametrize("shape", [(40,), (5, 8), (0, 40), (2,), ()])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies_are_equal_and_separate(shape: tuple[int, ...], protocol: int) -> None:
    x = dnumpy.full(shape, 3.0)
    for other in (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x)):
        assert type(other) is dnumpy.ndarray
        assert (other.shape, other.dtype) == (x.shape, x.dtype)
        other[...] = 0
        np.testing.assert_array_equal(concrete(x), np.full(shape, 3.0))


def test_pickles_are_of_ours_and_load_as_equal_values_of_views() -> None:
    x = made()[::-2].reshape(4, 5).T
    np.testing.assert_array_equal(concrete(pickle.loads(pickle.dumps(x))), concrete(x))


def test_the_array_api_namespace_is_dnumpy() -> None:
    assert made().__array_namespace__() is dnumpy
    with pytest.raises(ValueError, match="not supported"):
        made().__array_namespace__(api_version="1999.01")


def test_saving_and_loading_keep_values(tmp_path: Any) -> None:
    x = made().reshape(5, 8)
    dnumpy.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), concrete(x))
    loaded = dnumpy.load(tmp_path / "x.npy")
    assert type(loaded) is dnumpy.ndarray
    np.testing.assert_array_equal(concrete(loaded), concrete(x))
    mapped = dnumpy.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(concrete(mapped + 1), concrete(x) + 1)
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1
    dnumpy.savez(tmp_path / "z.npz", x=x, y=x + 1)
    with dnumpy.load(tmp_path / "z.npz") as both:
        np.testing.assert_array_equal(concrete(dnumpy.asarray(both["y"])), concrete(x) + 1)


def test_notebooks_show_the_text_that_numpy_shows() -> None:
    x = made()
    shown = [name for name in dir(x) if name.startswith(("_repr", "_ipython"))]
    assert shown == [name for name in dir(np.ones(3)) if name.startswith(("_repr", "_ipython"))]
    assert not hasattr(x, "_repr_html_")


def test_other_libraries_take_our_arrays() -> None:
    pandas = pytest.importorskip("pandas")
    x = made()
    frame = pandas.DataFrame({"x": x})
    assert frame["x"].sum() == x.sum()
    assert (pandas.Series(np.arange(40.0)) + x).iloc[3] == 9


def test_scipy_takes_our_arrays() -> None:
    special = pytest.importorskip("scipy.special")
    x = made() / 80
    np.testing.assert_allclose(concrete(special.erf(x)), special.erf(np.arange(40.0) / 40))


@pytest.mark.parametrize("dtype", ["i8", "u1", "f4", "U3", "?"])
def test_the_bytes_of_an_array_are_its_memory(dtype: str) -> None:
    values = np.arange(40).astype(dtype)
    for part in (slice(None), slice(3, 30, 4)):
        assert bytes(dnumpy.array(values)[part]) == bytes(values[part])


def test_to_numpy_is_the_same_memory() -> None:
    array = dnumpy.arange(12.0).reshape(3, 4)[:, ::2] * 1
    plain = array.to_numpy()
    assert type(plain) is np.ndarray
    plain[0, 0] = 7
    assert float(array[0, 0]) == 7
    array[1, 1] = -3
    assert plain[1, 1] == -3


def test_matplotlib_draws_columns_as_columns() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import cbook

    values = np.arange(12.0).reshape(4, 3)
    expected = cbook._reshape_2D(values, "x")
    found = cbook._reshape_2D(dnumpy.array(values) + 0, "x")
    assert [list(map(float, column)) for column in found] == [list(c) for c in expected]


class _Rows:
    """A sequence of arrays that is neither a list nor an array itself."""

    def __init__(self, xp: Any) -> None:
        self._rows = xp.array([[1, 2], [3, 4]])

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> Any:
        return self._rows[at]


@pytest.mark.parametrize(
    "name",
    [
        "concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "histogramdd",
        "lexsort", "mean", "sum", "cov", "block", "array", "sort", "unique", "linalg.norm",
    ],
)  # fmt: skip
def test_a_function_takes_a_sequence_of_another_kind_that_holds_arrays(name: str) -> None:
    theirs, ours = (operator.attrgetter(name)(xp)(_Rows(xp)) for xp in (np, dnumpy))
    if type(theirs) is not tuple:
        theirs, ours = (theirs,), (ours,)
    for x, y in zip(theirs, ours, strict=True):
        assert np.array_equal(np.asarray(y), np.asarray(x))
