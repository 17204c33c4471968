"""Rows E to H of the checklist: statistics, shapes, linear algebra and protocols, as programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.rows_of_arrays import after, floats, near, said, whole, written

if TYPE_CHECKING:
    from collections.abc import Callable

E_STATISTICS: dict[int, Callable[[Any], Any]] = {
    47: lambda xp: [
        near(floats(xp).sum(axis=(0, 1), keepdims=True)),
        whole(xp).sum(axis=1, dtype="f4"),
        whole(xp).sum(initial=100),
        whole(xp).sum(where=whole(xp) > 2),
        near(floats(xp).std(ddof=1)),
        near(floats(xp).mean(axis=-1, keepdims=True)),
        whole(xp).max(initial=99, axis=0),
    ],
    48: lambda xp: (
        [
            near(x)
            for f in (xp.mean, xp.std, xp.var, xp.median, xp.nanmean, xp.nanstd, xp.nanmedian)
            for x in (f(floats(xp)), f(floats(xp), axis=0))
        ]
        + [
            near(xp.percentile(floats(xp), [10, 50], axis=1)),
            near(xp.nanquantile(floats(xp), 0.3)),
            xp.quantile(whole(xp), 0.5, method="lower"),
        ]
    ),
    49: lambda xp: [
        whole(xp).cumsum(),
        whole(xp).cumsum(axis=0),
        near(xp.cumprod(floats(xp)[0])),
        xp.diff(whole(xp), 2),
        near(xp.gradient(floats(xp))[0]),
    ],
    50: lambda xp: [whole(xp).argmax(), whole(xp).argmin(axis=0), xp.argmax(xp.zeros(9))],
    51: lambda xp: [
        *xp.histogram(whole(xp), bins=4),
        near(xp.histogram2d(floats(xp)[0], floats(xp)[1], 3)[0]),
        xp.bincount(whole(xp).ravel(), minlength=9),
        xp.digitize(whole(xp), [2, 4]),
        xp.searchsorted(xp.arange(9), whole(xp)),
        xp.histogramdd(floats(xp)[:, :2], bins=2)[0],
    ],
    52: lambda xp: [
        near(xp.cov(floats(xp))),
        near(xp.corrcoef(floats(xp) ** 2)),
        near(xp.correlate(floats(xp)[0], floats(xp)[1], "full")),
        near(xp.convolve(floats(xp)[0], [1, 0.5], "same")),
        near(xp.interp([1.5, 2.5], [1, 2, 3], [3, 2, 0])),
    ],
}

F_SHAPES: dict[int, Callable[[Any], Any]] = {
    54: lambda xp: [
        floats(xp).reshape(6, 4).base is not None,
        xp.shares_memory(*_both(floats(xp), lambda a: a.ravel())),
        xp.shares_memory(*_both(floats(xp), lambda a: a.T.ravel())),
        after(floats(xp), lambda a: written(a.reshape(-1), 5, -1.0)),
        floats(xp).T.reshape(4, 6),
    ],
    55: lambda xp: [
        xp.concatenate([whole(xp), whole(xp)], axis=1),
        xp.stack([whole(xp)] * 2, axis=1),
        *xp.split(whole(xp), 2),
        xp.tile(whole(xp)[0], (2, 2)),
        xp.repeat(whole(xp), 2, axis=0),
        xp.repeat(xp.arange(3), [1, 0, 2]),
        *[xp.pad(whole(xp), 1, m) for m in ("edge", "wrap", "mean")],
        xp.roll(whole(xp), 2, axis=1),
        xp.flip(whole(xp)),
        xp.rot90(whole(xp)),
    ],
    56: lambda xp: [
        xp.insert(whole(xp), 1, 99, axis=1),
        xp.delete(whole(xp), [0, 2], axis=0),
        xp.append(whole(xp), 3),
        xp.resize(whole(xp), (3, 3)),
        *xp.unique(whole(xp), return_index=True, return_inverse=True, return_counts=True),
        xp.intersect1d(whole(xp), [1, 2, 8]),
        xp.union1d(whole(xp), [30]),
        xp.setdiff1d(whole(xp), [1]),
        xp.setxor1d(whole(xp), [1, 50]),
        xp.isin(whole(xp), [1, 2]),
        xp.unique(whole(xp), axis=1),
    ],
    57: lambda xp: [
        xp.sort(whole(xp)),
        xp.sort(whole(xp), axis=None),
        xp.argsort(whole(xp), axis=0, kind="stable"),
        xp.partition(xp.array([3, 1, 2, 0]), 2)[2],
        xp.lexsort((whole(xp)[0], whole(xp)[1])),
    ],
    58: lambda xp: [
        xp.broadcast_to(whole(xp)[0], (3, 6)),
        *xp.broadcast_arrays(whole(xp)[:, :1], whole(xp)[:1]),
        xp.atleast_3d(whole(xp)),
        xp.expand_dims(whole(xp), 1),
        xp.squeeze(whole(xp)[:, None]),
        *xp.atleast_2d(1.0, whole(xp)[0]),
    ],
    59: lambda xp: [
        after(whole(xp), lambda a: a.sort()),
        after(whole(xp), lambda a: a.fill(3)),
        after(xp.arange(9), lambda a: a.resize(3, refcheck=False)),
        after(whole(xp), lambda a: a.byteswap(inplace=True)),
        said(lambda: written(after(whole(xp), lambda a: a.setflags(write=False)), 0, 1)),
        after(xp.array([5, 4, 3, 2]), lambda a: a.partition(0))[0],
    ],
}


def _both(a: Any, view: Callable[[Any], Any]) -> tuple[Any, Any]:
    return a, view(a)


def square(xp: Any) -> Any:
    return floats(xp)[:, :4] + 9 * xp.eye(4)


G_LINALG: dict[int, Callable[[Any], Any]] = {
    60: lambda xp: [
        near(x)
        for x in (
            xp.dot(floats(xp), floats(xp).T),
            floats(xp) @ floats(xp)[0],
            xp.einsum("ij,kj->ik", floats(xp), floats(xp)),
            xp.tensordot(floats(xp), floats(xp), ([0], [0])),
            xp.inner(floats(xp), floats(xp)),
            xp.outer(floats(xp)[0], floats(xp)[1]),
            xp.kron(floats(xp)[:2, :2], square(xp)[:2]),
            xp.vdot(floats(xp), floats(xp)),
        )
    ],
    61: lambda xp: [
        near(x)
        for x in (
            xp.linalg.solve(square(xp), floats(xp)),
            xp.linalg.inv(square(xp)),
            xp.linalg.det(square(xp)),
            xp.linalg.cholesky(square(xp) @ square(xp).T),
            np.abs(xp.linalg.qr(square(xp))[1]),
            xp.linalg.svd(floats(xp), compute_uv=False),
            np.sort(np.asarray(xp.linalg.eigvals(square(xp)).real)),
            xp.linalg.eigh(square(xp) + square(xp).T)[0],
            xp.linalg.lstsq(square(xp), floats(xp), rcond=None)[0],
            xp.linalg.pinv(square(xp)),
            xp.linalg.norm(floats(xp), 1),
            xp.linalg.matrix_power(square(xp), 3),
        )
    ],
    62: lambda xp: [
        near(xp.linalg.inv(xp.stack([square(xp)] * 3))),
        said(lambda: xp.linalg.inv(xp.zeros((3, 3)))),
        said(lambda: xp.linalg.det(floats(xp))),
        said(lambda: xp.linalg.cholesky(-xp.eye(3))),
    ],
    63: lambda xp: (
        [
            near(np.asarray(f(floats(xp))).view("f8"))
            for f in (xp.fft.fft, xp.fft.ifft, xp.fft.rfft, xp.fft.fft2, xp.fft.rfftn, xp.fft.ihfft)
        ]
        + [
            near(xp.fft.irfft(xp.fft.rfft(floats(xp)))),
            xp.fft.fftshift(whole(xp)),
            near(xp.fft.fftfreq(5)),
        ]
    ),
    64: lambda xp: [
        near(xp.polyfit(xp.arange(4.0), floats(xp)[:, 0], 1)),
        xp.poly1d([1, 2])(3),
        near(xp.polynomial.Polynomial([1, 2, 3])(floats(xp))),
        near(xp.roots([1, -3, 2])),
        xp.polyval([1, 2], whole(xp)),
    ],
    65: lambda xp: [sorted(n for n in dir(np.random) if n[0] != "_" and not hasattr(xp.random, n))],
    66: lambda xp: [
        xp.random.default_rng(7).random(5),
        xp.random.RandomState(7).normal(size=4),
        xp.random.Generator(xp.random.Philox(3)).standard_normal(3),
        xp.random.default_rng(1).integers(0, 100, (3, 3)),
    ],
    67: lambda xp: [
        xp.random.default_rng(2).permutation(9),
        after(xp.arange(9), xp.random.default_rng(2).shuffle),
        xp.random.default_rng(2).choice(whole(xp).ravel(), 4, replace=False),
        xp.random.default_rng(2).multinomial(9, [0.5, 0.5]),
        near(xp.random.default_rng(2).multivariate_normal([0, 1], xp.eye(2), 3)),
    ],
    68: lambda xp: [
        xp.ma.array(floats(xp), mask=whole(xp) > 3).filled(0),
        xp.ma.masked_invalid([1.0, xp.nan]).sum(),
        near(xp.ma.array(floats(xp), mask=whole(xp) > 3).mean(axis=0).filled(-1)),
    ],
}

H_PROTOCOLS: dict[int, Callable[[Any], Any]] = {
    69: lambda xp: [np.asarray(floats(xp)).shape, near(np.array(floats(xp), dtype="f4"))],
    70: lambda xp: [
        near(np.sin(floats(xp))),
        near(np.concatenate([floats(xp), floats(xp)])),
        near(np.mean(floats(xp))),
    ],
    71: lambda xp: [near(floats(xp).__array_namespace__().sum(floats(xp))), floats(xp).device],
    72: lambda xp: near(np.from_dlpack(floats(xp))),
}
