"""Calls of the functions that run where their operand lies, by name, each with its operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(20)
X = _rng.random((60, 12))
V = _rng.random(600)
N = np.where(V > 0.9, np.nan, V)
COUNTS = _rng.integers(0, 9, 600)
C = X + 1j * X[::-1]
M = _rng.random((30, 4, 4)) + 4 * np.eye(4)
SPD = M @ M.swapaxes(-1, -2)
S = _rng.random((36, 36))
H = S + S.T

Entry = tuple[np.ndarray, "Callable[[Any, Any], Any]"]


def after(target: Any, call: Callable[[Any], Any]) -> Any:
    """Return a target that a call has written to."""
    call(target)
    return target


def written(array: Any, key: Any, value: Any) -> Any:
    array[key] = value
    return array


ELEMENTS: dict[str, Entry] = {
    "angle": (C, lambda xp, a: xp.angle(a)),
    "average": (X, lambda xp, a: xp.average(a, axis=1)),
    "cross": (X[:, :3].copy(), lambda xp, a: xp.cross(a, a[:, ::-1])),
    "emath.sqrt": (X, lambda xp, a: xp.emath.sqrt(a - 0.5)),
    "emath.log": (X, lambda xp, a: xp.lib.scimath.log(a)),
    "imag": (X, lambda xp, a: xp.imag(a)),
    "isclose": (X, lambda xp, a: xp.isclose(a, a)),
    "nan_to_num": (X, lambda xp, a: xp.nan_to_num(a)),
    "piecewise": (V, lambda xp, a: xp.piecewise(a, [a > 0.5], [1, lambda x: x * 2])),
    "select": (V, lambda xp, a: xp.select([a > 0.7, a > 0.3], [a, a * 10], -1)),
    "sinc": (X, lambda xp, a: xp.sinc(a)),
    "unwrap": (V, lambda xp, a: xp.unwrap(a * 9)),
    "clip": (V, lambda xp, a: xp.clip(a, 0.2, 0.6)),
    "interp": (V, lambda xp, a: xp.interp(a, [0, 0.5, 1], [3, 1, 2])),
    "digitize": (V, lambda xp, a: xp.digitize(a, [0.2, 0.5, 0.9])),
}
ORDER: dict[str, Entry] = {
    "sort": (V, lambda xp, a: xp.sort(a)),
    "sort-columns": (X, lambda xp, a: xp.sort(a, axis=0)),
    "sort-in-place": (V, lambda xp, a: after(a.copy(), lambda b: b.sort())),
    "argsort": (COUNTS, lambda xp, a: xp.argsort(a, kind="stable")),
    "argsort-rows": (X, lambda xp, a: xp.argsort(a, axis=1)),
    "partition": (V, lambda xp, a: xp.partition(a, 40)[40]),
    "lexsort": (COUNTS, lambda xp, a: xp.lexsort((a, a[::-1]))),
    "unique": (COUNTS, lambda xp, a: xp.unique(a, True, True, True)),
    "unique-rows": (X, lambda xp, a: xp.unique(a // 0.1, True, True, True, axis=0)),
    "union1d": (COUNTS, lambda xp, a: xp.union1d(a, [30])),
    "intersect1d": (COUNTS, lambda xp, a: xp.intersect1d(a, a + 3)),
    "setdiff1d": (COUNTS, lambda xp, a: xp.setdiff1d(a, xp.array([1, 2]))),
    "setxor1d": (COUNTS, lambda xp, a: xp.setxor1d(a, a + 3)),
    "isin": (COUNTS, lambda xp, a: xp.isin(a, [1, 4])),
    "searchsorted": (V, lambda xp, a: xp.searchsorted([0.1, 0.5, 0.8], a)),
    "median": (V, lambda xp, a: xp.median(a)),
    "median-columns": (X, lambda xp, a: xp.median(a, axis=0)),
    "percentile": (V, lambda xp, a: xp.percentile(a, [5, 95], method="lower")),
    "quantile": (V, lambda xp, a: xp.quantile(a, 0.3, method="weibull")),
    "quantile-weighted": (
        X,
        lambda xp, a: xp.quantile(a, 0.3, axis=0, weights=a * 2, method="inverted_cdf"),
    ),
    "nanmedian": (N, lambda xp, a: xp.nanmedian(a)),
    "nanquantile": (N, lambda xp, a: xp.nanquantile(a, 0.25)),
}
SUMS: dict[str, Entry] = {
    "nanmean": (X, lambda xp, a: xp.nanmean(a, axis=1)),
    "nanstd": (N, lambda xp, a: xp.nanstd(a)),
    "nansum": (N, lambda xp, a: xp.nansum(a)),
    "nanargmax": (N, lambda xp, a: xp.nanargmax(a)),
    "cumsum": (V, lambda xp, a: xp.cumsum(a)),
    "cumprod": (V, lambda xp, a: xp.cumprod(a + 0.5)),
    "accumulate": (X, lambda xp, a: xp.maximum.accumulate(a, axis=0)),
    "accumulate-in-turn": (X, lambda xp, a: xp.subtract.accumulate(a)),
    "reduceat": (V, lambda xp, a: xp.add.reduceat(a, [0, 50, 51, 300])),
    "add.at": (V, lambda xp, a: after(a.copy(), lambda b: xp.add.at(b, [0, 5, 5], 1))),
    "diff": (V, lambda xp, a: xp.diff(a, 3)),
    "ediff1d": (V, lambda xp, a: xp.ediff1d(a)),
    "gradient": (X, lambda xp, a: xp.gradient(a)),
    "trapezoid": (X, lambda xp, a: xp.trapezoid(a)),
    "cov": (X.T.copy(), lambda xp, a: xp.cov(a)),
    "corrcoef": (X.T.copy(), lambda xp, a: xp.corrcoef(a)),
    "convolve": (V, lambda xp, a: xp.convolve(a, [1.0, 0.5, 0.25], "same")),
    "correlate": (V, lambda xp, a: xp.correlate(a, [1.0, 0.5], "full")),
    "bincount": (COUNTS, lambda xp, a: xp.bincount(a, minlength=12)),
    "histogram": (V, lambda xp, a: xp.histogram(a, bins=7)),
    "histogram2d": (V, lambda xp, a: xp.histogram2d(a, a[::-1], 5)[0]),
    "histogramdd": (X, lambda xp, a: xp.histogramdd(a[:, :2], bins=3)[0]),
    "vdot": (V, lambda xp, a: xp.vdot(a, a)),
    "einsum": (X, lambda xp, a: xp.einsum("ij,ij->i", a, a)),
    "tensordot": (X, lambda xp, a: xp.tensordot(a, np.ones((12, 3)), 1)),
    "inner": (X, lambda xp, a: xp.inner(a, np.ones((3, 12)))),
    "outer": (V, lambda xp, a: xp.outer(a, [1.0, 2.0])),
    "kron": (X, lambda xp, a: xp.kron(a, np.ones((2, 2)))),
    "vectorize": (X, lambda xp, a: xp.vectorize(lambda x, y: x * 2 + y)(a, a[:1] + 1)),
    "apply_along_axis": (X, lambda xp, a: xp.apply_along_axis(np.ptp, 1, a)),
}
MOVES: dict[str, Entry] = {
    "append": (V, lambda xp, a: xp.append(a, a)),
    "insert": (V, lambda xp, a: xp.insert(a, [3, 50], -1.0)),
    "delete": (V, lambda xp, a: xp.delete(a, [0, 7, 300])),
    "array_split": (X, lambda xp, a: xp.array_split(a, 3)),
    "block": (X, lambda xp, a: xp.block([[a, a], [a, a]])),
    "dstack": (X, lambda xp, a: xp.dstack([a, a])),
    "roll": (X, lambda xp, a: xp.roll(a, 7, axis=0)),
    "roll-small": (X, lambda xp, a: a - xp.roll(a, 1, 0) - xp.roll(a, (-2, 1), (0, 1))),
    "roll-flat": (X, lambda xp, a: xp.roll(a, 5) + xp.roll(a, -5)),
    "rot90": (X, lambda xp, a: xp.rot90(a) + 0),
    "repeat": (V, lambda xp, a: xp.repeat(a, 3)),
    "tile": (X, lambda xp, a: xp.tile(a, (2, 3))),
    "tril": (X, lambda xp, a: xp.tril(a)),
    "triu": (X, lambda xp, a: xp.triu(a, 1)),
    **{
        f"pad-{mode}": (X, lambda xp, a, mode=mode: xp.pad(a, 3, mode))
        for mode in (
            "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
            "symmetric", "wrap",
        )
    },
    "sliding_window_view": (
        V,
        lambda xp, a: xp.lib.stride_tricks.sliding_window_view(a, 5).max(axis=1),
    ),
    "as_strided": (
        V,
        lambda xp, a: xp.lib.stride_tricks.as_strided(a, (299, 4), (16, 8)) * 2,
    ),
    "transposed": (X, lambda xp, a: a.T * 2),
}  # fmt: skip
PICKS: dict[str, Entry] = {
    "take": (V, lambda xp, a: xp.take(a, [5, 0, -1, 5])),
    "take-columns": (X, lambda xp, a: xp.take(a, [3, 1], axis=1)),
    "index": (X, lambda xp, a: a[[5, 0, -1], [1, 2, 3]]),
    "index-long": (COUNTS, lambda xp, a: a[a]),
    "mask": (V, lambda xp, a: a[a > 0.5]),
    "mask-rows": (X, lambda xp, a: a[a[:, 0] > 0.5]),
    "put": (V, lambda xp, a: after(a.copy(), lambda b: xp.put(b, [1, 5, 1], [7, 8, 9]))),
    "set-by-index": (X, lambda xp, a: written(a.copy(), [4, 50, 4], -1.0)),
    "set-by-mask": (V, lambda xp, a: written(a.copy(), a > 0.5, 0.0)),
    "take_along_axis": (X, lambda xp, a: xp.take_along_axis(a, xp.argsort(a, axis=1), axis=1)),
    "choose": (COUNTS, lambda xp, a: xp.choose(a % 2, [a, a * 10])),
    "choose-method": (COUNTS, lambda xp, a: (a % 2).choose(a, a * 10)),
    "compress": (V, lambda xp, a: xp.compress(a > 0.5, a)),
    "extract": (V, lambda xp, a: xp.extract(a > 0.5, a)),
    "nonzero": (COUNTS, lambda xp, a: xp.nonzero(a > 7)),
    "argwhere": (COUNTS, lambda xp, a: xp.argwhere(a > 7)),
}
MATRICES: dict[str, Entry] = {
    "linalg.inv": (M, lambda xp, a: xp.linalg.inv(a)),
    "linalg.solve": (M, lambda xp, a: xp.linalg.solve(a, a[:, ::-1])),
    "linalg.cholesky": (SPD, lambda xp, a: xp.linalg.cholesky(a)),
    "linalg.det": (M, lambda xp, a: xp.linalg.det(a)),
    "linalg.slogdet": (M, lambda xp, a: xp.linalg.slogdet(a)),
    "linalg.eig": (M, lambda xp, a: xp.sort(xp.linalg.eigvals(a).real, axis=1)),
    "linalg.eigh": (SPD, lambda xp, a: xp.linalg.eigh(a)[0]),
    "linalg.svd": (M, lambda xp, a: xp.linalg.svd(a)[1]),
    "linalg.qr": (M, lambda xp, a: xp.linalg.qr(a)),
    "linalg.qr-tall": (X, lambda xp, a: xp.linalg.qr(a)),
    "linalg.svd-tall": (X, lambda xp, a: xp.linalg.svd(a, full_matrices=False)[1]),
    "linalg.lstsq": (X, lambda xp, a: xp.linalg.lstsq(a, a[:, 0] * 2, rcond=None)[0]),
    "linalg.matrix_power": (M, lambda xp, a: xp.linalg.matrix_power(a, 3)),
    "linalg.norm": (X, lambda xp, a: xp.linalg.norm(a)),
    "linalg.pinv": (M, lambda xp, a: xp.linalg.pinv(a)),
    "linalg.eigh-one": (H, lambda xp, a: xp.linalg.eigh(a)[0]),
    "linalg.eigvalsh-one": (H, lambda xp, a: xp.linalg.eigvalsh(a)),
    "linalg.svd-one": (S, lambda xp, a: xp.linalg.svd(a)[1]),
    "linalg.svdvals-one": (S, lambda xp, a: xp.linalg.svdvals(a)),
    "linalg.pinv-one": (S, lambda xp, a: xp.linalg.pinv(a)),
    "linalg.matrix_rank-one": (S, lambda xp, a: xp.linalg.matrix_rank(a)),
    "linalg.lstsq-one": (S, lambda xp, a: xp.linalg.lstsq(a, a[:, 0] * 2)[0]),
    "matmul": (X, lambda xp, a: a @ np.ones((12, 5))),
    "fft.fft": (V, lambda xp, a: xp.fft.fft(a)),
    "fft.fft-rows": (X, lambda xp, a: xp.fft.fft(a, axis=1)),
    "fft.fft-columns": (X, lambda xp, a: xp.fft.fft(a, axis=0)),
    "fft.fft2": (X, lambda xp, a: xp.fft.fft2(a)),
    "fft.irfftn": (C, lambda xp, a: xp.fft.irfftn(a)),
    "fft.rfft": (X, lambda xp, a: xp.fft.rfft(a)),
    "fft.hfft": (C, lambda xp, a: xp.fft.hfft(a, axis=0)),
    "fft.fftshift": (X, lambda xp, a: xp.fft.fftshift(a)),
}

TABLE: dict[str, Entry] = {**ELEMENTS, **ORDER, **SUMS, **MOVES, **PICKS, **MATRICES}
