"""Packages that look at the class of an array: ours give what NumPy's give there."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import standards

if TYPE_CHECKING:
    import types
    from collections.abc import Callable

    Use = Callable[[types.ModuleType, Any], Any]


def picture(xp: types.ModuleType) -> Any:
    return (xp.arange(64 * 64 * 3) % 251).astype(xp.uint8).reshape(64, 64, 3)


def numbers(xp: types.ModuleType) -> Any:
    return xp.arange(12.0).reshape(3, 4)


def many(xp: types.ModuleType) -> Any:
    return xp.arange(400_000) * 0.5


def drawn(xp: types.ModuleType, cv2: Any) -> Any:
    canvas = xp.zeros((400, 400, 3), xp.uint8) + xp.uint8(1)
    cv2.rectangle(canvas, (5, 5), (20, 20), (255, 0, 0), 2)
    cv2.circle(canvas[50:90, 50:90], (20, 20), 7, (1, 2, 3), -1)
    canvas += xp.uint8(1)
    return canvas


def written_by_opencv(xp: types.ModuleType, cv2: Any) -> Any:
    target = xp.zeros((64, 64, 3), xp.uint8)
    cv2.add(picture(xp), picture(xp), target)
    return target


def filtered(xp: types.ModuleType, cv2: Any) -> Any:
    kalman = cv2.KalmanFilter(2, 1)
    kalman.transitionMatrix = xp.array([[1, 1], [0, 1]], xp.float32)
    kalman.measurementMatrix = xp.array([[1, 0]], xp.float32)
    kalman.predict()
    return kalman.correct(xp.array([[1.0]], xp.float32))


def shared_with_torch(xp: types.ModuleType, torch: Any) -> Any:
    array = many(xp)
    tensor = torch.from_numpy(array)
    array[1] = 5
    tensor[2] = 7
    array *= 2
    tensor += 1
    return array


def collated(xp: types.ModuleType, torch: Any) -> Any:
    rows = [(row, xp.float64(2), row.sum()) for row in numbers(xp)]
    return [part.numpy() for part in next(iter(torch.utils.data.DataLoader(rows, batch_size=3)))]


def written_by_numexpr(xp: types.ModuleType, numexpr: Any) -> Any:
    source, target = many(xp), xp.zeros(400_000)  # noqa: F841 - found by its name
    numexpr.evaluate("source * 2 + 1", out=target)
    return target, numexpr.evaluate("sum(source)")


def run_by_onnx(xp: types.ModuleType, onnxruntime: Any) -> Any:
    helper = pytest.importorskip("onnx").helper
    inputs, outputs = (helper.make_tensor_value_info(name, 1, [3, 4]) for name in "xy")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "g", [inputs], [outputs]
    )
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": numbers(xp).astype(xp.float32)})


def changed_by_polars(xp: types.ModuleType, pl: Any) -> Any:
    frame = pl.DataFrame({"a": [1, 2, 3, 4]})
    frame = frame.with_columns(pl.Series("b", numbers(xp)[1]), c=numbers(xp)[0])
    return frame.filter(numbers(xp)[0] > 1)[xp.array([1, 0])].to_numpy()


def trained_by_lightgbm(xp: types.ModuleType, lightgbm: Any) -> Any:
    rows = xp.arange(600.0).reshape(200, 3) % 17
    data = lightgbm.Dataset(rows, label=rows[:, 0])
    return lightgbm.train({"verbose": -1, "num_threads": 1}, data, 2).predict(rows)


USES: dict[str, list[Use]] = {
    "cv2": [
        drawn,
        written_by_opencv,
        filtered,
        lambda xp, cv2: cv2.resize(picture(xp), (8, 8)),
        lambda xp, cv2: cv2.imdecode(cv2.imencode(".png", picture(xp))[1], 1),
        lambda xp, cv2: cv2.inRange(picture(xp), xp.array([0, 0, 0]), xp.array([99, 99, 99])),
        lambda xp, cv2: cv2.merge(cv2.split(picture(xp))),
        lambda xp, cv2: cv2.calcHist([picture(xp)], [0], None, [4], [0, 256]),
        lambda xp, cv2: cv2.createCLAHE().apply(picture(xp)[..., 0]),
        lambda xp, cv2: cv2.dnn.blobFromImage(picture(xp)),
        lambda xp, cv2: cv2.norm(numbers(xp)),
    ],
    "jax": [
        lambda xp, jax: jax.jit(lambda x, s: x * s)(numbers(xp), many(xp).sum()),
        lambda xp, jax: jax.grad(lambda x: (x**2).sum())(numbers(xp).astype(xp.float32)),
        lambda xp, jax: jax.jit(lambda x: x + numbers(xp))(jax.numpy.ones((3, 4))),
        lambda xp, jax: jax.vmap(lambda x: x.sum())(numbers(xp)),
        lambda xp, jax: jax.numpy.stack([numbers(xp), jax.numpy.sin(numbers(xp))]),
        lambda xp, jax: jax.numpy.arange(5)[xp.array([0, 2])],
        lambda xp, jax: jax.numpy.zeros(3).at[xp.array([1])].set(numbers(xp)[0, 1]),
        lambda xp, jax: jax.lax.scan(lambda c, x: (c + x.sum(), c), 0.0, numbers(xp) * 1)[0],
    ],
    "lightgbm": [trained_by_lightgbm],
    "numexpr": [written_by_numexpr],
    "onnxruntime": [run_by_onnx],
    "polars": [
        changed_by_polars,
        lambda xp, pl: (pl.Series([1.0, 2.0, 3.0, 4.0]) + numbers(xp)[0]).to_numpy(),
        lambda xp, pl: pl.from_numpy(numbers(xp)).to_numpy(),
        lambda xp, pl: pl.DataFrame(numbers(xp), schema=list("abcd")).to_numpy(),
        lambda xp, pl: pl.Series([1, 2, 3]).is_in(xp.array([1, 3])).to_numpy(),
        lambda xp, pl: pl.DataFrame({"a": [1]}).with_columns(pl.lit(many(xp).sum())).to_numpy(),
    ],
    "pyarrow": [
        lambda xp, pa: pa.array(numbers(xp)[0], mask=numbers(xp)[0] > 1).fill_null(-1).to_pylist(),
        lambda xp, pa: pa.scalar(many(xp).sum()).as_py(),
        lambda xp, pa: pa.table({"x": numbers(xp)[0], "y": many(xp)[:4]}).to_pydict()["y"],
    ],
    "skimage": [
        lambda xp, _: skimage("transform").hough_line(numbers(xp) > 3)[0],
        lambda xp, _: skimage("filters").gaussian(numbers(xp), 1),
        lambda xp, _: skimage("measure").label(numbers(xp) > 3),
    ],
    "torch": [
        shared_with_torch,
        collated,
        lambda xp, torch: torch.asarray(many(xp)).numpy(),
        lambda xp, torch: (torch.ones(3, 4, dtype=torch.float64) + numbers(xp)).numpy(),
        lambda xp, torch: torch.arange(5)[xp.array([0, 2])].numpy(),
    ],
}


def skimage(name: str) -> Any:
    return pytest.importorskip(f"skimage.{name}")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("package", "number"), [(name, k) for name, uses in USES.items() for k in range(len(uses))]
)
def test_what_looks_at_the_class_takes_ours_for_numpys(package: str, number: int) -> None:
    module = pytest.importorskip(package)
    use = USES[package][number]
    got, expected = use(dnumpy, module), use(np, module)
    if not isinstance(expected, list | tuple):
        got, expected = [got], [expected]
    assert len(got) == len(expected)
    for ours, numpys in zip(got, expected, strict=True):
        assert np.asarray(ours).dtype == np.asarray(numpys).dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(numpys), rtol=1e-12)


@pytest.mark.parametrize(
    "before", ["", "import pyarrow", "import importlib.util as u; u.find_spec('pyarrow')"]
)
def test_a_package_may_have_been_imported_or_looked_for(before: str) -> None:
    pytest.importorskip("pyarrow")
    program = f"""
{before}
import dnumpy as np, importlib.util
importlib.util.find_spec("pyarrow")
import pyarrow
print(pyarrow.array(np.arange(3), mask=np.arange(3) > 1).to_pylist())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[0, 1, None]\n"


class _Old:
    """An array of a class that was written for NumPy 1: its wrapper takes no context."""

    __array_priority__ = 1000

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values

    def __array_wrap__(self, array: Any) -> _Old:
        return _Old(array)


def test_a_wrapper_is_given_no_more_arguments_than_it_takes() -> None:
    with pytest.deprecated_call():
        found = dnumpy.add(_Old(np.ones(2)), dnumpy.ones(2))
    assert type(found) is _Old
    np.testing.assert_array_equal(found.values, [2.0, 2.0])


@pytest.mark.parametrize(
    "layer", ["scipy._lib.array_api_compat", "sklearn.externals.array_api_compat"]
)
def test_ours_are_of_numpys_namespace_to_the_array_apis_layer(layer: str) -> None:
    compat = pytest.importorskip(layer)
    x = dnumpy.arange(4.0)
    numpys = compat.array_namespace(np.ones(2))
    assert compat.array_namespace(x, np.ones(2), x.sum(), np.float32(2)) is numpys
    assert compat.is_numpy_array(x)
    assert compat.is_array_api_obj(x)
    assert not compat.is_numpy_array([1.0])
    assert compat.device(x) == "cpu"
    assert compat.to_device(x, "cpu") is x


def test_a_layer_of_the_array_api_from_before_it_looked_classes_up_is_taught() -> None:
    module = ModuleType("old.array_api_compat.common._helpers")
    exec(
        "import numpy as np\ndef is_numpy_array(x): return isinstance(x, np.ndarray)", vars(module)
    )
    standards.teach(module)
    assert module.is_numpy_array(dnumpy.ones(2))
    assert not module.is_numpy_array([1.0])
