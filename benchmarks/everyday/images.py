"""Pictures: filters, colours, thresholds, lines."""

from __future__ import annotations

from typing import Any


def sobel(np: Any, scale: float) -> Any:
    """Return the strength and direction of edges, and how many pixels stand out."""
    n = int(200 * scale**0.5)
    image = np.random.default_rng(0).random((n, n))
    p = np.pad(image, 1, mode="edge")
    across = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    down = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    strength = np.hypot(across, down)
    direction = np.arctan2(down, across)
    return strength / strength.max(), direction, (strength > strength.mean() + strength.std()).sum()


def histogram_equalisation(np: Any, scale: float) -> Any:
    """Spread the greys of a picture evenly."""
    n = int(200 * scale**0.5)
    image = np.random.default_rng(0).integers(0, 256, (n, n)).astype(np.uint8)
    counts, edges = np.histogram(image.ravel(), 256, (0, 256))
    share = counts.cumsum()
    share = 255 * share / share[-1]
    return np.interp(image.ravel(), edges[:-1], share).reshape(image.shape).astype(np.uint8)


def otsu(np: Any, scale: float) -> Any:
    """Return the grey that parts dark from bright best, and the share of the bright pixels."""
    image = np.random.default_rng(0).normal(100, 30, int(50000 * scale)).clip(0, 255)
    image = image.astype(np.uint8)
    counts = np.bincount(image, minlength=256)
    share = counts / counts.sum()
    below = np.cumsum(share)
    mean = np.cumsum(share * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * below - mean) ** 2 / (below * (1 - below))
    threshold = np.nanargmax(between)
    return threshold, (image > threshold).mean()


def median_filter(np: Any, scale: float) -> Any:
    """Return the median of each pixel and the eight around it."""
    n = int(60 * scale**0.5)
    image = np.random.default_rng(0).random((n, n))
    p = np.pad(image, 1, mode="reflect")
    return np.median(
        np.stack([p[i : i + n, j : j + n] for i in range(3) for j in range(3)]), axis=0
    )


def bilateral_filter(np: Any, scale: float) -> Any:
    """Blur a picture but not across its edges."""
    n = int(50 * scale**0.5)
    image = np.random.default_rng(0).random((n, n))
    p = np.pad(image, 2, mode="reflect")
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for i in range(5):
        for j in range(5):
            shifted = p[i : i + n, j : j + n]
            weight = np.exp(-((i - 2) ** 2 + (j - 2) ** 2) / 4.0 - (shifted - image) ** 2 / 0.02)
            total += weight * shifted
            weights += weight
    return total / weights


def hough_transform(np: Any, scale: float) -> Any:
    """Count the points on every line, and return the line with the most."""
    n = int(60 * scale**0.5)
    image = np.random.default_rng(0).random((n, n)) > 0.97
    y, x = np.nonzero(image)
    angles = np.deg2rad(np.arange(0, 180, 4))
    distance = np.round(x[:, None] * np.cos(angles) + y[:, None] * np.sin(angles))
    distance = distance.astype(int) + 2 * n
    votes = np.zeros((4 * n, len(angles)), int)
    np.add.at(votes, (distance, np.arange(len(angles))[None, :]), 1)
    return votes, np.unravel_index(votes.argmax(), votes.shape)


def hue_saturation(np: Any, scale: float) -> Any:
    """Turn red, green and blue into hue, saturation and value."""
    n = int(80 * scale**0.5)
    image = np.random.default_rng(0).random((n, n, 3))
    high = image.max(-1)
    low = image.min(-1)
    span = high - low
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    with np.errstate(all="ignore"):
        hue = (
            np.select(
                [high == red, high == green],
                [(green - blue) / span % 6, (blue - red) / span + 2],
                (red - green) / span + 4,
            )
            / 6
        )
    return np.stack([np.where(span == 0, 0, hue), np.where(high == 0, 0, span / high), high], -1)


def block_cosines(np: Any, scale: float) -> Any:
    """Round the cosine transforms of blocks of a picture, and transform them back."""
    n = int(8 * scale**0.5) * 8
    image = np.random.default_rng(0).random((n, n)) * 255
    k = np.arange(8)
    cosines = np.cos(np.pi * (2 * k + 1) * k[:, None] / 16) * 0.5
    cosines[0] /= 2**0.5
    blocks = image.reshape(n // 8, 8, n // 8, 8).transpose(0, 2, 1, 3) - 128
    transformed = cosines @ blocks @ cosines.T
    rounded = np.round(transformed / 16) * 16
    restored = (cosines.T @ rounded @ cosines + 128).transpose(0, 2, 1, 3).reshape(n, n)
    return restored.clip(0, 255).astype(np.uint8)


def block_means(np: Any, scale: float) -> Any:
    """Return means and maxima of blocks, and how pixels differ from the mean of their block."""
    n = int(20 * scale**0.5) * 8
    image = np.random.default_rng(0).random((n, n))
    blocks = image.reshape(n // 4, 4, n // 4, 4)
    return (
        blocks.mean((1, 3)),
        blocks.max(axis=(1, 3)),
        np.repeat(np.repeat(blocks.mean((1, 3)), 4, 0), 4, 1) - image,
    )


def shaded_sphere(np: Any, scale: float) -> Any:
    """Send a ray through each pixel and return how bright it finds a sphere."""
    n = int(100 * scale**0.5)
    y, x = np.mgrid[1 : -1 : n * 1j, -1 : 1 : n * 1j]
    ray = np.stack([x, y, np.ones_like(x)], -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    centre = np.array([0, 0, 3.0])
    along = ray @ centre
    inside = along**2 - (centre @ centre - 1)
    hit = inside > 0
    distance = np.where(hit, along - np.sqrt(np.maximum(inside, 0)), np.inf)
    point = np.where(hit[..., None], ray * np.where(hit, distance, 0)[..., None], 0)
    normal = point - centre
    light = np.array([1, 1, -1.0]) / 3**0.5
    return np.where(hit, np.clip((normal * light).sum(-1), 0, 1), 0)


def julia(np: Any, scale: float) -> Any:
    """Count the steps after which the points of a plane escape."""
    n = int(100 * scale**0.5)
    y, x = np.ogrid[-1.5 : 1.5 : n * 1j, -1.5 : 1.5 : n * 1j]
    z = x + 1j * y
    c = -0.8 + 0.156j
    steps = np.zeros(z.shape, int)
    for _ in range(20):
        near = np.abs(z) < 2
        z[near] = z[near] ** 2 + c
        steps[near] += 1
    return steps


def newton_fractal(np: Any, scale: float) -> Any:
    """Return which cube root of 1 Newton's method finds from each point of a plane."""
    n = int(80 * scale**0.5)
    x = np.linspace(-2, 2, n)
    z = x + 1j * x[:, None]
    with np.errstate(all="ignore"):
        for _ in range(10):
            z = z - (z**3 - 1) / (3 * z**2)
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    return np.abs(z[..., None] - roots).argmin(-1)


PROGRAMS = (
    sobel,
    histogram_equalisation,
    otsu,
    median_filter,
    bilateral_filter,
    hough_transform,
    hue_saturation,
    block_cosines,
    block_means,
    shaded_sphere,
    julia,
    newton_fractal,
)
