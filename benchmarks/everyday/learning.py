"""Models that learn from data, and layers of networks."""

from __future__ import annotations

from typing import Any


def pca(np: Any, scale: float) -> Any:
    """Return the deviations along three principal components, and all variances."""
    x = np.random.default_rng(0).standard_normal((int(1000 * scale), 20))
    x = x - x.mean(0)
    covariance = x.T @ x / (len(x) - 1)
    variances, components = np.linalg.eigh(covariance)
    return (x @ components[:, ::-1][:, :3]).std(0), variances


def gaussian_mixture(np: Any, scale: float) -> Any:
    """Fit three normal distributions to points by expectation and maximisation."""
    x = np.random.default_rng(0).standard_normal((int(2000 * scale), 2))
    mean = x[:3].copy()
    variance = np.ones((3, 2))
    share = np.ones(3) / 3
    for _ in range(5):
        logarithm = -0.5 * (
            ((x[:, None] - mean) ** 2) / variance + np.log(2 * np.pi * variance)
        ).sum(-1) + np.log(share)
        most = logarithm.max(1, keepdims=True)
        belongs = np.exp(logarithm - most)
        belongs /= belongs.sum(1, keepdims=True)
        count = belongs.sum(0)
        mean = (belongs.T @ x) / count[:, None]
        variance = (belongs[..., None] * (x[:, None] - mean) ** 2).sum(0) / count[:, None] + 1e-6
        share = count / len(x)
    return mean, variance, share


def softmax_regression(np: Any, scale: float) -> Any:
    """Take steps down the gradient of a linear classifier; return its loss and weights."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((int(500 * scale), 50))
    label = rng.integers(0, 10, len(x))
    weights = np.zeros((50, 10))
    for _ in range(5):
        z = x @ weights
        z -= z.max(axis=1, keepdims=True)
        e = np.exp(z)
        p = e / e.sum(axis=1, keepdims=True)
        loss = -np.log(p[np.arange(len(label)), label]).mean()
        p[np.arange(len(label)), label] -= 1
        weights -= 0.1 * x.T @ p / len(label)
    return loss, weights


def convolution_layer(np: Any, scale: float) -> Any:
    """Convolve pictures of three channels with eight kernels, and rectify."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((int(2 * scale) + 1, 3, 32, 32))
    kernels = rng.standard_normal((8, 3, 3, 3))
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(2, 3))
    out = np.einsum("nchwij,ocij->nohw", windows, kernels)
    return np.maximum(out, 0)


def attention(np: Any, scale: float) -> Any:
    """Let four heads attend to what came before."""
    rng = np.random.default_rng(0)
    n = int(64 * scale**0.5)
    query, key, value = (rng.standard_normal((4, n, 16)) for _ in range(3))
    score = np.einsum("hqd,hkd->hqk", query, key) / 4.0
    score = np.where(np.tril(np.ones((n, n), bool)), score, -1e9)
    e = np.exp(score - score.max(-1, keepdims=True))
    weights = e / e.sum(-1, keepdims=True)
    return np.einsum("hqk,hkd->hqd", weights, value)


def sigmoid(np: Any, a: Any) -> Any:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-a))


def lstm(np: Any, scale: float) -> Any:
    """Give a layer with long and short memory twenty inputs."""
    rng = np.random.default_rng(0)
    batch = int(16 * scale**0.5)
    x = rng.standard_normal((20, batch, 32))
    weights = rng.standard_normal((64, 128)) * 0.1
    bias = np.zeros(128)
    hidden = np.zeros((batch, 32))
    cell = np.zeros((batch, 32))
    for t in range(20):
        z = np.concatenate([x[t], hidden], axis=1) @ weights + bias
        enter, forget, leave, new = np.split(z, 4, axis=1)
        cell = sigmoid(np, forget) * cell + sigmoid(np, enter) * np.tanh(new)
        hidden = sigmoid(np, leave) * np.tanh(cell)
    return hidden


def nearest_neighbours(np: Any, scale: float) -> Any:
    """Classify points by the five nearest of those whose class is known."""
    rng = np.random.default_rng(0)
    known = rng.random((int(300 * scale**0.5), 8))
    asked = rng.random((50, 8))
    distance = (asked**2).sum(1)[:, None] - 2 * asked @ known.T + (known**2).sum(1)
    nearest = np.argsort(distance, axis=1)[:, :5]
    label = rng.integers(0, 3, len(known))[nearest]
    return np.array([np.bincount(row, minlength=3).argmax() for row in label])


def one_hot(np: Any, scale: float) -> Any:
    """Encode labels as rows of zeros and a one, and count which label stands in for which."""
    label = np.random.default_rng(0).integers(0, 10, int(5000 * scale))
    encoded = np.zeros((label.size, 10))
    encoded[np.arange(label.size), label] = 1
    confusion = np.zeros((10, 10), int)
    np.add.at(confusion, (label, np.roll(label, 1)), 1)
    return encoded.mean(0), confusion, np.eye(10)[label].sum(0)


def adam(np: Any, scale: float) -> Any:
    """Move weights towards a target with an optimiser that adapts its steps."""
    n = int(5000 * scale)
    weights = np.zeros(n)
    mean = np.zeros(n)
    square = np.zeros(n)
    target = np.random.default_rng(0).standard_normal(n)
    for i in range(1, 11):
        gradient = 2 * (weights - target)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= 0.01 * (mean / (1 - 0.9**i)) / (np.sqrt(square / (1 - 0.999**i)) + 1e-8)
    return weights


PROGRAMS = (
    pca,
    gaussian_mixture,
    softmax_regression,
    convolution_layer,
    attention,
    lstm,
    nearest_neighbours,
    one_hot,
    adam,
)
