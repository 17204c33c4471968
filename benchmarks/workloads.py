"""Eight programs for a cluster: their data, what they do, and what they cannot do without.

The data are generated where they will lie, by the same arithmetic under NumPy, dnumpy and
``dask.array``, so that all three start from equal bits (:class:`Field`). Small operands are made by
the client, as a user would. Results the size of the data stay in the cluster; small ones come home.
``dask.array`` runs the same text where it can, and the nearest form that it has otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy

from benchmarks.bound import Step
from dnumpy.cost.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

SWEEPS = 8  # of Jacobi
STEPS = 3  # of Lloyd's algorithm
DESCENTS = 10  # of logistic regression
CENTRES, AXES = 16, 4
COLUMNS = 1_000
FEATURES = 20
ITEM = 8.0  # bytes of a float64
STRIDES = (0.6180339887498949, 0.7548776662466927, 0.5698402909980532)


@dataclass(frozen=True, slots=True)
class Field:
    """Evenly spread values in [0, 1), a function of their indices alone.

    Attributes
    ----------
    shape : tuple of int
        One or two axes.
    number : int
        Fields of different numbers have different values.
    low, span : float
        The values become ``low + span * value``.
    threshold : float or None
        Where given, the values become 1.0 above it, else 0.0.
    """

    shape: tuple[int, ...]
    number: int = 0
    low: float = 0.0
    span: float = 1.0
    threshold: float | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return int(numpy.prod(self.shape)) * int(ITEM)

    def made(self, np: Any) -> Any:
        """Return the values as an array of this module."""
        columns = np.arange(self.shape[1]) if len(self.shape) > 1 else None
        return self.at(np.arange(self.shape[0]), columns)

    def chunked(self, chunks: Any) -> Any:
        """Return the values as an array of ``dask.array`` in these chunks."""
        sizes = sizes_of(chunks, self)
        axes = [da.arange(n, chunks=(size,)) for n, size in zip(self.shape, sizes, strict=True)]
        return self.at(axes[0], axes[1] if len(axes) > 1 else None)

    def at(self, rows: Any, columns: Any | None) -> Any:
        """Return the values at these indices."""
        step = STRIDES[self.number % 3] * (1 + self.number // 3)
        values = (rows + 1) * step
        if columns is not None:
            values = values[:, None] + (columns * STRIDES[(self.number + 1) % 3])[None, :]
        values = values % 1.0
        if self.threshold is not None:
            return (values > self.threshold) * 1.0
        if (self.low, self.span) == (0.0, 1.0):
            return values
        return self.low + self.span * values


def sizes_of(chunks: Any, each: Field) -> tuple[tuple[int, ...], ...]:
    """Return the length of every chunk along each axis."""
    sizes: tuple[tuple[int, ...], ...] = da.core.normalize_chunks(  # type: ignore[no-untyped-call]
        chunks, each.shape, dtype=float
    )
    return sizes


@dataclass(frozen=True, slots=True)
class Workload:
    """A program of any array module.

    Attributes
    ----------
    name, title : str
    fields : callable
        ``fields(scale)`` returns the arrays that lie in the cluster.
    run : callable
        ``run(np, *arrays)`` returns one result; the arrays are the fields, then the small ones.
    steps : callable
        ``steps(*fields)`` returns what has to be done at least.
    dask : callable
        ``dask(*arrays)`` does the same with ``dask.array``.
    small : callable
        ``small()`` returns operands that the client has; each engine is given them once.
    stays : bool
        Whether the result stays in the cluster; otherwise it is small, and observed at home.
    rtol : float
        Relative tolerance of the comparison with NumPy, of the largest element.
    """

    name: str
    title: str
    fields: Callable[[float], tuple[Field, ...]]
    run: Callable[..., Any]
    steps: Callable[..., tuple[Step, ...]]
    dask: Callable[..., Any]
    small: Callable[[], tuple[numpy.ndarray, ...]] = tuple
    stays: bool = False
    rtol: float = 1e-9


def scaled(size: int, scale: float) -> int:
    """Return ``size`` times ``scale``, at least 64."""
    return max(int(size * scale), 64)


def three_vectors(scale: float) -> tuple[Field, ...]:
    """Return the operands of the fused multiply-add."""
    return tuple(Field((scaled(32_000_000, scale),), number) for number in range(3))


def fma_sum(_: Any, a: Any, b: Any, c: Any) -> Any:
    """Sum a product and an addend."""
    return (a * b + c).sum()


def fma_steps(a: Field, *_: Field) -> tuple[Step, ...]:
    """Read three, multiply, add, add up."""
    loops = (("arith", 2.0), ("reduce", 1.0))
    return (Step(Work(a.shape[0], bytes_read=3 * ITEM, loops=loops)),)


def normalise(_: Any, x: Any) -> Any:
    """Give every row mean 0 and standard deviation 1."""
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / x.std(axis=1, keepdims=True)


def normalise_steps(x: Field) -> tuple[Step, ...]:
    """Read once, write once: a row fits the cache. Two reductions, three operations, a division."""
    rows, columns = x.shape
    loops = (("arith", 3.0 * columns), ("div", 1.0 * columns), ("reduce", 2.0 * columns))
    moved = ITEM * columns
    return (Step(Work(rows, bytes_read=moved, bytes_written=moved, loops=loops)),)


def jacobi(_: Any, plate: Any) -> Any:
    """Sweep in place, as in-place slices."""
    u = plate.copy()
    for _sweep in range(SWEEPS):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def swept(block: numpy.ndarray) -> numpy.ndarray:
    """Return one sweep of a block, whose edge stays."""
    out = block.copy()
    out[1:-1, 1:-1] = 0.25 * (
        block[:-2, 1:-1] + block[2:, 1:-1] + block[1:-1, :-2] + block[1:-1, 2:]
    )
    return out


def dask_jacobi(plate: Any) -> Any:
    """Sweep with halos of one row and one column."""
    for _ in range(SWEEPS):
        plate = plate.map_overlap(swept, depth=1, boundary="none", dtype=float)
    return plate


def jacobi_steps(plate: Field) -> tuple[Step, ...]:
    """Read and write the plate once in each sweep; three additions and a product."""
    rows, columns = plate.shape
    moved = ITEM * columns
    work = Work(rows, bytes_read=moved, bytes_written=moved, loops=(("arith", 4.0 * columns),))
    return (Step(work, SWEEPS),)


def start_centres() -> numpy.ndarray:
    """Return where the centres are at first."""
    return numpy.asarray(Field((CENTRES, AXES), 5).made(numpy))


def kmeans(np: Any, points: Any) -> Any:
    """Take steps of Lloyd's algorithm."""
    centres = np.asarray(start_centres())
    for _ in range(STEPS):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        count = np.bincount(label, minlength=CENTRES)
        sums = [
            np.bincount(label, weights=points[:, axis], minlength=CENTRES) for axis in range(AXES)
        ]
        centres = np.stack(sums, axis=1) / np.maximum(count, 1)[:, None]
    return centres


def dask_kmeans(points: Any) -> Any:
    """Take steps of Lloyd's algorithm; the centres come home after each."""
    centres = start_centres()
    for _ in range(STEPS):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        count = da.bincount(label, minlength=CENTRES)
        sums = [
            da.bincount(label, weights=points[:, axis], minlength=CENTRES) for axis in range(AXES)
        ]
        count, *sums = da.compute(count, *sums)  # type: ignore[no-untyped-call]
        centres = numpy.stack(sums, axis=1) / numpy.maximum(count, 1)[:, None]
    return centres


def kmeans_steps(points: Field) -> tuple[Step, ...]:
    """Read the points once in each step; difference, square, sum and comparison per centre."""
    pairs = float(CENTRES * AXES)
    loops = (
        ("arith", 2 * pairs),
        ("compare", float(CENTRES)),
        ("reduce", pairs),
        ("scatter", 1.0 + AXES),
    )
    return (Step(Work(points.shape[0], bytes_read=ITEM * AXES, loops=loops), STEPS),)


def square_factor() -> tuple[numpy.ndarray]:
    """Return the right operand of the product, which the client has."""
    return (Field((COLUMNS, COLUMNS), 4, -0.5).made(numpy),)


def product_steps(a: Field) -> tuple[Step, ...]:
    """Read and write the tall matrix once, and multiply."""
    moved = ITEM * COLUMNS
    work = Work(a.shape[0], flops=2.0 * COLUMNS**2, bytes_read=moved, bytes_written=moved)
    return (Step(work),)


def labelled(scale: float) -> tuple[Field, ...]:
    """Return features around 0, and labels."""
    rows = scaled(1_000_000, scale)
    return Field((rows, FEATURES), 0, -0.5), Field((rows,), 1, threshold=0.5)


def logistic(np: Any, features: Any, target: Any) -> Any:
    """Descend the gradient."""
    weights = np.zeros(FEATURES)
    for _ in range(DESCENTS):
        p = 1.0 / (1.0 + np.exp(-(features @ weights)))
        weights = weights - features.T @ (p - target) / len(target)
    return weights


def dask_logistic(features: Any, target: Any) -> Any:
    """Descend the gradient; the weights come home after each step."""
    weights = numpy.zeros(FEATURES)
    for _ in range(DESCENTS):
        p = 1.0 / (1.0 + da.exp(-(features @ weights)))
        weights = weights - (features.T @ (p - target)).compute() / len(target)
    return weights


def logistic_steps(features: Field, _: Field) -> tuple[Step, ...]:
    """Read features and labels once in each step; two products with a vector, an exp."""
    moved = ITEM * (FEATURES + 1)
    loops = (("arith", 3.0), ("div", 1.0), ("exp", 1.0))
    work = Work(features.shape[0], flops=4.0 * FEATURES, bytes_read=moved, loops=loops)
    return (Step(work, DESCENTS),)


def dask_sort(x: Any) -> Any:
    """Sort in one chunk: ``dask.array`` has no sort."""
    return x.rechunk(-1).map_blocks(numpy.sort, dtype=float)


def sort_steps(x: Field) -> tuple[Step, ...]:
    """Sort, at what each costs by the logarithm of their number; read and write once."""
    loops = (("sort", log2(x.shape[0])),)
    work = Work(x.shape[0], bytes_read=ITEM, bytes_written=ITEM, loops=loops)
    return (Step(work, exchanged=ITEM),)


def reshard(np: Any, x: Any) -> Any:
    """Compute by rows, then centre and scale the columns as rows of the transpose."""
    y = np.sqrt(x * x + 1.0) - x
    z = y.T + 0.0
    return (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)


def reshard_steps(x: Field) -> tuple[Step, ...]:
    """Read and write by rows; read and write by columns.

    No row has to cross the network: means and deviations of columns need little of each node, and
    the transpose may lie as its columns.
    """
    rows, columns = x.shape
    first = Work(
        rows,
        bytes_read=ITEM * columns,
        bytes_written=ITEM * columns,
        loops=(("arith", 3.0 * columns), ("sqrt", 1.0 * columns)),
    )
    second = normalise_steps(Field((columns, rows)))
    return (Step(first), *second)


WORKLOADS = (
    Workload(
        "fma_sum",
        "(a*b+c).sum(), 32M",
        three_vectors,
        fma_sum,
        fma_steps,
        lambda a, b, c: fma_sum(da, a, b, c).compute(),
    ),
    Workload(
        "normalise",
        "row normalisation, 24,000 x 1,000",
        lambda scale: (Field((scaled(24_000, scale), COLUMNS)),),
        normalise,
        normalise_steps,
        lambda x: normalise(da, x),
        stays=True,
    ),
    Workload(
        "jacobi",
        f"Jacobi with halos, 2,500 x 2,500, {SWEEPS} sweeps",
        lambda scale: (Field((scaled(2_500, scale**0.5),) * 2),),
        jacobi,
        jacobi_steps,
        dask_jacobi,
        stays=True,
    ),
    Workload(
        "kmeans",
        f"k-means, 600,000 x {AXES}, {CENTRES} centres, {STEPS} steps",
        lambda scale: (Field((scaled(600_000, scale), AXES)),),
        kmeans,
        kmeans_steps,
        dask_kmeans,
    ),
    Workload(
        "matmul",
        "matrix product, 10,000 x 1,000 x 1,000",
        lambda scale: (Field((scaled(10_000, scale), COLUMNS), 0, -0.5),),
        lambda _, a, b: a @ b,
        product_steps,
        lambda a, b: a @ b,
        stays=True,
        small=square_factor,
    ),
    Workload(
        "logistic",
        f"logistic regression, 1M x {FEATURES}, {DESCENTS} steps",
        labelled,
        logistic,
        logistic_steps,
        dask_logistic,
    ),
    Workload(
        "sort",
        "sort, 8M",
        lambda scale: (Field((scaled(8_000_000, scale),)),),
        lambda np, x: np.sort(x),
        sort_steps,
        dask_sort,
        stays=True,
    ),
    Workload(
        "reshard",
        "rows, transpose, rows: 2,500 x 2,000",
        lambda scale: (Field((scaled(2_500, scale**0.5), scaled(2_000, scale**0.5)), 0, -0.5),),
        reshard,
        reshard_steps,
        lambda x: reshard(da, x),
        stays=True,
        rtol=1e-8,  # variances of Dask's come from other sums
    ),
)
