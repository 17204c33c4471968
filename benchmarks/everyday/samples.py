"""Statistics of samples, and quantities that are found by drawing them."""

from __future__ import annotations

from typing import Any


def covariances(np: Any, scale: float) -> Any:
    """Return the covariances and correlations of ten variables."""
    x = np.random.default_rng(0).standard_normal((10, int(3000 * scale)))
    return np.cov(x), np.corrcoef(x)


def asian_option(np: Any, scale: float) -> Any:
    """Price an option on the mean of a random price; return the standard error, too."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((int(300 * scale), 50))
    paths = 100 * np.exp(np.cumsum((0.05 - 0.02) * 0.02 + 0.2 * np.sqrt(0.02) * normal, axis=1))
    payoff = np.maximum(paths.mean(axis=1) - 100, 0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(len(payoff))


def moments(np: Any, scale: float) -> Any:
    """Describe a skewed sample: mean, median, skewness, kurtosis, range and histogram."""
    x = np.random.default_rng(0).gamma(2, 2, int(10000 * scale))
    mean = x.mean()
    deviation = x.std()
    z = (x - mean) / deviation
    return (
        mean,
        np.median(x),
        (z**3).mean(),
        (z**4).mean() - 3,
        np.ptp(x),
        np.histogram(x, bins="auto")[0],
    )


def quantiles(np: Any, scale: float) -> Any:
    """Return percentiles of columns, medians of rows, and a quantile of all."""
    a = np.random.default_rng(0).standard_normal((int(100 * scale), 100))
    return np.percentile(a, [5, 50, 95], axis=0), np.median(a, axis=1), np.quantile(a, 0.9)


def bootstrap(np: Any, scale: float) -> Any:
    """Return how far the mean of a sample can be trusted, by drawing from it again."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    picks = rng.integers(0, 200, (int(200 * scale), 200))
    means = x[picks].mean(1)
    return np.percentile(means, [2.5, 97.5]), means.std()


def random_walks(np: Any, scale: float) -> Any:
    """Return how many walks go ten steps away, and after how many steps they do so."""
    steps = np.random.default_rng(0).choice([-1, 1], size=(int(100 * scale), 200))
    walks = np.cumsum(steps, axis=1)
    far = (np.abs(walks) >= 10).any(1)
    return walks[far].shape, (np.abs(walks[far]) >= 10).argmax(1).mean()


def drawdowns(np: Any, scale: float) -> Any:
    """Return the deepest losses of assets, when they were, and measures of gain and risk."""
    returns = np.random.default_rng(0).normal(0, 0.01, (int(200 * scale), 20))
    wealth = np.cumprod(1 + returns, axis=0)
    peak = np.maximum.accumulate(wealth, axis=0)
    loss = 1 - wealth / peak
    return (
        loss.max(0),
        loss.argmax(0),
        np.sqrt(252) * returns.mean(0) / returns.std(0),
        np.percentile(returns, 5, axis=0),
    )


def standardise(np: Any, scale: float) -> Any:
    """Fill the holes of columns with their means, and give them mean 0 and deviation 1."""
    a = np.random.default_rng(0).standard_normal((int(500 * scale), 30))
    a[a > 2.5] = np.nan
    mean = np.nanmean(a, 0)
    deviation = np.nanstd(a, 0)
    filled = np.where(np.isnan(a), mean, a)
    return (filled - mean) / deviation, np.isnan(a).sum(0)


PROGRAMS = (
    covariances,
    asian_option,
    moments,
    quantiles,
    bootstrap,
    random_walks,
    drawdowns,
    standardise,
)
