"""Black-Scholes on two Dask workers, of which one shares its core with other programs.

Nobody tells dnumpy which worker is the slower one: it measures both and gives each the rows that
make the two finish together. The plan is printed before the run, and with what was measured after
it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from distributed import Client, LocalCluster

import dnumpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


def pin_to_core(core: int) -> None:
    """Keep every thread of this process on one core."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


@contextmanager
def busy_core(core: int, rivals: int) -> Iterator[None]:
    """Keep a core busy with ``rivals`` endless programs; they end with the block."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(rivals)]
    try:
        for program in programs:
            os.sched_setaffinity(program.pid, {core})
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextmanager
def unequal_workers(rivals: int) -> Iterator[Client]:
    """Start two workers with a core each, the second one's shared with ``rivals`` programs."""
    cores = sorted(os.sched_getaffinity(0))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        busy_core(cores[-1], rivals),
    ):
        fast, slow = sorted(client.scheduler_info()["workers"])
        client.run(pin_to_core, cores[0], workers=[fast])
        client.run(pin_to_core, cores[-1], workers=[slow])
        yield client


def option_book(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return spot prices, strike prices and years to expiry, spread evenly by Weyl sequences.

    Each worker makes its own rows of them: nothing has to be sent.
    """
    number = np.arange(size)
    spot = 10.0 + 40.0 * (number * 0.6180339887498949 % 1.0)
    strike = 10.0 + 40.0 * (number * 0.7548776662466927 % 1.0)
    years = 0.1 + 1.9 * (number * 0.5698402909980532 % 1.0)
    return spot, strike, years


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """Return the probability that a standard normal variable lies below ``x``, within 1e-7."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    inner = -1.821255978 + 1.330274429 * t
    inner = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * inner)))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * inner
    return np.where(x >= 0.0, 1.0 - tail, tail)


def call_prices(spot: np.ndarray, strike: np.ndarray, years: np.ndarray) -> np.ndarray:
    """Return the prices of European calls at a rate of 3 % and a volatility of 25 %."""
    spread = 0.25 * np.sqrt(years)
    d1 = (np.log(spot / strike) + (0.03 + 0.5 * 0.25**2) * years) / spread
    return spot * normal_cdf(d1) - strike * np.exp(-0.03 * years) * normal_cdf(d1 - spread)


def main() -> None:
    """Start the workers, print the plan, run it and print it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4_000_000, help="options")
    parser.add_argument("--rivals", type=int, default=2, help="programs on the slow worker's core")
    options = parser.parse_args()

    with unequal_workers(options.rivals):
        call = call_prices(*option_book(options.size))
        print(np.explain(call))
        print(f"calls: mean {call.mean():.10g}, highest {call.max():.10g}")
        print(np.explain(call))


if __name__ == "__main__":
    main()
