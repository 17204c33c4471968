"""Ordinary programs of several stages over a long line and a tall matrix, which end in a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def drawdown(np: Any, x: Any, _m: Any) -> Any:
    """Return the deepest fall of the running sum."""
    c = np.cumsum(x - x.mean())
    return (np.maximum.accumulate(c) - c).max()


def rolling(np: Any, x: Any, _m: Any) -> Any:
    """Return the largest sum of a hundred neighbours."""
    c = np.cumsum(x)
    return (c[100:] - c[:-100]).max()


def covariance(np: Any, _x: Any, m: Any) -> Any:
    """Return the products of the centred columns."""
    c = m[:, :32] - m[:, :32].mean(axis=0)
    return c.T @ c


def softmax(np: Any, _x: Any, m: Any) -> Any:
    """Return the column sums of the softmax over rows."""
    e = np.exp(m - m.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).sum(axis=0)


def standardised_cubes(_np: Any, _x: Any, m: Any) -> Any:
    """Return a fold of what two folds gave."""
    return (((m - m.mean(axis=0)) / m.std(axis=0)) ** 3).sum(axis=0)


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum_of_running_sums": lambda np, x, _: np.cumsum(x).sum(),
    "running_sums_down": lambda np, _, m: np.cumsum(m, axis=0).max(axis=0),
    "running_sums_across": lambda np, _, m: np.cumsum(m, axis=1).sum(axis=0),
    "drawdown": drawdown,
    "rolling": rolling,
    "deviation_of_centred": lambda _, __, m: (m - m.mean(axis=0)).std(axis=0),
    "standardised_cubes": standardised_cubes,
    "clipped": lambda np, x, _: np.clip(x, -1, 1).var(),
    "sorted_rows": lambda np, _, m: np.sort(m, axis=1).sum(axis=0),
    "largest_of_rows": lambda np, _, m: np.sort(m, axis=1)[:, -10:].sum(axis=1).mean(),
    "differences": lambda np, _, m: np.diff(m, axis=0).std(),
    "softmax": softmax,
    "quantiles": lambda np, x, _: np.quantile(x, [0.1, 0.5, 0.9]),
    "medians_of_rows": lambda np, _, m: np.median(m, axis=1).sum(),
    "counts": lambda np, x, _: np.bincount((np.abs(x) * 10).astype(np.int64)),
    "weighted_counts": lambda np, x, _: np.bincount((np.abs(x) * 10).astype(np.int64), weights=x),
    "histogram": lambda np, x, _: np.histogram(x, bins=50)[0],
    "searched": lambda np, x, _: np.bincount(np.searchsorted(np.linspace(-3, 3, 11), x)),
    "masked": lambda _, x, __: x[x > 0].mean(),
    "masked_rows": lambda _, __, m: m[m[:, 0] > 0].sum(axis=0),
    "covariance": covariance,
    "layer": lambda np, _, m: np.tanh(m @ np.full((256, 16), 1 / 256)).sum(axis=0),
    "spectra": lambda np, _, m: (np.abs(np.fft.rfft(m, axis=1)) ** 2).mean(axis=0),
    "columns_added": lambda np, _, m: np.concatenate([m, m[:, :8]], axis=1).sum(axis=0),
    "flattened": lambda np, _, m: np.cumsum(m.reshape(-1)).max(),
    "folded_line": lambda _, x, __: x.reshape(-1, 256).mean(axis=1).max(),
    "generated": lambda np, x, _: np.cumsum(np.sin(np.arange(x.size, dtype=float))).max(),
}
