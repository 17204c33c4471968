"""Fields, particles and cells, step by step."""

from __future__ import annotations

from typing import Any


def fdtd(np: Any, scale: float) -> Any:
    """Step Maxwell's equations on a plate with a source in its middle."""
    n = int(100 * scale**0.5)
    electric = np.zeros((n, n))
    magnetic_x = np.zeros((n, n - 1))
    magnetic_y = np.zeros((n - 1, n))
    for step in range(20):
        magnetic_x -= 0.5 * (electric[:, 1:] - electric[:, :-1])
        magnetic_y += 0.5 * (electric[1:] - electric[:-1])
        electric[1:-1, 1:-1] += 0.5 * (
            magnetic_y[1:, 1:-1]
            - magnetic_y[:-1, 1:-1]
            - magnetic_x[1:-1, 1:]
            + magnetic_x[1:-1, :-1]
        )
        electric[n // 2, n // 2] += np.sin(0.1 * step)
    return electric


def lattice_boltzmann(np: Any, scale: float) -> Any:
    """Let a fluid stream in nine directions and collide."""
    n = int(40 * scale**0.5)
    down = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    across = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    fluid = np.ones((9, n, n)) + 0.01 * np.random.default_rng(0).standard_normal((9, n, n))
    for _ in range(5):
        for i in range(9):
            fluid[i] = np.roll(np.roll(fluid[i], down[i], axis=0), across[i], axis=1)
        density = fluid.sum(0)
        speed_down = (fluid * down[:, None, None]).sum(0) / density
        speed_across = (fluid * across[:, None, None]).sum(0) / density
        settled = np.zeros_like(fluid)
        for i in range(9):
            along = down[i] * speed_down + across[i] * speed_across
            settled[i] = (
                density
                * weights[i]
                * (1 + 3 * along + 4.5 * along**2 - 1.5 * (speed_down**2 + speed_across**2))
            )
        fluid += -(1 / 0.6) * (fluid - settled)
    return fluid


def laplacian(np: Any, a: Any) -> Any:
    """Return the sum of the four neighbours on a torus less four times the cell."""
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def gray_scott(np: Any, scale: float) -> Any:
    """Let two substances diffuse and react."""
    n = int(100 * scale**0.5)
    u = np.ones((n, n))
    v = np.zeros((n, n))
    u[n // 4 : n // 2, n // 4 : n // 2] = 0.5
    v[n // 4 : n // 2, n // 4 : n // 2] = 0.25
    for _ in range(10):
        uvv = u * v * v
        u += 0.16 * laplacian(np, u) - uvv + 0.06 * (1 - u)
        v += 0.08 * laplacian(np, v) + uvv - 0.122 * v
    return u, v


def ising(np: Any, scale: float) -> Any:
    """Flip the spins of a magnet at random, those of one colour of a chessboard at once."""
    n = int(60 * scale**0.5)
    rng = np.random.default_rng(0)
    spins = np.where(rng.random((n, n)) < 0.5, 1, -1)
    colour = np.indices((n, n)).sum(0) % 2
    for step in range(10):
        around = (
            np.roll(spins, 1, 0)
            + np.roll(spins, -1, 0)
            + np.roll(spins, 1, 1)
            + np.roll(spins, -1, 1)
        )
        energy = 2 * spins * around
        flip = (rng.random((n, n)) < np.exp(-energy / 2.3)) & (colour == step % 2)
        spins[flip] *= -1
    return spins, abs(spins.sum())


def slope(np: Any, state: Any) -> Any:
    """Return how the states of Lorenz's weather change."""
    x, y, z = state
    return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def lorenz(np: Any, scale: float) -> Any:
    """Step many states of Lorenz's weather by the method of Runge and Kutta."""
    state = np.random.default_rng(0).standard_normal((3, int(1000 * scale)))
    h = 0.01
    for _ in range(10):
        k1 = slope(np, state)
        k2 = slope(np, state + h / 2 * k1)
        k3 = slope(np, state + h / 2 * k2)
        k4 = slope(np, state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def nbody(np: Any, scale: float) -> Any:
    """Move bodies that attract each other; return where they are and their energy."""
    n = int(60 * scale**0.5)
    rng = np.random.default_rng(0)
    position = rng.standard_normal((n, 3))
    velocity = np.zeros((n, 3))
    mass = rng.random(n)
    for _ in range(3):
        apart = position[None] - position[:, None]
        squared = (apart**2).sum(-1) + 0.01
        acceleration = (apart * (mass / squared**1.5)[..., None]).sum(1)
        velocity += 0.01 * acceleration
        position = position + 0.01 * velocity
    return position, 0.5 * (mass * (velocity**2).sum(1)).sum()


def red_black(np: Any, scale: float) -> Any:
    """Relax a plate with one hot edge, the two colours of its chessboard by turns."""
    n = int(80 * scale**0.5) // 2 * 2 + 2
    u = np.zeros((n, n))
    u[0] = 1
    for _ in range(10):
        for colour in (0, 1):
            for i in (1, 2):
                j = 1 + (i + colour) % 2
                u[i:-1:2, j:-1:2] = 0.25 * (
                    u[i - 1 : -2 : 2, j:-1:2]
                    + u[i + 1 :: 2, j:-1:2]
                    + u[i:-1:2, j - 1 : -2 : 2]
                    + u[i:-1:2, j + 1 :: 2]
                )
    return u


def upwind(np: Any, scale: float) -> Any:
    """Carry a bump along a ring."""
    n = int(2000 * scale)
    x = np.linspace(0, 1, n)
    u = np.exp(-100 * (x - 0.3) ** 2)
    for _ in range(30):
        u[1:] = u[1:] - 0.5 * (u[1:] - u[:-1])
        u[0] = u[-1]
    return u


def burgers(np: Any, scale: float) -> Any:
    """Let a wave steepen, by Burgers' equation."""
    n = int(1000 * scale)
    u = np.sin(np.linspace(0, 2 * np.pi, n))
    for _ in range(20):
        flux = 0.5 * u * u
        change = np.where(u > 0, flux - np.roll(flux, 1), np.roll(flux, -1) - flux)
        u = u - 0.1 * change + 0.01 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def logistic_map(np: Any, scale: float) -> Any:
    """Return where populations are that grow and starve at many rates."""
    rate = np.linspace(2.5, 4, int(1000 * scale))
    x = np.full_like(rate, 0.5)
    kept = []
    for i in range(40):
        x = rate * x * (1 - x)
        if i >= 30:
            kept.append(x.copy())
    return np.array(kept)


PROGRAMS = (
    fdtd,
    lattice_boltzmann,
    gray_scott,
    ising,
    lorenz,
    nbody,
    red_black,
    upwind,
    burgers,
    logistic_map,
)
