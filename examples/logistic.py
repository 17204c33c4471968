"""Logistic regression by gradient descent with momentum."""

from __future__ import annotations

import argparse

import numpy as np


def probabilities(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability of the positive class for each row."""
    return 1.0 / (1.0 + np.exp(-(features @ weights)))


def loss(p: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the mean cross-entropy."""
    return -(target * np.log(p) + (1.0 - target) * np.log(1.0 - p)).mean()


def main() -> None:
    """Draw data from a known model, fit it and print how near the fit has come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="rows")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()

    rng = np.random.default_rng(1958)
    features = rng.normal(size=(options.size, options.features))
    features[:, 0] = 1.0
    truth = rng.normal(size=options.features)
    target = (rng.random(options.size) < probabilities(features, truth)).astype(float)

    weights = np.zeros(options.features)
    velocity = np.zeros(options.features)
    for step in range(options.steps):
        p = probabilities(features, weights)
        gradient = features.T @ (p - target) / options.size
        velocity = 0.8 * velocity - 1.0 * gradient
        weights += velocity
        if step % 20 == 0:
            print(f"step {step:3d}: loss {loss(p, target):.10g}")

    p = probabilities(features, weights)
    print(f"loss {loss(p, target):.10g}, right {((p > 0.5) == (target > 0.5)).mean():.10g}")
    print(f"largest error of a weight {np.abs(weights - truth).max():.10g}")
    print("weights:", " ".join(f"{weight:.10g}" for weight in weights[:5]))


if __name__ == "__main__":
    main()
