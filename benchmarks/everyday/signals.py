"""Series in time: filters, windows, models of what comes next."""

from __future__ import annotations

from typing import Any


def moving_average(np: Any, scale: float) -> Any:
    """Smooth a signal by the differences of its sums, and by a convolution."""
    x = np.random.default_rng(0).standard_normal(int(50000 * scale))
    width = 50
    sums = np.cumsum(np.insert(x, 0, 0))
    smooth = (sums[width:] - sums[:-width]) / width
    return smooth, np.convolve(x, np.ones(5) / 5, mode="valid")


def sliding_windows(np: Any, scale: float) -> Any:
    """Return mean, maximum and deviation in each window of a signal."""
    x = np.random.default_rng(0).standard_normal(int(10000 * scale))
    windows = np.lib.stride_tricks.sliding_window_view(x, 20)
    return windows.mean(1), windows.max(1), windows.std(1)


def low_pass(np: Any, scale: float) -> Any:
    """Leave the high frequencies of a signal out."""
    x = np.random.default_rng(0).standard_normal(int(8192 * scale))
    spectrum = np.fft.rfft(x)
    frequencies = np.fft.rfftfreq(len(x))
    spectrum[frequencies > 0.1] = 0
    return np.fft.irfft(spectrum, len(x))


def interpolation(np: Any, scale: float) -> Any:
    """Read a table of sines between its entries."""
    x = np.linspace(0, 10, 1000)
    return np.interp(np.random.default_rng(0).random(int(20000 * scale)) * 10, x, np.sin(x))


def kalman_filter(np: Any, scale: float) -> Any:  # noqa: ARG001 - a state of two numbers always
    """Follow a position and its speed through measurements of the position."""
    transition = np.array([[1, 0.1], [0, 1.0]])
    observation = np.array([[1.0, 0]])
    drift = np.eye(2) * 0.01
    noise = np.array([[1.0]])
    state = np.zeros((2, 1))
    covariance = np.eye(2)
    measured = np.random.default_rng(0).standard_normal(100)
    for k in range(100):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + drift
        spread = observation @ covariance @ observation.T + noise
        gain = covariance @ observation.T @ np.linalg.inv(spread)
        state = state + gain @ (measured[k] - observation @ state)
        covariance = (np.eye(2) - gain @ observation) @ covariance
    return state, covariance


def viterbi(np: Any, scale: float) -> Any:
    """Return the likeliest path through the states of a hidden Markov model."""
    rng = np.random.default_rng(0)
    states = int(20 * scale**0.5)
    steps = 50
    transition = np.log(rng.dirichlet(np.ones(states), states))
    emission = np.log(rng.random((steps, states)))
    likelihood = np.zeros((steps, states))
    before = np.zeros((steps, states), int)
    likelihood[0] = emission[0]
    for t in range(1, steps):
        score = likelihood[t - 1][:, None] + transition
        before[t] = score.argmax(0)
        likelihood[t] = score.max(0) + emission[t]
    path = [int(likelihood[-1].argmax())]
    for t in range(steps - 1, 0, -1):
        path.append(int(before[t, path[-1]]))
    return np.array(path)


def autoregression(np: Any, scale: float) -> Any:
    """Fit each value to the five before it; return the weights and how well they do."""
    x = np.cumsum(np.random.default_rng(0).standard_normal(int(5000 * scale)))
    lags = np.column_stack([x[i : len(x) - 5 + i] for i in range(5)] + [np.ones(len(x) - 5)])
    weights, *_ = np.linalg.lstsq(lags, x[5:], rcond=None)
    return weights, np.corrcoef(lags @ weights, x[5:])[0, 1]


def autocorrelation(np: Any, scale: float) -> Any:
    """Correlate a signal with itself by Fourier transforms, and its beginning directly."""
    x = np.random.default_rng(0).standard_normal(int(2000 * scale))
    x = x - x.mean()
    spectrum = np.fft.fft(x, 2 * len(x))
    products = np.fft.ifft(spectrum * np.conj(spectrum)).real[: len(x)]
    return products / products[0], np.correlate(x[:1000], x[:1000], "full")


PROGRAMS = (
    moving_average,
    sliding_windows,
    low_pass,
    interpolation,
    kalman_filter,
    viterbi,
    autoregression,
    autocorrelation,
)
