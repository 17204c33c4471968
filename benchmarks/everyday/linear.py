"""Linear algebra, graphs and analysis."""

from __future__ import annotations

from typing import Any


def five_points(v: Any) -> Any:
    """Return four times a field less its neighbours, of which there are none beyond the edge."""
    out = 4 * v
    out[1:] -= v[:-1]
    out[:-1] -= v[1:]
    out[:, 1:] -= v[:, :-1]
    out[:, :-1] -= v[:, 1:]
    return out


def conjugate_gradients(np: Any, scale: float) -> Any:
    """Solve Poisson's equation on a square."""
    n = int(60 * scale**0.5)
    b = np.random.default_rng(0).random((n, n))
    x = np.zeros_like(b)
    residual = b - five_points(x)
    direction = residual.copy()
    square = (residual * residual).sum()
    for _ in range(20):
        image = five_points(direction)
        step = square / (direction * image).sum()
        x += step * direction
        residual -= step * image
        new = (residual * residual).sum()
        if new < 1e-12:
            break
        direction = residual + new / square * direction
        square = new
    return x


def tridiagonal(np: Any, scale: float) -> Any:
    """Solve many tridiagonal systems of forty unknowns at once."""
    m, n = int(200 * scale), 40
    rng = np.random.default_rng(0)
    below, diagonal, above, right = (
        rng.random((n, m)),
        rng.random((n, m)) + 3,
        rng.random((n, m)),
        rng.random((n, m)),
    )
    c = np.empty_like(above)
    d = np.empty_like(right)
    c[0] = above[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - below[i] * c[i - 1]
        c[i] = above[i] / pivot
        d[i] = (right[i] - below[i] * d[i - 1]) / pivot
    x = np.empty_like(right)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def power_iteration(np: Any, scale: float) -> Any:
    """Return the largest eigenvalue of a symmetric matrix."""
    n = int(100 * scale**0.5)
    a = np.random.default_rng(0).random((n, n))
    a = a + a.T
    v = np.ones(n)
    for _ in range(20):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


def pagerank(np: Any, scale: float) -> Any:
    """Rank the pages of a random web."""
    n = int(200 * scale**0.5)
    links = (np.random.default_rng(0).random((n, n)) < 0.05).astype(float)
    links /= np.maximum(links.sum(0), 1)
    rank = np.full(n, 1 / n)
    for _ in range(20):
        new = 0.85 * links @ rank + 0.15 / n
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank


def floyd_warshall(np: Any, scale: float) -> Any:
    """Return the lengths of the shortest paths between all pairs of places."""
    n = int(50 * scale**0.4)
    length = np.random.default_rng(0).random((n, n)) * 10
    np.fill_diagonal(length, 0)
    for k in range(n):
        length = np.minimum(length, length[:, k, None] + length[None, k, :])
    return length


def tensors(np: Any, scale: float) -> Any:
    """Contract, multiply and sum tensors in four ways."""
    rng = np.random.default_rng(0)
    a = rng.random((int(8 * scale**0.5), 8, 8))
    b = rng.random((8, 8, 6))
    return (
        np.tensordot(a, b, 2),
        np.kron(a[0], b[:, :, 0]),
        np.einsum("ijk,jkl->il", a, b),
        np.outer(a.ravel(), b[0, 0]),
    )


def small_matrices(np: Any, scale: float) -> Any:
    """Invert, solve and multiply many small matrices; return determinants and norms, too."""
    a = np.random.default_rng(0).random((int(100 * scale), 4, 4)) + 4 * np.eye(4)
    return (
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.solve(a, a[..., :1]),
        np.linalg.norm(a, axis=(1, 2)),
        a @ np.swapaxes(a, 1, 2),
    )


def polynomial_fit(np: Any, scale: float) -> Any:
    """Fit a polynomial to a noisy sine; return its values and coefficients."""
    x = np.linspace(-1, 1, int(5000 * scale))
    y = np.sin(3 * x) + 0.1 * np.random.default_rng(0).standard_normal(x.size)
    coefficients = np.polyfit(x, y, 5)
    return np.polyval(coefficients, x), coefficients


def gradient(np: Any, scale: float) -> Any:
    """Return the steepness of a surface and the volume below it."""
    n = int(100 * scale**0.5)
    x = np.linspace(0, 2 * np.pi, n)
    across, down = np.meshgrid(x, x)
    height = np.sin(across) * np.cos(down)
    slope_down, slope_across = np.gradient(height, x, x)
    volume = np.trapezoid(np.trapezoid(height, x), x)
    return np.sqrt(slope_across**2 + slope_down**2), volume


def haversine(np: Any, scale: float) -> Any:
    """Return the distances on the globe between all pairs of places."""
    rng = np.random.default_rng(0)
    latitude, longitude = (
        np.radians(rng.uniform(-90, 90, int(100 * scale**0.5))),
        np.radians(rng.uniform(-180, 180, int(100 * scale**0.5))),
    )
    north = latitude[:, None] - latitude
    east = longitude[:, None] - longitude
    h = (
        np.sin(north / 2) ** 2
        + np.cos(latitude)[:, None] * np.cos(latitude) * np.sin(east / 2) ** 2
    )
    return 2 * 6371 * np.arcsin(np.sqrt(h))


def pairwise_distances(np: Any, scale: float) -> Any:
    """Return how far the nearest other point is, and which one it is."""
    x = np.random.default_rng(0).random((int(150 * scale**0.5), 3))
    distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    np.fill_diagonal(distance, np.inf)
    return distance.min(1), distance.argmin(1)


def cross_products(np: Any, scale: float) -> Any:
    """Return unit normals, scalar products and angles of pairs of vectors."""
    rng = np.random.default_rng(0)
    a, b = rng.random((int(2000 * scale), 3)), rng.random((int(2000 * scale), 3))
    normal = np.cross(a, b)
    return (
        normal / np.linalg.norm(normal, axis=1)[:, None],
        np.einsum("ij,ij->i", a, b),
        np.degrees(np.arccos(np.clip((a * b).sum(1), -1, 1))),
    )


PROGRAMS = (
    conjugate_gradients,
    tridiagonal,
    power_iteration,
    pagerank,
    floyd_warshall,
    tensors,
    small_matrices,
    polynomial_fit,
    gradient,
    haversine,
    pairwise_distances,
    cross_products,
)
