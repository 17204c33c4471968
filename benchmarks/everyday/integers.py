"""Whole numbers and bytes."""

from __future__ import annotations

from typing import Any


def sieve(np: Any, scale: float) -> Any:
    """Return the primes by the sieve of Eratosthenes."""
    n = int(100000 * scale)
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]


def xorshift(np: Any, scale: float) -> Any:
    """Step many random number generators, and count the bits of their states."""
    x = np.arange(1, int(20000 * scale), dtype=np.uint64)
    for _ in range(5):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x, np.bitwise_count(x)


def rule30(np: Any, scale: float) -> Any:
    """Let a row of cells grow from one by Wolfram's rule 30."""
    n = int(500 * scale)
    cells = np.zeros((50, n), np.uint8)
    cells[0, n // 2] = 1
    for i in range(1, 50):
        left = np.roll(cells[i - 1], 1)
        right = np.roll(cells[i - 1], -1)
        cells[i] = left ^ (cells[i - 1] | right)
    return cells


def run_lengths(np: Any, scale: float) -> Any:
    """Return the values and lengths of runs of equal numbers, and the sum of what they encode."""
    x = np.random.default_rng(0).integers(0, 3, int(20000 * scale))
    changes = np.flatnonzero(np.diff(x)) + 1
    starts = np.concatenate(([0], changes))
    lengths = np.diff(np.append(starts, len(x)))
    return x[starts], lengths, np.repeat(x[starts], lengths).sum()


def byte_counts(np: Any, scale: float) -> Any:
    """Return the five most frequent bytes of a text, how often they occur, and its spaces."""
    sentence = b"the quick brown fox jumps over the lazy dog "
    text = np.frombuffer(sentence * int(300 * scale), dtype=np.uint8)
    counts = np.bincount(text, minlength=256)
    order = np.argsort(counts)[::-1][:5]
    return order, counts[order], (text == 32).sum()


PROGRAMS = (sieve, xorshift, rule30, run_lengths, byte_counts)
