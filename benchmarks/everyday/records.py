"""Tables and columns: groups, orders, sets, text and dates."""

from __future__ import annotations

from typing import Any


def digitise(np: Any, scale: float) -> Any:
    """Sum the values that fall between edges, and return where values fall."""
    x = np.random.default_rng(0).standard_normal(int(20000 * scale))
    edges = np.linspace(-3, 3, 50)
    places = np.digitize(x, edges)
    return np.bincount(places, weights=x, minlength=51), np.searchsorted(edges, x)


def unique_counts(np: Any, scale: float) -> Any:
    """Return the values that occur, how often they do, and the most frequent."""
    x = np.random.default_rng(0).integers(0, 1000, int(20000 * scale))
    values, counts = np.unique(x, return_counts=True)
    return values, counts, values[counts.argmax()]


def group_by(np: Any, scale: float) -> Any:
    """Return the sums and maxima of groups, by sorting them and by adding each value."""
    rng = np.random.default_rng(0)
    key = rng.integers(0, 100, int(20000 * scale))
    x = rng.standard_normal(key.size)
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    sorted_x = x[order]
    starts = np.flatnonzero(np.r_[True, sorted_key[1:] != sorted_key[:-1]])
    total = np.zeros(100)
    np.add.at(total, key, x)
    return np.add.reduceat(sorted_x, starts), np.maximum.reduceat(sorted_x, starts), total


def lexicographic_sort(np: Any, scale: float) -> Any:
    """Sort by one column, and where it is equal by another."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 50, int(10000 * scale))
    b = rng.random(a.size)
    order = np.lexsort((b, a))
    return a[order], b[order]


def top_ten(np: Any, scale: float) -> Any:
    """Return the ten largest of each row, the largest first."""
    a = np.random.default_rng(0).random((int(100 * scale), 200))
    places = np.argpartition(-a, 10, axis=1)[:, :10]
    values = np.take_along_axis(a, places, 1)
    order = np.argsort(-values, axis=1)
    return np.take_along_axis(values, order, 1)


def strings(np: Any, scale: float) -> Any:
    """Change, join, search and count words."""
    words = np.array(["alpha", "beta", "gamma", "delta"] * int(500 * scale))
    return (
        np.char.upper(words),
        np.char.add(words, "_x"),
        np.strings.find(words, "a"),
        (words == "beta").sum(),
    )


def dates(np: Any, scale: float) -> Any:
    """Count the days of months and those of work."""
    days = np.datetime64("2020-01-01") + np.arange(int(5000 * scale))
    months = days.astype("datetime64[M]")
    return np.unique(months, return_counts=True), np.diff(days), np.is_busday(days).sum()


def structured(np: Any, scale: float) -> Any:
    """Choose and sort records; return their numbers and a sum over two fields."""
    n = int(3000 * scale)
    rng = np.random.default_rng(0)
    records = np.zeros(n, dtype=[("id", "i4"), ("w", "f8"), ("h", "f8")])
    records["id"] = rng.permutation(n)
    records["w"] = rng.random(n)
    records["h"] = rng.random(n)
    wide = records[records["w"] > 0.5]
    return np.sort(wide, order="h")["id"], (records["w"] * records["h"]).sum()


def set_operations(np: Any, scale: float) -> Any:
    """Return what two sets of numbers share, and what they do not."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 10000, int(5000 * scale)), rng.integers(0, 10000, int(5000 * scale))
    return np.intersect1d(a, b), np.setdiff1d(a, b), np.isin(a, b).sum(), np.union1d(a, b)


PROGRAMS = (
    digitise,
    unique_counts,
    group_by,
    lexicographic_sort,
    top_ten,
    strings,
    dates,
    structured,
    set_operations,
)
