"""k-means by Lloyd's algorithm on points drawn around hidden centres."""

from __future__ import annotations

import argparse

import numpy as np


def nearest_centre(points: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each point the index of its nearest centre and the squared distance to it."""
    squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return squared.argmin(axis=1), squared.min(axis=1)


def move_centres(points: np.ndarray, label: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the mean of each cluster; a centre without points stays where it is."""
    moved = centres.copy()
    for index in range(len(centres)):
        own = points[label == index]
        if len(own):
            moved[index] = own.mean(axis=0)
    return moved


def main() -> None:
    """Draw the points, find the clusters and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="points")
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()

    rng = np.random.default_rng(2013)
    hidden = rng.uniform(-10.0, 10.0, (options.clusters, 4))
    owner = rng.integers(0, options.clusters, options.size)
    points = hidden[owner] + rng.normal(0.0, 1.5, (options.size, 4))
    centres = points[: options.clusters].copy()
    for step in range(options.steps):
        label, squared = nearest_centre(points, centres)
        print(f"step {step}: mean squared distance {squared.mean():.10g}")
        centres = move_centres(points, label, centres)

    sizes = np.bincount(label, minlength=options.clusters)
    for index in np.argsort(-sizes, kind="stable"):
        place = " ".join(f"{value:.10g}" for value in centres[index])
        print(f"{int(sizes[index]):7d} points around {place}")


if __name__ == "__main__":
    main()
