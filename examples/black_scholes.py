"""Black-Scholes prices of European options.

NumPy has no error function: the normal distribution uses the rational approximation 26.2.17 of
Abramowitz and Stegun, whose error is below 7.5e-8.
"""

from __future__ import annotations

import argparse

import numpy as np

COEFFICIENTS = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """Return the probability that a standard normal variable lies below ``x``."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    polynomial = np.zeros_like(t)
    for coefficient in reversed(COEFFICIENTS):
        polynomial = (polynomial + coefficient) * t
    tail = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * polynomial
    return np.where(x >= 0.0, 1.0 - tail, tail)


def prices(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: float, volatility: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the prices of the calls and of the puts."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def main() -> None:
    """Price a book of random options and print what it is worth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2_000_000, help="options")
    options = parser.parse_args()

    rng = np.random.default_rng(1973)
    spot = rng.uniform(10.0, 50.0, options.size)
    strike = rng.uniform(10.0, 50.0, options.size)
    years = rng.uniform(0.1, 2.0, options.size)
    call, put = prices(spot, strike, years, rate=0.03, volatility=0.25)

    print(f"calls: mean {call.mean():.10g}, highest {call.max():.10g}, std {call.std():.10g}")
    print(f"puts:  mean {put.mean():.10g}, highest {put.max():.10g}, std {put.std():.10g}")
    print(f"calls worth more than 1: {int((call > 1.0).sum())}")
    print("first calls:", " ".join(f"{value:.10g}" for value in call[:4]))


if __name__ == "__main__":
    main()
