"""Conway's Game of Life on a torus."""

from __future__ import annotations

import argparse

import numpy as np


def next_generation(board: np.ndarray) -> np.ndarray:
    """Return the board one generation later."""
    neighbours = np.zeros_like(board)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down or right:
                neighbours += np.roll(board, (down, right), axis=(0, 1))
    born = (board == 0) & (neighbours == 3)
    stays = (board == 1) & ((neighbours == 2) | (neighbours == 3))
    return (born | stays).astype(board.dtype)


def main() -> None:
    """Run a random soup and print what lives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512, help="cells along an edge")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()

    rng = np.random.default_rng(1970)
    board = (rng.random((options.size, options.size)) < 0.3).astype(np.uint8)
    print(f"generation 0: {int(board.sum())} alive")
    for step in range(1, options.steps + 1):
        board = next_generation(board)
        if step % (options.steps // 4) == 0:
            print(f"generation {step}: {int(board.sum())} alive")
    rows, columns = np.nonzero(board)
    print(f"centre of mass {rows.mean():.10g} {columns.mean():.10g}")
    for row in board[:8, :64]:
        print("".join(".#"[int(cell)] for cell in row))


if __name__ == "__main__":
    main()
