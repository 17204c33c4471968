"""Heat diffusion on a square plate: Jacobi sweeps written as in-place slices."""

from __future__ import annotations

import argparse

import numpy as np


def sweep(plate: np.ndarray) -> None:
    """Replace every inner point by the mean of its four neighbours."""
    plate[1:-1, 1:-1] = 0.25 * (
        plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    )


def main() -> None:
    """Heat one edge of the plate and print how far the warmth has come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=600, help="points along an edge")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()

    plate = np.zeros((options.size, options.size))
    plate[0, :] = 100.0
    plate[:, 0] = np.linspace(100.0, 0.0, options.size)
    for step in range(1, options.steps + 1):
        sweep(plate)
        if step % (options.steps // 3) == 0:
            warm = int((plate > 1.0).sum())
            print(f"step {step:5d}: mean {plate.mean():.10g}, points above 1 degree {warm}")
    print(f"highest inside {plate[1:-1, 1:-1].max():.10g}")
    print("down the middle:", " ".join(f"{t:.10g}" for t in plate[1:11, options.size // 2]))


if __name__ == "__main__":
    main()
