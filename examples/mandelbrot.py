"""The Mandelbrot set, iterating only the points that have not escaped, chosen by a boolean mask."""

from __future__ import annotations

import argparse

import numpy as np

SHADES = " .:-=+*#%@"


def escape_times(width: int, height: int, steps: int) -> np.ndarray:
    """Return for each pixel the step at which it escapes; ``steps`` if it does not."""
    real = np.linspace(-2.2, 0.8, width)
    imaginary = np.linspace(-1.2, 1.2, height)
    c = real[None, :] + 1j * imaginary[:, None]
    z = np.zeros_like(c)
    times = np.zeros(c.shape, dtype=np.int64)
    alive = np.ones(c.shape, dtype=bool)
    for _ in range(steps):
        z[alive] = z[alive] ** 2 + c[alive]
        alive &= z.real**2 + z.imag**2 <= 4.0
        times[alive] += 1
    return times


def main() -> None:
    """Draw the set in characters and print its area."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=600, help="pixels across")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()

    width, height = options.size, options.size * 4 // 5
    times = escape_times(width, height, options.steps)
    inside = times == options.steps
    area = inside.mean() * 3.0 * 2.4
    print(f"area {area:.10g}, mean escape time {times[~inside].mean():.10g}")
    print(f"escape times: {' '.join(str(int(n)) for n in np.bincount(times.ravel())[:8])}")
    picture = times[:: max(height // 24, 1), :: max(width // 72, 1)]
    shade = np.minimum(picture * len(SHADES) // (options.steps + 1), len(SHADES) - 1)
    for row in shade:
        print("".join(SHADES[int(level)] for level in row))


if __name__ == "__main__":
    main()
