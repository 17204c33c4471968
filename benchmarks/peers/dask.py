"""The programs with ``dask.array``: chunks over the threaded scheduler, computed in one go."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy
from dask import config
from dask.base import compute

from benchmarks.orders import BINS, COUNTERS
from benchmarks.programs import black_scholes_prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.programs import Host

ROWS_BYTES = 8 << 20  # of a chunk: several for each core, none of them small
WHOLE_BYTES = 1 << 20  # what is no longer is one chunk


def arrays(host: Host) -> tuple[Any, ...]:
    """Return the arrays in chunks of rows."""
    return tuple(chunked(array) for array in host)


def chunked(array: numpy.ndarray) -> Any:
    """Return an array cut into rows; small ones stay whole."""
    if not array.ndim or array.nbytes <= WHOLE_BYTES:
        return da.from_array(array, chunks=-1)
    rows = max(ROWS_BYTES * len(array) // array.nbytes, 1)
    return da.from_array(array, chunks=(rows, *array.shape[1:]))


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """Price calls and puts."""
    return compute(*black_scholes_prices(da, spot, strike, years))


def normalise(x: Any) -> Any:
    """Give every row mean 0 and standard deviation 1."""
    centred = x - x.mean(axis=1, keepdims=True)
    return (centred / x.std(axis=1, keepdims=True)).compute()


def kmeans(points: Any, centres: Any) -> Any:
    """Take three steps of Lloyd's algorithm."""
    centres = centres.compute()
    for _ in range(3):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        count = da.bincount(label, minlength=16)
        sums = [da.bincount(label, weights=points[:, axis], minlength=16) for axis in range(4)]
        count, *sums = compute(count, *sums)
        centres = numpy.stack(sums, axis=1) / numpy.maximum(count, 1)[:, None]
    return centres


def boolean_filter(x: Any) -> Any:
    """Return mean and spread of what lies in a band."""
    kept = x[(x > -0.5) & (x < 1.5)]
    return compute(kept.mean(), kept.std())


def perceptron(x: Any, hidden: Any, hidden_bias: Any, out: Any, out_bias: Any) -> Any:
    """Run a hidden layer and a softmax."""
    s = da.maximum(x @ hidden + hidden_bias, 0.0) @ out + out_bias
    e = da.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).compute()


def logistic(features: Any, target: Any) -> Any:
    """Descend the gradient for twenty steps."""
    target = target.rechunk((features.chunks[0],))
    weights = numpy.zeros(features.shape[1])
    for _ in range(20):
        p = 1.0 / (1.0 + da.exp(-(features @ weights)))
        weights -= (features.T @ (p - target)).compute() / len(target)
    return weights


def einstein_sums(a: Any, b: Any, first: Any, second: Any, third: Any, u: Any, v: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows."""
    return compute(
        da.einsum("bij,bjk->bik", a, b),
        da.einsum("ij,jk,kl", first, second, third),
        da.einsum("bi,bj->bij", u, v),
    )


def histogram(x: Any) -> Any:
    """Count the elements in equal bins from the smallest to the largest."""
    low, high = compute(x.min(), x.max())
    counts, edges = da.histogram(x, bins=BINS, range=(low, high))
    return counts.compute(), edges


def threaded(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return the program over the threaded scheduler, whatever was set elsewhere."""

    @wraps(program)
    def run(*data: Any) -> Any:
        with config.set(scheduler="threads"):
            return program(*data)

    return run


_PROGRAMS: dict[str, Callable[..., Any]] = {
    "black_scholes": black_scholes,
    "fma_sum": lambda a, b, c: (a * b + c).sum().compute(),
    "normalise": normalise,
    "kmeans": kmeans,
    "filter": boolean_filter,
    "mlp": perceptron,
    "logistic": logistic,
    "einsum": einstein_sums,
    "histogram": histogram,
    "bincount": lambda x: da.bincount(x, minlength=COUNTERS).compute(),
    "cumsum": lambda x: da.cumsum(x, axis=0).compute(),
}
PROGRAMS = {name: threaded(program) for name, program in _PROGRAMS.items()}
